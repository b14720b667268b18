//! A connection that blocks the calling thread.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Buf, BytesMut};
use forebay_wire::ring::receive_files;
use forebay_wire::{Status, StreamId, Welcome};
use rustix::event::{PollFd, PollFlags, poll};

use super::stream::Stream;
use crate::core::Core;
use crate::error::Error;
use crate::options::{ConnectOptions, FailPolicy, OpenOptions, Transport};
use crate::ring_side::{Files, Road};

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
    /// Since when the daemon has said nothing while something was waited for; `None` until that is worth a clock.
    silent: Option<Instant>,
    road: Road,
    /// Files that came before the whole of their offer.
    files: Option<Files>,
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
            silent: None,
            road: Road::Socket,
            files: None,
        };
        connection.wait_until(|core| core.connected());
        match connection.core.failure() {
            Some(e) if connection.options.policy == FailPolicy::Closed => Err(e.clone()),
            _ => Ok(connection),
        }
    }

    /// What the daemon said of itself; `None` if it could not be reached (only under [`FailPolicy::Open`]).
    pub fn welcome(&self) -> Option<&Welcome> {
        self.core.welcome()
    }

    /// Whether frames go through shared memory. Under [`crate::Transport::Auto`] that may begin a little after connecting.
    pub fn uses_ring(&self) -> bool {
        self.core.uses_ring()
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

    /// Sends as much as the credit allows, by the shortest way: into the ring itself if there is one and nothing waits.
    pub(super) fn send(&mut self, id: StreamId, bytes: &[u8]) -> Result<usize, Error> {
        match &mut self.road {
            Road::Ring(side) if self.core.out.is_empty() => {
                self.core.send_by(id, bytes, |bytes, out| side.put_data(id, bytes, out))
            }
            _ => self.core.send(id, bytes),
        }
    }

    /// Moves bytes both ways until `done` or the connection fails. The failure is kept in the core.
    pub(super) fn wait_until(&mut self, mut done: impl FnMut(&mut Core) -> bool) {
        self.silent = None;
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

    /// Waits, with `wait`, until something happens or the timeout is over; then moves what can be moved.
    fn turn(&mut self, wait: bool) -> Result<(), Error> {
        self.core.nobody_to_wake();
        match self.road {
            Road::Ring(_) => self.turn_on_ring(wait),
            Road::Socket | Road::Changing(..) => self.turn_on_socket(wait),
        }
    }

    /// One poll, then whatever it allows.
    fn turn_on_socket(&mut self, wait: bool) -> Result<(), Error> {
        let Some(socket) = &mut self.socket else {
            return Err(Error::Closed);
        };
        // Writing first: an answer can only come to what is out.
        write(socket, &mut self.core.out, &mut self.road)?;
        let unsent = self.road.for_socket(self.core.out.len()) > 0;
        let flags = if unsent { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        if wait {
            let since = *self.silent.get_or_insert_with(Instant::now);
            let left = self.options.timeout.saturating_sub(since.elapsed());
            let left = rustix::event::Timespec::try_from(left).map_err(|_| Error::Timeout(self.options.timeout))?;
            let mut fds = [PollFd::new(&*socket, flags)];
            match poll(&mut fds, Some(&left)) {
                Ok(0) => return Err(Error::Timeout(self.options.timeout)),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(Error::io(e.into())),
            }
        }
        let files = self.core.expects_files().then_some(&mut self.files);
        if let Some(n) = read(socket, &mut self.chunk, files)? {
            self.input.extend_from_slice(&self.chunk[..n]);
            self.silent = None;
            self.core.receive(&mut self.input);
            if let Err(e) = self.road.take_offer(&mut self.core, &mut self.files)
                && self.options.transport == Transport::Ring
            {
                return Err(e);
            }
            if self.core.ring_ready() {
                self.road.ready(&mut self.core, &mut self.input)?;
                return self.turn_on_ring(false);
            }
        }
        if self.core.failure().is_none() {
            write(socket, &mut self.core.out, &mut self.road)?;
        }
        Ok(())
    }

    /// One pass; if nothing came and `wait`, until something does, or the socket or the clock is to be looked at.
    fn turn_on_ring(&mut self, wait: bool) -> Result<(), Error> {
        let (Road::Ring(side), Some(socket)) = (&mut self.road, &mut self.socket) else {
            return Err(Error::Closed);
        };
        let closed = side.is_closed();
        if side.pass(&mut self.core, &mut self.input, &*socket)? {
            self.silent = None;
            return Ok(());
        }
        if closed {
            return Err(Error::Closed);
        }
        if !wait || side.wait(self.core.out.len())? {
            return Ok(());
        }
        // Woken for something else, or a slice of the sleep is over.
        match read(socket, &mut self.chunk, None) {
            Ok(None) => {}
            Ok(Some(n)) => {
                side.control().extend_from_slice(&self.chunk[..n]);
                side.heed()?;
            }
            // Once more to the ring: what the daemon published before its end counts.
            Err(_) => side.closed(),
        }
        if self.silent.get_or_insert_with(Instant::now).elapsed() >= self.options.timeout {
            return Err(Error::Timeout(self.options.timeout));
        }
        Ok(())
    }
}

/// Writes what the socket takes of what is for it.
fn write(socket: &mut UnixStream, out: &mut BytesMut, road: &mut Road) -> Result<(), Error> {
    loop {
        let n = road.for_socket(out.len());
        if n == 0 {
            return Ok(());
        }
        match socket.write(&out[..n]) {
            Ok(n) => {
                out.advance(n);
                road.sent(n);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // The daemon may have said why before it closed: that is for the reader to find.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                road.sent(n);
                out.clear();
                return Ok(());
            }
            Err(e) => return Err(Error::io(e)),
        }
    }
}

/// Reads once, and the files that come with a ring's offer, if they may. `None` if nothing is there.
fn read(socket: &mut UnixStream, chunk: &mut [u8], files: Option<&mut Option<Files>>) -> Result<Option<usize>, Error> {
    loop {
        let result = match &files {
            Some(_) => receive_files(&*socket, chunk),
            None => socket.read(chunk).map(|n| (n, None)),
        };
        return match result {
            Ok((0, _)) => Err(Error::Closed),
            Ok((n, came)) => {
                if let Some(files) = files
                    && came.is_some()
                {
                    *files = came;
                }
                Ok(Some(n))
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(Error::io(e)),
        };
    }
}
