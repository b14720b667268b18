//! The arguments of `forebay eval`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::{CacheArg, ProfileArg};

const EXAMPLES: &str = "\
Examples:
  forebay eval labelled.jsonl                        recall and precision by family
  forebay eval labelled --by tier,vendor             a folder: every *.jsonl in it
  forebay eval --benign corpus                       findings and redactions per MB
  forebay eval s.jsonl --by tier --only prefix --min-recall 0.95 --min-precision 0.97
  forebay eval labelled --benign corpus --format html > ledger.html

Exit codes: 0 done, 1 a threshold was not reached, 2 error. A line that is not understood is an error: up to ten are
named, and nothing is scored.";

/// What the long help begins with.
pub(super) const LONG: &str = "\
Scores the rules of a profile: what they find of what is there, and what they report where nothing is.

Labelled files have one JSON object a line:
  family       secret, pii, elision, truncation or injection
  kind         what it is about, such as credit-card
  text         the text
  expect       hit: something of the kind is in it; clean: nothing of the kind is
  spans        [[start, end], ...] of what must be found, in bytes of the text's UTF-8; null: somewhere
  clean_scope  on clean lines: kind (only this kind is wrong, the default) or all (any of the family is)
  contested    true: left out of all shares
  weak, hard, ambiguous, placeholder_like
               true: in the full set, not in the strict one
  tier         prefix, context, generic or identifier; the last two are not in the strict set
  id, vendor, rule, source
               names for tables and lists
Other fields are ignored, and told. docs/LABELLED.md has the rules of scoring.

A folder of harmless files may have a manifest.jsonl with {\"file\",\"category\"} lines; without one the category of a file
is the folder it stands in, or what its name says. Nothing that is printed holds any of the texts.";

#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EvalArgs {
    /// Labelled files, or folders of *.jsonl; `-` is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A folder of harmless files: every finding in it is a false alarm.
    #[arg(long, value_name = "DIR")]
    pub(crate) benign: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) profile: ProfileArg,
    #[command(flatten)]
    pub(crate) cache: CacheArg,
    /// What the rows of the tables are; several make several tables.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "family", requires = "files")]
    pub(crate) by: Vec<By>,
    /// Only the row of this name, in the table and for the thresholds; may be given again.
    #[arg(long, value_name = "ROW", requires = "files")]
    pub(crate) only: Vec<String>,
    /// Show the full set too, and hold the thresholds against it: weak, hard, ambiguous and placeholder-like lines and
    /// the tiers generic and identifier count.
    #[arg(long, requires = "files")]
    pub(crate) full: bool,
    /// List the first N missed and the first N wrongly reported lines, by file, line and id.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = misses, requires = "files")]
    pub(crate) misses: usize,
    /// Fail if the recall of a row is below this share, such as 0.95.
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "files")]
    pub(crate) min_recall: Option<f64>,
    /// Fail if the precision of a row is below this share.
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "files")]
    pub(crate) min_precision: Option<f64>,
    /// Fail if the harmless folder as a whole has more findings per MB.
    #[arg(long, value_name = "PER_MB", value_parser = rate, requires = "benign")]
    pub(crate) max_findings: Option<f64>,
    /// Fail if it has more redactions per MB.
    #[arg(long, value_name = "PER_MB", value_parser = rate, requires = "benign")]
    pub(crate) max_redactions: Option<f64>,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: EvalFormat,
}

/// What a table's rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The family.
    Family,
    /// Family and kind.
    Kind,
    /// The vendor; lines of family secret only.
    Vendor,
    /// What gives the secret away; lines of family secret only.
    Tier,
    /// Family, and who says so: the name before the colon in `rule`, or in `source`.
    Source,
}

impl By {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            By::Family => "family",
            By::Kind => "kind",
            By::Vendor => "vendor",
            By::Tier => "tier",
            By::Source => "source",
        }
    }
}

/// How `eval` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvalFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object with the strict and the full counts.
    Json,
    /// A page of its own, with a picture.
    Html,
    /// For a repository.
    Markdown,
}

/// Most lines that are listed: more is no list to read, and `--format json` of it fills memory.
const MOST_LISTED: usize = 100_000;

fn misses(s: &str) -> Result<usize, String> {
    s.parse().ok().filter(|n| *n <= MOST_LISTED).ok_or_else(|| format!("give a whole number up to {MOST_LISTED}"))
}

fn share(s: &str) -> Result<f64, String> {
    let bad = || "give a share from 0 to 1; 95 % is 0.95".to_owned();
    s.parse().ok().filter(|x| (0.0..=1.0).contains(x)).ok_or_else(bad)
}

fn rate(s: &str) -> Result<f64, String> {
    let bad = || "give a number per megabyte, such as 0 or 1.5".to_owned();
    s.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0).ok_or_else(bad)
}
