//! Arbitrary bytes as the body of a rule cache, with the length and the hash that belong to them, so that the parser
//! behind them is reached: an error or a cache, never a panic; and rules that load with that cache can filter.
#![no_main]

use std::sync::{Arc, LazyLock};

use forebay_scan::{Backend, Cache, Collected, Pack, Profile, RuleSet, Scratch, StreamFilter, TokenKey};
use libfuzzer_sys::fuzz_target;

/// Rules of every kind that overlap each other, over few letters.
const HOSTILE: &str = include_str!("../hostile.toml");
const MAGIC: &[u8; 8] = b"FBYCACHE";
/// Magic, length, hash.
const HEADER: usize = 8 + 8 + 32;

static PACK: LazyLock<(Vec<Pack>, Profile)> = LazyLock::new(|| {
    (vec![Pack::parse(HOSTILE, "hostile.toml").expect("it parses")], Profile::builtin("prompt").expect("built in"))
});

/// The body of a cache of the hostile pack, as this engine writes it.
static BODY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut cache = Cache::default();
    RuleSet::compile_cached(&PACK.0, &PACK.1, Backend::Portable, &mut cache).expect("it compiles");
    cache.to_bytes()[HEADER..].to_vec()
});

// The first byte says how the rest is meant: as a whole body behind this engine's name, or as changes of a good body, each
// an offset (three bytes) and a byte.
fuzz_target!(|data: &[u8]| {
    let Some((kind, data)) = data.split_first() else { return };
    // postcard: the name's length, one byte, and the name.
    let name = 1 + usize::from(BODY[0]);
    let mut body;
    if kind & 1 == 0 {
        body = BODY[..name].to_vec();
        body.extend_from_slice(data);
    } else {
        body = BODY.clone();
        for change in data.chunks_exact(4) {
            let at = usize::from(change[0]) << 16 | usize::from(change[1]) << 8 | usize::from(change[2]);
            let at = name + at % (body.len() - name);
            body[at] = change[3];
        }
        if kind & 2 != 0 {
            body.truncate(body.len() - data.len().min(body.len() - name));
        }
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(blake3::hash(&body).as_bytes());
    bytes.extend_from_slice(&body);
    let Ok(mut cache) = Cache::from_bytes(&bytes) else { return };
    let Ok(set) = RuleSet::compile_cached(&PACK.0, &PACK.1, Backend::Portable, &mut cache) else { return };
    let mut filter = StreamFilter::new(Arc::clone(&set), TokenKey::new([1; 32]));
    let (mut scratch, mut out) = (Scratch::default(), Collected::default());
    let _ = filter.push(data, &mut scratch, &mut out);
    filter.finish(&mut scratch, &mut out);
});
