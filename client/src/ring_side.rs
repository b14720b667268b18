//! The client's side of a ring, without a loop: from the daemon's offer to passes over shared memory.
//!
//! Both flavours drive it as they drive a socket: [`RingSide::pass`] is one read and one write. How they wait differs, and
//! stands with them. The daemon on the other side is not trusted to keep the protocol: files that are not sealed as a
//! daemon seals them are never mapped, an index that cannot be is an [`Error`] that fails the connection.

use std::os::fd::{AsFd, OwnedFd};

use bytes::{Buf, BytesMut};
use forebay_wire::ring::{Bell, End, Mapped, Park, Paused, Ring, RingFiles, Violation, Waiter, Want, Woken, send_wake};
use forebay_wire::{Frame, HEADER_LEN, MAX_PAYLOAD, RingOffer, StreamId, data_header};

use crate::core::Core;
use crate::error::Error;

/// Room for one read, in bytes.
const READ_ROOM: usize = 32 << 10;

/// How the frames of a connection travel.
#[derive(Debug)]
pub(crate) enum Road {
    /// Over the socket.
    Socket,
    /// Our RingReady is among the next so many bytes to be sent, the last that the socket carries; the daemon's is
    /// awaited. What is to be sent meanwhile waits.
    Changing(RingSide, usize),
    /// Through the ring.
    Ring(RingSide),
}

/// The two files that came with an offer, to the daemon first.
pub(crate) type Files = [OwnedFd; 2];

#[derive(Debug)]
pub(crate) struct RingSide {
    end: End<Mapped>,
    waiter: Waiter,
    /// Bytes of the socket behind the daemon's RingReady: Wake frames, and the error that ends the connection.
    control: BytesMut,
    closed: bool,
}

impl Road {
    /// Takes the ring that the daemon offered, if it did and the ring is fit to be used: then a RingReady is in the core's
    /// write buffer. An offer that is not fit is left alone: everything stays on the socket, and this says why.
    pub(crate) fn take_offer(&mut self, core: &mut Core, files: &mut Option<Files>) -> Result<(), Error> {
        let Some(RingOffer { to_daemon, to_client }) = core.take_offer() else {
            return Ok(());
        };
        // They came with the offer's first byte, so with or before the rest of it.
        let [read_by_daemon, written_by_daemon] =
            files.take().ok_or_else(|| Error::NoRing("the daemon offered a ring without its files".to_owned()))?;
        let files =
            RingFiles { to_daemon: read_by_daemon, to_client: written_by_daemon, capacities: (to_daemon, to_client) };
        let memory = files.accept().map_err(|e| Error::NoRing(e.to_string()))?;
        core.accept_ring()?;
        let left = core.out.len();
        let end = End::new(memory);
        *self =
            Road::Changing(RingSide { end, waiter: Waiter::default(), control: BytesMut::new(), closed: false }, left);
        Ok(())
    }

    /// How many bytes of `out` the socket may carry.
    pub(crate) fn for_socket(&self, out: usize) -> usize {
        match self {
            Road::Socket => out,
            Road::Changing(_, left) => *left,
            Road::Ring(_) => 0,
        }
    }

    /// What the socket has to carry stands elsewhere, and is so many bytes.
    pub(crate) fn set_left(&mut self, bytes: usize) {
        if let Road::Changing(_, left) = self {
            *left = bytes;
        }
    }

    /// The socket carried so many bytes.
    pub(crate) fn sent(&mut self, bytes: usize) {
        if let Road::Changing(_, left) = self {
            *left -= bytes;
        }
    }

    /// The daemon's RingReady came: what is left in `input` is not for the core. A daemon that sends it before it can
    /// have ours breaks the protocol.
    pub(crate) fn ready(&mut self, core: &mut Core, input: &mut BytesMut) -> Result<(), Error> {
        match std::mem::replace(self, Road::Socket) {
            Road::Changing(mut side, 0) => {
                side.control = std::mem::take(input);
                *self = Road::Ring(side);
                core.on_ring();
                Ok(())
            }
            _ => Err(Error::Protocol("it sent RingReady before the ring was taken".to_owned())),
        }
    }
}

impl RingSide {
    /// Reads what is there for the core, writes what it has to say, tells the daemon of both. True if anything came.
    pub(crate) fn pass(&mut self, core: &mut Core, input: &mut BytesMut, socket: impl AsFd) -> Result<bool, Error> {
        let came = self.read(input)?;
        if came {
            core.receive(input);
        }
        if core.failure().is_none() {
            self.write(&mut core.out, socket)?;
        }
        Ok(came)
    }

    /// Reads what is there. True if anything is.
    pub(crate) fn read(&mut self, input: &mut BytesMut) -> Result<bool, Error> {
        if self.end.readable() == 0 {
            self.end.refresh().map_err(broken)?;
        }
        input.reserve(READ_ROOM);
        Ok(self.end.read(input, READ_ROOM) > 0)
    }

    /// Writes what there is room for, and publishes. True if anything went.
    pub(crate) fn write(&mut self, out: &mut BytesMut, socket: impl AsFd) -> Result<bool, Error> {
        let before = out.len();
        if before > 0 {
            if self.end.room() < before.try_into().unwrap_or(u32::MAX) {
                self.end.refresh().map_err(broken)?;
            }
            let n = self.end.write(out);
            out.advance(n);
        }
        match self.end.publish() {
            Ring::No => {}
            Ring::Futex => self.end.memory().wake(),
            // One that is gone is noticed at the next look at the socket.
            Ring::Socket => self.closed |= send_wake(socket).is_err(),
        }
        Ok(out.len() < before)
    }

    /// Writes Data frames where the daemon reads them: the one copy that a push needs. What finds no room waits in `out`,
    /// which must have been empty.
    pub(crate) fn put_data(&mut self, stream: StreamId, bytes: &[u8], out: &mut BytesMut) {
        debug_assert!(out.is_empty(), "what waits goes first");
        let mut pieces = bytes.chunks(MAX_PAYLOAD);
        for piece in pieces.by_ref() {
            let header = data_header(stream, piece.len());
            let n = self.end.write(&header);
            let m = if n == HEADER_LEN { self.end.write(piece) } else { 0 };
            out.extend_from_slice(&header[n..]);
            out.extend_from_slice(&piece[m..]);
            if !out.is_empty() {
                break;
            }
        }
        for piece in pieces {
            forebay_wire::put_data(stream, piece, out);
        }
    }

    /// What to wait for: an answer, and room for what could not be written.
    fn want(out: usize) -> Want {
        Want { data: true, room: out.try_into().unwrap_or(u32::MAX) }
    }

    /// Waits for the daemon, on a word of the ring. True if there is something to do, false if it is time to look at the
    /// socket.
    pub(crate) fn wait(&mut self, out: usize) -> Result<bool, Error> {
        Ok(self.waiter.wait(&mut self.end, Self::want(out)).map_err(broken)? == Woken::Ready)
    }

    /// A slice of a pause.
    pub(crate) fn pause_for(&mut self, out: usize, slice: u32) -> Result<Paused, Error> {
        self.waiter.pause_for(&mut self.end, Self::want(out), slice).map_err(broken)
    }

    /// Announces a sleep on the socket. False if there is something to do.
    pub(crate) fn park(&mut self, out: usize) -> Result<bool, Error> {
        Ok(matches!(self.end.park(Self::want(out), Bell::Socket).map_err(broken)?, Park::Sleep { .. }))
    }

    pub(crate) fn unpark(&mut self) {
        self.end.unpark();
    }

    /// Where bytes of the socket go.
    pub(crate) fn control(&mut self) -> &mut BytesMut {
        &mut self.control
    }

    /// The socket is at its end; what the daemon published before is still there to be read.
    pub(crate) fn closed(&mut self) {
        self.closed = true;
    }

    /// Whether the daemon is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Works on what came over the socket: Wake frames, which say nothing more, and the error that ends the connection.
    pub(crate) fn heed(&mut self) -> Result<(), Error> {
        loop {
            match forebay_wire::decode(&mut self.control) {
                Ok(None) => return Ok(()),
                Ok(Some(Frame::Wake)) => {}
                Ok(Some(Frame::Error(e))) if e.stream.is_none() => {
                    return Err(Error::Daemon { code: e.code, message: e.message });
                }
                Ok(Some(other)) => {
                    let what = other.frame_type().as_str();
                    return Err(Error::Protocol(format!("it sent {what} over the socket after RingReady")));
                }
                Err(e) => return Err(Error::Protocol(e.to_string())),
            }
        }
    }
}

fn broken(violation: Violation) -> Error {
    Error::Protocol(violation.to_string())
}
