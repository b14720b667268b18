//! A well-behaved client that works while somebody attacks: two threads, one on a ring, one on the socket, each sending 64
//! bytes and waiting until they are answered, again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use forebay_client::{Finding, Transport, blocking};

use super::{Target, connect};

/// Bytes of a push: some words with nothing in them.
const PUSH: &[u8; 64] = b"the quick brown fox jumps over the lazy dog, again and again....";

/// Pause between two round trips: a client that works, not one that spins.
const PAUSE: Duration = Duration::from_micros(500);

/// Two clients at work.
pub struct Witness {
    stop: Arc<AtomicBool>,
    trips: Arc<AtomicUsize>,
    threads: Vec<JoinHandle<anyhow::Result<Vec<Duration>>>>,
}

/// How they were served.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// Round trips.
    pub trips: usize,
    /// Half of them took no longer.
    pub p50: Duration,
    /// 99 of 100 took no longer.
    pub p99: Duration,
    /// The longest.
    pub longest: Duration,
}

impl Witness {
    /// Starts both.
    ///
    /// # Errors
    /// The daemon does not serve them to begin with.
    pub fn start(target: &Target) -> anyhow::Result<Witness> {
        let (stop, trips) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut threads = Vec::new();
        for transport in [Transport::Ring, Transport::Socket] {
            let connection = connect(&target.socket, transport)?;
            let (profile, stop, trips) = (target.profile.clone(), Arc::clone(&stop), Arc::clone(&trips));
            threads.push(std::thread::spawn(move || work(connection, &profile, &stop, &trips)));
        }
        Ok(Witness { stop, trips, threads })
    }

    /// Waits until both together were answered `n` times more.
    ///
    /// # Errors
    /// They are not, for twenty seconds.
    pub fn served(&self, n: usize) -> anyhow::Result<()> {
        let (began, before) = (Instant::now(), self.trips.load(Ordering::Relaxed));
        while self.trips.load(Ordering::Relaxed) < before + n {
            anyhow::ensure!(began.elapsed() < Duration::from_secs(20), "the witness is not served");
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Stops both, and says how they were served.
    ///
    /// # Errors
    /// One of them was not served, or got other bytes back than it should.
    pub fn stop(self) -> anyhow::Result<Served> {
        self.stop.store(true, Ordering::Relaxed);
        let mut times = Vec::new();
        for thread in self.threads {
            times.extend(thread.join().map_err(|_| anyhow::anyhow!("the witness panicked"))??);
        }
        times.sort_unstable();
        let at = |q: usize| times.get(times.len() * q / 100).copied().unwrap_or_default();
        let longest = times.last().copied().unwrap_or_default();
        Ok(Served { trips: times.len(), p50: at(50), p99: at(99), longest })
    }
}

struct Back(Vec<u8>);

impl blocking::Sink for Back {
    fn released(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finding(&mut self, _: Finding) {}
}

fn work(
    mut connection: blocking::Connection,
    profile: &str,
    stop: &AtomicBool,
    trips: &AtomicUsize,
) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    let mut stream = connection.open(profile)?;
    let mut back = Back(Vec::new());
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        let held = stream.exchange(PUSH, &mut back)?;
        times.push(began.elapsed());
        trips.fetch_add(1, Ordering::Relaxed);
        anyhow::ensure!(held.received == (times.len() * PUSH.len()) as u64, "not all was answered");
        std::thread::sleep(PAUSE);
    }
    stream.finish(&mut back)?;
    anyhow::ensure!(back.0 == PUSH.repeat(times.len()), "other bytes came back");
    Ok(times)
}
