//! `forebay rules import gitleaks`: a gitleaks configuration as a pack.
//!
//! What can be said in a pack is written to one; what cannot is told, rule by rule, with the reason. It is *not* a
//! gitleaks: nothing is read but the file named and what it extends, no repository is scanned, and the default rules of
//! gitleaks are not part of Forebay.
//!
//! - `config` reads the file; `go_regex` reads its expressions; `allowlist` turns what it lets through.
//! - `shape` makes PRE, span and POST of an expression; `spell` writes them as a pattern.
//! - `original` is gitleaks' own procedure and `draw` makes texts: `build` takes a rule only if the engine finds in them
//!   what the original finds.
//!
//! The attacker is the author of the configuration. Files, expressions, repeats, rules and attempts are bounded, each
//! bound where it stands; what goes over one is refused with its line.

mod allowlist;
mod build;
mod config;
mod draw;
mod go_regex;
mod original;
mod shape;
mod spell;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Serialize;

use self::build::{Builder, Names, Refused, Taken};
use self::config::{Config, Rule};
use crate::args::{GitleaksArgs, RulesImportArgs, RulesImportCommand, TextOrJson};
use crate::exit::{Outcome, count, say};

/// One line of the report.
#[derive(Serialize)]
struct Line<'a> {
    /// The rule's name in the configuration; absent if the line is about the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    /// `file:line`.
    place: &'a str,
    /// `taken`, `changed`, `refused`, or `note` for what is about the file.
    outcome: &'static str,
    /// What differs, or why it was refused.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    reasons: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<&'a str>,
    /// How many rules of the pack a rule that was taken has become.
    #[serde(skip_serializing_if = "Option::is_none")]
    becomes: Option<usize>,
}

/// Runs the command.
pub(crate) fn run(args: &RulesImportArgs) -> anyhow::Result<Outcome> {
    match &args.command {
        RulesImportCommand::Gitleaks(a) => gitleaks(a),
    }
}

fn gitleaks(args: &GitleaksArgs) -> anyhow::Result<Outcome> {
    let config = Config::read(&args.file, args.default.as_deref())?;
    let mut report = Report { format: args.format, refused: 0, notes: 0 };
    for (place, what, mend) in &config.notes {
        report.line(&Line {
            rule: None,
            place,
            outcome: "note",
            reasons: std::slice::from_ref(what),
            mend: Some(mend),
            becomes: None,
        });
    }
    let mut changes = Vec::new();
    let global: Vec<String> = config
        .allowlists
        .iter()
        .filter_map(|a| allowlist::entry(a, forebay_scan::allow::MAX_BEFORE, &mut changes))
        .collect();
    for c in &changes {
        let place = args.file.display().to_string();
        report.line(&Line {
            rule: None,
            place: &place,
            outcome: "note",
            reasons: std::slice::from_ref(c),
            mend: None,
            becomes: None,
        });
    }
    let head =
        if global.is_empty() { String::new() } else { format!("allow = [\n    {},\n]\n\n", global.join(",\n    ")) };
    let names = Names { prefix: &args.prefix, taken: BTreeSet::new() };
    let mut builder = Builder { global: &config.allowlists, global_toml: head.clone(), explosions: 0, names };
    let mut taken: Vec<(&Rule, Taken)> = Vec::new();
    for rule in &config.rules {
        match builder.build(rule) {
            Ok(t) => taken.push((rule, t)),
            Err(e) => report.refused(rule, &e),
        }
    }
    together(&head, &mut taken, &mut report)?;
    for (rule, t) in &taken {
        let outcome = if t.changes.is_empty() { "taken" } else { "changed" };
        if outcome == "changed" || t.toml.len() > 1 || args.format == TextOrJson::Json {
            let becomes = Some(t.toml.len());
            report.line(&Line {
                rule: Some(&rule.id),
                place: &rule.place,
                outcome,
                reasons: &t.changes,
                mend: None,
                becomes,
            });
        }
    }
    write(args, &head, &taken, config.rules.len())?;
    report.end(config.rules.len(), &taken);
    Ok(if taken.len() == config.rules.len() && report.notes == 0 { Outcome::Clean } else { Outcome::Findings })
}

/// Rules that compile one by one may be too many together: those without literal text share few automata. The last ones
/// are left out until the pack compiles.
fn together(head: &str, taken: &mut Vec<(&Rule, Taken)>, report: &mut Report) -> anyhow::Result<()> {
    let tables = |t: &[(&Rule, Taken)]| t.iter().flat_map(|(_, t)| &t.toml).cloned().collect::<Vec<_>>().join("\n");
    let Err(e) = build::compiled(head, &tables(taken)) else { return Ok(()) };
    let mut fits = 0;
    let mut over = taken.len();
    while over - fits > 1 {
        let half = fits + (over - fits) / 2;
        match build::compiled(head, &tables(&taken[..half])) {
            Ok(_) => fits = half,
            Err(_) => over = half,
        }
    }
    if fits == 0 && !taken.is_empty() {
        bail!("the pack does not compile: {e}");
    }
    for (rule, _) in taken.drain(fits..) {
        report.refused(rule, &Refused::new(format!("too many rules together: {e}"), "import the file in parts"));
    }
    Ok(())
}

fn write(args: &GitleaksArgs, head: &str, taken: &[(&Rule, Taken)], all: usize) -> anyhow::Result<()> {
    let file = args.file.file_name().map_or_else(|| "gitleaks.toml".into(), |n| n.to_string_lossy());
    let stem = args.file.file_stem().map_or_else(|| "gitleaks".into(), |n| n.to_string_lossy());
    let comment: String = file.chars().filter(|c| !c.is_control()).collect();
    let mut text = format!(
        "# {} of the {all} rules of the gitleaks configuration {comment}, by `forebay rules import gitleaks`.\n\n{head}[pack]\nname = {}\n",
        taken.len(),
        build::quoted(&stem)
    );
    for toml in taken.iter().flat_map(|(_, t)| &t.toml) {
        text.push('\n');
        text.push_str(toml);
    }
    if text.len() > forebay_scan::MAX_PACK_BYTES {
        bail!(
            "the pack would have {} bytes, more than {}; import the file in parts",
            text.len(),
            forebay_scan::MAX_PACK_BYTES
        );
    }
    match &args.out {
        None => std::io::stdout().write_all(text.as_bytes()).context("cannot write standard output"),
        Some(path) => {
            // Whole or not at all: who reads the pack must not see half of it.
            let folder = path.parent().filter(|p| *p != Path::new("")).unwrap_or(Path::new("."));
            // The name that the library puts into its error is nobody's business.
            let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|e| {
                let why = std::io::Error::from(e.kind());
                anyhow::anyhow!(
                    "cannot write {}: {why}; make a folder {} that you may write to",
                    path.display(),
                    folder.display()
                )
            })?;
            file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
            readable(file.as_file())?;
            file.persist(path).with_context(|| format!("cannot write {}", path.display()))?;
            Ok(())
        }
    }
}

/// A pack is no secret: others, a daemon among them, may read it.
fn readable(file: &std::fs::File) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644)).context("cannot make the pack readable")
}

/// Standard error: standard output may be the pack.
struct Report {
    format: TextOrJson,
    refused: usize,
    notes: usize,
}

impl Report {
    fn refused(&mut self, rule: &Rule, e: &Refused) {
        self.refused += 1;
        self.line(&Line {
            rule: Some(&rule.id),
            place: &rule.place,
            outcome: "refused",
            reasons: std::slice::from_ref(&e.reason),
            mend: Some(&e.mend),
            becomes: None,
        });
    }

    fn line(&mut self, l: &Line<'_>) {
        self.notes += usize::from(l.outcome == "note" && l.mend.is_some());
        if self.format == TextOrJson::Json {
            // Strings and numbers cannot fail to be written as JSON.
            say(serde_json::to_string(l).unwrap_or_default());
            return;
        }
        let outcome = match l.outcome {
            "refused" => "not taken: ",
            "changed" => "taken, but ",
            _ => "",
        };
        let becomes = l
            .becomes
            .filter(|n| *n > 1)
            .map(|n| format!("{}becomes {n} rules of the pack", if l.reasons.is_empty() { "" } else { "; " }));
        let becomes = becomes.unwrap_or_default();
        let rule = l.rule.map(|r| format!("{}: ", r.escape_debug())).unwrap_or_default();
        let mend = l.mend.map(|m| format!("; {m}")).unwrap_or_default();
        // Parts of it were written by the configuration's author: nothing of theirs commands a terminal.
        say(format!("{}: {rule}{outcome}{}{becomes}{mend}", l.place, l.reasons.join("; "))
            .replace(char::is_control, "\u{fffd}"));
    }

    fn end(&self, all: usize, taken: &[(&Rule, Taken)]) {
        let changed = taken.iter().filter(|(_, t)| !t.changes.is_empty()).count();
        let written: usize = taken.iter().map(|(_, t)| t.toml.len()).sum();
        if self.format == TextOrJson::Json {
            let end = serde_json::json!({"rules": all, "taken": taken.len(), "changed": changed, "refused": self.refused, "written": written});
            return say(end);
        }
        say(format_args!(
            "{} of {} taken, {changed} of them changed, as {} of the pack; {} not taken",
            taken.len(),
            count(all as u64, "rule"),
            count(written as u64, "rule"),
            self.refused
        ));
    }
}
