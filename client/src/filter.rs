//! One stream for tokio: a half to write to, a half to read from.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use forebay_wire::{Finding, Held, MAX_PAYLOAD, StreamId};
use futures_core::Stream;
use futures_sink::Sink;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::Handle;
use crate::error::Error;
use crate::stream_state::{Event, StreamState, Summary};

/// A stream. Its two halves may live in different tasks; dropping one before the end gives the stream up.
#[derive(Debug)]
pub struct Filter {
    sender: Sender,
    receiver: Receiver,
}

/// Bytes to filter: [`AsyncWrite`], and a [`Sink`] of [`Bytes`]. Shutting it down or closing it finishes the stream.
#[derive(Debug)]
pub struct Sender {
    stream: Arc<Open>,
    /// The rest of an item that the sink took and the credit did not cover.
    pending: Bytes,
}

/// What comes back: [`AsyncRead`], and a [`Stream`] of [`Bytes`]; or [`Receiver::next_event`] for everything in order.
///
/// Reading bytes keeps the findings that come in between: see [`Receiver::take_findings`].
#[derive(Debug)]
pub struct Receiver {
    stream: Arc<Open>,
    findings: Vec<Finding>,
    dropped: u64,
    summary: Option<Summary>,
}

/// Most findings kept for [`Receiver::take_findings`]. A stream that is nothing but findings must not grow memory
/// with its length; who wants all of them takes them now and then.
const MAX_FINDINGS: usize = 65_536;

#[derive(Debug)]
struct Open {
    handle: Arc<Handle>,
    id: StreamId,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.handle.shared.lock().close(self.id);
        self.handle.shared.notify();
    }
}

impl Open {
    /// One half is dropped. Before the end that gives the stream up: the other half must not wait for ever.
    fn half_dropped(&self, over: impl FnOnce(&StreamState) -> bool) {
        let mut state = self.handle.shared.lock();
        if !state.core.stream(self.id).is_none_or(over) {
            state.core.give_up(self.id);
            state.wake();
            self.handle.shared.notify();
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.stream.half_dropped(|s| s.finished);
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stream.half_dropped(|s| !s.live());
    }
}

impl Filter {
    pub(crate) fn new(handle: Arc<Handle>, id: StreamId) -> Self {
        let stream = Arc::new(Open { handle, id });
        Filter {
            sender: Sender { stream: Arc::clone(&stream), pending: Bytes::new() },
            receiver: Receiver { stream, findings: Vec::new(), dropped: 0, summary: None },
        }
    }

    /// The two halves. Read and write at the same time: what is not read stops what is written after two windows.
    pub fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }
}

impl Sender {
    /// Waits until the daemon has scanned everything sent, and says what it keeps. Everything of it that may pass is
    /// with the receiver then. Read at the same time if more was sent than the window holds.
    pub async fn sync(&mut self) -> Result<Held, Error> {
        std::future::poll_fn(|cx| self.poll_pending(cx)).await?;
        std::future::poll_fn(|cx| {
            let mut state = self.stream.handle.shared.lock();
            let s = state.core.stream(self.stream.id).ok_or(Error::Finished)?;
            if let Some(e) = s.write_error() {
                return Poll::Ready(Err(e));
            }
            if !s.live() || s.held.received == s.sent {
                return Poll::Ready(Ok(s.held));
            }
            state.core.sync(self.stream.id)?;
            state.await_writing(self.stream.id, cx.waker());
            self.stream.handle.shared.notify();
            Poll::Pending
        })
        .await
    }

    fn poll_send(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, Error>> {
        let mut state = self.stream.handle.shared.lock();
        match state.core.send(self.stream.id, bytes) {
            Ok(0) if !bytes.is_empty() => {
                state.await_writing(self.stream.id, cx.waker());
                Poll::Pending
            }
            result => {
                state.wake();
                self.stream.handle.shared.notify();
                Poll::Ready(result)
            }
        }
    }

    fn poll_pending(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        while !self.pending.is_empty() {
            let n = ready!(self.poll_send(cx, &self.pending))?;
            bytes::Buf::advance(&mut self.pending, n);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        ready!(self.poll_pending(cx))?;
        let mut state = self.stream.handle.shared.lock();
        let result = state.core.finish(self.stream.id);
        state.wake();
        self.stream.handle.shared.notify();
        Poll::Ready(result)
    }
}

impl AsyncWrite for Sender {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_pending(cx))?;
        self.poll_send(cx, bytes).map_err(Into::into)
    }

    /// Everything that was taken is on its way already, so this only waits for items of the [`Sink`]. It does not
    /// wait for the daemon: see [`Sender::sync`].
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_pending(cx).map_err(Into::into)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_finish(cx).map_err(Into::into)
    }
}

impl Sink<Bytes> for Sender {
    type Error = Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.poll_pending(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, item: Bytes) -> Result<(), Error> {
        if !self.pending.is_empty() {
            return Err(Error::Invalid("an item was given before the sink was ready".to_owned()));
        }
        self.pending = item;
        Ok(())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.poll_pending(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.poll_finish(cx)
    }
}

impl Receiver {
    /// The next event; `None` behind the [`Event::End`].
    pub async fn next_event(&mut self) -> Result<Option<Event>, Error> {
        if self.summary.is_some() {
            return Ok(None);
        }
        let event = std::future::poll_fn(|cx| self.poll_event(cx, MAX_PAYLOAD)).await?;
        if let Event::End(summary) = &event {
            self.summary = Some(summary.clone());
        }
        Ok(Some(event))
    }

    /// The findings that came while bytes were read, since the last call, and how many were left out because nobody
    /// took the first 65,536.
    pub fn take_findings(&mut self) -> (Vec<Finding>, u64) {
        (std::mem::take(&mut self.findings), std::mem::take(&mut self.dropped))
    }

    /// What is to say about the stream; there once everything was read.
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<Result<Event, Error>> {
        let mut state = self.stream.handle.shared.lock();
        match state.core.next_event(self.stream.id, max)? {
            Some(event) => {
                if !state.core.out.is_empty() {
                    self.stream.handle.shared.notify();
                }
                Poll::Ready(Ok(event))
            }
            None => {
                state.await_reading(self.stream.id, cx.waker());
                Poll::Pending
            }
        }
    }

    /// The next bytes, at most `max`; `None` at the end.
    fn poll_bytes(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<Result<Option<Bytes>, Error>> {
        while self.summary.is_none() {
            match ready!(self.poll_event(cx, max))? {
                Event::Released(bytes) | Event::Unscanned(bytes) => return Poll::Ready(Ok(Some(bytes))),
                Event::Finding(finding) if self.findings.len() < MAX_FINDINGS => self.findings.push(finding),
                Event::Finding(_) => self.dropped += 1,
                Event::End(summary) => self.summary = Some(summary),
            }
        }
        // A blocked stream ended early: a reader that copies to the end must not take it for a whole one.
        let blocked = self.summary.as_ref().and_then(|s| s.report.as_ref()).and_then(|r| r.blocked_at);
        Poll::Ready(blocked.map_or(Ok(None), |at| Err(Error::Blocked { at })))
    }
}

impl Stream for Receiver {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_bytes(cx, MAX_PAYLOAD).map(Result::transpose)
    }
}

impl AsyncRead for Receiver {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if buf.remaining() > 0
            && let Some(bytes) = ready!(self.poll_bytes(cx, buf.remaining()))?
        {
            buf.put_slice(&bytes);
        }
        Poll::Ready(Ok(()))
    }
}
