//! The `tokio-util` codec over [`crate::decode`] and [`crate::encode`].

use bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder};

use crate::encode::EncodeError;
use crate::error::WireError;
use crate::frame::Frame;

/// Frames in both directions. Stateless: everything a frame means is in its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameCodec;

impl Decoder for FrameCodec {
    type Item = Frame;
    type Error = WireError;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Frame>, WireError> {
        crate::decode(src)
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<Frame>, WireError> {
        match crate::decode(src)? {
            None if !src.is_empty() => Err(WireError::Truncated),
            other => Ok(other),
        }
    }
}

impl Encoder<Frame> for FrameCodec {
    type Error = EncodeError;

    fn encode(&mut self, frame: Frame, dst: &mut BytesMut) -> Result<(), EncodeError> {
        crate::encode(&frame, dst)
    }
}
