//! One push against many, with all built-in rules and with a small hostile pack: bytes, findings and report must be
//! the same, and never more may be held than was received.
#![no_main]

use std::sync::{Arc, LazyLock};

use forebay_fuzz::cut;
use forebay_scan::{Collected, Pack, Profile, Report, RuleSet, Scratch, StreamFilter, TokenKey};
use libfuzzer_sys::fuzz_target;

/// Rules of every kind that overlap each other, over few letters.
const HOSTILE: &str = include_str!("../hostile.toml");

static SETS: LazyLock<Vec<Arc<RuleSet>>> = LazyLock::new(|| {
    let prompt = Profile::builtin("prompt").expect("built in");
    let hostile = Pack::parse(HOSTILE, "hostile.toml").expect("it parses");
    let builtin = |name| RuleSet::builtin(name).expect("built in").expect("it compiles");
    vec![RuleSet::compile(&[hostile], &prompt).expect("it compiles"), builtin("tool-output")]
});

fn run<'a>(set: &Arc<RuleSet>, pieces: impl Iterator<Item = &'a [u8]>) -> (Collected, Report) {
    let mut filter = StreamFilter::new(Arc::clone(set), TokenKey::new([1; 32]));
    let (mut scratch, mut out) = (Scratch::default(), Collected::default());
    for piece in pieces {
        if filter.push(piece, &mut scratch, &mut out).is_err() {
            break;
        }
        assert!(filter.held() as u64 <= filter.received());
    }
    let report = filter.finish(&mut scratch, &mut out);
    (out, report)
}

fuzz_target!(|data: &[u8]| {
    let Some((head, text)) = data.split_first_chunk::<5>() else { return };
    let set = &SETS[usize::from(head[0] & 1)];
    let whole = run(set, std::iter::once(text));
    assert_eq!(run(set, cut(text, &head[1..])), whole, "cut by {:?}", &head[1..]);
    assert_eq!(run(set, text.chunks(1)), whole, "byte by byte");
});
