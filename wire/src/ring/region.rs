//! One mapping: words and bytes behind a pointer, unmapped when dropped.
//!
//! Why `unsafe`: memory that another process writes cannot be a reference to anything but atomics, so the standard
//! library and safe crates have no type for it. The pointer never leaves this module; what goes out are values and copies.

use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::{BufMut, BytesMut};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::copy;
use super::layout::{HEADER, Word};

/// A mapping of `HEADER + capacity` bytes of a file that cannot shrink.
#[derive(Debug)]
struct Region {
    base: NonNull<u8>,
    len: NonZeroUsize,
    capacity: u32,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is unmapped by whoever drops it. Not Sync: nothing
// needs it.
unsafe impl Send for Region {}

impl Region {
    /// Maps a ring file. The caller has checked that it is `HEADER + capacity` bytes long and can never be shorter: a
    /// touch behind a file's end is a SIGBUS.
    fn map(file: BorrowedFd<'_>, capacity: u32, protection: ProtFlags) -> rustix::io::Result<Region> {
        let len = NonZeroUsize::MIN.saturating_add(HEADER - 1 + capacity as usize);
        // SAFETY: a new mapping at an address of the kernel's choice; nothing that exists is replaced.
        let base = unsafe {
            mmap(std::ptr::null_mut(), len.get(), protection, MapFlags::SHARED | MapFlags::POPULATE, file, 0)?
        };
        let base = NonNull::new(base.cast()).ok_or(rustix::io::Errno::FAULT)?;
        Ok(Region { base, len, capacity })
    }

    fn word(&self, word: Word) -> &AtomicU32 {
        // SAFETY: `offset` lies in the header and is a multiple of 4; the mapping is aligned to a page and lives as long as
        // `self`. Everybody who maps it is promised atomics only; a peer that does otherwise writes some value. The
        // reference serves relaxed loads where the mapping is read-only: `PeerRegion` has no other use for it.
        unsafe { self.base.add(word.offset()).cast::<AtomicU32>().as_ref() }
    }

    /// Where `len` bytes of the ring at `at` stand.
    ///
    /// # Panics
    /// If they are not in the ring. No caller asks for such bytes; if one ever does, this is not the place to go on.
    fn bytes(&self, at: u32, len: usize) -> *mut u8 {
        let capacity = self.capacity as usize;
        assert!((at as usize) <= capacity && len <= capacity - at as usize, "bytes outside the ring");
        // SAFETY: `HEADER + at` is at most `HEADER + capacity`, the length of the mapping.
        unsafe { self.base.as_ptr().add(HEADER + at as usize) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: this mapping was made by `map`, no reference into it outlives `self`. An error would mean that it was not
        // there; nothing is left to do then.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len.get()) };
    }
}

/// The mapping that this side writes.
#[derive(Debug)]
pub(super) struct OwnRegion(Region);

impl OwnRegion {
    pub(super) fn map(file: BorrowedFd<'_>, capacity: u32) -> rustix::io::Result<OwnRegion> {
        Region::map(file, capacity, ProtFlags::READ | ProtFlags::WRITE).map(OwnRegion)
    }

    pub(super) fn capacity(&self) -> u32 {
        self.0.capacity
    }

    pub(super) fn store(&self, word: Word, value: u32) {
        self.0.word(word).store(value, Ordering::Release);
    }

    /// The word, to wake who sleeps on it.
    pub(super) fn word(&self, word: Word) -> &AtomicU32 {
        self.0.word(word)
    }

    pub(super) fn copy_in(&mut self, at: u32, bytes: &[u8]) {
        let shared = self.0.bytes(at, bytes.len());
        // SAFETY: `bytes` checked that the ring has them, and the mapping can be written; a slice is private memory.
        unsafe { copy::to_shared(bytes.as_ptr(), shared, bytes.len()) };
    }
}

/// The mapping that the peer writes, read-only here.
#[derive(Debug)]
pub(super) struct PeerRegion(Region);

impl PeerRegion {
    pub(super) fn map(file: BorrowedFd<'_>, capacity: u32) -> rustix::io::Result<PeerRegion> {
        Region::map(file, capacity, ProtFlags::READ).map(PeerRegion)
    }

    pub(super) fn capacity(&self) -> u32 {
        self.0.capacity
    }

    pub(super) fn load(&self, word: Word) -> u32 {
        self.0.word(word).load(Ordering::Relaxed)
    }

    /// The word, to sleep on it.
    pub(super) fn word(&self, word: Word) -> &AtomicU32 {
        self.0.word(word)
    }

    pub(super) fn copy_out(&self, at: u32, len: u32, dst: &mut BytesMut) {
        let len = len as usize;
        let shared = self.0.bytes(at, len);
        dst.reserve(len);
        let private = dst.chunk_mut();
        debug_assert!(private.len() >= len, "a BytesMut's spare room is one piece");
        if private.len() < len {
            return;
        }
        // SAFETY: `bytes` checked that the ring has them; `private` is at least `len` bytes that belong to `dst` alone, and
        // all of them are written before `advance_mut` counts them in.
        unsafe {
            copy::from_shared(shared, private.as_mut_ptr(), len);
            dst.advance_mut(len);
        }
    }
}
