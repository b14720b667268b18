//! A record as a line: one JSON object, its keys always in the same order, the hash of the line before it last.
//!
//! The hash of a line is BLAKE3 over its bytes without the line feed, in hexadecimal. Anybody can check a chain with
//! `b3sum`. The first line of all carries 64 zeros.

use std::time::SystemTime;

use forebay_scan::{Family, Severity};
use serde::Serialize;

use super::record::{End, Record, What};

/// What the first line of all carries.
pub(super) const NOTHING_BEFORE: [u8; 32] = [0; 32];

/// The layout's version, in each file's first line.
pub(super) const LAYOUT: u32 = 1;

/// How far a chain has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The number of the next line.
    pub(super) seq: u64,
    /// The hash of the last one.
    pub(super) hash: [u8; 32],
}

impl Head {
    pub(super) const START: Head = Head { seq: 1, hash: NOTHING_BEFORE };
}

/// The fields of a line. What is `None` is left out, but for `value` of a finding.
#[derive(Debug, Default, Serialize)]
pub(super) struct Line<'a> {
    seq: u64,
    time: String,
    event: &'static str,
    #[serde(flatten)]
    more: More<'a>,
    prev: String,
}

/// What differs by event.
#[derive(Debug, Default, Serialize)]
#[serde(untagged)]
pub(super) enum More<'a> {
    #[default]
    Nothing,
    Finding {
        uid: u32,
        pid: i32,
        conn: u64,
        stream: u32,
        profile: &'a str,
        rule: &'a str,
        family: Family,
        severity: Severity,
        action: &'static str,
        start: u64,
        end: u64,
        value: Option<String>,
    },
    Stream {
        uid: u32,
        pid: i32,
        conn: u64,
        stream: u32,
        profile: &'a str,
        result: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'static str>,
        received: u64,
        findings: u64,
        #[serde(skip_serializing_if = "is_zero")]
        unlisted: u64,
    },
    Violation {
        uid: u32,
        pid: i32,
        conn: u64,
        code: &'static str,
    },
    Reload {
        result: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        rules: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a str>,
    },
    /// The first line of a process, and what it found.
    Start {
        layout: u32,
        daemon: &'static str,
        key: String,
        found: &'static str,
        #[serde(skip_serializing_if = "is_zero")]
        cut_bytes: u64,
    },
    /// The first line of a file that goes on where another ended.
    Rotate {
        layout: u32,
        from: &'a str,
    },
    Lost {
        records: u64,
    },
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Appends a line, and takes the head one on.
pub(super) fn put(out: &mut Vec<u8>, head: &mut Head, time: SystemTime, event: &'static str, more: More<'_>) {
    let time = humantime::format_rfc3339_micros(time).to_string();
    let line = Line { seq: head.seq, time, event, more, prev: hex(&head.hash) };
    let from = out.len();
    // Plain fields of known types: there is nothing that could fail but memory.
    if serde_json::to_writer(&mut *out, &line).is_err() {
        debug_assert!(false, "an audit line that cannot be written");
        out.truncate(from);
        return;
    }
    *head = Head { seq: head.seq + 1, hash: *blake3::hash(&out[from..]).as_bytes() };
    out.push(b'\n');
}

/// Appends the line of a record.
pub(super) fn put_record(out: &mut Vec<u8>, head: &mut Head, record: &Record) {
    let who = record.who;
    let (uid, pid, conn) = (who.uid, who.pid, who.conn);
    let (event, more) = match &record.what {
        What::Finding { stream, profile, finding, value } => {
            let Some(info) = profile.rules.rule(finding.rule) else {
                debug_assert!(false, "a finding of a rule that its set does not have");
                return;
            };
            let more = More::Finding {
                uid,
                pid,
                conn,
                stream: stream.get(),
                profile: &profile.name,
                rule: &info.name,
                family: info.family,
                severity: info.severity,
                action: finding.action.as_str(),
                start: finding.span.start,
                end: finding.span.end,
                value: value.as_ref().map(|v| hex(v)),
            };
            ("finding", more)
        }
        What::Stream { stream, profile, end, received, findings, unlisted } => {
            let (result, at, code) = match end {
                End::Report { complete: true } => ("whole", None, None),
                End::Report { complete: false } => ("not-whole", None, None),
                End::Blocked { at } => ("blocked", Some(*at), None),
                End::Error(code) => ("error", None, Some(code.as_str())),
                End::Left => ("left", None, None),
            };
            let (received, findings, unlisted) = (*received, *findings, *unlisted);
            let (stream, profile) = (stream.get(), profile.name.as_str());
            ("stream", More::Stream { uid, pid, conn, stream, profile, result, at, code, received, findings, unlisted })
        }
        What::Violation { code } => ("violation", More::Violation { uid, pid, conn, code: code.as_str() }),
        What::Reload { result: Ok(rules) } => {
            ("reload", More::Reload { result: "done", rules: Some(hex(&rules[..8])), error: None })
        }
        What::Reload { result: Err(e) } => ("reload", More::Reload { result: "refused", rules: None, error: Some(e) }),
        What::Stop => ("stop", More::Nothing),
    };
    put(out, head, record.time, event, more);
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
