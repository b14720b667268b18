//! Which files, and all of them through the engine on every core, results in the order of the paths.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use forebay_scan::Scratch;
use ignore::WalkBuilder;

use super::inspect::{Inspector, Verdict};
use crate::mask::visible_path;

/// Name that stands for standard input.
const STDIN: &str = "-";

/// Every file under `paths`, sorted, each once. What cannot be listed is told to `failed`, and the rest is listed.
///
/// Hidden files are included (`.env` is where secrets live), `.git` is not; `.gitignore`, `.ignore` and git's excludes
/// are respected unless `no_ignore`. Symbolic links are not followed: they lead out of what was asked for.
pub(crate) fn list(paths: &[PathBuf], no_ignore: bool, mut failed: impl FnMut(String)) -> Vec<PathBuf> {
    let here = [PathBuf::from(".")];
    let mut files = Vec::new();
    for path in if paths.is_empty() { &here[..] } else { paths } {
        if path == Path::new(STDIN) {
            files.push(path.clone());
            continue;
        }
        let kind = match std::fs::metadata(path) {
            Ok(kind) => kind,
            Err(e) => {
                failed(format!("cannot look at {}: {e}", visible_path(path)));
                continue;
            }
        };
        if !kind.is_file() && !kind.is_dir() {
            failed(format!("{} is neither a file nor a folder; pipe it in: forebay scan -", visible_path(path)));
            continue;
        }
        if kind.is_file() {
            // Named by hand, so wanted, whatever .gitignore says.
            files.push(path.clone());
            continue;
        }
        let walk = WalkBuilder::new(path)
            .standard_filters(!no_ignore)
            .require_git(false)
            .hidden(false)
            .filter_entry(|e| e.file_name() != ".git")
            .build();
        for entry in walk {
            match entry {
                Ok(e) if e.file_type().is_some_and(|t| t.is_file()) => {
                    files.push(tidy(e.into_path(), paths.is_empty()))
                }
                Ok(_) => {}
                Err(e) => failed(e.to_string()),
            }
        }
    }
    files.sort();
    files.dedup();
    files
}

/// `src/main.rs` rather than `./src/main.rs` when the dot was not asked for.
fn tidy(path: PathBuf, from_here: bool) -> PathBuf {
    match path.strip_prefix("./") {
        Ok(short) if from_here => short.to_path_buf(),
        _ => path,
    }
}

/// Inspects every file, and gives the verdicts to `each` in the order of `files`.
///
/// Accepted: a verdict waits for those before it, so one slow file makes the others' verdicts wait in memory. A verdict
/// is bounded, and the slowest file that is kept takes about a second.
pub(crate) fn inspect(
    inspector: &Inspector,
    files: &[PathBuf],
    threads: Option<NonZeroUsize>,
    mut each: impl FnMut(&Path, Verdict) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let threads = threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let (send, verdicts) = sync_channel(threads * 4);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(files.len()) {
            let (send, next) = (send.clone(), &next);
            scope.spawn(move || {
                let mut scratch = Scratch::default();
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = files.get(i) else { return };
                    let verdict = if path == Path::new(STDIN) {
                        inspector.stream(io::stdin().lock(), &mut scratch)
                    } else {
                        inspector.file(path, &mut scratch)
                    };
                    // The printer is gone (its reader closed the pipe): stop.
                    if send.send((i, verdict)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut waiting = BTreeMap::new();
        let mut due = 0;
        // By value: on an early return the channel closes, and the workers see it.
        for (i, verdict) in verdicts {
            waiting.insert(i, verdict);
            while let Some(verdict) = waiting.remove(&due) {
                each(&files[due], verdict)?;
                due += 1;
            }
        }
        Ok(())
    })
}
