//! Texts that a rule would match, or nearly: drawn from the pattern itself.
//!
//! Good for making inputs hard; checks and looks are not minded, so a draw need not match.

use forebay_scan::pattern::{self, Parts};
use forebay_scan::{RuleSpec, What};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::cuts::Seed;

/// Draws a text from an expression. Long repeats are mostly drawn short.
pub fn draw(h: &Hir, seed: &mut Seed, out: &mut Vec<u8>) {
    match h.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(l) => out.extend_from_slice(&l.0),
        HirKind::Class(Class::Bytes(c)) if !c.ranges().is_empty() => {
            let ranges = c.ranges();
            // Prefer what can be read, if the class has any of it.
            for _ in 0..8 {
                let r = ranges[seed.below(ranges.len())];
                let b = r.start() + seed.below(usize::from(r.end() - r.start()) + 1) as u8;
                if b.is_ascii_graphic() || b == b' ' {
                    return out.push(b);
                }
            }
            out.push(ranges[0].start());
        }
        HirKind::Class(Class::Unicode(c)) if !c.ranges().is_empty() => {
            let r = c.ranges()[seed.below(c.ranges().len())];
            let n = seed.below((u32::from(r.end()) - u32::from(r.start()) + 1) as usize) as u32;
            let c = char::from_u32(u32::from(r.start()) + n).unwrap_or(r.start());
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        HirKind::Class(_) => {}
        HirKind::Repetition(r) => {
            let most = r.max.unwrap_or(r.min + 3).max(r.min);
            let n = match seed.below(8) {
                0 => most.min(r.min + 200),
                1 => r.min,
                _ => r.min + seed.below(((most - r.min).min(4) + 1) as usize) as u32,
            };
            (0..n).for_each(|_| draw(&r.sub, seed, out));
        }
        HirKind::Capture(c) => draw(&c.sub, seed, out),
        HirKind::Concat(items) => items.iter().for_each(|i| draw(i, seed, out)),
        HirKind::Alternation(items) => draw(&items[seed.below(items.len())], seed, out),
    }
}

/// Draws PRE, BODY and POST of a rule; of a region also a few units of its inside, and its end half of the time.
/// Nothing for a tracker.
pub fn rule(spec: &RuleSpec, seed: &mut Seed) -> Vec<u8> {
    let mut out = Vec::new();
    let parts = |p: &str, seed: &mut Seed, out: &mut Vec<u8>| {
        if let Ok(p) = Parts::of(p) {
            [p.pre, p.body, p.post].iter().for_each(|h| draw(h, seed, out));
        }
    };
    match &spec.what {
        What::Pattern(p) => parts(p, seed, &mut out),
        What::Region { begin, inside, end } => {
            parts(begin, seed, &mut out);
            if let (Ok(inside), Ok(end)) = (pattern::parse(inside), pattern::parse(end)) {
                (0..seed.below(6)).for_each(|_| draw(&inside, seed, &mut out));
                if seed.below(2) == 0 {
                    draw(&end, seed, &mut out);
                }
            }
        }
        What::Tracker { .. } | What::Exact(_) => {}
    }
    out
}

/// A draw of the rule with something wrong: cut short, or one byte changed.
pub fn near(spec: &RuleSpec, seed: &mut Seed) -> Vec<u8> {
    let mut out = rule(spec, seed);
    let n = out.len();
    match seed.below(3) {
        0 => out.truncate(seed.below(n + 1)),
        1 if n > 0 => out[seed.below(n)] = b"ab01- .@\n"[seed.below(9)],
        _ => drop(out.drain(..seed.below(n + 1))),
    }
    out
}
