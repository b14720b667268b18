//! Where rows go: a table on the terminal, `results/latest.json`, and the table in `README.md`.

use std::fmt::Write as _;
use std::process::Command;

use serde::Serialize;

use crate::rows::{Asked, Row};
use crate::sections::{self, Context, Section};

/// A run: on what, with what, and what came out.
#[derive(Debug, Serialize)]
pub struct Report {
    /// When, UTC.
    pub date: String,
    /// Commit of the sources, with `+` if they were changed since.
    pub commit: String,
    /// The compiler.
    pub rustc: String,
    /// The processor, as it calls itself.
    pub cpu: String,
    /// Cores that the run could use.
    pub cores: usize,
    /// Kernel and architecture.
    pub system: String,
    /// Load of the machine at the start and at the end, averaged over a minute: other programs make numbers worse.
    pub load: [String; 2],
    /// Rules that were on, and what they and their actions hash to.
    pub rules: usize,
    /// BLAKE3 of the rule set.
    pub rule_set: String,
    /// The texts.
    pub texts: Vec<Text>,
    /// Shorter texts and fewer rounds: not a record.
    pub quick: bool,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A text that was measured on.
#[derive(Debug, Serialize)]
pub struct Text {
    name: &'static str,
    bytes: usize,
    blake3: String,
}

impl Report {
    /// A report with no rows yet.
    pub fn begin(c: &Context) -> Report {
        Report {
            date: command("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]),
            commit: commit(),
            rustc: command("rustc", &["-V"]),
            cpu: cpu(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            system: command("uname", &["-srm"]),
            load: [load(), String::new()],
            rules: c.engine.rules.rules().len(),
            rule_set: c.engine.rules.fingerprint().iter().map(|b| format!("{b:02x}")).collect(),
            texts: c.texts.iter().map(|t| Text { name: t.name, bytes: t.bytes.len(), blake3: t.hash() }).collect(),
            quick: c.quick,
            rows: Vec::new(),
        }
    }

    /// The run is over.
    pub fn end(&mut self) {
        self.load[1] = load();
    }

    /// The rows as a table for the terminal.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{}, {} cores, load {} to {}; {}; commit {}; {} rules",
            self.cpu, self.cores, self.load[0], self.load[1], self.rustc, self.commit, self.rules
        );
        for section in &sections::ALL {
            let rows: Vec<&Row> = self.rows.iter().filter(|r| r.section == section.name).collect();
            if rows.is_empty() {
                continue;
            }
            let _ = writeln!(out, "\n{}", section.title);
            for r in rows {
                let _ = writeln!(
                    out,
                    "  {:<68} {:<12} {:<30} {:<9} {}",
                    r.what,
                    r.asked_text(),
                    r.measured_text(),
                    r.verdict(),
                    r.note
                );
            }
        }
        let _ = writeln!(out, "\n{}", self.verdict());
        out
    }

    /// The rows as Markdown, a table a section, each under the command that measures it.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{}, {} cores ({}), load {} to {}. {}, profile `dist`, commit {}, {}. {} rules, set `{}…`.{}\n\n{}",
            self.cpu,
            self.cores,
            self.system,
            self.load[0],
            self.load[1],
            self.rustc,
            self.commit,
            self.date,
            self.rules,
            &self.rule_set[..16.min(self.rule_set.len())],
            if self.quick { " **A quick run: not a record.**" } else { "" },
            self.verdict()
        );
        for section in &sections::ALL {
            let rows: Vec<&Row> = self.rows.iter().filter(|r| r.section == section.name).collect();
            if rows.is_empty() {
                continue;
            }
            let _ = writeln!(out, "\n### {}\n\n`{}`\n", section.title, only(section));
            let _ = writeln!(out, "| | asked | measured, median | best round | | |\n|---|---|---|---|---|---|");
            for r in rows {
                let verdict = if r.met == Some(false) { "**MISSED**" } else { r.verdict() };
                let best = r.best_text();
                let _ = writeln!(
                    out,
                    "| {} | {} | {} | {best} | {verdict} | {} |",
                    r.what,
                    r.asked_text().replace(">=", "≥").replace("<=", "≤"),
                    r.median_text(),
                    r.note
                );
            }
        }
        out
    }

    fn verdict(&self) -> String {
        let asked = self.rows.iter().filter(|r| r.asked != Asked::Nothing);
        let met = asked.clone().filter(|r| r.met == Some(true)).count();
        let missed = asked.clone().filter(|r| r.met == Some(false)).count();
        let unknown = asked.clone().count() - met - missed;
        format!("{met} of {} targets met, {missed} missed, {unknown} not shown.", asked.count())
    }
}

/// The command that measures one section.
pub fn only(section: &Section) -> String {
    format!("make bench ARGS=\"--only {}\"", section.name)
}

/// Puts `table` between the two marks of a Markdown file; `None` if it has not got them.
pub fn between_marks(text: &str, table: &str) -> Option<String> {
    between(text, "measured", table)
}

/// `text` with `table` between `<!-- MARK: begin -->` and `<!-- MARK: end -->`; `None` if it has no such marks.
pub fn between(text: &str, mark: &str, table: &str) -> Option<String> {
    let begin = format!("<!-- {mark}: begin -->");
    let from = text.find(&begin)? + begin.len();
    let to = text[from..].find(&format!("<!-- {mark}: end -->"))? + from;
    Some(format!("{}\n\n{}\n\n{}", &text[..from], table.trim(), &text[to..]))
}

fn command(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    let text = output.ok().filter(|o| o.status.success()).and_then(|o| String::from_utf8(o.stdout).ok());
    text.map_or("unknown".into(), |t| t.trim().to_owned())
}

fn commit() -> String {
    let changed = command(
        "git",
        &["status", "--porcelain", "--untracked-files=no", "--", ":!bench/results", ":!bench/README.md"],
    );
    format!("{}{}", command("git", &["rev-parse", "--short", "HEAD"]), if changed.is_empty() { "" } else { "+" })
}

fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|l| l.strip_prefix("model name")).and_then(|l| l.split_once(':'));
    name.map_or("unknown processor".into(), |(_, n)| n.trim().to_owned())
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}
