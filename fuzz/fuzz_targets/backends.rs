//! Hyperscan against the portable backend, on whole filters: after every push the same bytes are out, the same are held
//! and the same findings are told; and the reports are the same.
#![no_main]

use std::sync::{Arc, LazyLock};

use forebay_scan::{Backend, Collected, Pack, Profile, RuleSet, Scratch, StreamFilter, TokenKey};
use libfuzzer_sys::fuzz_target;

/// Rules of every kind that overlap each other, over few letters.
const HOSTILE: &str = include_str!("../hostile.toml");

/// The hostile pack and an eighth of the built-in rules, each on both backends. All of them would compile for most of a
/// short run; the test `backends` has them all.
static SETS: LazyLock<[[Arc<RuleSet>; 2]; 2]> = LazyLock::new(|| {
    let sources = Pack::builtin_sources().into_iter();
    let rules = sources.flat_map(|(n, _)| Pack::builtin(n).expect("built in").expect("it parses").rules);
    let builtin = vec![Pack::of("some", rules.step_by(8).collect())];
    let hostile = vec![Pack::parse(HOSTILE, "hostile.toml").expect("it parses")];
    let both = |packs: Vec<Pack>, profile| {
        let mut profile = Profile::builtin(profile).expect("built in");
        // It names rules that are not among these.
        profile.rules.clear();
        Backend::ALL.map(|b| RuleSet::compile_with(&packs, &profile, b).expect("it compiles"))
    };
    [both(hostile, "prompt"), both(builtin, "tool-output")]
});

fuzz_target!(|data: &[u8]| {
    let Some((head, mut text)) = data.split_first_chunk::<5>() else { return };
    let mut sides = SETS[usize::from(head[0] & 1)].each_ref().map(|set| {
        (StreamFilter::new(Arc::clone(set), TokenKey::new([1; 32])), Scratch::default(), Collected::default())
    });
    let mut steps = head[1..].iter().cycle();
    while !text.is_empty() {
        // Pushes of up to 64 KiB: some in one piece, some in several.
        let step = steps.next().map_or(1, |s| if *s < 240 { 1 + usize::from(*s) } else { usize::from(*s - 239) << 12 });
        let (piece, rest) = text.split_at(step.min(text.len()));
        text = rest;
        let [a, b] = sides.each_mut().map(|(filter, scratch, out)| {
            let blocked = filter.push(piece, scratch, out).err();
            (blocked, filter.held(), filter.received())
        });
        assert_eq!(a, b, "blocked, held, received");
        assert_eq!(sides[0].2, sides[1].2);
    }
    let [a, b] = sides.each_mut().map(|(filter, scratch, out)| filter.finish(scratch, out));
    assert_eq!(a, b);
    assert_eq!(sides[0].2, sides[1].2);
});
