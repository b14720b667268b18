//! Texts that an expression matches, drawn from its tree, and how they are written as examples in a pack.

use std::ops::Range;

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::split_mix::SplitMix;

/// Longest text drawn, in bytes. Repeats inside repeats multiply.
const MAX_TEXT: usize = 16 << 10;

/// What is drawn next.
pub(super) struct Seed {
    numbers: SplitMix,
    /// A class of all bytes is drawn as a full stop: in `hooks.example.com` its author meant one.
    stops: bool,
}

impl Seed {
    /// The `n`th sequence; every second one has the full stops.
    pub(super) fn new(n: u64) -> Seed {
        Seed { numbers: SplitMix(n), stops: n % 4 < 2 }
    }

    fn below(&mut self, n: usize) -> usize {
        (self.numbers.next() % n.max(1) as u64) as usize
    }
}

/// Draws a text. Looks are not minded, so it need not match.
pub(super) fn draw(h: &Hir, seed: &mut Seed, out: &mut Vec<u8>) {
    if out.len() >= MAX_TEXT {
        return;
    }
    match h.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(l) => out.extend_from_slice(&l.0),
        HirKind::Class(Class::Bytes(c)) => {
            let all: Vec<u8> = c.ranges().iter().flat_map(|r| r.start()..=r.end()).collect();
            if seed.stops && all.len() >= 255 {
                return out.push(b'.');
            }
            // Letters and digits if there are any, else what can be read.
            let kinds: [fn(&u8) -> bool; 3] = [u8::is_ascii_alphanumeric, u8::is_ascii_graphic, |_| true];
            let some = kinds.iter().map(|k| all.iter().copied().filter(k).collect::<Vec<u8>>()).find(|s| !s.is_empty());
            // But now and then any of it, or a class of quotes and letters never shows its quotes.
            let some = match some {
                Some(s) if seed.below(16) > 0 => s,
                _ => all.into_iter().filter(u8::is_ascii).collect(),
            };
            out.extend(some.get(seed.below(some.len())));
        }
        HirKind::Class(Class::Unicode(c)) => {
            let r = c.ranges().get(seed.below(c.ranges().len()));
            out.extend(r.map(|r| r.start().to_string().into_bytes()).unwrap_or_default());
        }
        HirKind::Repetition(r) => {
            let most = r.max.unwrap_or(u32::MAX).min(r.min.saturating_add(12));
            let n = r.min + seed.below((most - r.min) as usize + 1) as u32;
            for _ in 0..n {
                if out.len() >= MAX_TEXT {
                    break;
                }
                draw(&r.sub, seed, out);
            }
        }
        HirKind::Capture(c) => draw(&c.sub, seed, out),
        HirKind::Concat(items) => items.iter().for_each(|i| draw(i, seed, out)),
        HirKind::Alternation(items) => draw(&items[seed.below(items.len())], seed, out),
    }
}

/// A text as an example of a pack: in pieces, so that a pack of key-shaped strings alarms no scanner. `None` if it is no
/// UTF-8.
pub(super) fn example(text: &[u8], secret: &Range<usize>) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let mut out = String::with_capacity(text.len() * 2);
    for (i, c) in text.char_indices() {
        if secret.contains(&i) && i >= secret.start + 2 && (i - secret.start - 2).is_multiple_of(6) {
            out.push_str("{+}");
        }
        match c {
            '{' => out.push_str("{{"),
            '\n' => out.push_str("{LF}"),
            '\r' => out.push_str("{CR}"),
            '\t' => out.push_str("{TAB}"),
            c if c.is_control() => out.push_str(&format!("{{U+{:04X}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    Some(out)
}
