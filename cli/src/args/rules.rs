//! The arguments of `forebay rules`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use forebay_scan::Family;

use super::{ProfileArg, RulesImportArgs, TextOrJson};

#[derive(Debug, ClapArgs)]
pub(crate) struct RulesArgs {
    #[command(subcommand)]
    pub(crate) command: RulesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// List the rules of a profile.
    #[command(after_help = "Example:\n  forebay rules list --family secret")]
    List(RulesListArgs),
    /// Compile the rules of packs and run their examples: each `match` must be found, each `no_match` must not.
    #[command(after_help = "\
Examples:
  forebay rules test                 the built-in packs
  forebay rules test my-pack.toml    a pack of your own

Exit code 0: all examples hold (a rule without one is told), 1: an example is wrong, 2: a rule is refused or the name of
a built-in rule, so that no profile could use the pack.")]
    Test(RulesTestArgs),
    /// Say what one rule means: what it looks for, what each profile does, how the engine finds it and what that costs.
    #[command(after_help = "\
Examples:
  forebay rules explain pii.ipv4
  forebay rules explain --pack my-pack.toml secret.mine
  forebay rules explain --secrets-file .env secret.exact.env.TOKEN")]
    Explain(RulesExplainArgs),
    /// Turn the rules of another program into a pack.
    Import(RulesImportArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RulesExplainArgs {
    /// Full name, as `rules list` shows it.
    #[arg(value_name = "RULE")]
    pub(crate) rule: String,
    #[command(flatten)]
    pub(crate) profile: ProfileArg,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RulesListArgs {
    #[command(flatten)]
    pub(crate) profile: ProfileArg,
    /// Only this family: pii, secret, elision, truncation or injection.
    #[arg(long, value_parser = family)]
    pub(crate) family: Option<Family>,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RulesTestArgs {
    /// Pack files; the built-in packs if none is given.
    #[arg(value_name = "PACK.toml")]
    pub(crate) packs: Vec<PathBuf>,
    /// Only rules whose full name contains this.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

fn family(s: &str) -> Result<Family, String> {
    let all = Family::ALL.map(Family::as_str).join(", ");
    Family::ALL
        .into_iter()
        .find(|f| f.as_str() == s)
        .ok_or_else(|| format!("there is no family `{s}`; use one of {all}"))
}
