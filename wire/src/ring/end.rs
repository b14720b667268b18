//! One side of a pair of rings: the state machine.
//!
//! An [`End`] writes one ring and reads the other. It is *not* a loop: it never waits, makes no system call, and knows
//! neither frames nor clocks. What it keeps is private; of the peer's mapping it looks at three words, each loaded once a
//! pass ([`End::refresh`], [`End::publish`]), and at bytes between two positions that it computed itself.
//!
//! A pass of either side: `refresh`, `read` what is wanted, work, `write` what there is room for, `publish`, ring if told
//! to. Nothing is visible to the peer before `publish`: many small frames cost one store and one fence, and the peer one
//! transfer of a cache line.
//!
//! Invariants, whatever the peer stores:
//! - `0 ≤ readable ≤ in capacity` and `0 ≤ room ≤ out capacity`; so no copy leaves a ring.
//! - The peer's indices are believed only within what this side *published*: it cannot have written over bytes that it was
//!   not told are free, nor read bytes that it was not told are there.
//! - After a violation nothing of the peer is looked at any more.
//!
//! Indices are counts modulo 2³². A count that is wrong by a multiple of 2³² is the right count.

use std::sync::atomic::Ordering;

use bytes::BytesMut;

use super::layout::Word;
use super::memory::Memory;
use super::violation::Violation;

/// One side of a pair of rings.
#[derive(Debug)]
pub struct End<M> {
    memory: M,
    /// Bytes written, and how many of them the peer was told of.
    tail: u32,
    tail_published: u32,
    /// Bytes of those that the peer has read: its index when last looked at.
    peer_head: u32,
    /// Bytes read, and how many of them the peer was told of.
    head: u32,
    head_published: u32,
    /// Bytes that the peer has written: its index when last looked at.
    peer_tail: u32,
    /// The own `Wake` word.
    wake: u32,
    /// Number of the last park.
    ticket: u32,
    parked: bool,
    /// The park of the peer that was rung for: each is answered once.
    rung: u32,
    violation: Option<Violation>,
}

/// What a side sleeps for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// Bytes to read.
    pub data: bool,
    /// Room for this many bytes to write; 0 if no room is waited for. More than the ring has means an empty ring.
    pub room: u32,
}

/// How a sleeper wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bell {
    /// It sleeps on the other side's `Wake` word: clients that have a thread for it.
    Futex,
    /// It waits for its socket: the daemon, which never sleeps on a word that a client can write, and async clients.
    Socket,
}

/// Whether and how the peer is to be woken now.
#[must_use = "a peer that is not woken sleeps for ever"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// It is awake, or was rung already, or what it waits for did not come.
    No,
    /// Wake who sleeps on the own `Wake` word.
    Futex,
    /// Send a Wake frame over the socket, without blocking. If the socket is full, the peer is woken by what fills it.
    Socket,
}

/// The answer to [`End::park`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Park {
    /// What is wanted is there: do not sleep. The park is taken back.
    Ready,
    /// Sleep: on the socket, or by futex while the peer's `Wake` word holds this value. Then [`End::unpark`].
    Sleep {
        /// The value of the peer's `Wake` word before the park could be seen.
        wake: u32,
    },
}

/// Bits of the `Parked` word; the rest is the ticket.
const WANTS_DATA: u32 = 1;
const WANTS_ROOM: u32 = 2;
const BY_SOCKET: u32 = 4;
const TICKET: u32 = 8;

impl<M: Memory> End<M> {
    /// The side of a pair of rings whose words are all zero.
    pub fn new(memory: M) -> Self {
        End::starting_at(memory, 0)
    }

    /// A side whose counts begin at `index`, as both sides' must: how tests come near 2³².
    #[doc(hidden)]
    pub fn starting_at(memory: M, index: u32) -> Self {
        debug_assert!(memory.in_capacity().is_power_of_two() && memory.out_capacity().is_power_of_two());
        if index != 0 {
            memory.store(Word::Tail, index);
            memory.store(Word::Head, index);
        }
        End {
            memory,
            tail: index,
            tail_published: index,
            peer_head: index,
            head: index,
            head_published: index,
            peer_tail: index,
            wake: 0,
            ticket: 0,
            parked: false,
            rung: 0,
            violation: None,
        }
    }

    /// The memory, for what is no part of the protocol: sleeping, and the processor that the peer runs on.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Bytes that can be read without another look at the peer.
    pub fn readable(&self) -> u32 {
        self.peer_tail.wrapping_sub(self.head)
    }

    /// Bytes that can be written without another look at the peer.
    pub fn room(&self) -> u32 {
        self.memory.out_capacity() - self.tail.wrapping_sub(self.peer_head)
    }

    /// Whether what is wanted is there, without another look at the peer.
    pub fn has(&self, want: Want) -> bool {
        want.data && self.readable() > 0 || want.room > 0 && self.room() >= want.room.min(self.memory.out_capacity())
    }

    /// Looks at the peer's indices, each once, and checks them.
    ///
    /// # Errors
    /// An index that no honest peer can have. It is the answer of every later call too.
    pub fn refresh(&mut self) -> Result<(), Violation> {
        if let Some(v) = self.violation {
            return Err(v);
        }
        let tail = self.memory.load(Word::Tail);
        let head = self.memory.load(Word::Head);
        // Pairs with the release stores of the peer's `publish`: its bytes before its tail, its reads before its head.
        self.memory.fence(Ordering::Acquire);

        let room = self.memory.in_capacity() - self.peer_tail.wrapping_sub(self.head_published);
        let written = self.tail_published.wrapping_sub(self.peer_head);
        let checked = step(self.peer_tail, tail, room)
            .map_err(|e| match e {
                Wrong::Back(by) => Violation::TailRewound { by },
                Wrong::Beyond(claimed) => Violation::TailBeyondRoom { claimed, room },
            })
            .and_then(|()| {
                step(self.peer_head, head, written).map_err(|e| match e {
                    Wrong::Back(by) => Violation::HeadRewound { by },
                    Wrong::Beyond(claimed) => Violation::HeadBeyondWritten { claimed, written },
                })
            });
        if let Err(v) = checked {
            self.violation = Some(v);
            return Err(v);
        }
        self.peer_tail = tail;
        self.peer_head = head;
        self.check_invariants();
        Ok(())
    }

    /// Appends up to `max` bytes to `dst`, as far as its spare capacity goes, and says how many. Never allocates. The
    /// bytes are copied once, and what is parsed is the copy: the peer can go on writing where they stood.
    pub fn read(&mut self, dst: &mut BytesMut, max: usize) -> usize {
        let spare = dst.capacity() - dst.len();
        let n = self.readable().min(clamp(max.min(spare)));
        let capacity = self.memory.in_capacity();
        let at = self.head & (capacity - 1);
        let first = n.min(capacity - at);
        if first > 0 {
            self.memory.copy_out(at, first, dst);
        }
        if n > first {
            self.memory.copy_out(0, n - first, dst);
        }
        self.head = self.head.wrapping_add(n);
        self.check_invariants();
        n as usize
    }

    /// Writes as much of `bytes` as there is room for and says how many bytes that was, as a socket would. The peer sees
    /// them after [`End::publish`].
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let n = self.room().min(clamp(bytes.len()));
        let capacity = self.memory.out_capacity();
        let at = self.tail & (capacity - 1);
        let (first, rest) = bytes[..n as usize].split_at(n.min(capacity - at) as usize);
        if !first.is_empty() {
            self.memory.copy_in(at, first);
        }
        if !rest.is_empty() {
            self.memory.copy_in(0, rest);
        }
        self.tail = self.tail.wrapping_add(n);
        self.check_invariants();
        n as usize
    }

    /// Tells the peer of everything read and written since the last time, and whether it must be woken.
    pub fn publish(&mut self) -> Ring {
        let mut news = 0;
        if self.head != self.head_published {
            self.memory.store(Word::Head, self.head);
            self.head_published = self.head;
            news |= WANTS_ROOM;
        }
        if self.tail != self.tail_published {
            self.memory.store(Word::Tail, self.tail);
            self.tail_published = self.tail;
            news |= WANTS_DATA;
        }
        if news == 0 || self.violation.is_some() {
            return Ring::No;
        }
        // Pairs with the fence of the peer's `park`: either it sees the indices above, or its park is seen here.
        self.memory.fence(Ordering::SeqCst);
        let parked = self.memory.load(Word::Parked);
        // A peer that says it sleeps while it does not gets one system call a park, never one a pass.
        if parked & news == 0 || parked == self.rung {
            return Ring::No;
        }
        self.rung = parked;
        if parked & BY_SOCKET != 0 {
            return Ring::Socket;
        }
        self.wake = self.wake.wrapping_add(1);
        self.memory.store(Word::Wake, self.wake);
        Ring::Futex
    }

    /// Announces that this side goes to sleep, then looks once more.
    ///
    /// Everything must have been published: a peer that waits for what it was not told of sleeps too.
    ///
    /// # Errors
    /// As [`End::refresh`].
    pub fn park(&mut self, want: Want, bell: Bell) -> Result<Park, Violation> {
        debug_assert!(self.tail == self.tail_published && self.head == self.head_published, "publish before park");
        // Before the park can be seen: a wake-up for it changes the word, and the sleep does not begin.
        let wake = self.memory.load(Word::Wake);
        self.ticket = self.ticket.wrapping_add(TICKET).max(TICKET);
        let wants = if want.data { WANTS_DATA } else { 0 } | if want.room > 0 { WANTS_ROOM } else { 0 };
        let by = if bell == Bell::Socket { BY_SOCKET } else { 0 };
        self.memory.store(Word::Parked, self.ticket | wants | by);
        self.parked = true;
        // Pairs with the fence of the peer's `publish`.
        self.memory.fence(Ordering::SeqCst);
        let looked = self.refresh();
        let there = self.has(want);
        if looked.is_err() || there {
            self.unpark();
        }
        looked.map(|()| if there { Park::Ready } else { Park::Sleep { wake } })
    }

    /// Says that this side is awake again.
    pub fn unpark(&mut self) {
        if std::mem::take(&mut self.parked) {
            self.memory.store(Word::Parked, 0);
        }
    }

    /// Ends or prevents the peer's next sleep on the own `Wake` word, whatever it waits for: before the socket's end, which
    /// such a sleeper does not hear. To be followed by a futex wake-up, as [`Ring::Futex`] is.
    pub fn call(&mut self) {
        self.wake = self.wake.wrapping_add(1);
        self.memory.store(Word::Wake, self.wake);
    }

    fn check_invariants(&self) {
        debug_assert!(self.readable() <= self.memory.in_capacity());
        debug_assert!(self.tail.wrapping_sub(self.peer_head) <= self.memory.out_capacity());
        debug_assert!(self.tail_published.wrapping_sub(self.peer_head) <= self.tail.wrapping_sub(self.peer_head));
    }
}

enum Wrong {
    Back(u32),
    Beyond(u32),
}

/// Checks an index of the peer against the one before: it may have grown by at most `most`.
fn step(before: u32, now: u32, most: u32) -> Result<(), Wrong> {
    let by = now.wrapping_sub(before);
    match by {
        _ if by <= most => Ok(()),
        _ if by > u32::MAX / 2 => Err(Wrong::Back(by.wrapping_neg())),
        _ => Err(Wrong::Beyond(by)),
    }
}

fn clamp(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
