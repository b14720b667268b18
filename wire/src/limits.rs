//! The protocol's constants. Each says what picked its number.

/// Length of a frame's header, in bytes: payload length, type, flags, reserved, stream.
pub const HEADER_LEN: usize = 12;

/// Longest payload of a frame, in bytes.
///
/// A frame is held in memory until it is whole, so this is what one idle connection can pin: a peer that announces
/// a frame and never completes it costs 16 KiB, not the 4 GiB that the length field could say. It is also the unit of
/// scheduling: at the engine's slowest promised rate (50 MB/s) one full frame is 0.3 ms of processor time, after which
/// another connection gets its turn. Larger frames would not be faster: one system call already moves several.
pub const MAX_PAYLOAD: usize = 16 * 1024;

/// First bytes of a Hello: a peer that speaks another protocol is refused by its first bytes.
pub const MAGIC: [u8; 4] = *b"FBAY";

/// Oldest protocol version that this crate speaks.
pub const VERSION_MIN: u16 = 1;

/// Newest protocol version that this crate speaks.
pub const VERSION: u16 = 1;

/// Feature bit of Hello and Welcome: the client can use a shared-memory ring, the daemon will offer one.
pub const FEATURE_RING: u32 = 1;

/// Longest name (client, profile, rule, reason, counter), in bytes. Names are written by people; with this bound a
/// Status of 64 profiles (10.3 KiB), 64 counters of 48 bytes, a message and four facts of 200 bytes fits one frame.
pub const MAX_NAME: usize = 128;

/// Longest session id, in bytes: two UUIDs in text with a separator. It is hashed once per Open and never stored.
pub const MAX_SESSION: usize = 80;

/// Longest message of an Error frame, in bytes: one line for a person.
pub const MAX_MESSAGE: usize = 1024;

/// Most reasons in a Report: 32 reasons with the longest names are 4.3 KiB, so a report always fits one frame.
pub const MAX_REASONS: usize = 32;
