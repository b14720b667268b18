//! The report as a page of a repository. Without a date and without the paths of the data: the same rules on the same
//! data make the same page.

use std::fmt::Write;

use super::columns;
use super::report::{Grouped, Harmless, Labelled, Report, Set};
use super::text::visible;
use crate::exit::count;

/// The whole page.
pub(crate) fn page(r: &Report) -> anyhow::Result<String> {
    let mut out = String::new();
    let e = &r.engine;
    writeln!(out, "# Ledger\n")?;
    writeln!(out, "What the rules find, measured by `forebay eval`. Made by `make ledger`; not edited by hand.\n")?;
    writeln!(out, "| | |\n|---|---|")?;
    writeln!(out, "| forebay | {} |", e.forebay)?;
    writeln!(out, "| profile | {}, {} |", escaped(&e.profile), e.rules_told())?;
    writeln!(out, "| rule set | `{}` |", e.fingerprint)?;
    if let Some(l) = &r.labelled {
        writeln!(out, "| labelled lines | {} in {}, `{}` |", l.lines, count(l.files, "file"), l.data)?;
    }
    if let Some(h) = &r.benign {
        writeln!(out, "| harmless files | {}, {} bytes, `{}` |", h.total.counts.files, h.total.counts.bytes, h.data)?;
    }
    for why in e.off.told() {
        writeln!(out, "\nRules {}.", escaped(&why))?;
    }
    writeln!(
        out,
        "\nThe long numbers are BLAKE3 hashes: of the rules and their actions, and of the data, which is not part of this\n\
         repository. Numbers with the same hashes can be compared; a share says nothing about texts that are unlike\n\
         those of the data."
    )?;
    if let Some(l) = &r.labelled {
        labelled(&mut out, l)?;
    }
    if let Some(h) = &r.benign {
        harmless(&mut out, h)?;
    }
    Ok(out)
}

fn labelled(out: &mut String, l: &Labelled) -> anyhow::Result<()> {
    writeln!(out, "\n## Labelled lines\n")?;
    writeln!(
        out,
        "{} lines are contested and count nowhere. The strict set is the lines that can be decided, and by a pattern\n\
         ([LABELLED.md](LABELLED.md) has the format and the rules).\n",
        l.contested
    )?;
    for (name, meaning) in columns::MEANING {
        writeln!(out, "- *{name}*: {meaning}")?;
    }
    for table in &l.tables {
        for set in l.sets {
            tabled(out, table, *set)?;
        }
        for note in columns::footnotes(table) {
            writeln!(out, "\n{note}.")?;
        }
    }
    if let Some(ends) = &l.ends {
        writeln!(
            out,
            "\nEnds: {} of {} texts that were cut are called incomplete, and {} of {} whole ones.",
            ends.cut_found, ends.cut, ends.whole_called_cut, ends.whole
        )?;
    }
    Ok(())
}

fn tabled(out: &mut String, table: &Grouped, set: Set) -> anyhow::Result<()> {
    let mut title = set.as_str().to_owned();
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    writeln!(out, "\n### {title} set, by {}\n", table.by)?;
    grid(out, &columns::LABELLED, &columns::labelled(table, set))
}

fn harmless(out: &mut String, h: &Harmless) -> anyhow::Result<()> {
    writeln!(out, "\n## Harmless files\n")?;
    writeln!(
        out,
        "Findings per MB, each a false alarm; *redactions*: findings of any family that change bytes; *excused*: what a\n\
         category holds by its nature, not counted; *not whole*: files that end early by their report.\n"
    )?;
    let head = columns::harmless_head();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    grid(out, &head, &columns::harmless(h))?;
    writeln!(out, "\nRedactions in all files: {}.", columns::redacted(h))?;
    Ok(())
}

fn grid(out: &mut String, head: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
    writeln!(out, "| {} |", head.join(" | "))?;
    writeln!(out, "|---|{}", "---:|".repeat(head.len().saturating_sub(1)))?;
    for row in rows {
        let cells: Vec<String> = row.iter().map(|c| escaped(c)).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

/// A name out of a file as plain text of Markdown.
fn escaped(name: &str) -> String {
    let mut out = String::new();
    for c in visible(name).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c if "\\`*_{}[]>|~".contains(c) => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}
