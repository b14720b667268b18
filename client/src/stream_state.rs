//! One stream as the client sees it, without I/O: what was sent, what came back, and what a failure means for it.
//!
//! # Failing open without losing or repeating a byte
//! Output is not input: a token replaces a span, so the released bytes do not tell where in the input they end. A Held
//! frame does: everything of `received - held` bytes has been released or replaced. Under [`FailPolicy::Open`] output
//! is therefore *staged* until the next Held commits it, and input is *retained* until a Held has accounted for it.
//! When the daemon fails, what is staged is dropped and what is retained passes unscanned.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use forebay_wire::{Finding, Held, ReceiveWindow, Report, SendWindow};

use crate::error::Error;
use crate::options::FailPolicy;

/// What comes back for a stream, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Bytes that may pass.
    Released(Bytes),
    /// Bytes that pass because the daemon failed and the policy is [`FailPolicy::Open`]. Nobody looked at them.
    Unscanned(Bytes),
    /// A rule matched.
    Finding(Finding),
    /// The end: nothing follows.
    End(Summary),
}

/// What is to say about a stream at its end.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Summary {
    /// The daemon's report; `None` if it failed before.
    pub report: Option<Report>,
    /// Set if the daemon failed under [`FailPolicy::Open`]: what came after that place passed unscanned.
    pub unscanned: Option<Unscanned>,
}

/// Bytes that nobody looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unscanned {
    /// Input offset of the first of them, in bytes; the stream's length if there are none.
    pub from: u64,
    /// Why.
    pub why: String,
}

/// Bound on staged output, in bytes. The daemon answers a Sync after at most one window of input (64 KiB), and no
/// output of that is near 4 MiB: more is a daemon that does not keep the protocol.
const MAX_STAGED: usize = 4 << 20;

#[derive(Debug)]
pub(crate) struct StreamState {
    policy: FailPolicy,
    pub(crate) send: SendWindow,
    receive: ReceiveWindow,
    /// Bytes of Data sent.
    pub(crate) sent: u64,
    pub(crate) finished: bool,
    /// The last Held.
    pub(crate) held: Held,
    /// A Sync is on its way.
    pub(crate) syncing: bool,
    queue: VecDeque<Item>,
    /// Payload bytes in `queue`, and how many of them are not granted again.
    queued: usize,
    ungranted: usize,
    /// Payload bytes that the reader took and that can be granted again.
    returnable: usize,
    window: usize,
    staged: VecDeque<Item>,
    staged_bytes: usize,
    staged_ungranted: usize,
    retained: BytesMut,
    retained_from: u64,
    end: End,
}

#[derive(Debug)]
enum Item {
    Released(BytesMut),
    Unscanned(BytesMut),
    Finding(Finding),
}

#[derive(Debug)]
enum End {
    /// The daemon has the stream.
    Live,
    /// The report is here.
    Reported(Report),
    /// Failed under `Closed`, or a mistake of the caller.
    Failed(Error),
    /// Failed under `Open`: what is written passes.
    Bypass(Unscanned),
}

impl StreamState {
    pub(crate) fn new(policy: FailPolicy, input_window: u32, output_window: u32) -> Self {
        StreamState {
            policy,
            send: SendWindow::new(input_window),
            receive: ReceiveWindow::new(output_window),
            sent: 0,
            finished: false,
            held: Held { received: 0, held: 0 },
            syncing: false,
            queue: VecDeque::new(),
            queued: 0,
            ungranted: 0,
            returnable: 0,
            window: output_window as usize,
            staged: VecDeque::new(),
            staged_bytes: 0,
            staged_ungranted: 0,
            retained: BytesMut::new(),
            retained_from: 0,
            end: End::Live,
        }
    }

    /// The daemon still has the stream.
    pub(crate) fn live(&self) -> bool {
        matches!(self.end, End::Live)
    }

    /// Whether bytes pass by the daemon.
    pub(crate) fn bypassed(&self) -> bool {
        matches!(self.end, End::Bypass(_))
    }

    /// Whether [`StreamState::next`] has something to say.
    pub(crate) fn has_events(&self) -> bool {
        !self.queue.is_empty()
            || match &self.end {
                End::Live => false,
                End::Bypass(_) => self.finished,
                End::Reported(_) | End::Failed(_) => true,
            }
    }

    /// Why nothing more can be written, if so.
    pub(crate) fn write_error(&self) -> Option<Error> {
        match &self.end {
            _ if self.finished => Some(Error::Finished),
            End::Live | End::Bypass(_) => None,
            End::Reported(r) => Some(r.blocked_at.map_or(Error::Finished, |at| Error::Blocked { at })),
            End::Failed(e) => Some(e.clone()),
        }
    }

    /// Bytes were sent.
    pub(crate) fn sending(&mut self, bytes: &[u8]) {
        self.sent += bytes.len() as u64;
        if self.policy == FailPolicy::Open {
            self.retained.extend_from_slice(bytes);
        }
    }

    /// Bytes are written to a stream that is bypassed: they go straight to the reader.
    pub(crate) fn bypass(&mut self, bytes: &[u8]) {
        self.sent += bytes.len() as u64;
        push_unscanned(&mut self.queue, bytes);
        self.queued += bytes.len();
    }

    /// Whether the stream wants a Sync now: to commit what is staged, one at a time.
    pub(crate) fn wants_sync(&self) -> bool {
        self.policy == FailPolicy::Open
            && self.live()
            && !self.finished
            && !self.syncing
            && self.held.received < self.sent
    }

    pub(crate) fn released(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.arrived(bytes.len())?;
        let queue = if self.policy == FailPolicy::Open { &mut self.staged } else { &mut self.queue };
        match queue.back_mut() {
            // Joined, not kept as a slice: a slice of a small frame would keep a whole read buffer alive.
            Some(Item::Released(last)) => last.extend_from_slice(bytes),
            _ => queue.push_back(Item::Released(BytesMut::from(bytes))),
        }
        Ok(())
    }

    pub(crate) fn finding(&mut self, finding: Finding) -> Result<(), Error> {
        self.arrived(finding.payload_len())?;
        let queue = if self.policy == FailPolicy::Open { &mut self.staged } else { &mut self.queue };
        queue.push_back(Item::Finding(finding));
        Ok(())
    }

    pub(crate) fn caught_up(&mut self, held: Held) -> Result<(), Error> {
        if held.held > held.received || held.received > self.sent || held.received < self.held.received {
            return Err(Error::Protocol("a Held frame that does not fit what was sent".to_owned()));
        }
        self.held = held;
        self.syncing = false;
        if self.policy == FailPolicy::Open {
            let accounted = held.received - held.held;
            let done = usize::try_from(accounted.saturating_sub(self.retained_from)).unwrap_or(usize::MAX);
            let _ = self.retained.split_to(done.min(self.retained.len()));
            self.retained_from = self.retained_from.max(accounted);
            self.commit();
        }
        Ok(())
    }

    pub(crate) fn reported(&mut self, report: Report) -> Result<(), Error> {
        if report.received > self.sent || (report.blocked_at.is_none() && !self.finished) {
            return Err(Error::Protocol("a Report of a stream that was not finished".to_owned()));
        }
        self.commit();
        self.retained = BytesMut::new();
        self.held = Held { received: report.received, held: 0 };
        self.end = End::Reported(report);
        Ok(())
    }

    /// The daemon or the connection failed.
    pub(crate) fn fail(&mut self, error: &Error) {
        if !self.live() {
            return;
        }
        if self.policy == FailPolicy::Closed || !error.is_failure() {
            self.end = End::Failed(error.clone());
            return;
        }
        self.staged.clear();
        self.staged_bytes = 0;
        let rest = std::mem::take(&mut self.retained);
        if !rest.is_empty() {
            push_unscanned(&mut self.queue, &rest);
            self.queued += rest.len();
        }
        self.end = End::Bypass(Unscanned { from: self.retained_from, why: error.to_string() });
    }

    /// One half is gone before the end: the other must not wait for it.
    pub(crate) fn give_up(&mut self) {
        if self.live() || (self.bypassed() && !self.finished) {
            self.end = End::Failed(Error::GivenUp);
        }
    }

    /// The next event with at most `max` bytes of content; `Ok(None)` if there is none yet.
    pub(crate) fn next(&mut self, max: usize) -> Result<Option<Event>, Error> {
        if let Some(item) = self.queue.pop_front() {
            let event = match item {
                Item::Finding(f) => {
                    self.took(f.payload_len());
                    return Ok(Some(Event::Finding(f)));
                }
                Item::Released(mut bytes) => {
                    let head = bytes.split_to(max.min(bytes.len())).freeze();
                    if !bytes.is_empty() {
                        self.queue.push_front(Item::Released(bytes));
                    }
                    Event::Released(head)
                }
                Item::Unscanned(mut bytes) => {
                    let head = bytes.split_to(max.min(bytes.len())).freeze();
                    if !bytes.is_empty() {
                        self.queue.push_front(Item::Unscanned(bytes));
                    }
                    Event::Unscanned(head)
                }
            };
            if let Event::Released(b) | Event::Unscanned(b) = &event {
                self.took(b.len());
            }
            return Ok(Some(event));
        }
        match &self.end {
            End::Live => Ok(None),
            End::Failed(e) => Err(e.clone()),
            End::Reported(r) => Ok(Some(Event::End(Summary { report: Some(r.clone()), unscanned: None }))),
            End::Bypass(u) if self.finished => {
                Ok(Some(Event::End(Summary { report: None, unscanned: Some(u.clone()) })))
            }
            End::Bypass(_) => Ok(None),
        }
    }

    /// Credit to grant now, if any.
    pub(crate) fn grant(&mut self) -> Option<u32> {
        if !self.live() {
            return None;
        }
        // Staged output cannot be taken by the reader yet, and the Held that commits it may be waiting for credit. So
        // it is granted again early, as long as the reader keeps up with what is committed.
        if self.queued < self.window {
            self.returnable += std::mem::take(&mut self.staged_ungranted);
        }
        self.receive.consume(std::mem::take(&mut self.returnable))
    }

    fn arrived(&mut self, bytes: usize) -> Result<(), Error> {
        self.receive.receive(bytes).map_err(|e| Error::Protocol(e.to_string()))?;
        match self.policy {
            FailPolicy::Closed => {
                self.queued += bytes;
                self.ungranted += bytes;
            }
            FailPolicy::Open => {
                self.staged_bytes += bytes;
                self.staged_ungranted += bytes;
                if self.staged_bytes > MAX_STAGED {
                    return Err(Error::Protocol("far more output than its input can make".to_owned()));
                }
            }
        }
        Ok(())
    }

    /// The staged output is accounted for: the reader may have it.
    fn commit(&mut self) {
        self.queued += std::mem::take(&mut self.staged_bytes);
        self.ungranted += std::mem::take(&mut self.staged_ungranted);
        self.queue.append(&mut self.staged);
    }

    /// The reader took `bytes` of the queue.
    fn took(&mut self, bytes: usize) {
        self.queued = self.queued.saturating_sub(bytes);
        let n = bytes.min(self.ungranted);
        self.ungranted -= n;
        self.returnable += n;
    }
}

fn push_unscanned(queue: &mut VecDeque<Item>, bytes: &[u8]) {
    match queue.back_mut() {
        Some(Item::Unscanned(last)) => last.extend_from_slice(bytes),
        _ => queue.push_back(Item::Unscanned(BytesMut::from(bytes))),
    }
}
