//! From a peer's bytes to a frame: the only reader of raw bytes.

use bytes::{Buf, Bytes, BytesMut};

use crate::error::{Code, WireError};
use crate::frame::{
    Action, Credit, ErrorFrame, Family, Finding, Frame, FrameType, Goaway, Held, Hello, Open, ProfileStatus, Reason,
    Report, RingOffer, Severity, Status, StreamId, Welcome,
};
use crate::limits::{HEADER_LEN, MAGIC, MAX_MESSAGE, MAX_NAME, MAX_PAYLOAD, MAX_REASONS, MAX_SESSION};
use crate::ring::is_capacity;

/// Takes one frame off the front of `src`.
///
/// `Ok(None)` means that more bytes are needed; `src` then has room reserved for the rest of the frame, never more
/// than [`MAX_PAYLOAD`] plus a header. After an error the byte stream has no meaning any more: close the connection.
pub fn decode(src: &mut BytesMut) -> Result<Option<Frame>, WireError> {
    let Some(head) = Header::peek(src)? else {
        return Ok(None);
    };
    let whole = HEADER_LEN + head.length;
    if src.len() < whole {
        src.reserve(whole - src.len());
        return Ok(None);
    }
    src.advance(HEADER_LEN);
    let payload = src.split_to(head.length).freeze();
    payload_of(&head, payload).map(Some)
}

struct Header {
    kind: FrameType,
    stream: Option<StreamId>,
    length: usize,
}

impl Header {
    /// Reads the header at the front, refusing what no payload could make right.
    fn peek(src: &[u8]) -> Result<Option<Header>, WireError> {
        let Some((head, rest)) = src.split_first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let [l0, l1, l2, l3, kind, flags, r0, r1, s0, s1, s2, s3] = *head;
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        let kind = FrameType::from_number(kind).ok_or(WireError::UnknownType(kind))?;
        let length = match usize::try_from(length) {
            Ok(n) if n <= MAX_PAYLOAD => n,
            _ => return Err(WireError::Oversized { length }),
        };
        let bad = |what| WireError::Malformed { frame: kind.as_str(), what };
        if flags != 0 || r0 != 0 || r1 != 0 {
            return Err(bad("flags and reserved bytes must be zero"));
        }
        let stream = StreamId::new(u32::from_le_bytes([s0, s1, s2, s3]));
        match (Scope::of(kind), stream) {
            (Scope::Stream, None) => return Err(bad("the stream id must not be zero")),
            (Scope::Connection, Some(_)) => return Err(bad("the stream id must be zero")),
            _ => {}
        }
        // A frame too short for it is malformed, whatever follows it.
        let begins = length.min(rest.len()) >= MAGIC.len();
        if kind == FrameType::Hello && begins && !rest.starts_with(&MAGIC) {
            return Err(WireError::Magic);
        }
        Ok(Some(Header { kind, stream, length }))
    }
}

/// What the stream field of a frame type may be.
enum Scope {
    Connection,
    Stream,
    Either,
}

impl Scope {
    fn of(kind: FrameType) -> Scope {
        match kind {
            FrameType::Open
            | FrameType::Data
            | FrameType::Finish
            | FrameType::Reset
            | FrameType::Sync
            | FrameType::Released
            | FrameType::Finding
            | FrameType::Held
            | FrameType::Report => Scope::Stream,
            FrameType::Credit | FrameType::Error => Scope::Either,
            FrameType::Hello
            | FrameType::Welcome
            | FrameType::RingOffer
            | FrameType::RingReady
            | FrameType::Wake
            | FrameType::Ping
            | FrameType::Pong
            | FrameType::Goaway
            | FrameType::StatusRequest
            | FrameType::Status => Scope::Connection,
        }
    }
}

fn payload_of(head: &Header, payload: Bytes) -> Result<Frame, WireError> {
    let mut f = Fields { frame: head.kind, rest: payload };
    let frame = match (head.kind, head.stream) {
        (FrameType::Hello, _) => return hello(f).map(Frame::Hello),
        (FrameType::Welcome, _) => Frame::Welcome(welcome(&mut f)?),
        (FrameType::RingOffer, _) => Frame::RingOffer(ring_offer(&mut f)?),
        (FrameType::RingReady, _) => Frame::RingReady,
        (FrameType::Wake, _) => Frame::Wake,
        (FrameType::Ping, _) => Frame::Ping(f.array()?),
        (FrameType::Pong, _) => Frame::Pong(f.array()?),
        (FrameType::Goaway, _) => Frame::Goaway(Goaway { last_stream: f.u32()?, grace_ms: f.u32()? }),
        (FrameType::StatusRequest, _) => Frame::StatusRequest,
        (FrameType::Status, _) => Frame::Status(status(&mut f)?),
        (FrameType::Credit, stream) => match f.u32()? {
            0 => return Err(f.bad("credit must not be zero")),
            bytes => Frame::Credit(Credit { stream, bytes }),
        },
        (FrameType::Error, stream) => {
            Frame::Error(ErrorFrame { stream, code: Code::from_number(f.u16()?), message: f.text16(MAX_MESSAGE)? })
        }
        (_, None) => return Err(f.bad("the stream id must not be zero")),
        (FrameType::Open, Some(stream)) => Frame::Open(open(&mut f, stream)?),
        (FrameType::Data, Some(stream)) => Frame::Data { stream, bytes: f.content()? },
        (FrameType::Finish, Some(stream)) => Frame::Finish(stream),
        (FrameType::Reset, Some(stream)) => Frame::Reset { stream, code: Code::from_number(f.u16()?) },
        (FrameType::Sync, Some(stream)) => Frame::Sync(stream),
        (FrameType::Released, Some(stream)) => Frame::Released { stream, bytes: f.content()? },
        (FrameType::Finding, Some(stream)) => Frame::Finding(stream, finding(&mut f)?),
        (FrameType::Held, Some(stream)) => Frame::Held(stream, Held { received: f.u64()?, held: f.u64()? }),
        (FrameType::Report, Some(stream)) => Frame::Report(stream, report(&mut f)?),
    };
    f.end()?;
    Ok(frame)
}

fn hello(mut f: Fields) -> Result<Hello, WireError> {
    if f.array()? != MAGIC {
        return Err(WireError::Magic);
    }
    let hello = Hello { min: f.u16()?, max: f.u16()?, features: f.u32()?, client: f.text8()? };
    if hello.min > hello.max {
        return Err(f.bad("the oldest version is above the newest"));
    }
    // What follows belongs to later versions: a version 1 daemon must be able to answer their Hello.
    Ok(hello)
}

fn welcome(f: &mut Fields) -> Result<Welcome, WireError> {
    Ok(Welcome {
        version: f.u16()?,
        features: f.u32()?,
        max_payload: f.u32()?,
        max_streams: f.u32()?,
        stream_window: f.u32()?,
        connection_window: f.u32()?,
        fingerprint: f.array()?,
        daemon: f.text8()?,
    })
}

fn ring_offer(f: &mut Fields) -> Result<RingOffer, WireError> {
    let offer = RingOffer { to_daemon: f.u32()?, to_client: f.u32()? };
    if !is_capacity(offer.to_daemon) || !is_capacity(offer.to_client) {
        return Err(f.bad("a ring has a power of two of bytes, from 64 KiB to 1 MiB"));
    }
    Ok(offer)
}

fn open(f: &mut Fields, stream: StreamId) -> Result<Open, WireError> {
    let window = f.u32()?;
    if window > crate::MAX_WINDOW {
        return Err(f.bad("the window is above 2^31 - 1"));
    }
    let profile = f.text8()?;
    let session = f.bytes8(MAX_SESSION)?;
    Ok(Open { stream, window, profile, session })
}

fn finding(f: &mut Fields) -> Result<Finding, WireError> {
    let (start, end) = (f.u64()?, f.u64()?);
    if start > end {
        return Err(f.bad("the span ends before it starts"));
    }
    let family = f.u8()?;
    let family = Family::from_number(family).ok_or_else(|| f.bad("unknown family"))?;
    let severity = f.u8()?;
    let severity = Severity::from_number(severity).ok_or_else(|| f.bad("unknown severity"))?;
    let action = f.u8()?;
    let action = Action::from_number(action).ok_or_else(|| f.bad("unknown action"))?;
    Ok(Finding { start, end, family, severity, action, rule: f.text8()? })
}

fn report(f: &mut Fields) -> Result<Report, WireError> {
    let complete = f.flag()?;
    let blocked = f.flag()?;
    let at = f.u64()?;
    let blocked_at = blocked.then_some(at);
    let received = f.u64()?;
    let more = f.u64()?;
    let count = usize::from(f.u16()?);
    if count > MAX_REASONS {
        return Err(f.bad("too many reasons"));
    }
    let mut reasons = Vec::with_capacity(count);
    for _ in 0..count {
        reasons.push(Reason { code: f.text8()?, at: f.u64()? });
    }
    Ok(Report { complete, blocked_at, received, more, reasons })
}

fn status(f: &mut Fields) -> Result<Status, WireError> {
    let daemon = f.text8()?;
    let (uptime_ms, connections, streams) = (f.u64()?, f.u32()?, f.u32()?);
    // The counts are the peer's claim: the vectors grow by what is really there.
    let mut profiles = Vec::new();
    for _ in 0..f.u16()? {
        profiles.push(ProfileStatus { name: f.text8()?, rules: f.u32()?, fingerprint: f.array()? });
    }
    let mut counters = Vec::new();
    for _ in 0..f.u16()? {
        counters.push((f.text8()?, f.u64()?));
    }
    let (rules_age_ms, reload_error) = (f.u64()?, f.text16(MAX_MESSAGE)?);
    let mut facts = Vec::new();
    for _ in 0..f.u16()? {
        facts.push((f.text8()?, f.text16(MAX_MESSAGE)?));
    }
    Ok(Status { daemon, uptime_ms, connections, streams, profiles, counters, rules_age_ms, reload_error, facts })
}

/// Reads fields off a payload; every read checks that the bytes are there.
struct Fields {
    frame: FrameType,
    rest: Bytes,
}

impl Fields {
    fn bad(&self, what: &'static str) -> WireError {
        WireError::Malformed { frame: self.frame.as_str(), what }
    }

    fn take(&mut self, n: usize) -> Result<Bytes, WireError> {
        if self.rest.len() < n { Err(self.bad("a field is missing")) } else { Ok(self.rest.split_to(n)) }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let array = *self.rest.first_chunk::<N>().ok_or_else(|| self.bad("a field is missing"))?;
        self.rest.advance(N);
        Ok(array)
    }

    fn u8(&mut self) -> Result<u8, WireError> {
        self.array().map(|[b]| b)
    }

    fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, WireError> {
        self.array().map(u64::from_le_bytes)
    }

    fn flag(&mut self) -> Result<bool, WireError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.bad("a flag is neither 0 nor 1")),
        }
    }

    fn bytes8(&mut self, max: usize) -> Result<Bytes, WireError> {
        let n = usize::from(self.u8()?);
        if n > max {
            return Err(self.bad("a name is too long"));
        }
        self.take(n)
    }

    fn text8(&mut self) -> Result<String, WireError> {
        let raw = self.bytes8(MAX_NAME)?;
        self.utf8(&raw)
    }

    fn text16(&mut self, max: usize) -> Result<String, WireError> {
        let n = usize::from(self.u16()?);
        if n > max {
            return Err(self.bad("a text is too long"));
        }
        let raw = self.take(n)?;
        self.utf8(&raw)
    }

    fn utf8(&self, raw: &[u8]) -> Result<String, WireError> {
        let text = std::str::from_utf8(raw).map_err(|_| self.bad("a text is not UTF-8"))?;
        // Names end up in logs and on terminals: no line breaks and no escape sequences from a peer.
        if text.chars().any(char::is_control) {
            return Err(self.bad("a text has a control character"));
        }
        Ok(text.to_owned())
    }

    /// The whole payload as content. Empty content is refused: it costs no credit, so a flood of it would be free.
    fn content(&mut self) -> Result<Bytes, WireError> {
        match std::mem::take(&mut self.rest) {
            b if b.is_empty() => Err(self.bad("the content is empty")),
            b => Ok(b),
        }
    }

    fn end(&self) -> Result<(), WireError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.bad("bytes are left over")) }
    }
}
