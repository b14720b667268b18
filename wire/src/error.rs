//! Error codes that travel, and what can be wrong with a peer's bytes.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $label:literal;)*) => {
        /// Why a connection or a stream was ended. The numbers are the protocol's and never change meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $name,)*
            /// A code that this version does not know. Treated as the end of whatever it was sent for.
            Other(u16),
        }

        impl Code {
            /// Every code this version knows, in the order of their numbers.
            pub const ALL: &'static [Code] = &[$(Code::$name),*];

            /// The number on the wire.
            pub fn number(self) -> u16 {
                match self { $(Code::$name => $value,)* Code::Other(n) => n }
            }

            /// The code of a number.
            pub fn from_number(n: u16) -> Code {
                match n { $($value => Code::$name,)* n => Code::Other(n) }
            }

            /// A stable name for logs and counters.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $label,)* Code::Other(_) => "other" }
            }
        }
    };
}

codes! {
    /// A field is missing, too long, out of range or not UTF-8, or bytes are left over.
    Malformed = 1, "malformed";
    /// A header announces more than [`crate::MAX_PAYLOAD`] bytes.
    OversizedFrame = 2, "oversized-frame";
    /// A frame type that the version does not have.
    UnknownType = 3, "unknown-type";
    /// No protocol version that both sides speak.
    Version = 4, "version";
    /// The first frame was no Hello, or its magic was wrong.
    HandshakeExpected = 5, "handshake-expected";
    /// The Hello did not arrive in time.
    HandshakeTimeout = 6, "handshake-timeout";
    /// An Open with an id that is not above every earlier one.
    StreamIdReused = 7, "stream-id-reused";
    /// A frame for a stream that was never opened.
    UnknownStream = 8, "unknown-stream";
    /// A frame that the stream's state does not allow, such as Data after Finish.
    StreamState = 9, "stream-state";
    /// More Data than the credit allows.
    CreditOverrun = 10, "credit-overrun";
    /// Credit that would lift a window above [`crate::MAX_WINDOW`].
    CreditOverflow = 11, "credit-overflow";
    /// A known frame that this side may not send, or a second Hello.
    UnexpectedFrame = 12, "unexpected-frame";
    /// No frame for longer than the idle timeout.
    IdleTimeout = 13, "idle-timeout";
    /// The peer did not read, or gave no credit, for longer than the stall timeout.
    WriteStall = 14, "write-stall";
    /// Too many connections, of this user or in all.
    ConnectionLimit = 15, "connection-limit";
    /// An index in shared memory that no peer that keeps the protocol can have.
    RingViolation = 16, "ring-violation";
    /// An Open names a profile that the daemon does not have.
    UnknownProfile = 32, "unknown-profile";
    /// Too many streams, on this connection, of this user or in all.
    StreamLimit = 33, "stream-limit";
    /// Output that the client does not take exceeds what its user may have buffered.
    BufferLimit = 34, "buffer-limit";
    /// The daemon is shutting down.
    Draining = 35, "draining";
    /// The client gave the stream up.
    Cancelled = 36, "cancelled";
    /// A fault of the daemon.
    Internal = 37, "internal";
    /// The daemon cannot record what it finds, and must.
    AuditUnavailable = 38, "audit-unavailable";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Code::Other(n) => write!(f, "code {n}"),
            code => f.write_str(code.as_str()),
        }
    }
}

/// What is wrong with a peer's bytes. After one of these the byte stream has no meaning and the connection ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A header announces a payload above the bound.
    #[error("a frame of {length} bytes was announced; send at most {} bytes in a frame", crate::MAX_PAYLOAD)]
    Oversized {
        /// The announced payload length, in bytes.
        length: u32,
    },
    /// A type byte that names no frame.
    #[error("there is no frame type {0:#04x}; see the table of frames in PROTOCOL.md")]
    UnknownType(u8),
    /// A Hello with the wrong magic.
    #[error("this is not a forebay client: the first frame must be a Hello that begins with \"FBAY\"")]
    Magic,
    /// A payload that is not what its type says.
    #[error("the {frame} frame is malformed: {what}")]
    Malformed {
        /// The frame's name.
        frame: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The byte stream ended inside a frame.
    #[error("the connection ended inside a frame")]
    Truncated,
    /// Reading or writing failed; only from [`crate::FrameCodec`], which must carry it.
    #[error("the connection broke: {0}")]
    Io(std::io::ErrorKind),
}

impl WireError {
    /// The code that tells the peer.
    pub fn code(&self) -> Code {
        match self {
            WireError::Oversized { .. } => Code::OversizedFrame,
            WireError::UnknownType(_) => Code::UnknownType,
            WireError::Magic => Code::HandshakeExpected,
            WireError::Malformed { .. } | WireError::Truncated => Code::Malformed,
            WireError::Io(_) => Code::Internal,
        }
    }
}

impl From<std::io::Error> for WireError {
    fn from(e: std::io::Error) -> Self {
        WireError::Io(e.kind())
    }
}
