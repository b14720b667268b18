//! From an expression's tree back to text: the pattern of a pack, for people to read.
//!
//! `regex-syntax` can print a tree, but spells `(?i)word` as a row of classes and wraps every byte in flags. What is
//! written here is read with Unicode off and `^` and `$` at lines, as packs are.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// The pattern's text. Laziness is not written: it does not change which spans match.
pub(super) fn spell(h: &Hir) -> String {
    let mut out = String::new();
    write(h, &mut out);
    out
}

fn write(h: &Hir, out: &mut String) {
    match h.kind() {
        HirKind::Empty => {}
        HirKind::Literal(l) => literal(&l.0, out),
        HirKind::Class(c) => class(c, out),
        HirKind::Look(l) => out.push_str(look(*l)),
        HirKind::Capture(c) => write(&c.sub, out),
        HirKind::Repetition(r) => {
            atom(&r.sub, out);
            match (r.min, r.max) {
                (0, Some(1)) => out.push('?'),
                (0, None) => out.push('*'),
                (1, None) => out.push('+'),
                (n, None) => out.push_str(&format!("{{{n},}}")),
                (n, Some(m)) if n == m => out.push_str(&format!("{{{n}}}")),
                (n, Some(m)) => out.push_str(&format!("{{{n},{m}}}")),
            }
        }
        HirKind::Concat(items) => concat(items, out),
        HirKind::Alternation(items) => {
            out.push_str("(?:");
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push('|');
                }
                write(item, out);
            }
            out.push(')');
        }
    }
}

/// Something that a repeat may follow.
fn atom(h: &Hir, out: &mut String) {
    match h.kind() {
        HirKind::Class(_) | HirKind::Alternation(_) => write(h, out),
        HirKind::Literal(l) if l.0.len() == 1 && l.0[0].is_ascii() => write(h, out),
        _ => {
            out.push_str("(?:");
            write(h, out);
            out.push(')');
        }
    }
}

fn concat(items: &[Hir], out: &mut String) {
    let mut i = 0;
    while i < items.len() {
        let word = items[i..].iter().map_while(folded).collect::<Vec<_>>();
        if word.iter().filter(|w| w.1).count() > 1 {
            out.push_str("(?i:");
            word.iter().for_each(|(text, _)| literal(text, out));
            out.push(')');
            i += word.len();
        } else {
            write(&items[i], out);
            i += 1;
        }
    }
}

/// A letter in both cases (`true`), or text without letters.
fn folded(h: &Hir) -> Option<(Vec<u8>, bool)> {
    match h.kind() {
        HirKind::Literal(l) if l.0.is_ascii() && !l.0.iter().any(u8::is_ascii_alphabetic) => {
            Some((l.0.to_vec(), false))
        }
        HirKind::Class(Class::Bytes(c)) => match c.ranges() {
            [a, b]
                if a.start() == a.end()
                    && b.start() == b.end()
                    && a.start().is_ascii_uppercase()
                    && a.start().to_ascii_lowercase() == b.start() =>
            {
                Some((vec![b.start()], true))
            }
            _ => None,
        },
        _ => None,
    }
}

fn literal(bytes: &[u8], out: &mut String) {
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_ascii() {
                byte(c as u8, out);
            } else {
                out.push_str("(?u:");
                out.push(c);
                out.push(')');
            }
        }
        chunk.invalid().iter().for_each(|b| byte(*b, out));
    }
}

fn byte(b: u8, out: &mut String) {
    escaped(b, b"\\.+*?()|[]{}^$", out);
}

fn escaped(b: u8, special: &[u8], out: &mut String) {
    match b {
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        b' '..=b'~' => {
            if special.contains(&b) {
                out.push('\\');
            }
            out.push(char::from(b));
        }
        _ => out.push_str(&format!("\\x{b:02x}")),
    }
}

fn class(c: &Class, out: &mut String) {
    match c {
        Class::Bytes(c) => {
            let ranges: Vec<(u8, u8)> = c.ranges().iter().map(|r| (r.start(), r.end())).collect();
            let mut not = Vec::new();
            let mut next = 0u16;
            for (a, b) in &ranges {
                if u16::from(*a) > next {
                    not.push((next as u8, a - 1));
                }
                next = u16::from(*b) + 1;
            }
            if next <= 255 {
                not.push((next as u8, 255));
            }
            let high = ranges.last().is_some_and(|(_, b)| *b == 255);
            match (ranges.as_slice(), not.as_slice()) {
                ([], _) => out.push_str("[^\\x00-\\xff]"),
                (_, []) => out.push_str("[\\x00-\\xff]"),
                (_, [(b'\n', b'\n')]) => out.push('.'),
                (_, not) if high => set("[^", not, out),
                (ranges, _) => set("[", ranges, out),
            }
        }
        Class::Unicode(c) => {
            out.push_str("(?u:[");
            for r in c.ranges() {
                out.push_str(&format!("\\x{{{:x}}}", u32::from(r.start())));
                if r.start() != r.end() {
                    out.push_str(&format!("-\\x{{{:x}}}", u32::from(r.end())));
                }
            }
            out.push_str("])");
        }
    }
}

fn set(open: &str, ranges: &[(u8, u8)], out: &mut String) {
    const WORD: [(u8, u8); 4] = [(b'0', b'9'), (b'A', b'Z'), (b'_', b'_'), (b'a', b'z')];
    let word = WORD.iter().all(|w| ranges.contains(w));
    if word && ranges.len() == WORD.len() {
        return out.push_str(if open == "[" { "\\w" } else { "\\W" });
    }
    out.push_str(open);
    if word {
        out.push_str("\\w");
    }
    let byte = |b: u8, out: &mut String| escaped(b, b"\\[]^-&~", out);
    for (a, b) in ranges.iter().filter(|r| !word || !WORD.contains(r)) {
        byte(*a, out);
        if b - a > 1 {
            out.push('-');
        }
        if a != b {
            byte(*b, out);
        }
    }
    out.push(']');
}

fn look(l: Look) -> &'static str {
    match l {
        Look::Start => "\\A",
        Look::End => "\\z",
        Look::StartLF => "^",
        Look::EndLF => "$",
        Look::StartCRLF => "(?R:^)",
        Look::EndCRLF => "(?R:$)",
        Look::WordAscii => "\\b",
        Look::WordAsciiNegate => "\\B",
        Look::WordUnicode => "(?u:\\b)",
        Look::WordUnicodeNegate => "(?u:\\B)",
        Look::WordStartAscii => "\\b{start}",
        Look::WordEndAscii => "\\b{end}",
        Look::WordStartUnicode => "(?u:\\b{start})",
        Look::WordEndUnicode => "(?u:\\b{end})",
        Look::WordStartHalfAscii => "\\b{start-half}",
        Look::WordEndHalfAscii => "\\b{end-half}",
        Look::WordStartHalfUnicode => "(?u:\\b{start-half})",
        Look::WordEndHalfUnicode => "(?u:\\b{end-half})",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_scan::pattern::parse;

    /// What is written is read as what it was.
    #[test]
    fn reads_back_as_it_was() {
        for p in [
            r"(?i)adafruit[ \t\w.-]{0,20}['\x60]{0,3}(?:=|>|:{1,3}=|\|\||=>)",
            r"^a+b*?c{2,}d{3}(?:ef)?(?:g|hi)?$",
            r"[^a-z][^\n][\x00-\xff][\x80-\xff](?u:密[α-ω])+\xff{2}",
            r"\bA\B\z(?-i:x)(?i:k{2}1-2)",
            r"[\[\]^\\&&--]{{|}}",
            r"\{\{x\}\} #~&",
        ] {
            let Ok(h) = parse(p) else { continue };
            let text = spell(&h);
            assert_eq!(parse(&text).as_ref(), Ok(&super::super::shape::strip(&greedy(&h))), "{p} was written {text}");
            assert!(!text.contains("{{"), "{text}");
        }
    }

    fn greedy(h: &Hir) -> Hir {
        use regex_syntax::hir::Repetition;
        match h.kind() {
            HirKind::Repetition(r) => {
                Hir::repetition(Repetition { greedy: true, sub: Box::new(greedy(&r.sub)), ..r.clone() })
            }
            HirKind::Concat(items) => Hir::concat(items.iter().map(greedy).collect()),
            HirKind::Alternation(items) => Hir::alternation(items.iter().map(greedy).collect()),
            _ => h.clone(),
        }
    }
}
