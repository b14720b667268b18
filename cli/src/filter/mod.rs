//! `forebay filter`: standard input to standard output, through the engine, as it streams.
//!
//! What arrived at once leaves at once: after each read everything that was released is written and flushed before the
//! next read waits. Findings go to standard error in stream order, each as soon as no continuation can change it.

mod chunk;
pub(crate) mod gate;
mod stats;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::Instant;

use anyhow::{Context, bail};
use forebay_scan::Report;

use crate::args::FilterArgs;
use crate::exit::{self, Outcome};
use crate::load::{self, Loaded};
use chunk::Cutter;
use gate::{Gate, Outlet};
use stats::Stats;

/// Bytes asked of standard input at once: a Linux pipe holds 64 KiB, so more would never come.
const READ: usize = 64 << 10;

/// Runs the command.
pub(crate) fn run(args: &FilterArgs) -> anyhow::Result<Outcome> {
    let mut run = Run {
        gate: open(args)?,
        outlet: Outlet { tell: args.findings.is_some(), ..Outlet::default() },
        stats: args.stats.then(Stats::new),
        // The descriptor itself: standard output's own line buffer would split each write in two.
        output: duplicate(io::stdout())?,
    };
    let blocked_at = run.pump(duplicate(io::stdin())?, args.chunk.map(Cutter::new))?;
    let report = run.finish()?;
    if args.report {
        exit::say(serde_json::json!({ "report": report }));
    }
    let blocked_at = blocked_at.or(report.blocked_at);
    if let Some(at) = blocked_at {
        exit::say(format_args!(
            "forebay: blocked: a rule of profile `{}` ended the stream at byte {at}; nothing from there on was passed. \
             `--findings json` names the rule; a profile file can give it another action",
            args.profile.profile
        ));
    }
    if let Some(stats) = run.stats {
        exit::say(stats.to_json());
    }
    Ok(if blocked_at.is_some() { Outcome::Blocked } else { Outcome::Clean })
}

fn open(args: &FilterArgs) -> anyhow::Result<Gate> {
    let profile = &args.profile.profile;
    let Some(transport) = args.via.transport() else {
        let rules = Loaded::cached(&args.profile, &args.cache)?.compile()?;
        if args.stats {
            // The first text that looks like a match of a rule builds its automaton: not what is to be measured.
            rules.warm();
        }
        return Ok(Gate::local(rules, load::token_key(args.key_file.as_deref())?));
    };
    if let Some(pack) = args.profile.pack.first() {
        bail!(
            "through the daemon the rules are those that the daemon serves: add {} to `pack_files` of a profile file, \
             name that in its config and reload it (`systemctl reload forebayd`, or SIGHUP), or filter with `--via local`",
            pack.display()
        );
    }
    if profile.ends_with(".toml") || profile.contains('/') {
        bail!(
            "through the daemon a profile is one that the daemon serves, by name: add {profile} to `profiles` in its \
             config and reload it (`systemctl reload forebayd`, or SIGHUP), or filter with `--via local`"
        );
    }
    Gate::daemon(&args.socket.path(), transport, profile, args.session.as_deref().unwrap_or_default())
}

fn duplicate(stream: impl AsFd) -> anyhow::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned().context("cannot duplicate a standard stream")?))
}

struct Run {
    gate: Gate,
    outlet: Outlet,
    stats: Option<Stats>,
    output: File,
}

impl Run {
    /// Reads to the end, or to the span that blocks the stream: then says where that is.
    fn pump(&mut self, mut input: File, mut cutter: Option<Cutter>) -> anyhow::Result<Option<u64>> {
        let mut buffer = vec![0; READ];
        loop {
            let n = match input.read(&mut buffer) {
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e).context("cannot read standard input"),
            };
            let blocked_at = match &mut cutter {
                None if n == 0 => None,
                None => self.push(&buffer[..n])?,
                Some(cutter) if n == 0 => {
                    let last = cutter.rest();
                    if last.is_empty() { None } else { self.push(&last)? }
                }
                Some(cutter) => {
                    let mut blocked_at = None;
                    cutter.cut(&buffer[..n], |piece| -> anyhow::Result<bool> {
                        blocked_at = self.push(piece)?;
                        Ok(blocked_at.is_none())
                    })?;
                    blocked_at
                }
            };
            let blocked_at = match blocked_at {
                None if n > 0 => self.gate.settle(&mut self.outlet)?.blocked_at,
                known => known,
            };
            self.write()?;
            if blocked_at.is_some() || n == 0 {
                return Ok(blocked_at);
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) -> anyhow::Result<Option<u64>> {
        let Some(stats) = &mut self.stats else {
            return Ok(self.gate.push(bytes, false, &mut self.outlet)?.blocked_at);
        };
        let before = Instant::now();
        let pushed = self.gate.push(bytes, true, &mut self.outlet)?;
        stats.push(bytes.len(), before.elapsed(), pushed.held);
        Ok(pushed.blocked_at)
    }

    fn finish(&mut self) -> anyhow::Result<Report> {
        let before = Instant::now();
        let report = self.gate.finish(&mut self.outlet)?;
        if let Some(stats) = &mut self.stats {
            stats.finish(before.elapsed());
        }
        self.write()?;
        Ok(report)
    }

    fn write(&mut self) -> anyhow::Result<()> {
        let out = &mut self.outlet;
        if let Some(stats) = &mut self.stats {
            stats.out(out.bytes.len(), out.findings);
        }
        self.output.write_all(&out.bytes).context("cannot write standard output")?;
        if !out.lines.is_empty() {
            io::stderr().write_all(&out.lines).context("cannot write standard error")?;
        }
        out.bytes.clear();
        out.lines.clear();
        out.findings = 0;
        Ok(())
    }
}
