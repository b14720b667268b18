//! What a rule's author lets through: the meaning, every cut of it, and what a pack may not ask for.

use std::sync::Arc;

use forebay_scan::{Action, Family, Pack, Profile, RuleSet};
use forebay_tests::cuts::{Seed, run};
use forebay_tests::{Brute, scan};

/// Short rules that overlap themselves, so that passing over a span matters.
const PACK: &str = r#"
allow = [{ patterns = ['^ab-c+$'], words = ["BAB"] }]

[pack]
name = "t"

[[rule]]
id = "prefix"
family = "secret"
title = "ends anywhere: shorter spans would pass"
pattern = '(?P<span>ab-[abc]{2,6})'
severity = "high"

[[rule]]
id = "keyed"
family = "secret"
title = "sees what stands before"
pattern = 'key[=:](?P<span>[abc-]{3,5})'
severity = "medium"
allow = [{ patterns = ['pub(?:lic)?-key', '^-key'], before = 9 }]

[[rule]]
id = "both"
family = "secret"
title = "a pattern and a word"
pattern = '(?:^|[^a-c])(?P<span>c[abc]{3,5})(?:[^a-c]|$)'
severity = "low"
allow = [{ patterns = ['a$'], words = ["bb"], both = true }]

[[rule]]
id = "digits"
family = "pii"
title = "class run"
pattern = '(?:^|[^0-9])(?P<span>[0-9]{4,6})'
severity = "low"
allow = [{ words = ["00"] }]
"#;

fn rules(action: Action) -> (Pack, Arc<RuleSet>) {
    let pack = Pack::parse(PACK, "test").expect("a good pack");
    let mut profile = Profile::builtin("tool-output").expect("built in");
    profile.families = Family::ALL.map(|f| (f, action)).into_iter().collect();
    let rules = RuleSet::compile(std::slice::from_ref(&pack), &profile).expect("compiles");
    (pack, rules)
}

/// Pieces that rules are made of, in random order.
fn text(seed: &mut Seed) -> String {
    let pieces =
        ["ab-", "abc", "bab", "cc", "key=", "pub", "-key:", "public-", "bba", "\n", " ", "120034", "4567", "00", "c"];
    (0..2 + seed.below(9)).map(|_| pieces[seed.below(pieces.len())]).collect()
}

#[test]
fn findings_are_those_of_the_meaning_however_the_text_is_cut() {
    let (pack, rules) = rules(Action::Replace);
    let brute: Vec<(usize, Brute)> =
        pack.rules.iter().enumerate().map(|(i, r)| (i, Brute::new(r).expect("good").expect("a pattern"))).collect();
    let mut unlike = 0;
    let plain: Vec<(usize, Brute)> = {
        let without = pack.rules.iter().cloned().map(|mut r| {
            r.allow.clear();
            r
        });
        without.enumerate().map(|(i, r)| (i, Brute::new(&r).expect("good").expect("a pattern"))).collect()
    };
    for n in 0..3000 {
        let text = text(&mut Seed(n));
        let want = scan(&brute, text.as_bytes());
        unlike += usize::from(want != scan(&plain, text.as_bytes()));
        let whole = run(&rules, text.as_bytes(), &[]);
        let mut have: Vec<(usize, usize, String)> = whole
            .out
            .findings
            .iter()
            .map(|f| {
                let name = rules.rule(f.rule).expect("of the set").name.clone();
                (f.span.start as usize, f.span.end as usize, name)
            })
            .collect();
        have.sort();
        let mut want: Vec<_> = want.iter().map(|m| (m.start, m.end, pack.rules[m.rule].name.clone())).collect();
        want.sort();
        assert_eq!(have, want, "{text:?}");
        for cut in 1..text.len() {
            assert_eq!(run(&rules, text.as_bytes(), &[cut]), whole, "{text:?} cut at {cut}");
        }
    }
    assert!(unlike > 300, "the lists matter in {unlike} of 3000 texts only");
}

#[test]
fn what_a_list_may_not_be() {
    let rule = |allow: &str| {
        format!(
            "[pack]\nname = \"t\"\n[[rule]]\nid = \"r\"\nfamily = \"secret\"\ntitle = \"t\"\nseverity = \"low\"\n\
             pattern = 'ab-[a-z]{{8}}'\nallow = [{{ {allow} }}]\n"
        )
    };
    for (allow, why) in [
        ("", "neither patterns nor words"),
        ("words = [\"\"]", "empty word"),
        ("words = [\"a\"], both = true", "needs patterns and words"),
        ("patterns = ['a'], before = 300", "at most"),
        ("patterns = ['(']", "allow pattern `(`"),
        ("patterns = ['(?:[ab]{0,300}a){60}']", "explodes"),
        ("patterns = ['((a{100}){100}){100}']", "explodes"),
        ("paterns = ['a']", "unknown field"),
    ] {
        let error = Pack::parse(&rule(allow), "p.toml").expect_err(allow).to_string();
        assert!(error.contains(why) && error.starts_with("p.toml:"), "{error}");
    }
}
