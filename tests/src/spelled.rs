//! Where values stand in a text, by brute force: decode everything, search in what comes out, map back.
//!
//! The engine decodes byte by byte, with a place in an automaton for each decoder. This one has the whole text, looks ahead
//! where it likes, and compares every value at every place. It shares no code with the engine. Base64 is not in it.

use std::collections::BTreeSet;

/// Value, start, end.
pub type Place = (usize, usize, usize);

/// Longest span that is found, in raw bytes.
const LONGEST: usize = 8192;

/// A character, or a byte that is none, and where its spelling stands; `None` where nothing goes on.
type Decoded = Vec<Option<(Vec<u8>, usize, usize)>>;

/// Every place of every value: as it is and in hex, in the text itself and in what it decodes to.
pub fn places(text: &[u8], values: &[Vec<u8>]) -> BTreeSet<Place> {
    let raw: Decoded = text.iter().enumerate().map(|(i, b)| Some((vec![*b], i, i + 1))).collect();
    let mut decoded = vec![raw.clone(), percent(&raw, false), percent(&raw, true)];
    let mut layer = raw;
    for _ in 0..3 {
        layer = json(&layer);
        decoded.push(layer.clone());
    }
    let forms: Vec<(usize, Vec<u8>)> = values
        .iter()
        .enumerate()
        .flat_map(|(i, v)| {
            line_ends(v).into_iter().flat_map(move |r| [hex(&r, false), hex(&r, true), r].map(|f| (i, f)))
        })
        .collect();
    decoded.iter().flat_map(|d| search(d, &forms)).collect()
}

/// The value, and the value with other line ends.
pub fn line_ends(value: &[u8]) -> Vec<Vec<u8>> {
    let pairs = |(i, b): (usize, &u8)| (*b != b'\r' || value.get(i + 1) != Some(&b'\n')).then_some(*b);
    let unix: Vec<u8> = value.iter().enumerate().filter_map(pairs).collect();
    let windows = || value.iter().flat_map(|b| if *b == b'\n' { vec![b'\r', b'\n'] } else { vec![*b] }).collect();
    vec![value.to_vec(), if unix == value { windows() } else { unix }]
}

fn hex(value: &[u8], upper: bool) -> Vec<u8> {
    let one = |b: &u8| if upper { format!("{b:02X}") } else { format!("{b:02x}") };
    value.iter().map(one).collect::<String>().into()
}

fn search(decoded: &Decoded, forms: &[(usize, Vec<u8>)]) -> Vec<Place> {
    let mut out = Vec::new();
    for (from, first) in decoded.iter().enumerate() {
        let Some((_, start, _)) = first else { continue };
        for (which, form) in forms {
            // Where the form ends, if it stands here; it may end within a character.
            let (mut rest, mut end) = (&form[..], 0);
            for piece in decoded[from..].iter() {
                let Some((bytes, _, to)) = piece else { break };
                let n = bytes.len().min(rest.len());
                if bytes[..n] != rest[..n] {
                    break;
                }
                rest = &rest[n..];
                end = *to;
                if rest.is_empty() {
                    break;
                }
            }
            if rest.is_empty() && end - start <= LONGEST {
                out.push((*which, *start, end));
            }
        }
    }
    out
}

fn ascii(text: &Decoded, i: usize) -> Option<u8> {
    match text.get(i)?.as_ref()?.0.as_slice() {
        [b] if b.is_ascii() => Some(*b),
        _ => None,
    }
}

/// The number that `n` hex digits at `i` spell, or where that goes wrong.
fn digits(text: &Decoded, i: usize, n: usize) -> Result<u32, usize> {
    (i..i + n).try_fold(0, |value, i| {
        let digit = ascii(text, i).and_then(|b| (b as char).to_digit(16)).ok_or(i)?;
        Ok(value * 16 + digit)
    })
}

fn percent(text: &Decoded, plus: bool) -> Decoded {
    let mut out = Vec::new();
    let mut i = 0;
    while i < text.len() {
        let start = text[i].as_ref().map_or(0, |p| p.1);
        match (ascii(text, i), digits(text, i + 1, 2)) {
            (Some(b'%'), Ok(byte)) => {
                out.push(Some((vec![byte as u8], start, start + 3)));
                i += 3;
                continue;
            }
            (Some(b'+'), _) if plus => out.push(Some((vec![b' '], start, start + 1))),
            _ => out.push(text[i].clone()),
        }
        i += 1;
    }
    out
}

/// Takes one layer of JSON string escapes off.
fn json(text: &Decoded) -> Decoded {
    let mut out = Vec::new();
    let mut i = 0;
    while i < text.len() {
        if ascii(text, i) != Some(b'\\') {
            out.push(text[i].clone());
            i += 1;
            continue;
        }
        let start = text[i].as_ref().map_or(0, |p| p.1);
        let end = |last: usize| text[last].as_ref().map_or(0, |p| p.2);
        let mut put = |c: char, last: usize| {
            out.push(Some((c.to_string().into_bytes(), start, end(last))));
            last + 1
        };
        i = match ascii(text, i + 1) {
            Some(c @ (b'"' | b'\\' | b'/' | b'\'')) => put(c as char, i + 1),
            Some(b'b') => put('\u{8}', i + 1),
            Some(b'f') => put('\u{c}', i + 1),
            Some(b'n') => put('\n', i + 1),
            Some(b'r') => put('\r', i + 1),
            Some(b't') => put('\t', i + 1),
            Some(b'u') => match digits(text, i + 2, 4) {
                Err(wrong) => {
                    out.push(None);
                    wrong
                }
                Ok(high @ 0xd800..=0xdbff) => {
                    let second = ascii(text, i + 6) == Some(b'\\') && ascii(text, i + 7) == Some(b'u');
                    match digits(text, i + 8, 4) {
                        Ok(low @ 0xdc00..=0xdfff) if second => {
                            let code = 0x1_0000 + (high - 0xd800) * 0x400 + low - 0xdc00;
                            put(char::from_u32(code).unwrap_or_default(), i + 11)
                        }
                        _ => {
                            out.push(None);
                            i + 6
                        }
                    }
                }
                Ok(unit) => match char::from_u32(unit) {
                    Some(c) => put(c, i + 5),
                    None => {
                        out.push(None);
                        i + 6
                    }
                },
            },
            _ => {
                out.push(None);
                i + 1
            }
        };
    }
    out
}
