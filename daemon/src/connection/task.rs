//! The task of a connection: one loop that moves bytes between the socket and the core, and keeps the times.
//!
//! There is no second task and no channel: reading, scanning and writing take turns, so a client that does not read
//! stops being read, and nothing has to be locked.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use forebay_wire::Code;
use forebay_wire::ring::Mapped;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::watch;

use super::core::{Core, Step};
use super::grant::{Grant, Passed};
use crate::quota::Account;
use crate::server::Shared;

/// How far the daemon is with leaving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) enum Drain {
    /// It stays.
    No,
    /// Open streams may finish.
    Finish,
    /// The grace time is over.
    Close,
}

/// Room made for one read, in bytes: two full frames, so that large pushes take one system call each and small ones
/// come hundreds at a time.
pub(super) const READ_ROOM: usize = 32 << 10;

/// How long the last error may take to reach a client that does not read.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves one connection until it ends.
pub(crate) async fn serve(
    socket: UnixStream,
    shared: Arc<Shared>,
    account: Account,
    pid: i32,
    drain: watch::Receiver<Drain>,
) {
    let id = shared.serial();
    let uid = account.uid();
    tracing::debug!(conn = id, uid, pid, "connected");
    let core = Core::new(Arc::clone(&shared), account, pid, id);
    let now = Instant::now();
    let times = Times { accepted: now, heard: now, wrote: now };
    let mut connection = Connection { core, socket, shared, drain, times, input: BytesMut::new(), offer: Offer::No };
    let left = match connection.run().await {
        Ok(Left::ForRing(memory)) => connection.run_on_ring(memory).await,
        left => left,
    };
    let lost = match left {
        Ok(Left::Closed | Left::ForRing(_)) => false,
        Ok(Left::PeerClosed) => {
            connection.core.streams() > 0 || !connection.input.is_empty() || !connection.core.welcomed()
        }
        Err(_) => true,
    };
    if lost {
        connection.shared.counters.connections_lost.add(1);
    }
    tracing::debug!(conn = id, uid, lost, streams = connection.core.streams(), "disconnected");
}

pub(super) struct Connection {
    pub(super) core: Core,
    pub(super) socket: UnixStream,
    pub(super) shared: Arc<Shared>,
    drain: watch::Receiver<Drain>,
    pub(super) times: Times,
    pub(super) input: BytesMut,
    offer: Offer,
}

/// A ring on its way to the client.
enum Offer {
    No,
    /// To be sent once the Welcome is.
    Granted(Grant),
    /// Sent; the client has not taken it, and never may.
    Sent(Mapped),
}

pub(super) struct Times {
    accepted: Instant,
    /// Bytes arrived.
    pub(super) heard: Instant,
    /// The write buffer was empty, or got shorter.
    pub(super) wrote: Instant,
}

/// Why the socket's, or the ring's, loop ended.
pub(super) enum Left {
    Closed,
    PeerClosed,
    /// Everything that the socket had to carry is sent: on with the ring.
    ForRing(Mapped),
}

impl Connection {
    async fn run(&mut self) -> io::Result<Left> {
        loop {
            self.heed_drain();
            let now = Instant::now();
            let step = self.core.run(&mut self.input, now);
            if step == Step::RingWanted {
                let grant = Grant::make(&self.shared, &mut self.core.account);
                self.core.welcome(grant.is_some());
                self.offer = grant.map_or(Offer::No, Offer::Granted);
                continue;
            }
            self.write(now)?;
            self.send_offer()?;
            let unsent = self.core.output().len() > 0;
            match step {
                Step::Closing if !unsent => return Ok(Left::Closed),
                Step::Closing => {
                    let late = tokio::time::timeout(LAST_WORDS, self.write_all()).await;
                    return late.unwrap_or(Ok(())).map(|()| Left::Closed);
                }
                // Whether there is more to do or just room again: go on, after the others had a turn.
                Step::Again => {
                    tokio::task::yield_now().await;
                    continue;
                }
                Step::OutputFull if !unsent => continue,
                Step::OutputFull => self.wait(Interest::WRITABLE).await?,
                Step::ToRing if unsent => self.wait(Interest::WRITABLE).await?,
                Step::ToRing => {
                    let Offer::Sent(memory) = std::mem::replace(&mut self.offer, Offer::No) else {
                        debug_assert!(false, "a ring that was never offered cannot be taken");
                        return Ok(Left::Closed);
                    };
                    self.core.account.ring_passed();
                    return Ok(Left::ForRing(memory));
                }
                // Answered above.
                Step::RingWanted => {}
                Step::NeedInput => {
                    if self.read(now)? {
                        return Ok(Left::PeerClosed);
                    }
                    if self.times.heard == now {
                        // Something came; the buffers' turn. Yielding keeps a client that never pauses from owning
                        // the thread.
                        tokio::task::yield_now().await;
                        continue;
                    }
                    let interest = if unsent { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
                    self.wait(interest).await?;
                }
            }
        }
    }

    /// Does what the daemon's end asks of a connection. Not between the socket's last frames and the ring's first.
    pub(super) fn heed_drain(&mut self) {
        let drain = *self.drain.borrow();
        if drain >= Drain::Finish && !self.core.leaves_socket() {
            self.core.drain();
        }
        if drain == Drain::Close {
            self.core.fail(Code::Draining, "the daemon is shutting down and its grace time is over");
        }
    }

    /// Sends the ring that was granted, once everything before it is sent.
    fn send_offer(&mut self) -> io::Result<()> {
        if !matches!(self.offer, Offer::Granted(_)) || self.core.output().len() > 0 {
            return Ok(());
        }
        if let Offer::Granted(grant) = std::mem::replace(&mut self.offer, Offer::No) {
            self.offer = match grant.pass(&self.socket, &self.shared, &mut self.core.account)? {
                Passed::Yes(memory) => {
                    self.core.ring_offered();
                    Offer::Sent(memory)
                }
                Passed::Full(grant) => Offer::Granted(grant),
                Passed::No => Offer::No,
            };
        }
        Ok(())
    }

    /// Reads once. True at the end of the byte stream.
    fn read(&mut self, now: Instant) -> io::Result<bool> {
        self.input.reserve(READ_ROOM);
        match self.socket.try_read_buf(&mut self.input) {
            Ok(0) => Ok(true),
            Ok(_) => {
                self.times.heard = now;
                Ok(false)
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Writes what the socket takes.
    fn write(&mut self, now: Instant) -> io::Result<()> {
        let output = self.core.output();
        if output.len() == 0 {
            self.times.wrote = now;
        }
        while output.len() > 0 {
            match self.socket.try_write(output.bytes()) {
                Ok(n) => {
                    output.advance(n);
                    self.times.wrote = now;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    pub(super) async fn write_all(&mut self) -> io::Result<()> {
        while self.core.output().len() > 0 {
            self.socket.writable().await?;
            self.write(Instant::now())?;
        }
        Ok(())
    }

    /// Waits for the socket, a time, or the daemon's end.
    pub(super) async fn wait(&mut self, interest: Interest) -> io::Result<()> {
        let deadline = self.deadline(Instant::now());
        tokio::select! {
            ready = self.socket.ready(interest) => ready.map(|_| ()),
            () = tokio::time::sleep_until(deadline.into()) => {
                self.on_time(Instant::now());
                Ok(())
            }
            changed = self.drain.changed() => {
                // The sender lives as long as the server; gone, it means the same as the end of the grace time.
                if changed.is_err() {
                    self.core.fail(Code::Draining, "the daemon is shutting down");
                }
                Ok(())
            }
        }
    }

    fn deadline(&mut self, now: Instant) -> Instant {
        let t = &self.shared.config.timeouts;
        let mut next = self.times.heard + t.idle;
        if !self.core.welcomed() {
            next = next.min(self.times.accepted + t.handshake);
        }
        if self.core.output().len() > 0 {
            next = next.min(self.times.wrote + t.stall);
        }
        if self.core.streams() > 0 {
            // Stalled streams are looked for a few times per timeout: no timer per stream.
            next = next.min(now + t.stall / 4);
        }
        next.max(now + Duration::from_millis(1))
    }

    fn on_time(&mut self, now: Instant) {
        let t = self.shared.config.timeouts.clone();
        if !self.core.welcomed() && now >= self.times.accepted + t.handshake {
            self.core.fail(Code::HandshakeTimeout, "no whole Hello arrived in time; send it right after connecting");
        } else if now >= self.times.heard + t.idle {
            self.core.fail(Code::IdleTimeout, "nothing arrived for too long; send a Ping now and then");
        } else if self.core.output().len() > 0 && now >= self.times.wrote + t.stall {
            self.core.fail(Code::WriteStall, "the client did not read for too long; read while you write");
        } else if self.core.leaves_socket() {
            // An error of a stream has its place on the ring: it is found a little later.
        } else if let Some(since) = now.checked_sub(t.stall) {
            self.core.end_stalled(since);
        }
    }
}
