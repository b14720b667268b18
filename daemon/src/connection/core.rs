//! The connection's state machine, without I/O: the task gives it bytes and the time, it fills the write buffer.
//!
//! Order of work in [`Core::run`]: streams that can go on, each one piece in turn, then the next frame. It stops when
//! the write buffer is full (the client does not read: neither do we), when its budget is spent (others get a turn),
//! or when it needs more bytes.
//!
//! Invariants: Data beyond the credit is a violation, so `pending` of all streams together stays within the
//! connection's window; a stream whose queue is not empty scans nothing, so a queue is what one piece made; every
//! stream that can go on stands in `runnable` exactly once.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use forebay_scan::{Scratch, StreamFilter};
use forebay_wire::{
    Code, Credit, ErrorFrame, Frame, Goaway, MAX_MESSAGE, MAX_PAYLOAD, Open, ReceiveWindow, SendWindow, StreamId,
};

use super::handshake::Ring;
use super::output::{Output, clip};
use super::stream::{Owed, Stream};
use crate::audit::{self, End, Pen, StreamLog, Who};
use crate::metrics::tally::Tally;
use crate::quota::Account;
use crate::server::Shared;

/// Write buffer level, in bytes, from which on nothing is scanned and nothing read: a client that does not read
/// its socket costs this much and what one piece adds.
const HIGH_OUTPUT: usize = 64 << 10;

/// Frames handled before others get a turn, whatever their size: floods of small frames are no way around the
/// bound on bytes.
const MAX_FRAMES: usize = 256;

/// Why [`Core::run`] stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// More bytes are needed.
    NeedInput,
    /// The write buffer is full.
    OutputFull,
    /// The budget is spent; there may be more to do.
    Again,
    /// The client asks for a ring: [`Core::welcome`] says whether it gets one.
    RingWanted,
    /// The client has taken its ring. Send what is in the write buffer over the socket, then use the ring.
    ToRing,
    /// Nothing more will be read. Send what is in the write buffer and close.
    Closing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    AwaitHello,
    Open,
    Closing,
}

/// What the peer did wrong, or what ends the connection.
pub(super) struct Violation {
    code: Code,
    message: String,
}

impl Violation {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Violation { code, message: message.into() }
    }
}

/// One connection.
pub(super) struct Core {
    pub(super) shared: Arc<Shared>,
    pub(super) account: Account,
    pub(super) who: Who,
    pub(super) phase: Phase,
    pub(super) streams: HashMap<StreamId, Box<Stream>>,
    last_opened: u32,
    pub(super) window: ReceiveWindow,
    pub(super) runnable: VecDeque<StreamId>,
    pub(super) scratch: Scratch,
    pub(super) out: Output,
    draining: bool,
    pub(super) ring: Ring,
    pub(super) tally: Tally,
    /// When this run began.
    pub(super) turn: Instant,
}

/// What one run may still do.
pub(super) struct Budget {
    pub(super) bytes: usize,
    frames: usize,
}

impl Core {
    pub(super) fn new(shared: Arc<Shared>, account: Account, pid: i32, id: u64) -> Self {
        Core {
            window: ReceiveWindow::new(shared.config.limits.connection_window),
            shared,
            who: Who { uid: account.uid(), pid, conn: id },
            account,
            phase: Phase::AwaitHello,
            streams: HashMap::new(),
            last_opened: 0,
            runnable: VecDeque::new(),
            scratch: Scratch::default(),
            out: Output::default(),
            draining: false,
            ring: Ring::No,
            tally: Tally::default(),
            turn: Instant::now(),
        }
    }

    /// Works on what has arrived. Takes whole frames off `src`.
    pub(super) fn run(&mut self, src: &mut BytesMut, now: Instant) -> Step {
        self.turn = now;
        let mut budget = Budget { bytes: MAX_PAYLOAD, frames: MAX_FRAMES };
        let step = loop {
            if self.phase == Phase::Closing {
                break Step::Closing;
            }
            match self.ring {
                Ring::No | Ring::Offered => {}
                Ring::Wanted { .. } => break Step::RingWanted,
                Ring::Taken => break Step::ToRing,
            }
            if self.draining && self.phase == Phase::Open && self.streams.is_empty() {
                self.phase = Phase::Closing;
                continue;
            }
            if self.out.len() >= HIGH_OUTPUT {
                break Step::OutputFull;
            }
            if budget.bytes == 0 || budget.frames == 0 {
                break Step::Again;
            }
            if let Some(stream) = self.runnable.pop_front() {
                budget.frames -= 1;
                self.go_on(stream, now, &mut budget);
                continue;
            }
            match forebay_wire::decode(src) {
                Ok(None) => break Step::NeedInput,
                Ok(Some(frame)) => {
                    budget.frames -= 1;
                    if let Err(v) = self.frame(frame, now, &mut budget) {
                        self.fail(v.code, &v.message);
                    }
                }
                Err(e) if self.phase == Phase::AwaitHello && e.code() == Code::UnknownType => {
                    self.fail(Code::HandshakeExpected, &forebay_wire::WireError::Magic.to_string());
                }
                Err(e) => self.fail(e.code(), &e.to_string()),
            }
        };
        self.count();
        step
    }

    /// The write buffer.
    pub(super) fn output(&mut self) -> &mut Output {
        &mut self.out
    }

    /// The handshake is done.
    pub(super) fn welcomed(&self) -> bool {
        self.phase != Phase::AwaitHello
    }

    /// Open streams.
    pub(super) fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Ends the connection with a typed error. Streams are dropped: nothing more of them is released.
    pub(super) fn fail(&mut self, code: Code, message: &str) {
        if self.phase == Phase::Closing {
            return;
        }
        self.shared.counters.error(code);
        self.shared.audit.violation(self.who, code);
        if self.shared.gate.pass() {
            tracing::warn!(conn = self.who.conn, uid = self.account.uid(), code = %code, streams = self.streams.len(),
                "connection ended: {message}");
        } else {
            self.shared.counters.log_lines_suppressed.add(1);
        }
        self.error(None, code, message);
        self.phase = Phase::Closing;
        let open: Vec<StreamId> = self.streams.keys().copied().collect();
        for stream in open {
            self.ends(stream, End::Error(code));
            self.remove(stream);
        }
    }

    /// Announces the end: open streams may finish, new ones are refused.
    pub(super) fn drain(&mut self) {
        if self.draining {
            return;
        }
        self.draining = true;
        if self.phase == Phase::Open {
            let grace = self.shared.config.timeouts.grace.as_millis().try_into().unwrap_or(u32::MAX);
            self.out.frame(&Frame::Goaway(Goaway { last_stream: self.last_opened, grace_ms: grace }));
        } else {
            self.phase = Phase::Closing;
        }
    }

    /// Ends every stream that has waited for credit since before `since`.
    pub(super) fn end_stalled(&mut self, since: Instant) {
        let stalled = |s: &Stream| s.stalled.is_some_and(|t| t <= since);
        let late: Vec<StreamId> = self.streams.iter().filter(|(_, s)| stalled(s)).map(|(id, _)| *id).collect();
        for stream in late {
            self.end_stream(stream, Code::WriteStall, "no credit was given for too long; grant credit as you read");
        }
    }

    fn frame(&mut self, frame: Frame, now: Instant, budget: &mut Budget) -> Result<(), Violation> {
        if self.phase == Phase::AwaitHello {
            return match frame {
                Frame::Hello(hello) => self.hello(&hello),
                other => Err(Violation::new(
                    Code::HandshakeExpected,
                    format!("the first frame was {}; send Hello first", other.frame_type().as_str()),
                )),
            };
        }
        match frame {
            Frame::Open(open) => self.open(open),
            Frame::Data { stream, bytes } => self.data(stream, &bytes, now, budget),
            Frame::Finish(stream) => self.finish(stream, now),
            Frame::Sync(stream) => self.sync(stream, now),
            Frame::Reset { stream, .. } => {
                self.known(stream)?;
                self.remove(stream);
                Ok(())
            }
            Frame::Credit(credit) => self.credit(credit, now),
            Frame::Ping(token) => {
                self.out.frame(&Frame::Pong(token));
                Ok(())
            }
            // The daemon sends no Ping yet, so no Pong is expected; one that comes is harmless.
            Frame::Pong(_) => Ok(()),
            Frame::StatusRequest => {
                self.count();
                let status = self.shared.status();
                self.out.frame(&Frame::Status(status));
                Ok(())
            }
            Frame::RingReady if self.ring == Ring::Offered => {
                self.takes_ring();
                Ok(())
            }
            other => Err(Violation::new(
                Code::UnexpectedFrame,
                format!("a client may not send {} here; see the states in PROTOCOL.md", other.frame_type().as_str()),
            )),
        }
    }

    fn open(&mut self, open: Open) -> Result<(), Violation> {
        let stream = open.stream;
        if stream.get() <= self.last_opened {
            return Err(Violation::new(
                Code::StreamIdReused,
                format!("stream {stream} is not above {}; give each stream a new, higher id", self.last_opened),
            ));
        }
        self.last_opened = stream.get();
        if self.draining {
            self.refuse(stream, Code::Draining, "the daemon is shutting down; connect again");
            return Ok(());
        }
        let profiles = self.shared.in_force.profiles();
        let Some(profile) = profiles.get(&open.profile).cloned() else {
            let known: Vec<&str> = profiles.iter().map(|p| p.name.as_str()).collect();
            let message = format!("there is no profile `{}`; this daemon has {}", open.profile, known.join(", "));
            self.refuse(stream, Code::UnknownProfile, &message);
            return Ok(());
        };
        let most = self.shared.config.limits.streams_per_connection;
        if self.streams.len() as u64 >= most {
            self.refuse(stream, Code::StreamLimit, &format!("{most} streams are open on this connection; finish some"));
            return Ok(());
        }
        if !self.shared.audit.admits() {
            self.refuse(stream, Code::AuditUnavailable, audit::REFUSED);
            return Ok(());
        }
        if let Err(refusal) = self.account.open_stream() {
            self.refuse(stream, Code::StreamLimit, &refusal.to_string());
            return Ok(());
        }
        let uid = self.account.uid();
        let key = match &open.session[..] {
            [] => self.shared.keys.stream(uid, self.shared.serial()),
            session => self.shared.keys.session(uid, session),
        };
        self.shared.counters.streams_opened.add(1);
        let state = Stream {
            filter: StreamFilter::new(Arc::clone(&profile.rules), key),
            profile,
            input: ReceiveWindow::new(self.shared.config.limits.stream_window),
            output: SendWindow::new(open.window),
            pending: BytesMut::new(),
            queue: BytesMut::new(),
            charged: 0,
            held_due: None,
            finished: false,
            report: None,
            stalled: None,
            listed: false,
            audit: StreamLog::default(),
        };
        self.streams.insert(stream, Box::new(state));
        Ok(())
    }

    fn data(&mut self, stream: StreamId, bytes: &[u8], now: Instant, budget: &mut Budget) -> Result<(), Violation> {
        let overrun = |e: forebay_wire::CreditOverrun| Violation::new(Code::CreditOverrun, e.to_string());
        self.known(stream)?;
        self.window.receive(bytes.len()).map_err(overrun)?;
        let Some(s) = self.streams.get_mut(&stream) else {
            // Sent before the client knew that the stream had ended. Costs it connection credit until here.
            self.taken(bytes.len());
            return Ok(());
        };
        if s.finished {
            return Err(Violation::new(Code::StreamState, format!("Data on stream {stream} after its Finish")));
        }
        s.input.receive(bytes.len()).map_err(overrun)?;
        if s.report.is_some() {
            // Blocked: what still arrives is dropped, like Data of a stream that is gone.
            self.taken(bytes.len());
            return Ok(());
        }
        let now_scanned = if s.blocked() || !s.pending.is_empty() { 0 } else { s.piece(bytes.len()) };
        // A copy, not a slice of the read buffer: a slice of one byte would keep all of that buffer alive.
        s.pending.extend_from_slice(&bytes[now_scanned..]);
        if now_scanned > 0 {
            self.scan(stream, &bytes[..now_scanned], budget);
        }
        self.settle(stream, now);
        Ok(())
    }

    fn finish(&mut self, stream: StreamId, now: Instant) -> Result<(), Violation> {
        self.known(stream)?;
        if let Some(s) = self.streams.get_mut(&stream) {
            if s.finished {
                return Err(Violation::new(Code::StreamState, format!("a second Finish on stream {stream}")));
            }
            s.finished = true;
            self.settle(stream, now);
        }
        Ok(())
    }

    fn sync(&mut self, stream: StreamId, now: Instant) -> Result<(), Violation> {
        self.known(stream)?;
        if let Some(s) = self.streams.get_mut(&stream) {
            // After Finish the report is the answer.
            let here = s.filter.received() + s.pending.len() as u64;
            let first = s.held_due.map_or(here, |owed| owed.first);
            s.held_due = (!s.finished).then_some(Owed { first, last: here });
            self.settle(stream, now);
        }
        Ok(())
    }

    fn credit(&mut self, credit: Credit, now: Instant) -> Result<(), Violation> {
        let Some(stream) = credit.stream else {
            return Err(Violation::new(
                Code::UnexpectedFrame,
                "the daemon's output has windows by stream only; send Credit with a stream id",
            ));
        };
        self.known(stream)?;
        if let Some(s) = self.streams.get_mut(&stream) {
            s.output.grant(credit.bytes).map_err(|e| Violation::new(Code::CreditOverflow, e.to_string()))?;
            s.stalled = None;
            self.settle(stream, now);
        }
        Ok(())
    }

    /// Refuses ids that were never opened. Streams that have ended are known.
    fn known(&self, stream: StreamId) -> Result<(), Violation> {
        if stream.get() > self.last_opened {
            return Err(Violation::new(
                Code::UnknownStream,
                format!("stream {stream} was never opened; send Open first"),
            ));
        }
        Ok(())
    }

    /// Ends a stream with a typed error; the connection goes on.
    pub(super) fn end_stream(&mut self, stream: StreamId, code: Code, message: &str) {
        self.ends(stream, End::Error(code));
        self.remove(stream);
        self.refuse(stream, code, message);
    }

    fn ends(&mut self, stream: StreamId, end: End) {
        if let Some(s) = self.streams.get_mut(&stream) {
            s.audit.ends(end);
        }
    }

    fn refuse(&mut self, stream: StreamId, code: Code, message: &str) {
        self.shared.counters.error(code);
        tracing::debug!(conn = self.who.conn, uid = self.account.uid(), %stream, %code, "stream ended");
        self.error(Some(stream), code, message);
    }

    fn error(&mut self, stream: Option<StreamId>, code: Code, message: &str) {
        let message = clip(message, MAX_MESSAGE);
        self.out.frame(&Frame::Error(ErrorFrame { stream, code, message }));
    }

    pub(super) fn remove(&mut self, stream: StreamId) {
        if let Some(mut s) = self.streams.remove(&stream) {
            let received = s.filter.received();
            Pen::new(&self.shared.audit, self.who, stream, &s.profile, &mut s.audit).end(received);
            self.account.unbuffer(s.charged);
            self.account.close_stream();
            if self.phase != Phase::Closing {
                self.taken(s.pending.len());
            }
        }
    }
}
