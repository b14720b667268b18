//! What happened, counted, and how the numbers leave the process.
//!
//! - `counters` are the totals since the start; the Status frame shows them.
//! - `tally` is what one connection counts between two looks at them: plain numbers, no atomics.
//! - `histogram` has the two distributions: hold, and how long a push took.
//! - `text` puts everything, with gauges of the moment, into Prometheus text; `process` says what the kernel knows
//!   of this process.
//! - `endpoint` answers `GET /metrics` on a Unix socket, and on loopback if the config says so.
//!
//! Invariants: recording takes no lock and no memory; no label has a value from a peer, so no peer can make a series; no
//! number is of less than a whole push. The attacker: who may read the metrics, and wants to learn what was in a stream.
//! What they get is counts by family, never a rule, a session or a length of a value.

pub(crate) mod counters;
mod endpoint;
mod histogram;
mod process;
pub(crate) mod tally;
mod text;

pub use counters::Counters;
pub use endpoint::{Endpoint, MetricsConfig};
