//! The portable backend.
//!
//! Questions, each asked only where the one before said yes: may the last six bytes, four or two, end a needle
//! ([`Grams`], bits of tables that stay in the near caches however many needles there are)? Is what stands there as all
//! needles of its hash have it, in their case ([`Slot`])? Then those few are compared. (An automaton over the built-in
//! needles is a table of megabytes.)

use super::{Candidates, Hit, Needle, Spelling};
use crate::shape::ByteSet;
use crate::simd::{BLOCK, Grams, Places};

/// A guard of more kinds of bytes than this tells little about what it stands before.
const TELLING: u32 = 8;

/// The filter, and the needles by how it knows them.
pub(crate) struct Portable {
    grams: Grams,
    /// Those of which it knows five or six bytes.
    long: Endings,
    /// Three or four.
    middle: Endings,
    /// One or two.
    short: Endings,
    /// All that comparing a needle's last bytes does not tell.
    rest: Vec<Rest>,
}

/// Needles by the filter's hash of their ending.
struct Endings {
    /// By hash.
    slots: Vec<Slot>,
    entries: Vec<Entry>,
}

/// The needles of one hash.
#[derive(Clone, Copy)]
struct Slot {
    /// The bits that all of them have alike, of their last eight bytes: most places whose hash fits do not have them.
    last: u64,
    mask: u64,
    /// Where their entries stand.
    from: u32,
    to: u32,
}

/// The last bytes of a needle, as many as fit, the last one highest, with the bits that count.
struct Entry {
    last: u64,
    mask: u64,
    /// Index into [`Portable::rest`].
    rest: u32,
}

struct Rest {
    len: usize,
    /// What may stand before it.
    guard: ByteSet,
    id: u32,
    /// All of it, if it has more than eight bytes.
    long: Option<Spelling>,
}

impl std::fmt::Debug for Portable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Portable({} literals)", self.rest.len())
    }
}

impl Portable {
    /// Prepares needles.
    pub(crate) fn new(needles: Vec<Needle>) -> Portable {
        let mut grams = Grams::new();
        let mut needles: Vec<(u32, Needle)> = needles.into_iter().map(|n| (Portable::known(&n), n)).collect();
        needles.iter().for_each(|(known, n)| add(&mut grams, n, *known));
        needles.sort_by_key(|(known, n)| (std::cmp::Reverse(*known), n.id));
        let of = |known: std::ops::RangeInclusive<u32>, hash: fn(u64) -> usize, size: usize| {
            let all = (0..).zip(&needles).filter(|(_, (k, _))| known.contains(k));
            let hashed = all.map(|(rest, (_, n))| (hash(last_of(&n.spelling.value)), Entry::of(&n.spelling, rest)));
            Endings::new(hashed.collect(), size)
        };
        Portable {
            long: of(5..=6, Grams::slot_of_five, Grams::SLOTS),
            middle: of(3..=4, Grams::slot_of_three, Grams::SLOTS),
            short: of(0..=2, Grams::slot_of_one, Grams::SHORT_SLOTS),
            rest: needles.into_iter().map(|(_, n)| Rest::of(n)).collect(),
            grams,
        }
    }

    /// How many of a needle's last bytes the filter knows. Of the needles that end at one place those with more are told
    /// first.
    pub(super) fn known(needle: &Needle) -> u32 {
        match needle.spelling.len() {
            6.. => 6,
            5 if kinds_before(needle).count_ones() <= TELLING => 5,
            n => n.min(4) as u32,
        }
    }

    /// Needles that end at `end`, of the lengths in `kinds`.
    #[inline]
    fn look(&self, kinds: u32, window: &[u8], end: usize, hits: &mut Vec<Hit>) {
        let raw = raw(window, end);
        if kinds & LONG != 0 {
            self.compare(self.long.of(Grams::slot_of_five(raw)), raw, window, end, hits);
        }
        if kinds & MIDDLE != 0 {
            self.compare(self.middle.of(Grams::slot_of_three(raw)), raw, window, end, hits);
        }
        if kinds & SHORT != 0 {
            self.compare(self.short.of(Grams::slot_of_one(raw)), raw, window, end, hits);
        }
    }

    /// The places, bits from `from` on, at which what stands is alike enough.
    #[inline]
    fn alike(&self, places: Places, window: &[u8], from: usize) -> Places {
        let Places { fives, threes, twos } = places;
        let mut out = Places { fives: 0, threes: 0, twos: 0 };
        let mut places = fives | threes | twos;
        while places != 0 {
            let place = places.trailing_zeros();
            places &= places - 1;
            let raw = raw(window, from + place as usize + 1);
            out.fives |= u64::from(self.long.slots[Grams::slot_of_five(raw)].fits(raw)) << place;
            out.threes |= u64::from(self.middle.slots[Grams::slot_of_three(raw)].fits(raw)) << place;
            out.twos |= u64::from(self.short.slots[Grams::slot_of_one(raw)].fits(raw)) << place;
        }
        Places { fives: fives & out.fives, threes: threes & out.threes, twos: twos & out.twos }
    }

    /// Those of some entries that stand right before `end`.
    #[inline]
    fn compare(&self, entries: &[Entry], raw: u64, window: &[u8], end: usize, hits: &mut Vec<Hit>) {
        for e in entries.iter().filter(|e| raw & e.mask == e.last) {
            let rest = &self.rest[e.rest as usize];
            if rest.stands(window, end) {
                hits.push(Hit { literal: rest.id, end });
            }
        }
    }
}

impl Endings {
    /// `size` is the number of hashes. Entries of one hash stay in order.
    fn new(mut hashed: Vec<(usize, Entry)>, size: usize) -> Endings {
        hashed.sort_by_key(|(hash, _)| *hash);
        let mut slots = vec![Slot::EMPTY; size];
        for (at, (hash, entry)) in (0..).zip(&hashed) {
            slots[*hash] = slots[*hash].with(entry, at);
        }
        Endings { slots, entries: hashed.into_iter().map(|(_, e)| e).collect() }
    }

    fn of(&self, hash: usize) -> &[Entry] {
        let Slot { from, to, .. } = self.slots[hash];
        &self.entries[from as usize..to as usize]
    }
}

impl Slot {
    /// No needle, and nothing fits: no byte has a bit that is not asked for.
    const EMPTY: Slot = Slot { last: u64::MAX, mask: 0, from: 0, to: 0 };

    /// With one more entry, the next after those it has.
    fn with(self, entry: &Entry, at: u32) -> Slot {
        if self.to == self.from {
            return Slot { last: entry.last, mask: entry.mask, from: at, to: at + 1 };
        }
        let mask = self.mask & entry.mask & !(self.last ^ entry.last);
        Slot { last: self.last & mask, mask, from: self.from, to: at + 1 }
    }

    #[inline]
    fn fits(&self, raw: u64) -> bool {
        raw & self.mask == self.last
    }
}

impl Entry {
    fn of(spelling: &Spelling, rest: u32) -> Entry {
        Entry { last: last_of(&spelling.value), mask: last_of(&spelling.mask), rest }
    }
}

impl Rest {
    fn of(needle: Needle) -> Rest {
        let Needle { spelling, guard, id } = needle;
        Rest { len: spelling.len(), guard, id, long: (spelling.len() > 8).then_some(spelling) }
    }

    fn stands(&self, window: &[u8], end: usize) -> bool {
        let Some(at) = end.checked_sub(self.len) else { return false };
        (at == 0 || self.guard.has(window[at - 1])) && self.long.as_ref().is_none_or(|s| s.is(&window[at..end]))
    }
}

/// The eight bytes before `end`, or fewer, the last one highest.
#[inline]
fn raw(window: &[u8], end: usize) -> u64 {
    match window[..end].last_chunk() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => last_of(&window[..end]),
    }
}

/// The last eight bytes, or fewer, the last one highest.
fn last_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().take(8).rev().fold(0, |e, b| e >> 8 | u64::from(*b) << 56)
}

/// By which of the filter's tables a place was let through.
const LONG: u32 = 1;
const MIDDLE: u32 = 2;
const SHORT: u32 = 4;

/// Adds how a needle ends of which `known` bytes are known, and what may stand before that.
fn add(grams: &mut Grams, needle: &Needle, known: u32) {
    let text = &needle.spelling.value;
    let before = || kinds_before(needle);
    match text[text.len() - known as usize..] {
        [of_it, a, b, c, d, e] => grams.add_five(Grams::kind_of(of_it), [a, b, c, d, e]),
        [a, b, c, d, e] => grams.add_five(before(), [a, b, c, d, e]),
        [of_it, a, b, c] => grams.add_three(Grams::kind_of(of_it), [a, b, c]),
        [a, b, c] => grams.add_three(before(), [a, b, c]),
        [a, b] => grams.add_two(before(), [a, b]),
        [b] => grams.add_one(b),
        _ => {}
    }
}

/// What may stand before a needle, as the filter sees it.
fn kinds_before(needle: &Needle) -> u32 {
    (0..=255).filter(|b| needle.guard.has(*b)).fold(0, |kinds, b| kinds | Grams::kind_of(b))
}

impl Candidates for Portable {
    fn scan(&self, window: &[u8], fresh: usize, hits: &mut Vec<Hit>) {
        // Where eight bytes cannot be read, at the beginning of a stream.
        let early = fresh.max(7).min(window.len());
        for end in fresh + 1..=early {
            self.look(LONG | MIDDLE | SHORT, window, end, hits);
        }
        for from in (early..window.len()).step_by(BLOCK) {
            let n = BLOCK.min(window.len() - from);
            let places = self.grams.places(&window[from - Grams::BEFORE..], n);
            let Places { fives, threes, twos } = self.alike(places, window, from);
            let mut places = fives | threes | twos;
            while places != 0 {
                let place = places.trailing_zeros();
                places &= places - 1;
                let bit = |mask: u64| (mask >> place & 1) as u32;
                let kinds = (bit(fives) * LONG) | (bit(threes) * MIDDLE) | (bit(twos) * SHORT);
                self.look(kinds, window, from + place as usize + 1, hits);
            }
        }
    }
}
