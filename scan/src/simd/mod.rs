//! Filters that look at up to 64 places of a text at once: one bit a place, set where a closer look is worth it.
//!
//! Two of them. [`Grams`] asks a table of hashes about the last four bytes at each place: it is how the candidate stage
//! turns most places away, however many needles there are. [`Runs`] asks what a few bytes in a row can be: it is how
//! class rules (numbers, capitals) are tried only where they can begin.
//!
//! Each exists twice: as plain code, which says what it means, and with AVX2, the only `unsafe` code of this crate, in
//! a module of its own. The two are compared on random bytes. Both may only be asked about bytes that are there.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;

/// How many places are looked at together: the bits of the answer.
pub(crate) const BLOCK: usize = 64;
/// Room for the bytes of a block, what stands before and behind it, and what a load reads too much.
const ROOM: usize = BLOCK + 32;

/// Log2 of the number of words in [`Grams`]' tables: 64 KiB each, and 16 KiB. What falls together by chance is looked at
/// for nothing.
const GRAM_BITS: u32 = 14;
const SHORT_BITS: u32 = 12;
/// Or-ed to four bytes: makes small letters of capitals, and takes some other bytes for one another.
const FOLD: u32 = 0x2020_2020;

/// Which endings of up to six bytes occur among needles. Case folded. In each table a word stands for the hash of an
/// ending, and its bits for the kinds of byte before that.
pub(crate) struct Grams {
    /// Endings of five bytes.
    fives: Box<[u32; 1 << GRAM_BITS]>,
    /// Of three.
    threes: Box<[u32; 1 << GRAM_BITS]>,
    /// Of two.
    twos: Box<[u32; 1 << SHORT_BITS]>,
    /// Of one; what stands before is not asked.
    ones: Vec<u8>,
}

/// The places where an ending may end, by how many bytes of it were looked at, the one before it not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) fives: u64,
    pub(crate) threes: u64,
    pub(crate) twos: u64,
}

impl Grams {
    /// How many bytes before a place are looked at.
    pub(crate) const BEFORE: usize = 5;

    pub(crate) fn new() -> Grams {
        let hashes = || Box::new([0; 1 << GRAM_BITS]);
        Grams { fives: hashes(), threes: hashes(), twos: Box::new([0; 1 << SHORT_BITS]), ones: Vec::new() }
    }

    /// Adds an ending of five bytes and what may stand before it.
    pub(crate) fn add_five(&mut self, before: u32, [a, b, c, d, e]: [u8; 5]) {
        let hash = hash_of_five(u32::from_le_bytes([a, 0, 0, 0]) | FOLD, u32::from_le_bytes([b, c, d, e]) | FOLD);
        self.fives[slot(hash)] |= before;
    }

    /// Adds an ending of three bytes and what may stand before it.
    pub(crate) fn add_three(&mut self, before: u32, [a, b, c]: [u8; 3]) {
        let gram = u32::from_le_bytes([0, a, b, c]) | FOLD;
        self.threes[slot(hash_of_three(gram))] |= before;
    }

    /// Adds an ending of two bytes and what may stand before it.
    pub(crate) fn add_two(&mut self, before: u32, [a, b]: [u8; 2]) {
        let gram = u32::from_le_bytes([0, 0, a, b]) | FOLD;
        self.twos[short_slot(hash_of_two(gram))] |= before;
    }

    /// Adds an ending of one byte.
    pub(crate) fn add_one(&mut self, b: u8) {
        let folded = b | FOLD as u8;
        if !self.ones.contains(&folded) {
            self.ones.push(folded);
        }
    }

    /// How many slots endings fall into, see [`Grams::slot_of_five`] and its like.
    pub(crate) const SLOTS: usize = 1 << GRAM_BITS;
    /// The same for [`Grams::slot_of_one`].
    pub(crate) const SHORT_SLOTS: usize = 256;

    /// Where an ending of five bytes falls. `last`: the last eight bytes, the last one highest.
    pub(crate) fn slot_of_five(last: u64) -> usize {
        let (one, four) = ((last >> 24 & 0xff) as u32, (last >> 32) as u32);
        slot(hash_of_five(one | FOLD, four | FOLD))
    }

    /// The same for three bytes.
    pub(crate) fn slot_of_three(last: u64) -> usize {
        slot(hash_of_three((last >> 32) as u32 | FOLD))
    }

    /// The same for one byte.
    pub(crate) fn slot_of_one(last: u64) -> usize {
        ((last >> 56) as u32 | FOLD) as usize & 0xff
    }

    /// The kind of a byte, as a bit.
    pub(crate) fn kind_of(b: u8) -> u32 {
        1 << kind(u32::from(b) | FOLD)
    }

    /// Of the `n` places that are [`Grams::BEFORE`] bytes into `bytes`, at most [`BLOCK`]: where one of the endings may
    /// end.
    pub(crate) fn places(&self, bytes: &[u8], n: usize) -> Places {
        with_room(bytes, |bytes| {
            let Places { fives, threes, twos } = self.of_room(bytes, n);
            Places { fives: fives & first(n), threes: threes & first(n), twos: twos & first(n) }
        })
    }

    fn of_room(&self, bytes: &[u8], n: usize) -> Places {
        #[cfg(target_arch = "x86_64")]
        if let Some(places) = avx2::grams(self, bytes, n) {
            return places;
        }
        self.portable(bytes, n)
    }

    fn portable(&self, bytes: &[u8], n: usize) -> Places {
        let mut out = Places { fives: 0, threes: 0, twos: 0 };
        for (i, last) in bytes.windows(Grams::BEFORE + 1).take(n).enumerate() {
            let [before_five, first, before_three, before_two, ..] =
                [last[0], last[1], last[2], last[3]].map(u32::from);
            let gram = u32::from_le_bytes([last[2], last[3], last[4], last[5]]) | FOLD;
            let five = self.fives[slot(hash_of_five(first | FOLD, gram))];
            let three = self.threes[slot(hash_of_three(gram))];
            let two = self.twos[short_slot(hash_of_two(gram))];
            out.fives |= u64::from(five >> kind(before_five | FOLD) & 1) << i;
            out.threes |= u64::from(three >> kind(before_three | FOLD) & 1) << i;
            let one = self.ones.contains(&((gram >> 24) as u8));
            out.twos |= u64::from(two >> kind(before_two | FOLD) & 1 | u32::from(one)) << i;
        }
        out
    }
}

/// The high bits of a product with them depend on every byte.
const FACTOR: u32 = 0x9e37_79b1;
const OTHER_FACTOR: u32 = 0x85eb_ca77;

/// The word of a table that a hash chooses, by its high bits.
fn slot(hash: u32) -> usize {
    (hash >> (32 - GRAM_BITS)) as usize
}

/// The same in the table of short endings.
fn short_slot(hash: u32) -> usize {
    (hash >> (32 - SHORT_BITS)) as usize
}

/// A hash of one byte and the four behind it.
fn hash_of_five(one: u32, four: u32) -> u32 {
    one.wrapping_mul(OTHER_FACTOR).wrapping_add(four.wrapping_mul(FACTOR))
}

/// A hash of the last three of four bytes.
fn hash_of_three(gram: u32) -> u32 {
    (gram >> 8).wrapping_mul(FACTOR)
}

/// A hash of the last two of four bytes.
fn hash_of_two(gram: u32) -> u32 {
    (gram >> 16).wrapping_mul(FACTOR)
}

/// One of 32 kinds of the lowest, folded, byte: each letter is one, all that are no letters are six.
fn kind(folded: u32) -> u32 {
    if folded & 0xc0 == 0x40 { folded & 31 } else { folded & 3 | 28 }
}

/// How many bytes in a row [`Runs`] looks at.
pub(crate) const RUN: usize = 9;
/// How many classes of bytes it tells apart.
const CLASSES: usize = 16;
/// The class of what is not there yet: no byte has it, and every run may have it at every place.
const MISSING: usize = 1;

/// Which bytes can stand in a row, for 32 kinds of runs at once. A set of bytes is known by the classes of its bytes:
/// what fits may be none, what does not fit is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runs {
    /// For each eight kinds, by place and class, a bit each.
    kinds: [[[u8; CLASSES]; RUN]; 4],
}

impl Default for Runs {
    fn default() -> Runs {
        let none = std::array::from_fn(|class| if class == MISSING { u8::MAX } else { 0 });
        Runs { kinds: [[none; RUN]; 4] }
    }
}

/// The class of a byte: its high half, and whether it is one of the more telling bytes of that half. Bytes beyond ASCII
/// are one class, and so are the controls.
fn class_of(b: u8) -> usize {
    match (b >> 4, TELLING[usize::from(b & 15)]) {
        (8.., _) => 9,
        (1, _) => 0,
        (high, telling) => usize::from(high | (telling >> high & 1) << 3),
    }
}

/// By the low half of a byte a bit for each high half: letters, digits, the marks in numbers, and line ends.
const TELLING: [u8; 16] = {
    let mut out = [0; 16];
    let mut b = 0;
    while b < 128u8 {
        if b.is_ascii_alphanumeric()
            || matches!(b, b'(' | b')' | b'+' | b'-' | b'.' | b',' | b'/' | b'\t' | b'\n' | b'\r')
        {
            out[(b & 15) as usize] |= 1 << (b >> 4);
        }
        b += 1;
    }
    out
};

impl Runs {
    /// Byte `b` may stand at `place` of a run of kind `kind`.
    pub(crate) fn add(&mut self, kind: usize, place: usize, b: u8) {
        self.kinds[kind / 8][place][class_of(b)] |= 1 << (kind % 8);
    }

    /// Where among the first `n` places of `bytes`, at most [`BLOCK`], a run of one of `kinds` may begin. What is not
    /// there yet may be anything.
    pub(crate) fn places(&self, bytes: &[u8], n: usize, kinds: u32) -> u64 {
        let there = bytes.len();
        with_room(bytes, |bytes| self.of_room(bytes, there, n, kinds)) & first(n)
    }

    fn of_room(&self, bytes: &[u8], there: usize, n: usize, kinds: u32) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if let Some(places) = avx2::runs(self, bytes, there, n, kinds) {
            return places;
        }
        self.portable(bytes, there, n, kinds)
    }

    fn portable(&self, bytes: &[u8], there: usize, n: usize, kinds: u32) -> u64 {
        let class = |at: usize| if at < there { class_of(bytes[at]) } else { MISSING };
        let fits = |(tables, kinds): (&[[u8; CLASSES]; RUN], u8), from: usize| {
            (from..).zip(tables).fold(kinds, |k, (at, place)| k & place[class(at)]) != 0
        };
        let any = |from: usize| self.kinds.iter().zip(kinds.to_le_bytes()).any(|eight| fits(eight, from));
        (0..n).fold(0, |found, from| found | u64::from(any(from)) << from)
    }
}

/// Calls `f` with the beginning of `bytes`, and room behind to read from.
fn with_room<T>(bytes: &[u8], f: impl FnOnce(&[u8]) -> T) -> T {
    if bytes.len() >= ROOM {
        return f(&bytes[..ROOM]);
    }
    let mut room = [0u8; ROOM];
    room[..bytes.len()].copy_from_slice(bytes);
    f(&room)
}

/// A bit for each of the first `n` places.
fn first(n: usize) -> u64 {
    u64::MAX.checked_shr((BLOCK - n) as u32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(seed: &mut u64) -> Vec<u8> {
        let mut next = || {
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *seed >> 33
        };
        let few = next() % 2 == 0;
        (0..70 + next() % 60).map(|_| if few { b"ab-0"[(next() % 4) as usize] } else { next() as u8 }).collect()
    }

    #[test]
    fn both_ways_of_looking_at_grams_agree() {
        let mut seed = 1;
        let mut grams = Grams::new();
        for _ in 0..200 {
            let t = text(&mut seed);
            for w in t.windows(6).step_by(7) {
                grams.add_five(Grams::kind_of(w[0]), w[1..].try_into().unwrap());
                grams.add_three(Grams::kind_of(w[0]), [w[1], w[2], w[3]]);
            }
            grams.add_two(Grams::kind_of(t[0]), [t[1], t[2]]);
            if t[3] % 64 == 1 {
                grams.add_one(t[3]);
            }
            let t = text(&mut seed);
            for n in 1..=BLOCK {
                let mut padded = t.clone();
                padded.resize(ROOM, 0);
                let places = grams.portable(&padded, n);
                assert_eq!(grams.places(&t, n), places);
                assert_eq!(grams.places(&t[..n + Grams::BEFORE], n), places);
            }
        }
    }

    #[test]
    fn both_ways_of_looking_at_runs_agree() {
        let mut seed = 2;
        for _ in 0..200 {
            let mut runs = Runs::default();
            for (i, b) in text(&mut seed).into_iter().enumerate() {
                runs.add(i / 7 % 32, i % RUN, b);
            }
            let t = text(&mut seed);
            for n in 1..=BLOCK {
                let kinds = seed as u32 >> (seed % 32);
                for there in [t.len(), n, n + n % RUN] {
                    let t = &t[..there.min(t.len())];
                    let mut padded = t.to_vec();
                    padded.resize(ROOM.max(t.len()), 0);
                    assert_eq!(runs.places(t, n, kinds), runs.portable(&padded, t.len(), n, kinds));
                }
            }
        }
    }
}
