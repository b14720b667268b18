//! What the benchmarks run on and with; `src/bin/speed.rs`, `src/bin/instructions.rs` and
//! `src/bin/transport.rs` are the programs.
//!
//! - [`corpus`]: the texts, generated and reproducible, and those made to be slow;
//! - [`engine`] and [`peers`]: what is measured; [`rounds`]: how;
//! - [`sections`]: what is asked, as [`rows`];
//! - `transport` (a feature): what the way to the engine costs;
//! - [`report`] and [`chart`]: where the rows go.
//!
//! Nothing here asserts a time: a busy neighbour is no fault of the code. What CI holds on to is the count of
//! instructions of five runs.
#![forbid(unsafe_code)]

pub mod chart;
pub mod corpus;
pub mod engine;
pub mod peers;
pub mod report;
pub mod rounds;
pub mod rows;
pub mod sections;
#[cfg(feature = "transport")]
pub mod transport;
