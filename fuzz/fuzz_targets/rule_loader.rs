//! Arbitrary bytes as a pack and as a profile: an error or a rule set, never a panic, never a rule that explodes (the
//! fuzzer's own limits on time and memory find those), and a rule set that loads can filter.
#![no_main]

use std::sync::Arc;

use forebay_scan::{Collected, Pack, Profile, RuleSet, Scratch, StreamFilter, TokenKey};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let _ = Profile::parse(&text, "fuzz.toml");
    let Ok(pack) = Pack::parse(&text, "fuzz.toml") else { return };
    let Some(profile) = Profile::builtin("prompt") else { return };
    let Ok(set) = RuleSet::compile(&[pack], &profile) else { return };
    let mut filter = StreamFilter::new(Arc::clone(&set), TokenKey::new([1; 32]));
    let (mut scratch, mut out) = (Scratch::default(), Collected::default());
    let _ = filter.push(data, &mut scratch, &mut out);
    filter.finish(&mut scratch, &mut out);
});
