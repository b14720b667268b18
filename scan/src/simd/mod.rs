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

/// Log2 of the number of words in [`Grams`]' table of three bytes and more: 64 KiB.
const GRAM_BITS: u32 = 14;
/// Or-ed to four bytes: makes small letters of capitals, and takes some other bytes for one another.
const FOLD: u32 = 0x2020_2020;

/// Which endings of two to four bytes occur among needles. Case folded.
pub(crate) struct Grams {
    /// At the hash of three bytes a bit for each kind of byte before them.
    longer: Box<[u32; 1 << GRAM_BITS]>,
    /// A bit for each two bytes.
    pairs: Box<[u32; 1 << 11]>,
}

impl Grams {
    pub(crate) fn new() -> Grams {
        Grams { longer: Box::new([0; 1 << GRAM_BITS]), pairs: Box::new([0; 1 << 11]) }
    }

    /// Adds an ending of three bytes and what may stand before it.
    pub(crate) fn add(&mut self, before: u8, ending: [u8; 3]) {
        let gram = u32::from_le_bytes([before, ending[0], ending[1], ending[2]]) | FOLD;
        self.longer[slot(gram)] |= 1 << kind(gram);
    }

    /// Adds an ending of two bytes.
    pub(crate) fn add_pair(&mut self, ending: [u8; 2]) {
        let (word, bit) = pair(u32::from_le_bytes([0, 0, ending[0], ending[1]]) | FOLD);
        self.pairs[word] |= 1 << bit;
    }

    /// Of the `n` places that are three bytes into `bytes`, at most [`BLOCK`]: where one of the endings may end, those of
    /// three and more first, then those of two.
    pub(crate) fn places(&self, bytes: &[u8], n: usize) -> (u64, u64) {
        let (longer, pairs) = with_room(bytes, n, 3, |bytes| self.of_room(bytes, n));
        (longer & first(n), pairs & first(n))
    }

    fn of_room(&self, bytes: &[u8], n: usize) -> (u64, u64) {
        #[cfg(target_arch = "x86_64")]
        if let Some(places) = avx2::grams(self, bytes, n) {
            return places;
        }
        self.portable(bytes, n)
    }

    fn portable(&self, bytes: &[u8], n: usize) -> (u64, u64) {
        let (mut longer, mut pairs) = (0, 0);
        let mut gram = u32::from_le_bytes([0, bytes[0], bytes[1], bytes[2]]);
        for (i, b) in bytes[3..3 + n].iter().enumerate() {
            gram = gram >> 8 | u32::from(*b) << 24;
            let folded = gram | FOLD;
            let (word, bit) = pair(folded);
            longer |= u64::from(self.longer[slot(folded)] >> kind(folded) & 1) << i;
            pairs |= u64::from(self.pairs[word] >> bit & 1) << i;
        }
        (longer, pairs)
    }
}

/// The slot of the last three of four bytes.
fn slot(gram: u32) -> usize {
    ((gram >> 8).wrapping_mul(FACTOR) >> (32 - GRAM_BITS)) as usize
}

/// The high bits of a product with it depend on every byte.
const FACTOR: u32 = 0x9e37_79b1;

/// One of 32 kinds of the first of four bytes: letters are told from other bytes.
fn kind(gram: u32) -> u32 {
    gram & 15 | gram >> 2 & !(gram >> 3) & 16
}

/// Word and bit of the last two of four bytes.
fn pair(gram: u32) -> (usize, u32) {
    ((gram >> 21) as usize, gram >> 16 & 31)
}

/// How many bytes in a row [`Runs`] looks at.
pub(crate) const RUN: usize = 5;
/// How many classes of bytes it tells apart.
const CLASSES: usize = 16;

/// Which bytes can stand in a row, for 32 kinds of runs at once. A set of bytes is known by the classes of its bytes:
/// what fits may be none, what does not fit is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    /// For each eight kinds, by place and class, a bit each.
    kinds: [[[u8; CLASSES]; RUN]; 4],
}

/// The class of a byte: its high half, and whether it is one of the more telling bytes of that half. Bytes beyond ASCII
/// are one class.
fn class_of(b: u8) -> usize {
    match (b >> 4, TELLING[usize::from(b & 15)]) {
        (8.., _) => 9,
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

    /// Where among the first `n` places of `bytes`, at most [`BLOCK`], a run of one of `kinds` may begin. All bytes of
    /// all `n` runs must be there.
    pub(crate) fn places(&self, bytes: &[u8], n: usize, kinds: u32) -> u64 {
        with_room(bytes, n, RUN - 1, |bytes| self.of_room(bytes, n, kinds)) & first(n)
    }

    fn of_room(&self, bytes: &[u8], n: usize, kinds: u32) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if let Some(places) = avx2::runs(self, bytes, n, kinds) {
            return places;
        }
        self.portable(bytes, n, kinds)
    }

    fn portable(&self, bytes: &[u8], n: usize, kinds: u32) -> u64 {
        let fits = |(tables, kinds): (&[[u8; CLASSES]; RUN], u8), run: &[u8]| {
            run.iter().zip(tables).fold(kinds, |k, (b, place)| k & place[class_of(*b)]) != 0
        };
        let any = |run: &[u8]| self.kinds.iter().zip(kinds.to_le_bytes()).any(|eight| fits(eight, run));
        bytes.windows(RUN).take(n).enumerate().fold(0, |found, (i, run)| found | u64::from(any(run)) << i)
    }
}

/// Calls `f` with the `n` places of `bytes` and `around` more, and room behind them to read from.
fn with_room<T>(bytes: &[u8], n: usize, around: usize, f: impl FnOnce(&[u8]) -> T) -> T {
    if bytes.len() >= ROOM {
        return f(&bytes[..ROOM]);
    }
    let mut room = [0u8; ROOM];
    room[..n + around].copy_from_slice(&bytes[..n + around]);
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
            for w in t.windows(4).step_by(7) {
                grams.add(w[0], [w[1], w[2], w[3]]);
            }
            grams.add_pair([t[0], t[1]]);
            let t = text(&mut seed);
            for n in 1..=BLOCK {
                let mut padded = t.clone();
                padded.resize(ROOM, 0);
                let (longer, pairs) = grams.portable(&padded, n);
                assert_eq!(grams.places(&t, n), (longer, pairs));
                assert_eq!(grams.places(&t[..n + 3], n), (longer, pairs));
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
                let kinds = seed as u32;
                let mut padded = t.clone();
                padded.resize(ROOM, 0);
                let places = runs.portable(&padded, n, kinds);
                assert_eq!(runs.places(&t, n, kinds), places);
                assert_eq!(runs.places(&t[..n + RUN - 1], n, kinds), places);
            }
        }
    }
}
