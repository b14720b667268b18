//! What happened, counted. One small registry: fixed counters, no labels from peers, so no peer can grow it.
//!
//! Names follow `subject_unit_total`. Not here: how they leave the process (today the Status frame).

use std::sync::atomic::{AtomicU64, Ordering};

use forebay_scan::Family;
use forebay_wire::Code;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// The counters since the start of the process.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: Counter,)*
            findings: [Counter; Family::ALL.len()],
            errors: [Counter; Code::ALL.len()],
        }

        impl Counters {
            /// Every counter by name. Errors that never happened are left out.
            pub fn snapshot(&self) -> Vec<(String, u64)> {
                let mut all = vec![$((concat!(stringify!($name), "_total").to_owned(), self.$name.get())),*];
                for (family, counter) in Family::ALL.iter().zip(&self.findings) {
                    all.push((format!("findings_{family}_total"), counter.get()));
                }
                for (code, counter) in Code::ALL.iter().zip(&self.errors) {
                    if counter.get() > 0 {
                        all.push((format!("errors_{}_total", code.as_str().replace('-', "_")), counter.get()));
                    }
                }
                all
            }
        }
    };
}

counters! {
    /// Connections accepted.
    connections_accepted;
    /// Connections whose peer went away with streams open, inside a frame or before the handshake.
    connections_lost;
    /// Streams opened.
    streams_opened;
    /// Streams that ended with a report.
    streams_finished;
    /// Streams that a rule blocked.
    streams_blocked;
    /// Bytes of Data scanned.
    bytes_in;
    /// Bytes of Released sent or queued.
    bytes_out;
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
    /// Times that new rules were put in force.
    reloads;
    /// Reloads that left the old rules in force.
    reloads_failed;
    /// Violation log lines that were left out because there were too many.
    log_lines_suppressed;
}

impl Counters {
    /// Counts findings of a family.
    pub fn findings(&self, family: Family, n: u64) {
        if let Some(i) = Family::ALL.iter().position(|f| *f == family) {
            self.findings[i].add(n);
        }
    }

    /// Counts an Error frame, sent or not.
    pub fn error(&self, code: Code) {
        if let Some(i) = Code::ALL.iter().position(|c| *c == code) {
            self.errors[i].add(1);
        }
    }
}

/// One counter.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to it. Relaxed: counters order nothing.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Its value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
