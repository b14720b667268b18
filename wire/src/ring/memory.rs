//! What a ring needs of memory, as a trait: words, bytes and fences.
//!
//! [`super::End`] is written against it, so the state machine that ships ([`super::Mapped`], real mappings) is the one that
//! a model checker drives (`tests/ring_model.rs`, memory whose every interleaving is tried). An implementation decides
//! nothing: it carries out loads, stores, fences and copies, in bounds.

use std::sync::atomic::Ordering;

use bytes::BytesMut;

use super::layout::Word;

/// Both mappings, as one side has them: its own, which it writes, and the peer's, which it only reads.
pub trait Memory {
    /// Bytes of the ring that this side writes; a power of two.
    fn out_capacity(&self) -> u32;

    /// Bytes of the ring that this side reads; a power of two.
    fn in_capacity(&self) -> u32;

    /// A word of the peer's mapping, by a relaxed load: the mapping is read-only here, and on such memory only relaxed
    /// loads are sure to be plain loads. Order comes from [`Memory::fence`].
    fn load(&self, word: Word) -> u32;

    /// Sets a word of the own mapping, by a release store.
    fn store(&self, word: Word, value: u32);

    /// An atomic fence.
    fn fence(&self, order: Ordering);

    /// Copies bytes into the own ring. `at + bytes.len()` is at most [`Memory::out_capacity`].
    fn copy_in(&mut self, at: u32, bytes: &[u8]);

    /// Appends `len` bytes of the peer's ring to `dst`, which has room for them. `at + len` is at most
    /// [`Memory::in_capacity`].
    fn copy_out(&self, at: u32, len: u32, dst: &mut BytesMut);
}
