//! `forebay eval`: how good the rules of a profile are, by texts whose answers are known.
//!
//! Two questions. *Labelled files* (`line`, `judge`, `names`): is what is there found, covered and rightly named, and is
//! nothing reported where nothing is? *Harmless files* (`corpus`, `benign`, `excuse`): how much is reported in a megabyte
//! of them? This is *not* a judgement of the engine's promises, which hold for any rules; and a share says nothing
//! about texts that are unlike those of the file.
//!
//! What is printed are counts and names out of the files, never a text; the attacker is who wrote the files.

mod benign;
mod columns;
mod corpus;
mod excuse;
mod gate;
mod html;
mod judge;
mod line;
mod markdown;
mod names;
mod notice;
mod report;
mod score;
mod spots;
mod tally;
mod text;

use std::io::Write;

use anyhow::Context;
use forebay_scan::Action;

use crate::args::{EvalArgs, EvalFormat};
use crate::exit::{self, Outcome};
use crate::load::Loaded;
use report::{Engine, Report};

/// Runs the command.
pub(crate) fn run(args: &EvalArgs) -> anyhow::Result<Outcome> {
    gate::check(args)?;
    let loaded = Loaded::cached(&args.profile, &args.cache)?;
    let (rules, actions) = loaded.compile_to_look()?;
    // What is told is the set that the profile means, which is the one that the daemon would tell.
    let fingerprint = match actions.contains(&Action::Block) {
        true => loaded.compile()?.fingerprint(),
        false => rules.fingerprint(),
    };
    let scored = if args.files.is_empty() { None } else { Some(score::score(&rules, args)?) };
    let benign = args.benign.as_deref().map(|folder| benign::measure(&rules, &actions, folder)).transpose()?;
    let engine = Engine::of(&loaded, &rules, fingerprint);
    let report = Report::of(engine, scored, benign, args)?;
    let failed = gate::failures(&report, args)?;

    let page = match args.format {
        EvalFormat::Text => text::page(&report)?,
        EvalFormat::Json => format!("{}\n", serde_json::to_string(&report)?),
        EvalFormat::Html => html::page(&report)?,
        EvalFormat::Markdown => markdown::page(&report)?,
    };
    let mut out = anstream::stdout().lock();
    out.write_all(page.as_bytes()).and_then(|()| out.flush()).context("cannot write standard output")?;
    for failure in &failed {
        exit::say(format_args!("forebay: {failure}"));
    }
    Ok(if failed.is_empty() { Outcome::Clean } else { Outcome::Below })
}
