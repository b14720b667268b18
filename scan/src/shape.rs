//! What bytes can stand where: the first few places of a pattern, each as a set of bytes.
//!
//! An over-approximation, read off the HIR without building an automaton: a text that does not fit the shape is no
//! match; one that does may be. It chooses which class rules share an automaton, and turns candidates away before their
//! automaton is touched.

use regex_syntax::hir::{Class, Hir, HirKind};
use regex_syntax::utf8::Utf8Sequences;
use serde::{Deserialize, Serialize};

/// A set of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct ByteSet([u64; 4]);

impl ByteSet {
    pub(crate) fn add(&mut self, b: u8) {
        self.0[usize::from(b >> 6)] |= 1 << (b & 63);
    }

    pub(crate) fn has(&self, b: u8) -> bool {
        self.0[usize::from(b >> 6)] & (1 << (b & 63)) != 0
    }

    pub(crate) fn has_folded(&self, b: u8) -> bool {
        self.has(b.to_ascii_lowercase()) || self.has(b.to_ascii_uppercase())
    }

    pub(crate) fn union(&mut self, other: &ByteSet) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|w| w.count_ones() as usize).sum()
    }

    pub(crate) fn meets(&self, other: &ByteSet) -> bool {
        self.0.iter().zip(other.0).any(|(a, b)| a & b != 0)
    }

    pub(crate) fn full() -> ByteSet {
        ByteSet([u64::MAX; 4])
    }

    pub(crate) fn of(wanted: impl Fn(u8) -> bool) -> ByteSet {
        let mut set = ByteSet::default();
        (0..=255).filter(|b| wanted(*b)).for_each(|b| set.add(b));
        set
    }

    pub(crate) fn add_range(&mut self, from: u8, to: u8) {
        for (word, first) in self.0.iter_mut().zip([0u8, 64, 128, 192]) {
            let (low, high) = (from.max(first), to.min(first | 63));
            if low <= high {
                *word |= (u64::MAX >> (63 - (high - low))) << (low - first);
            }
        }
    }
}

/// Most places of a shape: the bits of a word.
const MAX_PLACES: usize = 63;

/// The sets of a pattern's first places, its guard byte among them.
pub(crate) struct Shape(Vec<ByteSet>);

impl Shape {
    /// The first `places` places of what `parts` are one behind the other.
    pub(crate) fn of(parts: &[&Hir], places: usize) -> Vec<ByteSet> {
        let mut shape = Shape(vec![ByteSet::default(); places.min(MAX_PLACES)]);
        let ends = parts.iter().fold(1, |at, part| shape.walk(part, at));
        // Behind its end anything may stand.
        shape.0.iter_mut().skip(ends.trailing_zeros() as usize).for_each(|s| *s = ByteSet::full());
        shape.0.resize(places, ByteSet::full());
        shape.0
    }

    /// Puts `h` at each place of `at` (a bit each); the places behind it.
    fn walk(&mut self, h: &Hir, at: u64) -> u64 {
        if at == 0 {
            return 0;
        }
        match h.kind() {
            HirKind::Empty | HirKind::Look(_) => at,
            HirKind::Literal(l) => l.0.iter().fold(at, |at, b| self.put(at, *b, *b)),
            HirKind::Class(Class::Bytes(c)) => {
                c.ranges().iter().fold(0, |ends, r| ends | self.put(at, r.start(), r.end()))
            }
            HirKind::Class(Class::Unicode(c)) => {
                let sequences = c.ranges().iter().flat_map(|r| Utf8Sequences::new(r.start(), r.end()));
                sequences.fold(0, |ends, s| ends | s.as_slice().iter().fold(at, |at, r| self.put(at, r.start, r.end)))
            }
            HirKind::Capture(c) => self.walk(&c.sub, at),
            HirKind::Alternation(items) => items.iter().fold(0, |ends, i| ends | self.walk(i, at)),
            HirKind::Concat(items) => items.iter().fold(at, |at, i| self.walk(i, at)),
            HirKind::Repetition(r) => {
                let min = if r.sub.properties().minimum_len() == Some(0) { 0 } else { r.min };
                let max = r.max.unwrap_or(u32::MAX).min(self.0.len() as u32 + 1);
                let (mut at, mut ends) = (at, 0);
                if r.sub.properties().minimum_len() == Some(1) && r.sub.properties().maximum_len() == Some(1) {
                    // One byte moves every place by one: all its places are put at once.
                    let mut all = 0;
                    for n in 0..=max {
                        ends |= if n >= min { at } else { 0 };
                        all |= if n < max { at } else { 0 };
                        at = self.cut(at << 1);
                    }
                    self.walk(&r.sub, all);
                    return ends;
                }
                for n in 0..=max {
                    ends |= if n >= min { at } else { 0 };
                    at = if n < max { self.walk(&r.sub, at) } else { 0 };
                }
                ends
            }
        }
    }

    fn put(&mut self, at: u64, from: u8, to: u8) -> u64 {
        for (i, set) in self.0.iter_mut().enumerate() {
            if at >> i & 1 != 0 {
                set.add_range(from, to);
            }
        }
        self.cut(at << 1)
    }

    /// Without the places that nobody asked for.
    fn cut(&self, at: u64) -> u64 {
        at & ((1 << self.0.len()) - 1)
    }
}
