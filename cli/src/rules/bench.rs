//! Rules ready to be tried on short texts, with nothing of a user's profile in the way.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_scan::{
    Action, Collected, Family, Finding, LoadError, Pack, Profile, RuleId, RuleSet, RuleSpec, Scratch, Sink,
    StreamFilter, TokenKey, What,
};

/// Compiled rules and the memory to run them.
pub(super) struct Bench {
    rules: Arc<RuleSet>,
    scratch: Scratch,
}

impl Bench {
    /// One rule of a pack. Rules of one tracker come together, since they share one vocabulary.
    pub(super) fn of(rule: &RuleSpec, pack: &Pack) -> Result<Bench, LoadError> {
        let together = |r: &&RuleSpec| match (&r.what, &rule.what) {
            (What::Tracker { name: a, .. }, What::Tracker { name: b, .. }) => a == b,
            _ => r.name == rule.name,
        };
        Bench::all(Pack::of(&pack.name, pack.rules.iter().filter(together).cloned().collect()))
    }

    /// All rules of a pack.
    pub(super) fn all(mut pack: Pack) -> Result<Bench, LoadError> {
        pack.rules.iter_mut().for_each(|r| r.action = None);
        // `replace` is the action that uses all of the engine: hold, arbitration and splice.
        let mut profile = Profile::parse("name = \"examples\"", "examples")?;
        profile.families = Family::ALL.map(|f| (f, Action::Replace)).into_iter().collect();
        Ok(Bench { rules: RuleSet::compile(&[pack], &profile)?, scratch: Scratch::default() })
    }

    /// Full name of a rule.
    pub(super) fn name(&self, rule: RuleId) -> Option<&String> {
        self.rules.rule(rule).map(|r| &r.name)
    }

    /// Runs a text in pieces.
    pub(super) fn filter(&mut self, text: &[u8], piece: usize) -> Collected {
        let mut sink = Collected::default();
        let mut filter = StreamFilter::new(self.rules.clone(), TokenKey::new([7; 32]));
        for p in text.chunks(piece) {
            if filter.push(p, &mut self.scratch, &mut sink).is_err() {
                break;
            }
        }
        filter.finish(&mut self.scratch, &mut sink);
        sink
    }

    /// The spans found in a text.
    pub(super) fn spans(&mut self, text: &[u8]) -> Vec<Range<usize>> {
        let found = self.filter(text, text.len().max(1)).findings;
        found.iter().map(|f| f.span.start as usize..f.span.end as usize).collect()
    }

    /// Shortest time of a few runs over a text, in pieces of 16 KiB.
    pub(super) fn time(&mut self, text: &[u8]) -> Duration {
        const RUNS: usize = 7;
        let run = |bench: &mut Bench| {
            let begin = Instant::now();
            let mut filter = StreamFilter::new(bench.rules.clone(), TokenKey::new([7; 32]));
            for p in text.chunks(16 << 10) {
                let _ = filter.push(p, &mut bench.scratch, &mut Nowhere);
            }
            begin.elapsed()
        };
        (0..RUNS).map(|_| run(self)).min().unwrap_or_default()
    }
}

/// Takes what a filter gives and keeps nothing.
struct Nowhere;

impl Sink for Nowhere {
    fn release(&mut self, bytes: &[u8]) {
        std::hint::black_box(bytes);
    }

    fn finding(&mut self, finding: &Finding) {
        std::hint::black_box(finding);
    }
}
