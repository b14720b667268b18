//! Texts made to be slow, as a ratio to the speed on clean source code with pushes of the same size in the same round.

use anyhow::{Result, anyhow};

use super::Context;
use crate::corpus::worst;
use crate::rounds::{Case, interleave, part};
use crate::rows::{Asked, Row};

/// The section's name.
pub const NAME: &str = "worst";

/// How many times slower than clean text a text may make the engine.
const MOST: f64 = 20.0;

/// Measures.
pub fn rows(c: &Context) -> Result<Vec<Row>> {
    let texts = worst::all(&c.engine.specs).map_err(|e| anyhow!(e))?;
    let clean = c.text("source")?;
    let mut rows = Vec::new();
    for size in [16 << 10, 64] {
        let mut cases = vec![Case::new("clean", |round| c.engine.push_all(part(clean, worst::BYTES, round), size))];
        cases.extend(texts.iter().map(|t| Case::new(t.name, |_| c.engine.push_all(&t.bytes, size))));
        let series = interleave(&mut cases, c.rounds(9));
        for (text, s) in texts.iter().zip(&series[1..]) {
            let row =
                Row::new(NAME, format!("{}, pushes of {size} bytes: times slower", text.name), series[0].times(s), "×");
            rows.push(row.best(series[0].times_at_best(s)).asked(Asked::AtMost(MOST)).note(format!(
                "{:.1} MB/s; {:.1} findings a KB",
                s.median(),
                c.engine.run(&text.bytes, 16 << 10).findings as f64 * 1e3 / text.bytes.len() as f64
            )));
        }
    }
    Ok(rows)
}
