//! Granting a ring: charging it to the client's user, making its memory, and passing its files.
//!
//! Without a ring a connection is served all the same, over the socket; so nothing that fails here ends it. The files are
//! open in this process only until they are sent: afterwards the mappings are all that is left of them.

use std::io;

use bytes::BytesMut;
use forebay_wire::ring::{HEADER, Mapped, RingFiles, send_files};
use forebay_wire::{Frame, RingOffer};
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::quota::Account;
use crate::server::Shared;

/// A ring that is paid for and not passed yet.
pub(super) struct Grant {
    files: RingFiles,
    memory: Mapped,
}

/// What came of passing it.
pub(super) enum Passed {
    /// The client has both files, or will have them when it reads its socket.
    Yes(Mapped),
    /// Its socket is full: try again.
    Full(Grant),
    /// The kernel does not pass them: it is served over the socket.
    No,
}

impl Grant {
    /// A ring for a client, if its user may have one more and the kernel has the memory.
    pub(super) fn make(shared: &Shared, account: &mut Account) -> Option<Grant> {
        let bytes = shared.config.limits.ring_bytes;
        let made = match account.open_ring(charge(bytes)) {
            Err(refusal) => Err(refusal.to_string()),
            Ok(()) => RingFiles::create(bytes, bytes).map_err(|e| {
                account.close_ring(charge(bytes));
                e.to_string()
            }),
        };
        match made {
            Ok((files, memory)) => Some(Grant { files, memory }),
            Err(why) => {
                shared.counters.rings_refused.add(1);
                tracing::debug!(uid = account.uid(), "no ring: {why}");
                None
            }
        }
    }

    /// Sends the offer with both files at its first byte. Everything before it must have been sent.
    pub(super) fn pass(self, socket: &UnixStream, shared: &Shared, account: &mut Account) -> io::Result<Passed> {
        let (to_daemon, to_client) = self.files.capacities;
        let mut frame = BytesMut::new();
        forebay_wire::encode(&Frame::RingOffer(RingOffer { to_daemon, to_client }), &mut frame)
            .map_err(io::Error::other)?;
        match socket.try_io(Interest::WRITABLE, || send_files(socket, &frame, &self.files)) {
            Ok(n) if n == frame.len() => {
                shared.counters.rings_granted.add(1);
                Ok(Passed::Yes(self.memory))
            }
            // A Unix socket takes a message of this size whole or not at all.
            Ok(_) => Err(io::ErrorKind::WriteZero.into()),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Passed::Full(self)),
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(e),
            Err(e) => {
                shared.counters.rings_refused.add(1);
                tracing::debug!(uid = account.uid(), error = %e, "the ring's files were not passed");
                account.close_ring(charge(to_daemon));
                Ok(Passed::No)
            }
        }
    }
}

/// What a ring of `bytes` in each direction takes of memory.
fn charge(bytes: u32) -> usize {
    2 * (HEADER + bytes as usize)
}
