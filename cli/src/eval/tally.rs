//! Counts by group, and the shares that follow from them.
//!
//! Every line counts in the *full* set, and in the *strict* one if it can be decided and is a pattern's business;
//! contested lines count in none. Memory is bounded by the number of groups, whatever the number of lines.

use std::collections::BTreeMap;

use anyhow::bail;
use forebay_scan::Family;
use serde::Serialize;

use super::judge::Judged;
use super::line::Line;
use crate::args::By;

/// Most groups of one table. A file in which every line has a kind of its own must not fill the memory; the largest
/// rule packs have some thousand names.
const MAX_GROUPS: usize = 100_000;

/// Counts of one set of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// Lines in which something is to be found.
    pub(crate) hits: u64,
    pub(crate) found: u64,
    pub(crate) covered: u64,
    pub(crate) labelled: u64,
    pub(crate) spans: u64,
    pub(crate) spans_found: u64,
    /// Lines in which nothing is.
    pub(crate) clean: u64,
    pub(crate) false_positives: u64,
    pub(crate) any: u64,
}

impl Counts {
    fn add(&mut self, judged: &Judged) {
        match *judged {
            Judged::Hit { found, covered, labelled, spans, spans_found } => {
                self.hits += 1;
                self.found += u64::from(found);
                self.covered += u64::from(covered);
                self.labelled += u64::from(labelled);
                self.spans += spans;
                self.spans_found += spans_found;
            }
            Judged::Clean { false_positive, any, any_family: _ } => {
                self.clean += 1;
                self.false_positives += u64::from(false_positive);
                self.any += u64::from(any);
            }
        }
    }

    /// Found hits of all hits; `None` without hits.
    pub(crate) fn recall(&self) -> Option<f64> {
        share(self.found, self.hits)
    }

    /// Found hits of all lines that were reported, by lines: it depends on how many clean lines the file has.
    pub(crate) fn precision(&self) -> Option<f64> {
        share(self.found, self.found + self.false_positives)
    }
}

/// `part` of `whole`, to four places; `None` of nothing.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 1e4).round() / 1e4)
}

/// One group of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) strict: Counts,
    pub(crate) full: Counts,
    /// Lines left out of both.
    pub(crate) contested: u64,
    /// Clean lines in which nothing of the family may be found, and those of them with a finding of any family.
    pub(crate) all_scope: u64,
    pub(crate) all_scope_any_family: u64,
}

impl Row {
    fn add(&mut self, line: &Line, judged: &Judged) {
        if line.contested {
            self.contested += 1;
            return;
        }
        self.full.add(judged);
        if line.strict {
            self.strict.add(judged);
        }
        if let (super::line::Expect::Clean(super::line::Scope::All), Judged::Clean { any_family, .. }) =
            (&line.expect, judged)
        {
            self.all_scope += 1;
            self.all_scope_any_family += u64::from(*any_family);
        }
    }
}

/// Lines grouped in one way.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) by: By,
    rows: BTreeMap<String, Row>,
    /// Lines that belong to no group.
    pub(crate) outside: u64,
}

impl Table {
    pub(crate) fn new(by: By) -> Self {
        Table { by, rows: BTreeMap::new(), outside: 0 }
    }

    pub(crate) fn add(&mut self, line: &Line, judged: &Judged) -> anyhow::Result<()> {
        let Some(group) = group(self.by, line) else {
            self.outside += 1;
            return Ok(());
        };
        if !self.rows.contains_key(&group) && self.rows.len() >= MAX_GROUPS {
            bail!(
                "more than {MAX_GROUPS} groups by {by}; group by something that lines share (`--by family`), or score \
                 the file in parts",
                by = self.by.as_str()
            );
        }
        self.rows.entry(group).or_default().add(line, judged);
        Ok(())
    }

    /// By number of lines, then by name.
    pub(crate) fn into_rows(self) -> Vec<(String, Row)> {
        let mut rows: Vec<_> = self.rows.into_iter().collect();
        rows.sort_by_key(|(_, r)| std::cmp::Reverse(r.full.hits + r.full.clean));
        rows
    }
}

/// Vendors and tiers are of credentials; other lines are outside such a table.
fn group(by: By, line: &Line) -> Option<String> {
    let of_secret =
        |name: &Option<String>| (line.family == Family::Secret).then(|| name.clone().unwrap_or_else(|| "?".to_owned()));
    match by {
        By::Family => Some(line.family.to_string()),
        By::Kind => Some(format!("{}/{}", line.family, line.kind)),
        By::Source => Some(format!("{}/{}", line.family, line.origin())),
        By::Vendor => of_secret(&line.vendor),
        By::Tier => of_secret(&line.tier),
    }
}

/// Whether texts end where they should: the lines whose kinds begin with `cut-` and `whole-`, contested or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Ends {
    /// Texts that were cut.
    pub(crate) cut: u64,
    /// Those of them that the report calls incomplete.
    pub(crate) cut_found: u64,
    /// Texts that are whole.
    pub(crate) whole: u64,
    /// Those of them that the report calls incomplete.
    pub(crate) whole_called_cut: u64,
}

impl Ends {
    pub(crate) fn add(&mut self, line: &Line, complete: bool) {
        if line.family != Family::Truncation {
            return;
        }
        if line.is_cut() {
            self.cut += 1;
            self.cut_found += u64::from(!complete);
        } else if line.is_whole() {
            self.whole += 1;
            self.whole_called_cut += u64::from(!complete);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cut + self.whole == 0
    }
}
