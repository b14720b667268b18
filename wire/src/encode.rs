//! From a frame to bytes.

use bytes::{BufMut, BytesMut};

use crate::frame::{Finding, Frame, FrameType, Report, Status, StreamId};
use crate::limits::{HEADER_LEN, MAGIC, MAX_MESSAGE, MAX_NAME, MAX_PAYLOAD, MAX_REASONS, MAX_SESSION};

/// A frame that the protocol has no bytes for. A mistake of the caller, never of the peer.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// A name, text, list or payload above its bound.
    #[error("the {frame} frame cannot be sent: {what} is above its bound; shorten it")]
    TooLong {
        /// The frame's name.
        frame: &'static str,
        /// Which part.
        what: &'static str,
    },
    /// Content or credit of zero bytes.
    #[error("the {frame} frame cannot be sent empty; leave it out")]
    Empty {
        /// The frame's name.
        frame: &'static str,
    },
    /// Writing failed; only from [`crate::FrameCodec`], which must carry it.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Appends `frame` to `dst`. After an error `dst` is as it was.
pub fn encode(frame: &Frame, dst: &mut BytesMut) -> Result<(), EncodeError> {
    let start = dst.len();
    let kind = frame.frame_type();
    put_header(dst, kind, stream_of(frame), 0);
    let body = put_payload(frame, &mut Out { frame: kind, dst }).and_then(|()| {
        let length = dst.len() - start - HEADER_LEN;
        if length > MAX_PAYLOAD {
            return Err(EncodeError::TooLong { frame: kind.as_str(), what: "the payload" });
        }
        Ok(length)
    });
    match body {
        Ok(length) => {
            // Bounded by MAX_PAYLOAD just above.
            let length = u32::try_from(length).unwrap_or(0);
            dst[start..start + 4].copy_from_slice(&length.to_le_bytes());
            Ok(())
        }
        Err(e) => {
            dst.truncate(start);
            Err(e)
        }
    }
}

/// Appends `bytes` as Data frames, as many as the frame bound asks for.
pub fn put_data(stream: StreamId, bytes: &[u8], dst: &mut BytesMut) {
    put_content(FrameType::Data, stream, bytes, dst);
}

/// Appends `bytes` as Released frames, as many as the frame bound asks for.
pub fn put_released(stream: StreamId, bytes: &[u8], dst: &mut BytesMut) {
    put_content(FrameType::Released, stream, bytes, dst);
}

/// The header of a Data frame of `length` bytes, at most [`MAX_PAYLOAD`]: for who writes the bytes themselves elsewhere.
pub fn data_header(stream: StreamId, length: usize) -> [u8; HEADER_LEN] {
    debug_assert!(length <= MAX_PAYLOAD);
    let mut header = [0; HEADER_LEN];
    header[..4].copy_from_slice(&u32::try_from(length).unwrap_or(0).to_le_bytes());
    header[4] = FrameType::Data.number();
    header[8..].copy_from_slice(&stream.get().to_le_bytes());
    header
}

fn put_content(kind: FrameType, stream: StreamId, bytes: &[u8], dst: &mut BytesMut) {
    for piece in bytes.chunks(MAX_PAYLOAD) {
        // A chunk is at most MAX_PAYLOAD long.
        put_header(dst, kind, stream.get(), u32::try_from(piece.len()).unwrap_or(0));
        dst.extend_from_slice(piece);
    }
}

fn put_header(dst: &mut BytesMut, kind: FrameType, stream: u32, length: u32) {
    dst.reserve(HEADER_LEN + length as usize);
    dst.put_u32_le(length);
    dst.put_u8(kind.number());
    dst.put_bytes(0, 3);
    dst.put_u32_le(stream);
}

fn stream_of(frame: &Frame) -> u32 {
    match frame {
        Frame::Open(o) => o.stream.get(),
        Frame::Data { stream, .. } | Frame::Released { stream, .. } | Frame::Reset { stream, .. } => stream.get(),
        Frame::Finish(s) | Frame::Sync(s) | Frame::Finding(s, _) | Frame::Held(s, _) | Frame::Report(s, _) => s.get(),
        Frame::Credit(c) => c.stream.map_or(0, StreamId::get),
        Frame::Error(e) => e.stream.map_or(0, StreamId::get),
        Frame::Hello(_)
        | Frame::Welcome(_)
        | Frame::RingOffer(_)
        | Frame::RingReady
        | Frame::Wake
        | Frame::Ping(_)
        | Frame::Pong(_)
        | Frame::Goaway(_)
        | Frame::StatusRequest
        | Frame::Status(_) => 0,
    }
}

fn put_payload(frame: &Frame, o: &mut Out<'_>) -> Result<(), EncodeError> {
    match frame {
        Frame::Hello(h) => {
            o.dst.put_slice(&MAGIC);
            o.dst.put_u16_le(h.min);
            o.dst.put_u16_le(h.max);
            o.dst.put_u32_le(h.features);
            o.name(&h.client)
        }
        Frame::Welcome(w) => {
            o.dst.put_u16_le(w.version);
            o.dst.put_u32_le(w.features);
            o.dst.put_u32_le(w.max_payload);
            o.dst.put_u32_le(w.max_streams);
            o.dst.put_u32_le(w.stream_window);
            o.dst.put_u32_le(w.connection_window);
            o.dst.put_slice(&w.fingerprint);
            o.name(&w.daemon)
        }
        Frame::RingOffer(offer) => {
            o.dst.put_u32_le(offer.to_daemon);
            o.dst.put_u32_le(offer.to_client);
            Ok(())
        }
        Frame::Open(open) => {
            o.dst.put_u32_le(open.window);
            o.name(&open.profile)?;
            o.short(&open.session, MAX_SESSION, "the session id")
        }
        Frame::Data { bytes, .. } | Frame::Released { bytes, .. } => {
            if bytes.is_empty() {
                return Err(EncodeError::Empty { frame: o.frame.as_str() });
            }
            if bytes.len() > MAX_PAYLOAD {
                return Err(o.too_long("the content"));
            }
            o.dst.put_slice(bytes);
            Ok(())
        }
        Frame::Finish(_) | Frame::Sync(_) | Frame::StatusRequest | Frame::RingReady | Frame::Wake => Ok(()),
        Frame::Reset { code, .. } => {
            o.dst.put_u16_le(code.number());
            Ok(())
        }
        Frame::Finding(_, f) => put_finding(f, o),
        Frame::Held(_, h) => {
            o.dst.put_u64_le(h.received);
            o.dst.put_u64_le(h.held);
            Ok(())
        }
        Frame::Report(_, r) => put_report(r, o),
        Frame::Credit(c) => {
            if c.bytes == 0 {
                return Err(EncodeError::Empty { frame: o.frame.as_str() });
            }
            o.dst.put_u32_le(c.bytes);
            Ok(())
        }
        Frame::Ping(token) | Frame::Pong(token) => {
            o.dst.put_slice(token);
            Ok(())
        }
        Frame::Error(e) => {
            o.dst.put_u16_le(e.code.number());
            o.message(&e.message)
        }
        Frame::Goaway(g) => {
            o.dst.put_u32_le(g.last_stream);
            o.dst.put_u32_le(g.grace_ms);
            Ok(())
        }
        Frame::Status(s) => put_status(s, o),
    }
}

fn put_finding(f: &Finding, o: &mut Out<'_>) -> Result<(), EncodeError> {
    o.dst.put_u64_le(f.start);
    o.dst.put_u64_le(f.end);
    o.dst.put_u8(f.family.number());
    o.dst.put_u8(f.severity.number());
    o.dst.put_u8(f.action.number());
    o.name(&f.rule)
}

fn put_report(r: &Report, o: &mut Out<'_>) -> Result<(), EncodeError> {
    o.dst.put_u8(r.complete.into());
    o.dst.put_u8(r.blocked_at.is_some().into());
    o.dst.put_u64_le(r.blocked_at.unwrap_or(0));
    o.dst.put_u64_le(r.received);
    o.dst.put_u64_le(r.more);
    if r.reasons.len() > MAX_REASONS {
        return Err(o.too_long("the list of reasons"));
    }
    o.count(r.reasons.len())?;
    for reason in &r.reasons {
        o.name(&reason.code)?;
        o.dst.put_u64_le(reason.at);
    }
    Ok(())
}

fn put_status(s: &Status, o: &mut Out<'_>) -> Result<(), EncodeError> {
    o.name(&s.daemon)?;
    o.dst.put_u64_le(s.uptime_ms);
    o.dst.put_u32_le(s.connections);
    o.dst.put_u32_le(s.streams);
    o.count(s.profiles.len())?;
    for p in &s.profiles {
        o.name(&p.name)?;
        o.dst.put_u32_le(p.rules);
        o.dst.put_slice(&p.fingerprint);
    }
    o.count(s.counters.len())?;
    for (name, value) in &s.counters {
        o.name(name)?;
        o.dst.put_u64_le(*value);
    }
    o.dst.put_u64_le(s.rules_age_ms);
    o.message(&s.reload_error)?;
    o.count(s.facts.len())?;
    for (name, value) in &s.facts {
        o.name(name)?;
        o.message(value)?;
    }
    Ok(())
}

struct Out<'a> {
    frame: FrameType,
    dst: &'a mut BytesMut,
}

impl Out<'_> {
    fn too_long(&self, what: &'static str) -> EncodeError {
        EncodeError::TooLong { frame: self.frame.as_str(), what }
    }

    fn message(&mut self, text: &str) -> Result<(), EncodeError> {
        let n = u16::try_from(text.len()).ok().filter(|n| usize::from(*n) <= MAX_MESSAGE);
        self.dst.put_u16_le(n.ok_or_else(|| self.too_long("the message"))?);
        self.dst.put_slice(text.as_bytes());
        Ok(())
    }

    fn name(&mut self, text: &str) -> Result<(), EncodeError> {
        self.short(text.as_bytes(), MAX_NAME, "a name")
    }

    fn short(&mut self, bytes: &[u8], max: usize, what: &'static str) -> Result<(), EncodeError> {
        let n = u8::try_from(bytes.len()).ok().filter(|n| usize::from(*n) <= max);
        self.dst.put_u8(n.ok_or_else(|| self.too_long(what))?);
        self.dst.put_slice(bytes);
        Ok(())
    }

    fn count(&mut self, n: usize) -> Result<(), EncodeError> {
        self.dst.put_u16_le(u16::try_from(n).map_err(|_| self.too_long("a list"))?);
        Ok(())
    }
}
