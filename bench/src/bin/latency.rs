//! The budgets of the stream engine, measured in one run on one machine, with what they are measured against.
//!
//! `latency [--json] [--quick]`. All built-in packs, profile `tool-output`. A miss is printed as a miss; the exit
//! status is 0 either way, because a noisy neighbour is not a fault of the code.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_bench as corpus;
use forebay_scan::{Finding, RuleSet, Scratch, Sink, StreamFilter, TokenKey};
use hdrhistogram::Histogram;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Counts what is released, so that nothing is optimised away.
#[derive(Default)]
struct Count {
    bytes: usize,
    findings: usize,
}

impl Sink for Count {
    fn release(&mut self, bytes: &[u8]) {
        self.bytes += black_box(bytes).len();
    }

    fn finding(&mut self, _: &Finding) {
        self.findings += 1;
    }
}

struct Row {
    what: String,
    asked: String,
    measured: String,
    holds: Option<bool>,
}

fn stream(rules: &Arc<RuleSet>) -> StreamFilter {
    StreamFilter::new(Arc::clone(rules), TokenKey::new([0; 32]))
}

/// Time to push `text` in pieces of `size`.
fn push_all(rules: &Arc<RuleSet>, text: &[u8], size: usize) -> (Duration, usize) {
    let (mut f, mut scratch, mut sink) = (stream(rules), Scratch::default(), Count::default());
    let t = Instant::now();
    for piece in text.chunks(size) {
        let _ = f.push(piece, &mut scratch, &mut sink);
    }
    f.finish(&mut scratch, &mut sink);
    (t.elapsed(), sink.findings)
}

fn median(mut f: impl FnMut() -> Duration, rounds: usize) -> Duration {
    let mut all: Vec<Duration> = (0..rounds).map(|_| f()).collect();
    all.sort();
    all[all.len() / 2]
}

fn mb_per_s(bytes: usize, d: Duration) -> f64 {
    bytes as f64 / 1e6 / d.as_secs_f64()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let quick = args.iter().any(|a| a == "--quick");
    let rules = match RuleSet::builtin("tool-output") {
        Some(Ok(r)) => r,
        Some(Err(e)) => return eprintln!("latency: {e}"),
        None => return,
    };
    rules.warm();
    let mut rows = Vec::new();
    throughput(&rules, quick, &mut rows);
    one_push(&rules, quick, &mut rows);
    linear(&rules, quick, &mut rows);
    memory(&rules, &mut rows);
    if args.iter().any(|a| a == "--json") {
        for r in &rows {
            println!(
                "{}",
                serde_json::json!({"what": r.what, "asked": r.asked, "measured": r.measured, "holds": r.holds})
            );
        }
        return;
    }
    println!("{} rules, {} KiB of automata\n", rules.rules().len(), rules.automata_bytes() >> 10);
    for r in &rows {
        let verdict = match r.holds {
            Some(true) => "holds",
            Some(false) => "MISSED",
            None => "",
        };
        println!("{:<58} {:<16} {:<34} {verdict}", r.what, r.asked, r.measured);
    }
}

fn throughput(rules: &Arc<RuleSet>, quick: bool, rows: &mut Vec<Row>) {
    let n = if quick { 1 << 20 } else { 8 << 20 };
    let texts: [(&str, Vec<u8>); 6] = [
        ("source", corpus::source(n)),
        ("prose", corpus::prose(n)),
        ("chinese", corpus::chinese(n)),
        ("one-line JSON", corpus::json_line(n)),
        ("logs", corpus::logs(n)),
        ("base64", corpus::base64(n)),
    ];
    for (name, text) in &texts {
        let copy = median(
            || {
                let t = Instant::now();
                black_box(black_box(text).to_vec());
                t.elapsed()
            },
            5,
        );
        for size in [16 << 10, 64, 4] {
            let took = median(|| push_all(rules, text, size).0, if quick { 1 } else { 3 });
            let speed = mb_per_s(text.len(), took);
            let asked = *name == "source" && size == 64;
            rows.push(Row {
                what: format!("{name}, {size}-byte pushes"),
                asked: if asked { ">= 50 MB/s".into() } else { String::new() },
                measured: format!("{speed:.0} MB/s, 1/{:.0} of a copy", took.as_secs_f64() / copy.as_secs_f64()),
                holds: asked.then_some(speed >= 50.0),
            });
        }
    }
}

fn one_push(rules: &Arc<RuleSet>, quick: bool, rows: &mut Vec<Row>) {
    let text = corpus::source(if quick { 1 << 20 } else { 8 << 20 });
    let Ok(mut h) = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3) else { return };
    let (mut f, mut scratch, mut sink) = (stream(rules), Scratch::default(), Count::default());
    for piece in text.chunks(40) {
        let t = Instant::now();
        let _ = f.push(piece, &mut scratch, &mut sink);
        h.saturating_record(t.elapsed().as_nanos() as u64);
    }
    let (p50, p99) = (h.value_at_quantile(0.5), h.value_at_quantile(0.99));
    rows.push(Row {
        what: "one 40-byte push of source".into(),
        asked: "p50 <= 2 us".into(),
        measured: format!("p50 {p50} ns, p99 {p99} ns, p99.9 {} ns", h.value_at_quantile(0.999)),
        holds: Some(p50 <= 2000),
    });
}

fn linear(rules: &Arc<RuleSet>, quick: bool, rows: &mut Vec<Row>) {
    let top = if quick { 8 } else { 64 };
    for (name, make) in [("chinese", corpus::chinese as fn(usize) -> Vec<u8>), ("one-line JSON", corpus::json_line)] {
        let text = make(top << 20);
        let (mut n, mut last, mut worst) = (1, None::<f64>, 0f64);
        while n <= top {
            let took = median(|| push_all(rules, &text[..n << 20], 4).0, 3).as_secs_f64();
            if let Some(before) = last {
                worst = worst.max(took / before);
            }
            last = Some(took);
            n *= 2;
        }
        rows.push(Row {
            what: format!("{name}, 1 to {top} MiB in 4-byte pushes, worst doubling"),
            asked: "<= 2.2x".into(),
            measured: format!("{worst:.2}x"),
            holds: Some(worst <= 2.2),
        });
    }
}

fn memory(rules: &Arc<RuleSet>, rows: &mut Vec<Row>) {
    for (name, text) in [("new", Vec::new()), ("after 64 KiB of source", corpus::source(64 << 10))] {
        let (mut f, mut scratch, mut sink) = (stream(rules), Scratch::default(), Count::default());
        for piece in text.chunks(64) {
            let _ = f.push(piece, &mut scratch, &mut sink);
        }
        rows.push(Row {
            what: format!("an idle stream, {name}"),
            asked: "<= 4096 bytes".into(),
            measured: format!("{} bytes", f.memory()),
            holds: Some(f.memory() <= 4096),
        });
    }
}
