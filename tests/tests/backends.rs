//! The backends of the candidate stage: which one a set has, and that it makes no difference.

use std::sync::Arc;

use forebay_scan::{Backend, Collected, Profile, RuleSet, Scratch, StreamFilter, TokenKey};
use forebay_tests::builtin;
use forebay_tests::cuts::Seed;

fn compile(backend: Backend) -> Result<Arc<RuleSet>, forebay_scan::LoadError> {
    RuleSet::compile_with(&builtin::packs(), &Profile::builtin("tool-output").expect("built in"), backend)
}

/// Without this, tests that are meant for Hyperscan could run on the other one and nobody would know.
#[test]
fn tests_run_on_the_backend_that_the_feature_names() {
    let meant = if cfg!(feature = "hyperscan") { Backend::Hyperscan } else { Backend::Portable };
    assert_eq!(builtin::profile("prompt").backend(), meant);
    assert_eq!(builtin::all(forebay_scan::Action::Flag).backend(), meant);
}

#[test]
fn a_backend_of_choice_is_used_or_is_an_error_that_says_how_to_get_it() {
    for backend in Backend::ALL {
        match compile(backend) {
            Ok(set) => assert_eq!((set.backend(), backend.is_built_in()), (backend, true)),
            Err(e) => {
                assert!(!backend.is_built_in());
                assert_eq!(
                    e.to_string(),
                    "built-in profile tool-output: the Hyperscan backend is not in this build; build with the feature \
                     `hyperscan` of forebay-scan (it needs libhs), or ask for `Backend::Portable`"
                );
            }
        }
    }
}

/// Bytes out, bytes held and findings, after each push.
fn steps(set: &Arc<RuleSet>, text: &[u8], cuts: &[usize]) -> Vec<(usize, usize, usize)> {
    let mut filter = StreamFilter::new(Arc::clone(set), TokenKey::new([1; 32]));
    let (mut scratch, mut out) = (Scratch::default(), Collected::default());
    let mut steps = Vec::new();
    let mut from = 0;
    for to in cuts.iter().copied().chain([text.len()]) {
        let _ = filter.push(&text[from..to], &mut scratch, &mut out);
        steps.push((out.bytes.len(), filter.held(), out.findings.len()));
        from = to;
    }
    steps
}

/// More sets in turn on one thread than it keeps scratch spaces for, threads that come and go, sets that go while
/// others stay: a space that met another database would crash or find something else.
#[test]
fn sets_in_turn_on_many_threads_find_what_each_one_finds_alone() {
    let texts: Vec<Vec<u8>> = builtin::texts().into_iter().map(|t| t.bytes).collect();
    let pack = |n: usize| {
        // Each set has its own literal.
        let toml = format!(
            "[pack]\nname = \"own\"\n[[rule]]\nid = \"own\"\nfamily = \"secret\"\ntitle = \"own\"\nseverity = \"high\"\n\
             pattern = '(?P<span>own{n}-[0-9]{{4}})'\n"
        );
        forebay_scan::Pack::parse(&toml, "own.toml").expect("it parses")
    };
    let profile = Profile::builtin("prompt").expect("built in");
    let make = |n| RuleSet::compile(&[pack(n)], &profile).expect("it compiles");
    let mut sets: Vec<Arc<RuleSet>> = (0..40).map(make).collect();
    let text: Vec<u8> = (0..60).flat_map(|n| format!("own{n}-1234 ").into_bytes()).collect();
    for round in 0..3 {
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    for set in sets.iter().chain(sets.iter().rev()) {
                        let outcome = forebay_tests::cuts::run(set, &text, &[5, 100, 101]);
                        assert_eq!(outcome.out.findings.len(), 1);
                        let quiet = forebay_tests::cuts::run(set, &texts[0], &[]);
                        assert_eq!((quiet.out.bytes == texts[0], quiet.out.findings.len()), (true, 0));
                    }
                });
            }
        });
        // Some go, others come: their databases may lie where those lay.
        sets.drain(..15);
        sets.extend((0..15).map(|n| make(40 + round * 5 + n % 5)));
    }
}

#[test]
fn both_backends_give_the_same_after_every_push() {
    if !Backend::Hyperscan.is_built_in() {
        // One backend, nothing to compare: `make test-hyperscan` runs this.
        return;
    }
    let sets = Backend::ALL.map(|b| compile(b).expect("it compiles"));
    let mut seed = Seed(11);
    let mut found = 0;
    for text in builtin::texts() {
        for mean in [1, 7, 64, 4096] {
            let cuts = seed.cuts(text.bytes.len(), mean);
            let [portable, hyperscan] = sets.each_ref().map(|set| steps(set, &text.bytes, &cuts));
            assert_eq!(portable, hyperscan, "{} by {mean}", text.name);
            let [portable, hyperscan] = sets.each_ref().map(|set| forebay_tests::cuts::run(set, &text.bytes, &cuts));
            assert_eq!(portable, hyperscan, "{} by {mean}", text.name);
            found += portable.out.findings.len();
        }
    }
    assert!(found > 100, "texts in which {found} things are found compare nothing");
}
