//! The candidate stage: which places of the input are worth a closer look.
//!
//! One trait, so that a faster backend can take its place: bytes in, hits out, with a state that carries over from
//! push to push. The portable backend is an Aho–Corasick automaton stepped byte by byte: it needs no overlap between
//! pushes, and a literal cut in half is found when its last byte comes.
//!
//! Literals come from the rules' own patterns; ASCII case is folded, the rule's automaton looks at the case.

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::dfa;
use aho_corasick::{Anchored, MatchKind};
use regex_syntax::hir::{Class, Hir, HirKind, literal};

/// Longest prefix of a literal that is looked for: beyond it a hit is as good as certain.
const MAX_LITERAL: usize = 12;

/// Longest word of a keyed rule that is looked for whole.
pub(crate) const MAX_WORD: usize = 32;

/// A literal that ends at `end` bytes into the piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) literal: u32,
    pub(crate) end: usize,
}

/// What a stream keeps between pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CandidateState(StateID);

/// Finds literals in a stream.
pub(crate) trait Candidates: Send + Sync + std::fmt::Debug {
    /// The state of a stream that has seen nothing.
    fn start(&self) -> CandidateState;
    /// Finds the literals that end in `piece`, in order of their end; overlapping ones too.
    fn scan(&self, state: &mut CandidateState, piece: &[u8], hits: &mut Vec<Hit>);
}

/// Aho–Corasick as one table, ASCII case folded.
pub(crate) struct Portable {
    ac: dfa::DFA,
    start: StateID,
}

impl std::fmt::Debug for Portable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Portable({} literals)", self.ac.patterns_len())
    }
}

impl Portable {
    /// Builds the automaton.
    pub(crate) fn new(literals: &[Vec<u8>]) -> Result<Portable, String> {
        let ac = dfa::Builder::new()
            .match_kind(MatchKind::Standard)
            .start_kind(aho_corasick::StartKind::Unanchored)
            .ascii_case_insensitive(true)
            .prefilter(false)
            .build(literals)
            .map_err(|e| format!("the literals of the rules do not fit into one automaton: {e}"))?;
        let start = ac.start_state(Anchored::No).map_err(|e| e.to_string())?;
        Ok(Portable { ac, start })
    }
}

impl Candidates for Portable {
    fn start(&self) -> CandidateState {
        CandidateState(self.start)
    }

    fn scan(&self, state: &mut CandidateState, piece: &[u8], hits: &mut Vec<Hit>) {
        let mut q = state.0;
        for (i, b) in piece.iter().enumerate() {
            q = self.ac.next_state(Anchored::No, q, *b);
            if self.ac.is_special(q) && self.ac.is_match(q) {
                for k in 0..self.ac.match_len(q) {
                    hits.push(Hit { literal: self.ac.match_pattern(q, k).as_u32(), end: i + 1 });
                }
            }
        }
        state.0 = q;
    }
}

/// The literals that every match of `h` begins with, case folded; `None` if there is no such finite set.
pub(crate) fn prefixes(h: &Hir) -> Option<Vec<Vec<u8>>> {
    let mut extractor = literal::Extractor::new();
    extractor
        .kind(literal::ExtractKind::Prefix)
        .limit_class(12)
        .limit_repeat(8)
        .limit_literal_len(MAX_LITERAL)
        .limit_total(500);
    let seq = extractor.extract(&fold(h));
    let mut out: Vec<Vec<u8>> = seq.literals()?.iter().map(|l| l.as_bytes().to_vec()).collect();
    // Literals of one length end in the order in which they begin, so a match never waits for a longer one.
    let least = out.iter().map(Vec::len).min().unwrap_or(0);
    if least >= 3 {
        out.iter_mut().for_each(|l| l.truncate(least));
    }
    out.sort();
    // A literal that begins with another one adds nothing.
    out.dedup_by(|long, short| long.starts_with(short));
    (!out.is_empty() && out.iter().all(|l| !l.is_empty())).then_some(out)
}

/// Lower-cases literals, and turns the class of a letter's two cases into the letter.
fn fold(h: &Hir) -> Hir {
    match h.kind() {
        HirKind::Literal(l) => Hir::literal(l.0.to_ascii_lowercase()),
        HirKind::Class(c) => match pair(c) {
            Some(b) => Hir::literal([b]),
            None => h.clone(),
        },
        HirKind::Repetition(r) => Hir::repetition(r.with(fold(&r.sub))),
        HirKind::Capture(c) => fold(&c.sub),
        HirKind::Concat(items) => Hir::concat(items.iter().map(fold).collect()),
        HirKind::Alternation(items) => Hir::alternation(items.iter().map(fold).collect()),
        HirKind::Empty | HirKind::Look(_) => h.clone(),
    }
}

/// The letter, in small, that `h` matches in either case, if that is what it is.
pub(crate) fn folded(h: &Hir) -> Option<u8> {
    match h.kind() {
        HirKind::Class(c) => pair(c),
        _ => None,
    }
}

fn pair(c: &Class) -> Option<u8> {
    let Class::Bytes(c) = c else { return None };
    match c.ranges() {
        [a, b]
            if a.start() == a.end()
                && b.start() == b.end()
                && a.start().is_ascii_uppercase()
                && a.start().to_ascii_lowercase() == b.start() =>
        {
            Some(b.start())
        }
        _ => None,
    }
}
