//! The state of one stream. Idle it is a filter and a few numbers: no buffer, no timer, no task.

use std::sync::Arc;
use std::time::Instant;

use bytes::{Buf, BytesMut};
use forebay_scan::StreamFilter;
use forebay_wire::{ReceiveWindow, Report, SendWindow};

use crate::audit::StreamLog;
use crate::profiles::ServedProfile;

/// One stream. Two buffers, both empty while the client keeps up: `pending` is Data that may not be scanned yet,
/// `queue` is output that the client's credit does not cover yet.
pub(super) struct Stream {
    pub(super) filter: StreamFilter,
    /// Kept so that a reload never changes the rules under a stream.
    pub(super) profile: Arc<ServedProfile>,
    pub(super) input: ReceiveWindow,
    pub(super) output: SendWindow,
    pub(super) pending: BytesMut,
    pub(super) queue: BytesMut,
    /// Bytes of `queue` that are charged to the user.
    pub(super) charged: usize,
    /// A Held frame is owed once so many bytes are scanned and what they let go is sent.
    pub(super) held_due: Option<Owed>,
    /// Finish arrived.
    pub(super) finished: bool,
    /// The filter is done; the report waits for the queue.
    pub(super) report: Option<Box<Report>>,
    /// Since when the client's credit is what the stream waits for.
    pub(super) stalled: Option<Instant>,
    /// Stands in the connection's list of streams that can go on.
    pub(super) listed: bool,
    /// What the audit log remembers of it.
    pub(super) audit: StreamLog,
}

/// Where in the input the Syncs stand that were not answered: the first and the last. A client that goes on sending
/// gets its answer when the first one is reached, not when it stops.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owed {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Owed {
    /// What is still owed once a Held has said that `received` bytes are scanned.
    pub(super) fn behind(self, received: u64) -> Option<Owed> {
        (self.last > received).then_some(Owed { first: self.last, last: self.last })
    }
}

/// Longest piece that one push scans, in bytes, whatever arrives: the time between two looks at other connections.
const MAX_PIECE: usize = forebay_wire::MAX_PAYLOAD;

/// Shortest piece that a small credit cuts the input to. Output is about as long as input on clean text, so pieces
/// no longer than the credit rarely leave anything in the queue; below this it would cost more than it saves.
const MIN_PIECE: usize = 256;

impl Stream {
    /// Data must wait: earlier bytes do, or there is no credit for what it would release.
    pub(super) fn blocked(&self) -> bool {
        !self.queue.is_empty() || self.output.available() == 0
    }

    /// How many of `waiting` bytes to scan next.
    pub(super) fn piece(&self, waiting: usize) -> usize {
        let credit = self.output.available() as usize;
        waiting.min(MAX_PIECE).min(credit.max(MIN_PIECE))
    }

    /// Takes the next piece of `pending`.
    pub(super) fn take_pending(&mut self) -> BytesMut {
        let n = self.piece(self.pending.len());
        if n == self.pending.len() {
            return std::mem::take(&mut self.pending);
        }
        let piece = BytesMut::from(&self.pending[..n]);
        self.pending.advance(n);
        piece
    }
}
