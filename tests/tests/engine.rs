//! The engine against the brute-force oracle, on rules of every kind and on texts made to be hard.

use std::sync::Arc;

use forebay_scan::{Action, Collected, Family, Pack, Profile, RuleSet, Scratch, StreamFilter, TokenKey};
use forebay_tests::cuts::{Seed, run};
use forebay_tests::hold::{HoldOracle, least};
use forebay_tests::{Brute, scan};

/// Rules of every anchor kind, short and overlapping on purpose.
const PACK: &str = r#"
[pack]
name = "t"

[[rule]]
id = "prefix"
family = "secret"
title = "literal in front, guard, longer than its own overlap"
pattern = '(?:^|[^A-Za-z0-9])(?P<span>ab-[a-z0-9]{4,9})(?:[^a-z0-9]|$)'
severity = "high"

[[rule]]
id = "bare"
family = "secret"
title = "no guard, no end: overlaps itself"
pattern = '(?P<span>ba[ab]{3,6})'
severity = "medium"

[[rule]]
id = "two"
family = "secret"
title = "two literals of different length, word boundary"
pattern = '\b(?P<span>(?:ab|babb)[0-9a]{2,4})\b'
severity = "low"

[[rule]]
id = "mail"
family = "pii"
title = "inner literal"
pattern = '(?:^|[^a-z0-9.])(?P<span>[a-z0-9.]{1,12}@[a-z]{1,6}\.[a-z]{2,4})'
severity = "medium"

[[rule]]
id = "card"
family = "pii"
title = "class run with a check"
pattern = '(?:^|[^0-9])(?P<span>[0-9](?:-?[0-9]){5,9})(?:[^0-9]|$)'
checks = ["luhn"]
severity = "high"

[[rule]]
id = "pair"
family = "pii"
title = "class run with another shape"
pattern = '(?:^|[^0-9.-])(?P<span>[0-9]{2}\.[0-9]{2})'
severity = "low"

[[rule]]
id = "keyed"
family = "secret"
title = "keyword, gap, span"
pattern = '(?i)(?:^|[^a-z])(?:key|pass)[ ]{0,2}[=:][ ]{0,2}(?P<span>[a-z0-9]{3,8})'
severity = "critical"

[[rule]]
id = "near"
family = "pii"
title = "a word before it"
pattern = '(?:^|[^0-9])(?P<span>[0-9]{4})(?:[^0-9]|$)'
nearby = { words = ["pin"], within = 12 }
severity = "info"

[[rule]]
id = "capitals"
family = "pii"
title = "a class of capitals behind a short literal"
pattern = '(?:^|[^A-Za-z])(?P<span>HR[AB] ?[0-9]{1,3})'
severity = "low"

[[rule]]
id = "line"
family = "truncation"
title = "a whole line"
pattern = '(?m)^(?P<span>\.\.\.[a-z]{1,5})$'
severity = "info"
"#;

const ALPHABET: &[&str] = &[
    "ab-",
    "ba",
    "a",
    "b",
    "bb",
    "1",
    "2",
    "0",
    "-",
    ".",
    "@",
    "x.co",
    "key",
    "pass",
    "=",
    ": ",
    " ",
    "\n",
    "...",
    "pin ",
    "Key=",
    "12.34",
    "79927398713",
    "日",
    "\u{80}",
    "ab",
    "babb1",
    "HRA",
    "HR",
    "HRB 1",
    "@b.co",
    "c",
];

fn text(seed: &mut Seed, pieces: usize) -> Vec<u8> {
    (0..pieces).flat_map(|_| ALPHABET[seed.below(ALPHABET.len())].bytes()).collect()
}

fn rules(action: Action) -> (Arc<RuleSet>, Vec<(usize, Brute)>) {
    let pack = Pack::parse(PACK, "t.toml").unwrap();
    let mut profile = Profile::builtin("tool-output").unwrap();
    profile.families.extend(Family::ALL.map(|f| (f, action)));
    let brutes = pack.rules.iter().enumerate().map(|(i, r)| (i, Brute::new(r).unwrap().unwrap())).collect::<Vec<_>>();
    (RuleSet::compile(&[pack], &profile).unwrap(), brutes)
}

#[test]
fn findings_are_those_of_brute_force() {
    for action in [Action::Flag, Action::Replace] {
        let (set, brutes) = rules(action);
        for n in 0..3000 {
            let text = text(&mut Seed(n), 1 + n as usize % 24);
            let want: Vec<_> = scan(&brutes, &text).into_iter().map(|m| (m.start, m.end, m.rule)).collect();
            let mut got: Vec<_> = run(&set, &text, &[])
                .out
                .findings
                .iter()
                .map(|f| (f.span.start as usize, f.span.end as usize, f.rule.0 as usize))
                .collect();
            got.sort_unstable();
            assert_eq!(got, want, "seed {n}: {:?}", String::from_utf8_lossy(&text));
        }
    }
}

#[test]
fn no_cut_changes_anything() {
    for action in [Action::Flag, Action::Mask, Action::Replace, Action::Block] {
        let (set, _) = rules(action);
        for n in 0..400 {
            let mut seed = Seed(n);
            let text = text(&mut seed, 1 + n as usize % 40);
            let whole = run(&set, &text, &[]);
            let bytes: Vec<usize> = (1..text.len()).collect();
            assert_eq!(
                run(&set, &text, &bytes),
                whole,
                "{action:?} seed {n} by bytes: {:?}",
                String::from_utf8_lossy(&text)
            );
            for cut in 1..text.len() {
                assert_eq!(
                    run(&set, &text, &[cut]),
                    whole,
                    "{action:?} seed {n} cut {cut}: {:?}",
                    String::from_utf8_lossy(&text)
                );
            }
            for _ in 0..4 {
                let cuts = seed.cuts(text.len(), 5);
                assert_eq!(run(&set, &text, &cuts), whole, "{action:?} seed {n} cuts {cuts:?}");
            }
        }
    }
}

/// S3, and with it S2: held is never less than the oracle says (that would be a leak), and never more.
#[test]
fn the_hold_is_the_least() {
    let (set, _) = rules(Action::Replace);
    let pack = Pack::parse(PACK, "t.toml").unwrap();
    let mut oracle: Vec<HoldOracle> = pack.rules.iter().map(|r| HoldOracle::new(r).unwrap().unwrap()).collect();
    for n in 0..600 {
        let text = text(&mut Seed(n), 1 + n as usize % 24);
        let want = least(&mut oracle, &text);
        let mut filter = StreamFilter::new(Arc::clone(&set), TokenKey::new([1; 32]));
        let (mut scratch, mut out) = (Scratch::default(), Collected::default());
        for (i, b) in text.iter().enumerate() {
            filter.push(&[*b], &mut scratch, &mut out).unwrap();
            assert_eq!(
                filter.held(),
                want[i + 1],
                "seed {n} after {:?} of {:?}",
                String::from_utf8_lossy(&text[..=i]),
                String::from_utf8_lossy(&text)
            );
        }
    }
}
