//! The task behind an async connection: moves bytes between the socket and the core, and wakes who waits.
//!
//! Handles never touch the socket. They change the core under a lock that is held for a few memory operations and
//! never across an await, and tell the driver that there is work.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use forebay_wire::StreamId;
use forebay_wire::ring::{Paused, receive_files};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::Notify;

use crate::core::Core;
use crate::error::Error;
use crate::options::{ConnectOptions, Transport};
use crate::ring_side::{Files, Road};

/// Room for one read, in bytes.
const READ_ROOM: usize = 32 << 10;

/// Longest pause in one piece, in nanoseconds: an answer that comes at once comes within it; beyond it other tasks go first.
const PAUSE: u32 = 3_000;

/// What handles and driver share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    work: Notify,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) core: Core,
    readers: HashMap<StreamId, Waker>,
    writers: HashMap<StreamId, Waker>,
    waiting: Vec<Waker>,
    /// Every handle is gone.
    abandoned: bool,
}

impl Shared {
    pub(crate) fn new(core: Core) -> Arc<Self> {
        let state =
            State { core, readers: HashMap::new(), writers: HashMap::new(), waiting: Vec::new(), abandoned: false };
        Arc::new(Shared { state: Mutex::new(state), work: Notify::new() })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // The core keeps its own invariants between calls, and no call panics half-way on what a peer sent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There may be frames to write.
    pub(crate) fn notify(&self) {
        self.work.notify_one();
    }

    /// The last handle is gone: the driver ends once everything is written.
    pub(crate) fn abandon(&self) {
        self.lock().abandoned = true;
        self.notify();
    }

    fn fail(&self, error: Error) {
        let mut state = self.lock();
        state.core.fail(error);
        state.wake();
    }
}

impl State {
    /// Wakes this task when the stream has something to read.
    pub(crate) fn await_reading(&mut self, id: StreamId, waker: &Waker) {
        self.readers.insert(id, waker.clone());
    }

    /// Wakes this task when the stream's credit or progress changes.
    pub(crate) fn await_writing(&mut self, id: StreamId, waker: &Waker) {
        self.writers.insert(id, waker.clone());
    }

    /// Wakes this task when something happens to the connection.
    pub(crate) fn await_connection(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|w| w.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }

    /// Closes a stream and forgets who waited for it.
    pub(crate) fn close(&mut self, id: StreamId) {
        self.core.close(id);
        self.readers.remove(&id);
        self.writers.remove(&id);
    }

    /// Wakes whoever waits for what was touched.
    pub(crate) fn wake(&mut self) {
        let (streams, connection) = self.core.take_touched();
        for id in streams {
            for waker in [self.readers.remove(&id), self.writers.remove(&id)].into_iter().flatten() {
                waker.wake();
            }
        }
        if connection {
            self.waiting.drain(..).for_each(Waker::wake);
        }
    }
}

/// Runs a connection until it fails or nobody needs it any more.
pub(crate) async fn drive(socket: UnixStream, shared: Arc<Shared>, options: ConnectOptions) {
    // A runtime that shuts down drops this future: whoever still waits must learn it.
    let guard = FailOnDrop(Arc::clone(&shared));
    let driver = Driver {
        socket,
        shared,
        timeout: options.timeout,
        input: BytesMut::new(),
        out: BytesMut::new(),
        deaf: false,
        road: Road::Socket,
        files: None,
        chunk: vec![0; READ_ROOM].into(),
        needs_ring: options.transport == Transport::Ring,
    };
    let error = driver.run().await.err().unwrap_or(Error::Closed);
    guard.0.fail(error);
}

struct FailOnDrop(Arc<Shared>);

impl Drop for FailOnDrop {
    fn drop(&mut self) {
        self.0.fail(Error::Closed);
    }
}

struct Driver {
    socket: UnixStream,
    shared: Arc<Shared>,
    timeout: Duration,
    input: BytesMut,
    out: BytesMut,
    /// The daemon does not read any more; it may still have said why.
    deaf: bool,
    road: Road,
    /// Files that came before the whole of their offer.
    files: Option<Files>,
    chunk: Box<[u8]>,
    needs_ring: bool,
}

/// When something was last heard, and whether anything is due.
struct Patience {
    heard: Instant,
    expecting: bool,
    pinged: bool,
}

impl Patience {
    fn heard(&mut self) {
        self.heard = Instant::now();
        self.pinged = false;
    }

    /// When to do something about a daemon that says nothing.
    fn over(&self, timeout: Duration) -> Instant {
        self.heard + if self.pinged { timeout } else { timeout / 2 }
    }
}

impl Driver {
    async fn run(mut self) -> Result<(), Error> {
        let mut patience = Patience { heard: Instant::now(), expecting: false, pinged: false };
        loop {
            let expects = {
                let mut state = self.shared.lock();
                // What is for the socket goes first, to its last byte: the core appends meanwhile.
                if self.out.is_empty() && !matches!(self.road, Road::Changing(..)) {
                    self.out = state.core.out.split();
                }
                if self.out.is_empty() && state.abandoned && state.core.is_empty() {
                    return Ok(());
                }
                state.core.expects()
            };
            if expects && !patience.expecting {
                patience.heard();
            }
            patience.expecting = expects;
            let moved = match self.road {
                Road::Ring(_) => self.pass()?,
                Road::Socket | Road::Changing(..) => {
                    let wrote = self.write()?;
                    let read = self.read()?;
                    if read {
                        self.receive()?;
                    }
                    Moved { read, wrote: wrote && self.out.is_empty() }
                }
            };
            if moved.read {
                patience.heard();
            }
            if moved.read || moved.wrote {
                tokio::task::yield_now().await;
                continue;
            }
            if self.sleep(&patience).await? {
                if patience.heard.elapsed() >= self.timeout {
                    return Err(Error::Timeout(self.timeout));
                }
                // A slow stream is no fault; a daemon that does not even answer a Ping is.
                if patience.heard.elapsed() >= self.timeout / 2 && !patience.pinged {
                    patience.pinged = true;
                    self.shared.lock().core.ping();
                }
            }
        }
    }

    /// Waits until there may be something to do. True if the daemon has said nothing for too long.
    async fn sleep(&mut self, patience: &Patience) -> Result<bool, Error> {
        let unsent = self.out.len();
        let mut interest = Interest::READABLE;
        match &mut self.road {
            Road::Ring(side) => {
                // Pauses only for an answer: an idle connection costs no processor. In slices, since on a runtime of one
                // thread it is this one that everybody waits for.
                if patience.expecting {
                    match side.pause_for(unsent, PAUSE)? {
                        Paused::Came => return Ok(false),
                        Paused::NotYet => {
                            tokio::task::yield_now().await;
                            return Ok(false);
                        }
                        Paused::InVain => {}
                    }
                }
                if !side.park(unsent)? {
                    return Ok(false);
                }
            }
            road if road.for_socket(unsent) > 0 => interest |= Interest::WRITABLE,
            _ => {}
        }
        let over = patience.over(self.timeout);
        let late = tokio::select! {
            ready = self.socket.ready(interest) => ready.map(|_| false),
            () = self.shared.work.notified() => Ok(false),
            () = tokio::time::sleep_until(over.into()), if patience.expecting => Ok(true),
        };
        if let Road::Ring(side) = &mut self.road {
            side.unpark();
            self.look_at_socket()?;
        }
        late.map_err(Error::io)
    }

    /// One pass at the ring.
    fn pass(&mut self) -> Result<Moved, Error> {
        let Road::Ring(side) = &mut self.road else {
            return Ok(Moved { read: false, wrote: false });
        };
        let closed = side.is_closed();
        let read = side.read(&mut self.input)?;
        let wrote = side.write(&mut self.out, &self.socket)?;
        if read {
            let mut state = self.shared.lock();
            state.core.receive(&mut self.input);
            state.wake();
            if let Some(e) = state.core.failure() {
                return Err(e.clone());
            }
        } else if closed {
            return Err(Error::Closed);
        }
        Ok(Moved { read, wrote })
    }

    /// Takes what the socket beside the ring has: Wake frames, the last error, its end.
    fn look_at_socket(&mut self) -> Result<(), Error> {
        let Road::Ring(side) = &mut self.road else {
            return Ok(());
        };
        match self.socket.try_read(&mut self.chunk) {
            // Once more to the ring: what the daemon published before its end counts.
            Ok(0) => side.closed(),
            Ok(n) => {
                side.control().extend_from_slice(&self.chunk[..n]);
                side.heed()?;
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => side.closed(),
        }
        Ok(())
    }

    /// Works on what the socket brought.
    fn receive(&mut self) -> Result<(), Error> {
        let mut state = self.shared.lock();
        state.core.receive(&mut self.input);
        if state.core.offered() {
            // The last frame for the socket is behind all that the core has; what it appends later waits.
            self.out.unsplit(state.core.out.split());
            let taken = self.road.take_offer(&mut state.core, &mut self.files);
            self.out.unsplit(state.core.out.split());
            self.road.set_left(self.out.len());
            match taken {
                Err(e) if self.needs_ring => return Err(e),
                _ => {}
            }
        }
        if state.core.ring_ready() {
            self.road.ready(&mut state.core, &mut self.input)?;
        }
        state.wake();
        match state.core.failure() {
            Some(e) => Err(e.clone()),
            None => Ok(()),
        }
    }

    /// Writes what the socket takes of what is for it. True if something went.
    fn write(&mut self) -> Result<bool, Error> {
        let mut wrote = false;
        loop {
            let n = self.road.for_socket(self.out.len());
            if n == 0 {
                return Ok(wrote);
            }
            if self.deaf {
                self.road.sent(n);
                self.out.clear();
                return Ok(wrote);
            }
            match self.socket.try_write(&self.out[..n]) {
                Ok(n) => {
                    self.out.advance(n);
                    self.road.sent(n);
                    wrote = true;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(wrote),
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => self.deaf = true,
                Err(e) => return Err(Error::io(e)),
            }
        }
    }

    /// Reads once. True if something came.
    fn read(&mut self) -> Result<bool, Error> {
        let with_files = self.files.is_none() && self.shared.lock().core.expects_files();
        let result = if with_files {
            self.socket.try_io(Interest::READABLE, || receive_files(&self.socket, &mut self.chunk))
        } else {
            self.socket.try_read(&mut self.chunk).map(|n| (n, None))
        };
        match result {
            Ok((0, _)) => Err(Error::Closed),
            Ok((n, files)) => {
                self.files = self.files.take().or(files);
                self.input.extend_from_slice(&self.chunk[..n]);
                Ok(true)
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(e) => Err(Error::io(e)),
        }
    }
}

/// What a turn moved.
struct Moved {
    read: bool,
    wrote: bool,
}
