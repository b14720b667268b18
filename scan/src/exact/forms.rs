//! How a value may be written.
//!
//! Hex and base64 have few spellings, which are searched for as they are. Escapes of JSON strings and URLs have endless ones
//! and are decoded ([`super::decoded`]); what usual writers make of a value is here only to say which of its spellings are
//! longer than a span may be. Not here: encodings of encodings (base64 of JSON); compression and encryption, which nothing
//! here could see through.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::automaton::{Lead, Pattern};
use crate::pattern::MAX_SPAN;

/// A value of several lines with the other line ends: a tool on another system writes those.
pub(super) fn other_lines(value: &[u8]) -> Option<Vec<u8>> {
    let unix: Vec<u8> = (0..value.len()).filter(|i| !value[*i..].starts_with(b"\r\n")).map(|i| value[i]).collect();
    if unix.len() < value.len() {
        return Some(unix);
    }
    value.contains(&b'\n').then(|| value.split(|b| *b == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]))
}

/// The spellings of a value that are searched for as they stand: itself and hex. Escapes are decoded, not spelled out:
/// [`super::decoded`].
pub(super) fn plain(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut out = BTreeSet::from([value.to_vec(), hex(value, false), hex(value, true)]);
    out.retain(|form| form.len() <= MAX_SPAN);
    out
}

/// The encodings of which a spelling is left out.
pub(super) fn left_out<'a>(readings: impl Iterator<Item = &'a [u8]>) -> Vec<&'static str> {
    let long = |(what, forms): &(_, Vec<Vec<u8>>)| forms.iter().any(|f| f.len() > MAX_SPAN).then_some(*what);
    let all: BTreeSet<&'static str> = readings.flat_map(spellings).filter_map(|s| long(&s)).collect();
    all.into_iter().collect()
}

/// All spellings, by where they stand.
fn spellings(value: &[u8]) -> [(&'static str, Vec<Vec<u8>>); 4] {
    let text = std::str::from_utf8(value).ok();
    let once: Vec<String> = text.iter().flat_map(|text| JSON.map(|style| json(text, style))).collect();
    let twice = once.first().map(|once| json(once, JSON[0]).into_bytes());
    let urls = URL.iter().flat_map(|safe| [url(value, safe, false), url(value, safe, true)]);
    [
        ("in hex", vec![value.to_vec(), hex(value, false), hex(value, true)]),
        ("in JSON strings with escapes", once.into_iter().map(String::into_bytes).collect()),
        ("in JSON inside a JSON string", twice.into_iter().collect()),
        ("in URLs", urls.collect()),
    ]
}

fn hex(value: &[u8], upper: bool) -> Vec<u8> {
    let digits = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    value.iter().flat_map(|b| [digits[usize::from(b >> 4)], digits[usize::from(b & 15)]]).collect()
}

/// What a JSON writer escapes beyond what it must.
#[derive(Clone, Copy)]
struct JsonStyle {
    /// ASCII characters that become `\u00xx`.
    also: &'static str,
    /// `/` becomes `\/`.
    slash: bool,
    /// Everything beyond ASCII becomes `\uxxxx`.
    ascii: bool,
    /// Capital hex digits.
    upper: bool,
}

const PLAIN: JsonStyle = JsonStyle { also: "", slash: false, ascii: false, upper: false };

const JSON: [JsonStyle; 6] = [
    // JavaScript, serde, Jackson.
    PLAIN,
    // Python.
    JsonStyle { ascii: true, ..PLAIN },
    // PHP: with slashes.
    JsonStyle { slash: true, ascii: true, ..PLAIN },
    JsonStyle { slash: true, ..PLAIN },
    // Go: safe in HTML.
    JsonStyle { also: "<>&", ..PLAIN },
    // .NET.
    JsonStyle { also: "<>&'\"+`", ascii: true, upper: true, ..PLAIN },
];

fn json(text: &str, style: JsonStyle) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if style.also.contains(c) {
            unit(&mut out, c as u16, style.upper);
            continue;
        }
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '/' if style.slash => out.push_str("\\/"),
            '\0'..='\u{1f}' => unit(&mut out, c as u16, style.upper),
            '\u{7f}'.. if style.ascii => {
                let mut units = [0; 2];
                c.encode_utf16(&mut units).iter().for_each(|u| unit(&mut out, *u, style.upper));
            }
            _ => out.push(c),
        }
    }
    out
}

fn unit(out: &mut String, unit: u16, upper: bool) {
    // Writing to a String does not fail.
    let _ = if upper { write!(out, "\\u{unit:04X}") } else { write!(out, "\\u{unit:04x}") };
}

/// What URL writers leave as it is besides letters and digits; a `+` stands for "a space becomes a plus".
const URL: [&[u8]; 5] = [
    // RFC 3986: the unreserved characters only.
    b"-._~",
    // Paths.
    b"-._~/",
    // encodeURIComponent.
    b"-._~!*'()",
    // Forms, and `quote_plus`.
    b"-._*+",
    b"-._~+",
];

fn url(value: &[u8], safe: &[u8], upper: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + 16);
    for b in value {
        match b {
            b' ' if safe.contains(&b'+') => out.push(b'+'),
            b'+' => out.extend_from_slice(if upper { b"%2B" } else { b"%2b" }),
            _ if b.is_ascii_alphanumeric() || safe.contains(b) => out.push(*b),
            _ => {
                out.push(b'%');
                out.extend(hex(&[*b], upper));
            }
        }
    }
    out
}

/// A value in base64 at each of the three places it can have in a group, as the six bits of each symbol. The first and
/// the last symbol may carry bits of a neighbour too: each of their variants is one.
pub(super) fn base64(value: &[u8], id: u32) -> Vec<Pattern> {
    let bit = |i: usize| value[i / 8] >> (7 - i % 8) & 1;
    let bits = value.len() * 8;
    let mut out = Vec::new();
    for shift in 0..3 {
        // How many bits of the first symbol are the value's: 6, 4, 2.
        let first = 6 - 2 * shift;
        let of = |from: usize, n: usize| (from..from + n).fold(0u8, |s, i| s << 1 | bit(i));
        let lead = match shift {
            0 => Lead::None,
            1 => Lead::Low4(of(0, 4)),
            _ => Lead::Low2(of(0, 2)),
        };
        let mut at = if shift == 0 { 0 } else { first };
        let mut symbols = Vec::with_capacity(bits / 6 + 2);
        while at + 6 <= bits {
            symbols.push(of(at, 6));
            at += 6;
        }
        let free = 6 - (bits - at);
        let last = if free == 6 { None } else { Some(of(at, bits - at) << free) };
        match last {
            None => out.push(Pattern { lead, text: symbols, value: id }),
            Some(last) => out.extend((0..1u8 << free).map(|low| Pattern {
                lead,
                text: symbols.iter().copied().chain([last | low]).collect(),
                value: id,
            })),
        }
    }
    out.retain(|p| p.text.len() < MAX_SPAN);
    out
}
