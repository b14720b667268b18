//! How long one push of 40 bytes takes, as a percentile over every push of a text. The time of asking the clock twice
//! is in the numbers, and told.

use std::time::Instant;

use anyhow::Result;
use forebay_scan::Scratch;
use hdrhistogram::Histogram;

use super::Context;
use crate::engine::Count;
use crate::rounds::{median, part};
use crate::rows::{Asked, Row};

/// The section's name.
pub const NAME: &str = "latency";

const PUSH: usize = 40;

/// Measures.
pub fn rows(c: &Context) -> Result<Vec<Row>> {
    let clock = clock()?;
    let mut rounds: Vec<[Vec<f64>; 2]> = vec![Default::default(); c.texts.len()];
    for round in 0..c.rounds(12) {
        for (text, [p50, p99]) in c.texts.iter().zip(&mut rounds) {
            let h = pushes(c, part(&text.bytes, 1 << 20, round))?;
            p50.push(h.value_at_quantile(0.5) as f64 / 1e3);
            p99.push(h.value_at_quantile(0.99) as f64 / 1e3);
        }
    }
    let mut rows = Vec::new();
    for (i, (which, most)) in [("p50", 0.6), ("p99", 4.0)].into_iter().enumerate() {
        for (text, round) in c.texts.iter().zip(&rounds) {
            let best = round[i].iter().copied().fold(f64::INFINITY, f64::min);
            let row =
                Row::new(NAME, format!("{}, one push of {PUSH} bytes, {which}", text.name), median(&round[i]), "µs");
            rows.push(row.best(best).asked(Asked::AtMost(most)).note(format!("{clock:.0} ns of it are the clock")));
        }
    }
    Ok(rows)
}

fn pushes(c: &Context, text: &[u8]) -> Result<Histogram<u64>> {
    let mut h = Histogram::new_with_bounds(1, 60_000_000_000, 3)?;
    let (mut filter, mut scratch, mut sink) = (c.engine.stream(), Scratch::default(), Count::default());
    for piece in text.chunks(PUSH) {
        let began = Instant::now();
        let _ = filter.push(piece, &mut scratch, &mut sink);
        h.saturating_record(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
    }
    Ok(h)
}

/// Median time between two looks at the clock, in ns.
fn clock() -> Result<f64> {
    let mut h: Histogram<u64> = Histogram::new_with_bounds(1, 1_000_000_000, 3)?;
    for _ in 0..100_000 {
        let began = Instant::now();
        h.saturating_record(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
    }
    Ok(h.value_at_quantile(0.5) as f64)
}
