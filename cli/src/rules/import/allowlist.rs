//! Allowlists of gitleaks as entries of `allow` in a pack.
//!
//! What a stream has not (paths, commits, the text behind a secret) is left out and told. Leaving a condition out of a
//! list that asks for all of them would let more through than its author meant, so then the whole list goes.

use forebay_scan::allow::{self, Allow};
use regex_syntax::hir::{HirKind, Look};

use super::build::list;
use super::config::{Allowlist, Target};
use super::spell::spell;
use super::{go_regex, shape};

/// An entry of `allow`. `None` if nothing of it can be said in a pack.
pub(super) fn entry(a: &Allowlist, before: usize, changes: &mut Vec<String>) -> Option<String> {
    let mut left_out = |what: String| changes.push(format!("allowlist at {}: {what}", a.place));
    if a.places {
        if a.and {
            left_out("left out, since it asks for paths or commits too".to_owned());
            return None;
        }
        left_out("its paths and commits are left out".to_owned());
    }
    let before = match a.target {
        Target::Secret => 0,
        Target::Match => before,
        Target::Line => allow::MAX_BEFORE,
    };
    if a.target != Target::Secret && !a.regexes.is_empty() {
        left_out(format!("its expressions see the secret and {before} bytes before it on its line, nothing behind"));
    }
    let mut patterns = Vec::new();
    for go in &a.regexes {
        match patterns_of(go) {
            Ok(p) => patterns.extend(p),
            Err(e) => left_out(format!("an expression is left out: {e}")),
        }
    }
    if patterns.len() > allow::MAX_PATTERNS {
        left_out(format!("expressions beyond {} are left out", allow::MAX_PATTERNS));
        patterns.truncate(allow::MAX_PATTERNS);
    }
    let mut stopwords: Vec<String> = a.stopwords.iter().filter(|s| !s.is_empty()).cloned().collect();
    if stopwords.len() > allow::MAX_WORDS {
        left_out(format!("words beyond {} are left out", allow::MAX_WORDS));
        stopwords.truncate(allow::MAX_WORDS);
    }
    // Both are wanted only if there were both; if expressions had to be left out, the words alone would allow too much.
    let both = a.and && !a.regexes.is_empty() && !a.stopwords.is_empty();
    if patterns.is_empty() && (stopwords.is_empty() || both) {
        return None;
    }
    let mut parts = Vec::new();
    if !patterns.is_empty() {
        parts.push(format!("patterns = {}", list(&patterns)));
        if before > 0 {
            parts.push(format!("before = {before}"));
        }
    }
    if !stopwords.is_empty() {
        parts.push(format!("words = {}", list(&stopwords)));
    }
    if both {
        parts.push("both = true".to_owned());
    }
    Some(format!("{{ {} }}", parts.join(", ")))
}

/// An allowlist's expression as patterns of which one must be found: one, or its alternatives if it is too large.
fn patterns_of(go: &str) -> Result<Vec<String>, String> {
    let translated = go_regex::translate(go)?;
    let hir = shape::strip(&go_regex::parse(&translated)?);
    let looks = hir.properties().look_set();
    let fits = |text: &String| Allow::new(vec![text.clone()], Vec::new(), false, 0).map(drop);
    // `^` at lines is spelled as patterns of rules read it, and those of `allow` read it otherwise.
    if looks.contains(Look::StartLF) || looks.contains(Look::EndLF) {
        return fits(&translated).map(|()| vec![translated]);
    }
    let text = spell(&hir);
    match (fits(&text), hir.kind()) {
        (Ok(()), _) => Ok(vec![text]),
        (Err(_), HirKind::Alternation(items)) => {
            let texts: Vec<String> = items.iter().map(spell).collect();
            texts.iter().try_for_each(fits).map(|()| texts)
        }
        (Err(e), _) => Err(e),
    }
}
