//! Reading a log: its files in order, and whether the chain holds.
//!
//! What a chain shows: no line between the first and the last was changed, taken out or put in. What it does not: that the
//! last lines are there (who can write the file can cut it, and make a new chain). Against that, keep a hash elsewhere:
//! [`Summary::hash`] of any earlier check must be met again ([`check`]'s `expect`).

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::line::{Head, NOTHING_BEFORE, hex};

/// The file that is written now.
pub(super) const CURRENT: &str = "audit.jsonl";

/// Longest line, in bytes. Ours have at most 10 KiB (a reload's error); a longer one is no line.
pub const MAX_LINE: u64 = 64 << 10;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files read.
    pub files: usize,
    /// Whole lines.
    pub lines: u64,
    /// Number of the first line; above 1 the files before it are gone.
    pub first: u64,
    /// Number of the last line.
    pub last: u64,
    /// Hash of the last line, in hexadecimal; empty without lines.
    pub hash: String,
    /// Bytes behind the last whole line: it is being written, or its writer was killed.
    pub torn_bytes: u64,
    /// The line with the expected hash was met.
    pub met: bool,
}

/// Where a chain does not hold, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {what}", file.display())]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong.
    pub what: String,
}

/// Why a log could not be checked or has failed the check.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// It cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It was changed, or lines are missing.
    #[error(transparent)]
    Broken(#[from] Fault),
}

/// The files of a log, oldest first.
///
/// # Errors
/// The folder cannot be read.
pub fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = put_aside(dir)?;
    let current = dir.join(CURRENT);
    if current.exists() {
        all.push(current);
    }
    Ok(all)
}

/// The files that are written no more, oldest first.
pub(super) fn put_aside(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if number_of(&path).is_some() {
            all.push(path);
        }
    }
    all.sort_by_key(|path| number_of(path));
    Ok(all)
}

/// The number of a file that is written no more.
pub(super) fn number_of(path: &Path) -> Option<u64> {
    let digits = path.file_name()?.to_str()?.strip_prefix("audit-")?.strip_suffix(".jsonl")?;
    digits.parse().ok().filter(|_| digits.len() >= 12 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// A file that a start of the daemon put aside because it was changed or damaged.
fn found_broken(dir: &Path) -> io::Result<Option<PathBuf>> {
    let broken = |path: &PathBuf| {
        path.file_name()
            .and_then(|n| n.to_str())
            .is_some_and(|n| n.starts_with("audit-broken-") && n.ends_with(".jsonl"))
    };
    fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).find(|path| path.as_ref().is_ok_and(broken)).transpose()
}

/// Checks a whole log. `expect`: a hash that must stand somewhere in it.
///
/// # Errors
/// As [`CheckError`].
pub fn check(dir: &Path, expect: Option<&str>) -> Result<Summary, CheckError> {
    let unreadable = |error| CheckError::Unreadable { path: dir.to_owned(), error };
    if let Some(file) = found_broken(dir).map_err(unreadable)? {
        let what =
            "a start of the daemon found it changed or damaged, and began a new chain; look at it, then move it away";
        return Err(Fault { file, line: 1, what: what.to_owned() }.into());
    }
    let mut all = files(dir).map_err(unreadable)?;
    loop {
        let found = check_files(&all, expect);
        // A daemon that puts a file aside meanwhile leaves a gap in our list that is none in the log.
        let now = files(dir).map_err(unreadable)?;
        if found.is_ok() || now == all {
            return found;
        }
        all = now;
    }
}

/// Reads a line, or as much of it as a line may have, and says how much.
pub(super) fn next_line(input: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<u64> {
    bytes.clear();
    Ok(input.take(MAX_LINE).read_until(b'\n', bytes)? as u64)
}

fn check_files(all: &[PathBuf], expect: Option<&str>) -> Result<Summary, CheckError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |error| CheckError::Unreadable { path, error }
    };
    let mut chain = Chain::default();
    let mut summary = Summary::default();
    for (i, path) in all.iter().enumerate() {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(e) => return Err(unreadable(path)(e)),
        };
        let mut input = BufReader::with_capacity(1 << 16, file);
        let mut number = 0;
        let mut bytes = Vec::new();
        loop {
            let n = next_line(&mut input, &mut bytes).map_err(unreadable(path))?;
            if n == 0 {
                break;
            }
            number += 1;
            let fault = |what: String| Fault { file: path.clone(), line: number, what };
            let Some(line) = bytes.strip_suffix(b"\n") else {
                if i + 1 == all.len() && n < MAX_LINE {
                    summary.torn_bytes = n;
                    break;
                }
                return Err(fault("it does not end with a line feed; the file was cut".to_owned()).into());
            };
            let seq = chain.next(line).map_err(fault)?;
            if summary.lines == 0 {
                summary.first = seq;
            }
            summary.lines += 1;
            summary.met |= expect.is_some_and(|e| chain.head().is_some_and(|h| hex(&h.hash).eq_ignore_ascii_case(e)));
        }
        summary.files += 1;
    }
    if let Some(head) = chain.head() {
        summary.last = head.seq - 1;
        summary.hash = hex(&head.hash);
    }
    Ok(summary)
}

#[derive(Deserialize)]
struct Linked<'a> {
    seq: u64,
    event: &'a str,
    prev: &'a str,
}

/// A chain as it is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    head: Option<Head>,
    stopped: bool,
}

impl Chain {
    /// Takes the next line and gives its number; says what is wrong if it is not the next.
    pub(super) fn next(&mut self, line: &[u8]) -> Result<u64, String> {
        let read: Linked<'_> =
            serde_json::from_slice(line).map_err(|e| format!("it is no line of an audit log ({e})"))?;
        match self.head {
            Some(head) if read.seq != head.seq => {
                return Err(format!(
                    "line number {} follows {}; lines are missing or were put in",
                    read.seq,
                    head.seq - 1
                ));
            }
            Some(head) if read.prev != hex(&head.hash) => {
                return Err("its `prev` is not the hash of the line before; that line was changed".to_owned());
            }
            None if read.seq == 1 && read.prev != hex(&NOTHING_BEFORE) => {
                return Err("the first line of all has something before it; it was changed".to_owned());
            }
            _ => {}
        }
        self.stopped = read.event == "stop";
        self.head = Some(Head { seq: read.seq.saturating_add(1), hash: *blake3::hash(line).as_bytes() });
        Ok(read.seq)
    }

    /// How far it has come, if there was a line.
    pub(super) fn head(&self) -> Option<Head> {
        self.head
    }

    /// The last line says that the daemon stopped.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }
}
