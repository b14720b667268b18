//! A stored cache of compiled rules: it changes nothing but the time, and no bytes in it can do harm.

use std::fmt::Write as _;
use std::sync::Arc;

use forebay_scan::{Cache, CacheError, ExactValue, Pack, Profile, RuleSet};
use forebay_tests::cuts::{Outcome, Seed, run};
use forebay_tests::sample;

/// Every way of finding a rule, an end, words, a region.
const PACK: &str = r#"
[pack]
name = "t"

[[rule]]
id = "literal"
family = "secret"
title = "Begins with a literal"
pattern = '(?:^|[^a-z0-9])(?P<span>tok-[a-z0-9]{4,8})(?:[^a-z0-9]|$)'
severity = "high"

[[rule]]
id = "inner"
family = "pii"
title = "Around a literal"
pattern = '(?:^|[^a-z.])(?P<span>[a-z.]{1,8}@[a-z]{2,8})(?:[^a-z]|$)'
severity = "low"

[[rule]]
id = "class"
family = "pii"
title = "Digits"
pattern = '(?:^|[^0-9])(?P<span>[0-9]{4}-?[0-9]{4})(?:[^0-9]|$)'
severity = "low"

[[rule]]
id = "word"
family = "pii"
title = "Digits behind a word"
pattern = '(?:^|[^0-9])(?P<span>[0-9]{6})(?:[^0-9]|$)'
nearby = { words = ["<pin>"], within = 32 }
severity = "low"

[[rule]]
id = "keyed"
family = "secret"
title = "Behind a keyword"
pattern = '(?:^|[^a-z])(?i:secret)[ ]{0,2}=[ ]{0,2}(?P<span>[a-z0-9]{4,12})(?:[^a-z0-9]|$)'
severity = "high"

[[rule]]
id = "block"
family = "secret"
title = "A region"
region = { begin = '(?P<span>BEGIN-[A-Z]{1,4};)', inside = '[a-z0-9\n]', end = 'END' }
severity = "high"
"#;

fn pack(text: &str) -> Vec<Pack> {
    vec![Pack::parse(text, "t.toml").expect("parses")]
}

fn profile() -> Profile {
    Profile::builtin("tool-output").expect("built in")
}

fn compile(packs: &[Pack], cache: &mut Cache) -> Arc<RuleSet> {
    RuleSet::compile_cached(packs, &profile(), forebay_scan::Backend::default(), cache).expect("compiles")
}

/// The bytes that a run leaves behind.
fn stored(packs: &[Pack]) -> Vec<u8> {
    let mut cache = Cache::default();
    compile(packs, &mut cache);
    cache.to_bytes()
}

/// Text in which every rule of `packs` is found, and nearly found.
fn text(packs: &[Pack]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut seed = Seed(7);
    for rule in packs.iter().flat_map(|p| &p.rules) {
        out.extend(sample::rule(rule, &mut seed));
        out.extend_from_slice(b"\npin: ");
        out.extend(sample::near(rule, &mut seed));
        out.push(b' ');
    }
    out
}

fn outcome(rules: &Arc<RuleSet>, text: &[u8]) -> Outcome {
    let cuts: Vec<usize> = (0..text.len()).step_by(61).skip(1).collect();
    run(rules, text, &cuts)
}

#[test]
fn the_built_in_packs_find_the_same_from_a_cache() {
    let packs = Pack::all_builtin().expect("parse");
    let mut cache = Cache::default();
    let fresh = compile(&packs, &mut cache);
    let mut cache = Cache::from_bytes(&cache.to_bytes()).expect("its own bytes");
    let cached = compile(&packs, &mut cache);
    assert!(!cache.is_fresh(), "everything was in the cache");
    assert_eq!(fresh.fingerprint(), cached.fingerprint());
    let text = text(&packs);
    let got = outcome(&cached, &text);
    assert!(got.out.findings.len() > 800, "{} findings", got.out.findings.len());
    assert!(got == outcome(&fresh, &text));
    // Another profile uses the same plans and automata.
    let prompt = Profile::builtin("prompt").expect("built in");
    RuleSet::compile_cached(&packs, &prompt, forebay_scan::Backend::default(), &mut cache).expect("compiles");
    assert!(!cache.is_fresh());
}

#[test]
fn damaged_bytes_are_refused() {
    let bytes = stored(&pack(PACK));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(Cache::from_bytes(&damaged).is_err(), "byte {at} of {}", bytes.len());
        assert!(Cache::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
    }
    let longer = [bytes.as_slice(), b"x"].concat();
    assert_eq!(Cache::from_bytes(&longer).err(), Some(CacheError::Damaged));
    assert_eq!(Cache::from_bytes(b"").err(), Some(CacheError::Foreign));
}

/// Where the part behind magic, length and hash begins.
const BODY: usize = 48;

/// The same with a length and a hash that fit.
fn forged(mut bytes: Vec<u8>) -> Vec<u8> {
    let hash = blake3::hash(&bytes[BODY..]);
    let length = (bytes.len() - BODY) as u64;
    bytes[8..16].copy_from_slice(&length.to_le_bytes());
    bytes[16..BODY].copy_from_slice(hash.as_bytes());
    bytes
}

/// Whoever forges the hash too can change what is found, and nothing worse.
#[test]
fn forged_bytes_never_panic() {
    let packs = pack(PACK);
    let (bytes, text) = (stored(&packs), text(&packs));
    let (mut refused, mut taken) = (0, 0);
    // Every byte of plans and buckets, and enough of the tables.
    for at in (BODY..bytes.len()).filter(|at| *at < 6000 || at % 7 == 0) {
        let mut changed = bytes.clone();
        changed[at] = changed[at].wrapping_add([1, 0x80, 0xff, 0x11][at % 4]);
        match Cache::from_bytes(&forged(changed)) {
            Err(_) => refused += 1,
            Ok(mut cache) => {
                taken += 1;
                if let Ok(rules) =
                    RuleSet::compile_cached(&packs, &profile(), forebay_scan::Backend::default(), &mut cache)
                {
                    outcome(&rules, &text);
                }
            }
        }
    }
    assert!(refused > 500 && taken > 500, "{refused} refused, {taken} taken");
}

#[test]
fn another_versions_cache_is_not_used() {
    let mut bytes = stored(&pack(PACK));
    // The version stands first, behind its length.
    assert!(bytes[BODY + 1].is_ascii_digit());
    bytes[BODY + 1] = b'9';
    assert_eq!(Cache::from_bytes(&forged(bytes)).err(), Some(CacheError::OtherVersion));
}

#[test]
fn other_rules_are_worked_out_anew() {
    let changed = pack(&PACK.replace("tok-[a-z0-9]{4,8}", "tok-[a-z]{3,8}").replace("[0-9]{6}", "[0-9]{5}"));
    let mut cache = Cache::from_bytes(&stored(&pack(PACK))).expect("its own bytes");
    let rules = compile(&changed, &mut cache);
    assert!(cache.is_fresh());
    let text = [text(&changed), text(&pack(PACK))].concat();
    assert_eq!(outcome(&rules, &text), outcome(&compile(&changed, &mut Cache::default()), &text));
    // What only the old rules needed is gone.
    assert_eq!(cache.to_bytes(), stored(&changed));
}

fn value_of(text: &str) -> ExactValue {
    ExactValue::new("label", "key", &[text.as_bytes()], "here").expect("a good value")
}

#[test]
fn exact_values_are_not_in_it() {
    let value = "Zq7-exactly-this-one-41";
    let exact = Pack::exact(&[value_of(value)]).expect("a value");
    let packs = [pack(PACK), vec![exact]].concat();
    assert_eq!(stored(&packs), stored(&pack(PACK)));
    let mut cache = Cache::from_bytes(&stored(&packs)).expect("its own bytes");
    let got = outcome(&compile(&packs, &mut cache), format!("say {value} here").as_bytes());
    assert_eq!(got.out.findings.len(), 1);
}

/// An automaton that explodes is an error that names the rule and what to do.
#[test]
fn what_explodes_is_named() {
    let mut text = PACK.to_owned();
    let _ = write!(
        text,
        "[[rule]]\nid = \"huge\"\nfamily = \"pii\"\ntitle = \"Huge\"\nseverity = \"low\"\n\
         pattern = '(?:^|[^0-9])(?P<span>[0-9](?:[0-9]{{0,3}}[13579][0-9]{{18}}|[0-9]{{0,3}}[02468][0-9]{{19}}){{1,4}})[^0-9]'\n"
    );
    let error = RuleSet::compile(&pack(&text), &profile()).expect_err("explodes").to_string();
    assert!(error.contains("rule `pii.huge`") && error.contains("shorten its counted repeats"), "{error}");
}
