//! What was measured, as it is printed in every format. The JSON form is this, field by field.

use std::collections::BTreeMap;

use anyhow::bail;
use forebay_scan::{Action, Family, RuleSet};
use serde::Serialize;

use super::benign::{Benign, Category};
use super::score::{Named, Scored};
use super::tally::{Counts, Ends, Row, share};
use crate::args::EvalArgs;
use crate::exit::count;
use crate::load::Loaded;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    pub(crate) engine: Engine,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) labelled: Option<Labelled>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) benign: Option<Harmless>,
}

/// What did the finding.
#[derive(Debug, Serialize)]
pub(crate) struct Engine {
    /// Version of the program.
    pub(crate) forebay: &'static str,
    pub(crate) profile: String,
    pub(crate) rules: usize,
    /// With those that are off: they are not looked for.
    pub(crate) known_rules: usize,
    /// Rules that are off, by whom.
    pub(crate) off: Off,
    /// Of the rule set under the profile, as the daemon's status tells it.
    pub(crate) fingerprint: String,
}

impl Engine {
    pub(crate) fn of(loaded: &Loaded, rules: &RuleSet, fingerprint: [u8; 32]) -> Self {
        Engine {
            forebay: env!("CARGO_PKG_VERSION"),
            profile: loaded.profile.name.clone(),
            rules: rules.rules().count(),
            known_rules: loaded.packs.iter().map(|p| p.rules.len()).sum(),
            off: Off::of(loaded),
            fingerprint: hex(&fingerprint),
        }
    }
}

/// Rules that are not looked for, by full name.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Off {
    /// Where they are written: `action = "allow"`.
    pub(crate) by_pack: Vec<String>,
    /// By the profile: the rule or its family is on `allow`.
    pub(crate) by_profile: Vec<String>,
}

impl Off {
    fn of(loaded: &Loaded) -> Off {
        let mut off = Off::default();
        let all = loaded.packs.iter().flat_map(|p| &p.rules);
        for rule in all.filter(|r| loaded.profile.action_of(r) == Action::Allow) {
            let by_profile = loaded.profile.rules.contains_key(&rule.name) || rule.action != Some(Action::Allow);
            let list = if by_profile { &mut off.by_profile } else { &mut off.by_pack };
            list.push(rule.name.clone());
        }
        off
    }

    /// Why they are off, in words; a line for each reason.
    pub(crate) fn told(&self) -> Vec<String> {
        // A profile may switch off a whole family.
        const MOST: usize = 6;
        let named = |names: &[String]| {
            let more = names.len().saturating_sub(MOST);
            let shown = names[..names.len().min(MOST)].join(", ");
            if more > 0 { format!("{shown} and {more} more") } else { shown }
        };
        let mut out = Vec::new();
        if !self.by_pack.is_empty() {
            out.push(format!(
                "off where they are written, because they are wrong too often to be on for everybody: {} (a profile's \
                 [rule] turns one on)",
                named(&self.by_pack)
            ));
        }
        if !self.by_profile.is_empty() {
            out.push(format!("off by the profile: {}", named(&self.by_profile)));
        }
        out
    }
}

impl Engine {
    /// How many rules there are, in words: `2 rules`, or `2 of 3 rules` if some are off.
    pub(crate) fn rules_told(&self) -> String {
        match self.known_rules.saturating_sub(self.rules) {
            0 => count(self.rules as u64, "rule"),
            _ => format!("{} of {}", self.rules, count(self.known_rules as u64, "rule")),
        }
    }
}

/// Labelled files.
#[derive(Debug, Serialize)]
pub(crate) struct Labelled {
    pub(crate) files: u64,
    pub(crate) lines: u64,
    /// Lines left out of all shares.
    pub(crate) contested: u64,
    /// BLAKE3 of the files' bytes, in order.
    pub(crate) data: String,
    pub(crate) tables: Vec<Grouped>,
    /// Whether ends are told; absent if no line is about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ends: Option<Ends>,
    pub(crate) missed: Vec<Named>,
    pub(crate) false_positives: Vec<Named>,
    /// The sets to be shown; the JSON form has both.
    #[serde(skip)]
    pub(crate) sets: &'static [Set],
}

/// A set of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    Strict,
    Full,
}

impl Set {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Set::Strict => "strict",
            Set::Full => "full",
        }
    }
}

/// A table.
#[derive(Debug, Serialize)]
pub(crate) struct Grouped {
    pub(crate) by: &'static str,
    pub(crate) rows: Vec<Group>,
    /// Lines that belong to no row.
    pub(crate) outside: u64,
}

impl Grouped {
    /// The rows with a line in the set, those with most lines first.
    pub(crate) fn rows_in(&self, set: Set) -> Vec<&Group> {
        let lines = |g: &&Group| g.figures(set).counts.hits + g.figures(set).counts.clean;
        let mut rows: Vec<&Group> = self.rows.iter().filter(|g| lines(g) > 0).collect();
        rows.sort_by_key(|g| std::cmp::Reverse(lines(g)));
        rows
    }
}

/// A row of a table.
#[derive(Debug, Serialize)]
pub(crate) struct Group {
    pub(crate) name: String,
    strict: Figures,
    full: Figures,
    pub(crate) contested: u64,
    pub(crate) all_scope: u64,
    pub(crate) all_scope_any_family: u64,
}

impl Group {
    fn of(name: String, row: Row) -> Self {
        Group {
            name,
            strict: Figures::of(row.strict),
            full: Figures::of(row.full),
            contested: row.contested,
            all_scope: row.all_scope,
            all_scope_any_family: row.all_scope_any_family,
        }
    }

    pub(crate) fn figures(&self, set: Set) -> &Figures {
        match set {
            Set::Strict => &self.strict,
            Set::Full => &self.full,
        }
    }
}

/// Counts, and the shares that follow: from 0 to 1, to four places, null of nothing.
#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    #[serde(flatten)]
    pub(crate) counts: Counts,
    pub(crate) recall: Option<f64>,
    pub(crate) covered_share: Option<f64>,
    pub(crate) labelled_share: Option<f64>,
    pub(crate) span_recall: Option<f64>,
    pub(crate) precision: Option<f64>,
    pub(crate) false_positive_share: Option<f64>,
    pub(crate) any_share: Option<f64>,
}

impl Figures {
    fn of(c: Counts) -> Self {
        Figures {
            recall: c.recall(),
            covered_share: share(c.covered, c.hits),
            labelled_share: share(c.labelled, c.hits),
            span_recall: share(c.spans_found, c.spans),
            precision: c.precision(),
            false_positive_share: share(c.false_positives, c.clean),
            any_share: share(c.any, c.clean),
            counts: c,
        }
    }
}

/// A folder of harmless files.
#[derive(Debug, Serialize)]
pub(crate) struct Harmless {
    /// BLAKE3 of the files' names and bytes, in order.
    pub(crate) data: String,
    pub(crate) binary_files_left_out: u64,
    pub(crate) total: Measured,
    pub(crate) categories: Vec<Measured>,
}

/// A category, or the total.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) counts: Category,
    pub(crate) findings_per_mb: BTreeMap<Family, f64>,
    pub(crate) redactions_per_mb: BTreeMap<Family, f64>,
    pub(crate) all_findings_per_mb: f64,
    pub(crate) all_redactions_per_mb: f64,
}

impl Measured {
    fn of(name: String, counts: Category) -> Self {
        let rates = |n: &BTreeMap<Family, u64>| n.iter().map(|(f, n)| (*f, counts.per_mb(*n))).collect();
        Measured {
            name,
            findings_per_mb: rates(&counts.findings),
            redactions_per_mb: rates(&counts.redactions),
            all_findings_per_mb: counts.per_mb(counts.findings.values().sum()),
            all_redactions_per_mb: counts.per_mb(counts.redactions.values().sum()),
            counts,
        }
    }
}

impl Report {
    pub(crate) fn of(
        engine: Engine,
        scored: Option<Scored>,
        benign: Option<Benign>,
        args: &EvalArgs,
    ) -> anyhow::Result<Report> {
        Ok(Report {
            engine,
            labelled: scored.map(|s| labelled(s, args)).transpose()?,
            benign: benign.map(|b| Harmless {
                data: hex(&b.data),
                binary_files_left_out: b.binary,
                total: Measured::of("all".to_owned(), b.total),
                categories: b.categories.into_iter().map(|(name, c)| Measured::of(name, c)).collect(),
            }),
        })
    }
}

fn labelled(scored: Scored, args: &EvalArgs) -> anyhow::Result<Labelled> {
    let mut tables = Vec::new();
    for table in scored.tables {
        let (by, outside) = (table.by.as_str(), table.outside);
        let rows: Vec<Group> = table.into_rows().into_iter().map(|(name, row)| Group::of(name, row)).collect();
        tables.push(Grouped { by, rows: only(rows, by, &args.only)?, outside });
    }
    Ok(Labelled {
        files: scored.files,
        lines: scored.lines,
        contested: scored.contested,
        data: hex(&scored.data),
        tables,
        ends: (!scored.ends.is_empty()).then_some(scored.ends),
        missed: scored.missed,
        false_positives: scored.false_positives,
        sets: if args.full { &[Set::Strict, Set::Full] } else { &[Set::Strict] },
    })
}

/// The rows asked for. A name that no row has is an error: a threshold that looks at nothing would always hold.
fn only(rows: Vec<Group>, by: &str, names: &[String]) -> anyhow::Result<Vec<Group>> {
    if names.is_empty() {
        return Ok(rows);
    }
    for name in names {
        if !rows.iter().any(|r| r.name == *name) {
            let there: Vec<&str> = rows.iter().take(12).map(|r| r.name.as_str()).collect();
            let more = if rows.len() > there.len() { ", …" } else { "" };
            bail!("there is no row `{name}` by {by}; there are: {}{more}", there.join(", "));
        }
    }
    Ok(rows.into_iter().filter(|r| names.contains(&r.name)).collect())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
