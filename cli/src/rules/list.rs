//! `forebay rules list`.

use std::io::Write;

use forebay_scan::{Action, Family, RuleSpec, Severity};
use serde::Serialize;

use crate::args::{RulesListArgs, TextOrJson};
use crate::exit::{Outcome, count};
use crate::load::Loaded;

#[derive(Serialize)]
struct Row<'a> {
    rule: &'a str,
    family: Family,
    severity: Severity,
    /// Under the profile asked for.
    action: Action,
    title: &'a str,
    origin: &'a str,
}

pub(crate) fn run(args: &RulesListArgs) -> anyhow::Result<Outcome> {
    let loaded = Loaded::profile(&args.profile)?;
    // What is not built in is compiled: a rule that no stream could use must not be listed as if it worked.
    if !(args.profile.pack.is_empty() && loaded.profile.pack_files.is_empty()) {
        loaded.compile()?;
    }
    let wanted = |r: &&RuleSpec| args.family.is_none_or(|f| f == r.family);
    let rows: Vec<Row<'_>> = loaded
        .packs
        .iter()
        .flat_map(|p| &p.rules)
        .filter(wanted)
        .map(|r| Row {
            rule: &r.name,
            family: r.family,
            severity: r.severity,
            action: loaded.profile.action_of(r),
            title: &r.title,
            origin: &r.origin,
        })
        .collect();
    let mut out = anstream::stdout().lock();
    match args.format {
        TextOrJson::Json => {
            for row in &rows {
                writeln!(out, "{}", serde_json::to_string(row)?)?;
            }
        }
        TextOrJson::Text => {
            let width = rows.iter().map(|r| r.rule.len()).max().unwrap_or(0);
            for r in &rows {
                writeln!(out, "{:width$}  {:8}  {:7}  {}", r.rule, r.severity.as_str(), r.action.as_str(), r.title)?;
            }
            writeln!(out, "{}, profile {}", count(rows.len() as u64, "rule"), loaded.profile.name)?;
        }
    }
    Ok(Outcome::Clean)
}
