//! Two threads against one, more rules against fewer, ten thousand streams against one.

use std::time::{Duration, Instant};

use anyhow::Result;
use forebay_scan::{Scratch, StreamFilter};

use super::Context;
use crate::engine::{Count, Engine};
use crate::rounds::{Case, CpuTime, Sample, interleave, part};
use crate::rows::{Asked, Row};

/// The section's name.
pub const NAME: &str = "scaling";

const STREAMS: usize = 10_000;
/// Bytes that a round pushes through all streams together.
const ROUND: usize = 8 << 20;

/// Measures.
pub fn rows(c: &Context) -> Result<Vec<Row>> {
    let mut rows = threads(c)?;
    rows.extend(rules(c)?);
    rows.extend(streams(c)?);
    Ok(rows)
}

fn threads(c: &Context) -> Result<Vec<Row>> {
    let text = c.text("source")?;
    let mut rows = Vec::new();
    for size in [16 << 10, 64] {
        let mut cases = vec![
            // By the clock on the wall, both: only that sees whether the second thread waits for the first.
            Case::new("one", |_| {
                let began = Instant::now();
                c.engine.push_all(text, size);
                Sample::whole(text.len(), began.elapsed())
            }),
            Case::new("two", |_| {
                let began = Instant::now();
                two(c, text, size);
                Sample::whole(2 * text.len(), began.elapsed())
            }),
            // And by what each thread worked: a busy neighbour does not count, a cache that both fight for does.
            Case::new("one, worked", |_| c.engine.push_all(text, size)),
            Case::new("two, worked", |_| {
                let worked: Duration = two(c, text, size).iter().map(|s| s.time).sum();
                Sample::whole(2 * text.len(), worked / 2)
            }),
        ];
        let s = interleave(&mut cases, c.rounds(9));
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        rows.push(
            Row::new(NAME, format!("2 threads against 1, source, pushes of {size} bytes"), s[1].times(&s[0]), "×")
                .best(s[1].times_at_best(&s[0]))
                .asked(Asked::AtLeast(1.8))
                .note(format!("{cores} cores")),
        );
        rows.push(
            Row::new(
                NAME,
                format!("2 threads against 1, source, pushes of {size} bytes, by processor time"),
                s[3].times(&s[2]),
                "×",
            )
            .best(s[3].times_at_best(&s[2])),
        );
    }
    Ok(rows)
}

/// Two threads, each with a stream of its own.
fn two(c: &Context, text: &[u8], size: usize) -> Vec<Sample> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| c.engine.push_all(text, size))).collect();
        threads.into_iter().filter_map(|t| t.join().ok()).collect()
    })
}

fn rules(c: &Context) -> Result<Vec<Row>> {
    let (few, some) = (c.engine.some(50)?, c.engine.some(500)?);
    let mut rows = Vec::new();
    for name in ["source", "prose"] {
        let text = c.text(name)?;
        for size in [16 << 10, 64] {
            let engine = |e: &Engine, round| e.push_all(part(text, 4 << 20, round), size);
            let mut cases = vec![
                Case::new("50", |round| engine(&few, round)),
                Case::new("500", |round| engine(&some, round)),
                Case::new("all", |round| engine(&c.engine, round)),
            ];
            let s = interleave(&mut cases, c.rounds(9));
            let what = format!("{name}, pushes of {size} bytes");
            rows.push(
                Row::new(NAME, format!("500 rules against 50, {what}: times slower"), s[0].times(&s[1]), "×")
                    .best(s[0].times_at_best(&s[1]))
                    .asked(Asked::AtMost(2.0))
                    .note(format!("{:.0} and {:.0} MB/s", s[0].median(), s[1].median())),
            );
            let all = c.engine.rules.rules().len();
            rows.push(
                Row::new(NAME, format!("all {all} rules against 500, {what}: times slower"), s[1].times(&s[2]), "×")
                    .best(s[1].times_at_best(&s[2]))
                    .note(format!("{:.0} MB/s", s[2].median())),
            );
        }
    }
    Ok(rows)
}

fn streams(c: &Context) -> Result<Vec<Row>> {
    let text = c.text("source")?;
    let mut rows = Vec::new();
    for size in [64, 1024] {
        let mut many: Vec<StreamFilter> = (0..STREAMS).map(|_| c.engine.stream()).collect();
        let mut at = 0;
        let mut cases = vec![
            Case::new("one", |_| c.engine.push_all(&text[..ROUND.min(text.len())], size)),
            Case::new("many", |_| {
                // Every stream has its own place in the text and reads on from there, push by push.
                let (mut scratch, mut sink) = (Scratch::default(), Count::default());
                let pushes = (ROUND / size / STREAMS).max(1);
                let began = CpuTime::now();
                for push in 0..pushes {
                    for (i, stream) in many.iter_mut().enumerate() {
                        let from = (i * 7919 * size + (at + push) * size) % (text.len() - size);
                        let _ = stream.push(&text[from..from + size], &mut scratch, &mut sink);
                    }
                }
                at += pushes;
                Sample::whole(pushes * STREAMS * size, began.elapsed())
            }),
        ];
        let s = interleave(&mut cases, c.rounds(9));
        rows.push(
            Row::new(
                NAME,
                format!("10,000 streams round-robin, source, pushes of {size} bytes: share of one stream"),
                s[1].times(&s[0]),
                "",
            )
            .best(s[1].times_at_best(&s[0]))
            .asked(Asked::AtLeast(0.5))
            .note(format!("{:.0} and {:.0} MB/s", s[0].median(), s[1].median())),
        );
    }
    Ok(rows)
}
