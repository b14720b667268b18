//! What `--stats` measures.
//!
//! Times are of the engine's calls alone (through the socket: until the daemon has answered the push), without reading
//! and writing, so that a slow producer does not look like a slow filter. `held` is sampled after every push.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Longest push time that is told apart, in ns (one minute); a longer one counts as this.
const MAX_NS: u64 = 60_000_000_000;
/// Largest hold that is told apart, in bytes; far above any rule's bound.
const MAX_HELD: u64 = 1 << 30;

pub(crate) struct Stats {
    bytes_in: u64,
    bytes_out: u64,
    pushes: u64,
    findings: u64,
    held_sum: u128,
    held: Histogram<u64>,
    push_ns: Histogram<u64>,
    total: Duration,
}

impl Stats {
    pub(crate) fn new() -> Self {
        // Three significant digits; the bounds are constants that the histogram accepts.
        let histogram = |max| Histogram::new_with_bounds(1, max, 3).expect("constant bounds are valid");
        Stats {
            bytes_in: 0,
            bytes_out: 0,
            pushes: 0,
            findings: 0,
            held_sum: 0,
            held: histogram(MAX_HELD),
            push_ns: histogram(MAX_NS),
            total: Duration::ZERO,
        }
    }

    /// One push of `bytes`, and what was held after it.
    pub(crate) fn push(&mut self, bytes: usize, took: Duration, held: u64) {
        self.bytes_in += bytes as u64;
        self.pushes += 1;
        self.total += took;
        self.push_ns.saturating_record(u64::try_from(took.as_nanos()).unwrap_or(MAX_NS));
        self.held_sum += u128::from(held);
        self.held.saturating_record(held);
    }

    /// The time of the last call.
    pub(crate) fn finish(&mut self, took: Duration) {
        self.total += took;
    }

    /// What came out.
    pub(crate) fn out(&mut self, bytes: usize, findings: u64) {
        self.bytes_out += bytes as u64;
        self.findings += findings;
    }

    /// The line. `mb_per_s` is 10⁶ bytes of input per second of engine time, 0 if there was none.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let seconds = self.total.as_secs_f64();
        let rate = if seconds > 0.0 { self.bytes_in as f64 / 1e6 / seconds } else { 0.0 };
        let mean = if self.pushes > 0 { self.held_sum as f64 / self.pushes as f64 } else { 0.0 };
        serde_json::json!({
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "pushes": self.pushes,
            "held_mean": round(mean),
            "held_p99": self.held.value_at_quantile(0.99),
            "held_max": self.held.max(),
            "findings": self.findings,
            "push_ns_p50": self.push_ns.value_at_quantile(0.5),
            "push_ns_p99": self.push_ns.value_at_quantile(0.99),
            "mb_per_s": round(rate),
        })
    }
}

fn round(x: f64) -> f64 {
    (x * 1000.0).round() / 1000.0
}
