//! Man page and shell completions, made from the command line's own description so that they cannot differ from it.

use std::io::Write;
use std::path::Path;

use anyhow::Context;

/// `forebayd man DIR`: the program's page and one for each command.
pub(crate) fn man(command: clap::Command, folder: &Path) -> anyhow::Result<()> {
    clap_mangen::generate_to(command, folder)
        .with_context(|| format!("cannot write man pages into {}; make the folder first", folder.display()))
}

/// `forebayd completions SHELL`.
pub(crate) fn completions(mut command: clap::Command, shell: clap_complete::Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "forebayd", &mut script);
    std::io::stdout().write_all(&script).context("cannot write standard output")
}
