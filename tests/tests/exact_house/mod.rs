//! Writers of values, and readers that say whether some bytes spell a value. They share no code with the engine: JSON
//! is `serde_json`'s where it can be, base64 goes bit by bit, and a span is judged by decoding it
//! ([`forebay_tests::spelled`]).
#![allow(dead_code)] // Each test file uses its part.

use forebay_scan::{ExactValue, Pack, Profile, RuleSet};
use forebay_tests::cuts::Seed;
use forebay_tests::spelled::{line_ends, places};
use std::sync::Arc;

/// A rule set of nothing but these values, under a built-in profile.
pub(crate) fn set<V: AsRef<[u8]>>(values: &[V], profile: &str) -> Arc<RuleSet> {
    RuleSet::compile(&[pack(values)], &Profile::builtin(profile).unwrap()).unwrap()
}

pub(crate) fn pack<V: AsRef<[u8]>>(values: &[V]) -> Pack {
    let named = |(i, v): (usize, &V)| ExactValue::new("test", &format!("KEY{i}"), &[v.as_ref()], "test:1").unwrap();
    Pack::exact(&values.iter().enumerate().map(named).collect::<Vec<_>>()).unwrap()
}

/// Values of all sorts: tokens, pass phrases, text with quotes and line breaks, text beyond ASCII, bytes.
pub(crate) fn value(seed: &mut Seed) -> Vec<u8> {
    let n = 8 + seed.below(40);
    match seed.below(5) {
        0 => (0..n).map(|_| pick(seed, b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789")).collect(),
        1 => (0..n).map(|_| pick(seed, b"ab \"\\/+&=<>'%?#\n\tzQ9~!*()")).collect(),
        2 => {
            (0..n).map(|_| ['é', '密', 'k', 'Q', '\u{1f511}', '7', '"', '\n'][seed.below(8)]).collect::<String>().into()
        }
        3 => (0..n).map(|_| seed.below(256) as u8).collect(),
        // Overlaps itself.
        _ => (0..n).map(|i| b"x7/Q"[i % 4]).collect(),
    }
}

pub(crate) fn pick(seed: &mut Seed, from: &[u8]) -> u8 {
    from[seed.below(from.len())]
}

/// A value with its own line ends, and with the other ones.
pub(crate) fn readings(value: &[u8]) -> Vec<Vec<u8>> {
    line_ends(value)
}

/// A spelling as no writer makes it: each character escaped or not, in up to three layers, or in a URL.
pub(crate) fn mixed(value: &[u8], seed: &mut Seed) -> Vec<u8> {
    match (std::str::from_utf8(value), seed.below(4)) {
        (Ok(text), layers @ 1..) => (0..layers).fold(text.to_owned(), |text, _| in_string(&text, seed)).into(),
        _ => {
            let plus = seed.below(2) == 0;
            let often = 1 + seed.below(4);
            let one = |b: &u8| match *b {
                b' ' if plus && seed.below(2) == 0 => vec![b'+'],
                b if b == b'%' || b == b'+' || seed.below(often) == 0 => {
                    format!("%{}", digits(u32::from(b), 2, seed)).into()
                }
                b => vec![b],
            };
            value.iter().flat_map(one).collect()
        }
    }
}

/// Any spelling in a JSON string.
fn in_string(text: &str, seed: &mut Seed) -> String {
    let often = 1 + seed.below(6);
    let mut out = String::new();
    for c in text.chars() {
        let short = json(&c.to_string());
        match seed.below(often) {
            0 => c.encode_utf16(&mut [0; 2]).iter().for_each(|u| {
                out.push_str("\\u");
                out.push_str(&digits(u32::from(*u), 4, seed));
            }),
            1 if c == '/' => out.push_str("\\/"),
            _ => out.push_str(&short),
        }
    }
    out
}

/// Hex digits, small and capital ones mixed.
fn digits(value: u32, n: usize, seed: &mut Seed) -> String {
    let text = format!("{value:0n$x}");
    text.chars().map(|c| if seed.below(2) == 0 { c.to_ascii_uppercase() } else { c }).collect()
}

/// Every way in which a test writes a value as text.
pub(crate) fn texts(value: &[u8]) -> Vec<Vec<u8>> {
    readings(value).iter().flat_map(|v| spellings(v)).collect()
}

fn spellings(value: &[u8]) -> Vec<Vec<u8>> {
    let mut out = vec![value.to_vec(), hex(value, false), hex(value, true)];
    if let Ok(text) = std::str::from_utf8(value) {
        let once = json(text);
        out.push(json(&once).into());
        out.push(escaped(&once, "/", |c| format!("\\{c}")).into());
        out.push(escaped(&once, "<>&", |c| format!("\\u{:04x}", c as u32)).into());
        let ascii = beyond_ascii(&once);
        out.push(escaped(&ascii, "/", |c| format!("\\{c}")).into());
        out.push(ascii.into());
        out.push(once.into());
    }
    for upper in [false, true] {
        out.push(percent(value, "-._~", false, upper));
        out.push(percent(value, "-._~/", false, upper));
        out.push(percent(value, "-._~!*'()", false, upper));
        out.push(percent(value, "-._*", true, upper));
        out.push(percent(value, "-._~", true, upper));
    }
    out
}

fn json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}

fn escaped(text: &str, which: &str, how: impl Fn(char) -> String) -> String {
    text.chars().map(|c| if which.contains(c) { how(c) } else { c.to_string() }).collect()
}

fn beyond_ascii(text: &str) -> String {
    // DEL too: what a JSON writer for ASCII does with it differs, and the engine follows those that escape it.
    let unit = |u: &u16| if *u < 0x7f { String::from(*u as u8 as char) } else { format!("\\u{u:04x}") };
    text.encode_utf16().collect::<Vec<_>>().iter().map(unit).collect()
}

pub(crate) fn hex(value: &[u8], upper: bool) -> Vec<u8> {
    let one = |b: &u8| if upper { format!("{b:02X}") } else { format!("{b:02x}") };
    value.iter().map(one).collect::<String>().into()
}

fn percent(value: &[u8], safe: &str, plus: bool, upper: bool) -> Vec<u8> {
    let one = |b: &u8| match *b {
        b' ' if plus => "+".to_owned(),
        b if b.is_ascii_alphanumeric() || safe.as_bytes().contains(&b) => String::from(b as char),
        b if upper => format!("%{b:02X}"),
        b => format!("%{b:02x}"),
    };
    value.iter().map(one).collect::<String>().into()
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 of `data` without padding.
pub(crate) fn base64(data: &[u8], url: bool) -> Vec<u8> {
    let bits: Vec<u8> = data.iter().flat_map(|b| (0..8).rev().map(move |i| b >> i & 1)).collect();
    let symbol = |six: &[u8]| STANDARD[(0..6).fold(0, |s, i| s * 2 + usize::from(*six.get(i).unwrap_or(&0)))];
    let safe = |b: u8| match b {
        b'+' if url => b'-',
        b'/' if url => b'_',
        b => b,
    };
    bits.chunks(6).map(|six| safe(symbol(six))).collect()
}

/// Which symbols of base64 carry bits of `n` bytes behind `before` others.
pub(crate) fn symbols(before: usize, n: usize) -> std::ops::Range<usize> {
    before * 8 / 6..((before + n) * 8).div_ceil(6)
}

/// Whether a span spells the value in some way.
pub(crate) fn spells(span: &[u8], value: &[u8]) -> bool {
    let coded = readings(value).iter().any(|v| (0..3).any(|shift| in_base64(span, v, shift)));
    coded || places(span, &[value.to_vec()]).contains(&(0, 0, span.len()))
}

/// Whether the symbols of a span, line breaks aside, are just those that carry the value's bits, which begin `2 * shift`
/// bits into the first one.
fn in_base64(span: &[u8], value: &[u8], shift: usize) -> bool {
    let text = String::from_utf8_lossy(span).replace("\\r", "").replace("\\n", "").replace(['\r', '\n'], "");
    let text = text.replace('-', "+").replace('_', "/");
    let Some(symbols) = text.bytes().map(|b| STANDARD.iter().position(|s| *s == b)).collect::<Option<Vec<usize>>>()
    else {
        return false;
    };
    let bits: Vec<usize> = symbols.iter().flat_map(|s| (0..6).rev().map(move |i| s >> i & 1)).collect();
    let want: Vec<usize> = value.iter().flat_map(|b| (0..8).rev().map(move |i| usize::from(b >> i & 1))).collect();
    let from = 2 * shift;
    symbols.len() == (from + want.len()).div_ceil(6) && bits[from..from + want.len()] == want[..]
}

/// A text with values in it, and where they stand: value and span.
pub(crate) struct Planted {
    pub(crate) text: Vec<u8>,
    pub(crate) spans: Vec<(usize, std::ops::Range<usize>)>,
}

/// Writes values into a text, among beginnings of them and other bytes.
pub(crate) fn planted(values: &[Vec<u8>], seed: &mut Seed, pieces: usize) -> Planted {
    let mut out = Planted { text: Vec::new(), spans: Vec::new() };
    for _ in 0..pieces {
        let which = seed.below(values.len());
        let value = &values[which];
        match seed.below(6) {
            0 | 1 => {
                let mut forms = texts(value);
                let n = forms.len();
                forms.extend((0..n).map(|_| mixed(value, seed)));
                let form = &forms[seed.below(forms.len())];
                out.spans.push((which, out.text.len()..out.text.len() + form.len()));
                out.text.extend_from_slice(form);
            }
            2 | 3 => wrapped(&mut out, which, value, seed),
            4 => {
                let mut forms = texts(value);
                forms.push(mixed(value, seed));
                forms.push(mixed(value, seed));
                let form = &forms[seed.below(forms.len())];
                out.text.extend_from_slice(&form[..seed.below(form.len())]);
            }
            _ => (0..seed.below(12)).for_each(|_| out.text.push(pick(seed, b"ab =\n\r\\n\"A+/%0x7Q"))),
        }
        // Behind an escape that is open what comes next would not be what it was.
        if seed.below(2) == 0 || in_escape(&out.text) {
            out.text.push(pick(seed, b" \n.,"));
        }
    }
    out
}

/// Whether a text ends in the middle of an escape: `\`, `\u` and up to three digits, `%` and up to one.
fn in_escape(text: &[u8]) -> bool {
    let digits = text.iter().rev().take_while(|b| b.is_ascii_hexdigit()).count();
    let before = |n: usize| text[..text.len() - n].last().copied();
    let open = |n: usize| match before(n) {
        Some(b'%') => n < 2,
        Some(b'u') => n < 4 && text[..text.len() - n].ends_with(b"\\u"),
        Some(b'\\') => n == 0,
        _ => false,
    };
    (0..=digits).any(open)
}

/// Base64 of a value among other bytes, in lines or not.
fn wrapped(out: &mut Planted, which: usize, value: &[u8], seed: &mut Seed) {
    let before = seed.below(60);
    let behind = seed.below(60);
    let mut data: Vec<u8> = (0..before).map(|_| seed.below(256) as u8).collect();
    data.extend_from_slice(value);
    data.extend((0..behind).map(|_| seed.below(256) as u8));
    let code = base64(&data, seed.below(2) == 0);
    let line = [usize::MAX, 64, 76, 60][seed.below(4)];
    let end: &[u8] = [&b"\n"[..], b"\r\n", b"\\n", b"\\r\\n"][seed.below(4)];
    let carries = symbols(before, value.len());
    let (mut from, mut to) = (0, 0);
    for (i, symbol) in code.iter().enumerate() {
        if i > 0 && i % line == 0 {
            out.text.extend_from_slice(end);
        }
        if i == carries.start {
            from = out.text.len();
        }
        out.text.push(*symbol);
        if i + 1 == carries.end {
            to = out.text.len();
        }
    }
    out.spans.push((which, from..to));
    // What comes next must not look like more of it.
    out.text.extend_from_slice(b"==;");
}
