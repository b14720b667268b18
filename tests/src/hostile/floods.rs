//! Attacks by number: connections, descriptors, streams, frames, and answers that nobody reads.

use std::io::{IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Instant;

use bytes::Bytes;
use forebay_client::Transport;
use forebay_wire::{Code, Frame, Hello, Open, StreamId};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::peer::{Peer, RingPeer, encoded};
use super::{Target, connect};

/// Sends as long as anything is taken, over the ring and over the socket, and reads nothing.
pub fn never_read(target: &Target) -> anyhow::Result<String> {
    let began = Instant::now();
    // Findings with a window of the largest size: what they pin is the write buffer and the ring, not the window.
    let mut ring = RingPeer::connect(&target.socket)?;
    let stream = ring.open(&target.profile, 1 << 20)?;
    let bytes = Bytes::from(b"TICKET-0001 <cut here> ".repeat(600));
    let mut sent = 0;
    while began.elapsed() < target.lasting / 2 {
        // Credit is in the answers: without reading there is none, so this ends by itself.
        if sent + bytes.len() > 64 << 10 || ring.put(&Frame::Data { stream, bytes: bytes.clone() }).is_err() {
            break;
        }
        sent += bytes.len();
    }
    let mut socket = Peer::connect(&target.socket)?;
    socket.send(&Frame::Hello(Hello::new("hostile")))?;
    let mut frames = 0u64;
    socket.socket.set_nonblocking(true)?;
    let pings = encoded(&Frame::Ping([7; 8]))?.repeat(500);
    while began.elapsed() < target.lasting {
        match socket.socket.write(&pings) {
            Ok(n) => frames += (n / 20) as u64,
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            Err(_) => break,
        }
    }
    Ok(format!("{sent} bytes into a ring, {frames} Pings into a socket until both were full"))
}

/// One byte a frame, through the ring and over the socket, and every answer read.
pub fn one_byte(target: &Target) -> anyhow::Result<String> {
    let mut told = Vec::new();
    for transport in [Transport::Ring, Transport::Socket] {
        let (began, mut bytes) = (Instant::now(), 0u64);
        let mut connection = connect(&target.socket, transport)?;
        let mut stream = connection.open(target.profile.as_str())?;
        let mut sink = super::texts::Counted::default();
        while began.elapsed() < target.lasting / 2 {
            for _ in 0..200 {
                stream.push(b"x", &mut sink)?;
                bytes += 1;
            }
            stream.sync(&mut sink)?;
        }
        stream.finish(&mut sink)?;
        anyhow::ensure!(sink.bytes == bytes, "{} of {bytes} bytes came back", sink.bytes);
        told.push(format!("{bytes} frames by {transport:?}"));
    }
    Ok(told.join(", "))
}

/// Connections as fast as they are taken, each kept as long as the daemon lets it.
pub fn connections(target: &Target) -> anyhow::Result<String> {
    let (mut held, mut refused, mut most) = (Vec::new(), 0, 0);
    let began = Instant::now();
    while began.elapsed() < target.lasting && refused < target.part(20_000) {
        for _ in 0..target.part(100).max(10) {
            let peer = Peer::connect(&target.socket)?;
            peer.socket.set_nonblocking(true)?;
            held.push(peer);
        }
        let mut kept = Vec::new();
        for mut peer in held {
            match peer.receive() {
                Ok(Some(Frame::Error(e))) if e.code == Code::ConnectionLimit => refused += 1,
                // Silent long enough to be told so: its place is given back, and it is replaced.
                Ok(Some(Frame::Error(e))) if e.code == Code::HandshakeTimeout => {}
                Ok(other) => anyhow::bail!("{other:?}"),
                Err(_) => kept.push(peer),
            }
        }
        held = kept;
        most = most.max(held.len());
    }
    Ok(format!("up to {most} connections held, {refused} refused with connection-limit"))
}

/// Descriptors with every frame: refused by the kernel, or dropped when the daemon reads.
pub fn descriptors(target: &Target) -> anyhow::Result<String> {
    let mut peer = Peer::connect(&target.socket)?;
    peer.send(&Frame::Hello(Hello::new("hostile")))?;
    anyhow::ensure!(matches!(peer.receive()?, Some(Frame::Welcome(_))));
    let daemon = rustix::net::sockopt::socket_peercred(&peer.socket)?.pid;
    let open = || std::fs::read_dir(format!("/proc/{}/fd", daemon.as_raw_nonzero())).map(Iterator::count).ok();
    let before = open();
    let file = std::fs::File::open("/dev/null")?;
    let fds = [file.as_fd(); 200];
    let ping = encoded(&Frame::Ping([7; 8]))?;
    let (mut passed, mut refused, mut most) = (0usize, 0usize, before);
    for _ in 0..target.part(2000) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(200))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        anyhow::ensure!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        match sendmsg(&peer.socket, &[IoSlice::new(&ping)], &mut control, SendFlags::NOSIGNAL) {
            Ok(_) => {
                passed += fds.len();
                anyhow::ensure!(peer.receive()? == Some(Frame::Pong([7; 8])));
            }
            Err(rustix::io::Errno::PERM) => refused += 1,
            Err(e) => return Err(e.into()),
        }
        most = most.max(open());
    }
    // Others connect and leave meanwhile: room for them, not for thousands.
    let grown = most.zip(before).map(|(most, before)| most.saturating_sub(before));
    anyhow::ensure!(grown.is_none_or(|n| n < 64), "the daemon holds {grown:?} descriptors more");
    let how = if refused > 0 { "refused by the kernel (SO_PASSRIGHTS=0)" } else { "dropped unread (an older kernel)" };
    Ok(format!("{refused} messages of 200 refused, {passed} descriptors passed: {how}; table grew by {grown:?}"))
}

/// Handshakes that stop at every point where they can. The daemon's patience ends them.
pub fn half_open(target: &Target) -> anyhow::Result<String> {
    let hello = encoded(&Frame::Hello(Hello::new("hostile")))?;
    let mut held = Vec::new();
    for n in 0..target.part(160) {
        let mut peer = Peer::connect(&target.socket)?;
        peer.socket.write_all(&hello[..n % hello.len()])?;
        held.push(peer);
    }
    // Offers that are never taken: their files were received, or lie in the socket.
    let mut offered = Vec::new();
    for _ in 0..target.part(40) {
        offered.push(Peer::connect(&target.socket)?.offered()?);
    }
    let mut ended = 0;
    for mut peer in held {
        let said = peer.last_words()?;
        anyhow::ensure!(said.code == Code::HandshakeTimeout, "ended with {said:?}");
        ended += 1;
    }
    Ok(format!("{ended} ended with handshake-timeout, {} rings never taken", offered.len()))
}

/// Ten thousand streams of one user, each with something in it; and where this runs as root, what another user who takes
/// all that is given leaves to this one.
pub fn streams(target: &Target) -> anyhow::Result<String> {
    let mut peer = Peer::connect(&target.socket)?;
    peer.send(&Frame::Hello(Hello::new("hostile")))?;
    anyhow::ensure!(matches!(peer.receive()?, Some(Frame::Welcome(_))));
    let count = u32::try_from(target.part(10_000))?;
    for id in (1..=count).filter_map(StreamId::new) {
        let open = Open { stream: id, window: 4096, profile: target.profile.clone(), session: Bytes::new() };
        peer.send(&Frame::Open(open))?;
        peer.send(&Frame::Data { stream: id, bytes: Bytes::from_static(b"TICKET-") })?;
    }
    peer.send(&Frame::Ping([7; 8]))?;
    loop {
        match peer.receive()? {
            Some(Frame::Pong(_)) => break,
            Some(Frame::Credit(_) | Frame::Released { .. }) => {}
            other => anyhow::bail!("{other:?}"),
        }
    }
    let open = target.status()?.streams;
    anyhow::ensure!(open >= count, "{open} streams are open");
    let share = match fair_share(target)? {
        Some(told) => told,
        None => "another user: skipped, that takes root and a socket that everybody may use".to_owned(),
    };
    Ok(format!("{open} streams open; {share}"))
}

/// The user whom nobody is.
const NOBODY: u32 = 65_534;

/// Set for the process that takes all that it is given.
const GREEDY: &str = "FOREBAY_HOSTILE_GREEDY";

/// Starts this program as another user, who takes every connection, ring and stream that is given, and connects while it
/// holds them.
fn fair_share(target: &Target) -> anyhow::Result<Option<String>> {
    use std::io::{BufRead, BufReader};
    use std::os::unix::fs::PermissionsExt;
    let everybody = std::fs::metadata(&target.socket)?.permissions().mode() & 0o006 == 0o006;
    if !rustix::process::geteuid().is_root() || !everybody {
        return Ok(None);
    }
    // As the test's other process: the binary and its folder may be closed to that user, an open file is not.
    let program = std::fs::File::open(std::env::current_exe()?)?;
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&program));
    rustix::io::fcntl_setfd(&program, rustix::io::FdFlags::empty())?;
    let mut child = Command::new(path)
        .args(["--exact", "the_other_process", "--nocapture"])
        .env(GREEDY, &target.socket)
        .env("FOREBAY_HOSTILE_PROFILE", &target.profile)
        .uid(NOBODY)
        .gid(NOBODY)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().ok_or_else(|| anyhow::anyhow!("no output"))?);
    let mut took = String::new();
    while !took.contains("took") {
        took.clear();
        anyhow::ensure!(lines.read_line(&mut took)? > 0, "the other user's process ended early");
    }
    // It holds all of that now.
    let mut connection = connect(&target.socket, Transport::Ring)?;
    let mut sink = super::texts::Counted::default();
    let mut stream = connection.open(target.profile.as_str())?;
    stream.push(b"still here", &mut sink)?;
    stream.finish(&mut sink)?;
    drop(child.stdin.take());
    child.wait()?;
    anyhow::ensure!(sink.bytes == 10);
    Ok(Some(format!("another user {}, and this one still gets a connection, a ring and a stream", took.trim())))
}

/// What the other user's process does, if this is it. True if it was.
///
/// # Errors
/// The daemon gives it nothing at all.
pub fn greedy() -> anyhow::Result<bool> {
    let Some(socket) = std::env::var_os(GREEDY) else {
        return Ok(false);
    };
    let profile = std::env::var("FOREBAY_HOSTILE_PROFILE")?;
    let (mut held, mut rings, mut streams) = (Vec::new(), 0, 0u32);
    while let Ok(mut connection) = connect(socket.as_ref(), Transport::Auto) {
        // The first takes streams until there are no more for this user.
        if held.is_empty() {
            while streams < 20_000 && connection.open(profile.as_str()).map(std::mem::forget).is_ok() {
                streams += 1;
            }
        }
        let _ = connection.status();
        rings += u32::from(connection.uses_ring());
        held.push(connection);
    }
    println!("took {} connections with {rings} rings and asked for {streams} streams", held.len());
    std::io::stdout().flush()?;
    let _ = std::io::stdin().read_line(&mut String::new());
    Ok(true)
}
