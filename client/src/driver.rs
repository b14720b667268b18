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
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::Notify;

use crate::core::Core;
use crate::error::Error;

/// Room for one read, in bytes.
const READ_ROOM: usize = 32 << 10;

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
pub(crate) async fn drive(socket: UnixStream, shared: Arc<Shared>, timeout: Duration) {
    // A runtime that shuts down drops this future: whoever still waits must learn it.
    let guard = FailOnDrop(Arc::clone(&shared));
    let driver = Driver { socket, shared, timeout, input: BytesMut::new(), out: BytesMut::new(), deaf: false };
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
}

impl Driver {
    async fn run(mut self) -> Result<(), Error> {
        let mut heard = Instant::now();
        let mut expecting = false;
        let mut pinged = false;
        loop {
            let expects = {
                let mut state = self.shared.lock();
                if self.out.is_empty() {
                    self.out = state.core.out.split();
                }
                if self.out.is_empty() && state.abandoned && state.core.is_empty() {
                    return Ok(());
                }
                state.core.expects()
            };
            if expects && !expecting {
                heard = Instant::now();
                pinged = false;
            }
            expecting = expects;
            let wrote = self.write()?;
            let read = self.read()?;
            if read {
                heard = Instant::now();
                pinged = false;
                let mut state = self.shared.lock();
                state.core.receive(&mut self.input);
                state.wake();
                if let Some(e) = state.core.failure() {
                    return Err(e.clone());
                }
            }
            if read || (wrote && self.out.is_empty()) {
                tokio::task::yield_now().await;
                continue;
            }
            let interest =
                if self.out.is_empty() { Interest::READABLE } else { Interest::READABLE | Interest::WRITABLE };
            let patience = if pinged { self.timeout } else { self.timeout / 2 };
            tokio::select! {
                ready = self.socket.ready(interest) => { ready.map_err(Error::io)?; }
                () = self.shared.work.notified() => {}
                () = tokio::time::sleep_until((heard + patience).into()), if expecting => {
                    if heard.elapsed() >= self.timeout {
                        return Err(Error::Timeout(self.timeout));
                    }
                    // A slow stream is no fault; a daemon that does not even answer a Ping is.
                    if heard.elapsed() >= self.timeout / 2 && !pinged {
                        pinged = true;
                        self.shared.lock().core.ping();
                    }
                }
            }
        }
    }

    /// Writes what the socket takes. True if something went.
    fn write(&mut self) -> Result<bool, Error> {
        let mut wrote = false;
        while !self.out.is_empty() {
            if self.deaf {
                self.out.clear();
                break;
            }
            match self.socket.try_write(&self.out) {
                Ok(n) => {
                    self.out.advance(n);
                    wrote = true;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => self.deaf = true,
                Err(e) => return Err(Error::io(e)),
            }
        }
        Ok(wrote)
    }

    /// Reads once. True if something came.
    fn read(&mut self) -> Result<bool, Error> {
        self.input.reserve(READ_ROOM);
        match self.socket.try_read_buf(&mut self.input) {
            Ok(0) => Err(Error::Closed),
            Ok(_) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(e) => Err(Error::io(e)),
        }
    }
}
