//! The fixed sequence of numbers that every text is made with. The same seed gives the same bytes on every machine.

/// splitmix64: small, fixed, good enough to choose words with.
#[derive(Clone, Debug)]
pub struct Sequence(pub u64);

impl Sequence {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// A number below `n` as words of a language fall: the first few often, the rest ever more seldom. Every doubling
    /// of the rank is as likely as the one before, which is Zipf's law in whole numbers (so no machine rounds it
    /// otherwise).
    pub fn zipf(&mut self, n: usize) -> usize {
        let octaves = (n.max(1) + 1).ilog2() as usize + 1;
        loop {
            let octave = self.below(octaves);
            let at = (1 << octave) - 1 + self.below(1 << octave);
            if at < n {
                return at;
            }
        }
    }
}
