//! A stream that blocks the calling thread.

use std::borrow::BorrowMut;
use std::io;

use forebay_wire::{Finding, Held, StreamId};

use super::connection::Connection;
use crate::core::Core;
use crate::error::Error;
use crate::stream_state::{Event, Summary};

/// Takes what comes back while a stream is pushed.
pub trait Sink {
    /// Bytes that may pass.
    fn released(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// A rule matched.
    fn finding(&mut self, finding: Finding);

    /// Bytes that pass because the daemon failed and the policy is [`crate::FailPolicy::Open`].
    fn unscanned(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.released(bytes)
    }
}

/// One stream over a connection that it owns (`Stream<Connection>`) or borrows (`Stream<&mut Connection>`).
/// Dropping it before [`Stream::finish`] gives the stream up.
#[derive(Debug)]
pub struct Stream<C: BorrowMut<Connection> = Connection> {
    /// `None` only after the connection was given back.
    connection: Option<C>,
    id: StreamId,
    summary: Option<Summary>,
}

/// Content handed over at once, in bytes.
const PIECE: usize = 64 << 10;

impl<C: BorrowMut<Connection>> Stream<C> {
    pub(super) fn new(connection: C, id: StreamId) -> Self {
        Stream { connection: Some(connection), id, summary: None }
    }

    /// Sends bytes and hands over what has come back meanwhile, without waiting for more than credit. Use
    /// [`Stream::sync`] to have everything of it that may pass.
    ///
    /// Errors: [`Error::Blocked`] after a verdict, [`Error::Caller`] if the sink fails, any other as the fail policy
    /// says. What came before an error was handed over.
    pub fn push(&mut self, mut bytes: &[u8], sink: &mut impl Sink) -> Result<(), Error> {
        let id = self.id;
        while !bytes.is_empty() {
            let sent = match self.connection()?.send(id, bytes) {
                Ok(n) => n,
                Err(e) => {
                    self.hand_over(sink)?;
                    return Err(e);
                }
            };
            bytes = &bytes[sent..];
            self.connection()?.progress();
            self.hand_over(sink)?;
            if sent == 0 {
                self.connection()?.wait_until(|core| can_send(core, id) || has_events(core, id));
                self.hand_over(sink)?;
            }
        }
        Ok(())
    }

    /// [`Stream::push`] and [`Stream::sync`] in one step, for callers who wait after each push: one message there and one
    /// back, where the two by themselves make two.
    ///
    /// # Errors
    /// As those.
    pub fn exchange(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<Held, Error> {
        let id = self.id;
        match self.connection()?.send(id, bytes) {
            Ok(sent) if sent < bytes.len() => self.push(&bytes[sent..], sink)?,
            Ok(_) => {}
            Err(e) => {
                self.hand_over(sink)?;
                return Err(e);
            }
        }
        self.sync(sink)
    }

    /// Waits until the daemon has scanned everything pushed, hands over what that let go, and says what it keeps.
    pub fn sync(&mut self, sink: &mut impl Sink) -> Result<Held, Error> {
        let id = self.id;
        loop {
            self.hand_over(sink)?;
            let connection = self.connection()?;
            let Some(s) = connection.core.stream(id) else {
                return Err(Error::Finished);
            };
            if !s.live() || s.held.received == s.sent {
                let held = s.held;
                let failed = s.write_error().filter(|e| !matches!(e, Error::Finished));
                self.hand_over(sink)?;
                return failed.map_or(Ok(held), Err);
            }
            let sent = s.sent;
            connection.core.sync(id)?;
            connection.wait_until(|core| {
                has_events(core, id)
                    || core.stream(id).is_none_or(|s| !s.live() || s.held.received == sent || !s.syncing)
            });
        }
    }

    /// Says that no more bytes follow, waits for the rest and returns what is to say about the stream. A blocked
    /// stream is no error here: see [`crate::Report::blocked_at`].
    pub fn finish(&mut self, sink: &mut impl Sink) -> Result<Summary, Error> {
        let id = self.id;
        self.connection()?.core.finish(id)?;
        loop {
            self.hand_over(sink)?;
            if let Some(summary) = self.summary.clone() {
                self.connection()?.core.close(id);
                self.connection()?.progress();
                return Ok(summary);
            }
            self.connection()?.wait_until(|core| has_events(core, id));
        }
    }

    /// The connection back, for the next stream.
    pub fn into_connection(mut self) -> Option<C> {
        self.give_up();
        self.connection.take()
    }

    fn connection(&mut self) -> Result<&mut Connection, Error> {
        self.connection.as_mut().map(BorrowMut::borrow_mut).ok_or(Error::Finished)
    }

    /// Hands every event that is there to the sink.
    fn hand_over(&mut self, sink: &mut impl Sink) -> Result<(), Error> {
        let id = self.id;
        while self.summary.is_none() {
            let Some(event) = self.connection()?.core.next_event(id, PIECE)? else {
                break;
            };
            match event {
                Event::Released(bytes) => sink.released(&bytes).map_err(Error::caller)?,
                Event::Unscanned(bytes) => sink.unscanned(&bytes).map_err(Error::caller)?,
                Event::Finding(finding) => sink.finding(finding),
                Event::End(summary) => self.summary = Some(summary),
            }
        }
        Ok(())
    }

    fn give_up(&mut self) {
        let id = self.id;
        if let Ok(connection) = self.connection() {
            connection.core.close(id);
            connection.progress();
        }
    }
}

impl<C: BorrowMut<Connection>> Drop for Stream<C> {
    fn drop(&mut self) {
        self.give_up();
    }
}

fn can_send(core: &Core, id: StreamId) -> bool {
    core.can_send(id)
}

fn has_events(core: &Core, id: StreamId) -> bool {
    core.stream(id).is_none_or(|s| s.has_events())
}
