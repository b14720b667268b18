//! The report as one page that needs nothing else: no script, no font, no address is fetched. Pictures are inline SVG,
//! colours follow the reader's light or dark setting, and every name out of a file is escaped.

use std::fmt::Write;

use super::columns;
use super::report::{Grouped, Harmless, Labelled, Measured, Report, Set};
use super::score::Named;
use super::text::visible;
use crate::exit::count;
use crate::mask::cut_behind;

const STYLE: &str = include_str!("page.css");
/// Most rows of a picture; the table below it has all.
const MOST_DRAWN: usize = 30;
/// Most characters of a name beside a bar.
const NAME: usize = 26;
/// Measures of a picture, in its own units.
const LEFT: f64 = 190.0;
const BARS: f64 = 470.0;
const RIGHT: f64 = 100.0;
const ROW: f64 = 34.0;
const BAR: f64 = 10.0;

/// The whole page.
pub(crate) fn page(r: &Report) -> anyhow::Result<String> {
    let mut out = String::new();
    let e = &r.engine;
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Forebay ledger</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Ledger</h1>\n"
    )?;
    writeln!(
        out,
        "<p>forebay {}, profile <b>{}</b>, {}<br>rule set <code>{}</code></p>",
        e.forebay,
        escaped(&e.profile),
        e.rules_told(),
        e.fingerprint
    )?;
    for why in e.off.told() {
        writeln!(out, "<p>Rules {}.</p>", escaped(&why))?;
    }
    if let Some(l) = &r.labelled {
        labelled(&mut out, l)?;
    }
    if let Some(h) = &r.benign {
        harmless(&mut out, h)?;
    }
    out.push_str("</main>\n</body>\n</html>\n");
    Ok(out)
}

fn labelled(out: &mut String, l: &Labelled) -> anyhow::Result<()> {
    writeln!(out, "<h2>Labelled lines</h2>")?;
    writeln!(
        out,
        "<p>{} in {}; {} contested, left out<br>data <code>{}</code></p>",
        count(l.lines, "line"),
        count(l.files, "file"),
        l.contested,
        l.data
    )?;
    for table in &l.tables {
        for set in l.sets {
            writeln!(out, "<h3>{} set, by {}</h3>", set.as_str(), table.by)?;
            shares(out, table, *set)?;
            grid(out, &columns::LABELLED, &columns::labelled(table, *set), false)?;
        }
        if table.outside > 0 {
            writeln!(out, "<p>In no row: {} of other families.</p>", count(table.outside, "line"))?;
        }
        for note in columns::footnotes(table) {
            writeln!(out, "<p>{}.</p>", escaped(&note))?;
        }
    }
    if let Some(ends) = &l.ends {
        writeln!(
            out,
            "<p>Ends: {} of {} texts that were cut are called incomplete, and {} of {} whole ones.</p>",
            ends.cut_found, ends.cut, ends.whole_called_cut, ends.whole
        )?;
    }
    writeln!(out, "<dl>")?;
    for (name, meaning) in columns::MEANING {
        writeln!(out, "<dt>{name}</dt><dd>{meaning}</dd>")?;
    }
    writeln!(out, "</dl>")?;
    list(out, "Missed", &l.missed)?;
    list(out, "Reported wrongly", &l.false_positives)
}

fn list(out: &mut String, what: &str, lines: &[Named]) -> anyhow::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "<details><summary>{what}: the first {}</summary><ul>", lines.len())?;
    for n in lines {
        writeln!(out, "<li>{}:{}: {} {}</li>", escaped(&n.file), n.line, escaped(&n.id), escaped(&n.kind))?;
    }
    writeln!(out, "</ul></details>")?;
    Ok(())
}

fn harmless(out: &mut String, h: &Harmless) -> anyhow::Result<()> {
    writeln!(out, "<h2>Harmless files</h2>")?;
    writeln!(
        out,
        "<p>{}, {:.2} MB<br>data <code>{}</code></p>",
        count(h.total.counts.files, "file"),
        h.total.counts.bytes as f64 / 1e6,
        h.data
    )?;
    rates(out, h)?;
    let head = columns::harmless_head();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    grid(out, &head, &columns::harmless(h), true)?;
    writeln!(
        out,
        "<p>Families: findings per MB, each a false alarm. Redactions: findings of any family that change bytes, per MB; \
         in all files: {}. Excused: what a category holds by its nature, not counted.</p>",
        columns::redacted(h)
    )?;
    Ok(())
}

fn grid(out: &mut String, head: &[&str], rows: &[Vec<String>], total: bool) -> anyhow::Result<()> {
    write!(out, "<div class=\"wide\"><table>\n<thead><tr>")?;
    for title in head {
        write!(out, "<th scope=\"col\">{title}</th>")?;
    }
    writeln!(out, "</tr></thead>\n<tbody>")?;
    for (i, row) in rows.iter().enumerate() {
        let class = if total && i + 1 == rows.len() { " class=\"total\"" } else { "" };
        write!(out, "<tr{class}>")?;
        for (i, cell) in row.iter().enumerate() {
            let cell = escaped(cell);
            if i == 0 {
                write!(out, "<th scope=\"row\">{cell}</th>")?;
            } else {
                write!(out, "<td>{cell}</td>")?;
            }
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")?;
    Ok(())
}

/// Recall and precision of each row, from 0 to 100 %.
fn shares(out: &mut String, table: &Grouped, set: Set) -> anyhow::Result<()> {
    let bars: Vec<Bars> = table
        .rows_in(set)
        .into_iter()
        .filter(|g| g.figures(set).counts.hits > 0)
        .map(|g| {
            let f = g.figures(set);
            let bar =
                |class, share: Option<f64>| Bar { class, part: share.unwrap_or(0.0), says: columns::percent(share) };
            Bars { name: &g.name, bars: vec![bar("recall", f.recall), bar("precision", f.precision)] }
        })
        .collect();
    let title = format!("Recall and precision by {}, {} set", table.by, set.as_str());
    let marks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|p: f64| (p, format!("{:.0} %", p * 100.0)));
    draw(out, &title, &[("recall", "recall"), ("precision", "precision")], &marks, &bars)
}

/// Findings and redactions per MB of each category.
fn rates(out: &mut String, h: &Harmless) -> anyhow::Result<()> {
    let rows = || h.categories.iter().chain([&h.total]);
    let most = rows().map(|m| m.all_findings_per_mb).fold(0.0, f64::max);
    let part = |rate: f64| if most > 0.0 { rate / most } else { 0.0 };
    let bar = |class, rate: f64| Bar { class, part: part(rate), says: format!("{rate:.2}") };
    let bars = |m: &Measured| vec![bar("recall", m.all_findings_per_mb), bar("precision", m.all_redactions_per_mb)];
    let bars: Vec<Bars> = rows().map(|m| Bars { name: &m.name, bars: bars(m) }).collect();
    let marks = [(0.0, "0".to_owned()), (1.0, format!("{most:.1} per MB"))];
    draw(out, "Findings and redactions per MB", &[("recall", "findings"), ("precision", "redactions")], &marks, &bars)
}

struct Bars<'a> {
    name: &'a str,
    bars: Vec<Bar>,
}

struct Bar {
    class: &'static str,
    /// Of the full width.
    part: f64,
    says: String,
}

fn draw(
    out: &mut String,
    title: &str,
    legend: &[(&str, &str)],
    marks: &[(f64, String)],
    rows: &[Bars<'_>],
) -> anyhow::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let drawn = &rows[..rows.len().min(MOST_DRAWN)];
    let (top, bottom) = (34.0, 24.0);
    let height = top + ROW * drawn.len() as f64 + bottom;
    let width = LEFT + BARS + RIGHT;
    writeln!(out, "<svg viewBox=\"0 0 {width} {height}\" role=\"img\"><title>{title}</title>")?;
    let mut x = LEFT;
    for (class, name) in legend {
        writeln!(out, "<rect class=\"{class}\" x=\"{x}\" y=\"8\" width=\"10\" height=\"10\" rx=\"2\"/>")?;
        writeln!(out, "<text x=\"{}\" y=\"17\">{name}</text>", x + 16.0)?;
        x += 110.0;
    }
    let foot = height - bottom;
    for (part, says) in marks {
        let x = LEFT + BARS * part;
        writeln!(out, "<line class=\"mark\" x1=\"{x}\" x2=\"{x}\" y1=\"{}\" y2=\"{foot}\"/>", top - 4.0)?;
        writeln!(out, "<text class=\"dim\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{says}</text>", foot + 16.0)?;
    }
    for (i, row) in drawn.iter().enumerate() {
        let y = top + ROW * i as f64;
        let name = shortened(row.name);
        writeln!(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>", LEFT - 10.0, y + 18.0)?;
        for (n, bar) in row.bars.iter().enumerate() {
            let y = y + 3.0 + (BAR + 2.0) * n as f64;
            let w = BARS * bar.part.clamp(0.0, 1.0);
            writeln!(
                out,
                "<rect class=\"{}\" x=\"{LEFT}\" y=\"{y}\" width=\"{w:.1}\" height=\"{BAR}\" rx=\"2\"/>\
                 <text class=\"says\" x=\"{:.1}\" y=\"{}\">{}</text>",
                bar.class,
                LEFT + w + 6.0,
                y + 9.0,
                bar.says
            )?;
        }
    }
    writeln!(out, "</svg>")?;
    if drawn.len() < rows.len() {
        writeln!(out, "<p>The picture has the first {} of {} rows.</p>", drawn.len(), rows.len())?;
    }
    Ok(())
}

/// A name out of a file as text of a page.
fn escaped(name: &str) -> String {
    let mut out = String::new();
    for c in visible(name).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

fn shortened(name: &str) -> String {
    escaped(&cut_behind(name, NAME))
}
