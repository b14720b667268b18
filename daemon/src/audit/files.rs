//! The log's files: one that is written, those put aside, and the repair at the start.
//!
//! A daemon that is killed, or a power cut, leaves a line that is not whole. It is cut off, and the first line of the new
//! process says how many bytes went. What is broken *before* whole lines was not us: that file is put aside whole under a
//! name of its own, and a new chain begins, which a check tells for as long as there are older files.

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::AuditConfig;
use super::line::Head;
use super::read::{CURRENT, Chain, next_line, number_of, put_aside};

/// What was there at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing: a new log.
    Nothing,
    /// The daemon before ended as it should.
    Stopped,
    /// It did not: it was killed, or the host was.
    Killed,
    /// Nor was its last line whole; so many bytes were cut off.
    Torn { bytes: u64 },
    /// The file did not hold together, and was put aside.
    Broken,
}

/// The log, open for writing.
#[derive(Debug)]
pub(super) struct Files {
    dir: PathBuf,
    file: File,
    /// Bytes of whole lines.
    len: u64,
    /// Number of the file's first line.
    first: u64,
    keep: u32,
    pub(super) head: Head,
    pub(super) found: Found,
    /// Held for as long as the process lives, so that two never write one chain.
    _lock: File,
}

impl Files {
    pub(super) fn open(dir: &Path, config: &AuditConfig) -> Result<Files, String> {
        let told = |e: io::Error| format!("the audit log in {} cannot be used: {e}; see [audit] dir", dir.display());
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(told)?;
        let lock = open(&dir.join("audit.lock")).map_err(told)?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            format!("another daemon writes the audit log in {}; give this one a folder of its own", dir.display())
        })?;
        Self::repaired(dir, config, lock).map_err(told)
    }

    fn repaired(dir: &Path, config: &AuditConfig, lock: File) -> io::Result<Files> {
        let path = dir.join(CURRENT);
        let mut file = open(&path)?;
        let mut chain = Chain::default();
        let mut state = State::of(&file, &mut chain)?;
        if chain.head().is_none() && state != State::Broken {
            // Killed between putting a file aside and the first whole line of the next: go on where that one ended.
            if let Some(last) = put_aside(dir)?.last() {
                State::of(&File::open(last)?, &mut chain)?;
            }
        }
        let mut found = match (chain.head(), chain.stopped()) {
            (None, _) => Found::Nothing,
            (_, true) => Found::Stopped,
            (_, false) => Found::Killed,
        };
        match state {
            State::Empty | State::Whole { .. } => {}
            State::Torn { whole, bytes } => {
                file.set_len(whole)?;
                file.sync_all()?;
                state = State::Whole { whole };
                found = Found::Torn { bytes };
            }
            State::Broken => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
                // The first name that is free: nothing that was put aside before is written over.
                let free = (now..).map(|n| dir.join(format!("audit-broken-{n}.jsonl"))).find(|p| !p.exists());
                fs::rename(&path, free.unwrap_or_else(|| dir.join("audit-broken.jsonl")))?;
                file = open(&path)?;
                chain = Chain::default();
                state = State::Empty;
                found = Found::Broken;
            }
        }
        let len = if let State::Whole { whole } = state { whole } else { 0 };
        file.seek(SeekFrom::Start(len))?;
        let head = chain.head().unwrap_or(Head::START);
        // Only a name for the file: what it begins with matters when it is put aside.
        let first = if len == 0 { head.seq } else { first_number(&path)?.unwrap_or(head.seq) };
        Ok(Files { dir: dir.to_owned(), file, len, first, keep: config.keep_files, head, found, _lock: lock })
    }

    /// Bytes in the file that is written.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Appends whole lines. If that fails, none of their bytes is in the file.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(lines);
        if written.is_err() {
            // A full disk takes a part. Cutting needs no room; should it fail too, the next attempt writes over it.
            let _ = self.file.set_len(self.len);
            self.file.seek(SeekFrom::Start(self.len))?;
        } else {
            self.len += lines.len() as u64;
        }
        written
    }

    /// Forces what was written to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Puts the file aside under the number of its first line, begins a new one, and removes what is too old. Gives the
    /// name it has now.
    pub(super) fn rotate(&mut self) -> io::Result<String> {
        self.file.sync_data()?;
        // Behind those that are there, whatever a new chain begins with: no file is written over, and the oldest go first.
        let mut old = put_aside(&self.dir)?;
        let last = old.last().and_then(|path| number_of(path)).unwrap_or(0);
        let name = format!("audit-{:012}.jsonl", self.first.max(last + 1));
        let path = self.dir.join(CURRENT);
        fs::rename(&path, self.dir.join(&name))?;
        match open(&path) {
            Ok(file) => self.file = file,
            Err(e) => {
                // Back: the chain must not go on in a file that nobody finds.
                fs::rename(self.dir.join(&name), &path)?;
                return Err(e);
            }
        }
        self.len = 0;
        self.first = self.head.seq;
        // The names are on the disk too. Not every file system can do that; the next start copes with either order.
        let _ = File::open(&self.dir).and_then(|d| d.sync_all());
        old.push(self.dir.join(&name));
        let over = old.len().saturating_sub(self.keep as usize);
        for path in &old[..over] {
            fs::remove_file(path)?;
        }
        Ok(name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Empty,
    Whole { whole: u64 },
    Torn { whole: u64, bytes: u64 },
    Broken,
}

impl State {
    /// Reads a file through.
    fn of(file: &File, chain: &mut Chain) -> io::Result<State> {
        let total = file.metadata()?.len();
        if total == 0 {
            return Ok(State::Empty);
        }
        let mut input = BufReader::with_capacity(1 << 16, file);
        let mut bytes = Vec::new();
        let mut whole = 0;
        loop {
            let n = next_line(&mut input, &mut bytes)?;
            if n == 0 {
                return Ok(State::Whole { whole });
            }
            if bytes.strip_suffix(b"\n").is_none_or(|line| chain.next(line).is_err()) {
                break;
            }
            whole += n;
        }
        // A power cut can leave zeros or another file's bytes, but only at the end: whole lines behind them were written
        // later, and were forced to the disk later. A whole line that does not follow the one before it is no cut either.
        loop {
            if bytes.strip_suffix(b"\n").is_some_and(|line| Chain::default().next(line).is_ok()) {
                return Ok(State::Broken);
            }
            if next_line(&mut input, &mut bytes)? == 0 {
                return Ok(State::Torn { whole, bytes: total - whole });
            }
        }
    }
}

fn first_number(path: &Path) -> io::Result<Option<u64>> {
    let mut line = Vec::new();
    next_line(&mut BufReader::new(File::open(path)?), &mut line)?;
    Ok(line.strip_suffix(b"\n").and_then(|l| Chain::default().next(l).ok()))
}

/// Not through a link: who may write into the folder chooses no file elsewhere.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW;
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags.bits() as i32)
        .open(path)
}
