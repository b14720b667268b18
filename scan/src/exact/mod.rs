//! Exact values: secrets that this host knows, found wherever they stand, as they are and in the usual encodings.
//!
//! A pattern says what a secret looks like; an exact value says what it *is*, so it is found without a prefix, a
//! checksum or a word in front of it. Each value becomes one rule of the family `secret`, and all values of a rule set
//! share one automaton for text ([`automaton`]) and one for base64: what a push costs does not depend on their number.
//!
//! - `forms`: how a value may be written (raw, hex, base64).
//! - [`automaton`]: finds all forms at once, in time linear in the text whatever the text is.
//! - `decoded`: the same search in what comes out when escapes of JSON strings (`unescape`) and of URLs are decoded.
//! - `grams`: skips what begins none.
//! - [`tracker`]: the stream's state, which is also the least hold: the longest end of the input that begins a form.
//! - `weak`: values that would be found everywhere.
//!
//! This is *not* where values come from: the program reads files, this crate takes names and bytes.
//!
//! Invariants: no value is in any name, error, `Debug` output or fingerprint. The attackers: a text that tries to make
//! the search slow (it is linear, there is no candidate to verify), a tool that splits or encodes a value to carry it
//! out, and a file of values that tries to exhaust memory ([`MAX_VALUES`], [`automaton::MAX_NODES`]).

mod automaton;
mod decoded;
mod forms;
mod grams;
mod tracker;
mod unescape;
mod weak;

use std::fmt;
use std::sync::Arc;

pub(crate) use tracker::ExactSpec;
pub use weak::{Weakness, weakness};

use crate::error::LoadError;
use crate::finding::{Family, Severity};
use crate::pack::{Pack, RuleSpec, What};

/// Most values in a rule set. A large host has hundreds; a file with more than this is the wrong file.
pub const MAX_VALUES: usize = 10_000;

/// Longest value in bytes: an RSA key of 4,096 bits as PEM has 3,272. Its hex form is as long as a span may be.
pub const MAX_VALUE_BYTES: usize = 4096;

/// Longest name of a value, in bytes: with the family in front it is a name on the wire.
const MAX_NAME: usize = 112;

/// What the readings of one value are. Says nothing of itself: the bytes leave it only towards the automaton.
#[derive(Clone, PartialEq, Eq)]
pub struct ExactBytes(Arc<[Box<[u8]>]>);

impl fmt::Debug for ExactBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExactBytes(..)")
    }
}

impl ExactBytes {
    /// The reading that stands for the value in its tokens, so that every spelling of it has one token.
    pub(crate) fn usual(&self) -> &[u8] {
        self.0.first().map_or(&[], |r| r)
    }

    pub(crate) fn readings(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|r| &**r)
    }
}

/// A named value. Its `Debug` output shows the name only.
#[derive(Clone, Debug)]
pub struct ExactValue {
    name: String,
    bytes: ExactBytes,
    origin: String,
}

impl ExactValue {
    /// A value, with the readings that programs may give its source (a quoted string with escapes has two). `file` and
    /// `key` make its rule's name, `secret.exact.<file>.<key>`, or without a key `secret.exact.<file>`; `origin` is the
    /// place that errors show.
    ///
    /// # Errors
    /// A reading is empty or longer than [`MAX_VALUE_BYTES`], or the name is too long. Whether a value is worth looking
    /// for is another question: [`weakness`].
    pub fn new(file: &str, key: &str, readings: &[&[u8]], origin: &str) -> Result<ExactValue, LoadError> {
        let name = if key.is_empty() { named(file, "") } else { format!("{}.{}", named(file, ""), named(key, ".")) };
        let fail = |what: &str, mend: &str| Err(LoadError::at(origin, format!("the value of `{name}` {what}"), mend));
        if name.len() > MAX_NAME {
            return fail(&format!("makes a name of more than {MAX_NAME} bytes"), "give the file a short `label`");
        }
        if readings.is_empty() || readings.iter().any(|r| r.is_empty()) {
            return fail("is empty", "give it a value, or leave it out");
        }
        if readings.iter().any(|r| r.len() > MAX_VALUE_BYTES) {
            return fail(
                &format!("is longer than {MAX_VALUE_BYTES} bytes"),
                "name only its secret part (a private key without its certificates), or leave it out",
            );
        }
        let mut readings: Vec<Box<[u8]>> = readings.iter().map(|r| Box::from(*r)).collect();
        readings.extend(readings.clone().iter().filter_map(|r| forms::other_lines(r)).map(Vec::into));
        let mut seen = std::collections::HashSet::new();
        readings.retain(|r| seen.insert(r.clone()));
        Ok(ExactValue { name, bytes: ExactBytes(readings.into()), origin: origin.to_owned() })
    }

    /// Encodings in which some spelling of the value would be longer than a span may be, and is not looked for: `in URLs`.
    /// Happens to values of more than two thousand bytes most of which are escaped.
    pub fn left_out(&self) -> Vec<&'static str> {
        forms::left_out(self.bytes.readings())
    }

    /// Full name of its rule.
    pub fn rule(&self) -> String {
        format!("{}.exact.{}", Family::Secret, self.name)
    }
}

/// What a name may be made of besides letters, digits, `_` and `-`; anything else becomes a dash.
fn named(part: &str, also: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || also.contains(c);
    part.chars().map(|c| if fits(c) { c } else { '-' }).collect()
}

impl Pack {
    /// A pack of exact values, one rule each.
    ///
    /// # Errors
    /// Two values have the same name, or there are more than [`MAX_VALUES`].
    pub fn exact(values: &[ExactValue]) -> Result<Pack, LoadError> {
        if let Some(beyond) = values.get(MAX_VALUES) {
            let what = format!("more than {MAX_VALUES} exact values");
            return Err(LoadError::at(&beyond.origin, what, "keep only files of secrets, or name keys in `ignore`"));
        }
        let mut seen = std::collections::HashMap::new();
        for v in values {
            if let Some(first) = seen.insert(&v.name, &v.origin) {
                let what = format!("rule `{}` is made twice (first at {first})", v.rule());
                return Err(LoadError::at(&v.origin, what, "give each file a `label` of its own, each key once"));
            }
        }
        Ok(Pack::of("exact", values.iter().map(rule_of).collect()))
    }
}

fn rule_of(v: &ExactValue) -> RuleSpec {
    let key = v.name.split_once('.').map_or(v.name.as_str(), |(_, key)| key);
    let token: String = key.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.to_ascii_uppercase() as char).collect();
    RuleSpec {
        name: v.rule(),
        family: Family::Secret,
        title: format!("the value of {key} on this host"),
        what: What::Exact(v.bytes.clone()),
        checks: Vec::new(),
        allow: Vec::new(),
        nearby: None,
        unless: None,
        severity: Severity::Critical,
        action: None,
        // Before every pattern rule: that it is this value is certain, what it looks like is not.
        priority: 1000,
        token: if token.is_empty() { "EXACT".to_owned() } else { token[..token.len().min(48)].to_owned() },
        matches: Vec::new(),
        no_matches: Vec::new(),
        origin: v.origin.clone(),
    }
}
