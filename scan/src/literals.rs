//! The candidate stage: which places of the input are worth a closer look.
//!
//! One trait, so that a faster backend can take its place: bytes in, hits out. A backend keeps nothing per stream: it
//! may read back into the history that the window begins with, and tells each literal when its last byte is fresh, so
//! a literal cut in half by pushes is found when the rest comes.
//!
//! The portable backend reads the last four bytes, case folded, at every place, and asks one bit of a table that stays
//! in the near caches, however many literals there are, and another one for literals of one and two bytes. Where a
//! bit is set, a second hash over more bytes is asked, and what passes that is compared backwards. (An automaton over the
//! built-in literals is a table of megabytes.)
//!
//! Literals come from the rules' own patterns; ASCII case is folded, the rule's automaton looks at the case.

use std::collections::{BTreeSet, HashSet};

use regex_syntax::hir::{Class, Hir, HirKind, literal};

use crate::shape::ByteSet;

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

/// Log2 of the number of slots in the first filter: 64 KiB.
const FIRST_BITS: u32 = 14;
/// Log2 of the number of bits in the second filter: 32 KiB.
const SECOND_BITS: u32 = 18;
/// Bytes of a literal's end that the tables know it by, if it has so many.
const KNOWN: [u32; 3] = [6, 4, 3];
/// How many places are looked at together. A power of two.
const BLOCK: usize = 64;

/// Filters and table of endings. Everything before the last comparison sees bytes as [`FOLD`] leaves them.
pub(crate) struct Portable {
    /// At the hash of three bytes a bit for each kind of byte that stands before them where a literal of three or more
    /// ends.
    first: Box<[u32; 1 << FIRST_BITS]>,
    /// A bit for each two bytes that end a literal of one or two.
    pairs: Box<[u32; 1 << 11]>,
    /// A bit for each ending of three or more.
    second: Box<[u64; 1 << (SECOND_BITS - 6)]>,
    /// By ending, see [`ending_of`].
    long: Endings,
    /// The same for literals of less than four bytes: a table that stays in the cache.
    short: Endings,
    /// In the order of their endings.
    entries: Vec<Entry>,
    /// The literals' bytes.
    text: Vec<u8>,
}

/// A literal, as it is compared.
struct Entry {
    /// Its last bytes, as many as fit, folded, and a mask for them.
    last: u64,
    mask: u64,
    /// What may stand before it.
    guard: ByteSet,
    id: u32,
    /// Where it begins in the text.
    at: u32,
    len: u32,
}

impl std::fmt::Debug for Portable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Portable({} literals)", self.entries.len())
    }
}

impl Portable {
    /// Prepares literals, which are in small letters, each with what may stand before it.
    pub(crate) fn new(literals: &[(Vec<u8>, ByteSet)]) -> Portable {
        let mut p = Portable {
            first: Box::new([0; 1 << FIRST_BITS]),
            pairs: Box::new([0; 1 << 11]),
            second: Box::new([0; 1 << (SECOND_BITS - 6)]),
            long: Endings::for_up_to(literals.len()),
            short: Endings::for_up_to(literals.iter().filter(|(l, _)| l.len() < 4).count()),
            entries: Vec::with_capacity(literals.len()),
            text: Vec::new(),
        };
        let mut by_ending: Vec<(u64, u32)> =
            literals.iter().enumerate().map(|(i, (l, _))| (ending_of(l), i as u32)).collect();
        by_ending.sort_unstable();
        for same in by_ending.chunk_by(|a, b| a.0 == b.0) {
            let ending = same[0].0;
            let place = (p.entries.len() as u32, same.len() as u32);
            for (_, id) in same {
                let (l, guard) = &literals[*id as usize];
                let mask = u64::MAX >> (64 - 8 * l.len().min(8));
                let (at, len) = (p.text.len() as u32, l.len() as u32);
                p.entries.push(Entry { last: last_of(l) & mask, mask, guard: guard.clone(), id: *id, at, len });
                p.text.extend_from_slice(l);
            }
            let (len, last) = (length_of(ending), ending as u32);
            if len < 4 { &mut p.short } else { &mut p.long }.insert(ending, place);
            match len {
                1 => (0..=255).for_each(|b| p.add_pair(FOLD as u32 & 0xff | b, last & 0xff)),
                2 => p.add_pair(last >> 8 & 0xff, last & 0xff),
                3 => p.first[first_slot(last)] = u32::MAX,
                _ => p.first[first_slot(last)] |= 1 << kind_before(last),
            }
            if len > 2 {
                let at = second_slot(ending);
                p.second[at >> 6] |= 1 << (at & 63);
            }
        }
        p
    }

    fn add_pair(&mut self, before: u32, last: u32) {
        let at = before << 8 | last;
        self.pairs[(at >> 5) as usize] |= 1 << (at & 31);
    }

    /// The places that pass, of the `N` that are three bytes into `bytes`, with [`LONG`]; `M` is three more. Returns how
    /// many.
    ///
    /// Without a branch: one place in ten passes, and to guess wrong costs more than a place.
    #[inline]
    fn filter<const N: usize, const M: usize>(&self, bytes: &[u8], places: &mut [u8; BLOCK]) -> usize {
        let Some(bytes) = bytes.first_chunk::<M>() else { return 0 };
        let mut n = 0;
        let mut last = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        for i in 0..N {
            last = last << 8 | u32::from(bytes[i + 3]);
            let folded = last | FOLD as u32;
            let long = self.first[first_slot(folded)] >> kind_before(folded);
            let pair = self.pairs[(folded >> 5 & 0x7ff) as usize] >> (folded & 31);
            places[n % BLOCK] = i as u8 | (long << 7) as u8;
            n += ((long | pair) & 1) as usize;
        }
        n
    }

    /// What ends at a place that passed the first filter? `last`: the last eight bytes, folded.
    fn look(&self, which: u8, last: u64, window: &[u8], end: usize, hits: &mut Vec<Hit>) {
        if which & LONG != 0 {
            for len in KNOWN {
                let key = key(last, len);
                let at = second_slot(key);
                if self.second[at >> 6] >> (at & 63) & 1 != 0 {
                    let endings = if len < 4 { &self.short } else { &self.long };
                    self.compare(endings.get(key), last, window, end, hits);
                }
            }
        }
        let pair = last as usize & 0xffff;
        if self.pairs[pair >> 5] >> (pair & 31) & 1 != 0 {
            self.compare(self.short.get(key(last, 2)), last, window, end, hits);
            self.compare(self.short.get(key(last, 1)), last, window, end, hits);
        }
    }

    /// Those of some entries that stand right before `end`.
    fn compare(&self, (from, n): (u32, u32), last: u64, window: &[u8], end: usize, hits: &mut Vec<Hit>) {
        for e in &self.entries[from as usize..(from + n) as usize] {
            let len = e.len as usize;
            if last & e.mask != e.last || len > end {
                continue;
            }
            let at = end - len;
            if (at == 0 || e.guard.has(window[at - 1]))
                && window[at..end].eq_ignore_ascii_case(&self.text[e.at as usize..e.at as usize + len])
            {
                hits.push(Hit { literal: e.id, end });
            }
        }
    }
}

/// At a place, literals of three bytes or more may end.
const LONG: u8 = 1 << 7;
/// Endings, each with a place and a number, by open addressing.
struct Endings {
    /// `u64::MAX` is free.
    table: Vec<(u64, u32, u32)>,
}

impl Endings {
    fn for_up_to(n: usize) -> Endings {
        Endings { table: vec![(u64::MAX, 0, 0); (n * 2).next_power_of_two().max(2)] }
    }

    fn home(&self, ending: u64) -> usize {
        hash(ending ^ ending >> 29, self.table.len().trailing_zeros())
    }

    fn insert(&mut self, ending: u64, (place, n): (u32, u32)) {
        let mut at = self.home(ending);
        while self.table[at].0 != u64::MAX {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = (ending, place, n);
    }

    /// Nothing if it is not there.
    fn get(&self, ending: u64) -> (u32, u32) {
        let mut at = self.home(ending);
        loop {
            match self.table[at] {
                (found, place, n) if found == ending => return (place, n),
                (u64::MAX, ..) => return (0, 0),
                _ => at = (at + 1) & (self.table.len() - 1),
            }
        }
    }
}

/// Or-ed to bytes: makes small letters of capitals in one step, and takes some other bytes for one another.
const FOLD: u64 = 0x2020_2020_2020_2020;

/// What the tables know a literal by: as many of its last bytes as [`KNOWN`] has room for, or all of a shorter one.
fn ending_of(l: &[u8]) -> u64 {
    let len = l.len() as u32;
    key(last_of(l), KNOWN.into_iter().find(|n| *n <= len).unwrap_or(len))
}

/// The last eight bytes, folded, the last one lowest.
fn last_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().take(8).rev().fold(0, |e, b| e << 8 | u64::from(*b)) | FOLD
}

/// The same for just eight bytes.
fn last_eight(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap_or_default()) | FOLD
}

/// The last `len` bytes of `last`, with their number.
fn key(last: u64, len: u32) -> u64 {
    u64::from(len) << 56 | last & ((1 << (len * 8)) - 1)
}

fn length_of(key: u64) -> u64 {
    key >> 56
}

/// The high bits of the product depend on every byte of what is hashed.
fn hash(bytes: u64, bits: u32) -> usize {
    (bytes.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
}

/// The slot of the last three of four bytes.
#[inline]
fn first_slot(last: u32) -> usize {
    ((last << 8).wrapping_mul(0x9e37_79b1) >> (32 - FIRST_BITS)) as usize
}

/// One of 32 kinds of the first of four bytes: letters are told apart.
#[inline]
fn kind_before(last: u32) -> u32 {
    last >> 24 & 31
}

fn second_slot(key: u64) -> usize {
    hash(key ^ key >> 31, SECOND_BITS)
}

impl Candidates for Portable {
    fn scan(&self, window: &[u8], fresh: usize, hits: &mut Vec<Hit>) {
        // Where eight bytes cannot be read, at the beginning of a stream.
        let early = fresh.max(7).min(window.len());
        for at in fresh..early {
            self.look(LONG, last_of(&window[..=at]), window, at + 1, hits);
        }
        let mut places = [0u8; BLOCK];
        let mut from = early;
        while from < window.len() {
            let bytes = &window[from - 3..];
            let (step, n) = match bytes.len() - 3 {
                BLOCK.. => (BLOCK, self.filter::<BLOCK, { BLOCK + 3 }>(bytes, &mut places)),
                16.. => (16, self.filter::<16, 19>(bytes, &mut places)),
                4.. => (4, self.filter::<4, 7>(bytes, &mut places)),
                _ => (1, self.filter::<1, 4>(bytes, &mut places)),
            };
            for i in &places[..n] {
                let end = from + usize::from(*i % BLOCK as u8) + 1;
                self.look(*i, last_eight(&window[end - 8..end]), window, end, hits);
            }
            from += step;
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

/// Cuts literals to one length: then they end in the order in which they begin, so no match has to wait for a longer one
/// that began earlier. The length is that of the shortest or less: where what they end in is rarest. Never two bytes.
pub(crate) fn level(literals: &mut Vec<Vec<u8>>) {
    let least = literals.iter().map(Vec::len).min().unwrap_or(0);
    if least >= 3 {
        let cost = |n: &usize| -> f64 { literals.iter().map(|l| ending_frequency(&l[..*n])).sum() };
        let best = (least.min(4)..=least).min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(least);
        literals.iter_mut().for_each(|l| l.truncate(best));
        distinct(literals);
    }
}

/// Cuts each literal where what it ends in is rarest. For rules that hold nothing, whose order does not matter.
pub(crate) fn trim(literals: &mut Vec<Vec<u8>>) {
    for l in literals.iter_mut() {
        let ending = |n: &usize| ending_frequency(&l[..*n]);
        let best = (l.len().min(5)..=l.len()).min_by(|a, b| ending(a).total_cmp(&ending(b))).unwrap_or(l.len());
        l.truncate(best);
    }
    distinct(literals);
}

/// How often a text has what a literal ends in, roughly: its last four bytes in pairs, of which some are common.
fn ending_frequency(l: &[u8]) -> f64 {
    /// The most common pairs of letters in English text, and of those the most common ones in source code.
    const PAIRS: &[u8] =
        b"thheinerantienereationdtontedndatesouhatoitishingseorarasalleverovemedideentrstreconerolunputomusetgeil";
    let last = &l[l.len().saturating_sub(4)..];
    let pair = |p: &[u8]| if PAIRS.windows(2).any(|c| c.eq_ignore_ascii_case(p)) { 4.0 } else { 0.5 };
    let pairs: f64 = last.windows(2).map(pair).product();
    last.iter().map(|b| byte_frequency(*b)).product::<f64>() * pairs
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
        // Numbers come in runs, with these between them.
        b'0'..=b'9' => 0.06,
        b'-' | b'.' | b':' | b'/' | b',' => 0.03,
        b'\n' | b'_' | b'"' | b'=' | b'(' | b')' => 0.015,
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
