//! The state machine against a queue, and against a peer that stores what it likes.
//!
//! Memory here is plain: one thread plays both sides. What two threads can do to each other is in `ring_model.rs`, what
//! two processes can in `ring_process`.
#![allow(clippy::unwrap_used)] // A test that cannot go on fails.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use bytes::{BufMut, BytesMut};
use forebay_wire::ring::{Bell, End, Memory, Park, Ring, Violation, Want, Word};
use forebay_wire::{FrameType, StreamId, decode, put_data};
use proptest::prelude::*;

struct Mapping {
    words: [Cell<u32>; Word::ALL.len()],
    bytes: RefCell<Vec<u8>>,
}

struct Plain {
    own: Rc<Mapping>,
    peer: Rc<Mapping>,
}

impl Memory for Plain {
    fn out_capacity(&self) -> u32 {
        u32::try_from(self.own.bytes.borrow().len()).unwrap()
    }

    fn in_capacity(&self) -> u32 {
        u32::try_from(self.peer.bytes.borrow().len()).unwrap()
    }

    fn load(&self, word: Word) -> u32 {
        self.peer.words[word as usize].get()
    }

    fn store(&self, word: Word, value: u32) {
        self.own.words[word as usize].set(value);
    }

    fn fence(&self, _: Ordering) {}

    fn copy_in(&mut self, at: u32, bytes: &[u8]) {
        self.own.bytes.borrow_mut()[at as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    fn copy_out(&self, at: u32, len: u32, dst: &mut BytesMut) {
        dst.put_slice(&self.peer.bytes.borrow()[at as usize..][..len as usize]);
    }
}

/// Two ends; rings of `up` and `down` bytes; counts that begin at `index`.
fn pair(up: usize, down: usize, index: u32) -> (End<Plain>, End<Plain>) {
    let mapping = |n| Rc::new(Mapping { words: Default::default(), bytes: RefCell::new(vec![0; n]) });
    let (up, down) = (mapping(up), mapping(down));
    let client = Plain { own: up.clone(), peer: down.clone() };
    let daemon = Plain { own: down, peer: up };
    (End::starting_at(client, index), End::starting_at(daemon, index))
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize),
    Publish,
    Refresh,
    Read(usize),
}

fn steps() -> impl Strategy<Value = Vec<(bool, Step)>> {
    let step = prop_oneof![
        (0usize..80).prop_map(Step::Write),
        Just(Step::Publish),
        Just(Step::Refresh),
        (0usize..80).prop_map(Step::Read),
    ];
    proptest::collection::vec((any::<bool>(), step), 1..300)
}

/// What one direction must deliver: bytes written and not read, and how many of them were published.
#[derive(Default)]
struct Oracle {
    queue: VecDeque<u8>,
    written: usize,
    published: usize,
    seen: usize,
    read: usize,
    read_published: usize,
    read_seen: usize,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Both directions at once, every order of calls on either side, counts anywhere: what is read is what was written, a
    /// write takes exactly what there is room for, and nothing is seen before it is published.
    #[test]
    fn a_ring_is_a_queue(
        sizes in (0u32..7, 0u32..7),
        index in prop_oneof![Just(0u32), (u32::MAX - 200)..=u32::MAX, any::<u32>()],
        steps in steps(),
    ) {
        let capacity = [1usize << sizes.0, 1usize << sizes.1];
        let (client, daemon) = pair(capacity[0], capacity[1], index);
        let mut ends = [client, daemon];
        // `oracle[i]` is what side `i` sends.
        let mut oracle = [Oracle::default(), Oracle::default()];
        let mut next = 0u8;
        for (second, step) in steps {
            let i = usize::from(second);
            let (end, other) = (&mut ends[i], 1 - i);
            match step {
                Step::Write(n) => {
                    let bytes: Vec<u8> = (0..n).map(|_| { next = next.wrapping_add(1); next }).collect();
                    let o = &mut oracle[i];
                    let took = end.write(&bytes);
                    prop_assert_eq!(took, n.min(capacity[i] - (o.written - o.read_seen)));
                    o.queue.extend(&bytes[..took]);
                    o.written += took;
                }
                Step::Publish => {
                    prop_assert_eq!(end.publish(), Ring::No, "nobody sleeps");
                    oracle[i].published = oracle[i].written;
                    oracle[other].read_published = oracle[other].read;
                }
                Step::Refresh => {
                    prop_assert_eq!(end.refresh(), Ok(()));
                    oracle[i].read_seen = oracle[i].read_published;
                    oracle[other].seen = oracle[other].published;
                }
                Step::Read(max) => {
                    let o = &mut oracle[other];
                    let mut got = BytesMut::with_capacity(64);
                    let n = end.read(&mut got, max);
                    prop_assert_eq!(n, max.min(64).min(o.seen - o.read));
                    let want: Vec<u8> = o.queue.drain(..n).collect();
                    prop_assert_eq!(&got[..], &want[..]);
                    o.read += n;
                }
            }
        }
    }

    /// A peer that stores anything, at any time: an honest index or a typed violation, never a panic, and never more bytes
    /// than the ring has. (Debug assertions of the state machine are on here.)
    #[test]
    fn any_words_are_survived(
        index in any::<u32>(),
        hostile in proptest::collection::vec((0usize..5, prop_oneof![any::<u32>(), 0u32..200]), 1..60),
    ) {
        let (client, mut daemon) = pair(32, 16, index);
        let mut private = BytesMut::with_capacity(4096);
        let mut ended = None;
        for (word, value) in hostile {
            let word = Word::ALL[word];
            // Near the index half of the time, so that some stores are honest ones.
            let value = if value < 200 { index.wrapping_add(value % 48) } else { value };
            client.memory().store(word, value);
            let looked = daemon.refresh();
            if let Some(violation) = ended {
                prop_assert_eq!(looked, Err(violation), "a violation is final");
            }
            ended = looked.err();
            private.clear();
            prop_assert!(daemon.read(&mut private, usize::MAX) <= 32);
            prop_assert!(daemon.write(&[1; 40]) <= 16);
            let _ = daemon.publish();
            let _ = daemon.park(Want { data: true, room: 1 }, Bell::Socket);
            daemon.unpark();
        }
    }

    /// Frames, cut by the ring's size and by how it is read, come out as from a socket.
    #[test]
    fn frames_come_out_as_they_went_in(
        lengths in proptest::collection::vec(1usize..3000, 1..20),
        reads in proptest::collection::vec(1usize..900, 1..10),
    ) {
        let (mut client, mut daemon) = pair(1024, 1, u32::MAX - 1000);
        let stream = StreamId::FIRST;
        let content: Vec<Vec<u8>> = lengths.iter().enumerate().map(|(i, n)| vec![u8::try_from(i).unwrap(); *n]).collect();
        let mut sending = BytesMut::new();
        content.iter().for_each(|c| put_data(stream, c, &mut sending));
        let (mut private, mut frames) = (BytesMut::new(), Vec::new());
        let mut reads = reads.iter().cycle();
        while frames.len() < content.len() {
            client.refresh().unwrap();
            let n = client.write(&sending);
            let _ = sending.split_to(n);
            let _ = client.publish();
            daemon.refresh().unwrap();
            let max = *reads.next().unwrap();
            private.reserve(max);
            daemon.read(&mut private, max);
            let _ = daemon.publish();
            while let Some(frame) = decode(&mut private).unwrap() {
                prop_assert_eq!(frame.frame_type(), FrameType::Data);
                frames.push(frame);
            }
        }
        let expected: Vec<_> = content
            .into_iter()
            .map(|c| forebay_wire::Frame::Data { stream, bytes: c.into() })
            .collect();
        prop_assert_eq!(frames, expected);
    }
}

/// Each attack on an index, named.
#[test]
fn indices_that_no_honest_peer_has() {
    // The client wrote 10 of 32 and has read 4 of the 8 that the daemon wrote.
    let attack = |word: Word, value: u32| {
        let (mut client, mut daemon) = pair(32, 16, 0);
        client.write(&[0; 10]);
        daemon.write(&[0; 8]);
        let _ = (client.publish(), daemon.publish());
        client.refresh().unwrap();
        client.read(&mut BytesMut::with_capacity(4), 4);
        let _ = client.publish();
        daemon.refresh().unwrap();
        client.memory().store(word, value);
        daemon.refresh()
    };
    assert_eq!(attack(Word::Tail, 32), Ok(()), "as much as there is room for");
    assert_eq!(attack(Word::Tail, 33), Err(Violation::TailBeyondRoom { claimed: 23, room: 22 }));
    assert_eq!(attack(Word::Tail, 9), Err(Violation::TailRewound { by: 1 }));
    assert_eq!(attack(Word::Tail, u32::MAX), Err(Violation::TailRewound { by: 11 }));
    assert_eq!(attack(Word::Tail, 0x7fff_ffff), Err(Violation::TailBeyondRoom { claimed: 0x7fff_fff5, room: 22 }));
    assert_eq!(attack(Word::Head, 8), Ok(()));
    assert_eq!(attack(Word::Head, 9), Err(Violation::HeadBeyondWritten { claimed: 5, written: 4 }));
    assert_eq!(attack(Word::Head, 3), Err(Violation::HeadRewound { by: 1 }));
}

/// Bytes that were read but whose room was not given back, and bytes that were written but not published, are not the
/// peer's to use.
#[test]
fn what_was_not_published_is_not_given() {
    let (mut client, mut daemon) = pair(8, 8, 0);
    client.write(&[1; 8]);
    let _ = client.publish();
    daemon.refresh().unwrap();
    assert_eq!(daemon.read(&mut BytesMut::with_capacity(8), 8), 8);
    client.memory().store(Word::Tail, 9);
    assert_eq!(daemon.refresh(), Err(Violation::TailBeyondRoom { claimed: 1, room: 0 }));

    let (client, mut daemon) = pair(8, 8, 0);
    daemon.write(&[1; 4]);
    client.memory().store(Word::Head, 1);
    assert_eq!(daemon.refresh(), Err(Violation::HeadBeyondWritten { claimed: 1, written: 0 }));
}

#[test]
fn a_sleeper_is_rung_once_and_only_for_what_it_wants() {
    let (mut client, mut daemon) = pair(8, 8, 0);
    let data = Want { data: true, room: 0 };
    assert_eq!(client.park(data, Bell::Futex), Ok(Park::Sleep { wake: 0 }));
    daemon.write(&[1]);
    assert_eq!(daemon.publish(), Ring::Futex);
    daemon.write(&[2]);
    assert_eq!(daemon.publish(), Ring::No, "rung already");
    client.unpark();
    assert_eq!(client.park(data, Bell::Futex), Ok(Park::Ready));
    daemon.write(&[9]);
    assert_eq!(daemon.publish(), Ring::No, "the park was taken back");
    client.refresh().unwrap();

    client.read(&mut BytesMut::with_capacity(8), 8);
    let _ = client.publish();
    assert_eq!(client.park(data, Bell::Socket), Ok(Park::Sleep { wake: 1 }));
    client.unpark();
    daemon.write(&[3]);
    assert_eq!(daemon.publish(), Ring::No, "awake");
    client.refresh().unwrap();
    client.read(&mut BytesMut::with_capacity(8), 8);
    let _ = client.publish();

    // A client that waits for room is not woken for data, and the other way round.
    client.write(&[0; 8]);
    let _ = client.publish();
    assert_eq!(client.park(Want { data: false, room: 1 }, Bell::Socket), Ok(Park::Sleep { wake: 1 }));
    daemon.write(&[4]);
    assert_eq!(daemon.publish(), Ring::No);
    daemon.refresh().unwrap();
    daemon.read(&mut BytesMut::with_capacity(8), 1);
    assert_eq!(daemon.publish(), Ring::Socket);
}

/// Saying "I sleep" once costs the other side one wake-up, saying it anew all the time costs one a pass that has news.
#[test]
fn a_wake_storm_is_one_call_a_pass() {
    let rung = |parked: &dyn Fn(u32) -> u32| {
        let (client, mut daemon) = pair(8, 8, 0);
        let mut rung = 0;
        for pass in 0..8 {
            client.memory().store(Word::Parked, parked(pass));
            daemon.write(&[1]);
            for _ in 0..3 {
                rung += u32::from(daemon.publish() != Ring::No);
            }
        }
        rung
    };
    assert_eq!(rung(&|_| !0), 1);
    assert_eq!(rung(&|pass| !(pass * 8)), 8);
    assert_eq!(rung(&|_| 0), 0);
}

#[test]
fn nothing_is_allocated_once_it_runs() {
    let (mut client, mut daemon) = pair(64, 64, 0);
    let mut private = BytesMut::with_capacity(256);
    let counted = allocation_counter::measure(|| {
        for i in 0..1000 {
            client.write(&[7; 50]);
            let _ = client.publish();
            daemon.refresh().unwrap();
            private.clear();
            assert_eq!(daemon.read(&mut private, 1024), 50, "round {i}");
            let _ = daemon.publish();
            client.refresh().unwrap();
        }
    });
    assert_eq!(counted.count_total, 0);
    assert_eq!(private.capacity(), 256);
}
