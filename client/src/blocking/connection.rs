//! A connection that blocks the calling thread.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Buf, BytesMut};
use forebay_wire::{Status, Welcome};
use rustix::event::{PollFd, PollFlags, poll};

use super::stream::Stream;
use crate::core::Core;
use crate::error::Error;
use crate::options::{ConnectOptions, FailPolicy, OpenOptions};

/// Room for one read, in bytes.
const READ_ROOM: usize = 32 << 10;

/// A connection to the daemon.
#[derive(Debug)]
pub struct Connection {
    pub(super) core: Core,
    /// `None` under [`FailPolicy::Open`] when there was nobody to connect to.
    socket: Option<UnixStream>,
    input: BytesMut,
    /// Where reads go first: a buffer that is zeroed once, not at each read.
    chunk: Box<[u8]>,
    options: ConnectOptions,
    heard: Instant,
}

impl Connection {
    /// Connects and shakes hands. Under [`FailPolicy::Open`] a daemon that cannot be reached is no error: streams of
    /// the connection then pass everything and their summaries say why.
    pub fn connect(path: impl AsRef<Path>, options: ConnectOptions) -> Result<Connection, Error> {
        let path = path.as_ref();
        let mut core = Core::new(&options)?;
        let socket = UnixStream::connect(path).and_then(|s| s.set_nonblocking(true).map(|()| s));
        let socket = match socket {
            Ok(socket) => Some(socket),
            Err(e) => {
                core.fail(Error::Connect { path: path.to_owned(), source: Arc::new(e) });
                None
            }
        };
        let mut connection = Connection {
            core,
            socket,
            input: BytesMut::new(),
            chunk: vec![0; READ_ROOM].into(),
            options,
            heard: Instant::now(),
        };
        connection.wait_until(|core| core.welcome().is_some());
        match connection.core.failure() {
            Some(e) if connection.options.policy == FailPolicy::Closed => Err(e.clone()),
            _ => Ok(connection),
        }
    }

    /// What the daemon said of itself; `None` if it could not be reached (only under [`FailPolicy::Open`]).
    pub fn welcome(&self) -> Option<&Welcome> {
        self.core.welcome()
    }

    /// Whether the daemon is shutting down: open the next stream on another connection.
    pub fn draining(&self) -> bool {
        self.core.draining()
    }

    /// Opens a stream on this connection. An unknown profile or a full daemon shows at the first push.
    pub fn open(&mut self, options: impl Into<OpenOptions>) -> Result<Stream<&mut Connection>, Error> {
        let id = self.core.open(options.into())?;
        Ok(Stream::new(self, id))
    }

    /// Opens a stream that owns the connection.
    pub fn into_stream(mut self, options: impl Into<OpenOptions>) -> Result<Stream<Connection>, Error> {
        let id = self.core.open(options.into())?;
        Ok(Stream::new(self, id))
    }

    /// Asks for the daemon's state.
    pub fn status(&mut self) -> Result<Status, Error> {
        self.core.request_status()?;
        let mut status = None;
        self.wait_until(|core| {
            status = core.take_status();
            status.is_some()
        });
        status.ok_or_else(|| self.core.failure().cloned().unwrap_or(Error::Closed))
    }

    /// Moves bytes both ways until `done` or the connection fails. The failure is kept in the core.
    pub(super) fn wait_until(&mut self, mut done: impl FnMut(&mut Core) -> bool) {
        self.heard = Instant::now();
        while self.core.failure().is_none() && !done(&mut self.core) {
            if let Err(e) = self.turn(true) {
                self.core.fail(e);
            }
        }
    }

    /// Moves what can be moved without waiting.
    pub(super) fn progress(&mut self) {
        if self.core.failure().is_none()
            && let Err(e) = self.turn(false)
        {
            self.core.fail(e);
        }
    }

    /// One poll, then whatever it allows. With `wait`, until something happens or the timeout is over.
    fn turn(&mut self, wait: bool) -> Result<(), Error> {
        let Some(socket) = &mut self.socket else {
            return Err(Error::Closed);
        };
        // Writing first: an answer can only come to what is out.
        write(socket, &mut self.core.out)?;
        let flags = if self.core.out.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        if wait {
            let left = self.options.timeout.saturating_sub(self.heard.elapsed());
            let left = rustix::event::Timespec::try_from(left).map_err(|_| Error::Timeout(self.options.timeout))?;
            let mut fds = [PollFd::new(&*socket, flags)];
            match poll(&mut fds, Some(&left)) {
                Ok(0) => return Err(Error::Timeout(self.options.timeout)),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(Error::io(e.into())),
            }
        }
        if read(socket, &mut self.chunk, &mut self.input)? {
            self.heard = Instant::now();
            self.core.receive(&mut self.input);
        }
        if self.core.failure().is_none() {
            write(socket, &mut self.core.out)?;
        }
        Ok(())
    }
}

/// Writes what the socket takes. True if nothing is left.
fn write(socket: &mut UnixStream, out: &mut BytesMut) -> Result<bool, Error> {
    while !out.is_empty() {
        match socket.write(out) {
            Ok(n) => out.advance(n),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // The daemon may have said why before it closed: that is for the reader to find.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                out.clear();
                return Ok(true);
            }
            Err(e) => return Err(Error::io(e)),
        }
    }
    Ok(true)
}

/// Reads once. True if something came.
fn read(socket: &mut UnixStream, chunk: &mut [u8], input: &mut BytesMut) -> Result<bool, Error> {
    loop {
        return match socket.read(chunk) {
            Ok(0) => Err(Error::Closed),
            Ok(n) => {
                input.extend_from_slice(&chunk[..n]);
                Ok(true)
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(e) => Err(Error::io(e)),
        };
    }
}
