//! S3: the hold is the least one. Compared after every byte with brute force over all acting built-in rules, on texts
//! drawn from the rules themselves: matches, near misses and their beginnings, one behind the other.
//!
//! Below the oracle is a leak and fails. Above it is a delay: at most [`MOST`] bytes, and the mean is shown.

use std::sync::Arc;

use forebay_scan::{Collected, Profile, RuleSet, RuleSpec, Scratch, StreamFilter, TokenKey, What};
use forebay_tests::builtin::packs;
use forebay_tests::cuts::Seed;
use forebay_tests::hold::{HoldOracle, least};
use forebay_tests::sample;

/// Bytes by which the hold may exceed the least one.
const MOST: usize = 1;
/// Texts that are tried.
const TEXTS: u64 = 40;

#[test]
fn the_hold_is_at_most_a_byte_above_the_least() {
    // Regions hold too, and the oracle knows none: patterns alone.
    let mut packs = packs();
    packs.iter_mut().for_each(|p| p.rules.retain(|r| matches!(r.what, What::Pattern(_))));
    let set = RuleSet::compile(&packs, &Profile::builtin("tool-output").unwrap()).unwrap();
    let rules: Vec<RuleSpec> = packs.into_iter().flat_map(|p| p.rules).collect();
    let acts = |r: &&RuleSpec| set.rules().any(|(_, i)| i.name == r.name && i.action.acts());
    let patterns: Vec<&RuleSpec> = rules.iter().filter(acts).collect();
    if patterns.is_empty() {
        return;
    }
    let mut oracle: Vec<HoldOracle> = patterns.iter().filter_map(|r| HoldOracle::new(r).unwrap()).collect();
    let (mut pushes, mut excess, mut worst) = (0u64, 0u64, (0, String::new()));
    for n in 0..TEXTS {
        let text = text(&patterns, &mut Seed(n));
        let want = least(&mut oracle, &text);
        let mut filter = StreamFilter::new(Arc::clone(&set), TokenKey::new([1; 32]));
        let (mut scratch, mut out) = (Scratch::default(), Collected::default());
        for (i, b) in text.iter().enumerate() {
            filter.push(&[*b], &mut scratch, &mut out).unwrap();
            let (got, want) = (filter.held(), want[i + 1]);
            let after = || format!("text {n} after {:?}", String::from_utf8_lossy(&text[i.saturating_sub(80)..=i]));
            assert!(got >= want, "{}: {got} bytes held, {want} can still become part of a span", after());
            pushes += 1;
            excess += (got - want) as u64;
            if got - want > worst.0 {
                worst = (got - want, format!("{got} and not {want}, {}", after()));
            }
        }
    }
    eprintln!("{pushes} pushes, mean excess {:.5} bytes, worst {worst:?}", excess as f64 / pushes as f64);
    assert!(worst.0 <= MOST, "{}", worst.1);
}

/// Up to a few hundred bytes that are as hard as it gets. No region: the oracle knows none.
fn text(rules: &[&RuleSpec], seed: &mut Seed) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..8 {
        let rule = rules[seed.below(rules.len())];
        let mut piece = if seed.below(2) == 0 { sample::rule(rule, seed) } else { sample::near(rule, seed) };
        piece.truncate(120);
        out.extend(piece);
        out.extend_from_slice([&b" "[..], b"\n", b"", b"\",", "，".as_bytes()][seed.below(5)]);
    }
    out
}

/// A rule that only reports never delays a byte.
#[test]
fn reporting_holds_nothing() {
    let set = forebay_tests::builtin::all(forebay_scan::Action::Flag);
    for t in forebay_tests::builtin::texts() {
        let mut filter = StreamFilter::new(Arc::clone(&set), TokenKey::new([1; 32]));
        let (mut scratch, mut out) = (Scratch::default(), Collected::default());
        for b in &t.bytes {
            filter.push(&[*b], &mut scratch, &mut out).unwrap();
            assert_eq!(filter.held(), 0);
        }
        assert_eq!(out.bytes, t.bytes);
    }
}
