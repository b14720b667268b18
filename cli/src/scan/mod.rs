//! `forebay scan`: what is in files, folders and lines of JSON. Changes nothing.

mod jsonl;
pub(crate) mod record;

use anyhow::bail;

use crate::args::ScanArgs;
use crate::exit::Outcome;
use crate::load::Loaded;

/// Runs the command.
pub(crate) fn run(args: &ScanArgs) -> anyhow::Result<Outcome> {
    let rules = Loaded::profile(&args.profile.profile)?.compile()?;
    if args.jsonl {
        return jsonl::run(&rules);
    }
    bail!("give `--jsonl`")
}
