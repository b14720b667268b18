//! Texts made to be slow: what somebody who knows the rules would send.
//!
//! Made from the rules at run time, so they follow the packs; the engine's own idea of its literals is not asked.

use forebay_scan::{RuleSpec, What, examples, pattern};
use regex_syntax::hir::{Class, Hir, HirKind};

use super::sequence::Sequence;
use super::{Corpus, named};

/// Bytes of each text.
pub const BYTES: usize = 1 << 20;

/// The worst texts that are known, for these rules.
pub fn all(rules: &[RuleSpec]) -> Result<Vec<Corpus>, String> {
    Ok(vec![
        Corpus { name: "every rule's literal on every line", bytes: every_literal(rules) },
        Corpus { name: "near-misses of every rule", bytes: near_misses(rules) },
        Corpus { name: "digits only", bytes: digits() },
        Corpus { name: "1 MB without white space", bytes: dense()? },
    ])
}

/// Lines that hold a literal of each rule: the longest one that its pattern cannot match without.
fn every_literal(rules: &[RuleSpec]) -> Vec<u8> {
    let mut line = literals_of(rules).join(&b' ');
    line.push(b'\n');
    line.iter().copied().cycle().take(BYTES).collect()
}

/// A literal of each rule that has one: the longest one.
pub fn literals_of(rules: &[RuleSpec]) -> Vec<Vec<u8>> {
    rules.iter().filter_map(longest_literal).collect()
}

fn longest_literal(rule: &RuleSpec) -> Option<Vec<u8>> {
    let text = match &rule.what {
        What::Pattern(p) => p,
        What::Region { begin, .. } => begin,
        What::Tracker { .. } | What::Exact(_) => return None,
    };
    let mut runs = vec![Vec::new()];
    literals(&pattern::parse(text).ok()?, &mut runs);
    runs.into_iter().max_by_key(Vec::len).filter(|l| !l.is_empty())
}

/// Appends what `h` must match to the last run of bytes, or begins a new run where something else may stand. Of an
/// alternation the first branch; of a letter in either case the small one.
fn literals(h: &Hir, runs: &mut Vec<Vec<u8>>) {
    match h.kind() {
        HirKind::Literal(l) => runs.iter_mut().last().into_iter().for_each(|r| r.extend_from_slice(&l.0)),
        HirKind::Class(Class::Bytes(c)) => match c.ranges() {
            [a, b] if a.start() == a.end() && b.start() == b.end() && a.start().to_ascii_lowercase() == b.start() => {
                runs.iter_mut().last().into_iter().for_each(|r| r.push(b.start()));
            }
            _ => runs.push(Vec::new()),
        },
        HirKind::Capture(c) => literals(&c.sub, runs),
        HirKind::Repetition(r) if r.min > 0 => {
            (0..r.min.min(4)).for_each(|_| literals(&r.sub, runs));
            runs.push(Vec::new());
        }
        HirKind::Concat(all) => all.iter().for_each(|h| literals(h, runs)),
        HirKind::Alternation(all) => {
            all.iter().take(1).for_each(|h| literals(h, runs));
            runs.push(Vec::new());
        }
        HirKind::Empty | HirKind::Look(_) => {}
        _ => runs.push(Vec::new()),
    }
}

/// What each rule says it does not match, and what it does match with its last eighth cut off.
fn near_misses(rules: &[RuleSpec]) -> Vec<u8> {
    let mut all = Vec::new();
    for r in rules {
        for miss in r.no_matches.iter().filter_map(|e| examples::expand(e).ok()) {
            all.extend_from_slice(miss.as_bytes());
            all.push(b'\n');
        }
        for hit in r.matches.iter().filter_map(|e| examples::expand(e).ok()) {
            all.extend_from_slice(&hit.as_bytes()[..hit.len() - hit.len().div_ceil(8)]);
            all.push(b'\n');
        }
    }
    all.iter().copied().cycle().take(BYTES).collect()
}

fn digits() -> Vec<u8> {
    let mut s = Sequence(21);
    (0..BYTES).map(|_| b'0' + s.below(10) as u8).collect()
}

/// JSON logs in one line, with nothing between their tokens.
fn dense() -> Result<Vec<u8>, String> {
    let logs = named("json-logs", BYTES + BYTES / 2)?.bytes;
    Ok(logs.into_iter().filter(|b| !b.is_ascii_whitespace()).take(BYTES).collect())
}
