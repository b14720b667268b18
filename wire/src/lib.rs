//! How two processes talk: frames, windows, the shared-memory ring and the numbers both sides agree on.
//!
//! The byte layout is specified in `wire/PROTOCOL.md`; this crate is one implementation of it, used by the daemon and
//! by the client. It is *not* a connection: no clock, no state machine of a session. It knows nothing of rules.
//!
//! - [`decode`] is the one function that turns a peer's bytes into a [`Frame`]; [`encode`] is its inverse.
//!   [`FrameCodec`] offers both as a `tokio-util` codec.
//! - [`SendWindow`] and [`ReceiveWindow`] are the credit arithmetic of both directions.
//! - [`ring`] carries the same frames through shared memory: its state machine, its memory, and the system calls that make,
//!   seal, pass and wait for it.
//!
//! Invariants: decoding never panics, never allocates more than the frame's own length, and refuses a frame as soon
//! as its header is there, before its payload is awaited. The attacker is a peer who may send any byte at any time.
#![deny(unsafe_code)] // Allowed in `rights` and two modules of `ring`, each with the reason.

mod codec;
mod credit;
mod decode;
mod encode;
mod error;
mod frame;
mod limits;
#[allow(unsafe_code)] // A socket option that no safe crate has.
mod rights;
pub mod ring;

pub use codec::FrameCodec;
pub use credit::{CreditOverflow, CreditOverrun, MAX_WINDOW, ReceiveWindow, SendWindow};
pub use decode::decode;
pub use encode::{EncodeError, data_header, encode, put_data, put_released};
pub use error::{Code, WireError};
pub use frame::{
    Action, Credit, ErrorFrame, Family, Finding, Frame, FrameType, Goaway, Held, Hello, Open, ProfileStatus, Reason,
    Report, RingOffer, Severity, Status, StreamId, Welcome, negotiate,
};
pub use limits::{
    FEATURE_RING, HEADER_LEN, MAGIC, MAX_MESSAGE, MAX_NAME, MAX_PAYLOAD, MAX_REASONS, MAX_SESSION, VERSION, VERSION_MIN,
};
pub use rights::refuse_descriptors;
