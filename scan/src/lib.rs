//! Incremental content filter: bytes go in by pushes of any size, clean bytes and findings come out.
//!
//! This crate knows what is in the bytes. It is *not* a program: no sockets, no files, no clock, no randomness; keys
//! and pack texts are arguments. An application can embed it with no daemon.
//!
//! - [`Pack`] and [`Profile`] are parsed from TOML; [`RuleSet::compile`] turns them into an immutable set that any
//!   number of streams share by `Arc`.
//! - [`StreamFilter`] filters one stream. For every way of cutting the input into pushes the released bytes, the
//!   findings and the report are the same, and after each push it holds only bytes that some continuation could still
//!   make part of a replaced span.
// Allowed in one module: `simd::avx2`.
#![deny(unsafe_code)]

pub mod allow;
mod automata;
mod cache;
mod candidates;
pub mod checks;
mod classes;
mod determinize;
mod dfa;
mod error;
mod exact;
pub mod examples;
pub mod explain;
mod expr;
mod filter;
mod finding;
pub mod json;
mod literals;
mod nearby;
mod pack;
mod parallel;
pub mod pattern;
mod plan;
mod profile;
mod ruleset;
mod shape;
mod simd;
mod splice;
mod token;
mod trackers;

/// Whether bytes are JSON, a beginning of JSON, or neither: the reader that tells whether a stream was cut.
pub mod structure {
    pub use crate::trackers::structure::json::{JsonState, json_state, json_state_in_pieces};
}

pub use cache::{Cache, CacheError};
pub use candidates::Backend;
pub use error::LoadError;
pub use exact::{ExactBytes, ExactValue, MAX_VALUE_BYTES, MAX_VALUES, Weakness, weakness};
pub use filter::{Ended, PIECE, Scratch, StreamFilter};
pub use finding::{Action, Collected, Family, Finding, Reason, Report, RuleId, Severity, Sink};
pub use pack::{MAX_PACK_BYTES, Nearby, Pack, RuleSpec, What};
pub use profile::{ExactFormat, ExactPlace, ExactSource, Profile};
pub use ruleset::{MAX_RULES, RuleInfo, RuleSet};
pub use token::TokenKey;

/// For benchmarks only: runs the candidate stage alone over `text` in pieces of `size` bytes, as pushes would, and
/// returns how many literals it named. The limit that the whole engine is compared with.
#[doc(hidden)]
pub fn candidate_stage(rules: &RuleSet, text: &[u8], size: usize) -> usize {
    // As much history as any literal needs.
    const BEHIND: usize = 64;
    let mut hits = Vec::new();
    let mut n = 0;
    for from in (0..text.len()).step_by(size.max(1)) {
        let window = &text[from.saturating_sub(BEHIND)..(from + size).min(text.len())];
        hits.clear();
        rules.candidates().scan(window, from.min(BEHIND), &mut hits);
        n += hits.len();
    }
    n
}
