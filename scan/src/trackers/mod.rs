//! Trackers: incremental readers for what no bounded pattern can say.
//!
//! A pattern rule looks at a span and its near context. Three things need memory over a whole line or a whole stream:
//! whether a comment is nothing but a placeholder (`comment-elision`), what is open at the end (`structure`), and runs
//! of invisible characters (`hidden-text`). Each is a tracker: a small state machine fed with the raw bytes in order,
//! independent of how they are cut, with a stated bound on its memory.
//!
//! A tracker is built once per rule set from all rules that name it (its vocabulary lives in their `options`), and
//! started once per stream.

mod block;
mod elision;
mod hidden;
pub(crate) mod structure;

use std::ops::Range;
use std::sync::Arc;

use crate::finding::Report;

/// A finding of a tracker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Index into the list of rules that the tracker was built from.
    pub(crate) rule: usize,
    /// The span, in input offsets.
    pub(crate) span: Range<u64>,
    /// How many input bytes had been seen when nothing more could change the finding. Never depends on the cut.
    pub(crate) decided: u64,
}

/// The part of a tracker that streams share.
pub(crate) trait TrackerSpec: Send + Sync + std::fmt::Debug {
    /// State for a new stream.
    fn start(self: Arc<Self>) -> Box<dyn Tracker>;
    /// Memory in bytes, if it is more than a vocabulary.
    fn bytes(&self) -> usize {
        0
    }
}

/// The part of a tracker that belongs to one stream.
pub(crate) trait Tracker: Send {
    /// Takes the bytes at input offset `at`; they follow those of the last call without a gap.
    fn feed(&mut self, at: u64, bytes: &[u8], out: &mut Vec<Mark>);
    /// The stream ended after `at` bytes.
    fn finish(&mut self, at: u64, out: &mut Vec<Mark>, report: &mut Report);
    /// The start of the earliest span that may still become a finding, if any: what an acting rule holds.
    fn live_from(&self) -> Option<u64>;
    /// Bytes of memory that the state uses, for the stated bound.
    fn memory(&self) -> usize;
}

/// Builds the tracker `name` from the options of the rules that name it, in order.
pub(crate) fn build(name: &str, rules: &[&toml::Table]) -> Result<Arc<dyn TrackerSpec>, String> {
    match name {
        "comment-elision" => elision::CommentElision::build(rules),
        "hidden-text" => hidden::build(rules),
        "structure" => structure::Structure::build(rules),
        _ => Err(format!("there is no tracker `{name}`")),
    }
}
