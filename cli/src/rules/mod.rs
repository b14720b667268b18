//! `forebay rules`: what the rules are, whether they keep their own examples, what one of them means, and rules of others.

mod bench;
mod engine;
mod explain;
mod find;
mod import;
mod list;
mod reference;
mod test;

use crate::args::{RulesArgs, RulesCommand};
use crate::exit::Outcome;

/// Runs the command.
pub(crate) fn run(args: &RulesArgs) -> anyhow::Result<Outcome> {
    match &args.command {
        RulesCommand::List(a) => list::run(a),
        RulesCommand::Test(a) => test::run(a),
        RulesCommand::Explain(a) => explain::run(a),
        RulesCommand::Import(a) => import::run(a),
    }
}
