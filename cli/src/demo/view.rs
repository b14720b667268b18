//! What the demo shows: a row for each piece, input on the left, what passed on the right, what is held behind it.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use forebay_client::{Action, Finding, Report};

use super::script::Script;
use crate::mask::push_visible;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const HELD: Style = AnsiColor::Yellow.on_default();

/// Widths of a row in a pipe; on a terminal the two texts share what is there.
const PLAIN: usize = 112;
/// Columns that are not text: number, rules, hold.
const FRAME: usize = 16;

pub(crate) struct View {
    out: anstream::Stdout,
    /// Characters of each text column.
    width: usize,
    step: usize,
}

impl View {
    pub(crate) fn new(terminal: bool) -> View {
        let columns = terminal.then(terminal_size::terminal_size).flatten().map_or(PLAIN, |(w, _)| usize::from(w.0));
        View { out: anstream::stdout(), width: (columns.clamp(72, 140) - FRAME) / 2, step: 0 }
    }

    pub(crate) fn intro(&mut self, rules: u32) -> std::io::Result<()> {
        writeln!(
            self.out,
            "A forebayd with {rules} rules listens on a temporary socket. Two streams go through it; values"
        )?;
        writeln!(self.out, "were planted in both. On the left they are masked for you, the daemon sees them in clear.")
    }

    pub(crate) fn begin(&mut self, script: &Script) -> std::io::Result<()> {
        self.step = 0;
        let w = self.width;
        writeln!(self.out, "\n{BOLD}{} (profile {}){BOLD:#}\n", script.title, script.profile)?;
        writeln!(self.out, "{DIM}  #  {:w$}   {:w$}   held{DIM:#}", "in", "out")
    }

    /// One piece. `held` is `None` at the end, when nothing is.
    pub(crate) fn step(
        &mut self,
        input: &str,
        passed: &[u8],
        held: Option<u64>,
        findings: &[Finding],
    ) -> std::io::Result<()> {
        self.step += 1;
        let w = self.width;
        let left = self.cells(input);
        let right = self.cells(&String::from_utf8_lossy(passed));
        for i in 0..left.len().max(right.len()).max(1) {
            let number = if i == 0 && held.is_some() { self.step.to_string() } else { String::new() };
            let l = left.get(i).map_or("", String::as_str);
            let r = right.get(i).map_or("", String::as_str);
            let hold = match held {
                Some(n) if i == 0 && n > 0 => format!("{HELD}{n:>4}{HELD:#}"),
                _ => String::new(),
            };
            let line = format!("{DIM}{number:>3}{DIM:#}  {l:w$} {DIM}│{DIM:#} {r:w$} {DIM}│{DIM:#} {hold}");
            writeln!(self.out, "{}", line.trim_end())?;
        }
        for f in findings {
            let what = match f.action {
                Action::Flag => "reported",
                Action::Mask => "masked",
                Action::Replace => "replaced",
                Action::Block => "blocked",
            };
            let style = if f.action == Action::Flag { HELD } else { GOOD };
            writeln!(
                self.out,
                "     {:w$} {DIM}│{DIM:#} {style}^ {}, bytes {} to {}: {what}{style:#}",
                "", f.rule, f.start, f.end
            )?;
        }
        Ok(())
    }

    pub(crate) fn end(
        &mut self,
        bytes: usize,
        findings: usize,
        holds: &[u64],
        report: Option<&Report>,
    ) -> std::io::Result<()> {
        let mean = holds.iter().sum::<u64>() as f64 / holds.len().max(1) as f64;
        let most = holds.iter().max().copied().unwrap_or(0);
        writeln!(
            self.out,
            "\n{bytes} bytes in {} pieces; {findings} findings; held after a piece: {mean:.1} bytes on average, {most} at most",
            holds.len()
        )?;
        match report {
            Some(r) if !r.complete => {
                let codes: Vec<&str> = r.reasons.iter().map(|r| r.code.as_str()).collect();
                writeln!(self.out, "the content is {HELD}not whole{HELD:#}: {}", codes.join(", "))
            }
            _ => writeln!(self.out, "the content is whole"),
        }
    }

    pub(crate) fn outro(&mut self, planted: usize) -> std::io::Result<()> {
        writeln!(self.out, "\n{GOOD}{planted} planted values, none of them passed.{GOOD:#}")
    }

    /// Cuts a text into cells of the column's width; a line end shows as ⏎.
    fn cells(&self, text: &str) -> Vec<String> {
        let mut visible = String::new();
        for c in text.chars() {
            if c == '\n' { visible.push('⏎') } else { push_visible(&mut visible, c) }
        }
        let chars: Vec<char> = visible.chars().collect();
        chars.chunks(self.width).map(|c| c.iter().collect()).collect()
    }
}
