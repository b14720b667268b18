//! The audit log: what was found and what was done, as JSON lines that cannot be changed unnoticed.
//!
//! - `record` is one thing that happened, as the stream's task hands it over: numbers and an `Arc`, no text of a stream.
//! - `line` is how it is written: one JSON object that carries the hash of the line before it.
//! - `files` are the file that is written, its rotated ones, and the repair of what a killed daemon left.
//! - `writer` is the thread that does all of it, behind a bounded queue.
//! - [`read`] checks chains and gives lines back; the command line's `audit` is built on it.
//!
//! It is *not* a log for debugging, and not a store of values: no line has a byte of a stream in it, nor the name of a
//! session. A value appears as eight bytes of a keyed hash: equal values look equal, and who has no key can test no guess.
//!
//! Invariants: a stream's task never waits for the disk; what cannot be recorded is counted and told, or ends the stream,
//! as the config says; a line is whole or it is cut off at the next start, and that is told in the log itself.
//! The attackers: a stream of nothing but findings, which must not fill the disk (findings a stream, bytes a file and
//! files are bounded); who edits the log (the chain tells, if somebody kept a later hash); who reads it.

mod files;
mod key;
mod line;
pub mod read;
mod record;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use serde::Deserialize;

use crate::profiles::ServedProfile;
use key::AuditKey;
pub(crate) use line::hex;
pub(crate) use record::{End, Pen, StreamLog, Who};
use record::{Record, What};

/// What is recorded, where, and what happens when it cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditConfig {
    /// Folder of the log's files; `None`: no audit.
    pub dir: Option<PathBuf>,
    /// When lines are forced to the disk.
    pub fsync: Fsync,
    /// Time between two such, with [`Fsync::Interval`].
    pub fsync_interval: Duration,
    /// Length from which on a file is put aside and a new one begun, in bytes.
    pub max_file_bytes: u64,
    /// Files put aside that are kept.
    pub keep_files: u32,
    /// What happens when a record cannot be kept.
    pub on_failure: OnFailure,
    /// Findings of one stream that have a line of their own; the others are counted in the stream's last line.
    pub findings_per_stream: u32,
    /// File with the 32 bytes that fingerprints are keyed with; `None`: `fingerprint.key` in `dir`, which is made if
    /// it is not there.
    pub key_file: Option<PathBuf>,
}

impl Default for AuditConfig {
    fn default() -> Self {
        AuditConfig {
            dir: None,
            fsync: Fsync::Interval,
            fsync_interval: Duration::from_secs(1),
            max_file_bytes: 64 << 20,
            keep_files: 16,
            on_failure: OnFailure::Degrade,
            // A stream of nothing but findings costs 400 KiB of log, not a third of its own length times a hundred.
            findings_per_stream: 1000,
            key_file: None,
        }
    }
}

/// When lines are forced to the disk. A killed daemon loses what is in its queue in each; these differ in what a power
/// cut takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fsync {
    /// After each batch of lines, before the next is taken.
    Always,
    /// Once in an interval.
    Interval,
    /// When the kernel likes.
    Never,
}

/// What happens when a record cannot be kept: the disk is full, or slower than the findings come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// Streams go on; what is lost is counted, and the count is a line of the log as soon as it can be written.
    Degrade,
    /// A stream whose finding cannot be recorded ends with an error, and no stream opens until the log can be written.
    FailClosed,
}

/// What a stream is told that cannot be recorded.
pub(crate) const REFUSED: &str = "the audit log cannot be written, and this daemon lets no stream pass unrecorded; \
    ask the operator to make room on its disk, then try again";

/// Records that wait for the writer. At 100 bytes each they are 3 MiB; 33 streams of nothing but findings fill it at once,
/// and the writer takes them in a tenth of a second unless the disk is slow.
const QUEUE: usize = 32_768;

/// The way to the audit log; without a log, a way to nowhere.
#[derive(Debug, Default)]
pub struct Audit {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    queue: SyncSender<Record>,
    key: AuditKey,
    state: Arc<State>,
    config: AuditConfig,
}

/// What writer and streams know of each other.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The last attempt to write failed.
    failing: AtomicBool,
    /// The daemon ends: what cannot be written now never will.
    stopping: AtomicBool,
    /// Records that waited in the queue at some time, and those that left it.
    queued: AtomicU64,
    taken: AtomicU64,
    /// Records that were written.
    written: AtomicU64,
    /// Records that are lost.
    lost: AtomicU64,
    /// Attempts to write that failed.
    failures: AtomicU64,
}

/// Numbers about the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditNumbers {
    /// Records in the queue.
    pub queued: u64,
    /// Records written.
    pub written: u64,
    /// Records lost.
    pub lost: u64,
    /// Failed attempts to write.
    pub failures: u64,
    /// The last attempt failed.
    pub failing: bool,
}

/// The writer's thread. Dropped after the [`Audit`], it has written everything.
#[derive(Debug)]
pub struct AuditThread(Option<JoinHandle<()>>);

impl Drop for AuditThread {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}

impl Audit {
    /// Opens the log that the config names, repairs what a killed daemon left, and starts the writer.
    ///
    /// # Errors
    /// One line with place and mend: the folder or the key cannot be used, or another daemon writes there.
    pub fn open(config: &AuditConfig) -> Result<(Audit, Option<AuditThread>), String> {
        let Some(dir) = &config.dir else { return Ok((Audit::default(), None)) };
        let files = files::Files::open(dir, config)?;
        let key = AuditKey::load(dir, config.key_file.as_deref())?;
        let state = Arc::new(State::default());
        let (queue, records) = sync_channel(QUEUE);
        let writer = writer::Writer::new(files, config.clone(), Arc::clone(&state), key.name());
        let thread = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || writer.run(&records))
            .map_err(|e| format!("the audit log's thread did not start: {e}; raise TasksMax"))?;
        let open = Open { queue, key, state, config: config.clone() };
        Ok((Audit { open: Some(open) }, Some(AuditThread(Some(thread)))))
    }

    /// A stream may open: the log can be written, or it does not matter.
    pub(crate) fn admits(&self) -> bool {
        self.open
            .as_ref()
            .is_none_or(|o| o.config.on_failure == OnFailure::Degrade || !o.state.failing.load(Ordering::Relaxed))
    }

    /// Records something. `false`: it is lost, and the config says that this must not be.
    fn put(&self, who: Who, what: What) -> bool {
        let Some(open) = &self.open else { return true };
        let record = Record { time: SystemTime::now(), who, what };
        // Counted before it is sent, so that the writer never takes more than there was.
        open.state.queued.fetch_add(1, Ordering::Relaxed);
        match open.queue.try_send(record) {
            Ok(()) => return true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
        open.state.queued.fetch_sub(1, Ordering::Relaxed);
        open.state.lost.fetch_add(1, Ordering::Relaxed);
        open.config.on_failure == OnFailure::Degrade
    }

    /// A peer broke the protocol or a limit, and its connection ended.
    pub(crate) fn violation(&self, who: Who, code: forebay_wire::Code) {
        self.put(who, What::Violation { code });
    }

    /// New rules are in force, or the old ones stay.
    pub(crate) fn reload(&self, result: Result<[u8; 32], String>) {
        self.put(Who::default(), What::Reload { result });
    }

    /// The daemon ends: the writer writes what there is, and is done.
    pub fn stop(&self) {
        if let Some(open) = &self.open {
            open.state.stopping.store(true, Ordering::Relaxed);
        }
        self.put(Who::default(), What::Stop);
    }

    /// Numbers for metrics and status; `None` without a log.
    pub fn numbers(&self) -> Option<AuditNumbers> {
        let s = &self.open.as_ref()?.state;
        let taken = s.taken.load(Ordering::Relaxed);
        Some(AuditNumbers {
            queued: s.queued.load(Ordering::Relaxed).saturating_sub(taken),
            written: s.written.load(Ordering::Relaxed),
            lost: s.lost.load(Ordering::Relaxed),
            failures: s.failures.load(Ordering::Relaxed),
            failing: s.failing.load(Ordering::Relaxed),
        })
    }

    /// One line for people.
    pub fn describe(&self) -> String {
        let (Some(open), Some(n)) = (&self.open, self.numbers()) else { return "off".to_owned() };
        let dir = open.config.dir.as_deref().unwrap_or(std::path::Path::new("")).display();
        let state = match (n.failing, open.config.on_failure) {
            (false, _) => "",
            (true, OnFailure::Degrade) => "; CANNOT BE WRITTEN, findings are lost: make room on the disk",
            (true, OnFailure::FailClosed) => "; CANNOT BE WRITTEN, no stream opens: make room on the disk",
        };
        let lost = if n.lost > 0 { format!("; {} records lost", n.lost) } else { String::new() };
        format!("{dir}{lost}{state}")
    }
}

/// What the streams of a profile are recorded with.
pub(crate) type Profile = Arc<ServedProfile>;
