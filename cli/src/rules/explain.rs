//! `forebay rules explain`: one rule in full.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::bail;
use forebay_scan::pattern::Parts;
use forebay_scan::{Action, Nearby, Pack, Profile, RuleSpec, What};
use serde::Serialize;

use crate::args::{RulesExplainArgs, TextOrJson};
use crate::exit::Outcome;
use crate::load;

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
    let packs = match &args.pack {
        Some(file) => vec![load::pack_file(file)?],
        None => load::builtin_packs()?,
    };
    let rule = find(&packs, &args.rule)?;
    let explained = explain(rule);
    let mut out = anstream::stdout().lock();
    match args.format {
        TextOrJson::Json => writeln!(out, "{}", serde_json::to_string(&explained)?)?,
        TextOrJson::Text => print(&mut out, &explained)?,
    }
    Ok(Outcome::Clean)
}

/// The rule of that name; failing that, the only one whose name ends or contains it; failing that, what is near.
fn find<'a>(packs: &'a [Pack], name: &str) -> anyhow::Result<&'a RuleSpec> {
    let rules = || packs.iter().flat_map(|p| &p.rules);
    if let Some(rule) = rules().find(|r| r.name == name) {
        return Ok(rule);
    }
    let near: Vec<&RuleSpec> = rules().filter(|r| r.name.contains(name)).collect();
    match near.as_slice() {
        [one] => Ok(one),
        [] => bail!("there is no rule `{name}`; `forebay rules list` shows them all"),
        many => {
            let names: Vec<&str> = many.iter().take(12).map(|r| r.name.as_str()).collect();
            bail!("there is no rule `{name}`; near it: {}", names.join(", "))
        }
    }
}

fn explain(rule: &RuleSpec) -> Explained<'_> {
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
