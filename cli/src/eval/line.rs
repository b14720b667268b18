//! One labelled line: a text, and what is in it. `docs/LABELLED.md` describes the format for people.
//!
//! This is the one place that sees the raw JSON; what comes out is checked: spans lie within the text, names are short.
//! The attacker is whoever wrote the file: he wants memory (names without end, spans by the million) or a panic (offsets
//! behind the text, ends before starts).

use forebay_scan::Family;
use serde::Deserialize;

use super::notice::Odd;
use crate::json_lines::{Text, object};

/// Longest line, in bytes. It is in memory whole, and so are the findings of its text: a text of nothing but addresses
/// makes 2 million of them, 64 MB. Labelled texts are short; the longest known to us have 10 KB.
pub(crate) const MAX_LINE: usize = 16 << 20;
/// Longest name (kind, vendor, tier, rule), in bytes: each one can become a row of a table, and stays in memory.
const MAX_NAME: usize = 256;
/// Characters of a source that make a row: where it is no short name it is a sentence.
const SOURCE_NAME: usize = 48;

/// What a line must be, for messages.
const SHAPE: &str = r#"{"id": …, "family": "…", "kind": "…", "text": "…", "expect": "hit"|"clean", …}; `forebay eval --help` has all fields"#;

/// A labelled text.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) id: String,
    pub(crate) family: Family,
    pub(crate) kind: String,
    pub(crate) text: Vec<u8>,
    pub(crate) expect: Expect,
    pub(crate) vendor: Option<String>,
    pub(crate) tier: Option<String>,
    pub(crate) rule: Option<String>,
    source: String,
    /// Left out of all shares.
    pub(crate) contested: bool,
    /// In the strict set: can be decided, and by a pattern.
    pub(crate) strict: bool,
    /// What its author should hear of.
    pub(crate) odd: Vec<Odd>,
}

/// What must be found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// Something of the kind, here; `None`: somewhere.
    Hit(Option<Vec<Span>>),
    /// Nothing.
    Clean(Scope),
}

/// First byte of a span, and the one behind its last; never empty.
pub(crate) type Span = std::ops::Range<u64>;

/// What must not be found in a clean text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scope {
    /// Nothing that names the line's kind or vendor.
    #[default]
    Kind,
    /// Nothing of the line's family.
    All,
}

#[derive(Deserialize)]
struct Raw {
    id: Option<Id>,
    family: Family,
    kind: String,
    text: Text,
    expect: RawExpect,
    spans: Option<Vec<(u64, u64)>>,
    clean_scope: Option<Scope>,
    vendor: Option<String>,
    tier: Option<String>,
    rule: Option<String>,
    source: Option<String>,
    weak: Option<bool>,
    hard: Option<bool>,
    ambiguous: Option<bool>,
    contested: Option<bool>,
    placeholder_like: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string or a number")]
enum Id {
    Text(String),
    Number(serde_json::Number),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawExpect {
    Hit,
    Clean,
}

impl Line {
    /// Reads a line. An error names the place and the mend.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Line, String> {
        let raw: Raw = object(bytes, SHAPE)?;
        let set = |flag: Option<bool>| flag == Some(true);
        let shaky = [raw.weak, raw.hard, raw.ambiguous, raw.contested, raw.placeholder_like].into_iter().any(set);
        let mut odd = Odd::fields(bytes);
        odd.extend(Odd::tier(raw.family, raw.tier.as_deref().filter(|t| !t.is_empty())));
        if matches!(raw.expect, RawExpect::Clean) && raw.spans.as_ref().is_some_and(|s| !s.is_empty()) {
            odd.push(Odd::Spans);
        }
        let line = Line {
            odd,
            id: match raw.id {
                None => "?".to_owned(),
                Some(Id::Text(t)) => t,
                Some(Id::Number(n)) => n.to_string(),
            },
            family: raw.family,
            expect: match raw.expect {
                RawExpect::Hit => Expect::Hit(raw.spans.map(|s| spans(s, raw.text.0.len())).transpose()?),
                RawExpect::Clean => Expect::Clean(raw.clean_scope.unwrap_or_default()),
            },
            strict: !shaky && !matches!(raw.tier.as_deref(), Some("generic" | "identifier")),
            contested: set(raw.contested),
            kind: raw.kind,
            text: raw.text.0,
            vendor: raw.vendor.filter(|v| !v.is_empty()),
            tier: raw.tier.filter(|t| !t.is_empty()),
            rule: raw.rule,
            source: raw.source.unwrap_or_default(),
        };
        line.check_names()?;
        Ok(line)
    }

    fn check_names(&self) -> Result<(), String> {
        let names = [
            ("id", Some(&self.id)),
            ("kind", Some(&self.kind)),
            ("vendor", self.vendor.as_ref()),
            ("tier", self.tier.as_ref()),
            ("rule", self.rule.as_ref()),
        ];
        for (field, name) in names {
            if name.is_some_and(|n| n.len() > MAX_NAME) {
                return Err(format!("`{field}` is longer than {MAX_NAME} bytes; give it a short name"));
            }
        }
        if self.kind.is_empty() {
            return Err("`kind` is empty; name what the line is about, such as \"credit-card\"".to_owned());
        }
        Ok(())
    }

    /// Who says so: the origin of the rule (`rules:NAME`), else of the text, up to the first colon.
    pub(crate) fn origin(&self) -> String {
        let head = |s: &str| s.split(':').next().unwrap_or_default().to_owned();
        match self.rule.as_deref().map(head) {
            Some(name) if !name.is_empty() => name,
            _ => head(&self.source).chars().take(SOURCE_NAME).collect(),
        }
    }

    /// A text that was cut at its end, which the report must say; there is no place to find.
    pub(crate) fn is_cut(&self) -> bool {
        self.kind.starts_with("cut-")
    }

    /// The opposite: a text that is whole, and must be called so.
    pub(crate) fn is_whole(&self) -> bool {
        self.kind.starts_with("whole-")
    }
}

fn spans(raw: Vec<(u64, u64)>, text: usize) -> Result<Vec<Span>, String> {
    if raw.is_empty() {
        return Err("`spans` is empty on a hit; give [[start, end], …], or null if the place is not known".to_owned());
    }
    for (n, (start, end)) in (1..).zip(&raw) {
        if start >= end || *end > text as u64 {
            return Err(format!(
                "span {n} is [{start}, {end}] in a text of {text} bytes; give the first byte and the one behind the \
                 last, counted in UTF-8 bytes, not in characters"
            ));
        }
    }
    Ok(raw.into_iter().map(|(start, end)| start..end).collect())
}
