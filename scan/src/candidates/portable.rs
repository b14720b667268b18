//! The portable backend.
//!
//! Three questions, each asked only where the one before said yes: may the last four bytes, or two, end a needle
//! ([`Grams`], one bit of a table that stays in the near caches however many needles there are)? Do the last six, four
//! or three, by a second hash? Then what ends so is compared. (An automaton over the built-in needles is a table of
//! megabytes.)

use super::{Candidates, Hit, Needle, Spelling};
use crate::shape::ByteSet;
use crate::simd::{BLOCK, Grams};

/// Log2 of the number of bits in the second filter: 32 KiB.
const SECOND_BITS: u32 = 18;
/// Bytes of a needle's end that the tables know it by, if it has so many.
const KNOWN: [u32; 3] = [6, 4, 3];

/// Filters and table of endings. Everything before the last comparison sees bytes as [`FOLD`] leaves them.
pub(crate) struct Portable {
    grams: Grams,
    /// A bit for each ending of three bytes or more.
    second: Box<[u64; 1 << (SECOND_BITS - 6)]>,
    /// By ending, see [`ending_of`].
    long: Endings,
    /// The same for needles of less than four bytes: a table that stays in the cache.
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
            grams: Grams::new(),
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
            for (_, needle) in same {
                add(&mut p.grams, needle);
                p.entries.push(Entry::of(needle));
            }
            let len = length_of(ending);
            if len < 4 { &mut p.short } else { &mut p.long }.insert(ending, place);
            if len > 2 {
                let at = second_slot(ending);
                p.second[at >> 6] |= 1 << (at & 63);
            }
        }
        p
    }

    /// How many of a needle's last bytes the tables know it by. Of the needles that end at one place those with more are
    /// told first.
    pub(super) fn known(len: usize) -> u32 {
        KNOWN.into_iter().find(|n| *n as usize <= len).unwrap_or(len as u32)
    }

    /// Needles of three bytes or more that end at `end`. `raw`: the last eight bytes.
    fn look(&self, raw: u64, window: &[u8], end: usize, hits: &mut Vec<Hit>) {
        for len in KNOWN {
            let key = key(raw | FOLD, len);
            let at = second_slot(key);
            if self.second[at >> 6] >> (at & 63) & 1 != 0 {
                let endings = if len < 4 { &self.short } else { &self.long };
                self.compare(endings.get(key), raw, window, end, hits);
            }
        }
    }

    /// Needles of one and two bytes.
    fn look_short(&self, raw: u64, window: &[u8], end: usize, hits: &mut Vec<Hit>) {
        self.compare(self.short.get(key(raw | FOLD, 2)), raw, window, end, hits);
        self.compare(self.short.get(key(raw | FOLD, 1)), raw, window, end, hits);
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
    key(last_of(l) | FOLD, Portable::known(l.len()))
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

fn second_slot(key: u64) -> usize {
    hash(key ^ key >> 31, SECOND_BITS)
}

/// Adds how a needle ends.
fn add(grams: &mut Grams, needle: &Needle) {
    let guard = || (0..=255u8).filter(|b| needle.guard.has(*b));
    match *needle.spelling.value {
        [b] => guard().for_each(|before| grams.add_pair([before, b])),
        [a, b] => grams.add_pair([a, b]),
        [a, b, c] => guard().for_each(|before| grams.add(before, [a, b, c])),
        [.., before, a, b, c] => grams.add(before, [a, b, c]),
        [] => {}
    }
}

impl Candidates for Portable {
    fn scan(&self, window: &[u8], fresh: usize, hits: &mut Vec<Hit>) {
        // Where eight bytes cannot be read, at the beginning of a stream.
        let early = fresh.max(7).min(window.len());
        for end in fresh + 1..=early {
            let raw = last_of(&window[..end]);
            self.look(raw, window, end, hits);
            self.look_short(raw, window, end, hits);
        }
        for from in (early..window.len()).step_by(BLOCK) {
            let n = BLOCK.min(window.len() - from);
            let (long, short) = self.grams.places(&window[from - 3..], n);
            let mut places = long | short;
            while places != 0 {
                let place = places.trailing_zeros();
                places &= places - 1;
                let end = from + place as usize + 1;
                let raw = last_eight(&window[end - 8..end]);
                if long >> place & 1 != 0 {
                    self.look(raw, window, end, hits);
                }
                if short >> place & 1 != 0 {
                    self.look_short(raw, window, end, hits);
                }
            }
        }
    }
}
