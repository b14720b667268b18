//! The candidate stage: which places of the input are worth a closer look.
//!
//! One trait, so that a faster backend can take its place: bytes in, hits out. A backend keeps nothing per stream: it
//! may read back into the history that the window begins with, and tells each literal when its last byte is fresh, so
//! a literal cut in half by pushes is found when the rest comes.
//!
//! The portable backend looks at the last three bytes (case folded) at every place: a multiplication and one bit of a
//! 16 KiB table that stays in the first-level cache, however many literals there are. Where the bit is set, a second
//! table looks at the last four, and what passes that is compared backwards. Single bytes are `memchr`'s. (An automaton
//! over the built-in literals is a table of megabytes.)
//!
//! Literals come from the rules' own patterns; ASCII case is folded, the rule's automaton looks at the case.

use std::collections::{BTreeSet, HashSet};

use regex_syntax::hir::{Class, Hir, HirKind, literal};

/// Longest prefix of a literal that is looked for: beyond it a hit is as good as certain.
const MAX_LITERAL: usize = 12;
/// Longest word of a keyed rule that is looked for whole.
pub(crate) const MAX_WORD: usize = 32;

/// A literal that ends at `end` bytes into the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) literal: u32,
    pub(crate) end: usize,
}

/// Finds literals.
pub(crate) trait Candidates: Send + Sync + std::fmt::Debug {
    /// Finds the literals whose last byte stands at `fresh` or behind, in order of their end; overlapping ones too.
    fn scan(&self, window: &[u8], fresh: usize, hits: &mut Vec<Hit>);
}

/// Log2 of the number of bits in the first filter: 16 KiB.
const FIRST_BITS: u32 = 17;
/// Log2 of the number of bits in the second filter: 64 KiB.
const SECOND_BITS: u32 = 19;

/// Filters and table of endings.
pub(crate) struct Portable {
    /// A bit for each three bytes that may end a literal.
    first: Box<[u64; 1 << (FIRST_BITS - 6)]>,
    /// A bit for each four bytes that end a literal of four or more.
    second: Box<[u64; 1 << (SECOND_BITS - 6)]>,
    /// A bit for each length of a literal shorter than four that ends in this byte.
    short: [u8; 256],
    /// Open addressing by hash: an ending (see [`ending_of`]), and where its literals stand in `order`. `u32::MAX` is
    /// free.
    table: Vec<(u32, u32, u32)>,
    order: Vec<u32>,
    literals: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Portable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Portable({} literals)", self.literals.len())
    }
}

impl Portable {
    /// Prepares literals, which are in small letters.
    pub(crate) fn new(literals: Vec<Vec<u8>>) -> Portable {
        let mut p = Portable {
            first: Box::new([0; 1 << (FIRST_BITS - 6)]),
            second: Box::new([0; 1 << (SECOND_BITS - 6)]),
            short: [0; 256],
            table: vec![(u32::MAX, 0, 0); (literals.len() * 4 + 1).next_power_of_two()],
            order: Vec::with_capacity(literals.len()),
            literals,
        };
        let mut by_ending: Vec<(u32, u32)> =
            p.literals.iter().enumerate().map(|(i, l)| (ending_of(l), i as u32)).collect();
        by_ending.sort_unstable();
        for same in by_ending.chunk_by(|a, b| a.0 == b.0) {
            let ending = same[0].0;
            let mut at = home(ending, p.table.len());
            while p.table[at].0 != u32::MAX {
                at = (at + 1) & (p.table.len() - 1);
            }
            p.table[at] = (ending, p.order.len() as u32, same.len() as u32);
            p.order.extend(same.iter().map(|(_, i)| *i));
            let len = p.literals[same[0].1 as usize].len();
            match len {
                // A literal of two bytes may follow any byte.
                2 => (0..=255).for_each(|b| set(&mut *p.first, first_slot(b << 16 | ending & 0xffff))),
                1 => {}
                _ => set(&mut *p.first, first_slot(ending & 0xff_ffff)),
            }
            if len < 4 {
                p.short[(ending & 0xff) as usize] |= 1 << len;
            } else {
                set(&mut *p.second, second_slot(ending));
            }
        }
        p
    }

    /// The place passed the first filter: what ends there?
    #[inline(never)]
    fn look(&self, last: u32, window: &[u8], end: usize, hits: &mut Vec<Hit>) {
        if has(&*self.second, second_slot(last)) {
            self.compare(last, window, end, hits);
        }
        let short = self.short[(last & 0xff) as usize];
        for len in [2, 3] {
            if short & 1 << len != 0 {
                self.compare(key(last, len), window, end, hits);
            }
        }
    }

    /// Literals with this ending that stand right before `end`.
    fn compare(&self, ending: u32, window: &[u8], end: usize, hits: &mut Vec<Hit>) {
        let mut at = home(ending, self.table.len());
        while self.table[at].0 != ending {
            if self.table[at].0 == u32::MAX {
                return;
            }
            at = (at + 1) & (self.table.len() - 1);
        }
        let (_, from, n) = self.table[at];
        for i in &self.order[from as usize..(from + n) as usize] {
            let l = &self.literals[*i as usize];
            if end >= l.len() && window[end - l.len()..end].eq_ignore_ascii_case(l) {
                hits.push(Hit { literal: *i, end });
            }
        }
    }
}

/// What the table knows a literal by: its last four bytes, or all of a shorter one and its length.
fn ending_of(l: &[u8]) -> u32 {
    let ending = l.iter().rev().take(4).rev().fold(0, |e, b| e << 8 | u32::from(*b));
    match l.len() {
        1 => key(ending, 1),
        2 => key(ending, 2),
        3 => key(ending, 3),
        _ => ending,
    }
}

/// The key of a literal of fewer than four bytes. No text of small letters has its top byte.
fn key(ending: u32, len: u32) -> u32 {
    0xfc00_0000 | len << 24 | ending & ((1 << (len * 8)) - 1)
}

/// Where an ending's search begins in a table of `size` (a power of two) places: the high bits of the product, which
/// depend on every byte of it.
fn home(ending: u32, size: usize) -> usize {
    ((u64::from(ending.wrapping_mul(0x9e37_79b1)) * size as u64) >> 32) as usize
}

fn first_slot(three: u32) -> usize {
    (three.wrapping_mul(0x9e37_79b1) >> (32 - FIRST_BITS)) as usize
}

fn second_slot(four: u32) -> usize {
    ((four ^ four >> 13).wrapping_mul(0x85eb_ca6b) >> (32 - SECOND_BITS)) as usize
}

fn set(bits: &mut [u64], at: usize) {
    bits[at >> 6] |= 1 << (at & 63);
}

fn has(bits: &[u64], at: usize) -> bool {
    bits[at >> 6] & 1 << (at & 63) != 0
}

impl Candidates for Portable {
    fn scan(&self, window: &[u8], fresh: usize, hits: &mut Vec<Hit>) {
        let before = &window[..fresh];
        let mut last = before.iter().rev().take(3).rev().fold(0, |e, b| e << 8 | u32::from(b.to_ascii_lowercase()));
        let first = &*self.first;
        for (i, b) in window[fresh..].iter().enumerate() {
            last = last << 8 | u32::from(b.to_ascii_lowercase());
            let at = first_slot(last & 0xff_ffff);
            if first[at >> 6] & 1 << (at & 63) != 0 {
                self.look(last, window, fresh + i + 1, hits);
            }
        }
        if self.short[usize::from(b'@')] & 1 << 1 != 0 {
            for at in memchr::memchr_iter(b'@', &window[fresh..]) {
                self.compare(key(u32::from(b'@'), 1), window, fresh + at + 1, hits);
            }
        }
    }
}

/// The literals that every match of `h` begins with, case folded; `None` if there is no such finite set.
pub(crate) fn prefixes(h: &Hir) -> Option<Vec<Vec<u8>>> {
    let mut extractor = literal::Extractor::new();
    extractor
        .kind(literal::ExtractKind::Prefix)
        .limit_class(12)
        .limit_repeat(8)
        .limit_literal_len(MAX_LITERAL)
        .limit_total(500);
    let seq = extractor.extract(&fold(h));
    let mut out: Vec<Vec<u8>> = seq.literals()?.iter().map(|l| l.as_bytes().to_ascii_lowercase()).collect();
    distinct(&mut out);
    (!out.is_empty() && out.iter().all(|l| !l.is_empty())).then_some(out)
}

/// Cuts literals to the length of the shortest: literals of one length end in the order in which they begin, so no match
/// has to wait for a longer one that began earlier. Not where that would leave two bytes.
pub(crate) fn level(literals: &mut Vec<Vec<u8>>) {
    let least = literals.iter().map(Vec::len).min().unwrap_or(0);
    if least >= 3 {
        literals.iter_mut().for_each(|l| l.truncate(least));
        distinct(literals);
    }
}

/// A literal that begins with another one adds nothing.
fn distinct(literals: &mut Vec<Vec<u8>>) {
    literals.sort();
    literals.dedup_by(|long, short| long.starts_with(short));
}

/// How often one of `literals` ends at a byte of ordinary text, roughly: source code, logs and prose in equal parts,
/// bytes taken as independent. Only used to choose between ways of finding a rule.
pub(crate) fn frequency(literals: &[Vec<u8>]) -> f64 {
    literals.iter().map(|l| l.iter().map(|b| byte_frequency(*b)).product::<f64>()).sum()
}

fn byte_frequency(b: u8) -> f64 {
    match b.to_ascii_lowercase() {
        b' ' => 0.12,
        b'e' | b't' | b'a' | b'o' | b'n' | b'i' | b's' | b'r' => 0.05,
        b'l' | b'd' | b'c' | b'u' | b'm' | b'p' | b'h' | b'f' | b'g' => 0.025,
        b'a'..=b'z' => 0.01,
        b'0'..=b'9' => 0.02,
        b'\n' | b'_' | b'-' | b'.' | b',' | b':' | b'/' | b'"' | b'=' | b'(' | b')' => 0.015,
        _ => 0.003,
    }
}

/// The literals of one rule, to ask whether one of them was seen already.
#[derive(Debug)]
pub(crate) struct LiteralSet {
    sorted: Vec<Vec<u8>>,
    lengths: BTreeSet<usize>,
    /// They may stand anywhere in a span, not only in front.
    inner: bool,
}

impl LiteralSet {
    pub(crate) fn new(literals: &[Vec<u8>], inner: bool) -> LiteralSet {
        let mut sorted = literals.to_vec();
        sorted.sort();
        LiteralSet { sorted, lengths: literals.iter().map(Vec::len).collect(), inner }
    }

    /// Whether the candidate stage named one of them in `span`, the beginning of a span: the automaton that it
    /// started there knows more than any prefix. A head has no byte that a literal begins with.
    pub(crate) fn seen_in(&self, span: &[u8]) -> bool {
        let opens = |b: &u8| self.sorted.iter().any(|l| l[0] == b.to_ascii_lowercase());
        let at = if self.inner { span.iter().position(opens) } else { Some(0) };
        at.is_some_and(|at| self.begins(&span[at..]))
    }

    fn begins(&self, text: &[u8]) -> bool {
        self.lengths.iter().take_while(|n| **n <= text.len()).any(|n| {
            let mut folded = [0; MAX_LITERAL];
            let folded = &mut folded[..*n];
            folded.copy_from_slice(&text[..*n]);
            folded.make_ascii_lowercase();
            self.sorted.binary_search_by(|l| l.as_slice().cmp(folded)).is_ok()
        })
    }
}

/// Literals inside others: what stands before the inner one, and how many bytes past its start the outer one ends.
/// A match of the inner one is not settled before then, for the outer one's match began earlier.
pub(crate) fn nested(literals: &[Vec<u8>]) -> Vec<(Vec<u8>, u64)> {
    let lengths: BTreeSet<usize> = literals.iter().map(Vec::len).collect();
    let all: HashSet<&[u8]> = literals.iter().map(Vec::as_slice).collect();
    let mut out = BTreeSet::new();
    for long in literals {
        for n in lengths.iter().filter(|n| **n + 1 < long.len()) {
            for at in (1..long.len() - n).filter(|at| all.contains(&long[*at..at + n])) {
                out.insert((long[..at].to_vec(), (long.len() - at) as u64));
            }
        }
    }
    out.into_iter().collect()
}

/// Lower-cases literals, and turns the class of a letter's two cases into the letter.
fn fold(h: &Hir) -> Hir {
    match h.kind() {
        HirKind::Literal(l) => Hir::literal(l.0.to_ascii_lowercase()),
        HirKind::Class(c) => match pair(c) {
            Some(b) => Hir::literal([b]),
            None => h.clone(),
        },
        HirKind::Repetition(r) => Hir::repetition(r.with(fold(&r.sub))),
        HirKind::Capture(c) => fold(&c.sub),
        HirKind::Concat(items) => Hir::concat(items.iter().map(fold).collect()),
        HirKind::Alternation(items) => Hir::alternation(items.iter().map(fold).collect()),
        HirKind::Empty | HirKind::Look(_) => h.clone(),
    }
}

/// The letter, in small, that `h` matches in either case, if that is what it is.
pub(crate) fn folded(h: &Hir) -> Option<u8> {
    match h.kind() {
        HirKind::Class(c) => pair(c),
        _ => None,
    }
}

fn pair(c: &Class) -> Option<u8> {
    let Class::Bytes(c) = c else { return None };
    match c.ranges() {
        [a, b]
            if a.start() == a.end()
                && b.start() == b.end()
                && a.start().is_ascii_uppercase()
                && a.start().to_ascii_lowercase() == b.start() =>
        {
            Some(b.start())
        }
        _ => None,
    }
}
