//! The arguments of `forebay rules import`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::TextOrJson;

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  forebay rules import gitleaks .gitleaks.toml --out gitleaks-pack.toml")]
pub(crate) struct RulesImportArgs {
    /// Whose rules: `gitleaks` is the one there is.
    #[command(subcommand)]
    pub(crate) command: RulesImportCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesImportCommand {
    /// A gitleaks configuration. Says on standard error which rules were not taken, and which differ.
    #[command(after_help = "\
Examples:
  forebay rules import gitleaks .gitleaks.toml --out pack.toml
  forebay rules test pack.toml                  each imported rule has examples
  forebay scan --pack pack.toml src             beside the built-in rules

Exit code 0: every rule was taken, 1: some were not, or a key or `useDefault` had no effect (the pack has the others),
2: error, no pack. A rule can become several; the report says so.")]
    Gitleaks(GitleaksArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GitleaksArgs {
    /// The configuration. Files that it extends are looked for beside it.
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// Where the pack goes. Default: standard output.
    #[arg(long, value_name = "PACK.toml")]
    pub(crate) out: Option<PathBuf>,
    /// gitleaks' own configuration, for files that extend it (`useDefault`).
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) default: Option<PathBuf>,
    /// What the rules' names begin with, so that they are not those of built-in rules. Small letters, digits, dashes.
    #[arg(long, default_value = "gitleaks-", value_name = "TEXT", value_parser = prefix)]
    pub(crate) prefix: String,
    /// How to print the report on standard error.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

fn prefix(s: &str) -> Result<String, String> {
    let good = s.len() <= 40 && s.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if good { Ok(s.to_owned()) } else { Err("use at most 40 small letters, digits and dashes".to_owned()) }
}
