//! Attacks on the shared memory itself.

use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use bytes::Bytes;
use forebay_wire::Frame;
use forebay_wire::ring::{HEADER, MIN_CAPACITY, Memory, Word, send_wake};
use rustix::fs::{FallocateFlags, fallocate, ftruncate};

use super::Target;
use super::peer::RingPeer;
use crate::cuts::Seed;

/// Each claim that no honest client can make, on a connection of its own.
pub fn index_jump(target: &Target) -> anyhow::Result<String> {
    let capacity = RingPeer::connect(&target.socket)?.end.memory().out_capacity();
    let mut ended = 0;
    for worked_before in [false, true] {
        for by in [capacity + 1, 2 * capacity, 1 << 30, u32::MAX / 2] {
            for word in [Word::Tail, Word::Head] {
                let mut peer = RingPeer::connect(&target.socket)?;
                let mut at = 0;
                if worked_before {
                    peer.put(&Frame::Ping([7; 8]))?;
                    anyhow::ensure!(peer.take()? == Frame::Pong([7; 8]));
                    at = 20; // Bytes of either frame.
                }
                peer.end.memory().store(word, at + by);
                peer.expect_violation()?;
                ended += 1;
            }
        }
    }
    // A jump within the room is no lie that anybody can see: what stands there is zeros, which are no frame.
    let mut peer = RingPeer::connect(&target.socket)?;
    peer.end.write(&vec![0; capacity as usize]);
    peer.publish();
    let Frame::Error(said) = peer.take()? else { anyhow::bail!("zeros were taken for a frame") };
    Ok(format!("{ended} connections ended with ring-violation, one of zeros with {}", said.code))
}

/// Indices that go back after they were believed.
pub fn index_rewind(target: &Target) -> anyhow::Result<String> {
    let mut ended = 0;
    for by in [1, 12, 20, 1000, 1 << 31] {
        for word in [Word::Tail, Word::Head] {
            let mut peer = RingPeer::connect(&target.socket)?;
            peer.put(&Frame::Ping([7; 8]))?;
            anyhow::ensure!(peer.take()? == Frame::Pong([7; 8]));
            // The daemon has seen both at 20 once this is answered.
            peer.put(&Frame::Ping([8; 8]))?;
            anyhow::ensure!(peer.take()? == Frame::Pong([8; 8]));
            peer.end.memory().store(word, 20u32.wrapping_sub(by));
            peer.expect_violation()?;
            ended += 1;
        }
    }
    Ok(format!("{ended} connections ended with ring-violation"))
}

/// Random words, as fast as they can be stored, while the daemon looks at them.
pub fn index_race(target: &Target) -> anyhow::Result<String> {
    let (began, mut seed, mut connections, mut stores) = (Instant::now(), Seed(5), 0u64, 0u64);
    while began.elapsed() < target.lasting {
        let mut peer = RingPeer::connect(&target.socket)?;
        connections += 1;
        peer.open(&target.profile, 1 << 20)?;
        let near = [0, 1, 12, 40, 4096, MIN_CAPACITY, 2 * MIN_CAPACITY, u32::MAX, u32::MAX / 2];
        // Until its end shows in the socket. Most rounds are short: the first wrong index that is seen is the last.
        while began.elapsed() < target.lasting {
            for _ in 0..50 {
                let word = Word::ALL[seed.below(Word::ALL.len())];
                peer.end.memory().store(word, near[seed.below(near.len())].wrapping_add(u32::try_from(seed.below(3))?));
                stores += 1;
            }
            if send_wake(&peer.peer.socket).is_err() {
                break;
            }
        }
    }
    Ok(format!("{stores} stores on {connections} connections"))
}

/// Bytes that change while they are copied: the daemon parses some mixture, once.
pub fn bytes_race(target: &Target) -> anyhow::Result<String> {
    let (began, mut seed, mut connections, mut writes) = (Instant::now(), Seed(6), 0u64, 0u64);
    while began.elapsed() < target.lasting {
        let mut peer = RingPeer::connect(&target.socket)?;
        connections += 1;
        let stream = peer.open(&target.profile, 1 << 20)?;
        while began.elapsed() < target.lasting {
            let bytes = Bytes::from(vec![b'x'; 1 + seed.below(16_000)]);
            // Full, or told to end: on to the next.
            if peer.put(&Frame::Data { stream, bytes }).is_err() {
                break;
            }
            for _ in 0..20 {
                let at = HEADER as u64 + seed.below(MIN_CAPACITY as usize) as u64;
                let junk = [u8::try_from(seed.below(256))?; 8];
                peer.to_daemon.write_all_at(&junk[..1 + seed.below(8)], at)?;
                writes += 1;
            }
            if send_wake(&peer.peer.socket).is_err() {
                break;
            }
            peer.end.refresh()?;
            peer.peer.input.clear();
            peer.peer.input.reserve(32 << 10);
            peer.end.read(&mut peer.peer.input, 32 << 10);
        }
    }
    Ok(format!("{writes} writes into published bytes on {connections} connections"))
}

/// Everything that the seals must refuse; the connection goes on afterwards.
pub fn remap(target: &Target) -> anyhow::Result<String> {
    let mut peer = RingPeer::connect(&target.socket)?;
    let mut refused = 0;
    let mut must_fail = |what: &str, done: io::Result<()>| {
        refused += 1;
        anyhow::ensure!(done.is_err(), "{what} was possible");
        Ok(())
    };
    for file in [&peer.to_daemon, &peer.to_client] {
        must_fail("shrinking", ftruncate(file, 0).map_err(Into::into))?;
        must_fail("growing", ftruncate(file, 1 << 30).map_err(Into::into))?;
        must_fail("unsealing", rustix::fs::fcntl_add_seals(file, rustix::fs::SealFlags::WRITE).map_err(Into::into))?;
    }
    must_fail("writing what only the daemon may write", peer.to_client.write_all_at(b"x", HEADER as u64))?;
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    must_fail("holes in the daemon's file", fallocate(&peer.to_client, hole, 0, 4096).map_err(Into::into))?;
    // Opened once more for writing, it still cannot be written.
    let again = format!("/proc/self/fd/{}", peer.to_client.as_raw_fd());
    if let Ok(mut file) = std::fs::OpenOptions::new().write(true).open(again) {
        must_fail("writing the daemon's file after opening it again", file.write_all(b"x"))?;
    }
    peer.put(&Frame::Ping([7; 8]))?;
    anyhow::ensure!(peer.take()? == Frame::Pong([7; 8]));
    Ok(format!("{refused} ways refused by the kernel, and the connection goes on"))
}

/// Holes in the client's own file, which no seal forbids: the daemon reads zeros.
pub fn punch_hole(target: &Target) -> anyhow::Result<String> {
    let mut holes = 0;
    let began = Instant::now();
    while began.elapsed() < target.lasting {
        let mut peer = RingPeer::connect(&target.socket)?;
        let stream = peer.open(&target.profile, 1 << 20)?;
        peer.put(&Frame::Data { stream, bytes: Bytes::from_static(&[b'x'; 8000]) })?;
        let all = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let size = HEADER as u64 + u64::from(peer.end.memory().out_capacity());
        for _ in 0..20 {
            fallocate(&peer.to_daemon, all, 0, size)?;
            holes += 1;
            let _ = send_wake(&peer.peer.socket);
        }
        // Its own words are zeros now: an index that went back, or one that was never seen to move.
        peer.end.memory().store(Word::Head, 0);
        peer.peer.socket.shutdown(std::net::Shutdown::Write)?;
        while peer.peer.receive()?.is_some() {}
    }
    Ok(format!("{holes} holes"))
}

/// Wake frames as fast as the socket takes them, and a new sleep announced between any two, so that every answer of the
/// daemon's must wake.
pub fn wake_storm(target: &Target) -> anyhow::Result<String> {
    let mut peer = RingPeer::connect(&target.socket)?;
    let (began, mut wakes, mut pongs) = (Instant::now(), 0u64, 0u64);
    while began.elapsed() < target.lasting {
        for _ in 0..50 {
            send_wake(&peer.peer.socket)?;
            wakes += 1;
        }
        peer.put(&Frame::Ping([7; 8]))?;
        let _ = peer.pretend_to_sleep()?;
        anyhow::ensure!(peer.take()? == Frame::Pong([7; 8]));
        pongs += 1;
    }
    Ok(format!("{wakes} Wake frames; {pongs} Pings of the same client were answered between them"))
}
