//! Profiles: which packs, and what each family does in one direction of flow.
//!
//! ```toml
//! name = "house"
//! base = "tool-output"            # a built-in profile to start from
//! packs = ["pii", "secret"]       # built-in packs; default: those of the base
//! pack_files = ["/etc/forebay/packs/own.toml"]   # read by the program, never by this crate
//!
//! [family]
//! pii = "mask"
//!
//! [rule]
//! "pii.ipv4" = "allow"
//!
//! [[exact]]                       # values of this file are secrets on this host
//! file = "/etc/app/app.env"
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::error::LoadError;
use crate::finding::{Action, Family};
use crate::pack::{Pack, RuleSpec, line_of};

/// What to look for and what to do about it, in one direction.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The profile's name.
    pub name: String,
    /// Built-in packs it uses.
    pub packs: Vec<String>,
    /// Pack files it uses; the program reads them.
    pub pack_files: Vec<String>,
    /// Files of exact values; the program reads them.
    pub exact: Vec<ExactSource>,
    /// What each family does.
    pub families: BTreeMap<Family, Action>,
    /// Rules that differ from their family, by full name.
    pub rules: BTreeMap<String, Action>,
    /// Where it stands, for errors.
    pub origin: String,
    /// The line of each name in the file.
    lines: BTreeMap<String, usize>,
}

/// A file whose values are secrets on this host, as a profile names it (`[[exact]]`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactSource {
    /// Where it is.
    pub at: ExactPlace,
    /// How it is written.
    pub format: ExactFormat,
    /// Stands for the file in the names of its rules, `secret.exact.<label>.<key>`.
    pub label: String,
    /// Values of fewer bytes are not looked for. At least [`ExactSource::LEAST_LENGTH`].
    pub min_length: usize,
    /// Keys whose values are no secrets.
    pub ignore: Vec<String>,
    /// Keys whose values are looked for even if they look ordinary.
    pub keep: Vec<String>,
    /// `file:line` of the entry, for errors.
    pub origin: String,
}

impl ExactSource {
    /// Default of `min_length`: shorter values stand in ordinary text by chance.
    pub const MIN_LENGTH: usize = 8;
    /// Least `min_length`, in bytes: below it nothing could be told from ordinary text.
    pub const LEAST_LENGTH: usize = 4;

    /// A source as it is before anything is said about it. `label` is the file's name.
    pub fn new(at: ExactPlace, format: ExactFormat, origin: &str) -> ExactSource {
        let (ExactPlace::File(name) | ExactPlace::Credential(name)) = &at;
        let label = name.rsplit('/').next().unwrap_or(name).trim_start_matches('.').to_owned();
        ExactSource {
            at,
            format,
            label,
            min_length: Self::MIN_LENGTH,
            ignore: Vec::new(),
            keep: Vec::new(),
            origin: origin.to_owned(),
        }
    }
}

/// Where exact values come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExactPlace {
    /// A path; a relative one is meant from the profile's folder.
    File(String),
    /// A systemd credential of the service, by name (`LoadCredential=`).
    Credential(String),
}

/// How a file of exact values is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExactFormat {
    /// Lines `KEY=value`, as services and shells read them.
    Env,
    /// The whole content is one value; one line break at the end is not part of it.
    Value,
    /// A JSON object; every string and number in it is a value, by its path.
    Json,
}

impl Profile {
    /// The built-in profiles: what a tool answers, what the model writes, what a tool is given, what the user types.
    pub const BUILTIN: [&'static str; 4] = ["tool-output", "model-output", "tool-input", "prompt"];

    /// A built-in profile.
    ///
    /// | profile | pii | secret | elision | truncation | injection |
    /// |---|---|---|---|---|---|
    /// | `tool-output` | replace | replace | flag | flag | flag |
    /// | `model-output` | replace | replace | flag | flag | flag |
    /// | `tool-input` | flag | block | flag | flag | flag |
    /// | `prompt` | replace | replace | flag | flag | flag |
    ///
    /// `tool-input` does not rewrite: a tool must get what the model wrote or nothing. Elisions and truncation marks
    /// are reported there, and judged by the write guard, which knows whether the tool writes.
    pub fn builtin(name: &str) -> Option<Profile> {
        let name = Self::BUILTIN.into_iter().find(|n| *n == name)?;
        let (pii, secret) = match name {
            "tool-input" => (Action::Flag, Action::Block),
            _ => (Action::Replace, Action::Replace),
        };
        let families = BTreeMap::from([
            (Family::Pii, pii),
            (Family::Secret, secret),
            (Family::Elision, Action::Flag),
            (Family::Truncation, Action::Flag),
            (Family::Injection, Action::Flag),
        ]);
        Some(Profile {
            name: name.to_owned(),
            packs: Pack::builtin_sources().iter().map(|(n, _)| (*n).to_owned()).collect(),
            pack_files: Vec::new(),
            exact: Vec::new(),
            families,
            rules: BTreeMap::new(),
            origin: format!("built-in profile {name}"),
            lines: BTreeMap::new(),
        })
    }

    /// Parses a profile file. `origin` is the file name that errors show.
    pub fn parse(text: &str, origin: &str) -> Result<Profile, LoadError> {
        let raw: RawProfile = toml::from_str(text).map_err(|e| LoadError::from_toml(origin, text, &e))?;
        let mut lines = BTreeMap::new();
        let mut note = |s: &Spanned<String>| {
            lines.entry(s.get_ref().clone()).or_insert_with(|| line_of(text, s.span().start));
        };
        raw.base.iter().for_each(&mut note);
        raw.packs.iter().flatten().chain(&raw.pack_files).chain(raw.rule.keys()).for_each(&mut note);
        note(&raw.name);
        let base = raw.base.as_ref().map_or("tool-output", |b| b.get_ref());
        let mut p = Profile::builtin(base).ok_or_else(|| {
            LoadError::new(
                origin,
                lines.get(base).copied().unwrap_or(1),
                format!("there is no built-in profile `{base}`"),
                &format!("use one of {}", Self::BUILTIN.join(", ")),
            )
        })?;
        p.name = raw.name.into_inner();
        p.origin = origin.to_owned();
        p.lines = lines;
        if let Some(packs) = raw.packs {
            p.packs = packs.into_iter().map(Spanned::into_inner).collect();
        }
        p.pack_files = raw.pack_files.into_iter().map(Spanned::into_inner).collect();
        p.families.extend(raw.family);
        p.rules = raw.rule.into_iter().map(|(name, action)| (name.into_inner(), action)).collect();
        for source in raw.exact {
            let place = format!("{origin}:{}", line_of(text, source.span().start));
            let source = source.into_inner().into_source(&place)?;
            if let Some(first) = p.exact.iter().find(|s| s.label == source.label) {
                return Err(LoadError::at(
                    &place,
                    format!("two `exact` files have the label `{}` (first at {})", source.label, first.origin),
                    "give one of them a `label` of its own",
                ));
            }
            p.exact.push(source);
        }
        Ok(p)
    }

    /// `file:line` of a name in the profile: its own, a pack, a pack file, a rule.
    pub fn place(&self, name: &str) -> String {
        self.lines.get(name).map_or_else(|| self.origin.clone(), |line| format!("{}:{line}", self.origin))
    }

    /// The action of a rule under this profile: its own entry, else the rule's, else its family's.
    pub fn action_of(&self, rule: &RuleSpec) -> Action {
        self.rules
            .get(&rule.name)
            .copied()
            .or(rule.action)
            .or_else(|| self.families.get(&rule.family).copied())
            .unwrap_or(Action::Flag)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    name: Spanned<String>,
    base: Option<Spanned<String>>,
    packs: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pack_files: Vec<Spanned<String>>,
    #[serde(default)]
    family: BTreeMap<Family, Action>,
    #[serde(default)]
    rule: BTreeMap<Spanned<String>, Action>,
    #[serde(default)]
    exact: Vec<Spanned<RawExact>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExact {
    file: Option<String>,
    credential: Option<String>,
    format: Option<ExactFormat>,
    label: Option<String>,
    min_length: Option<usize>,
    #[serde(default)]
    ignore: Vec<String>,
    #[serde(default)]
    keep: Vec<String>,
}

impl RawExact {
    fn into_source(self, place: &str) -> Result<ExactSource, LoadError> {
        let fail = |what: &str, mend: &str| Err(LoadError::at(place, format!("`exact`: {what}"), mend));
        let (at, format) = match (self.file, self.credential) {
            (Some(f), None) if !f.is_empty() => (ExactPlace::File(f), ExactFormat::Env),
            (None, Some(c)) if !c.is_empty() && !c.contains('/') && c != ".." && c != "." => {
                (ExactPlace::Credential(c), ExactFormat::Value)
            }
            _ => {
                return fail(
                    "it must name one file or one credential",
                    "give `file = \"/path\"`, or `credential = \"name\"` as in LoadCredential=name:/path",
                );
            }
        };
        let mut source = ExactSource::new(at, self.format.unwrap_or(format), place);
        source.ignore = self.ignore;
        source.keep = self.keep;
        if let Some(label) = self.label {
            source.label = label;
        }
        if source.label.is_empty() || source.label.len() > 32 {
            return fail("its label is empty or longer than 32 bytes", "give it a short `label`");
        }
        if let Some(least) = self.min_length {
            if least < ExactSource::LEAST_LENGTH {
                let mend = "use 4 or more: what is shorter stands in every text";
                return fail(&format!("min_length is {least}"), mend);
            }
            source.min_length = least;
        }
        Ok(source)
    }
}
