//! Bytes a second at pushes of four sizes, the candidate stage alone, and the two limits of any scanner: looking for
//! two bytes (`memchr2`) and copying (`memcpy`), all over the same buffer.

use std::hint::black_box;

use anyhow::Result;

use super::Context;
use crate::rounds::{Case, CpuTime, Sample, Series, interleave, part};
use crate::rows::{Asked, Row};

/// The section's name.
pub const NAME: &str = "throughput";

/// Sizes of pushes, what is asked of them in MB/s, and the part of the text that a round takes.
const PUSHES: [(usize, Option<f64>, usize); 4] =
    [(4, Some(20.0), 2 << 20), (64, Some(150.0), 8 << 20), (1024, None, 8 << 20), (16 << 10, None, 8 << 20)];

/// Texts whose 16 KiB pushes are asked to keep up with the candidate stage.
const KEEP_UP: [&str; 2] = ["source", "prose"];

/// Measures.
pub fn rows(c: &Context) -> Result<Vec<Row>> {
    let mut all = Vec::new();
    for text in &c.texts {
        all.push((text.name, measure(c, &text.bytes)));
    }
    let mut rows = Vec::new();
    for (i, (size, least, _)) in PUSHES.iter().enumerate() {
        for (name, s) in &all {
            let row =
                Row::new(NAME, format!("{name}, pushes of {size} bytes"), s[i].median(), "MB/s").best(s[i].best());
            let row = row.speed(format!("Forebay, pushes of {size}"), name, s[i].median());
            rows.push(row.asked(least.map_or(Asked::Nothing, Asked::AtLeast)));
        }
    }
    for (name, s) in &all {
        for (size, s) in [("16384", &s[4]), ("64", &s[5])] {
            let row = Row::new(NAME, format!("{name}, candidate stage alone, {size} bytes"), s.median(), "MB/s");
            rows.push(row.best(s.best()).speed(format!("candidate stage alone, {size}"), name, s.median()));
        }
    }
    for (name, s) in &all {
        let row = Row::new(NAME, format!("{name}, 16384 bytes: share of the candidate stage"), s[3].times(&s[4]), "")
            .best(s[3].times_at_best(&s[4]));
        rows.push(if KEEP_UP.contains(name) { row.asked(Asked::AtLeast(0.4)) } else { row });
    }
    for (limit, at) in [("memchr2", 6), ("memcpy", 7)] {
        for (name, s) in &all {
            let share = Row::new(NAME, format!("{name}, 16384 bytes: share of {limit}"), s[3].times(&s[at]), "");
            let share = share.speed(limit, name, s[at].median());
            rows.push(share.note(format!("{limit} {:.1} GB/s", s[at].median() / 1e3)));
        }
    }
    Ok(rows)
}

/// The four sizes of pushes, the candidate stage at 16 KiB and 64 bytes, `memchr2`, `memcpy`.
fn measure(c: &Context, text: &[u8]) -> Vec<Series> {
    let mut copy = vec![0u8; text.len()];
    let mut cases: Vec<Case<'_>> = PUSHES
        .iter()
        .map(|(size, _, bytes)| {
            Case::new(size.to_string(), |round| c.engine.push_all(part(text, *bytes, round), *size))
        })
        .collect();
    cases.push(Case::new("candidates 16384", |_| c.engine.candidates(text, 16 << 10)));
    cases.push(Case::new("candidates 64", |_| c.engine.candidates(text, 64)));
    cases.push(Case::new("memchr2", |_| {
        let began = CpuTime::now();
        // Two bytes that no text has, so it never stops.
        black_box(memchr::memchr2(0x00, 0x01, black_box(text)));
        Sample::whole(text.len(), began.elapsed())
    }));
    cases.push(Case::new("memcpy", |_| {
        let began = CpuTime::now();
        copy.copy_from_slice(black_box(text));
        black_box(&mut copy);
        Sample::whole(text.len(), began.elapsed())
    }));
    interleave(&mut cases, c.rounds(11))
}
