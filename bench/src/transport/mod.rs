//! What the way to the engine costs: the same filter behind a Unix socket, a shared-memory ring, a pipe, and a message
//! library. `src/bin/transport.rs` is the program.
//!
//! A round trip is 64 bytes pushed and everything that may pass of them back; one way is 4 KiB pushes to the end of a text.
//! Client and server run on two processors, fixed for the run: where the scheduler puts them decides more than anything
//! else, and it changes its mind. Rounds are interleaved, and ratios are taken round by round (see [`crate::rounds`]).
//!
//! - *busy*: the next push follows at once, so neither side sleeps if it can help it;
//! - *parked*: the client pauses 300 µs before each push, so both sides sleep.

pub mod daemon;
#[cfg(feature = "iceoryx2")]
pub mod iceoryx;
pub mod pipe;
pub mod report;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use forebay_scan::{RuleSet, Scratch, Sink, StreamFilter, TokenKey};
use hdrhistogram::Histogram;
use rustix::thread::{CpuSet, sched_setaffinity};

/// A profile with one rule whose text occurs in none of the texts: what is left is the way.
pub const TRIVIAL: &str = "trivial";

/// Bytes of a push whose round trip is measured.
pub const PUSH: usize = 64;

/// Bytes of a push on the way to the end of a text.
pub const PIECE: usize = 4096;

/// What the client pauses so that both sides sleep.
const THINKING: Duration = Duration::from_micros(300);

/// A way to a filter.
pub trait Way {
    /// Pushes bytes, and returns when everything of them that may pass is back.
    ///
    /// # Errors
    /// The other side is gone.
    fn trip(&mut self, bytes: &[u8]) -> Result<()>;

    /// Pushes a text in pieces to its end, and returns when all of it is through.
    ///
    /// # Errors
    /// The other side is gone.
    fn through(&mut self, text: &[u8]) -> Result<()>;

    /// Its turn begins, or is over: a server that polls must not poll on the processor of one that is measured.
    ///
    /// # Errors
    /// The other side is gone.
    fn turn(&mut self, begins: bool) -> Result<()> {
        let _ = begins;
        Ok(())
    }
}

/// A way and what was measured of it.
pub struct Contender {
    /// Its name in tables.
    pub name: String,
    way: Box<dyn Way>,
    parked: bool,
    /// Round trips, in nanoseconds.
    pub trips: Histogram<u64>,
    /// The median of each round, in nanoseconds.
    pub medians: Vec<u64>,
    /// Bytes a second of each round; none for those that are measured parked.
    pub speeds: Vec<f64>,
}

impl Contender {
    /// A contender. `parked`: the client pauses between the round trips.
    ///
    /// # Errors
    /// Never; the histogram's bounds are fixed.
    pub fn new(name: impl Into<String>, way: Box<dyn Way>, parked: bool) -> Result<Contender> {
        let trips = Histogram::new_with_bounds(1, 60_000_000_000, 3)?;
        Ok(Contender { name: name.into(), way, parked, trips, medians: Vec::new(), speeds: Vec::new() })
    }

    /// Forgets the rounds until here.
    pub fn forget(&mut self) {
        self.trips.reset();
        self.medians.clear();
        self.speeds.clear();
    }

    /// One round.
    ///
    /// # Errors
    /// The other side is gone.
    pub fn round(&mut self, text: &[u8], trips: usize, bytes: usize) -> Result<()> {
        self.way.turn(true)?;
        let trips = if self.parked { trips / 10 } else { trips };
        let mut round = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3)?;
        for piece in text.chunks_exact(PUSH).cycle().take(trips) {
            if self.parked {
                std::thread::sleep(THINKING);
            }
            let began = Instant::now();
            self.way.trip(piece)?;
            round.saturating_record(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
        self.medians.push(round.value_at_quantile(0.5));
        self.trips.add(&round)?;
        if !self.parked {
            let text = &text[..bytes.min(text.len())];
            let began = Instant::now();
            self.way.through(text)?;
            self.speeds.push(text.len() as f64 / began.elapsed().as_secs_f64());
        }
        self.way.turn(false)
    }
}

/// No way at all: the engine in this process.
pub struct Engine {
    filter: Filter,
}

impl Engine {
    /// The engine with these rules.
    pub fn new(rules: Arc<RuleSet>) -> Engine {
        Engine { filter: Filter::new(rules) }
    }
}

impl Way for Engine {
    fn trip(&mut self, bytes: &[u8]) -> Result<()> {
        black_box(self.filter.push(bytes)?);
        Ok(())
    }

    fn through(&mut self, text: &[u8]) -> Result<()> {
        for piece in text.chunks(PIECE) {
            black_box(self.filter.push(piece)?);
        }
        self.filter.restart();
        Ok(())
    }
}

/// A filter and where its output goes: what each server has.
pub struct Filter {
    rules: Arc<RuleSet>,
    filter: StreamFilter,
    scratch: Scratch,
    out: Out,
}

#[derive(Default)]
struct Out(Vec<u8>);

impl Sink for Out {
    fn release(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finding(&mut self, finding: &forebay_scan::Finding) {
        black_box(finding);
    }
}

impl Filter {
    /// A stream of these rules.
    pub fn new(rules: Arc<RuleSet>) -> Filter {
        let filter = StreamFilter::new(Arc::clone(&rules), TokenKey::new([7; 32]));
        Filter { rules, filter, scratch: Scratch::default(), out: Out::default() }
    }

    /// What these bytes let go.
    ///
    /// # Errors
    /// A rule blocked the stream: the profile is not one to measure with.
    pub fn push(&mut self, bytes: &[u8]) -> Result<&[u8]> {
        self.out.0.clear();
        self.filter.push(bytes, &mut self.scratch, &mut self.out).context("a rule blocks the stream")?;
        Ok(&self.out.0)
    }

    /// Ends the stream and begins another one.
    pub fn restart(&mut self) {
        self.filter.finish(&mut self.scratch, &mut self.out);
        self.filter = StreamFilter::new(Arc::clone(&self.rules), TokenKey::new([7; 32]));
    }
}

/// The rules of a profile: the built-in `tool-output`, or [`TRIVIAL`].
///
/// # Errors
/// They do not compile.
pub fn rules(profile: &str) -> Result<Arc<RuleSet>> {
    if profile == TRIVIAL {
        return daemon::trivial_rules();
    }
    let rules = RuleSet::builtin(profile).with_context(|| format!("there is no profile {profile}"))??;
    rules.warm();
    Ok(rules)
}

/// Ties this thread, and what it starts, to a processor. False where there is no such processor.
pub fn tie(processor: usize) -> bool {
    let mut set = CpuSet::new();
    set.set(processor);
    sched_setaffinity(None, &set).is_ok()
}
