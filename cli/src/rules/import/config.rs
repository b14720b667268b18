//! A gitleaks configuration as typed values, `[extend]` followed.
//!
//! Keys are read without regard to case, as gitleaks does; a key that means nothing there is said, not refused. What is
//! merged, and how, follows gitleaks: the file at hand wins over what it extends for single values, and adds to lists.
//!
//! The attacker is the author of the file, who may not be the one who imports it: sizes, depth and the number of rules
//! are bounded, and a value of the wrong type is an error with its line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use forebay_scan::MAX_RULES;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::load;

/// How many files may extend one another: gitleaks' own limit. It also ends a file that extends itself.
const MAX_EXTENDS: usize = 2;

/// A configuration.
#[derive(Debug, Default)]
pub(super) struct Config {
    /// Its rules, those of extended files last.
    pub(super) rules: Vec<Rule>,
    /// What is let through whatever the rule.
    pub(super) allowlists: Vec<Allowlist>,
    /// What was seen and has no effect: place, what, mend.
    pub(super) notes: Vec<(String, String, String)>,
}

/// A rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    pub(super) id: String,
    /// `file:line`.
    pub(super) place: String,
    pub(super) description: String,
    pub(super) regex: Option<String>,
    pub(super) path: Option<String>,
    pub(super) secret_group: u32,
    pub(super) entropy: f64,
    /// In small letters.
    pub(super) keywords: Vec<String>,
    pub(super) allowlists: Vec<Allowlist>,
    /// Other rules must find something near it.
    pub(super) required: bool,
    /// It only serves other rules.
    pub(super) skip_report: bool,
}

/// What is let through.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowlist {
    /// `file:line`.
    pub(super) place: String,
    /// All kinds must hold, not one.
    pub(super) and: bool,
    /// There are paths or commits.
    pub(super) places: bool,
    pub(super) target: Target,
    pub(super) regexes: Vec<String>,
    pub(super) stopwords: Vec<String>,
    /// Only for these rules, if there are any.
    rules: Vec<String>,
}

/// What an allowlist's expressions look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Target {
    #[default]
    Secret,
    Match,
    Line,
}

impl Config {
    /// Reads a file and what it extends. `default` stands for gitleaks' own configuration.
    pub(super) fn read(path: &Path, default: Option<&Path>) -> anyhow::Result<Config> {
        let mut config = Config::file(path, default, 0)?;
        for a in std::mem::take(&mut config.allowlists) {
            if a.rules.is_empty() {
                config.allowlists.push(a);
                continue;
            }
            for name in &a.rules {
                let rule = config.rules.iter_mut().find(|r| r.id == *name);
                rule.ok_or_else(|| anyhow!("{}: `targetRules` names {name:?}, and there is no such rule", a.place))?
                    .allowlists
                    .push(a.clone());
            }
        }
        Ok(config)
    }

    fn file(path: &Path, default: Option<&Path>, depth: usize) -> anyhow::Result<Config> {
        let text = load::text(path)?;
        let lines = text.match_indices('\n').map(|(at, _)| at).collect();
        let file = File { name: path.display().to_string(), lines };
        let root = DeTable::parse(&text).map_err(|e| {
            let line = file.line(e.span().map_or(0, |s| s.start));
            anyhow!("{}:{line}: {}; mend the TOML there", file.name, e.message().replace('\n', " "))
        })?;
        let mut config = Config::default();
        let mut extend = None;
        for (key, value) in root.get_ref() {
            match key.get_ref().to_ascii_lowercase().as_str() {
                "rules" => {
                    config.rules = file
                        .tables(value, "rules")?
                        .map(|t| file.rule(t, &mut config.notes))
                        .collect::<Result<_, _>>()?
                }
                "allowlist" => config.allowlists.push(file.allowlist(value, &mut config.notes)?),
                "allowlists" => {
                    for t in file.tables(value, "allowlists")? {
                        config.allowlists.push(file.allowlist(t, &mut config.notes)?);
                    }
                }
                "extend" => extend = Some(value),
                "title" | "description" | "minversion" | "betterleaksminversion" => {}
                _ => config.notes.push(file.unknown(key)),
            }
        }
        if config.rules.is_empty() && extend.is_none() {
            bail!("{}: no [[rules]]: is this a gitleaks configuration?", file.name);
        }
        config.drop_doubles();
        if let Some(extend) = extend {
            config.extend(&file, extend, path, default, depth)?;
        }
        if config.rules.len() > MAX_RULES {
            bail!("{} has {} rules, more than {MAX_RULES}; split it into several files", file.name, config.rules.len());
        }
        Ok(config)
    }

    /// Of rules with the same name the last one counts, as in gitleaks.
    fn drop_doubles(&mut self) {
        let mut seen = BTreeMap::new();
        for (i, r) in self.rules.iter().enumerate() {
            if let Some(before) = seen.insert(r.id.clone(), i) {
                let what = format!("rule `{}` is defined again, and this one counts", r.id);
                let mend = format!("rename one of them; the other is at {}", self.rules[before].place);
                self.notes.push((r.place.clone(), what, mend));
            }
        }
        let mut i = 0;
        self.rules.retain(|r| {
            i += 1;
            seen.get(&r.id) == Some(&(i - 1))
        });
    }

    fn extend(
        &mut self,
        file: &File,
        value: &Spanned<DeValue<'_>>,
        path: &Path,
        default: Option<&Path>,
        depth: usize,
    ) -> anyhow::Result<()> {
        let place = file.place(value.span().start);
        let (mut base, mut use_default, mut disabled) = (None, false, Vec::new());
        for (key, value) in file.table(value, "extend")? {
            match key.get_ref().to_ascii_lowercase().as_str() {
                "path" => base = Some(file.string(value, "path")?),
                "usedefault" => use_default = file.boolean(value, "useDefault")?,
                "disabledrules" => disabled = file.strings(value, "disabledRules")?,
                _ => self.notes.push(file.unknown(key)),
            }
        }
        let base: PathBuf = match (base, use_default, default) {
            (Some(_), true, _) => bail!("{place}: `path` and `useDefault` exclude each other; keep one of them"),
            // gitleaks takes it from where it runs; the file's folder is where it is meant to be.
            (Some(p), ..) => path.parent().unwrap_or(Path::new("")).join(p),
            (None, true, Some(d)) => d.to_owned(),
            (None, true, None) => {
                let what = "`useDefault`: gitleaks' own rules are not part of Forebay, so none of them is in the pack";
                let mend = "save gitleaks' config/gitleaks.toml and name it with --default FILE";
                self.notes.push((place, what.into(), mend.into()));
                return Ok(());
            }
            (None, false, _) => return Ok(()),
        };
        if depth + 1 > MAX_EXTENDS {
            bail!("{place}: files extend one another more than {MAX_EXTENDS} deep; put their rules into one");
        }
        let base = Config::file(&base, default, depth + 1).with_context(|| format!("{place}: extend"))?;
        self.merge(base, &disabled, &place);
        Ok(())
    }

    /// Takes over what the base has and this has not.
    fn merge(&mut self, base: Config, disabled: &[String], place: &str) {
        for d in disabled.iter().filter(|d| !base.rules.iter().any(|r| r.id == **d)) {
            let what = format!("`disabledRules` names `{d}`, and the extended file has no such rule");
            self.notes.push((place.to_owned(), what, "remove the name".to_owned()));
        }
        for b in base.rules {
            if disabled.contains(&b.id) {
                continue;
            }
            match self.rules.iter_mut().find(|r| r.id == b.id) {
                None => self.rules.push(b),
                Some(r) => r.merge(b),
            }
        }
        self.allowlists.extend(base.allowlists);
        self.notes.extend(base.notes);
    }
}

impl Rule {
    fn merge(&mut self, base: Rule) {
        if self.description.is_empty() {
            self.description = base.description;
        }
        if self.entropy == 0.0 {
            self.entropy = base.entropy;
        }
        if self.secret_group == 0 {
            self.secret_group = base.secret_group;
        }
        self.regex = self.regex.take().or(base.regex);
        self.path = self.path.take().or(base.path);
        self.keywords.extend(base.keywords);
        self.allowlists.extend(base.allowlists);
        self.required |= base.required;
        self.skip_report |= base.skip_report;
    }
}

/// A file that is being read.
struct File {
    name: String,
    /// Where its lines end: a file of nothing but rules asks for a hundred thousand places.
    lines: Vec<usize>,
}

impl File {
    fn line(&self, at: usize) -> usize {
        1 + self.lines.partition_point(|end| *end < at)
    }

    fn place(&self, at: usize) -> String {
        format!("{}:{}", self.name, self.line(at))
    }

    fn unknown(&self, key: &Spanned<std::borrow::Cow<'_, str>>) -> (String, String, String) {
        let what = format!("the key `{}` is not known and has no effect", key.get_ref().escape_debug());
        (self.place(key.span().start), what, "see gitleaks' README for the keys".to_owned())
    }

    fn rule(&self, value: &Spanned<DeValue<'_>>, notes: &mut Vec<(String, String, String)>) -> anyhow::Result<Rule> {
        let mut r = Rule { place: self.place(value.span().start), ..Rule::default() };
        for (key, value) in self.table(value, "rules")? {
            match key.get_ref().to_ascii_lowercase().as_str() {
                "id" => {
                    r.id = self.string(value, "id")?;
                    r.place = self.place(key.span().start);
                }
                "description" => r.description = self.string(value, "description")?,
                "regex" => r.regex = Some(self.string(value, "regex")?).filter(|r| !r.is_empty()),
                "path" => r.path = Some(self.string(value, "path")?).filter(|p| !p.is_empty()),
                "secretgroup" => r.secret_group = self.number(value, "secretGroup")? as u32,
                "entropy" => r.entropy = self.number(value, "entropy")?,
                "keywords" => {
                    r.keywords = self.strings(value, "keywords")?.iter().map(|k| k.to_ascii_lowercase()).collect();
                }
                "allowlist" => r.allowlists.push(self.allowlist(value, notes)?),
                "allowlists" => {
                    for t in self.tables(value, "allowlists")? {
                        r.allowlists.push(self.allowlist(t, notes)?);
                    }
                }
                "required" => r.required = true,
                "skipreport" => r.skip_report = self.boolean(value, "skipReport")?,
                "tags" => {}
                _ => notes.push(self.unknown(key)),
            }
        }
        if r.id.is_empty() {
            bail!("{}: a rule has no `id`; give it one", r.place);
        }
        Ok(r)
    }

    fn allowlist(
        &self,
        value: &Spanned<DeValue<'_>>,
        notes: &mut Vec<(String, String, String)>,
    ) -> anyhow::Result<Allowlist> {
        let mut a = Allowlist { place: self.place(value.span().start), ..Allowlist::default() };
        for (key, value) in self.table(value, "allowlist")? {
            match key.get_ref().to_ascii_lowercase().as_str() {
                "condition" => {
                    a.and = match self.string(value, "condition")?.to_ascii_uppercase().as_str() {
                        "AND" | "&&" => true,
                        "" | "OR" | "||" => false,
                        _ => bail!("{}: `condition` is neither AND nor OR", self.place(value.span().start)),
                    }
                }
                "regextarget" => {
                    a.target = match self.string(value, "regexTarget")?.as_str() {
                        "" | "secret" => Target::Secret,
                        "match" => Target::Match,
                        "line" => Target::Line,
                        _ => bail!("{}: `regexTarget` is none of secret, match, line", self.place(value.span().start)),
                    }
                }
                "regexes" => a.regexes = self.strings(value, "regexes")?,
                "stopwords" => a.stopwords = self.strings(value, "stopwords")?,
                "paths" | "commits" => a.places |= !self.strings(value, "paths")?.is_empty(),
                "targetrules" => a.rules = self.strings(value, "targetRules")?,
                "description" => {}
                _ => notes.push(self.unknown(key)),
            }
        }
        Ok(a)
    }

    fn wrong(&self, value: &Spanned<DeValue<'_>>, what: &str, want: &str) -> anyhow::Error {
        let is = value.get_ref().type_str();
        anyhow!("{}: `{what}` must be {want}, and is of type {is}", self.place(value.span().start))
    }

    fn table<'v, 't>(&self, value: &'v Spanned<DeValue<'t>>, what: &str) -> anyhow::Result<&'v DeTable<'t>> {
        value.get_ref().as_table().ok_or_else(|| self.wrong(value, what, "a table"))
    }

    fn tables<'v, 't>(
        &self,
        value: &'v Spanned<DeValue<'t>>,
        what: &str,
    ) -> anyhow::Result<impl Iterator<Item = &'v Spanned<DeValue<'t>>>> {
        let array = value.get_ref().as_array().ok_or_else(|| self.wrong(value, what, "an array of tables"))?;
        Ok(array.iter())
    }

    fn string(&self, value: &Spanned<DeValue<'_>>, what: &str) -> anyhow::Result<String> {
        value.get_ref().as_str().map(str::to_owned).ok_or_else(|| self.wrong(value, what, "a string"))
    }

    fn strings(&self, value: &Spanned<DeValue<'_>>, what: &str) -> anyhow::Result<Vec<String>> {
        let array = value.get_ref().as_array().ok_or_else(|| self.wrong(value, what, "an array of strings"))?;
        array.iter().map(|s| self.string(s, what)).collect()
    }

    fn boolean(&self, value: &Spanned<DeValue<'_>>, what: &str) -> anyhow::Result<bool> {
        value.get_ref().as_bool().ok_or_else(|| self.wrong(value, what, "true or false"))
    }

    /// A number that is not negative.
    fn number(&self, value: &Spanned<DeValue<'_>>, what: &str) -> anyhow::Result<f64> {
        let text = match value.get_ref() {
            DeValue::Integer(i) if i.radix() == 10 => i.as_str(),
            DeValue::Float(f) => f.as_str(),
            _ => return Err(self.wrong(value, what, "a number")),
        };
        let number = text.replace('_', "").parse::<f64>().ok().filter(|n| n.is_finite() && (0.0..=1e6).contains(n));
        number.ok_or_else(|| anyhow!("{}: `{what}` = {text} is out of range", self.place(value.span().start)))
    }
}
