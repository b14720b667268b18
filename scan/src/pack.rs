//! Packs: TOML files of rules, turned into typed values by one function.
//!
//! A pack is untrusted input: unknown keys, bad patterns, unknown checks and unbounded repeats are refused here, with
//! the file, the line and the mend. Nothing past this module sees raw TOML.
//!
//! ```toml
//! [pack]
//! name = "pii"
//!
//! [let]                                   # fragments: {{octet}} in a pattern is replaced by (?:…)
//! octet = '25[0-5]|2[0-4][0-9]|1?[0-9]{1,2}'
//!
//! [[rule]]
//! id = "ipv4"                             # full name: family.id
//! family = "pii"
//! title = "IPv4 address"
//! pattern = '(?:^|[^0-9.])(?P<span>{{octet}}(?:\.{{octet}}){3})(?:[^0-9.]|$)'
//! severity = "low"
//! match = ["host 10.1.2.3 up"]
//! no_match = ["version 1.2.3.4.5"]
//! ```
//!
//! # What a pattern means
//! Rust regex syntax over bytes: Unicode off unless `(?u:…)` turns it on, `^` and `$` match at lines, `\b` is ASCII.
//! Written `PRE (?P<span> BODY ) POST`. A span `[s, e)` matches when BODY matches exactly `x[s..e]`, PRE matches some
//! text that ends at `s`, POST some text that begins at `e`, and all checks hold. Of the spans that match, the one
//! with the earliest start wins, then the longest; then the search goes on behind it. PRE, BODY and POST are bounded.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

use crate::allow::Allow;
use crate::checks::Check;
use crate::error::LoadError;
use crate::exact::ExactBytes;
use crate::examples;
use crate::finding::{Action, Family, Severity};
use crate::parallel;

/// Longest pack file accepted, in bytes: a rule file is written by people; a larger one is an attack or a mistake.
pub const MAX_PACK_BYTES: usize = 4 << 20;

/// A parsed pack.
#[derive(Clone, Debug)]
pub struct Pack {
    /// The pack's name.
    pub name: String,
    /// Its rules, in file order.
    pub rules: Vec<RuleSpec>,
    /// Its automata are known to build: it is one of the built-in packs, which a test builds.
    pub(crate) builds: bool,
}

/// One rule as written.
#[derive(Clone, Debug)]
pub struct RuleSpec {
    /// Full name, `family.id`.
    pub name: String,
    /// The family.
    pub family: Family,
    /// One line for people.
    pub title: String,
    /// What is looked for.
    pub what: What,
    /// Tests on the span's bytes; all must hold.
    pub checks: Vec<Check>,
    /// Texts that are let through although they match, the pack's own among them.
    pub allow: Vec<Arc<Allow>>,
    /// Words of which one must stand before the span.
    pub nearby: Option<Nearby>,
    /// Words of which none may stand before the span.
    pub unless: Option<Nearby>,
    /// How bad a match is.
    pub severity: Severity,
    /// Overrides the profile's action for the family.
    pub action: Option<Action>,
    /// Which label wins when spans overlap: higher first.
    pub priority: u32,
    /// The label of its tokens: capital letters and digits.
    pub token: String,
    /// Texts in which the rule must match (see [`crate::examples`] for the notation).
    pub matches: Vec<String>,
    /// Texts in which it must not.
    pub no_matches: Vec<String>,
    /// Where the rule stands: `file:line`.
    pub origin: String,
}

/// The ways in which a rule can say what it looks for.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A bounded pattern.
    Pattern(String),
    /// Everything from BEGIN on, for as long as whole INSIDE units follow, up to END if it comes. `pattern` is BEGIN.
    Region {
        /// PRE and BEGIN, bounded; the region starts where its `span` starts.
        begin: String,
        /// One unit of the inside, bounded.
        inside: String,
        /// What closes it, bounded.
        end: String,
    },
    /// A built-in tracker (`comment-elision`, `structure`, `hidden-text` …), with its own options.
    Tracker {
        /// The tracker's name.
        name: String,
        /// Free-form options, read by the tracker.
        options: toml::Table,
    },
    /// A value that is a secret on this host, see [`crate::ExactValue`]. No pack file can say this.
    Exact(ExactBytes),
}

/// Words near a span.
///
/// A word that begins with `<` must not stand behind an ASCII letter, one that ends with `>` not before one: `<tin>` is
/// seen in `tin: 1`, `emp_tin=1` and `employerTin=1`, not in `testing 1`. Without the marks a word is seen anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearby {
    /// The words, compared without regard to ASCII case.
    pub words: Vec<String>,
    /// How many bytes before the span are looked at.
    pub within: usize,
}

impl Nearby {
    /// Bound on `within`: the filter keeps this much released text per stream to look back at.
    pub const MAX_WITHIN: usize = 256;

    /// Whether one of the words stands in the last `within` bytes of `before`, the text in front of a span.
    /// This is what the words mean; the engine looks for all words at once.
    pub fn stands_in(&self, before: &[u8]) -> bool {
        let from = before.len().saturating_sub(self.within);
        self.words.iter().any(|w| {
            let (word, edges) = Edges::of(w);
            let stands = |i: &usize| {
                before[*i..].get(..word.len()).is_some_and(|x| x.eq_ignore_ascii_case(word.as_bytes()))
                    && edges.hold(before, *i, *i + word.len())
            };
            (from..before.len()).any(|i| stands(&i))
        })
    }
}

/// Where a nearby word must begin or end as a word of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edges {
    before: bool,
    behind: bool,
}

impl Edges {
    /// A word as it is written in a pack, without its marks.
    pub(crate) fn of(word: &str) -> (&str, Edges) {
        let (before, word) = word.strip_prefix('<').map_or((false, word), |w| (true, w));
        let (behind, word) = word.strip_suffix('>').map_or((false, word), |w| (true, w));
        (word, Edges { before, behind })
    }

    /// No letter of the same word may stand before it.
    pub(crate) fn before(self) -> bool {
        self.before
    }

    /// Whether the word at `start..end` of `text` has the edges asked for.
    pub(crate) fn hold(self, text: &[u8], start: usize, end: usize) -> bool {
        let joined = |i: usize| match (i.checked_sub(1).and_then(|i| text.get(i)), text.get(i)) {
            // A capital behind a small letter begins a word too: `employerTin`.
            (Some(a), Some(b)) => {
                a.is_ascii_alphabetic()
                    && b.is_ascii_alphabetic()
                    && !(a.is_ascii_lowercase() && b.is_ascii_uppercase())
            }
            _ => false,
        };
        !(self.before && joined(start) || self.behind && joined(end))
    }
}

impl RuleSpec {
    /// Hashes what decides what the rule finds, what is done about it and how it is told; not its examples or its place.
    pub(crate) fn hash_into(&self, action: Action, hash: &mut blake3::Hasher) {
        let mut put = |text: &str| {
            hash.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        };
        for text in [&self.name, self.family.as_str(), &self.title, self.severity.as_str(), &self.token] {
            put(text);
        }
        put(action.as_str());
        put(&self.priority.to_string());
        match &self.what {
            What::Pattern(p) => ["pattern", p].into_iter().for_each(&mut put),
            What::Region { begin, inside, end } => ["region", begin, inside, end].into_iter().for_each(&mut put),
            What::Tracker { name, options } => ["tracker", name, &options.to_string()].into_iter().for_each(&mut put),
            // Its name stands for it: a fingerprint leaves the host, and must not serve to test guesses.
            What::Exact(_) => put("exact"),
        }
        put(&self.checks.len().to_string());
        self.checks.iter().for_each(|c| put(&c.to_string()));
        self.allow.iter().for_each(|a| put(&format!("allow {a:?}")));
        for (which, list) in [("nearby", &self.nearby), ("unless", &self.unless)] {
            if let Some(n) = list {
                [which, &n.within.to_string(), &n.words.len().to_string()].into_iter().for_each(&mut put);
                n.words.iter().for_each(|w| put(w));
            }
        }
    }
}

impl Pack {
    /// Parses a pack. `origin` is the file name that errors show.
    pub fn parse(text: &str, origin: &str) -> Result<Pack, LoadError> {
        if text.len() > MAX_PACK_BYTES {
            return Err(LoadError::new(
                origin,
                1,
                format!("the pack is {} bytes, more than {MAX_PACK_BYTES}", text.len()),
                "split it into several packs",
            ));
        }
        let raw: RawPack = toml::from_str(text).map_err(|e| LoadError::from_toml(origin, text, &e))?;
        let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let line_at = |at: usize| format!("{origin}:{}", 1 + lines.partition_point(|l| *l < at));
        let mut allow = Vec::with_capacity(raw.allow.len());
        for a in raw.allow {
            allow.push(Arc::new(a.get_ref().build().map_err(|e| allow_error(&line_at(a.span().start), e))?));
        }
        let mut rules = Vec::with_capacity(raw.rule.len());
        for rule in raw.rule {
            let place = line_at(rule.id.span().start);
            rules.push(rule.into_spec(&raw.fragments, &allow, &place)?);
        }
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for r in &rules {
            if let Some(first) = seen.insert(&r.name, &r.origin) {
                return Err(LoadError::at(
                    &r.origin,
                    format!("rule `{}` is defined twice (first at {first})", r.name),
                    "rename one of them",
                ));
            }
        }
        Ok(Pack { name: raw.pack.name, rules, builds: false })
    }

    /// A pack of rules at hand: a selection from others.
    pub fn of(name: &str, rules: Vec<RuleSpec>) -> Pack {
        Pack { name: name.to_owned(), rules, builds: false }
    }

    /// The packs that are built in, by name: `pii`, `secret`, `elision`, `truncation`, `injection`.
    pub fn builtin_sources() -> [(&'static str, &'static str); 5] {
        [
            ("pii", include_str!("../../packs/pii.toml")),
            ("secret", include_str!("../../packs/secret.toml")),
            ("elision", include_str!("../../packs/elision.toml")),
            ("truncation", include_str!("../../packs/truncation.toml")),
            ("injection", include_str!("../../packs/injection.toml")),
        ]
    }

    /// All of the built-in packs.
    pub fn all_builtin() -> Result<Vec<Pack>, LoadError> {
        let names: Vec<&str> = Pack::builtin_sources().map(|(n, _)| n).into();
        let packs = parallel::map_heavy(&names, |n| Pack::builtin(n)).into_iter().flatten();
        packs.collect()
    }

    /// A built-in pack.
    pub fn builtin(name: &str) -> Option<Result<Pack, LoadError>> {
        Self::builtin_sources()
            .into_iter()
            .find(|(n, _)| *n == name)
            .map(|(n, text)| Ok(Pack { builds: true, ..Pack::parse(text, &format!("packs/{n}.toml"))? }))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPack {
    pack: RawHeader,
    #[serde(default, rename = "let")]
    fragments: BTreeMap<String, String>,
    /// For every rule of the pack.
    #[serde(default)]
    allow: Vec<Spanned<RawAllow>>,
    #[serde(default)]
    rule: Vec<RawRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHeader {
    name: String,
    #[serde(default)]
    #[allow(dead_code)] // for people
    title: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    id: Spanned<String>,
    family: Family,
    title: String,
    #[serde(default)]
    pattern: Option<Spanned<String>>,
    #[serde(default)]
    region: Option<RawRegion>,
    #[serde(default)]
    tracker: Option<String>,
    #[serde(default)]
    options: toml::Table,
    #[serde(default)]
    checks: Vec<String>,
    #[serde(default)]
    allow: Vec<RawAllow>,
    #[serde(default)]
    nearby: Option<RawNearby>,
    #[serde(default)]
    unless: Option<RawNearby>,
    severity: Severity,
    #[serde(default)]
    action: Option<Action>,
    #[serde(default)]
    priority: Option<u32>,
    #[serde(default)]
    token: Option<String>,
    #[serde(default, rename = "match")]
    matches: Vec<String>,
    #[serde(default, rename = "no_match")]
    no_matches: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRegion {
    begin: String,
    inside: String,
    end: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNearby {
    words: Vec<String>,
    within: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAllow {
    #[serde(default)]
    patterns: Vec<String>,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    both: bool,
    #[serde(default)]
    before: usize,
}

impl RawAllow {
    fn build(&self) -> Result<Allow, String> {
        Allow::new(self.patterns.clone(), self.words.clone(), self.both, self.before)
    }
}

fn allow_error(place: &str, what: String) -> LoadError {
    LoadError::at(place, what, "see `allow` in packs/README.md")
}

impl RawRule {
    fn into_spec(
        self,
        lets: &BTreeMap<String, String>,
        pack_allow: &[Arc<Allow>],
        place: &str,
    ) -> Result<RuleSpec, LoadError> {
        let fail = |what: String, mend: &str| LoadError::at(place, what, mend);
        let id = self.id.into_inner();
        if id.is_empty() || !id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
            return Err(fail(format!("rule id `{id}` is not kebab case"), "use small letters, digits and dashes"));
        }
        let what = match (self.pattern, self.region, self.tracker) {
            (Some(p), None, None) => What::Pattern(expand(p.get_ref(), lets, place)?),
            (None, Some(r), None) => What::Region {
                begin: expand(&r.begin, lets, place)?,
                inside: expand(&r.inside, lets, place)?,
                end: expand(&r.end, lets, place)?,
            },
            (None, None, Some(name)) => What::Tracker { name, options: self.options },
            _ => {
                return Err(fail(
                    format!("rule `{id}` must have exactly one of `pattern`, `region` and `tracker`"),
                    "keep one of them",
                ));
            }
        };
        let mut checks = Vec::new();
        for c in &self.checks {
            checks.push(
                Check::parse(c)
                    .map_err(|e| fail(format!("rule `{id}`: {e}"), "mend it as packs/README.md says under Checks"))?,
            );
        }
        let mut allow = pack_allow.to_vec();
        for a in &self.allow {
            allow.push(Arc::new(a.build().map_err(|e| allow_error(place, format!("rule `{id}`: {e}")))?));
        }
        for m in self.matches.iter().chain(&self.no_matches) {
            examples::expand(m).map_err(|e| {
                fail(format!("rule `{id}`: example: {e}"), "mend it as packs/README.md says under Examples")
            })?;
        }
        let token = self.token.unwrap_or_else(|| id.replace('-', "").to_ascii_uppercase());
        if token.is_empty() || token.len() > 48 || !token.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        {
            return Err(fail(
                format!("rule `{id}`: token label `{token}` must be 1 to 48 capital letters or digits"),
                "set `token = \"…\"`",
            ));
        }
        Ok(RuleSpec {
            name: format!("{}.{id}", self.family),
            family: self.family,
            title: self.title,
            what,
            checks,
            allow,
            nearby: self.nearby.map(|n| n.into_nearby(&id, place)).transpose()?,
            unless: self.unless.map(|n| n.into_nearby(&id, place)).transpose()?,
            severity: self.severity,
            action: self.action,
            priority: self.priority.unwrap_or(self.severity as u32 * 10),
            token,
            matches: self.matches,
            no_matches: self.no_matches,
            origin: place.to_owned(),
        })
    }
}

impl RawNearby {
    fn into_nearby(self, id: &str, place: &str) -> Result<Nearby, LoadError> {
        if self.within == 0 || self.within > Nearby::MAX_WITHIN || self.words.iter().any(|w| Edges::of(w).0.is_empty())
        {
            return Err(LoadError::at(
                place,
                format!(
                    "rule `{id}`: nearby words need a distance of 1 to {} bytes and no empty word",
                    Nearby::MAX_WITHIN
                ),
                "set `within`",
            ));
        }
        Ok(Nearby { words: self.words, within: self.within })
    }
}

/// Replaces `{{name}}` by the fragment, in a group of its own. Fragments may use fragments, eight deep.
fn expand(pattern: &str, lets: &BTreeMap<String, String>, place: &str) -> Result<String, LoadError> {
    let mut text = pattern.to_owned();
    for _ in 0..8 {
        let Some(open) = text.find("{{") else { return Ok(text) };
        let mut out = String::with_capacity(text.len() * 2);
        let mut rest = text.as_str();
        let mut at = Some(open);
        while let Some(open) = at {
            let Some(close) = rest[open..].find("}}") else {
                return Err(LoadError::at(place, "`{{` without `}}` in a pattern".into(), "close the fragment name"));
            };
            let name = &rest[open + 2..open + close];
            let Some(body) = lets.get(name) else {
                return Err(LoadError::at(place, format!("no fragment `{name}` in [let]"), "define it there"));
            };
            out.push_str(&rest[..open]);
            out.push_str("(?:");
            out.push_str(body);
            out.push(')');
            rest = &rest[open + close + 2..];
            at = rest.find("{{");
            if out.len() > MAX_PACK_BYTES {
                return Err(LoadError::at(place, "fragments expand to more than 4 MiB".into(), "use fewer of them"));
            }
        }
        out.push_str(rest);
        text = out;
    }
    Err(LoadError::at(place, "fragments refer to each other more than eight deep".into(), "flatten them"))
}

pub(crate) fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count()
}
