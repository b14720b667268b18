//! What one connection counts while it works: plain numbers that nobody else sees, added to the totals once a turn.

use std::time::{Duration, Instant};

use forebay_scan::{Action, Family};

use super::histogram::{HELD, Local, TIME};

/// Findings by family and action, in the order of [`Family::ALL`] and [`ACTIONS`].
pub(crate) type FindingCounts = [[u32; ACTIONS.len()]; Family::ALL.len()];

/// What may be done with a finding. A rule that allows has none.
pub(crate) const ACTIONS: [Action; 4] = [Action::Flag, Action::Mask, Action::Replace, Action::Block];

/// Counts one finding.
pub(crate) fn count_finding(counts: &mut FindingCounts, family: Family, action: Action) {
    let row = Family::ALL.iter().position(|f| *f == family);
    let column = ACTIONS.iter().position(|a| *a == action);
    if let (Some(row), Some(column)) = (row, column) {
        counts[row][column] = counts[row][column].saturating_add(1);
    }
}

/// Counts of one turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) findings: FindingCounts,
    pub(crate) found: bool,
    /// Nanoseconds from the start of the turn to the end of each push.
    pub(crate) time: Local,
    /// Bytes held after each push.
    pub(crate) held: Local,
}

impl Tally {
    /// A piece of `bytes` was scanned, and `held` bytes are kept now. The time that counts is from `since`, the start of
    /// the turn in which the bytes were there: what waited behind other pushes of the same turn waited too.
    pub(crate) fn pushed(&mut self, bytes: usize, held: usize, since: Instant) {
        self.bytes_in += bytes as u64;
        let took = since.elapsed().min(Duration::from_secs(3600));
        self.time.record(TIME, took.as_nanos() as u64);
        self.held.record(HELD, held as u64);
    }

    /// A sink let go so many bytes and findings.
    pub(crate) fn released(&mut self, bytes: u64, findings: &FindingCounts) {
        self.bytes_out += bytes;
        for (sum, n) in self.findings.iter_mut().flatten().zip(findings.iter().flatten()) {
            *sum = sum.saturating_add(*n);
            self.found |= *n > 0;
        }
    }
}
