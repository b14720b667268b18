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
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::LoadError;
use crate::finding::{Action, Family};
use crate::pack::{Pack, RuleSpec};

/// What to look for and what to do about it, in one direction.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The profile's name.
    pub name: String,
    /// Built-in packs it uses.
    pub packs: Vec<String>,
    /// Pack files it uses; the program reads them.
    pub pack_files: Vec<String>,
    /// What each family does.
    pub families: BTreeMap<Family, Action>,
    /// Rules that differ from their family, by full name.
    pub rules: BTreeMap<String, Action>,
    /// Where it stands, for errors.
    pub origin: String,
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
            families,
            rules: BTreeMap::new(),
            origin: format!("built-in profile {name}"),
        })
    }

    /// Parses a profile file. `origin` is the file name that errors show.
    pub fn parse(text: &str, origin: &str) -> Result<Profile, LoadError> {
        let raw: RawProfile = toml::from_str(text).map_err(|e| LoadError::from_toml(origin, text, &e))?;
        let base = raw.base.as_deref().unwrap_or("tool-output");
        let mut p = Profile::builtin(base).ok_or_else(|| {
            LoadError::new(
                origin,
                1,
                format!("there is no built-in profile `{base}`"),
                &format!("use one of {}", Self::BUILTIN.join(", ")),
            )
        })?;
        p.name = raw.name;
        p.origin = origin.to_owned();
        if let Some(packs) = raw.packs {
            p.packs = packs;
        }
        p.pack_files = raw.pack_files;
        p.families.extend(raw.family);
        p.rules = raw.rule;
        Ok(p)
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
    name: String,
    base: Option<String>,
    packs: Option<Vec<String>>,
    #[serde(default)]
    pack_files: Vec<String>,
    #[serde(default)]
    family: BTreeMap<Family, Action>,
    #[serde(default)]
    rule: BTreeMap<String, Action>,
}
