//! Whether time grows with the input and no faster, and what an idle stream keeps.

use anyhow::Result;
use forebay_scan::Scratch;

use super::Context;
use crate::engine::Count;
use crate::rounds::{Case, interleave};
use crate::rows::{Asked, Row};

/// The section's name.
pub const NAME: &str = "stream";

/// Measures.
pub fn rows(c: &Context) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let top = if c.quick { 8 } else { 64 };
    let dense: Vec<u8> = c.text("json-logs")?.iter().copied().filter(|b| *b != b'\n').collect();
    for (name, text) in [("chinese", c.text("chinese")?), ("one line of JSON", &dense)] {
        let text: Vec<u8> = text.iter().copied().cycle().take(top << 20).collect();
        let sizes: Vec<usize> = (0..).map(|i| 1 << i).take_while(|n| *n <= top).collect();
        let case = |n: &usize| {
            let start = &text[..n << 20];
            Case::new(n.to_string(), move |_| c.engine.push_all(start, 4))
        };
        let mut cases: Vec<Case<'_>> = sizes.iter().map(case).collect();
        let s = interleave(&mut cases, 3);
        // Twice the bytes in twice the time, times what a byte costs more.
        let worst = s.windows(2).map(|two| 2.0 * two[0].times(&two[1])).fold(0.0, f64::max);
        rows.push(
            Row::new(NAME, format!("{name}, 1 to {top} MiB in pushes of 4 bytes: worst doubling"), worst, "×")
                .asked(Asked::AtMost(2.2)),
        );
    }
    for (name, bytes) in [("new", 0), ("after 64 KiB of source", 64 << 10)] {
        let (mut filter, mut scratch, mut sink) = (c.engine.stream(), Scratch::default(), Count::default());
        for piece in c.text("source")?[..bytes].chunks(64) {
            let _ = filter.push(piece, &mut scratch, &mut sink);
        }
        rows.push(
            Row::new(NAME, format!("an idle stream, {name}"), filter.memory() as f64, "bytes")
                .asked(Asked::AtMost(4096.0)),
        );
    }
    Ok(rows)
}
