//! The totals since the start: fixed counters, no labels from peers, so no peer can grow them.
//!
//! What happens at every push is added to the shard of the worker that did it, so that workers do not fight for cache
//! lines; a reader sums the shards. What happens seldom is one atomic each. Names follow `subject_unit_total`.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use forebay_scan::Family;
use forebay_wire::Code;

use super::histogram::{BUCKETS, Local};
use super::tally::{ACTIONS, Tally};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// The counters since the start of the process.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: Counter,)*
            errors: [Counter; Code::ALL.len()],
            shards: [Shard; SHARDS],
        }

        impl Counters {
            /// Those that have no label, by name.
            fn plain(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.get())),*]
            }
        }
    };
}

counters! {
    /// Connections accepted.
    connections_accepted;
    /// Connections whose peer went away with streams open, inside a frame or before the handshake.
    connections_lost;
    /// Rings granted.
    rings_granted;
    /// Clients that asked for a ring and were served over the socket.
    rings_refused;
    /// Bytes of frames read from rings.
    ring_bytes_in;
    /// Bytes of frames written to rings.
    ring_bytes_out;
    /// Sleeps at a ring whose client had nothing more to say.
    ring_sleeps;
    /// Streams opened.
    streams_opened;
    /// Streams that ended with a report.
    streams_finished;
    /// Streams that a rule blocked.
    streams_blocked;
    /// Times that new rules were put in force.
    reloads;
    /// Reloads that left the old rules in force.
    reloads_failed;
    /// Violation log lines that were left out because there were too many.
    log_lines_suppressed;
}

/// Shards: more workers than this share. A power of two above the processors of most hosts that run agents.
const SHARDS: usize = 16;

/// What happens at every push, of one worker. On cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    findings: [[AtomicU64; ACTIONS.len()]; Family::ALL.len()],
    time: Distribution,
    held: Distribution,
}

/// A histogram that several threads write.
#[derive(Debug, Default)]
struct Distribution {
    counts: [AtomicU64; BUCKETS],
    sum: AtomicU64,
}

/// A histogram as it is read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) counts: [u64; BUCKETS],
    pub(crate) sum: u64,
}

impl Counters {
    /// Every counter by name. Errors that never happened are left out.
    pub fn snapshot(&self) -> Vec<(String, u64)> {
        let mut all: Vec<_> = self.plain().into_iter().map(|(name, n)| (format!("{name}_total"), n)).collect();
        let (bytes_in, bytes_out) = self.bytes();
        all.push(("bytes_in_total".to_owned(), bytes_in));
        all.push(("bytes_out_total".to_owned(), bytes_out));
        for (family, by_action) in Family::ALL.iter().zip(self.findings()) {
            all.push((format!("findings_{family}_total"), by_action.iter().sum()));
        }
        for (code, n) in self.errors().filter(|(_, n)| *n > 0) {
            all.push((format!("errors_{}_total", code.as_str().replace('-', "_")), n));
        }
        all
    }

    /// Takes what a connection counted in a turn, and empties it.
    pub(crate) fn take(&self, tally: &mut Tally) {
        if tally.time.used == 0 && tally.bytes_out == 0 && !tally.found {
            return;
        }
        let shard = &self.shards[slot()];
        add(&shard.bytes_in, std::mem::take(&mut tally.bytes_in));
        add(&shard.bytes_out, std::mem::take(&mut tally.bytes_out));
        shard.time.take(&mut tally.time);
        shard.held.take(&mut tally.held);
        if std::mem::take(&mut tally.found) {
            for (sum, n) in shard.findings.iter().flatten().zip(tally.findings.iter_mut().flatten()) {
                add(sum, std::mem::take(n).into());
            }
        }
    }

    /// Counts an Error frame, sent or not.
    pub fn error(&self, code: Code) {
        if let Some(i) = Code::ALL.iter().position(|c| *c == code) {
            self.errors[i].add(1);
        }
    }

    /// Errors by code.
    pub(crate) fn errors(&self) -> impl Iterator<Item = (Code, u64)> {
        Code::ALL.iter().copied().zip(self.errors.iter().map(Counter::get))
    }

    /// Bytes scanned, and bytes released.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.sum(|s| &s.bytes_in), self.sum(|s| &s.bytes_out))
    }

    /// Findings by family and action, as [`super::tally::FindingCounts`].
    pub(crate) fn findings(&self) -> [[u64; ACTIONS.len()]; Family::ALL.len()] {
        std::array::from_fn(|f| std::array::from_fn(|a| self.sum(|s| &s.findings[f][a])))
    }

    /// How long pushes took.
    pub(crate) fn time(&self) -> Seen {
        self.seen(|s| &s.time)
    }

    /// What was held after pushes.
    pub(crate) fn held(&self) -> Seen {
        self.seen(|s| &s.held)
    }

    fn seen(&self, of: impl Fn(&Shard) -> &Distribution) -> Seen {
        Seen { counts: std::array::from_fn(|i| self.sum(|s| &of(s).counts[i])), sum: self.sum(|s| &of(s).sum) }
    }

    fn sum(&self, of: impl Fn(&Shard) -> &AtomicU64) -> u64 {
        self.shards.iter().map(|s| of(s).load(Ordering::Relaxed)).sum()
    }
}

impl Distribution {
    fn take(&self, local: &mut Local) {
        while local.used != 0 {
            let bucket = local.used.trailing_zeros() as usize;
            local.used &= local.used - 1;
            add(&self.counts[bucket], std::mem::take(&mut local.counts[bucket]).into());
        }
        add(&self.sum, std::mem::take(&mut local.sum));
    }
}

/// Relaxed: counters order nothing.
fn add(counter: &AtomicU64, n: u64) {
    if n > 0 {
        counter.fetch_add(n, Ordering::Relaxed);
    }
}

/// This thread's shard.
fn slot() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static SLOT: Cell<Option<usize>> = const { Cell::new(None) });
    SLOT.with(|s| match s.get() {
        Some(slot) => slot,
        None => {
            let slot = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
            s.set(Some(slot));
            slot
        }
    })
}

/// One counter.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to it.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Its value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
