//! The thread that writes: takes records in batches, makes lines of them, and keeps them until they are in the file.
//!
//! While the disk takes nothing the batch at hand is kept, the queue behind it fills, and what does not fit is counted by
//! those who send it. Once it can be written again, a line tells how many are missing.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use super::files::{Files, Found};
use super::line::{LAYOUT, More, hex, put, put_record};
use super::record::{Record, What};
use super::{AuditConfig, Fsync, State};

/// Lines that are written at once, in bytes: some hundreds of findings.
const BATCH: usize = 256 << 10;

/// Time between two attempts while the disk takes nothing, and the longest until a stop is seen.
const RETRY: Duration = Duration::from_millis(500);

pub(super) struct Writer {
    files: Files,
    config: AuditConfig,
    state: Arc<State>,
    /// Lines that are not in the file yet.
    lines: Vec<u8>,
    /// Records in `lines`.
    records: u64,
    /// Lost records that a line has told of.
    told_lost: u64,
    /// Since when lines are in the file that were not forced to the disk.
    unsynced: Option<Instant>,
    /// When it was last said that files cannot be put aside.
    complained: Option<Instant>,
}

impl Writer {
    /// A writer whose first line tells what it found.
    pub(super) fn new(files: Files, config: AuditConfig, state: Arc<State>, key: [u8; 4]) -> Self {
        let (found, cut_bytes) = match files.found {
            Found::Nothing => ("nothing", 0),
            Found::Stopped => ("stopped", 0),
            Found::Killed => ("killed", 0),
            Found::Torn { bytes } => ("torn", bytes),
            Found::Broken => ("broken", 0),
        };
        match files.found {
            Found::Torn { bytes } => {
                tracing::warn!(
                    bytes,
                    "the audit log's last line was not whole, and was cut off: the daemon was killed"
                );
            }
            Found::Broken => tracing::error!(
                "the audit log was changed or damaged; it was put aside as audit-broken-*.jsonl, a new chain begins"
            ),
            _ => {}
        }
        let mut writer = Writer {
            files,
            config,
            state,
            lines: Vec::new(),
            records: 0,
            told_lost: 0,
            unsynced: None,
            complained: None,
        };
        let start = More::Start { layout: LAYOUT, daemon: crate::VERSION, key: hex(&key), found, cut_bytes };
        put(&mut writer.lines, &mut writer.files.head, SystemTime::now(), "start", start);
        writer
    }

    /// Writes until a stop is recorded, or nobody is left who could send one.
    pub(super) fn run(mut self, queue: &Receiver<Record>) {
        let mut stop = false;
        self.write();
        while !stop {
            let first = match queue.recv_timeout(self.patience()) {
                Ok(record) => Some(record),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            // While nothing can be written nothing is taken: what waits is bounded by the queue.
            let mut next = first;
            while let Some(record) = next {
                stop |= matches!(record.what, What::Stop);
                self.state.taken.fetch_add(1, Ordering::Relaxed);
                put_record(&mut self.lines, &mut self.files.head, &record);
                self.records += 1;
                next = if self.lines.len() < BATCH && !stop { queue.try_recv().ok() } else { None };
            }
            self.tell_lost();
            self.write();
            while self.failing() && !stop {
                stop = self.state.stopping.load(Ordering::Relaxed);
                std::thread::sleep(RETRY);
                self.write();
            }
            stop |= self.state.stopping.load(Ordering::Relaxed) && self.queued() == 0;
        }
        if self.failing() {
            tracing::error!(records = self.records, "the daemon stops, and its last audit records cannot be written");
        } else if let Err(e) = self.files.sync() {
            tracing::error!(error = %e, "the audit log could not be forced to the disk");
        }
        tracing::info!(seq = self.files.head.seq - 1, hash = %hex(&self.files.head.hash), "the audit log ends");
    }

    /// How long to wait for a record.
    fn patience(&self) -> Duration {
        let due = self.unsynced.map(|since| self.config.fsync_interval.saturating_sub(since.elapsed()));
        due.unwrap_or(RETRY).clamp(Duration::from_millis(1), RETRY)
    }

    /// Writes the lines at hand, and what the policies ask for behind them.
    fn write(&mut self) {
        let done = self.try_write();
        match &done {
            Ok(()) => {
                if self.state.failing.swap(false, Ordering::Relaxed) {
                    tracing::info!("the audit log can be written again");
                }
            }
            Err(e) => {
                self.state.failures.fetch_add(1, Ordering::Relaxed);
                if !self.state.failing.swap(true, Ordering::Relaxed) {
                    let then = match self.config.on_failure {
                        super::OnFailure::Degrade => "records will be lost; the number lost will be in the log",
                        super::OnFailure::FailClosed => "no stream opens until it can (on_failure = \"fail-closed\")",
                    };
                    tracing::error!(error = %e, "the audit log cannot be written; make room on the disk: {then}");
                }
            }
        }
    }

    fn try_write(&mut self) -> std::io::Result<()> {
        if !self.lines.is_empty() {
            self.files.append(&self.lines)?;
            self.state.written.fetch_add(std::mem::take(&mut self.records), Ordering::Relaxed);
            self.lines.clear();
            self.lines.shrink_to(BATCH + BATCH / 8);
            self.unsynced.get_or_insert_with(Instant::now);
        }
        let due = match (self.config.fsync, self.unsynced) {
            (_, None) | (Fsync::Never, _) => false,
            (Fsync::Always, Some(_)) => true,
            (Fsync::Interval, Some(since)) => since.elapsed() >= self.config.fsync_interval,
        };
        if due {
            self.files.sync()?;
            self.unsynced = None;
        } else if self.config.fsync == Fsync::Never {
            self.unsynced = None;
        }
        if self.files.len() >= self.config.max_file_bytes {
            self.rotate();
        }
        Ok(())
    }

    fn rotate(&mut self) {
        match self.files.rotate() {
            Ok(from) => {
                let head = self.files.head;
                // In the journal too: a hash that is kept elsewhere is what makes a chain worth something.
                tracing::info!(seq = head.seq - 1, hash = %hex(&head.hash), file = %from, "an audit file was put aside");
                put(
                    &mut self.lines,
                    &mut self.files.head,
                    SystemTime::now(),
                    "rotate",
                    More::Rotate { layout: LAYOUT, from: &from },
                );
            }
            Err(e) => {
                if self.complained.is_none_or(|t| t.elapsed() > Duration::from_secs(60)) {
                    self.complained = Some(Instant::now());
                    tracing::error!(error = %e, "the audit file cannot be put aside, and grows on; look at the folder's permissions");
                }
            }
        }
    }

    fn tell_lost(&mut self) {
        let lost = self.state.lost.load(Ordering::Relaxed);
        if lost > self.told_lost && !self.failing() {
            let records = lost - self.told_lost;
            put(&mut self.lines, &mut self.files.head, SystemTime::now(), "lost", More::Lost { records });
            self.told_lost = lost;
        }
    }

    fn failing(&self) -> bool {
        self.state.failing.load(Ordering::Relaxed)
    }

    fn queued(&self) -> u64 {
        self.state.queued.load(Ordering::Relaxed).saturating_sub(self.state.taken.load(Ordering::Relaxed))
    }
}
