//! `forebay scan`: what is in files, folders and lines of JSON. Changes nothing.

mod files;
mod inspect;
mod jsonl;
mod output;
mod place;
mod sarif;

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use crate::args::{ScanArgs, ScanFormat};
use crate::exit::{self, Outcome};
use crate::load::Loaded;
use crate::mask::visible_path;
use inspect::{Inspector, Verdict};
use output::{Json, Printer, Text};
use sarif::Sarif;

/// Runs the command.
pub(crate) fn run(args: &ScanArgs) -> anyhow::Result<Outcome> {
    let loaded = Loaded::cached(&args.profile, &args.cache)?;
    if args.jsonl {
        return jsonl::run(&loaded.compile()?);
    }
    let inspector = Inspector::new(&loaded, args.text)?;
    let mut errors = 0_u64;
    let mut complain = |what: String| {
        errors += 1;
        exit::say(format_args!("forebay: {what}"));
    };
    let paths = files::list(&args.paths, args.no_ignore, &mut complain);
    let bar = progress(args.format, paths.len());
    let mut printer: Box<dyn Printer> = match args.format {
        ScanFormat::Text => Box::new(Text::new()),
        ScanFormat::Json => Box::new(Json::new()),
        ScanFormat::Sarif => Box::new(Sarif::new(&inspector)),
    };
    let mut tally = Tally::default();
    files::inspect(&inspector, &paths, args.threads, |path, verdict| {
        bar.inc(1);
        match verdict {
            Verdict::Scanned(scanned) => {
                tally.add(&scanned, args.whole);
                bar.suspend(|| printer.file(path, &scanned, args.whole))
            }
            Verdict::Binary => {
                tally.binary += 1;
                Ok(())
            }
            Verdict::Failed(e) => {
                bar.suspend(|| complain(format!("{}: {e}", visible_path(path))));
                Ok(())
            }
        }
    })?;
    bar.finish_and_clear();
    printer.end()?;
    if args.format == ScanFormat::Text {
        exit::say(tally.summary());
    }
    if errors > 0 {
        anyhow::bail!("{} could not be scanned (named above); the rest was", exit::count(errors, "path"));
    }
    Ok(if tally.found > 0 { Outcome::Findings } else { Outcome::Clean })
}

/// A bar on standard error, if a person looks at it.
fn progress(format: ScanFormat, files: usize) -> ProgressBar {
    if format != ScanFormat::Text || !std::io::stderr().is_terminal() || files < 2 {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(files as u64);
    if let Ok(style) = ProgressStyle::with_template("scanning {bar:30} {pos}/{len} files, {eta} left") {
        bar.set_style(style);
    }
    bar
}

#[derive(Default)]
struct Tally {
    files: u64,
    bytes: u64,
    binary: u64,
    found: u64,
    files_with: u64,
}

impl Tally {
    fn add(&mut self, s: &inspect::Scanned, whole: bool) {
        self.files += 1;
        self.bytes += s.bytes;
        let found = s.found.len() as u64 + s.more + u64::from(whole && !s.report.complete);
        self.found += found;
        self.files_with += u64::from(found > 0);
    }

    fn summary(&self) -> String {
        let mb = self.bytes as f64 / 1e6;
        let skipped = match self.binary {
            0 => String::new(),
            n => format!(", {} skipped", exit::count(n, "binary file")),
        };
        format!(
            "{} in {}; {} scanned, {mb:.1} MB{skipped}",
            exit::count(self.found, "finding"),
            exit::count(self.files_with, "file"),
            exit::count(self.files, "file")
        )
    }
}
