//! Measuring on a machine that others use too: many short rounds, in each of them every contender once, one after the
//! other.
//!
//! What slows one contender down for a while slows its neighbours in the same round too, so a ratio is taken round by
//! round and the median of those is told, never the ratio of two numbers from different minutes. The best round says
//! what the machine can do when it is left alone.
//!
//! What one thread does is timed by the processor time of that thread, so waiting for a core does not count; what other
//! programs take of the caches and of the processor's clock still does.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time of the calling thread. Asking takes about a quarter of a microsecond: for runs, not for pushes.
#[derive(Clone, Copy, Debug)]
pub struct CpuTime(Duration);

impl CpuTime {
    /// Now.
    pub fn now() -> CpuTime {
        let t = clock_gettime(ClockId::ThreadCPUTime);
        CpuTime(Duration::new(u64::try_from(t.tv_sec).unwrap_or(0), u32::try_from(t.tv_nsec).unwrap_or(0)))
    }

    /// What this thread has worked since.
    pub fn elapsed(self) -> Duration {
        CpuTime::now().0.saturating_sub(self.0)
    }
}

/// One run of one contender.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Bytes it got through.
    pub bytes: usize,
    /// How long that took.
    pub time: Duration,
    /// It was stopped at its deadline, or gave up with an error, before the end of its text.
    pub cut_short: bool,
}

impl Sample {
    /// A run that got to the end.
    pub fn whole(bytes: usize, time: Duration) -> Sample {
        Sample { bytes, time, cut_short: false }
    }

    fn ns_per_byte(&self) -> f64 {
        // Nothing done is no speed, not an endless one.
        if self.bytes == 0 { f64::INFINITY } else { self.time.as_nanos() as f64 / self.bytes as f64 }
    }
}

/// A contender: a name and a function that runs it once. The argument is the number of the round.
pub struct Case<'a> {
    /// What it is called in results.
    pub name: String,
    run: Box<dyn FnMut(usize) -> Sample + 'a>,
}

impl<'a> Case<'a> {
    /// A contender.
    pub fn new(name: impl Into<String>, run: impl FnMut(usize) -> Sample + 'a) -> Case<'a> {
        Case { name: name.into(), run: Box::new(run) }
    }
}

/// What one contender did, round by round.
#[derive(Clone, Debug)]
pub struct Series {
    /// Nanoseconds a byte, in the order of the rounds.
    rounds: Vec<f64>,
    /// In some round it did not get to the end of its text.
    pub cut_short: bool,
}

impl Series {
    /// MB/s (10⁶ bytes) in the median round.
    pub fn median(&self) -> f64 {
        1e3 / median(&self.rounds)
    }

    /// MB/s in the best round.
    pub fn best(&self) -> f64 {
        1e3 / self.rounds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// How many times faster this is than `other`: the median of the rounds' ratios.
    pub fn times(&self, other: &Series) -> f64 {
        let ratios: Vec<f64> = self.rounds.iter().zip(&other.rounds).map(|(own, other)| other / own).collect();
        median(&ratios)
    }

    /// The same by the best rounds of both.
    pub fn times_at_best(&self, other: &Series) -> f64 {
        self.best() / other.best()
    }
}

/// Runs every case once a round, after a round that is thrown away.
pub fn interleave(cases: &mut [Case<'_>], rounds: usize) -> Vec<Series> {
    let mut out = vec![Series { rounds: Vec::with_capacity(rounds), cut_short: false }; cases.len()];
    for round in 0..=rounds {
        for (case, series) in cases.iter_mut().zip(&mut out) {
            let sample = (case.run)(round);
            if round > 0 {
                series.rounds.push(sample.ns_per_byte());
                series.cut_short |= sample.cut_short;
            }
        }
    }
    out
}

/// The median; of an even number the upper one of the middle two.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// `bytes` of `text` that move on with each round, so that rounds over a part still see all of it.
pub fn part(text: &[u8], bytes: usize, round: usize) -> &[u8] {
    let bytes = bytes.min(text.len());
    let places = (text.len() / bytes.max(1)).max(1);
    let from = round % places * bytes;
    &text[from..from + bytes]
}
