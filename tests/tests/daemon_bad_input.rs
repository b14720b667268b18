//! A peer that breaks the protocol gets a typed error and is gone; the others notice nothing; a counter counts it.

use std::io::Read;
use std::net::Shutdown;

use bytes::{Bytes, BytesMut};
use forebay_client::blocking::{Connection, FilterReader};
use forebay_client::{Code, ConnectOptions};
use forebay_tests::daemon::{RawPeer, TestDaemon};
use forebay_wire::{Credit, Frame, Hello, MAX_PAYLOAD, StreamId};

/// Another connection with an open stream, and the proof that nothing happened to it.
struct Bystander {
    stream: forebay_client::blocking::Stream<Connection>,
    got: Got,
}

#[derive(Default)]
struct Got(Vec<u8>);

impl forebay_client::blocking::Sink for Got {
    fn released(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finding(&mut self, _: forebay_client::Finding) {}
}

impl Bystander {
    fn new(daemon: &TestDaemon) -> anyhow::Result<Self> {
        let connection = Connection::connect(daemon.path(), ConnectOptions::default())?;
        let mut bystander = Bystander { stream: connection.into_stream("house")?, got: Got::default() };
        bystander.stream.push(b"before TICKET-", &mut bystander.got)?;
        bystander.stream.sync(&mut bystander.got)?;
        Ok(bystander)
    }

    fn unharmed(mut self) -> anyhow::Result<()> {
        self.stream.push(b"1234567 after", &mut self.got)?;
        let summary = self.stream.finish(&mut self.got)?;
        let text = String::from_utf8_lossy(&self.got.0);
        assert!(text.starts_with("before FBY_") && text.ends_with(" after"), "{text}");
        assert!(summary.unscanned.is_none());
        Ok(())
    }
}

/// Lets a peer misbehave and checks everything that must hold then.
fn breaks(code: Code, misbehave: impl FnOnce(&mut RawPeer, StreamId) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let bystander = Bystander::new(&daemon)?;
    let (mut peer, stream) = RawPeer::opened(&daemon, "house", 65_536)?;
    misbehave(&mut peer, stream)?;
    ended(&daemon, peer, code)?;
    bystander.unharmed()
}

/// The same for a peer that never shook hands.
fn breaks_early(code: Code, misbehave: impl FnOnce(&mut RawPeer) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let bystander = Bystander::new(&daemon)?;
    let mut peer = RawPeer::connect(&daemon)?;
    misbehave(&mut peer)?;
    ended(&daemon, peer, code)?;
    bystander.unharmed()
}

fn ended(daemon: &TestDaemon, mut peer: RawPeer, code: Code) -> anyhow::Result<()> {
    let words = peer.last_words()?;
    assert_eq!(words.code, code, "{}", words.message);
    assert!(!words.message.is_empty());
    let counter = format!("errors_{}_total", code.as_str().replace('-', "_"));
    let status = daemon.wait(|s| s.connections == 1 && s.streams == 1)?;
    assert_eq!(status.counter(&counter), 1, "{:?}", status.counters);
    Ok(())
}

fn data(stream: StreamId, bytes: &'static [u8]) -> Frame {
    Frame::Data { stream, bytes: Bytes::from_static(bytes) }
}

#[test]
fn oversized_frame() -> anyhow::Result<()> {
    breaks(Code::OversizedFrame, |peer, _| {
        // Only the header: it must not be waited for the rest.
        peer.send_raw(&[1, 0x40, 0, 0, 0x11, 0, 0, 0, 1, 0, 0, 0]);
        Ok(())
    })
}

#[test]
fn unknown_type() -> anyhow::Result<()> {
    breaks(Code::UnknownType, |peer, _| {
        peer.send_raw(&[0, 0, 0, 0, 0x7f, 0, 0, 0, 0, 0, 0, 0]);
        Ok(())
    })
}

#[test]
fn wrong_version() -> anyhow::Result<()> {
    breaks_early(Code::Version, |peer| {
        peer.send(&Frame::Hello(Hello { min: 2, max: 9, features: 0, client: "future".to_owned() }))
    })
}

#[test]
fn first_frame_is_no_hello() -> anyhow::Result<()> {
    breaks_early(Code::HandshakeExpected, |peer| peer.send(&Frame::StatusRequest))
}

#[test]
fn another_protocol() -> anyhow::Result<()> {
    breaks_early(Code::HandshakeExpected, |peer| {
        peer.send_raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        Ok(())
    })
}

#[test]
fn a_second_hello() -> anyhow::Result<()> {
    breaks(Code::UnexpectedFrame, |peer, _| peer.send(&Frame::Hello(Hello::new("again"))))
}

#[test]
fn a_frame_only_the_daemon_sends() -> anyhow::Result<()> {
    breaks(Code::UnexpectedFrame, |peer, stream| {
        peer.send(&Frame::Released { stream, bytes: Bytes::from_static(b"x") })
    })
}

/// A ring was not granted, so nothing of one may come.
#[test]
fn frames_of_a_ring_that_there_is_not() -> anyhow::Result<()> {
    let offer = forebay_wire::RingOffer { to_daemon: 1 << 16, to_client: 1 << 16 };
    for frame in [Frame::RingOffer(offer), Frame::RingReady, Frame::Wake] {
        breaks(Code::UnexpectedFrame, |peer, _| peer.send(&frame))?;
    }
    Ok(())
}

#[test]
fn half_a_handshake_in_time() -> anyhow::Result<()> {
    let daemon = TestDaemon::with(|c| c.timeouts.handshake = std::time::Duration::from_millis(100))?;
    let bystander = Bystander::new(&daemon)?;
    let mut hello = BytesMut::new();
    forebay_wire::encode(&Frame::Hello(Hello::new("slow")), &mut hello)?;
    let mut peer = RawPeer::connect(&daemon)?;
    peer.send_raw(&hello[..hello.len() - 1]);
    ended(&daemon, peer, Code::HandshakeTimeout)?;
    bystander.unharmed()
}

#[test]
fn half_a_handshake_and_gone() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let bystander = Bystander::new(&daemon)?;
    let mut hello = BytesMut::new();
    forebay_wire::encode(&Frame::Hello(Hello::new("gone")), &mut hello)?;
    let mut peer = RawPeer::connect(&daemon)?;
    peer.send_raw(&hello[..7]);
    drop(peer);
    daemon.wait(|s| s.counter("connections_lost_total") == 1 && s.connections == 1)?;
    bystander.unharmed()
}

#[test]
fn stream_id_reused() -> anyhow::Result<()> {
    breaks(Code::StreamIdReused, |peer, stream| peer.open(stream, "house", 1000))
}

#[test]
fn stream_id_reused_after_its_end() -> anyhow::Result<()> {
    breaks(Code::StreamIdReused, |peer, stream| {
        peer.send(&Frame::Finish(stream))?;
        assert!(matches!(peer.next()?, Some(Frame::Report(..))));
        peer.open(stream, "house", 1000)
    })
}

#[test]
fn a_stream_never_opened() -> anyhow::Result<()> {
    for frame in [
        |s| data(s, b"x"),
        Frame::Finish,
        Frame::Sync,
        |stream| Frame::Reset { stream, code: Code::Cancelled },
        |stream| Frame::Credit(Credit { stream: Some(stream), bytes: 1 }),
    ] {
        breaks(Code::UnknownStream, |peer, stream| {
            peer.send(&frame(stream.next().ok_or_else(|| anyhow::anyhow!("no id"))?))
        })?;
    }
    Ok(())
}

#[test]
fn data_after_finish() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    // No output credit: the stream cannot end, so it is still there when the Data comes.
    let (mut peer, stream) = RawPeer::opened(&daemon, "house", 0)?;
    peer.send(&data(stream, b"some text"))?;
    peer.send(&Frame::Finish(stream))?;
    peer.send(&data(stream, b"more"))?;
    assert_eq!(peer.last_words()?.code, Code::StreamState);
    Ok(())
}

#[test]
fn credit_overrun_of_a_stream() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let bystander = Bystander::new(&daemon)?;
    let (mut peer, stream) = RawPeer::opened(&daemon, "house", 0)?;
    // Nothing is scanned without output credit, so the window of 64 KiB is used up by four frames.
    for _ in 0..4 {
        peer.send(&Frame::Data { stream, bytes: Bytes::from(vec![b'a'; MAX_PAYLOAD]) })?;
    }
    peer.send(&data(stream, b"x"))?;
    ended(&daemon, peer, Code::CreditOverrun)?;
    bystander.unharmed()
}

#[test]
fn credit_overrun_of_the_connection() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let mut peer = RawPeer::greeted(&daemon)?;
    // Four blocked streams use up the connection's 256 KiB; a fifth has credit of its own, but the connection none.
    for n in 1..=5u32 {
        let stream = StreamId::new(n).ok_or_else(|| anyhow::anyhow!("zero"))?;
        peer.open(stream, "house", 0)?;
        for _ in 0..if n < 5 { 4 } else { 1 } {
            peer.send(&Frame::Data { stream, bytes: Bytes::from(vec![b'a'; MAX_PAYLOAD]) })?;
        }
    }
    assert_eq!(peer.last_words()?.code, Code::CreditOverrun);
    Ok(())
}

#[test]
fn credit_overflow() -> anyhow::Result<()> {
    breaks(Code::CreditOverflow, |peer, stream| {
        peer.send(&Frame::Credit(Credit { stream: Some(stream), bytes: u32::MAX }))
    })
}

#[test]
fn credit_for_the_connection_is_not_the_clients() -> anyhow::Result<()> {
    breaks(Code::UnexpectedFrame, |peer, _| peer.send(&Frame::Credit(Credit { stream: None, bytes: 1 })))
}

#[test]
fn malformed_frames() -> anyhow::Result<()> {
    let bad: [&[u8]; 8] = [
        &[0, 0, 0, 0, 0x11, 0, 0, 0, 1, 0, 0, 0],                         // empty Data
        &[1, 0, 0, 0, 0x12, 0, 0, 0, 1, 0, 0, 0, 9],                      // Finish with a payload
        &[4, 0, 0, 0, 0x30, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],             // Credit of zero
        &[0, 0, 0, 0, 0x12, 1, 0, 0, 1, 0, 0, 0],                         // a flag
        &[0, 0, 0, 0, 0x12, 0, 0, 1, 1, 0, 0, 0],                         // a reserved byte
        &[0, 0, 0, 0, 0x12, 0, 0, 0, 0, 0, 0, 0],                         // stream 0
        &[0, 0, 0, 0, 0x40, 0, 0, 0, 1, 0, 0, 0],                         // StatusRequest of a stream
        &[7, 0, 0, 0, 0x10, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 1, 0xff, 0], // a profile that is not UTF-8
    ];
    for bytes in bad {
        breaks(Code::Malformed, |peer, _| {
            peer.send_raw(bytes);
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn garbage() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let bystander = Bystander::new(&daemon)?;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = vec![0; 4096];
    for round in 0..200 {
        for b in &mut bytes {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            *b = random.to_le_bytes()[3];
        }
        let mut peer = if round % 2 == 0 { RawPeer::connect(&daemon)? } else { RawPeer::greeted(&daemon)? };
        peer.send_raw(&bytes);
        // Whatever it was taken for, the end is a typed error.
        peer.last_words()?;
    }
    daemon.wait(|s| s.connections == 1)?;
    bystander.unharmed()
}

/// A session cut off at each byte, by going away and by half-closing.
#[test]
fn gone_at_any_byte() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let bystander = Bystander::new(&daemon)?;
    let stream = StreamId::FIRST;
    let mut session = BytesMut::new();
    let open =
        forebay_wire::Open { stream, window: 4096, profile: "house".to_owned(), session: Bytes::from_static(b"run") };
    for frame in [
        Frame::Hello(Hello::new("raw")),
        Frame::Open(open),
        data(stream, b"text with TICKET-12345 in it <cut here>"),
        Frame::Sync(stream),
        Frame::Credit(Credit { stream: Some(stream), bytes: 40 }),
        Frame::StatusRequest,
        Frame::Finish(stream),
    ] {
        forebay_wire::encode(&frame, &mut session)?;
    }
    for cut in 0..=session.len() {
        let mut peer = RawPeer::connect(&daemon)?;
        peer.send_raw(&session[..cut]);
        if cut % 2 == 0 {
            peer.socket.shutdown(Shutdown::Write)?;
            let mut rest = Vec::new();
            let _ = peer.socket.read_to_end(&mut rest);
        }
    }
    let status = daemon.wait(|s| s.connections == 1 && s.streams == 1)?;
    assert!(status.counter("connections_lost_total") > 50);
    bystander.unharmed()
}

#[test]
fn an_unknown_profile_ends_the_stream_only() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let mut peer = RawPeer::greeted(&daemon)?;
    peer.open(StreamId::FIRST, "no-such", 1000)?;
    match peer.next()? {
        Some(Frame::Error(e)) => {
            assert_eq!((e.stream, e.code), (Some(StreamId::FIRST), Code::UnknownProfile));
            assert!(e.message.contains("house"), "{}", e.message);
        }
        other => anyhow::bail!("no error but {other:?}"),
    }
    // Data that was on its way is ignored, and gives its credit back: ten windows of it pass.
    for _ in 0..160 {
        peer.send(&Frame::Data { stream: StreamId::FIRST, bytes: Bytes::from(vec![b'a'; MAX_PAYLOAD]) })?;
        if let Some(Frame::Error(e)) = next_but_credit(&mut peer)? {
            anyhow::bail!("{e:?}");
        }
    }
    Ok(())
}

/// Asks for a Pong and reads up to it, past Credit frames.
fn next_but_credit(peer: &mut RawPeer) -> anyhow::Result<Option<Frame>> {
    peer.send(&Frame::Ping([0; 8]))?;
    loop {
        match peer.next()? {
            Some(Frame::Credit(_)) => {}
            other => return Ok(other),
        }
    }
}

#[test]
fn a_client_of_this_crate_sees_the_typed_error() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let connection = Connection::connect(daemon.path(), ConnectOptions::default())?;
    let mut reader = FilterReader::new(connection.into_stream("no-such")?, &b"text"[..]);
    let error = reader.read_to_end(&mut Vec::new()).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains("no profile `no-such`"), "{error}");
    Ok(())
}
