//! One side of a connection on a ring, driven as a program would drive it, and the handshake before it.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use forebay_wire::ring::{
    Bell, End, MIN_CAPACITY, Mapped, Park, Ring, RingFiles, Violation, Waiter, Want, Woken, receive_files, send_files,
    send_wake,
};
use forebay_wire::{
    FEATURE_RING, Frame, Hello, MAX_PAYLOAD, RingOffer, StreamId, Welcome, WireError, decode, encode, put_data,
    put_released,
};
use rustix::net::{RecvFlags, recv};
use rustix::process::{Signal, getpid, kill_process};

/// More than enough for anything here; what takes longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Output that a side lets wait before it stops reading.
const MUCH: usize = 64 << 10;

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The other side is gone, at the end of a frame.
    Whole,
    /// The other side is gone, inside a frame.
    Truncated,
    /// The other side broke the ring's rules.
    Violation(Violation),
    /// The other side sent bytes that are no frames.
    Wire(WireError),
}

/// One side of a connection, driven as a program would.
pub(crate) struct Side {
    pub(crate) socket: UnixStream,
    pub(crate) end: End<Mapped>,
    waiter: Waiter,
    bell: Bell,
    input: BytesMut,
    output: BytesMut,
    closed: bool,
}

impl Side {
    fn new(socket: UnixStream, memory: Mapped, bell: Bell) -> Side {
        let (input, output) = (BytesMut::with_capacity(2 * MUCH), BytesMut::with_capacity(2 * MUCH));
        Side { socket, end: End::new(memory), waiter: Waiter::default(), bell, input, output, closed: false }
    }

    /// Reads, works, writes, publishes. True if anything moved.
    fn pass(&mut self, work: &mut dyn FnMut(Frame, &mut BytesMut)) -> Result<bool, Ended> {
        self.end.refresh().map_err(Ended::Violation)?;
        let mut moved = 0;
        if self.output.len() < MUCH {
            self.input.reserve(MUCH);
            moved += self.end.read(&mut self.input, MUCH);
        }
        while let Some(frame) = decode(&mut self.input).map_err(Ended::Wire)? {
            work(frame, &mut self.output);
        }
        let written = self.end.write(&self.output);
        self.output.advance(written);
        match self.end.publish() {
            Ring::No => {}
            Ring::Futex => self.end.memory().wake(),
            // A peer that is gone shows at the next look at the socket.
            Ring::Socket => drop(send_wake(&self.socket)),
        }
        Ok(moved + written > 0)
    }

    fn want(&self) -> Want {
        Want { data: self.output.len() < MUCH, room: u32::from(!self.output.is_empty()) }
    }

    /// Waits until there is something to do.
    fn wait(&mut self) -> Result<(), Ended> {
        let want = self.want();
        match self.bell {
            Bell::Futex => {
                if self.waiter.wait(&mut self.end, want).map_err(Ended::Violation)? == Woken::LookAtSocket {
                    self.look_at_socket(RecvFlags::DONTWAIT);
                }
            }
            Bell::Socket => {
                if self.waiter.pause(&mut self.end, want).map_err(Ended::Violation)? {
                    return Ok(());
                }
                if let Park::Sleep { .. } = self.end.park(want, Bell::Socket).map_err(Ended::Violation)? {
                    self.look_at_socket(RecvFlags::empty());
                    self.end.unpark();
                }
            }
        }
        Ok(())
    }

    /// Takes Wake frames off the socket, and notices its end. Waits for either, at most [`PATIENCE`], unless told not to.
    fn look_at_socket(&mut self, flags: RecvFlags) {
        let mut buf = [0; 240];
        match recv(&self.socket, &mut buf, flags) {
            Ok((0, _)) | Err(rustix::io::Errno::CONNRESET) => self.closed = true,
            Ok((n, _)) => {
                let mut frames = BytesMut::from(&buf[..n]);
                while let Some(frame) = decode(&mut frames).unwrap() {
                    assert_eq!(frame, Frame::Wake);
                }
            }
            Err(rustix::io::Errno::AGAIN) => {}
            Err(e) => panic!("{e}"),
        }
    }

    /// Goes on until the other side is gone or `done` says so. The end of the socket first, the ring last.
    fn run(
        &mut self,
        work: &mut dyn FnMut(Frame, &mut BytesMut),
        done: &mut dyn FnMut(&mut BytesMut) -> bool,
    ) -> Ended {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < PATIENCE, "hangs: {:?}", self.end);
            let over = self.closed;
            match self.pass(work) {
                Err(ended) => return ended,
                Ok(true) => {}
                Ok(false) if over => return if self.input.is_empty() { Ended::Whole } else { Ended::Truncated },
                Ok(false) => {
                    if let Err(ended) = self.wait() {
                        return ended;
                    }
                }
            }
            if done(&mut self.output) {
                return Ended::Whole;
            }
        }
    }
}

/// The bytes of a stream: any two positions that lie less than 251 apart, or a multiple of 256, differ somewhere near.
pub(crate) fn byte(at: u64) -> u8 {
    (at % 251) as u8 ^ (at / 251 % 256) as u8
}

fn check(bytes: &[u8], from: &mut u64) {
    for b in bytes {
        assert_eq!(*b, byte(*from), "at {from}");
        *from += 1;
    }
}

/// The daemon's part: everything comes back. Says how the connection ended, and how many bytes came.
pub(crate) fn echo(side: &mut Side) -> (Ended, u64) {
    let mut received = 0;
    let ended = side.run(
        &mut |frame, output| match frame {
            Frame::Data { stream, bytes } => {
                check(&bytes, &mut received);
                put_released(stream, &bytes, output);
            }
            other => panic!("{other:?}"),
        },
        &mut |_| false,
    );
    (ended, received)
}

/// The client's part: sends `total` bytes in frames of all sizes, at most 512 KiB ahead of what came back, and checks that.
pub(crate) fn ask(side: &mut Side, total: u64) -> (Ended, u64) {
    let (mut sent, mut size, came_back) = (0u64, 1usize, std::cell::Cell::new(0u64));
    let ended = side.run(
        &mut |frame, _| match frame {
            Frame::Released { bytes, .. } => {
                let mut at = came_back.get();
                check(&bytes, &mut at);
                came_back.set(at);
            }
            other => panic!("{other:?}"),
        },
        &mut |output| {
            while sent < total && output.len() < MAX_PAYLOAD && sent - came_back.get() < 512 << 10 {
                size = size * 7 % 16_411;
                let n = (size as u64).min(total - sent);
                let bytes: Vec<u8> = (sent..sent + n).map(byte).collect();
                put_data(StreamId::FIRST, &bytes, output);
                sent += n;
            }
            came_back.get() == total
        },
    );
    (ended, came_back.get())
}

fn send(socket: &mut UnixStream, frame: &Frame) -> io::Result<()> {
    let mut out = BytesMut::new();
    encode(frame, &mut out).unwrap();
    socket.write_all(&out)
}

fn next(socket: &mut UnixStream, buf: &mut BytesMut) -> io::Result<Frame> {
    loop {
        if let Some(frame) = decode(buf).unwrap() {
            return Ok(frame);
        }
        let mut some = [0; 256];
        match socket.read(&mut some)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => buf.extend_from_slice(&some[..n]),
        }
    }
}

/// The daemon's side of the handshake, up to a ring.
pub(crate) fn grant(mut socket: UnixStream) -> io::Result<Side> {
    let mut buf = BytesMut::new();
    socket.set_read_timeout(Some(PATIENCE))?;
    match next(&mut socket, &mut buf)? {
        Frame::Hello(hello) => assert_eq!(hello.features, FEATURE_RING),
        other => panic!("{other:?}"),
    }
    let welcome = Welcome {
        version: 1,
        features: FEATURE_RING,
        max_payload: u32::try_from(MAX_PAYLOAD).unwrap(),
        max_streams: 1,
        stream_window: 1 << 20,
        connection_window: 1 << 20,
        fingerprint: [0; 32],
        daemon: "test".to_owned(),
    };
    send(&mut socket, &Frame::Welcome(welcome))?;
    let offer = RingOffer { to_daemon: MIN_CAPACITY, to_client: 2 * MIN_CAPACITY };
    let (files, memory) = RingFiles::create(offer.to_daemon, offer.to_client).unwrap();
    let mut bytes = BytesMut::new();
    encode(&Frame::RingOffer(offer), &mut bytes).unwrap();
    assert_eq!(send_files(&socket, &bytes, &files)?, bytes.len());
    drop(files);
    assert_eq!(next(&mut socket, &mut buf)?, Frame::RingReady);
    send(&mut socket, &Frame::RingReady)?;
    Ok(Side::new(socket, memory, Bell::Socket))
}

/// The client's side of the handshake. Dies at a step of it, if told so.
pub(crate) fn join(mut socket: UnixStream, dies: &str) -> io::Result<Side> {
    let mut buf = BytesMut::new();
    socket.set_read_timeout(Some(PATIENCE))?;
    die_if(dies == "before-hello");
    send(&mut socket, &Frame::Hello(Hello { features: FEATURE_RING, ..Hello::new("test") }))?;
    die_if(dies == "after-hello");
    let mut offered = None;
    let offer = loop {
        let mut some = [0; 256];
        let (n, files) = receive_files(&socket, &mut some)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        offered = offered.or(files);
        buf.extend_from_slice(&some[..n]);
        match decode(&mut buf).unwrap() {
            Some(Frame::Welcome(w)) => {
                assert_eq!(w.features, FEATURE_RING);
                // Both frames may have come at once.
                if let Some(Frame::RingOffer(offer)) = decode(&mut buf).unwrap() {
                    break offer;
                }
            }
            Some(Frame::RingOffer(offer)) => break offer,
            other => panic!("{other:?}"),
        }
    };
    die_if(dies == "offered");
    let [to_daemon, to_client] = offered.unwrap();
    let files = RingFiles { to_daemon, to_client, capacities: (offer.to_daemon, offer.to_client) };
    let memory = files.accept().unwrap();
    drop(files);
    send(&mut socket, &Frame::RingReady)?;
    die_if(dies == "ready");
    assert_eq!(next(&mut socket, &mut buf)?, Frame::RingReady);
    Ok(Side::new(socket, memory, Bell::Futex))
}

/// Kills this process, if told so: nothing of it runs any more, as after any kill -9.
pub(crate) fn die_if(now: bool) {
    if now {
        kill_process(getpid(), Signal::KILL).unwrap();
    }
}
