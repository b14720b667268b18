//! Errors of loading packs and profiles. Each names the place, what is wrong there, and the mend.

use std::fmt;

use crate::finding::{Family, Severity};
use crate::pack::line_of;

/// A pack, profile or rule that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct LoadError {
    /// `file:line`.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub mend: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.what, self.mend)
    }
}

impl LoadError {
    pub(crate) fn new(origin: &str, line: usize, what: String, mend: &str) -> Self {
        Self::at(&format!("{origin}:{line}"), what, mend)
    }

    pub(crate) fn at(place: &str, what: String, mend: &str) -> Self {
        LoadError { place: place.to_owned(), what, mend: mend.to_owned() }
    }

    pub(crate) fn from_toml(origin: &str, text: &str, e: &toml::de::Error) -> Self {
        let line = e.span().map_or(1, |s| line_of(text, s.start));
        let what = e.message().replace('\n', " ");
        let missing = what.strip_prefix("missing field `").and_then(|m| m.strip_suffix('`'));
        let mend = missing.map_or_else(|| "mend the TOML there".to_owned(), added);
        Self::new(origin, line, what, &mend)
    }
}

/// What to write for a key that is missing: one of the few values that it can have, or what is meant by it.
fn added(key: &str) -> String {
    let one_of = |values: &[&str]| format!("add `{key} = \"…\"`, one of {}", values.join(", "));
    match key {
        "severity" => one_of(&Severity::ALL.map(Severity::as_str)),
        "family" => one_of(&Family::ALL.map(Family::as_str)),
        "id" => "add `id = \"…\"`, a name of small letters, digits and dashes".to_owned(),
        "title" => "add `title = \"…\"`, one line for people".to_owned(),
        "pack" => "add a table `[pack]` with `name = \"…\"`".to_owned(),
        "begin" | "inside" | "end" => {
            format!("add `{key}`: a region is `region = {{ begin = '…', inside = '…', end = '…' }}`")
        }
        "words" | "within" => format!("add `{key}`, as in `{{ words = [\"…\"], within = 40 }}`"),
        _ => format!("add `{key} = …`"),
    }
}
