//! `forebay rules test`: every rule compiles, and keeps its own examples, through the engine.
//!
//! A rule is compiled alone, so that no other rule can take its span; rules of one tracker are compiled together, since
//! they share one vocabulary. Each example runs twice, in one push and byte by byte, and both must agree. A rule that the
//! engine refuses is named and the next one is tried: who mends a pack wants to see all of it. A rule without examples is
//! compiled too, and told. Names that built-in rules have are told as well: no profile could load both.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{anyhow, bail};
use forebay_scan::{Pack, RuleSpec, examples};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::{RulesTestArgs, TextOrJson};
use crate::exit::{Outcome, count};
use crate::load;
use crate::rules::bench::Bench;
use crate::rules::{engine, reference};

#[derive(Serialize)]
struct Line<'a> {
    rule: &'a str,
    origin: &'a str,
    /// `missed`, `false-alarm`, `cut-dependent`, or `refused`: it does not compile.
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong: Option<&'static str>,
    /// `no-example`: nothing shows that the rule finds anything. `cost`: it is dearer than a rule should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
    /// The example as written in the pack, not put together.
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<&'a str>,
    /// Why a rule was refused or is dear, and the mend.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

/// What was counted.
#[derive(Default, Serialize)]
struct Tally {
    rules: u64,
    examples: u64,
    wrong: u64,
    refused: u64,
    without_example: u64,
}

pub(crate) fn run(args: &RulesTestArgs) -> anyhow::Result<Outcome> {
    let builtin = load::builtin_packs()?;
    let own: Vec<Pack> = args.packs.iter().map(|f| load::pack_file(f)).collect::<anyhow::Result<_>>()?;
    let packs = if own.is_empty() { &builtin } else { &own };
    let wanted = |r: &&RuleSpec| args.only.as_ref().is_none_or(|t| r.name.contains(t.as_str()));
    let all = packs.iter().map(|p| p.rules.iter().filter(wanted).count() as u64).sum();
    // The authors of built-in rules know what they cost; `rules explain` tells it of each.
    let reference = (!own.is_empty()).then(reference::text);
    // Drawn on a terminal only; the built-in rules take a while.
    let progress = ProgressBar::new(all);
    let mut known = if own.is_empty() { BTreeMap::new() } else { names(&builtin, &own) };
    let mut tally = Tally::default();
    let mut tell = |line: &Line<'_>| progress.suspend(|| print(args.format, line));
    for pack in packs {
        let before = tally.refused;
        for rule in pack.rules.iter().filter(wanted) {
            progress.inc(1);
            tally.rules += 1;
            let blank =
                Line { rule: &rule.name, origin: &rule.origin, wrong: None, warning: None, example: None, why: None };
            let refused = |why: &str, tell: &mut dyn FnMut(&Line<'_>) -> anyhow::Result<()>| {
                tell(&Line { wrong: Some("refused"), why: Some(why), ..blank })
            };
            if !own.is_empty()
                && let Some(first) = known.insert(&rule.name, &rule.origin)
            {
                tally.refused += 1;
                refused(&format!("there is a rule `{}` already, in {first}; rename this one", rule.name), &mut tell)?;
                continue;
            }
            let mut bench = match Bench::of(rule, pack) {
                Ok(b) => b,
                Err(e) => {
                    tally.refused += 1;
                    let what = e.what.strip_prefix(&format!("rule `{}`: ", rule.name)).unwrap_or(&e.what);
                    refused(&format!("{what}; {}", e.mend), &mut tell)?;
                    continue;
                }
            };
            if rule.matches.is_empty() {
                tally.without_example += 1;
                tell(&Line { warning: Some("no-example"), ..blank })?;
            }
            for dear in reference.iter().flat_map(|text| engine::warnings_of(rule, text)) {
                tell(&Line { warning: Some("cost"), why: Some(&dear), ..blank })?;
            }
            let examples = rule.matches.iter().map(|e| (e, true)).chain(rule.no_matches.iter().map(|e| (e, false)));
            for (example, want) in examples {
                tally.examples += 1;
                if let Some(wrong) = judge(&mut bench, rule, example, want)? {
                    tally.wrong += 1;
                    tell(&Line { wrong: Some(wrong), example: Some(example), ..blank })?;
                }
            }
        }
        // Rules that compile one by one may be too many together.
        if !own.is_empty() && tally.refused == before {
            Bench::all(pack.clone())?;
        }
    }
    progress.finish_and_clear();
    if let (0, Some(only)) = (tally.rules, &args.only) {
        bail!("no rule has `{only}` in its name; `forebay rules list` shows them all");
    }
    end(args.format, &tally)?;
    if tally.refused > 0 {
        bail!(
            "{} refused (named above); no profile can use the pack before that is mended",
            count(tally.refused, "rule")
        );
    }
    Ok(if tally.wrong == 0 { Outcome::Clean } else { Outcome::Findings })
}

/// The built-in rules by name, without those of a pack that is being worked on: a pack of the same name that has at least
/// half of the built-in one's rules is that one.
fn names<'a>(builtin: &'a [Pack], own: &[Pack]) -> BTreeMap<&'a str, &'a str> {
    let has = |o: &Pack, r: &RuleSpec| o.rules.iter().any(|x| x.name == r.name);
    let is_copy = |b: &&Pack| {
        let shared = |o: &Pack| b.rules.iter().filter(|r| has(o, r)).count();
        own.iter().any(|o| o.name == b.name && 2 * shared(o) >= b.rules.len())
    };
    builtin.iter().filter(|b| !is_copy(b)).flat_map(|p| &p.rules).map(|r| (&*r.name, &*r.origin)).collect()
}

fn end(format: TextOrJson, t: &Tally) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    if format == TextOrJson::Json {
        writeln!(out, "{}", serde_json::to_string(t)?)?;
        return Ok(());
    }
    write!(out, "{}, {}, {} wrong", count(t.rules, "rule"), count(t.examples, "example"), t.wrong)?;
    if t.refused > 0 {
        write!(out, ", {} refused", count(t.refused, "rule"))?;
    }
    if t.without_example > 0 {
        write!(out, ", {} without a `match` example", count(t.without_example, "rule"))?;
    }
    writeln!(out)?;
    Ok(())
}

fn print(format: TextOrJson, l: &Line<'_>) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    if format == TextOrJson::Json {
        writeln!(out, "{}", serde_json::to_string(l)?)?;
        return Ok(());
    }
    write!(out, "{}: ", l.origin)?;
    if let Some(why) = l.why {
        // What was written in a pack commands no terminal.
        let is = if l.wrong.is_some() { "is refused" } else { "costs much" };
        writeln!(out, "{} {is}: {}", l.rule, why.replace(char::is_control, "\u{fffd}"))?;
        return Ok(());
    }
    let what = match l.wrong {
        Some("missed") => "does not match its example",
        Some("false-alarm") => "matches what it must not",
        Some(_) => "gives another answer byte by byte for",
        None => "has no example: add a text that it must find, as in `match = [\"…\"]`",
    };
    match l.example {
        Some(example) => writeln!(out, "{} {what} {example:?}", l.rule)?,
        None => writeln!(out, "{} {what}", l.rule)?,
    }
    Ok(())
}

fn judge(bench: &mut Bench, rule: &RuleSpec, example: &str, want: bool) -> anyhow::Result<Option<&'static str>> {
    let text = examples::expand(example).map_err(|e| anyhow!("{}: example {example:?}: {e}", rule.origin))?;
    let whole = bench.filter(text.as_bytes(), text.len().max(1));
    let found = whole.findings.iter().any(|f| bench.name(f.rule) == Some(&rule.name));
    Ok(match (found, want) {
        (false, true) => Some("missed"),
        (true, false) => Some("false-alarm"),
        _ if bench.filter(text.as_bytes(), 1) != whole => Some("cut-dependent"),
        _ => None,
    })
}
