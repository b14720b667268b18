//! S4: linear and bounded, whatever comes. Memory and hold are looked at after every push; time shows itself, because
//! the inputs are so large that anything worse than linear runs into the test runner's limit.

use std::sync::Arc;

use forebay_scan::pattern::{MAX_SPAN, Parts};
use forebay_scan::{Finding, RuleSet, RuleSpec, Scratch, Sink, StreamFilter, TokenKey, What, examples};
use forebay_tests::builtin::{packs, profile};
use forebay_tests::cuts::Seed;
use forebay_tests::{corpus, sample};

/// A live span, a full splice before it, and what overlaps both.
const MOST_HELD: usize = 3 * MAX_SPAN;
/// State of one stream under attack, in bytes: tens of thousands of live automata. An idle one is far below.
const MOST_MEMORY: usize = 4 << 20;

/// Counts what comes and keeps the last of it.
#[derive(Default)]
struct Last {
    tail: Vec<u8>,
    findings: u64,
}

impl Sink for Last {
    fn release(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        if self.tail.len() > 1 << 16 {
            self.tail.drain(..self.tail.len() - 4096);
        }
    }

    fn finding(&mut self, _: &Finding) {
        self.findings += 1;
    }
}

struct Run {
    filter: StreamFilter,
    scratch: Scratch,
    sink: Last,
    held: usize,
    memory: usize,
}

impl Run {
    fn new(set: &Arc<RuleSet>) -> Run {
        let filter = StreamFilter::new(Arc::clone(set), TokenKey::new([1; 32]));
        Run { filter, scratch: Scratch::default(), sink: Last::default(), held: 0, memory: 0 }
    }

    fn push(&mut self, bytes: &[u8], pieces: usize) {
        for piece in bytes.chunks(pieces) {
            self.filter.push(piece, &mut self.scratch, &mut self.sink).unwrap();
            self.held = self.held.max(self.filter.held());
            self.memory = self.memory.max(self.filter.memory());
            assert!(self.filter.held() <= MOST_HELD && self.filter.memory() <= MOST_MEMORY, "{}", self.filter.memory());
        }
    }

    /// The stream must still do its work.
    fn ends_well(mut self, what: &str) {
        let mail = corpus::planted(&mut Seed(3))[0].clone();
        let known = {
            let mut fresh = Run::new(self.filter.rules());
            fresh.push(format!("\n\n{mail}\n").as_bytes(), 64);
            fresh.filter.finish(&mut fresh.scratch, &mut fresh.sink);
            !String::from_utf8_lossy(&fresh.sink.tail).contains(&mail)
        };
        // Enough line breaks to end whatever is open, then a value.
        self.push(&b"\n".repeat(2 * MAX_SPAN), 1000);
        self.push(format!("{}\n", mail).as_bytes(), 7);
        self.push(&b"\n".repeat(300), 1000);
        self.filter.finish(&mut self.scratch, &mut self.sink);
        let end = String::from_utf8_lossy(&self.sink.tail[self.sink.tail.len().saturating_sub(2000)..]).into_owned();
        assert!(!known || !end.contains(&mail), "{what}: the value behind it passed: {end}");
    }
}

fn repeat(set: &Arc<RuleSet>, what: &str, unit: &[u8], bytes: usize) {
    if unit.is_empty() {
        return;
    }
    let text = unit.repeat(bytes.div_ceil(unit.len()));
    for pieces in [61, 16 << 10] {
        let mut run = Run::new(set);
        run.push(&text, pieces);
        run.ends_well(what);
    }
}

#[test]
fn ten_megabytes_of_one_letter() {
    let set = profile("tool-output");
    let mut run = Run::new(&set);
    run.push(&vec![b'a'; 10 << 20], 4096);
    eprintln!("held at most {}, memory at most {}", run.held, run.memory);
    run.ends_well("letters");
}

#[test]
fn digits_and_other_runs() {
    let set = profile("tool-output");
    let units: [&[u8]; 17] = [
        b"1",
        b"4111",
        b"1-",
        b"1.",
        b"12 ",
        b"A",
        b"aA1",
        b"@",
        b"a@",
        b"a@b.",
        b"://",
        b"{[",
        b"\"\\",
        b"```",
        b"<!--",
        b"-----",
        b"\xe6\x97",
    ];
    for unit in units {
        repeat(&set, &String::from_utf8_lossy(unit), unit, 1 << 20);
    }
}

/// Every rule's examples and draws, whole and one byte short, again and again.
#[test]
fn every_rule_again_and_again() {
    let set = profile("tool-output");
    let rules: Vec<RuleSpec> = packs().into_iter().flat_map(|p| p.rules).collect();
    for (n, rule) in rules.iter().enumerate() {
        let mut units = vec![sample::rule(rule, &mut Seed(n as u64)), sample::near(rule, &mut Seed(n as u64 + 1))];
        units.extend(rule.matches.first().and_then(|m| examples::expand(m).ok()).map(String::into_bytes));
        if let What::Pattern(p) | What::Region { begin: p, .. } = &rule.what
            && let Ok(parts) = Parts::of(p)
        {
            let mut key = Vec::new();
            sample::draw(&parts.pre, &mut Seed(1), &mut key);
            units.push(key);
        }
        for mut unit in units {
            unit.truncate(2000);
            let text = unit.repeat(12_000 / unit.len().max(1));
            let mut run = Run::new(&set);
            run.push(&text, 1021);
            unit.pop();
            run.push(&unit.repeat(12_000 / unit.len().max(1)), 1021);
            if !matches!(rule.what, What::Region { .. }) {
                run.ends_well(&rule.name);
            }
        }
    }
}

/// Random bytes drawn from all rules at once.
#[test]
fn a_storm_of_rules() {
    let set = profile("tool-output");
    let rules: Vec<RuleSpec> = packs().into_iter().flat_map(|p| p.rules).collect();
    let (mut run, mut seed) = (Run::new(&set), Seed(5));
    for _ in 0..4000 {
        let rule = &rules[seed.below(rules.len())];
        let piece = if seed.below(2) == 0 { sample::rule(rule, &mut seed) } else { sample::near(rule, &mut seed) };
        run.push(&piece, 1 + seed.below(400));
    }
    eprintln!("held at most {}, memory at most {}", run.held, run.memory);
}

#[test]
fn an_idle_stream_is_small() {
    for name in forebay_scan::Profile::BUILTIN {
        let filter = StreamFilter::new(profile(name), TokenKey::new([1; 32]));
        assert!(filter.memory() <= 4096, "{name}: {} bytes", filter.memory());
    }
}
