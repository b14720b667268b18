//! What a peer can do wrong with a ring.

/// A peer's index that no honest peer can have. The connection ends; nothing that the index would give access to was
/// looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The peer's count of written bytes went back.
    #[error("the peer's ring went back by {by} bytes; its client is broken or hostile, and its connection was closed")]
    TailRewound {
        /// By how many bytes.
        by: u32,
    },
    /// The peer says that it wrote more than there was room for.
    #[error(
        "the peer claims {claimed} new bytes in a ring with room for {room}; its client is broken or hostile, and its connection was closed"
    )]
    TailBeyondRoom {
        /// Bytes that it claims to have written since its last index.
        claimed: u32,
        /// Bytes that there was room for.
        room: u32,
    },
    /// The peer's count of read bytes went back.
    #[error(
        "the peer's reading went back by {by} bytes; its client is broken or hostile, and its connection was closed"
    )]
    HeadRewound {
        /// By how many bytes.
        by: u32,
    },
    /// The peer says that it read more than there was.
    #[error(
        "the peer claims to have read {claimed} bytes where {written} were written; its client is broken or hostile, and its connection was closed"
    )]
    HeadBeyondWritten {
        /// Bytes that it claims to have read since its last index.
        claimed: u32,
        /// Bytes that were there for it.
        written: u32,
    },
}

impl Violation {
    /// A stable name for counters.
    pub fn as_str(self) -> &'static str {
        match self {
            Violation::TailRewound { .. } => "tail-rewound",
            Violation::TailBeyondRoom { .. } => "tail-beyond-room",
            Violation::HeadRewound { .. } => "head-rewound",
            Violation::HeadBeyondWritten { .. } => "head-beyond-written",
        }
    }
}
