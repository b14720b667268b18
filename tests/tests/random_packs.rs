//! Random rules on random texts, cut at random, against the oracles.
//!
//! Rules come from a small grammar that reaches every way of finding a rule (literal, inner literal, class run,
//! keyword, region) with guards, ends, checks, nearby words and actions mixed. The alphabet is tiny on purpose: so
//! matches, near misses and overlaps are the normal case. `PROPTEST_CASES=100000` makes a hunt of it.

use std::sync::Arc;

use forebay_scan::{
    Action, Cache, Collected, LoadError, Pack, Profile, RuleId, RuleSet, Scratch, StreamFilter, TokenKey, What,
};
use forebay_tests::cuts::{Seed, run};
use forebay_tests::hold::{HoldOracle, least};
use forebay_tests::model::{Acting, acting, check, pieces};
use forebay_tests::{Brute, sample, scan};
use proptest::prelude::*;

const GUARDS: &[&str] = &["", r"\b", "(?:^|[^a-z0-9])", "(?:^|[^0-9])", "(?:^|[ -])", "^", "[^a]", "(?:^|[^ab0-9.])?"];
const LITERALS: &[&str] = &["ab", "ab-", "ba", "bab", "(?i:ab-)", "(?:ab|babb)", "(?:a-|b-)", "aab", "(?:ab|ba|abb)-"];
const ITEMS: &[&str] = &[
    "[ab]",
    "[0-9]",
    "[a-c0-9]",
    "[01]",
    "[ab.]",
    "-",
    "(?:-| )?",
    "(?:ab|b)",
    "(?:ab|b|1)?",
    "(?u:[日é])",
    "日",
    r"\b",
    "(?:-[ab]{1,2}){0,2}",
    "[^a]",
    r"(?:\.[01]{1,2})",
    "[AB]",
];
const REPEATS: &[&str] = &["", "{1,3}", "{2,4}", "{0,2}", "{2}", "{3,6}", "?"];
const INNER: &[&str] = &["@", "=@", "::", "(?:@|::)", "@@", "(?:@-::=|::)"];
const NARROW: &[&str] = &["[0-9]", "[01]", "[AB]", "[ab]", "(?:1|0-)", "[0-9]-?"];
const KEYS: &[&str] = &["key", "ab", "(?i:key|ab-)", "(?:ab|abb)", "k:b"];
const GAPS: &[&str] = &["", "[ ]{0,2}[=:][ ]{0,2}", " ?", "(?:=|: )", "[ab]{0,3}:", "="];
const POSTS: &[&str] =
    &["", "", "(?:[^a-z0-9]|$)", r"\b", "$", "(?:[^0-9]|$)", "[ -]", "b", "(?:ab)?", "[ab]{0,3}[^ab]", r"\B"];
const TEXT: &[&str] = &[
    "a",
    "b",
    "0",
    "1",
    "-",
    "@",
    " ",
    "\n",
    "=",
    ":",
    ".",
    "A",
    "B",
    "日",
    "é",
    "\u{7f}",
    "ab-",
    "bab",
    "ab",
    "key",
    "k:b",
    "1-1",
    "0101",
    "abab",
    "::",
    "Key=",
    "ab: ",
    "79927398713",
    "abb",
    "c",
    "BEGIN",
    "END",
    "BEGINab",
];

#[derive(Clone, Debug)]
struct Rule {
    kind: usize,
    guard: usize,
    head: usize,
    gap: usize,
    items: Vec<(usize, usize)>,
    post: usize,
    extra: usize,
    action: usize,
    priority: u32,
}

fn pick(list: &'static [&'static str], at: usize) -> &'static str {
    list[at % list.len()]
}

impl Rule {
    fn body(&self) -> String {
        self.items.iter().map(|(i, r)| format!("(?:{}){}", pick(ITEMS, *i), pick(REPEATS, *r))).collect()
    }

    fn toml(&self, n: usize) -> String {
        let (guard, post, body) = (pick(GUARDS, self.guard), pick(POSTS, self.post), self.body());
        let what = match self.kind % 5 {
            0 => format!("pattern = '{guard}(?P<span>{}{body}){post}'", pick(LITERALS, self.head)),
            1 => {
                let split = self.items.len() / 2;
                let (mut a, mut b) = (self.clone(), self.clone());
                a.items.truncate(split.max(1));
                b.items.drain(..split);
                format!("pattern = '{guard}(?P<span>{}{}{}){post}'", a.body(), pick(INNER, self.head), b.body())
            }
            2 => format!("pattern = '{guard}(?P<span>{}{body}){post}'", pick(NARROW, self.head)),
            3 => format!("pattern = '{guard}{}{}(?P<span>{body}){post}'", pick(KEYS, self.head), pick(GAPS, self.gap)),
            _ => format!(
                "region = {{ begin = '{guard}(?P<span>BEGIN{body})', inside = '{}', end = '{}' }}",
                ["[ab0-9]", "[ab]{1,3}-", "(?s-u:.)", "[^E]|E[^N]"][self.gap % 4],
                ["END", "END[ab]?", "--", "END$"][self.post % 4],
            ),
        };
        let extra = match self.extra % 8 {
            0 => "checks = [\"luhn\"]",
            1 => "nearby = { words = [\"key\", \"ba\"], within = 5 }",
            2 => "unless = { words = [\"ab\"], within = 4 }",
            _ => "",
        };
        format!(
            "[[rule]]\nid = \"r{n}\"\nfamily = \"secret\"\ntitle = \"t\"\nseverity = \"low\"\npriority = {}\n\
             action = \"{}\"\n{what}\n{extra}\n",
            self.priority,
            self.action(),
        )
    }

    fn action(&self) -> &'static str {
        ["replace", "replace", "mask", "flag", "block"][self.action % 5]
    }
}

fn rule() -> impl Strategy<Value = Rule> {
    let big = 0usize..64;
    let items = prop::collection::vec((0usize..64, 0usize..64), 1..5);
    (0usize..5, big.clone(), big.clone(), big.clone(), items, big.clone(), big.clone(), big, 0u32..4).prop_map(
        |(kind, guard, head, gap, items, post, extra, action, priority)| Rule {
            kind,
            guard,
            head,
            gap,
            items,
            post,
            extra,
            action,
            priority,
        },
    )
}

/// A pack text and an input. Rules that the loader refuses are left out one by one, so that the rest is tried.
#[derive(Clone)]
struct Case {
    pack: Pack,
    toml: String,
    text: Vec<u8>,
    seed: u64,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}text = {:?}", self.toml, String::from_utf8_lossy(&self.text))
    }
}

fn load(rules: &[Rule], force: Option<&'static str>) -> (Pack, String) {
    let head = "[pack]\nname = \"t\"\n";
    let one = |toml: &str| -> Result<(), LoadError> {
        let pack = Pack::parse(&format!("{head}{toml}"), "t.toml")?;
        RuleSet::compile(&[pack], &Profile::builtin("tool-output").expect("built in")).map(drop)
    };
    let mut toml = head.to_owned();
    for (n, r) in rules.iter().enumerate() {
        let mut t = r.toml(n);
        if let Some(action) = force {
            t = t.replace(&format!("action = \"{}\"", r.action()), &format!("action = \"{action}\""));
        }
        if one(&t).is_ok() {
            toml.push_str(&t);
        }
    }
    (Pack::parse(&toml, "t.toml").expect("parsed before"), toml)
}

fn case(kinds: &'static [usize], force: Option<&'static str>) -> impl Strategy<Value = Case> {
    let text = prop::collection::vec((0usize..8, any::<u64>()), 0..16);
    (prop::collection::vec(rule(), 1..4), text, any::<u64>(), 0usize..64).prop_map(
        move |(mut rules, text, seed, broken)| {
            rules.iter_mut().for_each(|r| r.kind = kinds[r.kind % kinds.len()]);
            let (pack, toml) = load(&rules, force);
            let mut text: Vec<u8> = text.into_iter().flat_map(|(kind, n)| piece(&pack, kind, Seed(n))).collect();
            if broken < text.len() {
                text[broken] |= 0x80;
            }
            Case { pack, toml, text, seed }
        },
    )
}

/// A few bytes, something that a rule matches, or something that it nearly matches.
fn piece(pack: &Pack, kind: usize, mut seed: Seed) -> Vec<u8> {
    let rule = (!pack.rules.is_empty()).then(|| &pack.rules[seed.below(pack.rules.len())]);
    match (kind, rule) {
        (4 | 5, Some(r)) => sample::rule(r, &mut seed),
        (6 | 7, Some(r)) => sample::near(r, &mut seed),
        _ => pick(TEXT, seed.below(TEXT.len())).into(),
    }
}

fn compile(c: &Case) -> Arc<RuleSet> {
    RuleSet::compile(std::slice::from_ref(&c.pack), &Profile::builtin("tool-output").expect("built in"))
        .expect("compiles")
}

fn regions(c: &Case) -> Vec<RuleId> {
    let all = c.pack.rules.iter().enumerate();
    all.filter(|(_, r)| matches!(r.what, What::Region { .. })).map(|(i, _)| RuleId(i as u32)).collect()
}

fn brutes(c: &Case) -> Vec<(usize, Brute)> {
    let all = c.pack.rules.iter().enumerate();
    all.map(|(i, r)| (i, Brute::new(r).expect("builds").expect("a pattern"))).collect()
}

fn config(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(cases);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() }
}

const PATTERNS: &[usize] = &[0, 1, 2, 3];
const ALL: &[usize] = &[0, 1, 2, 3, 4];

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn findings_are_those_of_brute_force(c in case(PATTERNS, Some("flag"))) {
        let mut got: Vec<_> = run(&compile(&c), &c.text, &[]).out.findings.iter()
            .map(|f| (f.span.start as usize, f.span.end as usize, f.rule.0 as usize)).collect();
        got.sort_unstable();
        let want: Vec<_> = scan(&brutes(&c), &c.text).into_iter().map(|m| (m.start, m.end, m.rule)).collect();
        prop_assert_eq!(got, want);
    }

    #[test]
    fn output_is_what_the_spans_say(c in case(PATTERNS, None)) {
        let set = compile(&c);
        let spans: Vec<Acting> = scan(&brutes(&c), &c.text).into_iter()
            .map(|m| Acting { start: m.start, end: m.end, rule: RuleId(m.rule as u32) })
            .filter(|a| set.rule(a.rule).is_some_and(|r| r.action.acts())).collect();
        let got = run(&set, &c.text, &[]);
        if let Err(e) = check(&got.out.bytes, &pieces(&set, &regions(&c), &c.text, spans)) {
            return Err(TestCaseError::fail(format!("{e} in {:?}", String::from_utf8_lossy(&got.out.bytes))));
        }
    }

    #[test]
    fn no_cut_changes_anything(c in case(ALL, None)) {
        let set = compile(&c);
        let whole = run(&set, &c.text, &[]);
        let n = c.text.len();
        let by_bytes: Vec<usize> = (1..n).collect();
        prop_assert_eq!(&run(&set, &c.text, &by_bytes), &whole, "by bytes");
        for cut in 1..n {
            prop_assert_eq!(&run(&set, &c.text, &[cut]), &whole, "cut {}", cut);
        }
        for mean in [1, 2, 3, 5, 9] {
            let cuts = Seed(c.seed).cuts(n, mean);
            prop_assert_eq!(&run(&set, &c.text, &cuts), &whole, "cuts {:?}", cuts);
        }
        if c.pack.rules.iter().all(|r| r.action != Some(Action::Block)) {
            let spans = acting(&whole.out.findings);
            if let Err(e) = check(&whole.out.bytes, &pieces(&set, &regions(&c), &c.text, spans)) {
                return Err(TestCaseError::fail(format!("{e} in {:?}", String::from_utf8_lossy(&whole.out.bytes))));
            }
        }
    }

    /// Less than the oracle would be a leak; more is a delay that nobody needs.
    #[test]
    fn the_hold_is_the_least(c in case(PATTERNS, Some("replace"))) {
        let mut oracle: Vec<HoldOracle> =
            c.pack.rules.iter().map(|r| HoldOracle::new(r).expect("builds").expect("a pattern")).collect();
        // A rule that can never match (`0\b1`) is held for by its literal; the oracle knows better, and nobody writes one.
        if c.toml.contains(r"(?:\b)") {
            return Ok(());
        }
        let want = least(&mut oracle, &c.text);
        let mut filter = StreamFilter::new(compile(&c), TokenKey::new([1; 32]));
        let (mut scratch, mut out) = (Scratch::default(), Collected::default());
        for (i, b) in c.text.iter().enumerate() {
            prop_assert!(filter.push(&[*b], &mut scratch, &mut out).is_ok());
            let got = filter.held();
            prop_assert!(
                got == want[i + 1],
                "held {} and not {} after {:?}", got, want[i + 1], String::from_utf8_lossy(&c.text[..=i])
            );
        }
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn a_cache_changes_nothing(c in case(ALL, None)) {
        let (packs, profile) = ([c.pack.clone()], Profile::builtin("tool-output").expect("built in"));
        let mut cache = Cache::default();
        let fresh = RuleSet::compile_cached(&packs, &profile, forebay_scan::Backend::default(), &mut cache).expect("compiles");
        let mut cache = Cache::from_bytes(&cache.to_bytes()).expect("its own bytes");
        let cached = RuleSet::compile_cached(&packs, &profile, forebay_scan::Backend::default(), &mut cache).expect("compiles");
        prop_assert!(!cache.is_fresh());
        prop_assert_eq!(fresh.fingerprint(), cached.fingerprint());
        let cuts: Vec<usize> = (1..c.text.len()).collect();
        prop_assert_eq!(run(&fresh, &c.text, &cuts), run(&cached, &c.text, &cuts));
    }
}

/// The grammar must reach what it is for: most rules load, and most packs find something.
#[test]
fn the_grammar_is_worth_its_time() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut loaded, mut wanted, mut found, mut kinds) = (0, 0, 0, [0; 5]);
    for _ in 0..300 {
        let rules = prop::collection::vec(rule(), 3).new_tree(&mut runner).expect("a value").current();
        wanted += 3;
        let (pack, _) = load(&rules, None);
        loaded += pack.rules.len();
        pack.rules.iter().for_each(|r| kinds[usize::from(matches!(r.what, What::Region { .. }))] += 1);
        let c = case(ALL, None).new_tree(&mut runner).expect("a value").current();
        found += usize::from(!run(&compile(&c), &c.text, &[]).out.findings.is_empty());
    }
    eprintln!(
        "{loaded} of {wanted} rules load ({} patterns, {} regions), {found} of 300 packs find something",
        kinds[0], kinds[1]
    );
    assert!(loaded * 2 > wanted && found > 150);
}
