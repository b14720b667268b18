//! What the author of labelled lines should hear of, though the lines can be scored: names that are not known, and
//! answers that contradict each other. Each thing is told once, at the first line that has it.

use std::collections::BTreeSet;
use std::fmt;

use forebay_scan::Family;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::text::visible;
use crate::exit;

/// Fields of a line, as docs/LABELLED.md lists them.
const FIELDS: [&str; 16] = [
    "family",
    "kind",
    "text",
    "expect",
    "spans",
    "clean_scope",
    "contested",
    "weak",
    "hard",
    "ambiguous",
    "placeholder_like",
    "tier",
    "vendor",
    "rule",
    "source",
    "id",
];
/// What gives a secret away.
const TIERS: [&str; 4] = ["prefix", "context", "generic", "identifier"];
/// Most things that are told: a file with a field of its own in every line must not fill the terminal or the memory.
const MOST: usize = 20;
/// Most fields of one line, and bytes of a name, that are looked at.
const MOST_FIELDS: usize = 16;
const MAX_NAME: usize = 64;

/// Something odd about a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Odd {
    /// A field that is not known.
    Field(String),
    /// A tier that is not known.
    Tier(String),
    /// A clean line has spans.
    Spans,
}

impl Odd {
    /// What is odd about the fields of a line, which is an object.
    pub(crate) fn fields(line: &[u8]) -> Vec<Odd> {
        serde_json::from_slice::<Unknown>(line).map_or_else(|_| Vec::new(), |u| u.0)
    }

    /// The tier, if it is not known. Other families than secrets have none, and it means nothing there.
    pub(crate) fn tier(family: Family, tier: Option<&str>) -> Option<Odd> {
        let tier = tier.filter(|t| family == Family::Secret && !TIERS.contains(t))?;
        Some(Odd::Tier(tier.to_owned()))
    }
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Odd::Field(name) => {
                write!(f, "the field `{}` is not known and is ignored", visible(name))?;
                let slip = name.chars().count() / 3;
                match FIELDS.iter().find(|k| strsim::damerau_levenshtein(k, name) <= slip) {
                    Some(near) => write!(f, "; is `{near}` meant?"),
                    None => Ok(()),
                }
            }
            Odd::Tier(name) => write!(
                f,
                "the tier `{}` is none of {}; its lines count in the strict set",
                visible(name),
                TIERS.join(", ")
            ),
            Odd::Spans => f.write_str("a clean line has `spans`; they are ignored: should it say \"expect\": \"hit\"?"),
        }
    }
}

/// Tells each odd thing once.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    told: BTreeSet<Odd>,
}

impl Notices {
    /// Tells what is new. `place` is `file:line`.
    pub(crate) fn tell(&mut self, place: impl fmt::Display, odd: &[Odd]) {
        for o in odd {
            if self.told.len() > MOST || !self.told.insert(o.clone()) {
                continue;
            }
            match self.told.len() {
                0..=MOST => exit::say(format_args!("forebay: warning: {place}: {o}")),
                _ => exit::say(format_args!("forebay: warning: there are more such things; {MOST} were told")),
            }
        }
    }
}

/// The unknown fields of an object.
struct Unknown(Vec<Odd>);

impl<'de> Deserialize<'de> for Unknown {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Unknown;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unknown, A::Error> {
                let mut out = Vec::new();
                while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                    map.next_value::<IgnoredAny>()?;
                    if !FIELDS.contains(&&*name) && out.len() < MOST_FIELDS {
                        out.push(Odd::Field(name.chars().take(MAX_NAME).collect()));
                    }
                }
                Ok(Unknown(out))
            }
        }
        d.deserialize_map(Names)
    }
}
