//! The two ways to the engine: in this process, or in the daemon behind its socket or a ring. Both answer a push with everything
//! that may pass, so nothing above this module needs to know which one it is.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use forebay_client::blocking::{Connection, Sink as ClientSink, Stream};
use forebay_client::{ConnectOptions, Error, OpenOptions, Transport};
use forebay_scan::{Reason, Report, RuleSet, Scratch, Sink, StreamFilter, TokenKey};

use crate::exit::{Unreachable, unreachable};
use crate::record::FindingLine;

/// What a push let go, until it is written. Bounded by what one read can release: the read, the hold, and one line a
/// finding.
#[derive(Default)]
pub(crate) struct Outlet {
    pub(crate) bytes: Vec<u8>,
    /// JSON lines, if they are wanted.
    pub(crate) lines: Vec<u8>,
    pub(crate) findings: u64,
    pub(crate) tell: bool,
}

impl Outlet {
    fn found(&mut self, line: Option<FindingLine<'_>>) {
        self.findings += 1;
        if let Some(line) = line.filter(|_| self.tell)
            && serde_json::to_writer(&mut self.lines, &line).is_ok()
        {
            self.lines.push(b'\n');
        }
    }
}

/// How a stream stands after a push.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pushed {
    /// Bytes kept back.
    pub(crate) held: u64,
    /// Where a rule ended the stream.
    pub(crate) blocked_at: Option<u64>,
}

/// A way to the engine, with one stream open.
pub(crate) enum Gate {
    Local(Box<Local>),
    Daemon(Box<Daemon>),
}

pub(crate) struct Local {
    rules: Arc<RuleSet>,
    filter: StreamFilter,
    scratch: Scratch,
}

pub(crate) struct Daemon {
    stream: Stream<Connection>,
}

impl Gate {
    /// In this process.
    pub(crate) fn local(rules: Arc<RuleSet>, key: TokenKey) -> Gate {
        let filter = StreamFilter::new(rules.clone(), key);
        Gate::Local(Box::new(Local { rules, filter, scratch: Scratch::default() }))
    }

    /// Through the daemon.
    pub(crate) fn daemon(path: &Path, transport: Transport, profile: &str, session: &str) -> anyhow::Result<Gate> {
        let options = ConnectOptions {
            transport,
            client: concat!("forebay/", env!("CARGO_PKG_VERSION")).to_owned(),
            ..ConnectOptions::default()
        };
        let connection = Connection::connect(path, options).map_err(unreachable)?;
        let stream = connection.into_stream(OpenOptions::new(profile).session(session)).map_err(unreachable)?;
        Ok(Gate::Daemon(Box::new(Daemon { stream })))
    }

    /// Gives bytes to the engine. What they let go is in `out` when this returns, if `settle`; else perhaps later.
    pub(crate) fn push(&mut self, bytes: &[u8], settle: bool, out: &mut Outlet) -> anyhow::Result<Pushed> {
        match self {
            Gate::Local(l) => {
                let mut sink = LocalSink { out, rules: &l.rules };
                let done = l.filter.push(bytes, &mut l.scratch, &mut sink);
                Ok(Pushed { held: l.filter.held() as u64, blocked_at: done.err().map(|e| e.at) })
            }
            Gate::Daemon(s) => {
                let mut sink = RemoteSink { out };
                settled(if settle {
                    s.stream.exchange(bytes, &mut sink).map(|h| h.held)
                } else {
                    s.stream.push(bytes, &mut sink).map(|()| 0)
                })
            }
        }
    }

    /// Has everything that may pass by now in `out`.
    pub(crate) fn settle(&mut self, out: &mut Outlet) -> anyhow::Result<Pushed> {
        match self {
            Gate::Local(l) => Ok(Pushed { held: l.filter.held() as u64, blocked_at: None }),
            Gate::Daemon(s) => settled(s.stream.sync(&mut RemoteSink { out }).map(|h| h.held)),
        }
    }

    /// No more bytes follow.
    pub(crate) fn finish(&mut self, out: &mut Outlet) -> anyhow::Result<Report> {
        match self {
            Gate::Local(l) => {
                let mut sink = LocalSink { out, rules: &l.rules };
                Ok(l.filter.finish(&mut l.scratch, &mut sink))
            }
            Gate::Daemon(s) => {
                let summary = s.stream.finish(&mut RemoteSink { out }).map_err(unreachable)?;
                let report =
                    summary.report.context(Unreachable("the daemon sent no report; see its log".to_owned()))?;
                let reasons = report.reasons.into_iter().map(|r| Reason { code: r.code, at: r.at }).collect();
                let more = report.more;
                Ok(Report { complete: report.complete, reasons, more, blocked_at: report.blocked_at })
            }
        }
    }
}

/// A verdict is an answer, not an error.
fn settled(held: Result<u64, Error>) -> anyhow::Result<Pushed> {
    match held {
        Ok(held) => Ok(Pushed { held, blocked_at: None }),
        Err(Error::Blocked { at }) => Ok(Pushed { held: 0, blocked_at: Some(at) }),
        Err(e) => Err(unreachable(e)),
    }
}

struct LocalSink<'a> {
    out: &'a mut Outlet,
    rules: &'a RuleSet,
}

impl Sink for LocalSink<'_> {
    fn release(&mut self, bytes: &[u8]) {
        self.out.bytes.extend_from_slice(bytes);
    }

    fn finding(&mut self, finding: &forebay_scan::Finding) {
        self.out.found(FindingLine::of(finding, self.rules));
    }
}

struct RemoteSink<'a> {
    out: &'a mut Outlet,
}

impl ClientSink for RemoteSink<'_> {
    fn released(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.out.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finding(&mut self, finding: forebay_client::Finding) {
        self.out.found(Some(FindingLine::remote(&finding)));
    }
}
