//! S6: overlapping spans become one splice, and which label wins depends on priority, start and length alone.

use std::sync::Arc;

use forebay_scan::{Action, Pack, Profile, RuleSet};
use forebay_tests::builtin::{packs, texts};
use forebay_tests::cuts::{Outcome, run};

/// Rules that overlap in every way, each with its own action.
fn set(rules: &[(&str, &str, u32, &str)]) -> Arc<RuleSet> {
    let mut toml = "[pack]\nname = \"t\"\n".to_owned();
    for (id, action, priority, pattern) in rules {
        toml += &format!(
            "[[rule]]\nid = \"{id}\"\nfamily = \"secret\"\ntitle = \"t\"\nseverity = \"low\"\naction = \"{action}\"\n\
             priority = {priority}\npattern = '{pattern}'\n"
        );
    }
    RuleSet::compile(&[Pack::parse(&toml, "t.toml").unwrap()], &Profile::builtin("prompt").unwrap()).unwrap()
}

fn output(rules: &[(&str, &str, u32, &str)], text: &str) -> String {
    let set = set(rules);
    let whole = run(&set, text.as_bytes(), &[]);
    (1..text.len()).for_each(|cut| assert_eq!(run(&set, text.as_bytes(), &[cut]), whole, "cut at {cut}"));
    let out = String::from_utf8(whole.out.bytes).unwrap();
    // The letters of a token depend on the value; what counts here is the label.
    let mut short = String::new();
    for (i, part) in out.split("FBY_").enumerate() {
        if i == 0 {
            short += part;
        } else {
            let (label, rest) = part.split_once('_').unwrap();
            short += &format!("<{label}>{}", &rest[15..]);
        }
    }
    short
}

#[test]
fn priority_then_start_then_length() {
    let a = ("a", "replace", 1, "abcd");
    assert_eq!(output(&[a, ("b", "replace", 2, "cdef")], "-abcdef-"), "-<B>-");
    assert_eq!(output(&[a, ("b", "replace", 1, "cdef")], "-abcdef-"), "-<A>-");
    assert_eq!(output(&[a, ("b", "replace", 1, "abcdef")], "-abcdef-"), "-<B>-");
    assert_eq!(output(&[a, ("b", "replace", 9, "efgh")], "-abcdefgh-"), "-<A><B>-");
}

#[test]
fn what_hides_more_wins() {
    let mask = ("m", "mask", 9, "abcdefghij");
    assert_eq!(output(&[mask], "-abcdefghij-"), "-******ghij-");
    assert_eq!(output(&[mask, ("r", "replace", 1, "ijk")], "-abcdefghijk-"), "-<R>-");
    assert_eq!(output(&[mask, ("b", "block", 1, "ijk")], "-abcdefghijk-"), "-");
    assert_eq!(output(&[mask, ("f", "flag", 99, "ijk")], "-abcdefghijk-"), "-******ghijk-");
}

#[test]
fn a_chain_is_one_splice() {
    let rules = [("a", "replace", 1, "ab-"), ("b", "replace", 2, "-ba-"), ("c", "replace", 3, "-ab-ba")];
    assert_eq!(output(&rules, "ab-ba-ab-ba-ab"), "<C>ab");
}

/// Bytes and findings by name do not depend on the order of packs and rules.
#[test]
fn the_order_of_packs_and_rules_does_not_matter() {
    let profile = Profile::builtin("tool-output").unwrap();
    let (forward, mut backward) = (packs(), packs());
    backward.reverse();
    backward.iter_mut().for_each(|p| p.rules.reverse());
    let (one, two) = (RuleSet::compile(&forward, &profile).unwrap(), RuleSet::compile(&backward, &profile).unwrap());
    let named = |set: &RuleSet, o: &Outcome| {
        let name = |id| set.rule(id).unwrap().name.clone();
        let mut all: Vec<_> = o.out.findings.iter().map(|f| (f.span.start, f.span.end, name(f.rule))).collect();
        all.sort();
        all
    };
    for t in texts() {
        let (a, b) = (run(&one, &t.bytes, &[]), run(&two, &t.bytes, &[]));
        assert_eq!(named(&one, &a), named(&two, &b), "{}", t.name);
        assert_eq!(String::from_utf8_lossy(&a.out.bytes), String::from_utf8_lossy(&b.out.bytes), "{}", t.name);
    }
    assert!(
        packs().iter().flat_map(|p| &p.rules).all(|r| r.action != Some(Action::Block)),
        "a block would hide the rest"
    );
}
