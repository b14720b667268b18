//! The text and JSON forms of `forebay scan`.

use std::io::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use anyhow::Context;
use forebay_scan::{Action, Family, Report, Severity};
use serde::Serialize;

use super::inspect::{Found, Scanned};
use super::place::Place;
use crate::mask::visible_path;

/// Takes results in order and prints them.
pub(crate) trait Printer {
    /// One file. `whole`: say also when it is not whole.
    fn file(&mut self, path: &Path, scanned: &Scanned, whole: bool) -> anyhow::Result<()>;
    /// No more files.
    fn end(&mut self) -> anyhow::Result<()>;
}

const PATH: Style = AnsiColor::Magenta.on_default();
const DIM: Style = Style::new().dimmed();

pub(crate) fn severity_style(s: Severity) -> Style {
    match s {
        Severity::Critical => AnsiColor::Red.on_default().bold(),
        Severity::High => AnsiColor::Red.on_default(),
        Severity::Medium => AnsiColor::Yellow.on_default(),
        Severity::Low | Severity::Info => AnsiColor::Cyan.on_default(),
    }
}

/// For people: a line for each finding, and the line of the file that it stands in, masked.
pub(crate) struct Text {
    out: anstream::Stdout,
}

impl Text {
    pub(crate) fn new() -> Self {
        Text { out: anstream::stdout() }
    }

    fn one(out: &mut impl Write, path: &str, f: &Found) -> std::io::Result<()> {
        let style = severity_style(f.severity);
        let place = match &f.places {
            Some((start, _)) => format!("{}:{}", start.line, start.column),
            None => format!("byte {}", f.start),
        };
        writeln!(out, "{PATH}{path}{PATH:#}:{place}: {style}{}{style:#} {}: {}", f.severity.as_str(), f.name, f.title)?;
        if let Some(e) = &f.excerpt {
            writeln!(out, "    {DIM}{}{DIM:#}{style}{}{style:#}{DIM}{}{DIM:#}", e.before, e.marked, e.after)?;
        }
        Ok(())
    }
}

impl Printer for Text {
    fn file(&mut self, path: &Path, scanned: &Scanned, whole: bool) -> anyhow::Result<()> {
        let path = visible_path(path);
        let mut lines = Vec::new();
        for f in &scanned.found {
            Self::one(&mut lines, &path, f)?;
        }
        if scanned.more > 0 {
            writeln!(lines, "{PATH}{path}{PATH:#}: and {} more findings", scanned.more)?;
        }
        if whole && !scanned.report.complete {
            for r in &scanned.report.reasons {
                writeln!(lines, "{PATH}{path}{PATH:#}: byte {}: not whole: {}", r.at, r.code)?;
            }
        }
        // In one piece, so that the progress bar's lines cannot come between.
        self.out.write_all(&lines).context("cannot write standard output")
    }

    fn end(&mut self) -> anyhow::Result<()> {
        self.out.flush().context("cannot write standard output")
    }
}

/// For programs: one JSON object for each file that has findings or is not whole.
pub(crate) struct Json {
    out: std::io::BufWriter<std::io::Stdout>,
}

#[derive(Serialize)]
struct FileLine<'a> {
    path: std::borrow::Cow<'a, str>,
    findings: Vec<JsonFinding<'a>>,
    /// Findings beyond the bound of one file.
    more_findings: u64,
    report: &'a Report,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    rule: &'a str,
    family: Family,
    start: u64,
    end: u64,
    severity: Severity,
    action: Action,
    #[serde(skip_serializing_if = "Option::is_none", rename = "from")]
    from: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Place>,
}

impl Json {
    pub(crate) fn new() -> Self {
        Json { out: std::io::BufWriter::new(std::io::stdout()) }
    }
}

impl Printer for Json {
    fn file(&mut self, path: &Path, scanned: &Scanned, _whole: bool) -> anyhow::Result<()> {
        if scanned.found.is_empty() && scanned.report.complete {
            return Ok(());
        }
        let findings = scanned
            .found
            .iter()
            .map(|f| JsonFinding {
                rule: &f.name,
                family: f.family,
                start: f.start,
                end: f.end,
                severity: f.severity,
                action: f.action,
                from: f.places.map(|p| p.0),
                to: f.places.map(|p| p.1),
            })
            .collect();
        let line =
            FileLine { path: path.to_string_lossy(), findings, more_findings: scanned.more, report: &scanned.report };
        serde_json::to_writer(&mut self.out, &line)
            .map_err(std::io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"))
            .context("cannot write standard output")
    }

    fn end(&mut self) -> anyhow::Result<()> {
        self.out.flush().context("cannot write standard output")
    }
}
