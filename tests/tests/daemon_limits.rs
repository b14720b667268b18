//! What a client cannot do, by bounds and by times; and how the daemon leaves.

use std::io::Write;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use forebay_client::{Code, ConnectOptions, blocking};
use forebay_tests::daemon::{RawPeer, TestDaemon};
use forebay_wire::{Credit, Frame, MAX_PAYLOAD, MAX_WINDOW, StreamId};

const SHORT: Duration = Duration::from_millis(150);

fn id(n: u32) -> anyhow::Result<StreamId> {
    StreamId::new(n).ok_or_else(|| anyhow::anyhow!("zero"))
}

fn data(stream: StreamId, length: usize) -> Frame {
    Frame::Data { stream, bytes: Bytes::from(vec![b'a'; length]) }
}

/// The next frame that is no Credit.
fn next(peer: &mut RawPeer) -> anyhow::Result<Frame> {
    loop {
        match peer.next()? {
            Some(Frame::Credit(_)) => {}
            Some(frame) => return Ok(frame),
            None => anyhow::bail!("the connection ended"),
        }
    }
}

fn stream_error(peer: &mut RawPeer) -> anyhow::Result<(StreamId, Code)> {
    loop {
        if let Frame::Error(e) = next(peer)? {
            return Ok((e.stream.ok_or_else(|| anyhow::anyhow!("{e:?}"))?, e.code));
        }
    }
}

#[test]
fn who_does_not_read_is_not_read() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let (mut peer, stream) = RawPeer::opened(&daemon, "house", MAX_WINDOW)?;
    // Pings need no credit, so nothing but the daemon's refusal to read stops this flood.
    peer.socket.set_nonblocking(true)?;
    let mut flood = BytesMut::new();
    forebay_wire::encode(&Frame::Ping([7; 8]), &mut flood)?;
    let flood = flood.repeat(100);
    let (mut sent, mut quiet) = (0, Instant::now());
    while quiet.elapsed() < Duration::from_millis(300) {
        match peer.socket.write(&flood) {
            Ok(n) => (sent, quiet) = (sent + n, Instant::now()),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(5)),
            Err(e) => return Err(e.into()),
        }
        anyhow::ensure!(sent < 8 << 20, "the daemon takes everything");
    }
    // It stopped with what two socket buffers and one write buffer hold. Others are served all the while.
    assert_eq!(TestClient::connect(&daemon)?.status()?.streams, 1);
    let _ = stream;
    Ok(())
}

struct TestClient;

impl TestClient {
    fn connect(daemon: &TestDaemon) -> anyhow::Result<blocking::Connection> {
        Ok(blocking::Connection::connect(daemon.path(), ConnectOptions::default())?)
    }
}

#[test]
fn a_socket_that_is_never_read_is_closed() -> anyhow::Result<()> {
    let daemon = TestDaemon::with(|c| c.timeouts.stall = SHORT)?;
    let mut peer = RawPeer::greeted(&daemon)?;
    peer.socket.set_nonblocking(true)?;
    let mut flood = BytesMut::new();
    forebay_wire::encode(&Frame::StatusRequest, &mut flood)?;
    let flood = flood.repeat(100);
    let start = Instant::now();
    while daemon.status().counter("errors_write_stall_total") == 0 {
        let _ = peer.socket.write(&flood);
        anyhow::ensure!(start.elapsed() < Duration::from_secs(10), "never closed");
        std::thread::sleep(Duration::from_millis(1));
    }
    daemon.wait(|s| s.connections == 0)?;
    Ok(())
}

#[test]
fn a_stream_without_credit_waits_then_ends_and_the_others_go_on() -> anyhow::Result<()> {
    let daemon = TestDaemon::with(|c| c.timeouts.stall = SHORT)?;
    let mut peer = RawPeer::greeted(&daemon)?;
    peer.open(id(1)?, "house", 10)?;
    peer.open(id(2)?, "house", 1000)?;
    peer.send(&data(id(1)?, 100))?;
    let mut got = 0;
    while got < 10 {
        match next(&mut peer)? {
            Frame::Released { stream, bytes } => {
                assert_eq!(stream, id(1)?);
                got += bytes.len();
            }
            other => anyhow::bail!("{other:?}"),
        }
    }
    assert_eq!(got, 10, "released beyond the credit");
    peer.send(&data(id(2)?, 100))?;
    peer.send(&Frame::Sync(id(2)?))?;
    assert!(matches!(next(&mut peer)?, Frame::Released { .. }));
    assert!(matches!(next(&mut peer)?, Frame::Held(..)));
    assert_eq!(stream_error(&mut peer)?, (id(1)?, Code::WriteStall));
    peer.send(&Frame::Finish(id(2)?))?;
    assert!(matches!(next(&mut peer)?, Frame::Report(..)));
    let status = daemon.wait(|s| s.streams == 0)?;
    assert_eq!((status.connections, status.counter("errors_write_stall_total")), (1, 1));
    Ok(())
}

#[test]
fn credit_in_drops_gives_every_byte_once() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let (mut peer, stream) = RawPeer::opened(&daemon, "house", 0)?;
    let text: Vec<u8> = (0..2000).flat_map(|i| format!("line {i} <cut here>\n").into_bytes()).collect();
    peer.send(&Frame::Data { stream, bytes: Bytes::copy_from_slice(&text[..MAX_PAYLOAD]) })?;
    peer.send(&Frame::Finish(stream))?;
    let (mut got, mut findings) = (Vec::new(), 0);
    let mut grant = 0;
    loop {
        grant = grant % 97 + 1;
        peer.send(&Frame::Credit(Credit { stream: Some(stream), bytes: grant }))?;
        peer.send(&Frame::Ping([0; 8]))?;
        loop {
            match next(&mut peer)? {
                Frame::Released { bytes, .. } => got.extend_from_slice(&bytes),
                Frame::Finding(..) => findings += 1,
                Frame::Report(_, report) => {
                    assert_eq!(got, &text[..MAX_PAYLOAD]);
                    assert_eq!(findings, text[..MAX_PAYLOAD].windows(10).filter(|w| w == b"<cut here>").count());
                    assert!(!report.complete && report.more > 0);
                    return Ok(());
                }
                Frame::Pong(_) => break,
                other => anyhow::bail!("{other:?}"),
            }
        }
    }
}

#[test]
fn silence_ends_a_connection_and_a_ping_keeps_it() -> anyhow::Result<()> {
    let daemon = TestDaemon::with(|c| c.timeouts.idle = SHORT * 2)?;
    let (mut peer, _) = RawPeer::opened(&daemon, "house", 1000)?;
    for _ in 0..5 {
        std::thread::sleep(SHORT);
        peer.send(&Frame::Ping([1; 8]))?;
        assert!(matches!(next(&mut peer)?, Frame::Pong(_)));
    }
    assert_eq!(peer.last_words()?.code, Code::IdleTimeout);
    daemon.wait(|s| s.connections == 0 && s.streams == 0)?;
    Ok(())
}

#[test]
fn connections_of_a_user_are_bounded() -> anyhow::Result<()> {
    let daemon = TestDaemon::with(|c| c.limits.connections_per_uid = 2)?;
    let held = [RawPeer::greeted(&daemon)?, RawPeer::greeted(&daemon)?];
    assert_eq!(RawPeer::connect(&daemon)?.last_words()?.code, Code::ConnectionLimit);
    drop(held);
    daemon.wait(|s| s.connections == 0)?;
    RawPeer::greeted(&daemon)?;
    Ok(())
}

#[test]
fn streams_are_bounded() -> anyhow::Result<()> {
    let daemon = TestDaemon::with(|c| {
        c.limits.streams_per_uid = 3;
        c.limits.streams_per_connection = 2;
    })?;
    let mut peer = RawPeer::greeted(&daemon)?;
    for n in 1..=3 {
        peer.open(id(n)?, "house", 1000)?;
    }
    assert_eq!(stream_error(&mut peer)?, (id(3)?, Code::StreamLimit));
    let mut other = RawPeer::greeted(&daemon)?;
    for n in 1..=2 {
        other.open(id(n)?, "house", 1000)?;
    }
    assert_eq!(stream_error(&mut other)?, (id(2)?, Code::StreamLimit));
    peer.send(&Frame::Finish(id(1)?))?;
    assert!(matches!(next(&mut peer)?, Frame::Report(..)));
    other.open(id(3)?, "house", 1000)?;
    other.send(&Frame::Finish(id(3)?))?;
    assert!(matches!(next(&mut other)?, Frame::Report(..)));
    Ok(())
}

#[test]
fn output_that_nobody_takes_is_bounded() -> anyhow::Result<()> {
    let daemon = TestDaemon::with(|c| c.limits.buffered_bytes_per_uid = 2000)?;
    let mut peer = RawPeer::greeted(&daemon)?;
    // Findings make more output than their input, so a piece that fits the credit does not fit with its findings.
    let dense = Bytes::from("<cut here>".repeat(30));
    for n in 1..=5 {
        peer.open(id(n)?, "house", 300)?;
        peer.send(&Frame::Data { stream: id(n)?, bytes: dense.clone() })?;
    }
    let (stream, code) = stream_error(&mut peer)?;
    assert_eq!(code, Code::BufferLimit, "stream {stream}");
    Ok(())
}

#[test]
fn a_reset_stream_is_forgotten() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let mut peer = RawPeer::greeted(&daemon)?;
    for n in 1..=1000 {
        peer.open(id(n)?, "house", 0)?;
        peer.send(&data(id(n)?, 1000))?;
        peer.send(&Frame::Reset { stream: id(n)?, code: Code::Cancelled })?;
    }
    peer.send(&Frame::Ping([0; 8]))?;
    assert!(matches!(next(&mut peer)?, Frame::Pong(_)));
    let status = daemon.status();
    assert_eq!((status.streams, status.counter("streams_opened_total")), (0, 1000));
    Ok(())
}

#[test]
fn draining_lets_open_streams_finish() -> anyhow::Result<()> {
    let mut daemon = TestDaemon::with(|c| c.timeouts.grace = Duration::from_secs(20))?;
    let (mut peer, stream) = RawPeer::opened(&daemon, "house", 1000)?;
    peer.send(&data(stream, 10))?;
    assert!(matches!(next(&mut peer)?, Frame::Released { .. }));
    let mut idle = RawPeer::greeted(&daemon)?;
    daemon.stop();
    assert!(matches!(next(&mut peer)?, Frame::Goaway(g) if g.last_stream == 1 && g.grace_ms == 20_000));
    // A connection without streams is closed at once; nobody new gets in.
    assert!(matches!(next(&mut idle)?, Frame::Goaway(_)));
    assert!(idle.next()?.is_none());
    assert!(std::os::unix::net::UnixStream::connect(daemon.path()).is_err());
    peer.open(id(2)?, "house", 1000)?;
    assert_eq!(stream_error(&mut peer)?, (id(2)?, Code::Draining));
    peer.send(&data(stream, 20))?;
    peer.send(&Frame::Finish(stream))?;
    assert!(matches!(next(&mut peer)?, Frame::Released { bytes, .. } if bytes.len() == 20));
    assert!(matches!(next(&mut peer)?, Frame::Report(..)));
    assert!(peer.next()?.is_none());
    let start = Instant::now();
    daemon.join()?;
    assert!(start.elapsed() < Duration::from_secs(10), "it waited for the whole grace time");
    Ok(())
}

#[test]
fn the_grace_time_ends() -> anyhow::Result<()> {
    let mut daemon = TestDaemon::with(|c| c.timeouts.grace = SHORT)?;
    let (mut peer, _) = RawPeer::opened(&daemon, "house", 1000)?;
    // A daemon that drains before it has read the Open has nothing to wait for, and needs no grace time.
    daemon.wait(|s| s.streams == 1)?;
    daemon.join()?;
    assert_eq!(peer.last_words()?.code, Code::Draining);
    Ok(())
}

/// Frames of one byte cost more than their content, but not memory and not the other's turn.
#[test]
fn a_flood_of_one_byte_frames() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let (mut peer, stream) = RawPeer::opened(&daemon, "house", MAX_WINDOW)?;
    let mut reader = peer.reader()?;
    let reading = std::thread::spawn(move || -> anyhow::Result<usize> {
        let mut got = 0;
        loop {
            match next(&mut reader)? {
                Frame::Released { bytes, .. } => got += bytes.len(),
                Frame::Report(..) => return Ok(got),
                other => anyhow::bail!("{other:?}"),
            }
        }
    });
    let mut flood = BytesMut::new();
    for _ in 0..30_000 {
        forebay_wire::put_data(stream, b"x", &mut flood);
    }
    peer.send_raw(&flood);
    peer.send(&Frame::Finish(stream))?;
    let got = reading.join().map_err(|_| anyhow::anyhow!("the reader panicked"))??;
    assert_eq!(got, 30_000);
    Ok(())
}
