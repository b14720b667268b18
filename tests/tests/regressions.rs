//! What broke once, named for it. A new one is five lines: rules, text, cuts.

use std::sync::Arc;

use forebay_scan::{Collected, Pack, Profile, RuleSet, Scratch, StreamFilter, TokenKey};
use forebay_tests::cuts::run;
use forebay_tests::hold::{HoldOracle, least};
use forebay_tests::{Brute, scan};

/// One rule a string: the TOML lines behind `id`. Every rule replaces unless its lines set `action`.
fn pack(rules: &[&str]) -> Pack {
    let mut toml = "[pack]\nname = \"t\"\n".to_owned();
    for (n, r) in rules.iter().enumerate() {
        let action = if r.contains("action =") { "" } else { "action = \"replace\"" };
        toml += &format!(
            "[[rule]]\nid = \"r{n}\"\nfamily = \"secret\"\ntitle = \"t\"\nseverity = \"low\"\n{action}\n{r}\n"
        );
    }
    Pack::parse(&toml, "t.toml").unwrap()
}

fn set(rules: &[&str]) -> Arc<RuleSet> {
    RuleSet::compile(&[pack(rules)], &Profile::builtin("tool-output").unwrap()).unwrap()
}

/// S1: byte by byte and every 2-way cut.
fn invariant(rules: &[&str], text: &[u8]) {
    let set = set(rules);
    let whole = run(&set, text, &[]);
    assert_eq!(run(&set, text, &(1..text.len()).collect::<Vec<_>>()), whole, "byte by byte");
    (1..text.len()).for_each(|cut| assert_eq!(run(&set, text, &[cut]), whole, "cut at {cut}"));
}

/// The findings are those of brute force, in any partition.
fn right(rules: &[&str], text: &[u8]) {
    let brutes: Vec<_> =
        pack(rules).rules.iter().enumerate().map(|(i, r)| (i, Brute::new(r).unwrap().unwrap())).collect();
    let want: Vec<_> = scan(&brutes, text).iter().map(|m| (m.start as u64, m.end as u64, m.rule as u32)).collect();
    let found = run(&set(rules), text, &[]).out.findings;
    let mut got: Vec<_> = found.iter().map(|f| (f.span.start, f.span.end, f.rule.0)).collect();
    got.sort_unstable();
    assert_eq!(got, want);
    invariant(rules, text);
}

/// The hold is the least one after every byte.
fn least_hold(rules: &[&str], text: &[u8]) {
    let mut oracle: Vec<_> = pack(rules).rules.iter().map(|r| HoldOracle::new(r).unwrap().unwrap()).collect();
    let mut filter = StreamFilter::new(set(rules), TokenKey::new([1; 32]));
    let (mut scratch, mut out) = (Scratch::default(), Collected::default());
    let mut got = vec![0];
    for b in text {
        filter.push(&[*b], &mut scratch, &mut out).unwrap();
        got.push(filter.held());
    }
    assert_eq!(got, least(&mut oracle, text));
}

#[test]
fn a_short_head_before_an_inner_literal_is_tried_when_the_long_one_fails() {
    let rule = "pattern = '(?:^|[^ab0-9.])?(?P<span>[ab]{1,3}@[ab]{1,3})(?:[^0-9]|$)'";
    right(&[rule], b"0A/a@baaa@a.b#");
}

#[test]
fn a_head_is_read_back_also_when_its_literal_was_cut() {
    right(&["pattern = '[^a](?P<span>[AB]{1,3}=@[AB]{1,3})'"], b" BAA=@A");
}

#[test]
fn nearby_words_are_read_back_also_when_the_literal_was_cut() {
    let rule = "pattern = '(?:^|[^a-z0-9])(?P<span>ab[01](?:ab|b){2})'\nnearby = { words = [\"key\"], within = 5 }";
    right(&[rule], b"ab0abab-key  ab0abab key .ab0abb");
}

#[test]
fn a_blocking_region_is_told_when_it_begins() {
    let rule = "action = \"block\"\nregion = { begin = '(?P<span>BEGIN[ab]{2})', inside = '[ab0-9]', end = 'END' }";
    invariant(&[rule], b"-1BEGINabENDBEGINaa52END");
}

#[test]
fn which_of_two_open_regions_wins_does_not_depend_on_how_far_they_got() {
    let region =
        |b: &str, inside: &str| format!("region = {{ begin = '(?P<span>{b})', inside = '{inside}', end = 'END' }}");
    invariant(&[&region("BEGIN-?", "[^E]|E[^N]"), &region("BEGIN[ab]", "(?s-u:.)")], b"BEGINaE.D");
}

#[test]
fn a_start_that_died_later_than_its_successor_matched_does_not_change_the_order() {
    right(&["pattern = '[^a](?P<span>[AB]{1,3}@[AB]{1,3})(?:[^0-9]|$)'", "pattern = 'A'"], b"/AB@AAB@A;A@A");
}

#[test]
fn a_cut_character_holds_only_if_it_is_one_of_the_class() {
    least_hold(&["pattern = '(?P<span>ba(?u:[日é])[AB])'"], b"zba\xe6-ba\xe6\x97zba\xc3\xa9Aba\xe6\x97\xa5C");
}

#[test]
fn what_was_matched_and_refused_by_a_check_is_not_held_as_a_prefix() {
    least_hold(
        &["pattern = '(?P<span>ab(?u:[日é]))'\nnearby = { words = [\"key\"], within = 5 }"],
        "abé abd".as_bytes(),
    );
}

#[test]
fn literals_of_different_length_do_not_wait_for_each_other() {
    least_hold(&["pattern = '(?P<span>(?:1|0-)[AB])'\nchecks = [\"luhn\"]"], b"1A0-A0-1A");
}

#[test]
fn a_start_inside_the_match_of_its_own_rule_is_not_held_for_its_neighbours_in_the_bucket() {
    let rules =
        ["pattern = '[^a](?P<span>[0-9][^a])'", "pattern = '(?:^|[^0-9])(?P<span>[0-9](?:-[ab]{1,2}){0,2})\\B'"];
    least_hold(&rules, b"19-aab-1");
    least_hold(
        &["pattern = '(?P<span>[AB]{0,2}@[AB]{0,2})'", "pattern = '[^a](?P<span>[0-9]-?[^a]{3,6})'"],
        b"A1+_M;-3jo-#TG",
    );
}

#[test]
fn a_token_is_not_replaced_again() {
    let set = set(&["pattern = 'key=(?P<span>[A-Za-z0-9_]{6,64})'"]);
    let once = run(&set, b"key=abcdef0123 ", &[]).out.bytes;
    assert!(once != b"key=abcdef0123 ".to_vec() && run(&set, &once, &[]).out.bytes == once);
}

#[test]
fn words_are_seen_again_behind_an_earlier_question() {
    let rule = r#"
pattern = '[^a](?P<span>(?:(?:ab|b)){0,2}@(?:(?:ab|b)){0,2})(?:ab)?'
unless = { words = ["ab"], within = 4 }
action = "flag"
"#;
    right(&[rule], "\u{fffd}-1[bab@1-1y@abb,@ab".as_bytes());
    right(&[rule], b"?-1[bab@1-1y@abb,@ab");
}

#[test]
fn a_keyed_rule_shares_its_words_with_one_that_has_no_key() {
    let words = r#"nearby = { words = ["key", "ba"], within = 5 }"#;
    let unkeyed = format!("pattern = '(?P<span>ab(?:[ab]))'\n{words}\naction = \"flag\"");
    let keyed = format!("pattern = '(?:^|[^a-z0-9])(?i:key|ab-) ?(?P<span>(?:[^a]))'\n{words}\naction = \"flag\"");
    right(&[&unkeyed, &keyed], b"key\xff-1");
    right(&[&unkeyed, &keyed], b"key=aba");
}

#[test]
fn an_end_that_hangs_on_the_next_byte() {
    let rule = |action| format!("pattern = '(?P<span>[0-9](?:-)?(?:\\b))[ -]'\naction = \"{action}\"");
    for action in ["replace", "block"] {
        invariant(&[&rule(action)], b"?9- 1--1-1");
        invariant(&[&rule(action)], b"J4-");
    }
    right(&[&rule("replace")], b"?9- 1--1-1");
    right(&["pattern = '[^a](?P<span>(?:1|0-)(?:(?:ab|b))?(?:\\b))b'"], b"T0-bb");
}
