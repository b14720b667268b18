//! The portable backend.
//!
//! It reads the last four bytes, case folded, at every place, and asks one bit of a table that stays in the near
//! caches, however many needles there are, and another one for needles of one and two bytes. Where a bit is set, a
//! second hash over more bytes is asked, and what passes that is compared backwards. (An automaton over the built-in
//! needles is a table of megabytes.)

use super::{Candidates, Hit, Needle, Spelling};
use crate::shape::ByteSet;

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
}

/// A needle, as it is compared.
struct Entry {
    /// Its last bytes, as many as fit, with the bits that count.
    last: u64,
    mask: u64,
    len: usize,
    /// What may stand before it.
    guard: ByteSet,
    id: u32,
    /// All of it, if it is longer.
    long: Option<Box<Spelling>>,
}

impl std::fmt::Debug for Portable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Portable({} literals)", self.entries.len())
    }
}

impl Portable {
    /// Prepares needles.
    pub(crate) fn new(needles: Vec<Needle>) -> Portable {
        let mut p = Portable {
            first: Box::new([0; 1 << FIRST_BITS]),
            pairs: Box::new([0; 1 << 11]),
            second: Box::new([0; 1 << (SECOND_BITS - 6)]),
            long: Endings::for_up_to(needles.len()),
            short: Endings::for_up_to(needles.iter().filter(|n| n.spelling.len() < 4).count()),
            entries: Vec::with_capacity(needles.len()),
        };
        let mut by_ending: Vec<(u64, Needle)> =
            needles.into_iter().map(|n| (ending_of(&n.spelling.value), n)).collect();
        by_ending.sort_unstable_by_key(|(ending, n)| (*ending, n.id));
        for same in by_ending.chunk_by(|a, b| a.0 == b.0) {
            let ending = same[0].0;
            let place = (p.entries.len() as u32, same.len() as u32);
            p.entries.extend(same.iter().map(|(_, needle)| Entry::of(needle)));
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

    /// What ends at a place that passed the first filter? `raw`: the last eight bytes.
    fn look(&self, which: u8, raw: u64, window: &[u8], end: usize, hits: &mut Vec<Hit>) {
        let last = raw | FOLD;
        if which & LONG != 0 {
            for len in KNOWN {
                let key = key(last, len);
                let at = second_slot(key);
                if self.second[at >> 6] >> (at & 63) & 1 != 0 {
                    let endings = if len < 4 { &self.short } else { &self.long };
                    self.compare(endings.get(key), raw, window, end, hits);
                }
            }
        }
        let pair = last as usize & 0xffff;
        if self.pairs[pair >> 5] >> (pair & 31) & 1 != 0 {
            self.compare(self.short.get(key(last, 2)), raw, window, end, hits);
            self.compare(self.short.get(key(last, 1)), raw, window, end, hits);
        }
    }

    /// Those of some entries that stand right before `end`.
    fn compare(&self, (from, n): (u32, u32), raw: u64, window: &[u8], end: usize, hits: &mut Vec<Hit>) {
        for e in &self.entries[from as usize..(from + n) as usize] {
            if raw & e.mask == e.last && e.stands(window, end) {
                hits.push(Hit { literal: e.id, end });
            }
        }
    }
}

impl Entry {
    fn of(needle: &Needle) -> Entry {
        let spelling = &needle.spelling;
        Entry {
            last: last_of(&spelling.value),
            mask: last_of(&spelling.mask),
            len: spelling.len(),
            guard: needle.guard.clone(),
            id: needle.id,
            long: (spelling.len() > 8).then(|| Box::new(spelling.clone())),
        }
    }

    /// Whether what its last bytes do not tell fits.
    fn stands(&self, window: &[u8], end: usize) -> bool {
        let Some(at) = end.checked_sub(self.len) else { return false };
        (at == 0 || self.guard.has(window[at - 1])) && self.long.as_ref().is_none_or(|s| s.is(&window[at..end]))
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
    key(last_of(l) | FOLD, KNOWN.into_iter().find(|n| *n <= len).unwrap_or(len))
}

/// The last eight bytes, the last one lowest.
fn last_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().take(8).rev().fold(0, |e, b| e << 8 | u64::from(*b))
}

/// The same for just eight bytes.
fn last_eight(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap_or_default())
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

