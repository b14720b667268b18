//! The columns of the tables, the same for every format.

use forebay_scan::Family;

use super::report::{Figures, Group, Grouped, Harmless, Measured, Set};

/// What the columns of a table of labelled lines are called.
pub(crate) const LABELLED: [&str; 9] =
    ["", "hit lines", "recall", "covered", "named", "clean lines", "false positives", "any finding", "precision"];

/// What they mean.
pub(crate) const MEANING: [(&str, &str); 6] = [
    ("recall", "hit lines in which every span was found"),
    ("covered", "hit lines of which every byte of every span lies in a finding: what a redactor must reach"),
    ("named", "hit lines found by rules that name the kind or vendor"),
    ("false positives", "clean lines with a finding that must not be there"),
    ("any finding", "clean lines with any finding of the family, also a rightful one of another kind"),
    ("precision", "found lines of found lines and false positives; it depends on the mix of lines"),
];

/// The rows of a table for one set.
pub(crate) fn labelled(table: &Grouped, set: Set) -> Vec<Vec<String>> {
    table.rows_in(set).iter().map(|g| [vec![g.name.clone()], figures(g.figures(set))].concat()).collect()
}

/// What a reader of the table would ask: rows without a name of their own, and a column that cannot be anything but 0.
pub(crate) fn footnotes(table: &Grouped) -> Vec<String> {
    let mut out = Vec::new();
    let row = |wanted: fn(&str) -> bool| table.rows.iter().map(|g| g.name.as_str()).find(|n| wanted(n));
    if table.by == "source"
        && let Some(name) = row(|n| n.ends_with('/'))
    {
        out.push(format!(
            "the row `{name}`, with nothing behind the stroke: lines that have neither `rule` nor `source`"
        ));
    }
    if matches!(table.by, "vendor" | "tier") && row(|n| n == "?").is_some() {
        out.push(format!("the row `?`: lines of secrets without a `{}`", table.by));
    }
    let unnamed = |g: &&Group| {
        let c = &g.figures(Set::Full).counts;
        c.found > 0 && c.labelled == 0
    };
    let unnamed: Vec<&str> = table.rows.iter().filter(unnamed).map(|g| g.name.as_str()).collect();
    if table.by == "family" && !unnamed.is_empty() {
        out.push(format!(
            "*named* is 0 % for {}: the kinds of these lines are no names that a rule could bear (which collection a text is \
             from, for instance), so there is nothing to be named rightly",
            unnamed.join(", ")
        ));
    }
    out
}

fn figures(f: &Figures) -> Vec<String> {
    vec![
        f.counts.hits.to_string(),
        percent(f.recall),
        percent(f.covered_share),
        percent(f.labelled_share),
        f.counts.clean.to_string(),
        percent(f.false_positive_share),
        percent(f.any_share),
        percent(f.precision),
    ]
}

/// A share for people.
pub(crate) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |s| format!("{:.2} %", s * 100.0))
}

/// The head of the table of harmless files: findings of each family per MB, and the rest.
pub(crate) fn harmless_head() -> Vec<String> {
    let families = Family::ALL.iter().map(|f| f.to_string());
    let head = ["", "files", "KB"].map(str::to_owned).into_iter().chain(families);
    head.chain(["redactions", "excused", "not whole"].map(str::to_owned)).collect()
}

/// Its rows, the total last.
pub(crate) fn harmless(h: &Harmless) -> Vec<Vec<String>> {
    h.categories.iter().chain([&h.total]).map(measured).collect()
}

fn measured(m: &Measured) -> Vec<String> {
    let mut row = vec![m.name.clone(), m.counts.files.to_string(), format!("{:.1}", m.counts.bytes as f64 / 1e3)];
    row.extend(Family::ALL.iter().map(|f| format!("{:.2}", m.findings_per_mb.get(f).copied().unwrap_or(0.0))));
    row.push(format!("{:.2}", m.all_redactions_per_mb));
    row.push(m.counts.excused.to_string());
    row.push(m.counts.incomplete.to_string());
    row
}

/// What was redacted in harmless files, by family, in words.
pub(crate) fn redacted(h: &Harmless) -> String {
    let counts = &h.total.counts.redactions;
    let of = |f: &Family| format!("{f} {}", counts.get(f).copied().unwrap_or(0));
    Family::ALL.iter().map(of).collect::<Vec<_>>().join(", ")
}
