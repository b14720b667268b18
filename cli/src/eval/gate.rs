//! Thresholds for a build: is every row good enough?
//!
//! A threshold holds for every row that is shown. A row without a share (no hit lines in the set) is passed over, but a
//! threshold that finds no row to look at is an error: it would hold whatever happens.

use anyhow::bail;

use super::report::{Report, Set};
use crate::args::EvalArgs;

/// Refuses arguments that mean nothing together, before anything is read.
pub(crate) fn check(args: &EvalArgs) -> anyhow::Result<()> {
    if args.files.is_empty() && args.benign.is_none() {
        bail!("there is nothing to score: name a labelled FILE, or a folder of harmless files with `--benign DIR`");
    }
    if !args.only.is_empty() && args.by.len() > 1 {
        bail!("`--only` names rows of one table; give one word to `--by`");
    }
    for (i, by) in args.by.iter().enumerate() {
        if args.by[..i].contains(by) {
            bail!("`--by` has `{}` twice; name each table once", by.as_str());
        }
    }
    Ok(())
}

/// What is below a threshold, in words.
pub(crate) fn failures(report: &Report, args: &EvalArgs) -> anyhow::Result<Vec<String>> {
    let mut out = Vec::new();
    let set = if args.full { Set::Full } else { Set::Strict };
    for (what, least) in [("recall", args.min_recall), ("precision", args.min_precision)] {
        let (Some(least), Some(labelled)) = (least, &report.labelled) else { continue };
        let mut looked_at = 0;
        for table in &labelled.tables {
            for row in &table.rows {
                let figures = row.figures(set);
                let share = if what == "recall" { figures.recall } else { figures.precision };
                let Some(share) = share else { continue };
                looked_at += 1;
                if share < least {
                    let name = super::text::visible(&row.name);
                    out.push(format!("{name}: {what} {share:.4} in the {} set is below {least}", set.as_str()));
                }
            }
        }
        if looked_at == 0 {
            bail!(
                "`--min-{what}` has no row to look at: no line of the {} set counts; take other rows, or `--full`",
                set.as_str()
            );
        }
    }
    if let Some(benign) = &report.benign {
        let rates = [
            ("findings", args.max_findings, benign.total.all_findings_per_mb),
            ("redactions", args.max_redactions, benign.total.all_redactions_per_mb),
        ];
        for (what, most, rate) in rates {
            if let Some(most) = most.filter(|most| rate > *most) {
                out.push(format!("{rate} {what} per MB of harmless files are more than {most}"));
            }
        }
    }
    Ok(out)
}
