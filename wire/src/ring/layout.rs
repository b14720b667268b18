//! Where the words and the bytes stand in a mapping, and the bounds of a ring. Plain numbers: no memory is touched here.
//!
//! Each of the two mappings has one writer. Its first page holds the writer's words, all in one cache line, so that one
//! transfer of that line tells the other side everything; the bytes of the ring follow. No word holds an offset or a
//! length that the other side uses without checking it against its own, and there is no table of indices: a reader
//! always knows by itself which bytes come next.

/// Bytes in front of the ring's bytes: one page of 4 KiB, so that words and bytes never share a cache line or (on such
/// hosts) a page. It is the same on hosts with larger pages, whose last page then reaches behind the file's end; nothing
/// is ever read there.
pub const HEADER: usize = 4096;

/// Smallest ring, in bytes: more than three of the longest frames, so that a reader and a writer of long frames overlap.
pub const MIN_CAPACITY: u32 = 64 << 10;

/// Largest ring, in bytes. The daemon pays for the memory of both rings of a connection, so this, times the rings that
/// a user may have, is what a client can pin without sending a byte. More would not be faster either: a ring larger
/// than the second-level cache moves its bytes through slower memory.
pub const MAX_CAPACITY: u32 = 1 << 20;

/// Whether a ring may have this many bytes: a power of two within the bounds.
pub fn is_capacity(bytes: u32) -> bool {
    bytes.is_power_of_two() && (MIN_CAPACITY..=MAX_CAPACITY).contains(&bytes)
}

/// A word of a mapping, written by the mapping's one writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Word {
    /// Bytes ever written into this mapping's ring, modulo 2³².
    Tail = 0,
    /// Bytes ever read from the *other* mapping's ring, modulo 2³².
    Head = 1,
    /// What the writer sleeps for; 0 while it is awake. See [`super::Want`].
    Parked = 2,
    /// How often the writer woke the other side by futex, modulo 2³²: the word that the other side sleeps on.
    Wake = 3,
    /// The processor that the writer last ran on, plus one; 0 when it never said. A hint, believed for nothing but the
    /// choice between pausing and sleeping.
    Cpu = 4,
}

impl Word {
    /// Offset of the word in the mapping, in bytes.
    pub const fn offset(self) -> usize {
        self as usize * size_of::<u32>()
    }

    /// Every word, in order of offset.
    pub const ALL: [Word; 5] = [Word::Tail, Word::Head, Word::Parked, Word::Wake, Word::Cpu];
}

const _: () = assert!(Word::Cpu.offset() + size_of::<u32>() <= 64, "one cache line");
const _: () = assert!(MIN_CAPACITY as usize >= 3 * (crate::HEADER_LEN + crate::MAX_PAYLOAD), "as the constant says");
