//! Two processes on a ring: frames both ways, and either of them killed at any point.
//!
//! The other process is this program again, running the test [`the_other_process`] with its socket as standard input and
//! its part in the environment. What is checked on the side that lives: it ends in time, with a typed end, and what it has
//! read until then is exactly the beginning of what the other side sent.
#![allow(clippy::unwrap_used, clippy::panic)] // A test that cannot go on fails.

mod side;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use forebay_wire::ring::{Bell, MIN_CAPACITY, Memory, Violation, Want, Word, send_wake};
use forebay_wire::{StreamId, put_data};

use side::{Ended, PATIENCE, ask, byte, die_if, echo, grant, join};

const PART: &str = "FOREBAY_RING_TEST_PART";

/// Not a test by itself: what the other process does.
#[test]
fn the_other_process() {
    let Ok(part) = std::env::var(PART) else { return };
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().unwrap());
    let data = |n: usize| {
        let mut out = BytesMut::new();
        put_data(StreamId::FIRST, &(0..n as u64).map(byte).collect::<Vec<u8>>(), &mut out);
        out
    };
    match part.as_str() {
        "daemon" => {
            let (ended, _) = echo(&mut grant(socket).unwrap());
            assert_eq!(ended, Ended::Whole);
        }
        "client" => {
            let (ended, came_back) = ask(&mut join(socket, "").unwrap(), TOTAL);
            assert_eq!((ended, came_back), (Ended::Whole, TOTAL));
        }
        "client-for-ever" => drop(ask(&mut join(socket, "").unwrap(), u64::MAX)),
        "client-written" => {
            let mut side = join(socket, "").unwrap();
            side.end.write(&data(1000));
            die_if(true);
        }
        "client-published" => {
            let mut side = join(socket, "").unwrap();
            side.end.write(&data(1000));
            let _ = side.end.publish();
            die_if(true);
        }
        "client-half-a-frame" => {
            let mut side = join(socket, "").unwrap();
            side.end.write(&data(1000)[..500]);
            let _ = side.end.publish();
            die_if(true);
        }
        "client-parked" => {
            let mut side = join(socket, "").unwrap();
            let _ = side.end.park(Want { data: true, room: 1 }, Bell::Futex);
            die_if(true);
        }
        "client-rewinds" => {
            let mut side = join(socket, "").unwrap();
            assert_eq!(ask(&mut side, 1000), (Ended::Whole, 1000));
            side.end.memory().store(Word::Tail, 1);
            send_wake(&side.socket).unwrap();
            std::thread::sleep(PATIENCE);
        }
        step => drop(join(socket, step)),
    }
}

const TOTAL: u64 = 6 << 20;

/// Starts the other process; its end of the socket is gone from this one.
fn start(part: &str) -> (Child, UnixStream) {
    let (here, there) = UnixStream::pair().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_other_process", "--nocapture"])
        .env(PART, part)
        .stdin(Stdio::from(OwnedFd::from(there)))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    (child, here)
}

#[test]
fn frames_go_both_ways() {
    let (mut child, socket) = start("client");
    let (ended, received) = echo(&mut grant(socket).unwrap());
    assert!(child.wait().unwrap().success());
    assert_eq!((ended, received), (Ended::Whole, TOTAL));

    let (mut child, socket) = start("daemon");
    let mut side = join(socket, "").unwrap();
    assert_eq!(ask(&mut side, TOTAL), (Ended::Whole, TOTAL));
    drop(side);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_client_killed_in_the_handshake_is_the_end_of_its_socket() {
    for step in ["before-hello", "after-hello", "offered"] {
        let (mut child, socket) = start(step);
        let kind = grant(socket).map(|_| ()).unwrap_err().kind();
        let gone = [io::ErrorKind::UnexpectedEof, io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
        assert!(gone.contains(&kind), "{step}: {kind:?}");
        child.wait().unwrap();
    }
}

#[test]
fn a_client_killed_on_the_ring_is_a_clean_end() {
    for (part, expected) in [
        ("ready", (Ended::Whole, 0)),
        ("client-written", (Ended::Whole, 0)),
        ("client-published", (Ended::Whole, 1000)),
        ("client-half-a-frame", (Ended::Truncated, 0)),
        ("client-parked", (Ended::Whole, 0)),
    ] {
        let (mut child, socket) = start(part);
        let mut side = match grant(socket) {
            Ok(side) => side,
            // Killed before our RingReady could be written.
            Err(e) if part == "ready" && e.kind() == io::ErrorKind::BrokenPipe => {
                child.wait().unwrap();
                continue;
            }
            Err(e) => panic!("{part}: {e}"),
        };
        assert_eq!(echo(&mut side), expected, "{part}");
        assert!(!child.wait().unwrap().success(), "{part} was killed");
    }
}

#[test]
fn an_index_that_goes_back_ends_the_connection() {
    let (mut child, socket) = start("client-rewinds");
    let (ended, received) = echo(&mut grant(socket).unwrap());
    assert_eq!(received, 1000);
    assert!(matches!(ended, Ended::Violation(Violation::TailRewound { .. })), "{ended:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Both sides busy, one of them killed at some moment: forty different ones.
#[test]
fn either_side_is_killed_at_full_speed() {
    let mut moved = 0;
    for round in 0..20 {
        let delay = Duration::from_micros(round * round * 97);
        let (mut child, socket) = start("client-for-ever");
        let mut side = grant(socket).unwrap();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(delay);
            child.kill().unwrap();
            child.wait().unwrap();
        });
        let (ended, received) = echo(&mut side);
        moved += received;
        assert!(matches!(ended, Ended::Whole | Ended::Truncated), "{ended:?}");
        killer.join().unwrap();

        let (mut child, socket) = start("daemon");
        let mut side = join(socket, "").unwrap();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(delay);
            child.kill().unwrap();
            child.wait().unwrap();
            Instant::now()
        });
        let (ended, received) = ask(&mut side, u64::MAX);
        moved += received;
        let noticed = Instant::now();
        assert!(matches!(ended, Ended::Whole | Ended::Truncated), "{ended:?}");
        let late = noticed.saturating_duration_since(killer.join().unwrap());
        assert!(late < Duration::from_secs(5), "noticed after {late:?}");
    }
    // A quarter of a ring a run: on a machine that is busy otherwise too.
    assert!(moved > 10 * u64::from(MIN_CAPACITY), "they were hardly busy: {moved} bytes");
}
