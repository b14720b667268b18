//! One thing that happened, on its way to the writer; and the pen that a stream's sink writes findings with.
//!
//! A record costs no memory of its own: numbers, and a count on the profile's `Arc`, whose names the writer looks up.

use std::time::SystemTime;

use forebay_scan::Finding;
use forebay_wire::{Code, StreamId};

use super::{Audit, Profile};

/// Whose doing it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) uid: u32,
    /// As the kernel told it when the connection was made; 0 if it did not.
    pub(crate) pid: i32,
    /// 0: nobody's connection, the daemon itself.
    pub(crate) conn: u64,
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) time: SystemTime,
    pub(super) who: Who,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Finding { stream: StreamId, profile: Profile, finding: Finding, value: Option<[u8; 8]> },
    Stream { stream: StreamId, profile: Profile, end: End, received: u64, findings: u64, unlisted: u64 },
    Violation { code: Code },
    Reload { result: Result<[u8; 32], String> },
    Stop,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With a report that says whether it was whole.
    Report { complete: bool },
    /// A rule blocked it at this offset.
    Blocked { at: u64 },
    /// The daemon ended it, with this code.
    Error(Code),
    /// The client gave it up, or its connection was lost.
    Left,
}

impl End {
    /// What a report says.
    pub(crate) fn of(report: &forebay_wire::Report) -> End {
        match report.blocked_at {
            Some(at) => End::Blocked { at },
            None => End::Report { complete: report.complete },
        }
    }
}

/// What the log remembers of a stream while it is open.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamLog {
    findings: u64,
    unlisted: u64,
    end: Option<End>,
    failed: bool,
}

impl StreamLog {
    /// How it will have ended, once it is removed.
    pub(crate) fn ends(&mut self, end: End) {
        self.end.get_or_insert(end);
    }
}

/// Records the findings of one stream.
pub(crate) struct Pen<'a> {
    audit: &'a Audit,
    who: Who,
    stream: StreamId,
    profile: &'a Profile,
    log: &'a mut StreamLog,
}

impl<'a> Pen<'a> {
    pub(crate) fn new(
        audit: &'a Audit,
        who: Who,
        stream: StreamId,
        profile: &'a Profile,
        log: &'a mut StreamLog,
    ) -> Self {
        Pen { audit, who, stream, profile, log }
    }

    /// The stream.
    pub(crate) fn stream(&self) -> StreamId {
        self.stream
    }

    /// A record of the stream was lost, and the config says that this must not be.
    pub(crate) fn failed(&self) -> bool {
        self.log.failed
    }

    /// The rules of the stream.
    pub(crate) fn rules(&self) -> &'a forebay_scan::RuleSet {
        &self.profile.rules
    }

    /// Records a finding, and of its value a keyed fingerprint.
    pub(crate) fn finding(&mut self, finding: &Finding, value: Option<&[u8]>) {
        let Some(open) = &self.audit.open else { return };
        self.log.findings += 1;
        if self.log.findings > u64::from(open.config.findings_per_stream) {
            self.log.unlisted += 1;
            return;
        }
        let value = value.map(|v| open.key.fingerprint(v));
        let (stream, profile) = (self.stream, self.profile.clone());
        let what = What::Finding { stream, profile, finding: finding.clone(), value };
        self.log.failed |= !self.audit.put(self.who, what);
    }

    /// Records the stream's end.
    pub(crate) fn end(self, received: u64) {
        let end = self.log.end.unwrap_or(End::Left);
        let StreamLog { findings, unlisted, .. } = *self.log;
        let (stream, profile) = (self.stream, self.profile.clone());
        // A stream that ended cannot end again; a lost line is counted like any other.
        self.audit.put(self.who, What::Stream { stream, profile, end, received, findings, unlisted });
    }
}
