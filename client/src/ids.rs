//! A table of streams: looked into a dozen times a push, so not with the standard library's hash.
//!
//! Attacker: none. This side chooses the ids, one after the other; a daemon's frames can only name ids that exist here.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use forebay_wire::StreamId;

/// Something for each stream.
pub(crate) type ByStream<T> = HashMap<StreamId, T, BuildHasherDefault<IdHasher>>;

/// Spreads a number over all bits by one multiplication (Fibonacci hashing).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.write_u32((*b).into());
        }
    }

    fn write_u32(&mut self, id: u32) {
        self.0 = (self.0 ^ u64::from(id)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
