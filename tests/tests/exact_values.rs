//! Exact values: found in every spelling, at every place, however the text is cut; nothing else is found; no byte of
//! one gets out; the hold is the least one; and nothing that leaves the engine tells a value.

mod exact_house;

use std::collections::BTreeSet;
use std::sync::Arc;

use exact_house::{Planted, base64, pack, pick, planted, readings, set, spells, symbols, texts, value};
use forebay_scan::{
    Action, Collected, ExactValue, Finding, MAX_VALUES, Pack, Profile, RuleSet, Scratch, StreamFilter, TokenKey,
};
use forebay_tests::cuts::{Seed, run};
use forebay_tests::model::{acting, check, pieces};
use proptest::prelude::*;

fn values(seed: &mut Seed) -> Vec<Vec<u8>> {
    let all: BTreeSet<Vec<u8>> = (0..1 + seed.below(4)).map(|_| value(seed)).collect();
    all.into_iter().collect()
}

fn found(findings: &[Finding]) -> BTreeSet<(usize, usize, usize)> {
    findings.iter().map(|f| (f.rule.0 as usize, f.span.start as usize, f.span.end as usize)).collect()
}

/// Everything but the hold, for one text.
fn holds(rules: &Arc<RuleSet>, values: &[Vec<u8>], text: &Planted, seed: &mut Seed) -> Result<(), TestCaseError> {
    let whole = run(rules, &text.text, &[]);
    let got = found(&whole.out.findings);
    for (which, span) in &text.spans {
        let what = String::from_utf8_lossy(&text.text[span.clone()]).into_owned();
        prop_assert!(got.contains(&(*which, span.start, span.end)), "{what:?} at {span:?} was not found");
    }
    for (which, start, end) in &got {
        let span = &text.text[*start..*end];
        prop_assert!(spells(span, &values[*which]), "{:?} is not value {which}", String::from_utf8_lossy(span));
    }
    let expected = pieces(rules, &[], &text.text, acting(&whole.out.findings));
    check(&whole.out.bytes, &expected).map_err(TestCaseError::fail)?;
    for mean in [1, 3, 20, 200] {
        let cuts = seed.cuts(text.text.len(), mean);
        prop_assert_eq!(&run(rules, &text.text, &cuts), &whole, "cuts {:?}", cuts);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_are_found_wherever_they_stand_and_nothing_else_is(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let values = values(&mut seed);
        let pieces = 1 + seed.below(25);
        let text = planted(&values, &mut seed, pieces);
        holds(&set(&values, "tool-output"), &values, &text, &mut seed)?;
    }
}

#[test]
fn every_cut_gives_the_same() {
    let mut seed = Seed(7);
    for _ in 0..12 {
        let values = values(&mut seed);
        let rules = set(&values, "tool-output");
        let text = planted(&values, &mut seed, 6).text;
        let whole = run(&rules, &text, &[]);
        assert!(!whole.out.findings.is_empty());
        assert_eq!(run(&rules, &text, &(1..text.len()).collect::<Vec<_>>()), whole);
        (1..text.len()).for_each(|cut| assert_eq!(run(&rules, &text, &[cut]), whole, "cut at {cut}"));
    }
}

/// A long push meets the skipping search, a byte at a time does not: ordinary text around values, far apart.
#[test]
fn values_far_apart_in_a_long_text() {
    let mut seed = Seed(3);
    let values: Vec<Vec<u8>> = (0..40).map(|_| value(&mut seed)).collect::<BTreeSet<_>>().into_iter().collect();
    let rules = set(&values, "tool-output");
    let mut text = Planted { text: Vec::new(), spans: Vec::new() };
    for _ in 0..60 {
        let plant = planted(&values, &mut seed, 2);
        let at = text.text.len();
        text.spans.extend(plant.spans.into_iter().map(|(w, s)| (w, s.start + at..s.end + at)));
        text.text.extend(plant.text);
        text.text.extend((0..seed.below(900)).map(|_| pick(&mut seed, b"etaoin shrdlu\n    let x = 10; \"ab\\n")));
    }
    holds(&rules, &values, &text, &mut seed).unwrap();
}

/// Every spelling that the values have in base64, with what neighbours may add to the first and the last symbol.
fn base64_forms(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut out = BTreeSet::new();
    for before in 0..3 {
        for (left, right) in (0..16u8).flat_map(|l| (0..16u8).map(move |r| (l, r << 4))) {
            let mut data = vec![left; before];
            data.extend_from_slice(value);
            data.extend([right, right]);
            out.insert(base64(&data, false)[symbols(before, value.len())].to_vec());
        }
    }
    out
}

#[test]
fn the_hold_is_the_least_one() {
    let mut seed = Seed(11);
    let mut held = 0;
    for _ in 0..25 {
        let values = values(&mut seed);
        let rules = set(&values, "tool-output");
        let plain: BTreeSet<Vec<u8>> = values.iter().flat_map(|v| texts(v)).collect();
        let coded: BTreeSet<Vec<u8>> = values.iter().flat_map(|v| readings(v)).flat_map(|v| base64_forms(&v)).collect();
        let forms: Vec<&Vec<u8>> = plain.iter().chain(&coded).collect();
        let mut text = Vec::new();
        while text.len() < 500 {
            let form = &forms[seed.below(forms.len())];
            let n = [form.len(), seed.below(form.len())][seed.below(2)];
            text.extend_from_slice(&form[..n]);
            if seed.below(3) == 0 {
                text.push(pick(&mut seed, b"Qx .;"));
            }
        }
        // Lines are another test's: here a break ends what has begun.
        text.iter_mut().filter(|b| matches!(b, b'\n' | b'\r')).for_each(|b| *b = b'.');
        // Both alphabets are one to base64.
        let folded: Vec<u8> =
            text.iter().map(|b| [*b, b'+', b'/'][(*b == b'-') as usize + 2 * (*b == b'_') as usize]).collect();
        let stand = |forms: &BTreeSet<Vec<u8>>, text: &[u8]| -> Vec<(usize, usize)> {
            let places = |f: &Vec<u8>| {
                let n = f.len();
                let here = text.windows(n).enumerate().filter(|(_, w)| *w == &f[..]);
                here.map(|(s, _)| (s, s + n)).collect::<Vec<_>>()
            };
            forms.iter().flat_map(places).collect()
        };
        let matches = [stand(&plain, &text), stand(&coded, &folded)].concat();
        let begins =
            |forms: &BTreeSet<Vec<u8>>, end: &[u8]| forms.iter().any(|f| f.len() > end.len() && f.starts_with(end));
        let mut filter = StreamFilter::new(Arc::clone(&rules), TokenKey::new([1; 32]));
        let (mut scratch, mut out) = (Scratch::default(), Collected::default());
        for n in 1..=text.len() {
            filter.push(&text[n - 1..n], &mut scratch, &mut out).unwrap();
            let live = |s: &usize| begins(&plain, &text[*s..n]) || begins(&coded, &folded[*s..n]);
            let mut from = (n.saturating_sub(400)..n).find(live).unwrap_or(n);
            // What is decided but overlaps something live waits with it.
            while let Some((s, _)) = matches.iter().find(|(s, e)| *s < from && from < *e && *e <= n) {
                from = *s;
            }
            let what = String::from_utf8_lossy(&text[n.saturating_sub(60)..n]).into_owned();
            assert_eq!(filter.held(), n - from, "after {what:?}");
            held += n - from;
        }
    }
    assert!(held > 0);
}

#[test]
fn a_text_of_breaks_and_beginnings_costs_no_memory() {
    let mut secret = vec![0u8; 4096];
    let mut seed = Seed(5);
    secret.iter_mut().for_each(|b| *b = seed.below(256) as u8);
    let rules = set(&[&secret], "tool-output");
    let code = base64(&secret, false);
    // A break behind every symbol, behind every 31st, behind every 32nd; breaks without end.
    for line in [1, 31, 32, 76] {
        for end in [&b"\n"[..], b"\r\n", b"\\r\\n", b"\n\n\n\n\n"] {
            let mut filter = StreamFilter::new(Arc::clone(&rules), TokenKey::new([1; 32]));
            let (mut scratch, mut out) = (Scratch::default(), Collected::default());
            for (i, symbol) in code.iter().enumerate() {
                filter.push(&[*symbol], &mut scratch, &mut out).unwrap();
                if (i + 1) % line == 0 {
                    filter.push(end, &mut scratch, &mut out).unwrap();
                }
                assert!(filter.held() <= 8192, "{} bytes held", filter.held());
                assert!(filter.memory() < 48 << 10, "{} bytes of state", filter.memory());
            }
            filter.finish(&mut scratch, &mut out);
            let whole = (line >= 32 && end.len() <= 4) as usize;
            assert_eq!(out.findings.len(), whole, "line {line}, break {end:?}");
        }
    }
}

#[test]
fn values_inside_values_and_the_same_value_twice() {
    let outer = b"kZ81-lmQ0-qpX7-ffT2".to_vec();
    let inner = outer[5..14].to_vec();
    let rules = set(&[&outer, &inner, &outer], "tool-output");
    let text = [&b"a "[..], &outer, b" b ", &inner, b" c"].concat();
    let got = run(&rules, &text, &[]);
    assert_eq!(found(&got.out.findings), BTreeSet::from([(0, 2, 21), (2, 2, 21), (1, 7, 16), (1, 24, 33)]));
    check(&got.out.bytes, &pieces(&rules, &[], &text, acting(&got.out.findings))).unwrap();
}

#[test]
fn a_value_that_blocks_ends_the_stream_and_one_that_is_allowed_is_not_looked_for() {
    let secret = b"9fQ-2mVx-77Lp".to_vec();
    let text = [&b"curl -H "[..], &secret, b" more"].concat();
    let blocked = run(&set(&[&secret], "tool-input"), &text, &[]);
    assert_eq!(blocked.report.blocked_at, Some(8));
    assert_eq!(blocked.out.bytes, b"curl -H ");
    let profile = Profile::parse("name = \"x\"\n[rule]\n\"secret.exact.test.KEY0\" = \"allow\"\n", "x.toml").unwrap();
    let allowed = RuleSet::compile(&[pack(&[&secret])], &profile).unwrap();
    assert!(run(&allowed, &text, &[]).out.findings.is_empty());
    let profile = Profile::parse("name = \"x\"\n[rule]\n\"secret.exact.test.KEY0\" = \"flag\"\n", "x.toml").unwrap();
    let flagged = RuleSet::compile(&[pack(&[&secret])], &profile).unwrap();
    let mut filter = StreamFilter::new(Arc::clone(&flagged), TokenKey::new([1; 32]));
    let mut out = Collected::default();
    filter.push(&text[..14], &mut Scratch::default(), &mut out).unwrap();
    assert_eq!(filter.held(), 0, "a value that is only reported holds nothing");
    filter.push(&text[14..], &mut Scratch::default(), &mut out).unwrap();
    assert_eq!(out.findings.iter().map(|f| f.action).collect::<Vec<_>>(), [Action::Flag]);
}

#[test]
fn nothing_that_leaves_the_engine_tells_a_value() {
    let secret = b"Tq9wZr4kPm2x".to_vec();
    let other = b"Wb7nHs5jLd8v".to_vec();
    let packs = [pack(&[&secret]), pack(&[&other])];
    let profile = Profile::builtin("tool-output").unwrap();
    let sets = packs.each_ref().map(|p| RuleSet::compile(std::slice::from_ref(p), &profile).unwrap());
    assert_eq!(sets[0].fingerprint(), sets[1].fingerprint(), "a fingerprint would serve to test guesses");
    let value = ExactValue::new("test", "KEY0", &[&secret], "test:1").unwrap();
    let shown = [
        format!("{value:?} {:?} {:?} {:?}", packs[0], sets[0], sets[0].rules().collect::<Vec<_>>()),
        Pack::exact(&[value.clone(), value.clone()]).unwrap_err().to_string(),
        ExactValue::new("test", "KEY0", &[&secret.repeat(400)], "test:1").unwrap_err().to_string(),
        ExactValue::new("test", &"K".repeat(200), &[&secret], "test:1").unwrap_err().to_string(),
    ];
    let decimal = secret.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
    for (text, form) in shown.iter().flat_map(|t| texts(&secret).into_iter().map(move |f| (t, f))) {
        assert!(!text.contains(std::str::from_utf8(&form).unwrap()), "{text}");
        assert!(!text.contains(&decimal), "{text}");
    }
}

#[test]
fn ten_thousand_values_and_not_one_more() {
    let mut seed = Seed(1);
    let mut key = || (0..24).map(|_| pick(&mut seed, b"abcdefghijkmnpqrstuvwxyz23456789")).collect::<Vec<u8>>();
    let values: Vec<Vec<u8>> = (0..=MAX_VALUES).map(|_| key()).collect();
    let named = |(i, v): (usize, &Vec<u8>)| ExactValue::new("t", &format!("K{i}"), &[v], "t:1").unwrap();
    let all: Vec<ExactValue> = values.iter().enumerate().map(named).collect();
    let error = Pack::exact(&all).unwrap_err();
    assert!(error.to_string().contains("more than 10000 exact values"), "{error}");
    let started = std::time::Instant::now();
    let rules = set(&values[..MAX_VALUES], "tool-output");
    eprintln!("{MAX_VALUES} values: {:?}, {} bytes", started.elapsed(), rules.automata_bytes());
    assert!(rules.automata_bytes() < 128 << 20, "{} bytes", rules.automata_bytes());
    let text: Vec<u8> = values[..200].iter().flat_map(|v| [&v[..], b"\n"].concat()).collect();
    assert_eq!(run(&rules, &text, &[]).out.findings.len(), 200);
}
