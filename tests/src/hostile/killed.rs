//! Clients that are killed, `kill -9`, at each step of the protocol. The client is this program again: its part is in the
//! environment, and it kills itself there.

use std::io::Write;
use std::process::{Command, Stdio};

use bytes::Bytes;
use forebay_wire::ring::{Bell, Want};
use forebay_wire::{FEATURE_RING, Frame, Hello, StreamId};
use rustix::process::{Signal, getpid, kill_process};

use super::Target;
use super::peer::{Peer, RingPeer, encoded};

const SOCKET: &str = "FOREBAY_HOSTILE_KILLED";
const STEP: &str = "FOREBAY_HOSTILE_STEP";
const PROFILE: &str = "FOREBAY_HOSTILE_PROFILE";

/// Each step that a client can die at.
const STEPS: [&str; 12] = [
    "connected",
    "half-a-hello",
    "hello",
    "offered",
    "ring-ready",
    "on-the-ring",
    "open",
    "written",
    "published",
    "half-a-frame",
    "parked",
    "half-read",
];

/// Kills a client at each step, and waits each time until the daemon has given back what it held.
pub fn at_each_step(target: &Target) -> anyhow::Result<String> {
    let before = target.status()?.connections.saturating_sub(1);
    for step in STEPS {
        let status = Command::new(std::env::current_exe()?)
            .args(["--exact", "the_other_process", "--nocapture"])
            .env(SOCKET, &target.socket)
            .env(PROFILE, &target.profile)
            .env(STEP, step)
            .stdout(Stdio::null())
            .status()?;
        anyhow::ensure!(std::os::unix::process::ExitStatusExt::signal(&status) == Some(9), "{step}: {status}");
        target.settled(before).map_err(|e| e.context(step))?;
    }
    Ok(format!("{} clients killed, each given back", STEPS.len()))
}

/// What the client that dies does, if this is it. Returns only if it is not.
///
/// # Errors
/// It could not come as far as it should.
pub fn dying() -> anyhow::Result<()> {
    let (Some(socket), Ok(step)) = (std::env::var_os(SOCKET), std::env::var(STEP)) else {
        return Ok(());
    };
    let reached = |here: &str| {
        if here == step {
            // Nothing of this process runs any more, as after any kill -9.
            let _ = kill_process(getpid(), Signal::KILL);
        }
    };
    let mut peer = Peer::connect(socket.as_ref())?;
    reached("connected");
    let hello = encoded(&Frame::Hello(Hello { features: FEATURE_RING, ..Hello::new("dying") }))?;
    if step == "half-a-hello" {
        peer.socket.write_all(&hello[..10])?;
        reached("half-a-hello");
    }
    if step == "hello" {
        peer.socket.write_all(&hello)?;
        reached("hello");
    }
    let mut ring = peer.offered()?;
    reached("offered");
    if step == "ring-ready" {
        ring.peer.send(&Frame::RingReady)?;
        reached("ring-ready");
    }
    let mut ring: RingPeer = ring.ready()?;
    reached("on-the-ring");
    let stream = ring.open(&std::env::var(PROFILE)?, 1 << 20)?;
    reached("open");
    let data = encoded(&Frame::Data { stream, bytes: Bytes::from_static(&[b'x'; 3000]) })?;
    ring.end.write(&data[..1000]);
    reached("written");
    ring.publish();
    reached("half-a-frame");
    ring.end.write(&data[1000..]);
    ring.publish();
    reached("published");
    if step == "parked" {
        let _ = ring.end.park(Want { data: true, room: 0 }, Bell::Futex)?;
        reached("parked");
    }
    ring.put(&Frame::Sync(StreamId::FIRST))?;
    let _ = ring.take()?;
    reached("half-read");
    anyhow::bail!("there is no step {step}")
}
