//! Errors of loading packs and profiles. Each names the place, what is wrong there, and the mend.

use std::fmt;

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
        Self::new(origin, line, e.message().replace('\n', " "), "mend the TOML there")
    }
}
