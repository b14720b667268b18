//! Labelled files, line by line, through the engine and into tables. One line is in memory at a time.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use forebay_scan::{RuleSet, Scratch};
use serde::Serialize;

use super::judge::{Judge, Judged};
use super::line::{Line, MAX_LINE};
use super::notice::Notices;
use super::tally::{Ends, Table};
use crate::args::EvalArgs;
use crate::exit;
use crate::json_lines::{Lines, Next};
use crate::mask::visible_path;
use crate::once;

/// Most bad lines that are named before the run stops: enough to see what they have in common.
const MOST_NAMED: usize = 10;
/// Name that stands for standard input.
const STDIN: &str = "-";

/// What the labelled files came to.
#[derive(Debug)]
pub(crate) struct Scored {
    pub(crate) files: u64,
    pub(crate) lines: u64,
    pub(crate) contested: u64,
    /// BLAKE3 of the files' bytes, in order.
    pub(crate) data: [u8; 32],
    pub(crate) tables: Vec<Table>,
    pub(crate) ends: Ends,
    pub(crate) missed: Vec<Named>,
    pub(crate) false_positives: Vec<Named>,
}

/// A line by its place and names; never its text.
#[derive(Debug, Serialize)]
pub(crate) struct Named {
    pub(crate) file: String,
    pub(crate) line: u64,
    pub(crate) id: String,
    pub(crate) kind: String,
}

/// Reads and scores every file. Stops with an error at bad lines, after it has named some of them: shares of a file that
/// was half understood are worth nothing.
pub(crate) fn score(rules: &Arc<RuleSet>, args: &EvalArgs) -> anyhow::Result<Scored> {
    let files = files(&args.files)?;
    let mut run = Run {
        rules,
        judge: Judge::new(rules),
        scratch: Scratch::default(),
        most_listed: args.misses,
        full: args.full,
        bad: 0,
        notices: Notices::default(),
        scored: Scored {
            files: files.len() as u64,
            lines: 0,
            contested: 0,
            data: [0; 32],
            tables: args.by.iter().map(|by| Table::new(*by)).collect(),
            ends: Ends::default(),
            missed: Vec::new(),
            false_positives: Vec::new(),
        },
    };
    let mut hash = blake3::Hasher::new();
    for path in &files {
        let input: Box<dyn Read> = if path == Path::new(STDIN) {
            Box::new(io::stdin().lock())
        } else {
            Box::new(File::open(path).with_context(|| format!("cannot open {}", visible_path(path)))?)
        };
        run.file(path, Hashed { input, hash: &mut hash })?;
        if run.bad >= MOST_NAMED {
            break;
        }
    }
    match run.bad {
        0 => {}
        n if n >= MOST_NAMED => bail!("{n} bad lines; stopped there, nothing was scored"),
        n => bail!("{}; nothing was scored", exit::count(n as u64, "bad line")),
    }
    if run.scored.lines == 0 {
        bail!("there is no line in what was given, so there is nothing to score; `forebay eval --help` has the format");
    }
    run.scored.data = *hash.finalize().as_bytes();
    Ok(run.scored)
}

/// The files named, and of folders every `*.jsonl` directly in them, by name.
fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for path in paths {
        if path == Path::new(STDIN) || !path.is_dir() {
            out.push(path.clone());
            continue;
        }
        let name = || visible_path(path);
        let mut inside = Vec::new();
        for entry in path.read_dir().with_context(|| format!("cannot list {}", name()))? {
            let entry = entry.with_context(|| format!("cannot list {}", name()))?.path();
            if entry.extension().is_some_and(|e| e == "jsonl") && entry.is_file() {
                inside.push(entry);
            }
        }
        if inside.is_empty() {
            bail!("there is no file *.jsonl in {}; name the file, if it is called otherwise", name());
        }
        inside.sort();
        out.append(&mut inside);
    }
    Ok(out)
}

struct Run<'a> {
    rules: &'a Arc<RuleSet>,
    judge: Judge<'a>,
    scratch: Scratch,
    most_listed: usize,
    full: bool,
    bad: usize,
    notices: Notices,
    scored: Scored,
}

impl Run<'_> {
    fn file(&mut self, path: &Path, input: impl Read) -> anyhow::Result<()> {
        let mut lines = Lines::new(input, MAX_LINE);
        while self.bad < MOST_NAMED {
            let (number, line) = match lines.next().with_context(|| format!("cannot read {}", visible_path(path)))? {
                Next::End => break,
                Next::Line(number, line) => (number, Line::parse(line)),
                Next::TooLong(number) => {
                    (number, Err(format!("longer than {MAX_LINE} bytes; cut its text into pieces")))
                }
            };
            match line {
                Ok(line) if self.bad == 0 => {
                    self.notices.tell(format_args!("{}:{number}", visible_path(path)), &line.odd);
                    self.line(path, number, &line)?;
                }
                // There will be no score; what is left to say is which other lines are bad.
                Ok(_) => {}
                Err(e) => {
                    self.bad += 1;
                    exit::say(format_args!("forebay: {}:{number}: {e}", visible_path(path)));
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, path: &Path, number: u64, line: &Line) -> anyhow::Result<()> {
        let (findings, report) = once::look(self.rules, &mut self.scratch, &line.text);
        let judged = self.judge.judge(line, &findings, &report);
        let scored = &mut self.scored;
        scored.lines += 1;
        scored.contested += u64::from(line.contested);
        for table in &mut scored.tables {
            table.add(line, &judged)?;
        }
        scored.ends.add(line, report.complete);
        if line.contested || !(line.strict || self.full) {
            return Ok(());
        }
        let list = match judged {
            Judged::Hit { found: false, .. } => &mut scored.missed,
            Judged::Clean { false_positive: true, .. } => &mut scored.false_positives,
            _ => return Ok(()),
        };
        if list.len() < self.most_listed {
            list.push(Named {
                file: path.to_string_lossy().into_owned(),
                line: number,
                id: line.id.clone(),
                kind: line.kind.clone(),
            });
        }
        Ok(())
    }
}

/// Hashes what passes.
struct Hashed<'a> {
    input: Box<dyn Read>,
    hash: &'a mut blake3::Hasher,
}

impl Read for Hashed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.hash.update(&buffer[..n]);
        Ok(n)
    }
}
