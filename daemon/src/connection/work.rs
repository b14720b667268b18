//! What a connection does for one stream at a time: scanning, queueing what the credit does not cover, ending.
//!
//! The other half of [`super::core`]: there are the frames, here is the work that they cause.

use std::time::Instant;

use bytes::BytesMut;
use forebay_wire::{Code, Credit, Frame, Held, Reason, Report, SendWindow, StreamId};

use super::core::{Budget, Core};
use super::output::{FrameSink, name};
use crate::audit::{self, End, Pen};
use crate::metrics::tally::Tally;

impl Core {
    /// A stream's turn: one piece of what waits.
    pub(super) fn go_on(&mut self, stream: StreamId, now: Instant, budget: &mut Budget) {
        let Some(s) = self.streams.get_mut(&stream) else {
            return;
        };
        s.listed = false;
        if !s.blocked() && !s.pending.is_empty() {
            let piece = s.take_pending();
            self.scan(stream, &piece, budget);
        }
        self.settle(stream, now);
    }

    /// Scans one piece. The caller has seen that the stream is not blocked.
    pub(super) fn scan(&mut self, stream: StreamId, piece: &[u8], budget: &mut Budget) {
        let Some(s) = self.streams.get_mut(&stream) else {
            return;
        };
        let s = s.as_mut();
        budget.bytes = budget.bytes.saturating_sub(piece.len());
        let mut sink =
            FrameSink::new(&mut self.out, Pen::new(&self.shared.audit, self.who, stream, &s.profile, &mut s.audit));
        let mut report = None;
        if let Err(ended) = s.filter.push(piece, &mut self.scratch, &mut sink) {
            let mut last = s.filter.finish(&mut self.scratch, &mut sink);
            last.blocked_at.get_or_insert(ended.at);
            report = Some(last);
        }
        s.report = report.map(|r| Box::new(wire_report(&r, s.filter.received())));
        let dropped = if s.report.is_some() { std::mem::take(&mut s.pending).len() } else { 0 };
        let grant = s.input.consume(piece.len());
        let failed = sink.failed();
        let queued = spend(&mut self.tally, &mut s.output, sink);
        if failed {
            // Its findings are not on record: nothing of this push may leave.
            self.end_stream(stream, Code::AuditUnavailable, audit::REFUSED);
            self.taken(piece.len() + dropped);
            return;
        }
        self.tally.pushed(piece.len(), s.filter.held(), self.turn);
        if let Some(bytes) = grant.filter(|_| !s.finished && s.report.is_none()) {
            self.out.frame(&Frame::Credit(Credit { stream: Some(stream), bytes }));
        }
        self.taken(piece.len() + dropped);
        self.charge(stream, queued);
    }

    /// Does everything for a stream that needs no scanning of Data, and lists it if there is more to scan.
    pub(super) fn settle(&mut self, stream: StreamId, now: Instant) {
        let Some(s) = self.streams.get_mut(&stream) else {
            return;
        };
        let s = s.as_mut();
        if s.finished && s.pending.is_empty() && s.report.is_none() && !s.blocked() {
            let mut sink =
                FrameSink::new(&mut self.out, Pen::new(&self.shared.audit, self.who, stream, &s.profile, &mut s.audit));
            let last = s.filter.finish(&mut self.scratch, &mut sink);
            s.report = Some(Box::new(wire_report(&last, s.filter.received())));
            s.held_due = None;
            if sink.failed() {
                drop(sink.take_back());
                self.end_stream(stream, Code::AuditUnavailable, audit::REFUSED);
                return;
            }
            let queued = spend(&mut self.tally, &mut s.output, sink);
            if !self.charge(stream, queued) {
                return;
            }
        }
        let Some(s) = self.streams.get_mut(&stream) else {
            return;
        };
        if !s.queue.is_empty() {
            self.out.take_from(&mut s.queue, &mut s.output, stream);
            self.account.unbuffer(s.charged.saturating_sub(s.queue.len()));
            s.charged = s.charged.min(s.queue.len());
        }
        if s.queue.is_empty() {
            if let Some(report) = s.report.take() {
                self.shared.counters.streams_finished.add(1);
                if report.blocked_at.is_some() {
                    self.shared.counters.streams_blocked.add(1);
                }
                s.audit.ends(End::of(&report));
                self.out.frame(&Frame::Report(stream, *report));
                self.remove(stream);
                return;
            }
            let received = s.filter.received();
            if let Some(owed) = s.held_due.filter(|owed| owed.first <= received) {
                s.held_due = owed.behind(received);
                self.out.frame(&Frame::Held(stream, Held { received, held: s.filter.held() as u64 }));
            }
        }
        let waits = !s.queue.is_empty() || !s.pending.is_empty() || s.finished || s.report.is_some();
        if s.blocked() && waits {
            s.stalled.get_or_insert(now);
        } else if waits && !s.listed {
            s.listed = true;
            self.runnable.push_back(stream);
        }
    }

    /// Puts frames that the credit does not cover into the stream's queue, at the user's expense.
    fn charge(&mut self, stream: StreamId, queued: BytesMut) -> bool {
        if queued.is_empty() {
            return true;
        }
        let Some(s) = self.streams.get_mut(&stream) else {
            return false;
        };
        match self.account.buffer(queued.len()) {
            Ok(()) => {
                s.charged += queued.len();
                s.queue.unsplit(queued);
                true
            }
            Err(refusal) => {
                self.end_stream(stream, Code::BufferLimit, &refusal.to_string());
                false
            }
        }
    }

    /// Bytes of Data left the buffers: the connection's credit comes back.
    pub(super) fn taken(&mut self, bytes: usize) {
        if let Some(bytes) = self.window.consume(bytes) {
            self.out.frame(&Frame::Credit(Credit { stream: None, bytes }));
        }
    }

    pub(super) fn count(&mut self) {
        self.shared.counters.take(&mut self.tally);
    }
}

/// Counts what a sink took and spends the stream's credit on it. Returns the frames that it does not cover.
fn spend(tally: &mut Tally, window: &mut SendWindow, sink: FrameSink<'_>) -> BytesMut {
    tally.released(sink.released, &sink.findings);
    if !sink.failed() && sink.charged <= window.available() as usize {
        window.take(sink.charged);
        return BytesMut::new();
    }
    sink.take_back()
}

fn wire_report(r: &forebay_scan::Report, received: u64) -> Report {
    let reasons = r.reasons.iter().map(|x| Reason { code: name(&x.code), at: x.at });
    Report { complete: r.complete, blocked_at: r.blocked_at, received, more: r.more, reasons: reasons.collect() }
}
