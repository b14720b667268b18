//! A connection whose frames go through shared memory: the same core, fed from a ring instead of the socket.
//!
//! A pass: the core works on what was read, its answers are written, both are published at once, the client is woken if
//! it sleeps; then more is read. Nothing here blocks on what a client owns: pauses are bounded, the sleep is on the socket
//! with its timers, waking a client is one system call that never waits.
//!
//! Attacker: the client, who may store anything in its half of the memory and send anything over the socket. An index that
//! no honest client can have ends the connection ([`Code::RingViolation`]); so does anything on the socket but Wake frames.
//! A storm of those costs the storming client's own turn: others have theirs every [`TURN`].

use std::io;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use forebay_wire::ring::{Bell, End, Mapped, Park, Paused, Ring, Violation, Waiter, Want, send_wake};
use forebay_wire::{Code, Frame};
use rustix::net::{Shutdown, shutdown};
use tokio::io::Interest;

use super::core::Step;
use super::task::{Connection, LAST_WORDS, Left, READ_ROOM};

/// Longest work and pauses without a look at the socket and a turn for the other connections of this thread. A third of
/// what one full frame may take at the engine's slowest promised rate, and a hundred times what such a turn costs.
const TURN: Duration = Duration::from_micros(100);

/// Longest pause in one piece, in nanoseconds: an answer that comes at once comes within it; beyond it others go first.
const PAUSE: u32 = 3_000;

/// Wake frames read before others get a turn, in bytes: a client that keeps the protocol has at most one on its way.
const CONTROL_ROOM: usize = 4 << 10;

/// The ring of a connection, as the daemon has it.
pub(super) struct RingSide {
    end: End<Mapped>,
    waiter: Waiter,
    /// Bytes of the socket: Wake frames.
    control: BytesMut,
    /// The client is gone; what it published before counts.
    closed: bool,
    /// What the client's words said cannot be: its ring is not touched any more.
    violated: bool,
}

impl Connection {
    /// Serves the connection from its ring until it ends.
    pub(super) async fn run_on_ring(&mut self, memory: Mapped) -> io::Result<Left> {
        self.core.on_ring();
        let mut side = RingSide {
            end: End::new(memory),
            waiter: Waiter::default(),
            // What came behind the client's RingReady.
            control: std::mem::take(&mut self.input),
            closed: false,
            violated: false,
        };
        let left = match self.heed_wakes(&mut side) {
            Ok(()) => self.pass_by_pass(&mut side).await,
            Err(e) => Err(e),
        };
        // A client that sleeps on a word does not hear its socket close.
        let _ = shutdown(&self.socket, Shutdown::Write);
        side.end.call();
        side.end.memory().wake();
        left
    }

    async fn pass_by_pass(&mut self, side: &mut RingSide) -> io::Result<Left> {
        self.heed_drain();
        let mut turn = Instant::now();
        loop {
            let now = Instant::now();
            if now.saturating_duration_since(turn) >= TURN {
                self.next_turn(side).await?;
                turn = Instant::now();
            }
            let step = self.core.run(&mut self.input, now);
            if !side.violated
                && let Err(v) = self.put(side, now)
            {
                self.violation(side, v);
                continue;
            }
            let unsent = self.core.output().len();
            match step {
                Step::Closing => return self.last_words(side).await,
                Step::Again => continue,
                Step::OutputFull if unsent == 0 => continue,
                Step::OutputFull => {}
                Step::NeedInput => match self.take(side, now) {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(v) => {
                        self.violation(side, v);
                        continue;
                    }
                },
                Step::RingWanted | Step::ToRing => {
                    debug_assert!(false, "a connection has one Hello and one ring");
                    return Ok(Left::Closed);
                }
            }
            if side.closed {
                return Ok(Left::PeerClosed);
            }
            let want = Want { data: step == Step::NeedInput, room: u32::try_from(unsent).unwrap_or(u32::MAX) };
            match side.waiter.pause_for(&mut side.end, want, PAUSE) {
                // Straight on to the work.
                Ok(Paused::Came) if step == Step::NeedInput => {
                    if let Err(v) = self.take(side, now) {
                        self.violation(side, v);
                    }
                }
                Ok(Paused::Came) => {}
                Ok(Paused::NotYet) => {
                    self.next_turn(side).await?;
                    turn = Instant::now();
                }
                Ok(Paused::InVain) => {
                    let before = Instant::now();
                    if let Err(v) = self.sleep(side, want).await? {
                        self.violation(side, v);
                    }
                    self.heed_drain();
                    // Sleeping is no work: only what was done takes from the turn.
                    turn += before.elapsed();
                }
                Err(v) => self.violation(side, v),
            }
        }
    }

    /// The others' turn, and a look at what does not come through the ring.
    async fn next_turn(&mut self, side: &mut RingSide) -> io::Result<()> {
        self.look_at_socket(side)?;
        tokio::task::yield_now().await;
        self.heed_drain();
        Ok(())
    }

    /// Reads from the ring. True if something came.
    fn take(&mut self, side: &mut RingSide, now: Instant) -> Result<bool, Violation> {
        side.end.refresh()?;
        self.input.reserve(READ_ROOM);
        let n = side.end.read(&mut self.input, READ_ROOM);
        if n > 0 {
            self.times.heard = now;
            self.shared.counters.ring_bytes_in.add(n as u64);
        }
        Ok(n > 0)
    }

    /// Writes what there is room for, tells the client of it and of what was read, and wakes it if it sleeps for that.
    fn put(&mut self, side: &mut RingSide, now: Instant) -> Result<(), Violation> {
        let out = self.core.output();
        let before = out.len();
        if before > 0 {
            let n = side.end.write(out.bytes());
            out.advance(n);
            if out.len() > 0 {
                side.end.refresh()?;
                let n = side.end.write(out.bytes());
                out.advance(n);
            }
        }
        let written = before - out.len();
        if written > 0 || before == 0 {
            self.times.wrote = now;
        }
        if written > 0 {
            self.shared.counters.ring_bytes_out.add(written as u64);
        }
        match side.end.publish() {
            Ring::No => {}
            Ring::Futex => side.end.memory().wake(),
            // One that is gone is noticed at the next look at the socket.
            Ring::Socket => side.closed |= send_wake(&self.socket).is_err(),
        }
        Ok(())
    }

    /// Sleeps on the socket until the client wakes this side, or a time is over. Unless what is wanted came meanwhile.
    async fn sleep(&mut self, side: &mut RingSide, want: Want) -> io::Result<Result<(), Violation>> {
        match side.end.park(want, Bell::Socket) {
            Ok(Park::Ready) => return Ok(Ok(())),
            Ok(Park::Sleep { .. }) => {}
            Err(v) => return Ok(Err(v)),
        }
        self.shared.counters.ring_sleeps.add(1);
        let slept = self.wait(Interest::READABLE).await;
        side.end.unpark();
        slept?;
        self.look_at_socket(side)?;
        Ok(Ok(()))
    }

    /// Takes Wake frames off the socket, and notices its end.
    fn look_at_socket(&mut self, side: &mut RingSide) -> io::Result<()> {
        if side.closed {
            return Ok(());
        }
        side.control.reserve(CONTROL_ROOM);
        match self.socket.try_read_buf(&mut side.control) {
            Ok(0) => {
                side.closed = true;
                Ok(())
            }
            Ok(_) => self.heed_wakes(side),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(()),
            // Killed with bytes of ours unread: what it published counts all the same.
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => {
                side.closed = true;
                Ok(())
            }
            Err(e) => Err(e),
        }
    }

    /// A Wake frame means "look at the ring", and whoever called this does.
    fn heed_wakes(&mut self, side: &mut RingSide) -> io::Result<()> {
        loop {
            match forebay_wire::decode(&mut side.control) {
                Ok(None) => return Ok(()),
                Ok(Some(Frame::Wake)) => {}
                Ok(Some(other)) => {
                    let what = other.frame_type().as_str();
                    self.core.fail(
                        Code::UnexpectedFrame,
                        &format!("{what} came over the socket after RingReady; send it through the ring"),
                    );
                    return Ok(());
                }
                Err(e) => {
                    self.core.fail(e.code(), &e.to_string());
                    return Ok(());
                }
            }
        }
    }

    fn violation(&mut self, side: &mut RingSide, violation: Violation) {
        side.violated = true;
        self.core.violated(violation);
    }

    /// Sends what is left: through the ring, or over the socket if the ring cannot be used.
    async fn last_words(&mut self, side: &mut RingSide) -> io::Result<Left> {
        if side.violated {
            let late = tokio::time::timeout(LAST_WORDS, self.write_all()).await;
            return late.unwrap_or(Ok(())).map(|()| Left::Closed);
        }
        let began = Instant::now();
        while self.core.output().len() > 0 && !side.closed && began.elapsed() < LAST_WORDS {
            // Not a sleep for room: whoever is on its way out may as well look now and then.
            tokio::time::sleep(Duration::from_millis(5)).await;
            if self.put(side, Instant::now()).is_err() {
                break;
            }
        }
        Ok(Left::Closed)
    }
}
