//! Exact values against a search by brute force: any values, any text, any partition. One push and many give the same; what
//! stands in the text by decoding all of it is found; and what is found beyond that is in base64.
#![no_main]

use std::collections::BTreeSet;
use std::sync::Arc;

use forebay_fuzz::cut;
use forebay_scan::{Collected, ExactValue, Pack, Profile, Report, RuleSet, Scratch, StreamFilter, TokenKey};
use libfuzzer_sys::fuzz_target;

#[path = "../../tests/src/spelled.rs"]
mod spelled;

fn run<'a>(set: &Arc<RuleSet>, pieces: impl Iterator<Item = &'a [u8]>) -> (Collected, Report) {
    let mut filter = StreamFilter::new(Arc::clone(set), TokenKey::new([1; 32]));
    let (mut scratch, mut out) = (Scratch::default(), Collected::default());
    for piece in pieces {
        let _ = filter.push(piece, &mut scratch, &mut out);
        assert!(filter.held() as u64 <= filter.received());
    }
    let report = filter.finish(&mut scratch, &mut out);
    (out, report)
}

/// Nothing but base64 symbols and what may break a line of them.
fn may_be_base64(span: &[u8]) -> bool {
    span.iter().all(|b| b.is_ascii_alphanumeric() || b"+/-_\r\n\\".contains(b))
}

// Four steps, then lengths and bytes of up to three values, then the text.
fuzz_target!(|data: &[u8]| {
    let Some((steps, mut text)) = data.split_first_chunk::<4>() else { return };
    let mut values: BTreeSet<Vec<u8>> = BTreeSet::new();
    for _ in 0..3 {
        let Some((length, rest)) = text.split_first() else { return };
        let (value, rest) = rest.split_at((usize::from(*length) % 24).min(rest.len()));
        text = rest;
        if value.len() >= 4 {
            values.insert(value.to_vec());
        }
    }
    let values: Vec<Vec<u8>> = values.into_iter().collect();
    let text = &text[..text.len().min(2048)];
    let named = |(i, v): (usize, &Vec<u8>)| ExactValue::new("f", &format!("K{i}"), &[v], "f:1").expect("a short value");
    let pack = Pack::exact(&values.iter().enumerate().map(named).collect::<Vec<_>>()).expect("few values");
    let set = RuleSet::compile(&[pack], &Profile::builtin("prompt").expect("built in")).expect("it compiles");
    let whole = run(&set, std::iter::once(text));
    assert_eq!(run(&set, cut(text, steps)), whole, "cut by {steps:?}");
    assert_eq!(run(&set, text.chunks(1)), whole, "byte by byte");
    let got: BTreeSet<spelled::Place> =
        whole.0.findings.iter().map(|f| (f.rule.0 as usize, f.span.start as usize, f.span.end as usize)).collect();
    let expected = spelled::places(text, &values);
    assert!(expected.is_subset(&got), "not found: {:?}", expected.difference(&got));
    for (which, start, end) in got.difference(&expected) {
        assert!(may_be_base64(&text[*start..*end]), "value {which} does not stand at {start}..{end}");
    }
});
