//! The memory that ships: two mappings, and sleeping on a word of one of them.

use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use bytes::BytesMut;
use rustix::thread::futex::{self, Timespec};

use super::layout::Word;
use super::memory::Memory;
use super::region::{OwnRegion, PeerRegion};

/// Both mappings of one side. Made by [`super::RingFiles`].
#[derive(Debug)]
pub struct Mapped {
    own: OwnRegion,
    peer: PeerRegion,
}

impl Mapped {
    pub(super) fn new(own: OwnRegion, peer: PeerRegion) -> Self {
        Mapped { own, peer }
    }

    /// Wakes who sleeps on the own `Wake` word: the answer to [`super::Ring::Futex`]. Never blocks.
    pub fn wake(&self) {
        // Shared, not private to the process: the sleeper is another one. There is one sleeper; no error can be mended.
        let _ = futex::wake(self.own.word(Word::Wake), futex::Flags::empty(), 1);
    }

    /// Sleeps while the peer's `Wake` word is `wake`, at most `timeout`: for clients only. False if the time was
    /// over.
    pub fn sleep(&self, wake: u32, timeout: Duration) -> bool {
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        // Woken, interrupted, or the word had changed already: whoever wakes up looks, whatever it was.
        let slept = futex::wait(self.peer.word(Word::Wake), futex::Flags::empty(), wake, Some(&timeout));
        slept != Err(rustix::io::Errno::TIMEDOUT)
    }

    /// Tells the peer which processor this thread runs on, and says whether the peer last ran there too.
    pub fn same_processor(&self) -> bool {
        // Plus one: zero means that it was never said.
        let here = u32::try_from(rustix::thread::sched_getcpu()).unwrap_or(u32::MAX - 1).saturating_add(1);
        self.own.store(Word::Cpu, here);
        self.peer.load(Word::Cpu) == here
    }
}

impl Memory for Mapped {
    fn out_capacity(&self) -> u32 {
        self.own.capacity()
    }

    fn in_capacity(&self) -> u32 {
        self.peer.capacity()
    }

    fn load(&self, word: Word) -> u32 {
        self.peer.load(word)
    }

    fn store(&self, word: Word, value: u32) {
        self.own.store(word, value);
    }

    fn fence(&self, order: Ordering) {
        fence(order);
    }

    fn copy_in(&mut self, at: u32, bytes: &[u8]) {
        self.own.copy_in(at, bytes);
    }

    fn copy_out(&self, at: u32, len: u32, dst: &mut BytesMut) {
        self.peer.copy_out(at, len, dst);
    }
}
