//! Exact values: found in every spelling, at every place, however the text is cut; nothing else is found; no byte of
//! one gets out; the hold is the least one; and nothing that leaves the engine tells a value.

mod exact_house;

use std::collections::BTreeSet;
use std::sync::Arc;

use exact_house::{Planted, base64, hex, mixed, pack, pick, planted, readings, set, spells, symbols, texts, value};
use forebay_scan::{
    Action, Collected, ExactValue, Finding, MAX_VALUES, Pack, Profile, RuleSet, Scratch, StreamFilter, TokenKey,
};
use forebay_tests::cuts::{Seed, run};
use forebay_tests::model::{acting, check, pieces};
use forebay_tests::spelled::places;
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
    for (which, start, end) in places(&text.text, values) {
        let span = String::from_utf8_lossy(&text.text[start..end]).into_owned();
        prop_assert!(got.contains(&(which, start, end)), "{span:?} at {start} is value {which} and was not found");
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
        let plain: BTreeSet<Vec<u8>> =
            values.iter().flat_map(|v| readings(v)).flat_map(|v| [hex(&v, false), hex(&v, true), v]).collect();
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
        // Lines and escapes are other tests': here a break ends what has begun.
        text.iter_mut().filter(|b| matches!(b, b'\n' | b'\r' | b'\\' | b'%')).for_each(|b| *b = b'.');
        let spaces: Vec<u8> = text.iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect();
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
        let matches = [stand(&plain, &text), stand(&plain, &spaces), stand(&coded, &folded)].concat();
        let begins =
            |forms: &BTreeSet<Vec<u8>>, end: &[u8]| forms.iter().any(|f| f.len() > end.len() && f.starts_with(end));
        let mut filter = StreamFilter::new(Arc::clone(&rules), TokenKey::new([1; 32]));
        let (mut scratch, mut out) = (Scratch::default(), Collected::default());
        for n in 1..=text.len() {
            filter.push(&text[n - 1..n], &mut scratch, &mut out).unwrap();
            let live = |s: &usize| {
                begins(&plain, &text[*s..n]) || begins(&plain, &spaces[*s..n]) || begins(&coded, &folded[*s..n])
            };
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

/// Whether `stands` says yes to a string that may follow a text that ends somewhere in the first character of `w`, spelled
/// in some of `layers` layers.
fn ends_well(layers: usize, w: &str, stands: &impl Fn(&[u8]) -> bool) -> bool {
    let Some(first) = w.chars().next() else { return false };
    if layers == 0 {
        return stands(w.as_bytes());
    }
    let inside = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let escape: String = first.encode_utf16(&mut [0; 2]).iter().map(|u| format!("\\u{u:04x}")).collect();
    let rest = inside(&w[first.len_utf8()..]);
    [inside(&first.to_string()), escape, format!("\\{first}")].iter().any(|form| {
        let mut cuts = (0..form.len()).filter(|i| form.is_char_boundary(*i));
        cuts.any(|i| ends_well(layers - 1, &(form[i..].to_owned() + &rest), stands))
    })
}

/// Whether some continuation of `text` makes a value stand at `from` that ends behind the text.
fn may_go_on(text: &[u8], from: usize, values: &[Vec<u8>], coded: &BTreeSet<Vec<u8>>) -> bool {
    let there = |text: &[u8], more: &[u8], from: usize| {
        let all = places(&[text, more].concat(), values);
        all.iter().any(|(_, start, end)| *start == from && *end > text.len())
    };
    // The short text first: there are thousands to try.
    let stands = |more: &[u8]| there(&text[from..], more, 0) && there(text, more, from);
    let fold = |b: &u8| {
        if *b == b'-' {
            b'+'
        } else if *b == b'_' {
            b'/'
        } else {
            *b
        }
    };
    let symbols =
        String::from_utf8_lossy(&text[from..]).replace("\\r", "").replace("\\n", "").replace(['\r', '\n'], "");
    let symbols: Vec<u8> = symbols.trim_end_matches('\\').bytes().map(|b| fold(&b)).collect();
    if coded.iter().any(|f| f.len() > symbols.len() && f.starts_with(&symbols)) {
        return true;
    }
    let tails = || values.iter().flat_map(|v| (0..v.len()).map(move |k| &v[k..]));
    let spelled = |v: &[u8]| v.iter().map(|b| format!("%{b:02x}")).collect::<String>();
    tails().any(|v| {
        stands(v) || [1, 2].iter().any(|i| stands(&spelled(v).as_bytes()[*i..])) || stands(spelled(v).as_bytes())
    }) || tails().any(|v| (1..hex(v, false).len()).any(|i| stands(&hex(v, false)[i..]) || stands(&hex(v, true)[i..])))
        || (1..=3)
            .any(|layers| tails().filter_map(|v| std::str::from_utf8(v).ok()).any(|v| ends_well(layers, v, &stands)))
}

/// Behind every byte of a text full of escapes: what is held may become a value.
#[test]
fn the_hold_within_escapes_is_the_least_one() {
    let mut seed = Seed(23);
    let mut inside = 0;
    for _ in 0..3 {
        let one = |seed: &mut Seed| -> Vec<u8> {
            let from = ['a', 'k', '"', '\\', '/', 'é', '\u{1f511}', '%', ' ', '\n', 'Q'];
            (0..4 + seed.below(3)).map(|_| from[seed.below(from.len())]).collect::<String>().into()
        };
        let values: Vec<Vec<u8>> =
            (0..1 + seed.below(2)).map(|_| one(&mut seed)).collect::<BTreeSet<_>>().into_iter().collect();
        let rules = set(&values, "tool-output");
        let coded: BTreeSet<Vec<u8>> = values.iter().flat_map(|v| readings(v)).flat_map(|v| base64_forms(&v)).collect();
        let mut text = Vec::new();
        while text.len() < 24 {
            let form = mixed(&values[seed.below(values.len())], &mut seed);
            let n = [form.len(), seed.below(form.len())][seed.below(2)];
            text.extend_from_slice(&form[..n]);
            (0..seed.below(3)).for_each(|_| text.push(pick(&mut seed, b"\\%u0dak .")));
        }
        let mut filter = StreamFilter::new(Arc::clone(&rules), TokenKey::new([1; 32]));
        let (mut scratch, mut out) = (Scratch::default(), Collected::default());
        for n in 1..=text.len() {
            filter.push(&text[n - 1..n], &mut scratch, &mut out).unwrap();
            let held = n - filter.held();
            inside += usize::from(held < n && matches!(text[n - 1], b'\\' | b'%' | b'u'));
            // What is decided may wait for what overlaps it.
            let waits = places(&text[..n], &values).iter().any(|(_, start, _)| *start == held);
            let good = held == n || waits || may_go_on(&text[..n], held, &values, &coded);
            assert!(good, "{held}..{n} is held of {:?}, values {:?}", String::from_utf8_lossy(&text[..n]), values);
        }
    }
    assert!(inside > 2, "{inside}");
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

/// In every encoding, at every place in base64, beside and inside other things: one value, one token.
#[test]
fn a_value_has_one_token_in_every_spelling() {
    let mut seed = Seed(31);
    for value in [&b"kZ81 l\"Q0/qpX7\n\xc3\xa9ffT2"[..], b"\x00\xffp7\x80zz\x01Q"] {
        let mut forms: Vec<Vec<u8>> = texts(value);
        forms.extend((0..60).map(|_| mixed(value, &mut seed)));
        forms.extend(readings(value).iter().flat_map(|v| base64_forms(v)));
        let rules = set(&[value], "tool-output");
        let tokens: BTreeSet<Vec<u8>> = forms
            .iter()
            .map(|form| {
                let got = run(&rules, &[b"; ", &form[..], b" ;"].concat(), &[4]).out.bytes;
                assert!(got.starts_with(b"; FBY_KEY0_") && got.ends_with(b" ;"), "{:?}", String::from_utf8_lossy(&got));
                got
            })
            .collect();
        assert_eq!(tokens.len(), 1, "{} spellings", forms.len());
    }
    let others = set(&[b"kZ81-lmQ0-qpX7", b"kZ81-lmQ0-qpX8"], "tool-output");
    let two = run(&others, b"kZ81-lmQ0-qpX7 kZ81-lmQ0-qpX8", &[]).out.bytes;
    let (one, other) = two.split_at(two.iter().position(|b| *b == b' ').unwrap());
    assert_ne!(&one[9..], &other[10..]);
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
