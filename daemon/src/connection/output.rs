//! The write buffer of a connection, and the sink that fills it with what a filter lets go.
//!
//! The sink writes frames where they will be sent from: on the common path (the client's credit covers everything) a
//! released byte is copied once. Released bytes of one stream that follow each other join one frame, so that many
//! small pushes do not become many small frames. What the credit does not cover is cut off again and waits in the
//! stream's queue, already as frames.

use bytes::{Buf, BytesMut};
use forebay_scan::{Finding, Sink};
use forebay_wire::{Frame, encode};
use forebay_wire::{FrameType, HEADER_LEN, MAX_NAME, MAX_PAYLOAD, SendWindow, StreamId, put_released};

use crate::audit::Pen;
use crate::metrics::tally::{FindingCounts, count_finding};

/// Frames that wait for the socket.
#[derive(Default)]
pub(super) struct Output {
    buf: BytesMut,
    /// The last frame, if it is a Released that may still grow: its stream and where its header stands.
    tail: Option<(StreamId, usize)>,
}

/// Above this many bytes of capacity an empty write buffer is given back: one burst must not stay with the connection.
const KEEP_CAPACITY: usize = 128 << 10;

impl Output {
    pub(super) fn len(&self) -> usize {
        self.buf.len()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buf
    }

    /// `n` bytes were written to the socket.
    pub(super) fn advance(&mut self, n: usize) {
        self.buf.advance(n);
        self.tail = None;
        if self.buf.is_empty() && self.buf.capacity() > KEEP_CAPACITY {
            self.buf = BytesMut::new();
        }
    }

    /// Forgets what was not sent: it has no place any more where it could go.
    pub(super) fn clear(&mut self) {
        *self = Output::default();
    }

    /// Appends a frame. The daemon builds none above its bounds; should it do so once, the frame is left out.
    pub(super) fn frame(&mut self, frame: &Frame) {
        self.tail = None;
        if let Err(e) = encode(frame, &mut self.buf) {
            debug_assert!(false, "{e}");
            tracing::error!(error = %e, "a frame could not be encoded");
        }
    }

    /// Appends content, joining the last frame where that is possible.
    fn content(&mut self, stream: StreamId, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let header = match self.tail {
                Some((s, header)) if s == stream && self.buf.len() - header < HEADER_LEN + MAX_PAYLOAD => header,
                _ => {
                    let header = self.buf.len();
                    let n = bytes.len().min(MAX_PAYLOAD);
                    put_released(stream, &bytes[..n], &mut self.buf);
                    self.tail = Some((stream, header));
                    bytes = &bytes[n..];
                    continue;
                }
            };
            let n = bytes.len().min(HEADER_LEN + MAX_PAYLOAD - (self.buf.len() - header));
            self.buf.extend_from_slice(&bytes[..n]);
            let length = self.buf.len() - header - HEADER_LEN;
            set_length(&mut self.buf[header..], length);
            bytes = &bytes[n..];
        }
    }

    /// Moves frames from `queue` as far as `window` allows. Released frames are cut where the credit ends.
    pub(super) fn take_from(&mut self, queue: &mut BytesMut, window: &mut SendWindow, stream: StreamId) {
        self.tail = None;
        while let Some(length) = first_length(queue) {
            let available = window.available() as usize;
            if length <= available {
                self.buf.extend_from_slice(&queue[..HEADER_LEN + length]);
                queue.advance(HEADER_LEN + length);
                window.take(length);
            } else if available > 0 && queue[4] == FrameType::Released.number() {
                put_released(stream, &queue[HEADER_LEN..HEADER_LEN + available], &mut self.buf);
                window.take(available);
                // The rest needs a header of its own: the bytes just sent make room for it.
                let mut rest = BytesMut::with_capacity(queue.len());
                put_released(stream, &queue[HEADER_LEN + available..HEADER_LEN + length], &mut rest);
                rest.extend_from_slice(&queue[HEADER_LEN + length..]);
                *queue = rest;
                return;
            } else {
                return;
            }
        }
        if queue.is_empty() {
            *queue = BytesMut::new();
        }
    }
}

/// Payload length of the first frame in `queue`, which holds whole frames that this module wrote.
fn first_length(queue: &[u8]) -> Option<usize> {
    let (length, _) = queue.split_first_chunk::<4>()?;
    Some(u32::from_le_bytes(*length) as usize)
}

fn set_length(frame: &mut [u8], length: usize) {
    // Bounded by MAX_PAYLOAD, so the conversion cannot fail.
    let length = u32::try_from(length).unwrap_or(0);
    frame[..4].copy_from_slice(&length.to_le_bytes());
}

/// Takes what one push lets go.
pub(super) struct FrameSink<'a> {
    out: &'a mut Output,
    stream: StreamId,
    pen: Pen<'a>,
    start: usize,
    joined: Option<(usize, usize)>,
    /// Bytes released.
    pub(super) released: u64,
    /// Payload bytes that the client's credit must cover.
    pub(super) charged: usize,
    /// Findings by family and action.
    pub(super) findings: FindingCounts,
}

impl<'a> FrameSink<'a> {
    pub(super) fn new(out: &'a mut Output, pen: Pen<'a>) -> Self {
        let stream = pen.stream();
        let start = out.buf.len();
        let joined = match out.tail {
            Some((s, header)) if s == stream => Some((header, start - header - HEADER_LEN)),
            _ => None,
        };
        FrameSink { out, stream, pen, start, joined, released: 0, charged: 0, findings: FindingCounts::default() }
    }

    /// A finding could not be recorded, and must have been.
    pub(super) fn failed(&self) -> bool {
        self.pen.failed()
    }

    /// Takes everything of this push out of the write buffer again, as whole frames: the credit does not cover it.
    pub(super) fn take_back(self) -> BytesMut {
        let mut taken = self.out.buf.split_off(self.start);
        self.out.tail = None;
        let Some((header, old_length)) = self.joined else {
            return taken;
        };
        let grown = first_length(&self.out.buf[header..]).unwrap_or(old_length).saturating_sub(old_length);
        set_length(&mut self.out.buf[header..], old_length);
        let mut queue = BytesMut::with_capacity(HEADER_LEN + taken.len());
        put_released(self.stream, &taken.split_to(grown.min(taken.len())), &mut queue);
        queue.unsplit(taken);
        queue
    }
}

impl Sink for FrameSink<'_> {
    fn release(&mut self, bytes: &[u8]) {
        self.out.content(self.stream, bytes);
        self.released += bytes.len() as u64;
        self.charged += bytes.len();
    }

    fn finding(&mut self, finding: &Finding) {
        self.finding_of(finding, None);
    }

    fn finding_of(&mut self, finding: &Finding, value: Option<&[u8]>) {
        self.pen.finding(finding, value);
        let Some(info) = self.pen.rules().rule(finding.rule) else {
            debug_assert!(false, "a finding of a rule that its set does not have");
            return;
        };
        let Some(action) = action(finding.action) else {
            return;
        };
        let before = self.out.buf.len();
        let frame = forebay_wire::Finding {
            start: finding.span.start,
            end: finding.span.end,
            family: family(info.family),
            severity: severity(info.severity),
            action,
            rule: name(&info.name),
        };
        self.out.frame(&Frame::Finding(self.stream, frame));
        self.charged += (self.out.buf.len() - before).saturating_sub(HEADER_LEN);
        count_finding(&mut self.findings, info.family, finding.action);
    }
}

/// A name as the wire takes it: at most [`MAX_NAME`] bytes.
pub(super) fn name(full: &str) -> String {
    clip(full, MAX_NAME)
}

/// At most `max` bytes of a text, cut at a character.
pub(super) fn clip(text: &str, max: usize) -> String {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

fn family(f: forebay_scan::Family) -> forebay_wire::Family {
    match f {
        forebay_scan::Family::Pii => forebay_wire::Family::Pii,
        forebay_scan::Family::Secret => forebay_wire::Family::Secret,
        forebay_scan::Family::Elision => forebay_wire::Family::Elision,
        forebay_scan::Family::Truncation => forebay_wire::Family::Truncation,
        forebay_scan::Family::Injection => forebay_wire::Family::Injection,
    }
}

fn severity(s: forebay_scan::Severity) -> forebay_wire::Severity {
    match s {
        forebay_scan::Severity::Info => forebay_wire::Severity::Info,
        forebay_scan::Severity::Low => forebay_wire::Severity::Low,
        forebay_scan::Severity::Medium => forebay_wire::Severity::Medium,
        forebay_scan::Severity::High => forebay_wire::Severity::High,
        forebay_scan::Severity::Critical => forebay_wire::Severity::Critical,
    }
}

/// `None` for `Allow`: a rule that is off has no findings.
fn action(a: forebay_scan::Action) -> Option<forebay_wire::Action> {
    match a {
        forebay_scan::Action::Allow => None,
        forebay_scan::Action::Flag => Some(forebay_wire::Action::Flag),
        forebay_scan::Action::Mask => Some(forebay_wire::Action::Mask),
        forebay_scan::Action::Replace => Some(forebay_wire::Action::Replace),
        forebay_scan::Action::Block => Some(forebay_wire::Action::Block),
    }
}
