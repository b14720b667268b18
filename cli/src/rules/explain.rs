//! `forebay rules explain`: one rule in full.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::anyhow;
use forebay_scan::pattern::Parts;
use forebay_scan::{Action, Nearby, Pack, Profile, RuleSpec, What};
use serde::Serialize;

use super::engine::Engine;
use super::find;
use crate::args::{RulesExplainArgs, TextOrJson};
use crate::exit::{Outcome, count};
use crate::load::{self, Loaded};

#[derive(Serialize)]
struct Explained<'a> {
    rule: &'a str,
    title: &'a str,
    family: &'static str,
    severity: &'static str,
    /// Which label wins when spans overlap: higher first.
    priority: u32,
    /// Label of the token that takes a span's place.
    token: &'a str,
    origin: &'a str,
    /// `pattern`, `region`, `tracker` or `exact`.
    kind: &'static str,
    /// The parts as written, by name.
    parts: BTreeMap<&'static str, &'a str>,
    /// Shortest and longest match of each part, in bytes.
    bytes: Vec<Bounds>,
    checks: Vec<String>,
    /// What is let through although it matches.
    allow: Vec<String>,
    nearby: Option<Words<'a>>,
    unless: Option<Words<'a>>,
    /// By profile: the built-in ones, and the one that was asked for.
    actions: BTreeMap<&'a str, Action>,
    /// What the engine does with it.
    engine: Engine,
    /// As written in the pack, not put together.
    matches: &'a [String],
    no_matches: &'a [String],
}

#[derive(Serialize)]
struct Bounds {
    part: &'static str,
    least: usize,
    most: usize,
}

#[derive(Serialize)]
struct Words<'a> {
    words: &'a [String],
    within: usize,
}

pub(crate) fn run(args: &RulesExplainArgs) -> anyhow::Result<Outcome> {
    let mut loaded = Loaded::profile(&args.profile)?;
    // A pack named on the command line comes first: the rule that is asked for is most likely its.
    let own = loaded.packs.len() - args.profile.pack.len();
    loaded.packs.rotate_left(own);
    let (own, others) = loaded.packs.split_at(args.profile.pack.len());
    let (pack, rule) = match find::rule(own, &args.rule, &loaded.profile.name) {
        Ok(found) => found,
        Err(_) => {
            find::rule(&loaded.packs, &args.rule, &loaded.profile.name).map_err(|e| left_out(e, others, &args.rule))?
        }
    };
    let explained = explain(rule, Engine::of(pack, rule)?, &loaded.profile);
    let mut out = anstream::stdout().lock();
    match args.format {
        TextOrJson::Json => writeln!(out, "{}", serde_json::to_string(&explained)?)?,
        TextOrJson::Text => print(&mut out, &explained)?,
    }
    Ok(Outcome::Clean)
}

/// Says so if the rule is built in and only the profile lacks its pack.
fn left_out(e: anyhow::Error, packs: &[Pack], name: &str) -> anyhow::Error {
    let all = load::builtin_packs().unwrap_or_default();
    match all.iter().find(|p| p.rules.iter().any(|r| r.name == name)) {
        Some(pack) if !packs.iter().any(|p| p.name == pack.name) => anyhow!(
            "{name} is a rule of the pack `{0}`, which this profile leaves out; add \"{0}\" to its `packs`, or ask \
             without --profile",
            pack.name
        ),
        _ => e,
    }
}

fn explain<'a>(rule: &'a RuleSpec, engine: Engine, profile: &'a Profile) -> Explained<'a> {
    let (kind, parts, bytes) = match &rule.what {
        What::Pattern(p) => ("pattern", BTreeMap::from([("pattern", p.as_str())]), bounds(p, "span")),
        What::Region { begin, inside, end } => (
            "region",
            BTreeMap::from([("begin", begin.as_str()), ("inside", inside.as_str()), ("end", end.as_str())]),
            bounds(begin, "begin"),
        ),
        What::Tracker { name, .. } => ("tracker", BTreeMap::from([("tracker", name.as_str())]), Vec::new()),
        What::Exact(_) => ("exact", BTreeMap::new(), Vec::new()),
    };
    let builtin = Profile::BUILTIN.iter().filter_map(|n| Some((*n, Profile::builtin(n)?.action_of(rule))));
    let actions = builtin.chain([(profile.name.as_str(), profile.action_of(rule))]).collect();
    Explained {
        rule: &rule.name,
        title: &rule.title,
        family: rule.family.as_str(),
        severity: rule.severity.as_str(),
        priority: rule.priority,
        token: &rule.token,
        origin: &rule.origin,
        kind,
        parts,
        bytes,
        checks: rule.checks.iter().map(ToString::to_string).collect(),
        allow: rule.allow.iter().map(ToString::to_string).collect(),
        nearby: words(rule.nearby.as_ref()),
        unless: words(rule.unless.as_ref()),
        actions,
        engine,
        matches: &rule.matches,
        no_matches: &rule.no_matches,
    }
}

fn words(n: Option<&Nearby>) -> Option<Words<'_>> {
    n.map(|n| Words { words: &n.words, within: n.within })
}

/// Shortest and longest of what stands before, of the span, and of what stands behind. Empty if the pattern is refused.
fn bounds(pattern: &str, span: &'static str) -> Vec<Bounds> {
    let Ok(parts) = Parts::of(pattern) else { return Vec::new() };
    [("before", &parts.pre), (span, &parts.body), ("behind", &parts.post)]
        .into_iter()
        .filter_map(|(part, hir)| {
            let p = hir.properties();
            Some(Bounds { part, least: p.minimum_len()?, most: p.maximum_len()? })
        })
        .collect()
}

fn print(out: &mut impl Write, e: &Explained<'_>) -> std::io::Result<()> {
    let bold = anstyle::Style::new().bold();
    writeln!(out, "{bold}{}{bold:#}: {}", e.rule, e.title)?;
    writeln!(out, "  family {}, severity {}, priority {}, token {}", e.family, e.severity, e.priority, e.token)?;
    writeln!(out, "  written in {}", e.origin)?;
    writeln!(out, "\n{bold}looks for{bold:#} ({})", e.kind)?;
    if e.kind == "exact" {
        writeln!(out, "  the value of the file's key, which is not shown")?;
    }
    for (name, text) in &e.parts {
        if *name == e.kind {
            writeln!(out, "  {text}")?;
        } else {
            writeln!(out, "  {name}: {text}")?;
        }
    }
    for b in &e.bytes {
        writeln!(out, "  {}: {} to {} bytes", b.part, b.least, b.most)?;
    }
    for c in &e.checks {
        writeln!(out, "  the span must pass the check `{c}`")?;
    }
    for a in &e.allow {
        writeln!(out, "  let through if it has one of {a}")?;
    }
    if let Some(w) = &e.nearby {
        writeln!(out, "  one of these words must stand in the {} bytes before: {}", w.within, w.words.join(", "))?;
    }
    if let Some(w) = &e.unless {
        writeln!(out, "  none of these words may stand in the {} bytes before: {}", w.within, w.words.join(", "))?;
    }
    writeln!(out, "\n{bold}what happens{bold:#}")?;
    let width = e.actions.keys().map(|p| p.chars().count()).max().unwrap_or(0);
    for (profile, action) in &e.actions {
        writeln!(out, "  {profile:width$} {}", action.as_str())?;
    }
    writeln!(out, "\n{bold}what the engine does{bold:#} (when it replaces)")?;
    print_engine(out, &e.engine)?;
    if !e.matches.is_empty() {
        writeln!(out, "\n{bold}found in{bold:#} (as written in the pack)")?;
    }
    for m in e.matches {
        writeln!(out, "  {m}")?;
    }
    if !e.no_matches.is_empty() {
        writeln!(out, "\n{bold}not found in{bold:#}")?;
    }
    for m in e.no_matches {
        writeln!(out, "  {m}")?;
    }
    Ok(())
}

fn print_engine(out: &mut impl Write, e: &Engine) -> std::io::Result<()> {
    const SHOWN: usize = 12;
    let mut literals: Vec<String> = e.literals.iter().take(SHOWN).map(|l| format!("`{l}`")).collect();
    if e.literals.len() > SHOWN {
        literals.push(format!("and {} more", e.literals.len() - SHOWN));
    }
    let literals = literals.join(", ");
    match e.candidate {
        "literals" => writeln!(out, "  looked for where the span begins with {literals}")?,
        "keywords" => writeln!(out, "  looked for behind the keyword {literals}")?,
        "inner" => writeln!(out, "  looked for around {literals}")?,
        "class" => writeln!(
            out,
            "  a class rule: it has no literal that is rarer, and is tried where its first bytes fit: {}",
            runs(&e.class)
        )?,
        "tracker" => {
            writeln!(out, "  a tracker reads along, for all of its rules at once; it stops at {}", e.stops_at)?;
        }
        _ => writeln!(
            out,
            "  looked for in all its spellings (as it is, in JSON strings and URLs, in hex and base64) together with all \
             other values:\n  what that costs does not grow with their number"
        )?,
    }
    if e.needs_word {
        writeln!(out, "  and only where one of its nearby words stands")?;
    }
    match e.candidates_per_megabyte {
        Some(0) => writeln!(out, "  no candidate in a megabyte")?,
        Some(n) => writeln!(out, "  about {} a megabyte", count(n as u64, "candidate"))?,
        None => {}
    }
    for a in &e.automata {
        writeln!(out, "  reads {}: {} states, {} bytes", a.reads, a.states, a.bytes)?;
    }
    writeln!(out, "  holds {}", e.holds)?;
    let whose = if e.candidate == "tracker" { "with the other rules of its tracker" } else { "alone" };
    writeln!(out, "  costs {}, {whose}", cost(e.microseconds_per_megabyte))?;
    writeln!(out, "  (measured on {})", e.reference)?;
    for w in &e.warnings {
        writeln!(out, "  {w}")?;
    }
    Ok(())
}

/// Sets of bytes in a row, equal ones counted.
fn runs(places: &[String]) -> String {
    let runs = places.chunk_by(|a, b| a == b).map(|run| match run.len() {
        1 => run[0].clone(),
        n => format!("{n} × {}", run[0]),
    });
    runs.collect::<Vec<_>>().join(", ")
}

/// A cost in words: what is below a tenth of a millisecond is lost in what the machine does besides.
fn cost(microseconds: u64) -> String {
    match microseconds {
        0..100 => "less than 0.1 ms/MB".to_owned(),
        100..10_000 => format!("about {:.1} ms/MB", microseconds as f64 / 1e3),
        _ => format!("about {} ms/MB", microseconds / 1000),
    }
}
