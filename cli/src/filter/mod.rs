//! `forebay filter`: standard input to standard output, through the engine, as it streams.
//!
//! What arrived at once leaves at once: after each read everything that was released is written and flushed before the
//! next read waits. Findings go to standard error in stream order, each as soon as no continuation can change it.

mod chunk;
mod stats;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use forebay_scan::{Ended, Finding, Report, RuleSet, Scratch, Sink, StreamFilter};

use crate::args::FilterArgs;
use crate::exit::Outcome;
use crate::load::{self, Loaded};
use crate::scan::record::FindingLine;
use chunk::Cutter;
use stats::Stats;

/// Bytes asked of standard input at once: a Linux pipe holds 64 KiB, so more would never come.
const READ: usize = 64 << 10;

/// Runs the command.
pub(crate) fn run(args: &FilterArgs) -> anyhow::Result<Outcome> {
    let rules = Loaded::profile(&args.profile.profile)?.compile()?;
    let key = load::token_key(args.key_file.as_deref())?;
    let mut run = Run {
        filter: StreamFilter::new(rules.clone(), key),
        scratch: Scratch::default(),
        outlet: Outlet::default(),
        stats: args.stats.then(Stats::new),
        rules,
        tell_findings: args.findings.is_some(),
        // The descriptor itself: standard output's own line buffer would split each write in two.
        output: duplicate(io::stdout())?,
    };
    let ended = run.pump(duplicate(io::stdin())?, args.chunk.map(Cutter::new))?;
    let report = run.finish()?;
    if args.report {
        eprintln!("{}", serde_json::json!({ "report": report }));
    }
    if let Some(stats) = run.stats {
        eprintln!("{}", stats.to_json());
    }
    match ended.map(|e| e.at).or(report.blocked_at) {
        Some(at) => {
            eprintln!(
                "forebay: blocked: a rule of profile `{}` ended the stream at byte {at}; nothing from there on was passed. \
                 `--findings json` names the rule; a profile file can give it another action",
                run.rules.profile()
            );
            Ok(Outcome::Blocked)
        }
        None => Ok(Outcome::Clean),
    }
}

fn duplicate(stream: impl AsFd) -> anyhow::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned().context("cannot duplicate a standard stream")?))
}

struct Run {
    filter: StreamFilter,
    scratch: Scratch,
    outlet: Outlet,
    stats: Option<Stats>,
    rules: Arc<RuleSet>,
    tell_findings: bool,
    output: File,
}

/// What one push let go, until it is written. Bounded by what one read can release: the read and the hold.
#[derive(Default)]
struct Outlet {
    bytes: Vec<u8>,
    findings: Vec<Finding>,
}

impl Sink for Outlet {
    fn release(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn finding(&mut self, finding: &Finding) {
        self.findings.push(finding.clone());
    }
}

impl Run {
    /// Reads to the end, or to the span that blocks the stream.
    fn pump(&mut self, mut input: File, mut cutter: Option<Cutter>) -> anyhow::Result<Option<Ended>> {
        let mut buffer = vec![0; READ];
        loop {
            let n = match input.read(&mut buffer) {
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e).context("cannot read standard input"),
            };
            let ended = match &mut cutter {
                None if n == 0 => return Ok(None),
                None => self.push(&buffer[..n]).err(),
                Some(cutter) if n == 0 => {
                    let last = cutter.rest();
                    if last.is_empty() { None } else { self.push(&last).err() }
                }
                Some(cutter) => cutter.cut(&buffer[..n], |piece| self.push(piece)).err(),
            };
            self.write()?;
            if ended.is_some() || n == 0 {
                return Ok(ended);
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Ended> {
        let Some(stats) = &mut self.stats else {
            return self.filter.push(bytes, &mut self.scratch, &mut self.outlet);
        };
        let before = Instant::now();
        let done = self.filter.push(bytes, &mut self.scratch, &mut self.outlet);
        stats.push(bytes.len(), before.elapsed(), self.filter.held());
        done
    }

    fn finish(&mut self) -> anyhow::Result<Report> {
        let before = Instant::now();
        let report = self.filter.finish(&mut self.scratch, &mut self.outlet);
        if let Some(stats) = &mut self.stats {
            stats.finish(before.elapsed());
        }
        self.write()?;
        Ok(report)
    }

    fn write(&mut self) -> anyhow::Result<()> {
        if let Some(stats) = &mut self.stats {
            stats.out(self.outlet.bytes.len(), self.outlet.findings.len());
        }
        self.output.write_all(&self.outlet.bytes).context("cannot write standard output")?;
        self.outlet.bytes.clear();
        if self.tell_findings && !self.outlet.findings.is_empty() {
            let mut lines = Vec::new();
            for f in &self.outlet.findings {
                if let Some(line) = FindingLine::of(f, &self.rules) {
                    serde_json::to_writer(&mut lines, &line)?;
                    lines.push(b'\n');
                }
            }
            io::stderr().write_all(&lines).context("cannot write standard error")?;
        }
        self.outlet.findings.clear();
        Ok(())
    }
}
