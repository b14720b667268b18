//! Ways of cutting an input into pushes, and what a filter does with each.

use std::sync::Arc;

use forebay_scan::{Collected, Report, RuleSet, Scratch, StreamFilter, TokenKey};

/// Everything that promise S1 compares.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Released bytes and findings.
    pub out: Collected,
    /// The final report.
    pub report: Report,
    /// Whether a push said that the stream was blocked.
    pub blocked: bool,
}

/// Filters `text`, cut where `cuts` says (offsets, rising).
pub fn run(rules: &Arc<RuleSet>, text: &[u8], cuts: &[usize]) -> Outcome {
    let mut filter = StreamFilter::new(Arc::clone(rules), TokenKey::new([1; 32]));
    let (mut scratch, mut out) = (Scratch::default(), Collected::default());
    let mut from = 0;
    let mut blocked = false;
    for to in cuts.iter().copied().chain([text.len()]) {
        blocked |= filter.push(&text[from..to], &mut scratch, &mut out).is_err();
        from = to;
    }
    let report = filter.finish(&mut scratch, &mut out);
    Outcome { out, blocked: blocked || report.blocked_at.is_some(), report }
}

/// A small generator for tests that must be replayable: splitmix64.
#[derive(Clone, Debug)]
pub struct Seed(pub u64);

impl Seed {
    /// The next number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }

    /// Random cuts of a text of `len` bytes, with pieces of about `mean` bytes.
    pub fn cuts(&mut self, len: usize, mean: usize) -> Vec<usize> {
        let mut out = Vec::new();
        let mut at = 0;
        loop {
            at += self.below(2 * mean + 1);
            if at >= len {
                return out;
            }
            out.push(at);
        }
    }
}
