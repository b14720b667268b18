//! `forebay rules explain`: one rule in full.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{anyhow, bail};
use forebay_scan::explain::{self, Candidate};
use forebay_scan::pattern::Parts;
use forebay_scan::{Action, Nearby, Pack, Profile, RuleSpec, What};
use serde::Serialize;

use crate::args::{RulesExplainArgs, TextOrJson};
use crate::exit::Outcome;
use crate::load;
use crate::rules::bench::Bench;

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
    /// `pattern`, `region` or `tracker`.
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
    /// By built-in profile.
    actions: BTreeMap<&'static str, Action>,
    /// What the engine does with it.
    engine: Option<Engine>,
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
struct Engine {
    /// What gives the rule away: `literals`, `keywords`, `inner` or `class`.
    candidate: &'static str,
    literals: Vec<String>,
    automata: Vec<Automaton>,
    longest_span: usize,
    /// Which bytes it holds when it replaces.
    holds: &'static str,
    /// What a megabyte of the reference text costs with this rule alone, less what it costs with none.
    microseconds_per_megabyte: u64,
}

#[derive(Serialize)]
struct Automaton {
    reads: &'static str,
    states: usize,
    bytes: usize,
}

#[derive(Serialize)]
struct Words<'a> {
    words: &'a [String],
    within: usize,
}

pub(crate) fn run(args: &RulesExplainArgs) -> anyhow::Result<Outcome> {
    let packs = match &args.pack {
        Some(file) => vec![load::pack_file(file)?],
        None => load::builtin_packs()?,
    };
    let (pack, rule) = find(&packs, &args.rule)?;
    let explained = explain(rule, engine(pack, rule)?);
    let mut out = anstream::stdout().lock();
    match args.format {
        TextOrJson::Json => writeln!(out, "{}", serde_json::to_string(&explained)?)?,
        TextOrJson::Text => print(&mut out, &explained)?,
    }
    Ok(Outcome::Clean)
}

/// The rule of that name; failing that, the only one whose name ends or contains it; failing that, what is near.
fn find<'a>(packs: &'a [Pack], name: &str) -> anyhow::Result<(&'a Pack, &'a RuleSpec)> {
    let rules = || packs.iter().flat_map(|p| p.rules.iter().map(move |r| (p, r)));
    if let Some(found) = rules().find(|(_, r)| r.name == name) {
        return Ok(found);
    }
    let near: Vec<(&Pack, &RuleSpec)> = rules().filter(|(_, r)| r.name.contains(name)).collect();
    match near.as_slice() {
        [one] => Ok(*one),
        [] => bail!("there is no rule `{name}`; `forebay rules list` shows them all"),
        many => {
            let names: Vec<&str> = many.iter().take(12).map(|(_, r)| r.name.as_str()).collect();
            bail!("there is no rule `{name}`; near it: {}", names.join(", "))
        }
    }
}

/// What the engine does with a rule that replaces. `None` for what is no pattern.
fn engine(pack: &Pack, rule: &RuleSpec) -> anyhow::Result<Option<Engine>> {
    let refused = |e| anyhow!("{}: rule `{}` is refused: {e}", rule.origin, rule.name);
    let Some(e) = explain::explain(rule, Action::Replace).map_err(refused)? else { return Ok(None) };
    let text = include_str!("../../../ARCHITECTURE.md").bytes().cycle().take(1 << 20).collect::<Vec<u8>>();
    let alone = Bench::of(rule, pack)?.time(&text);
    let none = Bench::all(Pack::of(&pack.name, Vec::new()))?.time(&text);
    let (candidate, literals) = match e.candidate {
        Candidate::Literals(l) => ("literals", l),
        Candidate::Keywords(l) => ("keywords", l),
        Candidate::Inner(l) => ("inner", l),
        Candidate::Class => ("class", Vec::new()),
    };
    Ok(Some(Engine {
        candidate,
        literals,
        automata: e
            .automata
            .into_iter()
            .map(|a| Automaton { reads: a.reads, states: a.states, bytes: a.bytes })
            .collect(),
        longest_span: e.longest,
        holds: e.holds,
        microseconds_per_megabyte: alone.saturating_sub(none).as_micros() as u64,
    }))
}

fn explain(rule: &RuleSpec, engine: Option<Engine>) -> Explained<'_> {
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
    let actions = Profile::BUILTIN.iter().filter_map(|n| Some((*n, Profile::builtin(n)?.action_of(rule)))).collect();
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
    for (profile, action) in &e.actions {
        writeln!(out, "  {profile:13} {}", action.as_str())?;
    }
    if let Some(engine) = &e.engine {
        writeln!(out, "\n{bold}what the engine does{bold:#} (when it replaces)")?;
        print_engine(out, engine)?;
    }
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
        _ => writeln!(out, "  tried where its first bytes fit: it has no literal that is rarer")?,
    }
    for a in &e.automata {
        writeln!(out, "  reads {}: {} states, {} bytes", a.reads, a.states, a.bytes)?;
    }
    writeln!(out, "  holds {}", e.holds)?;
    writeln!(out, "  costs {} microseconds a megabyte of this project's documents, alone", e.microseconds_per_megabyte)
}
