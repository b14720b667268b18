//! Frames as typed values. The layout of each is in `PROTOCOL.md`; this module has no bytes in it.

use std::fmt;
use std::num::NonZeroU32;

use bytes::Bytes;

use crate::error::Code;
use crate::limits::{VERSION, VERSION_MIN};

/// Names a stream on its connection. Chosen by the client, never zero, each above all earlier ones, so never reused:
/// a receiver tells "closed" from "never opened" by one number instead of a growing set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(NonZeroU32);

impl StreamId {
    /// The first id of a connection.
    pub const FIRST: StreamId = StreamId(NonZeroU32::MIN);

    /// An id from its number; `None` for zero, which means the connection itself.
    pub fn new(n: u32) -> Option<Self> {
        NonZeroU32::new(n).map(StreamId)
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// The id after this one; `None` when all are used up.
    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(StreamId)
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! byte_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $value:literal, $label:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant = $value,)* }

        impl $name {
            /// The number on the wire.
            pub fn number(self) -> u8 {
                match self { $($name::$variant => $value,)* }
            }

            /// The value of a number, if it has one.
            pub fn from_number(n: u8) -> Option<Self> {
                match n { $($value => Some($name::$variant),)* _ => None }
            }

            /// The name used in packs, findings and documents.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $label,)* }
            }
        }
    };
}

byte_enum! {
    /// The type byte of a frame.
    FrameType {
        /// Client: the first frame.
        Hello = 0x01, "Hello";
        /// Daemon: the answer to Hello.
        Welcome = 0x02, "Welcome";
        /// Daemon: offers a ring; both its files come with the frame.
        RingOffer = 0x03, "RingOffer";
        /// Both: the last frame of its sender on the socket but Wake and Error; what follows goes through the ring.
        RingReady = 0x04, "RingReady";
        /// Both, on the socket: look at the ring.
        Wake = 0x05, "Wake";
        /// Client: starts a stream.
        Open = 0x10, "Open";
        /// Client: bytes to filter.
        Data = 0x11, "Data";
        /// Client: no more bytes follow.
        Finish = 0x12, "Finish";
        /// Client: gives the stream up.
        Reset = 0x13, "Reset";
        /// Client: asks how far the daemon is.
        Sync = 0x14, "Sync";
        /// Daemon: bytes that may pass.
        Released = 0x20, "Released";
        /// Daemon: a rule matched.
        Finding = 0x21, "Finding";
        /// Daemon: how far it has read and how much it keeps.
        Held = 0x22, "Held";
        /// Daemon: the stream's end and what is to say about it.
        Report = 0x23, "Report";
        /// Both: more may be sent.
        Credit = 0x30, "Credit";
        /// Both: are you there.
        Ping = 0x31, "Ping";
        /// Both: the answer to Ping.
        Pong = 0x32, "Pong";
        /// Daemon: ends a stream or the connection.
        Error = 0x33, "Error";
        /// Daemon: open no more streams.
        Goaway = 0x34, "Goaway";
        /// Client: asks for the daemon's state.
        StatusRequest = 0x40, "StatusRequest";
        /// Daemon: its state.
        Status = 0x41, "Status";
    }
}

byte_enum! {
    /// What kind of trouble a rule looks for.
    Family {
        /// Personal data.
        Pii = 1, "pii";
        /// Credentials.
        Secret = 2, "secret";
        /// A comment in the place of content.
        Elision = 3, "elision";
        /// Content that was cut short.
        Truncation = 4, "truncation";
        /// Text that gives orders to the model or hides from the reader.
        Injection = 5, "injection";
    }
}

byte_enum! {
    /// How bad a match is.
    Severity {
        /// Worth knowing.
        Info = 1, "info";
        /// Rarely harmful by itself.
        Low = 2, "low";
        /// Harmful in the wrong hands.
        Medium = 3, "medium";
        /// Harmful to a person or a system.
        High = 4, "high";
        /// Gives access at once.
        Critical = 5, "critical";
    }
}

byte_enum! {
    /// What was done with a span.
    Action {
        /// Reported; the bytes passed.
        Flag = 1, "flag";
        /// Masked in place.
        Mask = 2, "mask";
        /// Replaced by a token.
        Replace = 3, "replace";
        /// Nothing from the span on passes.
        Block = 4, "block";
    }
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// See [`FrameType::Hello`].
    Hello(Hello),
    /// See [`FrameType::Welcome`].
    Welcome(Welcome),
    /// See [`FrameType::RingOffer`].
    RingOffer(RingOffer),
    /// See [`FrameType::RingReady`].
    RingReady,
    /// See [`FrameType::Wake`].
    Wake,
    /// See [`FrameType::Open`].
    Open(Open),
    /// See [`FrameType::Data`].
    Data {
        /// The stream.
        stream: StreamId,
        /// 1 to [`crate::MAX_PAYLOAD`] bytes.
        bytes: Bytes,
    },
    /// See [`FrameType::Finish`].
    Finish(StreamId),
    /// See [`FrameType::Reset`].
    Reset {
        /// The stream.
        stream: StreamId,
        /// Why.
        code: Code,
    },
    /// See [`FrameType::Sync`].
    Sync(StreamId),
    /// See [`FrameType::Released`].
    Released {
        /// The stream.
        stream: StreamId,
        /// 1 to [`crate::MAX_PAYLOAD`] bytes.
        bytes: Bytes,
    },
    /// See [`FrameType::Finding`].
    Finding(StreamId, Finding),
    /// See [`FrameType::Held`].
    Held(StreamId, Held),
    /// See [`FrameType::Report`].
    Report(StreamId, Report),
    /// See [`FrameType::Credit`].
    Credit(Credit),
    /// See [`FrameType::Ping`].
    Ping([u8; 8]),
    /// See [`FrameType::Pong`].
    Pong([u8; 8]),
    /// See [`FrameType::Error`].
    Error(ErrorFrame),
    /// See [`FrameType::Goaway`].
    Goaway(Goaway),
    /// See [`FrameType::StatusRequest`].
    StatusRequest,
    /// See [`FrameType::Status`].
    Status(Status),
}

impl Frame {
    /// The frame's type.
    pub fn frame_type(&self) -> FrameType {
        match self {
            Frame::Hello(_) => FrameType::Hello,
            Frame::Welcome(_) => FrameType::Welcome,
            Frame::RingOffer(_) => FrameType::RingOffer,
            Frame::RingReady => FrameType::RingReady,
            Frame::Wake => FrameType::Wake,
            Frame::Open(_) => FrameType::Open,
            Frame::Data { .. } => FrameType::Data,
            Frame::Finish(_) => FrameType::Finish,
            Frame::Reset { .. } => FrameType::Reset,
            Frame::Sync(_) => FrameType::Sync,
            Frame::Released { .. } => FrameType::Released,
            Frame::Finding(..) => FrameType::Finding,
            Frame::Held(..) => FrameType::Held,
            Frame::Report(..) => FrameType::Report,
            Frame::Credit(_) => FrameType::Credit,
            Frame::Ping(_) => FrameType::Ping,
            Frame::Pong(_) => FrameType::Pong,
            Frame::Error(_) => FrameType::Error,
            Frame::Goaway(_) => FrameType::Goaway,
            Frame::StatusRequest => FrameType::StatusRequest,
            Frame::Status(_) => FrameType::Status,
        }
    }
}

/// The client's first frame. Its layout and that of Error stay the same in every version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Oldest version the client speaks.
    pub min: u16,
    /// Newest version the client speaks.
    pub max: u16,
    /// Feature bits the client offers, such as [`crate::FEATURE_RING`]; unknown ones are ignored.
    pub features: u32,
    /// The client's name and version, for the daemon's log. At most [`crate::MAX_NAME`] bytes.
    pub client: String,
}

impl Hello {
    /// A Hello of this crate's versions.
    pub fn new(client: impl Into<String>) -> Self {
        Hello { min: VERSION_MIN, max: VERSION, features: 0, client: client.into() }
    }
}

/// The newest version that both sides speak, if any: the client's range against this crate's.
pub fn negotiate(hello: &Hello) -> Option<u16> {
    let newest = hello.max.min(VERSION);
    (newest >= hello.min.max(VERSION_MIN)).then_some(newest)
}

/// The daemon's answer to a Hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The version both will speak.
    pub version: u16,
    /// The offered feature bits that the daemon accepts.
    pub features: u32,
    /// Longest payload the daemon accepts, in bytes.
    pub max_payload: u32,
    /// Most streams open at once on this connection.
    pub max_streams: u32,
    /// Initial credit of each stream's Data, in bytes.
    pub stream_window: u32,
    /// Initial credit of the connection's Data over all streams, in bytes.
    pub connection_window: u32,
    /// BLAKE3 over names and fingerprints of all profiles: changes when any rule or action does.
    pub fingerprint: [u8; 32],
    /// The daemon's version.
    pub daemon: String,
}

/// Offers a ring. Both files come with the frame's first byte: to the daemon, to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingOffer {
    /// Bytes of the ring that the client writes: a size that [`crate::ring::is_capacity`].
    pub to_daemon: u32,
    /// Bytes of the ring that the daemon writes: a size that [`crate::ring::is_capacity`].
    pub to_client: u32,
}

/// Starts a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// Its id: above every id opened on this connection before.
    pub stream: StreamId,
    /// Credit for Released and Finding payloads that the client grants at the start, in bytes.
    pub window: u32,
    /// The profile's name.
    pub profile: String,
    /// The session whose token key the stream uses; empty for a key of its own. At most [`crate::MAX_SESSION`] bytes.
    pub session: Bytes,
}

/// A rule matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Input offset of the span's first byte.
    pub start: u64,
    /// Input offset behind the span's last byte.
    pub end: u64,
    /// The rule's family.
    pub family: Family,
    /// The rule's severity.
    pub severity: Severity,
    /// What was done.
    pub action: Action,
    /// The rule's full name.
    pub rule: String,
}

impl Finding {
    /// Length of the frame's payload, in bytes: what it takes of the stream's credit.
    pub fn payload_len(&self) -> usize {
        20 + self.rule.len()
    }
}

/// How far the daemon has come with a stream. Answers every Sync before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Bytes of Data processed. Everything of them that may pass was sent before this frame.
    pub received: u64,
    /// Bytes of those that are kept back.
    pub held: u64,
}

/// Why a stream is not whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// A stable code.
    pub code: String,
    /// Input offset, in bytes.
    pub at: u64,
}

/// The end of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Report {
    /// Nothing was open at the end and nothing was marked as left out.
    pub complete: bool,
    /// Set when a rule blocked the stream: the input offset of the span. Nothing from there on was released.
    pub blocked_at: Option<u64>,
    /// Bytes of Data processed.
    pub received: u64,
    /// Reasons that did not fit.
    pub more: u64,
    /// Why the stream is not complete, by offset; at most [`crate::MAX_REASONS`].
    pub reasons: Vec<Reason>,
}

/// More may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// The stream, or `None` for the connection's window.
    pub stream: Option<StreamId>,
    /// Bytes granted; not zero.
    pub bytes: u32,
}

/// Ends a stream or the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorFrame {
    /// The stream that ended, or `None` when the connection did.
    pub stream: Option<StreamId>,
    /// Why.
    pub code: Code,
    /// For people: what happened and the mend. Never contains stream content.
    pub message: String,
}

/// The daemon is shutting down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goaway {
    /// The highest stream id that was accepted; zero if none. Later ones get [`Code::Draining`].
    pub last_stream: u32,
    /// How long open streams may take to finish, in milliseconds.
    pub grace_ms: u32,
}

/// A profile that the daemon serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileStatus {
    /// Its name.
    pub name: String,
    /// Number of rules in force.
    pub rules: u32,
    /// The rule set's fingerprint.
    pub fingerprint: [u8; 32],
}

/// The daemon's state.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Status {
    /// The daemon's version.
    pub daemon: String,
    /// Time since it started, in milliseconds.
    pub uptime_ms: u64,
    /// Open connections.
    pub connections: u32,
    /// Open streams.
    pub streams: u32,
    /// The profiles it serves.
    pub profiles: Vec<ProfileStatus>,
    /// Counters by name, since the start. Names may be added at any time.
    pub counters: Vec<(String, u64)>,
    /// Time since the rules in force were loaded, in milliseconds.
    pub rules_age_ms: u64,
    /// Why the last reload left the old rules in force; empty if it did not. At most [`crate::MAX_MESSAGE`] bytes.
    pub reload_error: String,
    /// What else is to know of the daemon, by name, for people: its sandbox, its audit log. Names may be added at any time.
    pub facts: Vec<(String, String)>,
}

impl Status {
    /// A counter's value; zero if the daemon has none of that name.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.iter().find(|(n, _)| n == name).map_or(0, |(_, v)| *v)
    }
}
