//! The copy between shared and private memory: the only place where bytes of a ring are touched.
//!
//! The peer may write the bytes while they are copied. To the language that is a data race with somebody it cannot see,
//! and a plain `memcpy` could be compiled into two reads of the same byte that disagree. So the bytes move by
//! instructions that the compiler cannot look into (x86-64: `rep movsb`), or by relaxed atomic loads and stores, which may
//! race (everywhere else). Each shared byte is accessed exactly once. A copy that raced is some mixture of old and new
//! bytes: for a peer that keeps the protocol there is no race, and what one that breaks it gets parsed is its own affair.
//!
//! Measured with these sizes on x86-64 (64 B, 4 KiB, 64 KiB): `memcpy` 1.3, 48, 732 ns; `rep movsb` 3.1, 47, 735 ns;
//! relaxed words 2.0, 71, 1193 ns.

/// Copies `len` bytes out of shared memory.
///
/// # Safety
/// `shared` is valid for reads of `len` bytes, by this thread at any time and by whoever else has it mapped; `private` is
/// valid for writes of `len` bytes that nobody else accesses meanwhile. They do not overlap.
pub(super) unsafe fn from_shared(shared: *const u8, private: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise.
    unsafe {
        move_bytes(shared, private, len);
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        words::from_shared(shared, private, len);
    }
}

/// Copies `len` bytes into shared memory.
///
/// # Safety
/// As [`from_shared`], with `shared` valid for writes and `private` for reads.
pub(super) unsafe fn to_shared(private: *const u8, shared: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise.
    unsafe {
        move_bytes(private, shared, len);
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        words::to_shared(private, shared, len);
    }
}

/// `rep movsb`. Its stores may become visible in any order among themselves, but never after a later store: the release
/// store of an index behind it needs nothing more.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of `len` bytes; they do not overlap.
#[cfg(target_arch = "x86_64")]
unsafe fn move_bytes(src: *const u8, dst: *mut u8, len: usize) {
    // SAFETY: reads `len` bytes at `src` and writes them at `dst`, which the caller promises are there; the direction flag
    // is clear, as the ABI asks of every function's caller. Memory is clobbered (no `nomem`), the stack is not used.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") len => _,
            inout("rsi") src => _,
            inout("rdi") dst => _,
            options(nostack, preserves_flags),
        );
    }
}

/// The same by relaxed atomics of the shared side: eight bytes at a time where it is aligned, one by one at the edges.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod words {
    use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

    const WORD: usize = size_of::<u64>();

    /// Bytes before the first aligned word, and whole words behind them.
    fn split(shared: *const u8, len: usize) -> (usize, usize) {
        let edge = shared.align_offset(WORD).min(len);
        (edge, (len - edge) / WORD)
    }

    /// # Safety
    /// As the function of this name above.
    pub(super) unsafe fn from_shared(shared: *const u8, private: *mut u8, len: usize) {
        let (edge, words) = split(shared, len);
        let body = edge + words * WORD;
        for i in (0..edge).chain(body..len) {
            // SAFETY: `i < len`. The atomics are made by a cast, not by `from_ptr`, which asks for memory that can be
            // written; a relaxed load of at most eight bytes is sound on memory that is mapped read-only.
            unsafe { private.add(i).write((*shared.add(i).cast::<AtomicU8>()).load(Relaxed)) };
        }
        for i in (edge..body).step_by(WORD) {
            // SAFETY: `i + 8 <= len`, and `shared + edge` is aligned; `private` need not be.
            unsafe {
                let word = (*shared.add(i).cast::<AtomicU64>()).load(Relaxed);
                private.add(i).cast::<u64>().write_unaligned(word);
            }
        }
    }

    /// # Safety
    /// As the function of this name above.
    pub(super) unsafe fn to_shared(private: *const u8, shared: *mut u8, len: usize) {
        let (edge, words) = split(shared, len);
        let body = edge + words * WORD;
        for i in (0..edge).chain(body..len) {
            // SAFETY: `i < len`.
            unsafe { (*shared.add(i).cast::<AtomicU8>()).store(private.add(i).read(), Relaxed) };
        }
        for i in (edge..body).step_by(WORD) {
            // SAFETY: `i + 8 <= len`, and `shared + edge` is aligned; `private` need not be.
            unsafe {
                let word = private.add(i).cast::<u64>().read_unaligned();
                (*shared.add(i).cast::<AtomicU64>()).store(word, Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Copy = unsafe fn(*const u8, *mut u8, usize);

    /// Every alignment of both sides, every length around the word size: exactly the bytes asked for, nothing beside them.
    #[test]
    fn exactly_the_bytes_asked_for() {
        let ways: [Copy; 4] = [from_shared, to_shared, words::from_shared, words::to_shared];
        let src: Vec<u8> = (1..=120).collect();
        for way in ways {
            for (from, to) in (0..9).flat_map(|a| (0..9).map(move |b| (a, b))) {
                for len in 0..60 {
                    let mut dst = [0u8; 120];
                    // SAFETY: both are 120 bytes long, and no offset and length together reach further.
                    unsafe { way(src[from..].as_ptr(), dst[to..].as_mut_ptr(), len) };
                    assert_eq!(dst[to..to + len], src[from..from + len]);
                    assert!(dst[..to].iter().chain(&dst[to + len..]).all(|b| *b == 0));
                }
            }
        }
    }
}
