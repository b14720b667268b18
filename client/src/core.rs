//! The connection as the client sees it, without I/O: bytes of the daemon in, frames for the daemon out.
//!
//! Both flavours drive it: they write what is in [`Core::out`], give what they read to [`Core::receive`], and look at
//! their streams in between. The daemon on the other side is not trusted to keep the protocol: anything it does
//! wrong is an [`Error`] that fails the connection.

use std::collections::VecDeque;

use bytes::BytesMut;
use forebay_wire::{
    Credit, ErrorFrame, FEATURE_RING, Frame, Hello, MAX_NAME, MAX_SESSION, Open, SendWindow, Status, StreamId, Welcome,
};

use crate::error::Error;
use crate::ids::ByStream;
use crate::offer::Ring;
use crate::options::{ConnectOptions, FailPolicy, OpenOptions, Transport};
use crate::stream_state::{Event, StreamState};

/// Smallest output window: a finding takes up to 148 bytes of it and must fit while half of it is on its way back.
const MIN_WINDOW: u32 = 512;

#[derive(Debug)]
pub(crate) struct Core {
    /// Frames to write.
    pub(crate) out: BytesMut,
    policy: FailPolicy,
    pub(crate) welcome: Option<Welcome>,
    window: SendWindow,
    streams: ByStream<StreamState>,
    next: Option<StreamId>,
    statuses: VecDeque<Status>,
    statuses_asked: usize,
    failure: Option<Error>,
    draining: bool,
    pub(crate) transport: Transport,
    pub(crate) ring: Ring,
    /// Streams that something happened to since the list was taken.
    touched: Vec<StreamId>,
    pub(crate) connection_touched: bool,
}

impl Core {
    /// A new connection; its Hello is ready to be written.
    pub(crate) fn new(options: &ConnectOptions) -> Result<Self, Error> {
        let mut core = Core {
            out: BytesMut::new(),
            policy: options.policy,
            welcome: None,
            window: SendWindow::new(0),
            streams: ByStream::default(),
            next: Some(StreamId::FIRST),
            statuses: VecDeque::new(),
            statuses_asked: 0,
            failure: None,
            draining: false,
            transport: options.transport,
            ring: Ring::No,
            touched: Vec::new(),
            connection_touched: false,
        };
        let features = if options.transport == Transport::Socket { 0 } else { FEATURE_RING };
        core.put(&Frame::Hello(Hello { features, ..Hello::new(options.client.clone()) }))?;
        Ok(core)
    }

    /// The daemon's Welcome, once it is there.
    pub(crate) fn welcome(&self) -> Option<&Welcome> {
        self.welcome.as_ref()
    }

    /// Why the connection is over, if it is.
    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// The daemon is shutting down: open streams may finish, new ones need another connection.
    pub(crate) fn draining(&self) -> bool {
        self.draining
    }

    /// Works on what was read. Takes whole frames off `src`. A failure is kept; see [`Core::failure`].
    pub(crate) fn receive(&mut self, src: &mut BytesMut) {
        while self.failure.is_none() && self.ring != Ring::Ready {
            let result = match forebay_wire::decode(src) {
                Ok(None) => return,
                Ok(Some(frame)) => self.frame(frame),
                Err(e) => Err(Error::Protocol(e.to_string())),
            };
            if let Err(e) = result {
                self.fail(e);
            }
        }
    }

    /// The connection is over: every open stream learns it.
    pub(crate) fn fail(&mut self, error: Error) {
        if self.failure.is_some() {
            return;
        }
        for (id, s) in &mut self.streams {
            s.fail(&error);
            self.touched.push(*id);
        }
        self.failure = Some(error);
        self.connection_touched = true;
        self.out.clear();
    }

    /// Opens a stream. After a failure: an error, or a stream that passes everything, as the policy says.
    pub(crate) fn open(&mut self, options: OpenOptions) -> Result<StreamId, Error> {
        if options.profile.len() > MAX_NAME || options.session.len() > MAX_SESSION {
            return Err(Error::Invalid(format!(
                "a profile name has at most {MAX_NAME} bytes and a session id {MAX_SESSION}; shorten it"
            )));
        }
        let id = self.next.ok_or_else(|| Error::Invalid("the connection's stream ids are used up".to_owned()))?;
        let window = options.window.clamp(MIN_WINDOW, forebay_wire::MAX_WINDOW);
        let mut state = StreamState::new(self.policy, self.welcome.as_ref().map_or(0, |w| w.stream_window), window);
        match (&self.failure, self.policy) {
            (Some(e), FailPolicy::Closed) => return Err(e.clone()),
            (Some(e), FailPolicy::Open) => state.fail(e),
            (None, _) => {
                let session = options.session.into();
                self.put(&Frame::Open(Open { stream: id, window, profile: options.profile, session }))?;
            }
        }
        self.streams.insert(id, state);
        self.next = id.next();
        Ok(id)
    }

    /// Sends as many of `bytes` as the credit allows and says how many; zero means wait.
    pub(crate) fn send(&mut self, id: StreamId, bytes: &[u8]) -> Result<usize, Error> {
        self.send_by(id, bytes, |bytes, out| forebay_wire::put_data(id, bytes, out))
    }

    /// [`Core::send`] for who knows a shorter way than over the write buffer: `put` gets the bytes, and the buffer for
    /// frames, or the rest of one, that must wait.
    pub(crate) fn send_by(
        &mut self,
        id: StreamId,
        bytes: &[u8],
        put: impl FnOnce(&[u8], &mut BytesMut),
    ) -> Result<usize, Error> {
        let s = self.streams.get_mut(&id).ok_or(Error::Finished)?;
        if let Some(e) = s.write_error() {
            return Err(e);
        }
        if s.bypassed() {
            s.bypass(bytes);
            self.touched.push(id);
            return Ok(bytes.len());
        }
        let n = s.send.take(bytes.len().min(self.window.available() as usize));
        self.window.take(n);
        s.sending(&bytes[..n]);
        if n > 0 {
            put(&bytes[..n], &mut self.out);
        }
        self.sync_if_wanted(id)?;
        Ok(n)
    }

    /// Whether [`Core::send`] would take something, or say why it never will.
    pub(crate) fn can_send(&self, id: StreamId) -> bool {
        self.streams.get(&id).is_none_or(|s| !s.live() || (s.send.available() > 0 && self.window.available() > 0))
    }

    /// Says that no more bytes follow.
    pub(crate) fn finish(&mut self, id: StreamId) -> Result<(), Error> {
        let s = self.streams.get_mut(&id).ok_or(Error::Finished)?;
        if s.finished {
            return Ok(());
        }
        s.finished = true;
        if s.live() {
            self.put(&Frame::Finish(id))?;
        } else {
            self.touched.push(id);
        }
        Ok(())
    }

    /// Asks how far the daemon is. The answer shows in [`Core::stream`]'s `held`.
    pub(crate) fn sync(&mut self, id: StreamId) -> Result<(), Error> {
        match self.streams.get_mut(&id) {
            Some(s) if s.live() && !s.finished && !s.syncing => {
                s.syncing = true;
                self.put(&Frame::Sync(id))
            }
            _ => Ok(()),
        }
    }

    /// The next event of a stream, with at most `max` bytes of content.
    pub(crate) fn next_event(&mut self, id: StreamId, max: usize) -> Result<Option<Event>, Error> {
        let s = self.streams.get_mut(&id).ok_or(Error::Finished)?;
        let event = s.next(max);
        self.grant(id)?;
        event
    }

    /// A stream's state, while it is not closed.
    pub(crate) fn stream(&self, id: StreamId) -> Option<&StreamState> {
        self.streams.get(&id)
    }

    /// Gives a stream up and lets whoever still has it know.
    pub(crate) fn give_up(&mut self, id: StreamId) {
        let Some(s) = self.streams.get_mut(&id) else {
            return;
        };
        let was_live = s.live();
        s.give_up();
        self.touched.push(id);
        if was_live {
            self.reset(id);
        }
    }

    /// Forgets a stream; one that the daemon still has is reset.
    pub(crate) fn close(&mut self, id: StreamId) {
        if self.streams.remove(&id).is_some_and(|s| s.live()) {
            self.reset(id);
        }
    }

    fn reset(&mut self, id: StreamId) {
        if self.failure.is_none() {
            let _ = self.put(&Frame::Reset { stream: id, code: forebay_wire::Code::Cancelled });
        }
    }

    /// Whether no stream is left, ended or not.
    pub(crate) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Whether the daemon owes an answer: its Welcome, a status, or anything on an open stream.
    pub(crate) fn expects(&self) -> bool {
        self.failure.is_none()
            && (self.welcome.is_none() || self.statuses_asked > 0 || self.streams.values().any(StreamState::live))
    }

    /// Asks for the daemon's state.
    pub(crate) fn request_status(&mut self) -> Result<(), Error> {
        if let Some(e) = &self.failure {
            return Err(e.clone());
        }
        self.statuses_asked += 1;
        self.put(&Frame::StatusRequest)
    }

    /// The next answer to a status request, if it is there.
    pub(crate) fn take_status(&mut self) -> Option<Status> {
        self.statuses.pop_front()
    }

    /// Sends a Ping. Its answer shows as traffic.
    pub(crate) fn ping(&mut self) {
        if self.failure.is_none() {
            let _ = self.put(&Frame::Ping(*b"forebay?"));
        }
    }

    /// Nobody sleeps on a stream or the connection: the list of those to be woken must not grow with the connection's age.
    pub(crate) fn nobody_to_wake(&mut self) {
        self.touched.clear();
        self.connection_touched = false;
    }

    /// Streams that something happened to since the last call, and whether something happened to the connection.
    pub(crate) fn take_touched(&mut self) -> (Vec<StreamId>, bool) {
        (std::mem::take(&mut self.touched), std::mem::take(&mut self.connection_touched))
    }

    fn frame(&mut self, frame: Frame) -> Result<(), Error> {
        if self.welcome.is_none() {
            return match frame {
                Frame::Welcome(w) => {
                    self.window = SendWindow::new(w.connection_window);
                    self.ring = self.expected(w.features)?;
                    self.welcome = Some(w);
                    self.connection_touched = true;
                    Ok(())
                }
                Frame::Error(ErrorFrame { code, message, .. }) => Err(Error::Daemon { code, message }),
                other => Err(Error::Protocol(format!("it began with {}", other.frame_type().as_str()))),
            };
        }
        match frame {
            Frame::Released { stream, bytes } => self.on_stream(stream, |s| s.released(&bytes)),
            Frame::Finding(stream, finding) => self.on_stream(stream, |s| s.finding(finding)),
            Frame::Held(stream, held) => {
                self.on_stream(stream, |s| s.caught_up(held))?;
                self.sync_if_wanted(stream)
            }
            Frame::Report(stream, report) => self.on_stream(stream, |s| s.reported(report)),
            Frame::Credit(Credit { stream: Some(stream), bytes }) => {
                self.on_stream(stream, |s| s.send.grant(bytes).map_err(|e| Error::Protocol(e.to_string())))
            }
            Frame::Credit(Credit { stream: None, bytes }) => {
                self.window.grant(bytes).map_err(|e| Error::Protocol(e.to_string()))?;
                // Any stream may have waited for it.
                self.touched.extend(self.streams.keys());
                Ok(())
            }
            Frame::Error(ErrorFrame { stream: Some(stream), code, message }) => self.on_stream(stream, |s| {
                s.fail(&Error::Stream { code, message });
                Ok(())
            }),
            Frame::Error(ErrorFrame { stream: None, code, message }) => Err(Error::Daemon { code, message }),
            Frame::RingOffer(offer) if self.ring == Ring::Welcome => {
                self.ring = Ring::Offered(offer);
                Ok(())
            }
            Frame::RingReady if self.ring == Ring::Taken => {
                self.ring = Ring::Ready;
                Ok(())
            }
            Frame::Goaway(_) => {
                self.draining = true;
                self.connection_touched = true;
                Ok(())
            }
            Frame::Ping(token) => self.put(&Frame::Pong(token)),
            Frame::Pong(_) => Ok(()),
            Frame::Status(status) => {
                self.statuses_asked = self
                    .statuses_asked
                    .checked_sub(1)
                    .ok_or_else(|| Error::Protocol("a Status that nobody asked for".to_owned()))?;
                self.statuses.push_back(status);
                self.connection_touched = true;
                Ok(())
            }
            other => Err(Error::Protocol(format!("a daemon may not send {} here", other.frame_type().as_str()))),
        }
    }

    /// Does something with a stream. Frames of streams that were closed here are on their way for a while: ignored.
    fn on_stream(&mut self, id: StreamId, f: impl FnOnce(&mut StreamState) -> Result<(), Error>) -> Result<(), Error> {
        if self.next.is_some_and(|next| id >= next) {
            return Err(Error::Protocol(format!("a frame of stream {id}, which was never opened")));
        }
        match self.streams.get_mut(&id) {
            Some(s) if s.live() => {
                f(s)?;
                self.touched.push(id);
                self.grant(id)
            }
            _ => Ok(()),
        }
    }

    fn grant(&mut self, id: StreamId) -> Result<(), Error> {
        match self.streams.get_mut(&id).and_then(StreamState::grant) {
            Some(bytes) => self.put(&Frame::Credit(Credit { stream: Some(id), bytes })),
            None => Ok(()),
        }
    }

    fn sync_if_wanted(&mut self, id: StreamId) -> Result<(), Error> {
        if self.streams.get(&id).is_some_and(StreamState::wants_sync) { self.sync(id) } else { Ok(()) }
    }

    pub(crate) fn put(&mut self, frame: &Frame) -> Result<(), Error> {
        forebay_wire::encode(frame, &mut self.out).map_err(|e| Error::Invalid(e.to_string()))
    }
}
