//! A rule by its name, or what is near it.

use anyhow::bail;
use forebay_scan::{Pack, RuleSpec};

/// Most names that are suggested.
const MOST_NEAR: usize = 12;
/// About the longest name of a rule, in bytes.
const MAX_NAME: usize = 128;

/// The rule of that name; failing that, the only one whose name contains it; failing that, an error with what is near.
pub(super) fn rule<'a>(packs: &'a [Pack], name: &str, profile: &str) -> anyhow::Result<(&'a Pack, &'a RuleSpec)> {
    let rules = || packs.iter().flat_map(|p| p.rules.iter().map(move |r| (p, r)));
    if let Some(found) = rules().find(|(_, r)| r.name == name) {
        return Ok(found);
    }
    let holding: Vec<(&Pack, &RuleSpec)> = rules().filter(|(_, r)| r.name.contains(name)).collect();
    let near = match holding.as_slice() {
        [one] => return Ok(*one),
        [] => similar(rules().map(|(_, r)| r.name.as_str()), name),
        many => many.iter().map(|(_, r)| r.name.as_str()).take(MOST_NEAR).collect(),
    };
    if near.is_empty() {
        bail!("there is no rule `{name}` in profile {profile}; `forebay rules list` shows them all");
    }
    bail!("there is no rule `{name}` in profile {profile}; near it: {}", near.join(", "))
}

/// Names that a slip of the hand turns into this one, the nearest first. A name may be given without its family.
fn similar<'a>(names: impl Iterator<Item = &'a str>, name: &str) -> Vec<&'a str> {
    // A comparison takes the product of both lengths; rules' names are short.
    if name.len() > 2 * MAX_NAME {
        return Vec::new();
    }
    let most = (name.chars().count() / 3).max(1);
    let distance = |of: &str| {
        let bare = of.split_once('.').map_or(of, |(_, bare)| bare);
        strsim::damerau_levenshtein(of, name).min(strsim::damerau_levenshtein(bare, name))
    };
    let mut near: Vec<(usize, &str)> = names.map(|n| (distance(n), n)).filter(|(d, _)| *d <= most).collect();
    near.sort();
    near.into_iter().map(|(_, n)| n).take(MOST_NEAR / 2).collect()
}
