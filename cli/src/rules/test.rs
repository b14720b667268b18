//! `forebay rules test`: every rule against its own examples, through the engine.
//!
//! A rule is compiled alone, so that no other rule can take its span; rules of one tracker are compiled together, since
//! they share one vocabulary. Each example runs twice, in one push and byte by byte, and both must agree.

use std::io::Write;

use anyhow::anyhow;
use forebay_scan::{RuleSpec, examples};
use serde::Serialize;

use crate::args::{RulesTestArgs, TextOrJson};
use crate::exit::Outcome;
use crate::load;
use crate::rules::bench::Bench;

#[derive(Serialize)]
struct Wrong<'a> {
    rule: &'a str,
    origin: &'a str,
    /// `missed`, `false-alarm` or `cut-dependent`.
    wrong: &'static str,
    /// The example as written in the pack, not put together.
    example: &'a str,
}

pub(crate) fn run(args: &RulesTestArgs) -> anyhow::Result<Outcome> {
    let packs = match args.packs.as_slice() {
        [] => load::builtin_packs()?,
        files => files.iter().map(|f| load::pack_file(f)).collect::<anyhow::Result<_>>()?,
    };
    let (mut rules, mut tried, mut failed) = (0, 0, 0);
    let mut out = anstream::stdout().lock();
    for pack in &packs {
        for rule in pack.rules.iter().filter(|r| args.only.as_ref().is_none_or(|t| r.name.contains(t.as_str()))) {
            rules += 1;
            let examples = rule.matches.iter().map(|e| (e, true)).chain(rule.no_matches.iter().map(|e| (e, false)));
            let mut bench = None;
            for (example, want) in examples {
                let bench = match &mut bench {
                    Some(b) => b,
                    none => none.insert(Bench::of(rule, pack)?),
                };
                tried += 1;
                if let Some(wrong) = judge(bench, rule, example, want)? {
                    failed += 1;
                    print(&mut out, args.format, &Wrong { rule: &rule.name, origin: &rule.origin, wrong, example })?;
                }
            }
        }
    }
    if let (0, Some(only)) = (rules, &args.only) {
        anyhow::bail!("no rule has `{only}` in its name; `forebay rules list` shows them all");
    }
    match args.format {
        TextOrJson::Text => writeln!(out, "{rules} rules, {tried} examples, {failed} wrong")?,
        TextOrJson::Json => {
            writeln!(out, "{}", serde_json::json!({"rules": rules, "examples": tried, "wrong": failed}))?;
        }
    }
    Ok(if failed == 0 { Outcome::Clean } else { Outcome::Findings })
}

fn print(out: &mut impl Write, format: TextOrJson, w: &Wrong<'_>) -> anyhow::Result<()> {
    match format {
        TextOrJson::Json => writeln!(out, "{}", serde_json::to_string(w)?)?,
        TextOrJson::Text => {
            let what = match w.wrong {
                "missed" => "does not match its example",
                "false-alarm" => "matches what it must not",
                _ => "gives another answer byte by byte for",
            };
            writeln!(out, "{}: {} {what} {:?}", w.origin, w.rule, w.example)?;
        }
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
