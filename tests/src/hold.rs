//! The least hold, by brute force: for every start, is some longer input still able to make a span of it?
//!
//! Promise S3 in words: after each push exactly those bytes are held that some continuation could still make part of
//! a replaced span. Here that is asked of every acting rule and every start, by a search over the automaton that the
//! `regex-automata` crate builds for BODY and POST: no prefix automaton, no literals, no classes.

use std::collections::{HashMap, HashSet};

use forebay_scan::pattern::Parts;
use forebay_scan::{RuleSpec, What};
use regex_automata::Anchored;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::util::{primitives::StateID, start};
use regex_syntax::hir::Hir;

use crate::{Brute, dfa, ends};

/// A rule, ready to be asked.
#[derive(Debug)]
pub struct HoldOracle {
    brute: Brute,
    pre: dense::DFA<Vec<u32>>,
    forward: dense::DFA<Vec<u32>>,
    live: HashMap<StateID, bool>,
}

impl HoldOracle {
    /// `None` for regions and trackers.
    pub fn new(spec: &RuleSpec) -> anyhow::Result<Option<HoldOracle>> {
        let What::Pattern(p) = &spec.what else { return Ok(None) };
        let parts = Parts::of(p).map_err(anyhow::Error::msg)?;
        let Some(brute) = Brute::new(spec)? else { return Ok(None) };
        let forward = dfa(&Hir::concat(vec![parts.body.clone(), parts.post.clone()]))?;
        Ok(Some(HoldOracle { brute, pre: dfa(&parts.pre)?, forward, live: HashMap::new() }))
    }

    /// The spans of the rule in the whole text.
    pub fn spans(&self, text: &[u8]) -> Vec<(usize, usize)> {
        self.brute.spans(text)
    }

    /// For every start in `text`, the last length of input at which a span from it is still possible (`None` if never).
    /// A span that is decided is not "possible" any more, whichever way.
    pub fn lives(&mut self, text: &[u8]) -> Vec<Option<usize>> {
        let mut padded = vec![b'\n'];
        padded.extend_from_slice(text);
        let n = padded.len();
        let mut opens = vec![false; n + 1];
        for p in 0..=n {
            for e in ends(&self.pre, &padded, p) {
                opens[e] = true;
            }
        }
        (1..n)
            .map(|s| {
                // The words before a start are known: they decide at once whether it is one.
                if !opens[s] || !self.brute.may_begin(&padded, s) {
                    return None;
                }
                let config = start::Config::new().anchored(Anchored::Yes).look_behind(Some(padded[s - 1]));
                let mut q = self.forward.start_state(&config).ok()?;
                let mut last = None;
                for (i, b) in padded[s..].iter().enumerate() {
                    q = self.forward.next_state(q, *b);
                    if !self.is_live(q) {
                        break;
                    }
                    last = Some(s + i);
                }
                last
            })
            .collect()
    }

    /// Whether what follows can still change whether and where something is accepted.
    fn is_live(&mut self, q: StateID) -> bool {
        if let Some(known) = self.live.get(&q) {
            return *known;
        }
        let d = &self.forward;
        let accepts = |q: StateID| -> Vec<bool> {
            let eoi = d.is_match_state(d.next_eoi_state(q));
            (0..=255u8).map(|b| d.is_match_state(d.next_state(q, b))).chain([eoi]).collect()
        };
        let now = accepts(q);
        let mut live = now.iter().any(|a| *a != now[0]);
        let mut seen = HashSet::from([q]);
        let mut todo = vec![q];
        while let Some(p) = todo.pop().filter(|_| !live) {
            for b in 0..=255u8 {
                let next = d.next_state(p, b);
                if !d.is_dead_state(next) && seen.insert(next) {
                    live |= accepts(next).contains(&true);
                    todo.push(next);
                }
            }
        }
        self.live.insert(q, live);
        live
    }
}

/// The least hold, in bytes, at every length of input (`text[..n]` for `n` in `0..=text.len()`).
pub fn least(rules: &mut [HoldOracle], text: &[u8]) -> Vec<usize> {
    let n = text.len();
    let mut from: Vec<usize> = (0..=n).collect();
    let mut decided: Vec<(usize, usize)> = Vec::new();
    for r in rules {
        let spans = r.spans(text);
        for (s, last) in r.lives(text).into_iter().enumerate() {
            // Inside a match of the rule that was settled before, no other match of it can begin.
            let inside = spans.iter().find(|(a, b)| *a < s && s < *b).map(|(_, b)| *b);
            let last = last.map(|l| l.min(inside.map_or(n, |end| end - 1)));
            for f in from.iter_mut().take(last.map_or(0, |l| l + 1)).skip(s + 1) {
                *f = (*f).min(s);
            }
        }
        decided.extend(spans);
    }
    // What is decided but overlaps something live waits with it.
    for (at, f) in from.iter_mut().enumerate() {
        while let Some((a, _)) = decided.iter().find(|(a, b)| *a < *f && *f < *b && *b <= at) {
            *f = *a;
        }
    }
    from.iter().enumerate().map(|(at, f)| at - f).collect()
}
