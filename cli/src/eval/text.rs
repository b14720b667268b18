//! The report for people at a terminal.

use std::fmt::Write;

use super::columns;
use super::report::{Harmless, Labelled, Report};
use super::score::Named;
use crate::exit::count;
use crate::mask::{cut_behind, push_visible};

/// Most characters of a name that are shown.
const NAME: usize = 60;

/// The whole report.
pub(crate) fn page(r: &Report) -> anyhow::Result<String> {
    let mut out = String::new();
    let e = &r.engine;
    writeln!(out, "forebay {}, profile {}, {}", e.forebay, visible(&e.profile), e.rules_told())?;
    for why in e.off.told() {
        writeln!(out, "{}", visible(&why))?;
    }
    writeln!(out, "rule set {}", e.fingerprint)?;
    if let Some(l) = &r.labelled {
        labelled(&mut out, l)?;
    }
    if let Some(h) = &r.benign {
        harmless(&mut out, h)?;
    }
    Ok(out)
}

fn labelled(out: &mut String, l: &Labelled) -> anyhow::Result<()> {
    let left_out = if l.contested > 0 { format!("; {} contested, left out", l.contested) } else { String::new() };
    writeln!(out, "\n{} in {}{left_out}", count(l.lines, "labelled line"), count(l.files, "file"))?;
    let bold = anstyle::Style::new().bold();
    for table in &l.tables {
        for set in l.sets {
            writeln!(out, "\n{bold}{} set, by {}{bold:#}", set.as_str(), table.by)?;
            grid(out, &columns::LABELLED, &columns::labelled(table, *set))?;
        }
        if table.outside > 0 {
            writeln!(out, "in no row: {} of other families", count(table.outside, "line"))?;
        }
        for note in columns::footnotes(table) {
            writeln!(out, "{note}")?;
        }
    }
    if let Some(ends) = &l.ends {
        writeln!(
            out,
            "\nends: {} of {} cut texts found, {} of {} whole ones called cut",
            ends.cut_found, ends.cut, ends.whole_called_cut, ends.whole
        )?;
    }
    list(out, "missed", &l.missed)?;
    list(out, "reported wrongly", &l.false_positives)
}

fn list(out: &mut String, what: &str, lines: &[Named]) -> anyhow::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nfirst {} {what}", lines.len())?;
    for n in lines {
        writeln!(out, "  {}:{}: {} {}", visible(&n.file), n.line, visible(&n.id), visible(&n.kind))?;
    }
    Ok(())
}

fn harmless(out: &mut String, h: &Harmless) -> anyhow::Result<()> {
    let bold = anstyle::Style::new().bold();
    writeln!(out, "\n{bold}findings per MB of harmless files{bold:#}")?;
    let head = columns::harmless_head();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    grid(out, &head, &columns::harmless(h))?;
    writeln!(out, "redacted: {}", columns::redacted(h))?;
    if h.binary_files_left_out > 0 {
        writeln!(out, "{} left out", count(h.binary_files_left_out, "binary file"))?;
    }
    Ok(())
}

/// Names to the left, numbers to the right.
fn grid(out: &mut String, head: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
    if rows.is_empty() {
        writeln!(out, "no line")?;
        return Ok(());
    }
    let names: Vec<String> = rows.iter().map(|r| shortened(r.first().map_or("", String::as_str))).collect();
    let width = |s: &str| s.chars().count();
    let first = names.iter().map(|n| width(n)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len())
        .map(|i| rows.iter().filter_map(|r| r.get(i)).map(|c| width(c)).max().unwrap_or(0).max(width(head[i])))
        .collect();
    write!(out, "{:first$}", "")?;
    for (title, w) in head.iter().zip(&widths).skip(1) {
        write!(out, "  {title:>w$}")?;
    }
    writeln!(out)?;
    for (row, name) in rows.iter().zip(&names) {
        write!(out, "{name:first$}")?;
        for (cell, w) in row.iter().zip(&widths).skip(1) {
            write!(out, "  {cell:>w$}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A name out of a file, safe to print.
pub(crate) fn visible(name: &str) -> String {
    let mut out = String::new();
    name.chars().for_each(|c| push_visible(&mut out, c));
    out
}

fn shortened(name: &str) -> String {
    cut_behind(&visible(name), NAME)
}
