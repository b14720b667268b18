//! The structure tracker against serde_json: what serde_json takes as one object or array is whole, and what it calls
//! cut short is reported as open.
#![no_main]

use std::sync::{Arc, LazyLock};

use forebay_scan::{Collected, Pack, Profile, Report, RuleSet, Scratch, StreamFilter, TokenKey};
use libfuzzer_sys::fuzz_target;

static SET: LazyLock<Arc<RuleSet>> = LazyLock::new(|| {
    let mut pack = Pack::builtin("truncation").expect("built in").expect("it parses");
    pack.rules.retain(|r| r.name == "truncation.open-structure");
    RuleSet::compile(&[pack], &Profile::builtin("prompt").expect("built in")).expect("it compiles")
});

fn report(text: &[u8]) -> Report {
    let mut filter = StreamFilter::new(Arc::clone(&SET), TokenKey::new([1; 32]));
    let (mut scratch, mut out) = (Scratch::default(), Collected::default());
    let _ = filter.push(text, &mut scratch, &mut out);
    filter.finish(&mut scratch, &mut out)
}

fuzz_target!(|data: &[u8]| {
    let got = report(data);
    // Scalars and texts that begin otherwise are not taken for JSON; deep nesting has a bound of its own.
    if !matches!(data.first(), Some(b'{' | b'[')) || data.len() > 4096 {
        return;
    }
    let json = |code: &str| code.starts_with("open-json");
    if serde_json::from_slice::<serde_json::Value>(data).is_ok() {
        assert!(!got.reasons.iter().any(|r| json(&r.code)), "whole, but {got:?}");
    }
});
