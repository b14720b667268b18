//! The slow, obviously right versions that the engine is compared with.
//!
//! [`scan`] is the meaning of a pattern rule, written down with nothing in mind but being right: for every rule and
//! every start, every end. It shares with the engine only the parser that splits a pattern into its parts.
//! It is *not* a second engine: no streaming, no candidates, no bound on time.

pub mod answers;
pub mod bin_path;
pub mod builtin;
pub mod corpus;
pub mod cuts;
pub mod daemon;
pub mod hold;
pub mod hostile;
pub mod model;
pub mod sample;
pub mod spelled;

use forebay_scan::pattern::Parts;
use forebay_scan::{RuleSpec, What};
use regex_automata::dfa::{Automaton, OverlappingState, dense};
use regex_automata::nfa::thompson;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::Hir;

/// A match, by rule index and span.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match {
    /// Start of the span in bytes.
    pub start: usize,
    /// End of the span in bytes.
    pub end: usize,
    /// Index into the rules given.
    pub rule: usize,
}

/// A pattern rule, ready for brute force.
#[derive(Debug)]
pub struct Brute {
    spec: RuleSpec,
    quick: regex_automata::meta::Regex,
    pre: dense::DFA<Vec<u32>>,
    body: dense::DFA<Vec<u32>>,
    post: dense::DFA<Vec<u32>>,
}

fn dfa(h: &Hir) -> anyhow::Result<dense::DFA<Vec<u32>>> {
    let nfa = thompson::Compiler::new()
        .configure(thompson::Config::new().utf8(false).which_captures(thompson::WhichCaptures::None))
        .build_from_hir(h)?;
    let config = dense::Config::new().match_kind(MatchKind::All).start_kind(regex_automata::dfa::StartKind::Anchored);
    Ok(dense::Builder::new().configure(config).build_from_nfa(&nfa)?)
}

/// Every end of an anchored match of `dfa` at `at`, in rising order.
fn ends(dfa: &dense::DFA<Vec<u32>>, text: &[u8], at: usize) -> Vec<usize> {
    let input = Input::new(text).range(at..).anchored(Anchored::Yes);
    let mut state = OverlappingState::start();
    let mut out = Vec::new();
    while dfa.try_search_overlapping_fwd(&input, &mut state).is_ok() {
        let Some(m) = state.get_match() else { break };
        if out.last() != Some(&m.offset()) {
            out.push(m.offset());
        }
    }
    out
}

impl Brute {
    /// `None` for regions and trackers: they are not patterns.
    pub fn new(spec: &RuleSpec) -> anyhow::Result<Option<Brute>> {
        let What::Pattern(p) = &spec.what else { return Ok(None) };
        let parts = Parts::of(p).map_err(|e| anyhow::anyhow!("{}: {}: {e}", spec.origin, spec.name))?;
        let whole = Hir::concat(vec![parts.pre.clone(), parts.body.clone(), parts.post.clone()]);
        let quick = regex_automata::meta::Builder::new()
            .configure(regex_automata::meta::Config::new().utf8_empty(false))
            .build_from_hir(&whole)?;
        Ok(Some(Brute {
            spec: spec.clone(),
            quick,
            pre: dfa(&parts.pre)?,
            body: dfa(&parts.body)?,
            post: dfa(&parts.post)?,
        }))
    }

    /// Every span of the rule in `text`, left to right, not overlapping.
    pub fn spans(&self, text: &[u8]) -> Vec<(usize, usize)> {
        // A stream begins as if a line feed stood before it: looks and guards see a line start there.
        let mut padded = Vec::with_capacity(text.len() + 1);
        padded.push(b'\n');
        padded.extend_from_slice(text);
        if !self.quick.is_match(&padded) {
            return Vec::new();
        }
        let n = padded.len();
        let mut pre_ends_at = vec![false; n + 1];
        for p in 0..=n {
            for e in ends(&self.pre, &padded, p) {
                pre_ends_at[e] = true;
            }
        }
        let mut out = Vec::new();
        let mut s = 1;
        while s < n {
            let found = pre_ends_at[s]
                && ends(&self.body, &padded, s).into_iter().rev().any(|e| {
                    let ok = !ends(&self.post, &padded, e).is_empty() && self.holds(&padded, s, e);
                    if ok {
                        // What is let through is passed over as a whole, and not told.
                        if !self.is_allowed(&padded, s, e) {
                            out.push((s - 1, e - 1));
                        }
                        s = e;
                    }
                    ok
                });
            if !found {
                s += 1;
            }
        }
        out
    }

    fn holds(&self, padded: &[u8], s: usize, e: usize) -> bool {
        self.spec.checks.iter().all(|c| c.holds(&padded[s..e])) && self.may_begin(padded, s)
    }

    fn is_allowed(&self, padded: &[u8], s: usize, e: usize) -> bool {
        self.spec.allow.iter().any(|a| a.holds(&padded[1..e], s - 1))
    }

    /// Whether the words before `s` let a span begin there.
    pub(crate) fn may_begin(&self, padded: &[u8], s: usize) -> bool {
        self.spec.nearby.as_ref().is_none_or(|n| n.stands_in(&padded[1..s]))
            && self.spec.unless.as_ref().is_none_or(|n| !n.stands_in(&padded[1..s]))
    }
}

/// Every match of every pattern rule in `text`, by start, then end, then rule.
pub fn scan(rules: &[(usize, Brute)], text: &[u8]) -> Vec<Match> {
    let mut out: Vec<Match> = rules
        .iter()
        .flat_map(|(i, r)| r.spans(text).into_iter().map(|(start, end)| Match { start, end, rule: *i }))
        .collect();
    out.sort();
    out
}
