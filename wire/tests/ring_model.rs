//! Every interleaving of two sides of a ring, as far as the model checker goes: the state machine that ships, on memory
//! whose loads may be stale and whose accesses may be reordered as the language allows.
//!
//! What is modelled: words as atomics, bytes as cells that must not be read while they are written, the futex as a lock
//! and a compare with the newest value, the socket as a flag with a
//! close. The model can fail: each way of breaking it that is tried here (a fence left out, a store without release, a
//! sleep that does not compare) is found.
//!
//! `cargo test` goes as far as three preemptions a run (a second), `make loom` as far as five (half a minute).
//! `LOOM_MAX_PREEMPTIONS` says another number. There is no `cfg(loom)`: under it `bytes` and `tokio` would change too, and the
//! ring needs none, since its memory is a trait.
#![allow(clippy::unwrap_used)] // A test that cannot go on fails.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::BytesMut;
use forebay_wire::ring::{Bell, End, Memory, Park, Ring, Want, Word};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, fence};
use loom::sync::{Condvar, Mutex};
use loom::thread;

/// Bytes of each ring: as few as wrap around.
const CAPACITY: u32 = 2;

/// A value that no `Wake` word has here.
const NO_WAKE: u32 = u32::MAX;

const DATA: Want = Want { data: true, room: 0 };
const ROOM: Want = Want { data: false, room: 1 };

/// What is broken on purpose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Broken {
    Nothing,
    NoSequentialFence,
    NoAcquireFence,
    NoRelease,
    SleepsWithoutCompare,
}

struct Mapping {
    words: [AtomicU32; Word::ALL.len()],
    bytes: Vec<UnsafeCell<u8>>,
}

impl Mapping {
    #[allow(clippy::arc_with_non_send_sync)] // The model runs its threads on one; the cells are what it checks.
    fn new() -> Arc<Mapping> {
        let words = std::array::from_fn(|_| AtomicU32::new(0));
        Arc::new(Mapping { words, bytes: (0..CAPACITY).map(|_| UnsafeCell::new(0)).collect() })
    }
}

/// One side's memory.
struct Modelled {
    own: Arc<Mapping>,
    peer: Arc<Mapping>,
    broken: Broken,
}

impl Memory for Modelled {
    fn out_capacity(&self) -> u32 {
        CAPACITY
    }

    fn in_capacity(&self) -> u32 {
        CAPACITY
    }

    fn load(&self, word: Word) -> u32 {
        self.peer.words[word as usize].load(Ordering::Relaxed)
    }

    fn store(&self, word: Word, value: u32) {
        let order = if self.broken == Broken::NoRelease { Ordering::Relaxed } else { Ordering::Release };
        self.own.words[word as usize].store(value, order);
    }

    fn fence(&self, order: Ordering) {
        match (order, self.broken) {
            (Ordering::SeqCst, Broken::NoSequentialFence) | (Ordering::Acquire, Broken::NoAcquireFence) => {}
            _ => fence(order),
        }
    }

    fn copy_in(&mut self, at: u32, bytes: &[u8]) {
        for (cell, byte) in self.own.bytes[at as usize..].iter().zip(bytes) {
            // SAFETY: the model panics if anybody else has the cell at this moment.
            cell.with_mut(|cell| unsafe { *cell = *byte });
        }
    }

    fn copy_out(&self, at: u32, len: u32, dst: &mut BytesMut) {
        for cell in &self.peer.bytes[at as usize..(at + len) as usize] {
            // SAFETY: as in `copy_in`.
            dst.extend_from_slice(&[cell.with(|cell| unsafe { *cell })]);
        }
    }
}

/// What wakes the two sides: a futex for the client, a socket for the daemon.
struct Bells {
    futex: (Mutex<()>, Condvar),
    socket: (Mutex<Socket>, Condvar),
}

#[derive(Default)]
struct Socket {
    /// A Wake frame that was not read yet.
    rung: bool,
    /// The peer's process is gone.
    closed: bool,
}

impl Bells {
    fn new() -> Arc<Bells> {
        Arc::new(Bells {
            futex: (Mutex::new(()), Condvar::new()),
            socket: (Mutex::new(Socket::default()), Condvar::new()),
        })
    }

    fn ring(&self, how: Ring) {
        match how {
            Ring::No => {}
            Ring::Futex => {
                drop(self.futex.0.lock().unwrap());
                self.futex.1.notify_one();
            }
            Ring::Socket => {
                self.socket.0.lock().unwrap().rung = true;
                self.socket.1.notify_one();
            }
        }
    }

    /// A process dies: its socket closes, and the slice of a sleeping client runs out some time later.
    fn die(&self) {
        self.socket.0.lock().unwrap().closed = true;
        self.socket.1.notify_one();
        drop(self.futex.0.lock().unwrap());
        self.futex.1.notify_one();
    }

    fn closed(&self) -> bool {
        self.socket.0.lock().unwrap().closed
    }

    fn sleep_at_socket(&self) {
        let mut socket = self.socket.0.lock().unwrap();
        while !socket.rung && !socket.closed {
            socket = self.socket.1.wait(socket).unwrap();
        }
        socket.rung = false;
    }

    /// `closed` stands for the slice that runs out: a client looks at its socket then.
    fn sleep_at_futex(&self, memory: &Modelled, wake: u32) {
        let guard = self.futex.0.lock().unwrap();
        let word = &memory.peer.words[Word::Wake as usize];
        let compares = memory.broken != Broken::SleepsWithoutCompare;
        // A compare-and-exchange that never exchanges: it reads the newest value, as a plain load in this model need not, and
        // stores nothing, since a second writer of the word would be one that the kernel is not.
        let now = word.compare_exchange(NO_WAKE, NO_WAKE, Ordering::SeqCst, Ordering::SeqCst).unwrap_err();
        if compares && now != wake || self.closed() {
            return;
        }
        drop(self.futex.1.wait(guard).unwrap());
    }
}

/// One side: its end, and how it sleeps.
struct Side {
    end: End<Modelled>,
    bells: Arc<Bells>,
    bell: Bell,
}

impl Side {
    /// Waits until what is wanted is there. False if the peer is gone and it is not.
    fn wait(&mut self, want: Want) -> bool {
        loop {
            match self.end.park(want, self.bell).unwrap() {
                Park::Ready => return true,
                Park::Sleep { wake } => match self.bell {
                    Bell::Futex => self.bells.sleep_at_futex(self.end.memory(), wake),
                    Bell::Socket => self.bells.sleep_at_socket(),
                },
            }
            self.end.unpark();
            // Closed first, the ring last: what was published before the peer died is still taken.
            let closed = self.bells.closed();
            self.end.refresh().unwrap();
            if self.end.has(want) {
                return true;
            }
            if closed {
                return false;
            }
        }
    }

    fn publish(&mut self) {
        let how = self.end.publish();
        self.bells.ring(how);
    }

    /// Sends bytes one by one, waiting for room.
    fn send(&mut self, bytes: std::ops::Range<u8>) {
        for byte in bytes {
            while self.end.write(&[byte]) == 0 {
                assert!(self.wait(ROOM));
            }
            self.publish();
        }
    }

    /// Reads `n` bytes, or what there is until the peer is gone.
    fn receive(&mut self, n: usize) -> Vec<u8> {
        let mut got = BytesMut::with_capacity(16);
        while got.len() < n && self.wait(DATA) {
            let missing = n - got.len();
            self.end.read(&mut got, missing);
            self.publish();
        }
        got.to_vec()
    }
}

/// Client and daemon on fresh memory, with counts that are about to wrap around.
fn sides(broken: Broken) -> (Side, Side) {
    let (up, down, bells) = (Mapping::new(), Mapping::new(), Bells::new());
    let side = |own: &Arc<Mapping>, peer: &Arc<Mapping>, bell| {
        let memory = Modelled { own: own.clone(), peer: peer.clone(), broken };
        Side { end: End::starting_at(memory, u32::MAX), bells: bells.clone(), bell }
    };
    (side(&up, &down, Bell::Futex), side(&down, &up, Bell::Socket))
}

fn check(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    let runs = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = runs.clone();
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        f();
    });
    println!("{} interleavings, {:?} preemptions", runs.load(Ordering::Relaxed), builder.preemption_bound);
}

/// Three bytes through a ring of two: the writer waits for room, the reader for data, positions and counts wrap around.
fn one_way(broken: Broken) {
    check(move || {
        let (mut client, mut daemon) = sides(broken);
        let writer = thread::spawn(move || client.send(1..4));
        assert_eq!(daemon.receive(3), [1, 2, 3]);
        writer.join().unwrap();
    });
}

/// The same from the daemon to a client that sleeps by futex.
fn other_way(broken: Broken) {
    check(move || {
        let (mut client, mut daemon) = sides(broken);
        let reader = thread::spawn(move || assert_eq!(client.receive(3), [1, 2, 3]));
        daemon.send(1..4);
        reader.join().unwrap();
    });
}

#[test]
fn bytes_reach_the_daemon() {
    one_way(Broken::Nothing);
}

#[test]
fn bytes_reach_the_client() {
    other_way(Broken::Nothing);
}

#[test]
fn a_question_is_answered() {
    check(|| {
        let (mut client, mut daemon) = sides(Broken::Nothing);
        let asking = thread::spawn(move || {
            client.send(7..8);
            assert_eq!(client.receive(1), [8]);
        });
        assert_eq!(daemon.receive(1), [7]);
        daemon.send(8..9);
        asking.join().unwrap();
    });
}

/// Where a process can be killed: before or after each thing that the other side can see.
#[derive(Clone, Copy, Debug)]
enum Dies {
    AtOnce,
    BeforePublishing,
    BeforeRinging,
    AfterRinging,
    Parked,
}

const DEATHS: [Dies; 5] = [Dies::AtOnce, Dies::BeforePublishing, Dies::BeforeRinging, Dies::AfterRinging, Dies::Parked];

/// Runs a side until it dies. Says what it had published.
fn live_and_die(mut side: Side, when: Dies) {
    if !matches!(when, Dies::AtOnce) {
        assert_eq!(side.end.write(&[9]), 1);
    }
    match when {
        Dies::AtOnce | Dies::BeforePublishing => {}
        Dies::BeforeRinging => {
            let _ = side.end.publish();
        }
        Dies::AfterRinging => side.publish(),
        Dies::Parked => {
            side.publish();
            let _ = side.end.park(DATA, side.bell).unwrap();
        }
    }
    side.bells.die();
}

fn published(when: Dies) -> &'static [u8] {
    if matches!(when, Dies::AtOnce | Dies::BeforePublishing) { &[] } else { &[9] }
}

#[test]
fn a_daemon_outlives_its_client() {
    for when in DEATHS {
        check(move || {
            let (client, mut daemon) = sides(Broken::Nothing);
            let dying = thread::spawn(move || live_and_die(client, when));
            assert_eq!(daemon.receive(2), published(when), "{when:?}");
            dying.join().unwrap();
        });
    }
}

#[test]
fn a_client_outlives_its_daemon() {
    for when in DEATHS {
        check(move || {
            let (mut client, daemon) = sides(Broken::Nothing);
            let waiting = thread::spawn(move || assert_eq!(client.receive(2), published(when), "{when:?}"));
            live_and_die(daemon, when);
            waiting.join().unwrap();
        });
    }
}

#[test]
#[should_panic(expected = "deadlock")]
fn without_the_sequential_fence_the_daemon_sleeps_for_ever() {
    one_way(Broken::NoSequentialFence);
}

#[test]
#[should_panic(expected = "deadlock")]
fn without_the_sequential_fence_the_client_sleeps_for_ever() {
    other_way(Broken::NoSequentialFence);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_sleep_that_does_not_compare_is_never_woken() {
    other_way(Broken::SleepsWithoutCompare);
}

// The model says "Causality violation" when a cell is accessed without order.

#[test]
#[should_panic(expected = "ausality")]
fn without_the_acquire_fence_bytes_are_read_too_early() {
    one_way(Broken::NoAcquireFence);
}

#[test]
#[should_panic(expected = "ausality")]
fn without_release_an_index_overtakes_its_bytes() {
    one_way(Broken::NoRelease);
}
