//! Logs: text or JSON lines on standard error.
//!
//! What may be in a line: ids of connections and streams, users, counts, codes, names of rules and profiles. What may
//! not: bytes of a stream, names of sessions. There is no call site that has them at hand and a logger too.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tracing_subscriber::EnvFilter;

use crate::config::{LogConfig, LogFormat};

/// Installs the process's logger. Fails if there is one, or the level makes no sense.
pub fn install(config: &LogConfig) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&config.level)?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let result = match config.format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    result.map_err(|e| anyhow::anyhow!("the logger cannot be installed: {e}"))
}

/// Lets a bounded number of lines a second pass: a peer that breaks the protocol in a loop must not fill the disk.
#[derive(Debug)]
pub(crate) struct LogGate {
    state: Mutex<(Instant, u32)>,
}

/// Lines a second about peers' faults. Enough to see who it is; 10,000 bad connections a second stay 10 lines.
const LINES_PER_SECOND: u32 = 10;

impl LogGate {
    pub(crate) fn new() -> Self {
        LogGate { state: Mutex::new((Instant::now(), 0)) }
    }

    /// Whether a line may be written now.
    pub(crate) fn pass(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if state.0.elapsed() >= Duration::from_secs(1) {
            *state = (Instant::now(), 0);
        }
        state.1 += 1;
        state.1 <= LINES_PER_SECOND
    }
}
