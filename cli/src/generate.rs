//! Man pages and shell completions, made from the command line's own description so that they cannot differ from it.

use std::io::Write;

use anyhow::Context;
use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::exit::Outcome;

/// `forebay man DIR`.
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<Outcome> {
    clap_mangen::generate_to(Args::command(), &args.folder)
        .with_context(|| format!("cannot write man pages into {}; make the folder first", args.folder.display()))?;
    Ok(Outcome::Clean)
}

/// `forebay completions SHELL`.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "forebay", &mut script);
    std::io::stdout().write_all(&script).context("cannot write standard output")?;
    Ok(Outcome::Clean)
}
