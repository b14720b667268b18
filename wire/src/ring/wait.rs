//! Waiting at a ring: pause a little, then sleep.
//!
//! Not here: the socket. A side that sleeps on a word is not woken by its peer's death, so a client never sleeps longer
//! than a slice before it is told to [`Woken::LookAtSocket`]. A daemon only pauses, and in slices between which others have
//! their turn ([`Waiter::pause_for`]); it sleeps where its sockets are.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::end::{Bell, End, Park, Want};
use super::mapped::Mapped;
use super::pauses::Pauses;
use super::violation::Violation;

/// First and longest time that a client sleeps without a look at its socket. Slices double: a daemon that dies while an
/// answer is due is noticed within 40 ms, one that dies while nothing has happened for long within a second, and a client
/// that waits for hours wakes up once a second.
const FIRST_SLICE: Duration = Duration::from_millis(20);
const LONGEST_SLICE: Duration = Duration::from_secs(1);

/// Why a wait ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// What was wanted is there.
    Ready,
    /// It is not, after a while or after a wake-up for something else: see whether the socket was closed, then wait again.
    /// Whoever finds it closed reads the ring once more: the peer may have published before it died.
    LookAtSocket,
}

/// What came of a pause.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paused {
    /// What is wanted came.
    Came,
    /// It did not, and the budget of this wait is not spent.
    NotYet,
    /// It did not, and further pauses are not worth it: sleep.
    InVain,
}

/// How one thread waits at one ring: what it has learned about its peer.
#[derive(Debug)]
pub struct Waiter {
    pauses: Pauses,
    /// The last wait was not answered while pausing: time to ask who runs where.
    slept: bool,
    slice: Duration,
    /// The wait that is under way: when it began, and how long it may pause, in nanoseconds.
    wait: Option<(Instant, u32)>,
}

impl Default for Waiter {
    fn default() -> Self {
        Waiter { pauses: Pauses::default(), slept: true, slice: FIRST_SLICE, wait: None }
    }
}

impl Waiter {
    /// Pauses for what is wanted, at most as long as it was worth it lately. True if it came.
    ///
    /// # Errors
    /// As [`End::refresh`].
    pub fn pause(&mut self, end: &mut End<Mapped>, want: Want) -> Result<bool, Violation> {
        Ok(self.pause_for(end, want, u32::MAX)? == Paused::Came)
    }

    /// A slice of [`Waiter::pause`] of at most `slice` nanoseconds: for a thread that others wait for too. What passes
    /// between two slices of one wait counts as paused.
    ///
    /// # Errors
    /// As [`End::refresh`].
    pub fn pause_for(&mut self, end: &mut End<Mapped>, want: Want, slice: u32) -> Result<Paused, Violation> {
        end.refresh()?;
        if end.has(want) {
            if let Some((began, _)) = self.wait.take() {
                self.came(began);
            }
            return Ok(Paused::Came);
        }
        let (began, spent, allowed) = match self.wait {
            Some((began, allowed)) => (began, nanoseconds(began), allowed),
            None => {
                let together = self.slept && end.memory().same_processor();
                let allowed = self.pauses.allowed(together);
                if allowed == 0 {
                    self.slept = true;
                    return Ok(Paused::InVain);
                }
                (Instant::now(), 0, allowed)
            }
        };
        let one = one_pause();
        let mut paused = 0;
        while paused < slice && spent.saturating_add(paused) < allowed {
            std::hint::spin_loop();
            paused = paused.saturating_add(one);
            end.refresh()?;
            if end.has(want) {
                self.came(began);
                return Ok(Paused::Came);
            }
        }
        if spent.saturating_add(paused) < allowed {
            self.wait = Some((began, allowed));
            return Ok(Paused::NotYet);
        }
        self.wait = None;
        self.pauses.miss(nanoseconds(began));
        self.slept = true;
        Ok(Paused::InVain)
    }

    fn came(&mut self, began: Instant) {
        self.pauses.hit(nanoseconds(began));
        self.slept = false;
        self.wait = None;
    }

    /// Waits for what is wanted: the client's wait. Everything must have been published.
    ///
    /// # Errors
    /// As [`End::refresh`].
    pub fn wait(&mut self, end: &mut End<Mapped>, want: Want) -> Result<Woken, Violation> {
        if self.pause(end, want)? {
            return Ok(self.ready());
        }
        let wake = match end.park(want, Bell::Futex)? {
            Park::Ready => return Ok(self.ready()),
            Park::Sleep { wake } => wake,
        };
        let woken = end.memory().sleep(wake, self.slice);
        end.unpark();
        end.refresh()?;
        if end.has(want) {
            return Ok(self.ready());
        }
        if !woken {
            self.slice = (self.slice * 2).min(LONGEST_SLICE);
        }
        Ok(Woken::LookAtSocket)
    }

    fn ready(&mut self) -> Woken {
        self.slice = FIRST_SLICE;
        Woken::Ready
    }
}

fn nanoseconds(since: Instant) -> u32 {
    u32::try_from(since.elapsed().as_nanos()).unwrap_or(u32::MAX)
}

/// How long one pause takes on this processor, in nanoseconds, at least 1. Measured once a process, in some 20 µs: the
/// instruction takes a few cycles here and hundreds there.
fn one_pause() -> u32 {
    const PAUSES: u32 = 64;
    static MEASURED: OnceLock<u32> = OnceLock::new();
    *MEASURED.get_or_init(|| {
        let run = || {
            let began = Instant::now();
            (0..PAUSES).for_each(|_| std::hint::spin_loop());
            began.elapsed()
        };
        // The shortest: the others were interrupted.
        let shortest = (0..8).map(|_| run()).min().unwrap_or_default();
        u32::try_from(shortest.as_nanos()).unwrap_or(u32::MAX).div_ceil(PAUSES).max(1)
    })
}
