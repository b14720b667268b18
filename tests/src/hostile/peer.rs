//! A client that may do anything: frames by hand, over the socket and through a ring whose words it writes as it likes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use forebay_wire::ring::{Bell, End, Mapped, Park, RingFiles, Want, receive_files, send_wake};
use forebay_wire::{Code, ErrorFrame, FEATURE_RING, Frame, Hello, Open, StreamId};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A socket of a hostile client.
pub struct Peer {
    /// The socket.
    pub socket: UnixStream,
    /// What was read and is no whole frame.
    pub input: BytesMut,
}

/// One with a ring.
pub struct RingPeer {
    /// Its socket.
    pub peer: Peer,
    /// Its side of the ring.
    pub end: End<Mapped>,
    /// The file that it may write.
    pub to_daemon: File,
    /// The file that it may only read.
    pub to_client: File,
}

impl Peer {
    /// Connects and says nothing.
    ///
    /// # Errors
    /// What the system says.
    pub fn connect(path: &Path) -> io::Result<Peer> {
        let socket = UnixStream::connect(path)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Peer { socket, input: BytesMut::new() })
    }

    /// Sends a frame over the socket.
    ///
    /// # Errors
    /// The daemon is gone, or the frame is none.
    pub fn send(&mut self, frame: &Frame) -> anyhow::Result<()> {
        Ok(self.socket.write_all(&encoded(frame)?)?)
    }

    /// The next frame over the socket; `None` at its end.
    ///
    /// # Errors
    /// The daemon says nothing, or what is no frame.
    pub fn receive(&mut self) -> anyhow::Result<Option<Frame>> {
        loop {
            if let Some(frame) = forebay_wire::decode(&mut self.input)? {
                return Ok(Some(frame));
            }
            let mut chunk = [0; 4096];
            match self.socket.read(&mut chunk) {
                Ok(0) => return Ok(None),
                Ok(n) => self.input.extend_from_slice(&chunk[..n]),
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Reads to the end: the error that the daemon ended the connection with.
    ///
    /// # Errors
    /// It ended without one, or did not end.
    pub fn last_words(&mut self) -> anyhow::Result<ErrorFrame> {
        let mut last = None;
        while let Some(frame) = self.receive()? {
            if let Frame::Error(e) = frame
                && e.stream.is_none()
            {
                last = Some(e);
            }
        }
        last.ok_or_else(|| anyhow::anyhow!("the connection ended without a word"))
    }

    /// Shakes hands up to the daemon's offer, and no further.
    ///
    /// # Errors
    /// The daemon offers no ring.
    pub fn offered(mut self) -> anyhow::Result<RingPeer> {
        self.send(&Frame::Hello(Hello { features: FEATURE_RING, ..Hello::new("hostile") }))?;
        let mut files = None;
        loop {
            match forebay_wire::decode(&mut self.input)? {
                Some(Frame::Welcome(w)) => anyhow::ensure!(w.features == FEATURE_RING, "the daemon grants no ring"),
                Some(Frame::RingOffer(offer)) => {
                    let [to_daemon, to_client] =
                        files.take().ok_or_else(|| anyhow::anyhow!("an offer without files"))?;
                    let files = RingFiles { to_daemon, to_client, capacities: (offer.to_daemon, offer.to_client) };
                    let end = End::new(files.accept()?);
                    let (to_daemon, to_client) = (File::from(files.to_daemon), File::from(files.to_client));
                    return Ok(RingPeer { peer: self, end, to_daemon, to_client });
                }
                Some(other) => anyhow::bail!("{other:?}"),
                None => {
                    let mut chunk = [0; 4096];
                    let (n, came) = receive_files(&self.socket, &mut chunk)?;
                    anyhow::ensure!(n > 0, "the daemon closed the connection");
                    files = files.or(came);
                    self.input.extend_from_slice(&chunk[..n]);
                }
            }
        }
    }
}

impl RingPeer {
    /// Connects and takes a ring.
    ///
    /// # Errors
    /// The daemon grants none.
    pub fn connect(path: &Path) -> anyhow::Result<RingPeer> {
        Peer::connect(path)?.offered()?.ready()
    }

    /// Takes the ring that was offered.
    ///
    /// # Errors
    /// The daemon does not answer as it should.
    pub fn ready(mut self) -> anyhow::Result<RingPeer> {
        self.peer.send(&Frame::RingReady)?;
        match self.peer.receive()? {
            Some(Frame::RingReady) => Ok(self),
            other => anyhow::bail!("no RingReady but {other:?}"),
        }
    }

    /// Opens stream 1.
    ///
    /// # Errors
    /// As [`RingPeer::put`].
    pub fn open(&mut self, profile: &str, window: u32) -> anyhow::Result<StreamId> {
        let open = Open { stream: StreamId::FIRST, window, profile: profile.to_owned(), session: Bytes::new() };
        self.put(&Frame::Open(open))?;
        Ok(StreamId::FIRST)
    }

    /// Writes a frame and publishes it.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn put(&mut self, frame: &Frame) -> anyhow::Result<()> {
        let bytes = encoded(frame)?;
        self.end.refresh()?;
        anyhow::ensure!(self.end.write(&bytes) == bytes.len(), "the ring is full");
        self.publish();
        Ok(())
    }

    /// Publishes, and wakes the daemon whether it sleeps or not.
    pub fn publish(&mut self) {
        let _ = self.end.publish();
        let _ = send_wake(&self.peer.socket);
    }

    /// The next frame through the ring.
    ///
    /// # Errors
    /// None comes.
    pub fn take(&mut self) -> anyhow::Result<Frame> {
        let began = std::time::Instant::now();
        loop {
            self.end.refresh()?;
            self.peer.input.reserve(32 << 10);
            self.end.read(&mut self.peer.input, 32 << 10);
            self.publish();
            if let Some(frame) = forebay_wire::decode(&mut self.peer.input)? {
                return Ok(frame);
            }
            anyhow::ensure!(began.elapsed() < PATIENCE, "nothing comes through the ring");
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Says that it sleeps, and does not.
    pub fn pretend_to_sleep(&mut self) -> anyhow::Result<bool> {
        Ok(matches!(self.end.park(Want { data: true, room: 1 }, Bell::Socket)?, Park::Sleep { .. }))
    }

    /// The daemon must end the connection, because of the words of the ring.
    ///
    /// # Errors
    /// It does not, or for another reason.
    pub fn expect_violation(&mut self) -> anyhow::Result<()> {
        let _ = send_wake(&self.peer.socket);
        let said = self.peer.last_words()?;
        anyhow::ensure!(said.code == Code::RingViolation, "ended with {said:?}");
        Ok(())
    }
}

/// A frame's bytes.
///
/// # Errors
/// It is no frame.
pub fn encoded(frame: &Frame) -> anyhow::Result<BytesMut> {
    let mut bytes = BytesMut::new();
    forebay_wire::encode(frame, &mut bytes)?;
    Ok(bytes)
}
