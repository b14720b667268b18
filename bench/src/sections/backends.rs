//! The two backends of the candidate stage, alone and in the whole filter, on the same bytes in the same round. The one
//! that is faster on these texts is what the binaries use.

use anyhow::Result;
use forebay_scan::Backend;

use super::Context;
use crate::rounds::{Case, interleave, part};
use crate::rows::Row;

/// The section's name.
pub const NAME: &str = "backends";

/// Bytes of a push.
const PUSHES: [usize; 2] = [64, 16 << 10];

/// Measures, if Hyperscan was built in.
pub fn rows(c: &Context) -> Result<Vec<Row>> {
    if !Backend::Hyperscan.is_built_in() {
        let row = Row::new(NAME, "feature `hyperscan`", f64::NAN, "");
        return Ok(vec![row.note("not built in: build with --features hyperscan")]);
    }
    let began = std::time::Instant::now();
    let portable = c.engine.on(Backend::Portable)?;
    let portable_in = began.elapsed();
    let began = std::time::Instant::now();
    let hyperscan = c.engine.on(Backend::Hyperscan)?;
    let hyperscan_in = began.elapsed();
    let mut rows = vec![Row::new(
        NAME,
        "compiling all rules takes longer with Hyperscan by",
        (hyperscan_in.as_secs_f64() - portable_in.as_secs_f64()) * 1e3,
        "ms",
    )];
    for size in PUSHES {
        for text in &c.texts {
            let bytes = 2 << 20;
            let of = |round| part(&text.bytes, bytes, round);
            let mut cases = vec![
                Case::new("portable", |round| portable.candidates(of(round), size)),
                Case::new("hyperscan", |round| hyperscan.candidates(of(round), size)),
                Case::new("filter, portable", |round| portable.push_all(of(round), size)),
                Case::new("filter, hyperscan", |round| hyperscan.push_all(of(round), size)),
            ];
            let s = interleave(&mut cases, c.rounds(9));
            for (what, own, other) in [("candidate stage alone", &s[0], &s[1]), ("whole filter", &s[2], &s[3])] {
                let name = format!("{}, {size} bytes, {what}: portable to Hyperscan", text.name);
                let row = Row::new(NAME, name, own.times(other), "×").best(own.times_at_best(other));
                rows.push(row.note(format!("{:.1} and {:.1} MB/s", own.median(), other.median())));
            }
        }
    }
    Ok(rows)
}
