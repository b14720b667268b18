//! `forebay audit`: checks, shows and follows the daemon's audit log.
//!
//! It reads files and asks no daemon, so that it works when none runs, and on a copy elsewhere. Lines are shown as data of
//! somebody who may have changed them: nothing but printable characters reaches a terminal.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use forebayd::audit::read::{self, CheckError, MAX_LINE, Summary};
use serde_json::Value;

use crate::args::{AuditArgs, AuditCommand, AuditShowArgs, AuditTailArgs, AuditVerifyArgs, AuditWhich, TextOrJson};
use crate::exit::{Outcome, count};

/// How often a followed file is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Runs the command.
pub(crate) fn run(args: &AuditArgs) -> anyhow::Result<Outcome> {
    match &args.command {
        AuditCommand::Verify(a) => verify(a),
        AuditCommand::Show(a) => show(a),
        AuditCommand::Tail(a) => tail(a),
    }
}

fn verify(args: &AuditVerifyArgs) -> anyhow::Result<Outcome> {
    let dir = args.dir.path();
    let checked = read::check(&dir, args.expect.as_deref());
    let (text, json, outcome) = match checked {
        Ok(s) => {
            let missing = args.expect.is_some() && !s.met;
            let outcome = if missing { Outcome::Findings } else { Outcome::Clean };
            (holds(&dir, &s, missing), summary_json(&s, missing), outcome)
        }
        Err(CheckError::Broken(fault)) => {
            let json = serde_json::json!({"holds": false, "file": fault.file, "line": fault.line, "why": fault.what});
            (format!("the chain is broken: {fault}"), json, Outcome::Findings)
        }
        Err(e @ CheckError::Unreadable { .. }) => {
            return Err(anyhow::Error::new(e).context("the audit log cannot be read; give --dir, or run as its owner"));
        }
    };
    let mut out = anstream::stdout();
    match args.format {
        TextOrJson::Text => writeln!(out, "{text}"),
        TextOrJson::Json => writeln!(out, "{json}"),
    }
    .context("cannot write standard output")?;
    Ok(outcome)
}

fn holds(dir: &Path, s: &Summary, missing: bool) -> String {
    let files = count(s.files as u64, "file");
    let mut text = match s.lines {
        0 => format!("{}: no lines", dir.display()),
        n => format!("the chain holds: {} in {files}, numbers {} to {}", count(n, "line"), s.first, s.last),
    };
    if s.first > 1 {
        text += &format!("\nlines before {} are gone: older files were removed (keep_files)", s.first);
    }
    if s.torn_bytes > 0 {
        let bytes = count(s.torn_bytes, "byte");
        text += &format!("\nthe last line is not whole ({bytes}): it is being written, or the daemon was killed");
    }
    if !s.hash.is_empty() {
        text += &format!("\nhash of the last line: {}", s.hash);
    }
    if missing {
        text += "\nNOT FOUND: the expected hash. The log was cut or made anew, or the line's file is removed";
    }
    text
}

fn summary_json(s: &Summary, missing: bool) -> Value {
    serde_json::json!({
        "holds": !missing, "files": s.files, "lines": s.lines, "first": s.first, "last": s.last,
        "hash": s.hash, "torn_bytes": s.torn_bytes, "expected_found": s.met,
    })
}

fn show(args: &AuditShowArgs) -> anyhow::Result<Outcome> {
    let filter = Filter::new(&args.which);
    let mut out = std::io::BufWriter::new(anstream::stdout().lock());
    each_line(&args.dir.path(), |line| {
        if let Some(text) = filter.pass(line, args.format) {
            writeln!(out, "{text}").context("cannot write standard output")?;
        }
        Ok(())
    })?;
    out.flush().context("cannot write standard output")?;
    Ok(Outcome::Clean)
}

fn tail(args: &AuditTailArgs) -> anyhow::Result<Outcome> {
    let dir = args.dir.path();
    let filter = Filter::new(&args.which);
    let mut last: VecDeque<String> = VecDeque::new();
    let end = each_line(&dir, |line| {
        if let Some(text) = filter.pass(line, args.format) {
            last.push_back(text);
            if last.len() > args.lines {
                last.pop_front();
            }
        }
        Ok(())
    })?;
    let print = |text: &str| {
        let mut out = anstream::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush()).context("cannot write standard output")
    };
    last.iter().try_for_each(|text| print(text))?;
    if !args.follow {
        return Ok(Outcome::Clean);
    }
    follow(&dir, end, |line| filter.pass(line, args.format).map_or(Ok(()), |text| print(&text)))
}

/// Where reading stopped: the file of that number, so many bytes into it.
struct Place {
    file: Option<BufReader<File>>,
    inode: u64,
}

/// Hands every whole line of a log to `take`. Gives the place behind the last one.
fn each_line(dir: &Path, mut take: impl FnMut(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<Place> {
    let files = read::files(dir).with_context(|| {
        format!("the audit log in {} cannot be read; give --dir, or run as its owner", dir.display())
    })?;
    anyhow::ensure!(
        !files.is_empty(),
        "there is no audit log in {}; set [audit] dir in the daemon's config, or give --dir",
        dir.display()
    );
    let mut place = Place { file: None, inode: 0 };
    for path in files {
        let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        place.inode = file.metadata().map(|m| m.ino()).unwrap_or(0);
        let mut input = BufReader::new(file);
        let mut partial = Vec::new();
        lines(&mut input, &mut partial, &mut take).with_context(|| format!("cannot read {}", path.display()))?;
        // What is not whole yet is read again.
        input.seek_relative(-(partial.len() as i64)).with_context(|| format!("cannot read {}", path.display()))?;
        place.file = Some(input);
    }
    Ok(place)
}

/// Reads what there is. A line that is not whole stays in `partial`.
fn lines(
    input: &mut BufReader<File>,
    partial: &mut Vec<u8>,
    take: &mut impl FnMut(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    loop {
        let room = MAX_LINE.saturating_sub(partial.len() as u64).max(1);
        if input.by_ref().take(room).read_until(b'\n', partial)? == 0 {
            return Ok(());
        }
        match partial.strip_suffix(b"\n") {
            Some(line) => take(line)?,
            None if partial.len() as u64 >= MAX_LINE => {
                anyhow::bail!("a line is longer than {MAX_LINE} bytes; `forebay audit verify` says where")
            }
            None => continue,
        }
        partial.clear();
    }
}

/// Waits for new lines, also in the file that follows when this one is put aside.
fn follow(dir: &Path, mut place: Place, mut take: impl FnMut(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<Outcome> {
    let current = dir.join("audit.jsonl");
    let mut partial = Vec::new();
    loop {
        // Asked before reading: lines that came before the file was put aside are read first.
        let now = std::fs::metadata(&current).map(|m| m.ino());
        if let Some(input) = &mut place.file {
            lines(input, &mut partial, &mut take)?;
        }
        match now {
            Ok(inode) if inode != place.inode => {
                partial.clear();
                place.file = File::open(&current).ok().map(BufReader::new);
                place.inode = inode;
            }
            _ => std::thread::sleep(LOOK),
        }
    }
}

struct Filter<'a> {
    which: &'a AuditWhich,
    /// Not before, as the log writes times: their text sorts as they do.
    from: Option<String>,
}

impl<'a> Filter<'a> {
    fn new(which: &'a AuditWhich) -> Self {
        let from = which.since.and_then(|age| SystemTime::now().checked_sub(age));
        Filter { which, from: from.map(|t| humantime::format_rfc3339_micros(t).to_string()) }
    }

    /// The line as it is to be printed, if it is wanted.
    fn pass(&self, line: &[u8], format: TextOrJson) -> Option<String> {
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            return Some("(a line that is none; `forebay audit verify` says where)".to_owned());
        };
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let w = self.which;
        let wanted = w.event.as_deref().is_none_or(|e| text("event") == Some(e))
            && w.rule.as_deref().is_none_or(|r| text("rule").is_some_and(|name| name.contains(r)))
            && w.uid.is_none_or(|u| value.get("uid").and_then(Value::as_u64) == Some(u.into()))
            && w.value.as_deref().is_none_or(|v| text("value") == Some(v))
            && self.from.as_deref().is_none_or(|f| text("time").is_some_and(|t| t >= f));
        wanted.then(|| match format {
            TextOrJson::Json => printable(&String::from_utf8_lossy(line)),
            TextOrJson::Text => for_people(&value),
        })
    }
}

fn for_people(line: &Value) -> String {
    let text = |key: &str| match line.get(key) {
        Some(Value::String(s)) => s.clone(),
        Some(Value::Null) | None => "-".to_owned(),
        Some(other) => other.to_string(),
    };
    let who = || format!("uid {} pid {} conn {}", text("uid"), text("pid"), text("conn"));
    let event = text("event");
    let rest = match event.as_str() {
        "finding" => format!(
            "{} {} {}..{} of stream {} ({}), {}, value {}",
            text("action"),
            text("rule"),
            text("start"),
            text("end"),
            text("stream"),
            text("profile"),
            who(),
            text("value")
        ),
        "stream" => format!(
            "stream {} ({}) ended: {}, {} bytes, {} findings, {}",
            text("stream"),
            text("profile"),
            text("result"),
            text("received"),
            text("findings"),
            who()
        ),
        "violation" => format!("{}, {}", text("code"), who()),
        "reload" => match text("result").as_str() {
            "done" => format!("done, rules {}", text("rules")),
            _ => format!("refused, the old rules stay: {}", text("error")),
        },
        "start" => format!("forebayd {}, the log before it: {}, key {}", text("daemon"), text("found"), text("key")),
        "lost" => format!("{} records could not be kept", text("records")),
        "rotate" => format!("goes on from {}", text("from")),
        _ => String::new(),
    };
    printable(format!("{} {event:9} {rest}", text("time")).trim_end())
}

fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
