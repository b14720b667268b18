//! Rules ready to be tried on short texts, with nothing of a user's profile in the way.

use std::ops::Range;
use std::sync::Arc;

use forebay_scan::{
    Action, Collected, Family, LoadError, Pack, Profile, RuleId, RuleSet, RuleSpec, Scratch, StreamFilter, TokenKey,
    What,
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
}
