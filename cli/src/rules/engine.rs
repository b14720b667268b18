//! What the engine does with a rule, measured: how it is looked for, what is run, what it costs, and what its author
//! could do to make it cheaper.
//!
//! Costs are those of the rule alone on the [reference](mod@super::reference) text. They are *not* what the rule adds to a profile, where
//! rules share automata and the look for literals.

use anyhow::anyhow;
use forebay_scan::explain::{self, Candidate, Explanation};
use forebay_scan::{Action, Pack, RuleSpec};
use serde::Serialize;

use super::bench::Bench;
use super::reference;

/// What is done for a rule that replaces.
#[derive(Serialize)]
pub(super) struct Engine {
    /// What gives the rule away: `literals`, `keywords`, `inner`, `class`, `tracker` or `exact`.
    pub(super) candidate: &'static str,
    pub(super) literals: Vec<String>,
    /// Of a class rule: what can stand at its first places, the one before the span first.
    pub(super) class: Vec<String>,
    /// Of a tracker: what it looks at more closely. Empty otherwise.
    pub(super) stops_at: &'static str,
    pub(super) automata: Vec<Automaton>,
    /// Absent if it is no pattern.
    pub(super) longest_span: Option<usize>,
    /// Which bytes it holds when it replaces.
    pub(super) holds: &'static str,
    /// It is looked for only where one of its nearby words stands.
    pub(super) needs_word: bool,
    /// Places of the reference text that look like it at first; absent if it has no candidates.
    pub(super) candidates_per_megabyte: Option<usize>,
    /// What a megabyte of the reference text costs with this rule alone, less what it costs with none.
    pub(super) microseconds_per_megabyte: u64,
    /// What the reference text is.
    pub(super) reference: &'static str,
    /// What makes it dear, and the mend.
    pub(super) warnings: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Automaton {
    pub(super) reads: &'static str,
    pub(super) states: usize,
    pub(super) bytes: usize,
}

impl Engine {
    /// Measures a rule. An error is why the engine refuses it.
    pub(super) fn of(pack: &Pack, rule: &RuleSpec) -> anyhow::Result<Engine> {
        let e = explain::explain(rule, Action::Replace)
            .map_err(|e| anyhow!("{}: rule `{}` is refused: {e}", rule.origin, rule.name))?;
        let text = reference::text();
        let (mut alone, mut none) = (Bench::of(rule, pack)?, Bench::all(Pack::of(&pack.name, Vec::new()))?);
        let cost = alone.time(&text).saturating_sub(none.time(&text));
        let candidates = e.candidates_in(&text);
        let warnings = warnings(&e, candidates);
        let (candidate, literals, class, stops_at) = match e.candidate {
            Candidate::Literals(l) => ("literals", l, Vec::new(), ""),
            Candidate::Keywords(l) => ("keywords", l, Vec::new(), ""),
            Candidate::Inner(l) => ("inner", l, Vec::new(), ""),
            Candidate::Class(places) => ("class", Vec::new(), places, ""),
            Candidate::Tracker(_, stops_at) => ("tracker", Vec::new(), Vec::new(), stops_at),
            Candidate::Exact(_) => ("exact", Vec::new(), Vec::new(), ""),
        };
        let automata = e.automata.into_iter();
        Ok(Engine {
            candidate,
            literals,
            class,
            stops_at,
            automata: automata.map(|a| Automaton { reads: a.reads, states: a.states, bytes: a.bytes }).collect(),
            longest_span: e.longest,
            holds: e.holds,
            needs_word: e.gated,
            candidates_per_megabyte: candidates,
            microseconds_per_megabyte: u64::try_from(cost.as_micros()).unwrap_or(u64::MAX),
            reference: reference::WHAT,
            warnings,
        })
    }
}

/// Candidates in the reference text from which on a rule is told to be dear: one for every kilobyte. The whole search
/// for literals costs about as much as a candidate every 300 bytes.
const MANY_CANDIDATES: usize = 1000;
/// Bytes of a rule's automata from which on they are told to be huge: a processor's second cache is one or two
/// megabytes, and a thousand rules share it.
const HUGE_AUTOMATA: usize = 512 << 10;

/// What makes a rule dear, in words its author can act on. `candidates` are those in the reference text.
pub(super) fn warnings(e: &Explanation, candidates: Option<usize>) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(n) = candidates.filter(|n| *n > MANY_CANDIDATES && !e.gated) {
        let times = format!("about {n} times in a megabyte of ordinary text, and the rule is tried at each");
        out.push(match &e.candidate {
            Candidate::Class(_) => format!(
                "slow candidate: it begins with no literal, and bytes like its first ones stand {times}; put a keyword \
                 in front of the span, give it `nearby` words, or narrow what stands before it"
            ),
            Candidate::Literals(l) | Candidate::Keywords(l) | Candidate::Inner(l) => format!(
                "common literal: {} {} {times}; begin with a longer or rarer text, or give the rule `nearby` words",
                l.iter().take(3).map(|l| format!("`{l}`")).collect::<Vec<_>>().join(", "),
                if l.len() == 1 { "stands" } else { "and its other literals stand" },
            ),
            Candidate::Tracker(..) | Candidate::Exact(_) => return out,
        });
    }
    if let Some(a) = e.automata.iter().filter(|a| a.bytes > HUGE_AUTOMATA).max_by_key(|a| a.bytes) {
        out.push(format!(
            "huge automaton: what reads {} has {} states in {} KB, and pushes other rules out of the processor's cache; \
             shorten counted repeats (`{{1,200}}`) that stand beside each other, or split the rule",
            a.reads,
            a.states,
            a.bytes / 1000
        ));
    }
    out
}

/// The warnings of a rule that compiles, without a measurement of time.
pub(super) fn warnings_of(rule: &RuleSpec, reference: &[u8]) -> Vec<String> {
    match explain::explain(rule, Action::Replace) {
        Ok(e) => warnings(&e, e.candidates_in(reference)),
        // It was compiled with its pack, so it is refused only alone; whoever tests it has been told.
        Err(_) => Vec::new(),
    }
}
