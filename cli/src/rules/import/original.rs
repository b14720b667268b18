//! What gitleaks would find: its own procedure, on the `regex` crate.
//!
//! It shares the reading of Go's syntax with the import, and nothing else: not the hoisting of groups, not the cutting
//! and bounding of repeats, not the engine. So a rule that was turned into something else is noticed here.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};

use super::config::{Allowlist, Rule, Target};
use super::go_regex;

/// Bound on one compiled expression, in bytes: a hundred times what an honest one takes.
const MAX_COMPILED: usize = 16 << 20;

/// A rule as gitleaks runs it.
pub(super) struct Original {
    regex: Regex,
    /// The whole match is the secret, whatever the groups.
    pub(super) whole: bool,
    group: usize,
    entropy: f64,
    keywords: Vec<String>,
    allow: Vec<Allowed>,
}

struct Allowed {
    and: bool,
    target: Target,
    regexes: Vec<Regex>,
    stopwords: Vec<String>,
}

fn compile(translated: &str) -> Result<Regex, String> {
    RegexBuilder::new(translated)
        .unicode(false)
        .size_limit(MAX_COMPILED)
        .build()
        .map_err(|e| e.to_string().lines().last().unwrap_or("bad expression").trim().to_owned())
}

impl Original {
    /// `translated` is the rule's expression.
    pub(super) fn new(rule: &Rule, translated: &str, global: &[Allowlist]) -> Result<Original, String> {
        let allow = rule.allowlists.iter().chain(global);
        Ok(Original {
            regex: compile(translated)?,
            whole: false,
            group: rule.secret_group as usize,
            entropy: rule.entropy,
            keywords: rule.keywords.clone(),
            // What names paths or commits too cannot hold for a text that has neither.
            allow: allow.filter(|a| !(a.and && a.places)).map(Allowed::of).collect(),
        })
    }

    /// How many groups the expression has.
    pub(super) fn groups(&self) -> usize {
        self.regex.captures_len() - 1
    }

    /// The secrets that it reports in a text.
    pub(super) fn secrets(&self, text: &[u8]) -> Vec<Range<usize>> {
        let small = text.to_ascii_lowercase();
        let has = |k: &String| k.len() <= small.len() && small.windows(k.len().max(1)).any(|w| w == k.as_bytes());
        if !self.keywords.is_empty() && !self.keywords.iter().any(has) {
            return Vec::new();
        }
        self.regex.captures_iter(text).filter_map(|c| self.secret(text, &c)).collect()
    }

    fn secret(&self, text: &[u8], c: &regex::bytes::Captures<'_>) -> Option<Range<usize>> {
        let mut whole = c.get(0)?.range();
        while text[whole.clone()].last() == Some(&b'\n') {
            whole.end -= 1;
        }
        let secret = if self.whole {
            whole.clone()
        } else if self.group > 0 {
            c.get(self.group).map(|m| m.range())?
        } else {
            let groups = (1..c.len()).filter_map(|i| c.get(i));
            groups.map(|m| m.range()).find(|r| !r.is_empty()).unwrap_or(whole.clone())
        };
        let random = self.entropy == 0.0 || entropy(&text[secret.clone()]) > self.entropy;
        (random && !self.allow.iter().any(|a| a.holds(text, &secret, &whole))).then_some(secret)
    }
}

impl Allowed {
    fn of(a: &Allowlist) -> Allowed {
        let regexes = a.regexes.iter().filter_map(|r| compile(&go_regex::translate(r).ok()?).ok()).collect();
        let stopwords = a.stopwords.iter().map(|s| s.to_ascii_lowercase()).collect();
        Allowed { and: a.and, target: a.target, regexes, stopwords }
    }

    fn holds(&self, text: &[u8], secret: &Range<usize>, whole: &Range<usize>) -> bool {
        let line = || {
            let from = text[..whole.start].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
            let to = text[whole.end..].iter().position(|b| *b == b'\n').map_or(text.len(), |at| whole.end + at);
            from..to
        };
        let seen = match self.target {
            Target::Secret => secret.clone(),
            Target::Match => whole.clone(),
            Target::Line => line(),
        };
        let regex = || self.regexes.iter().any(|r| r.is_match(&text[seen.clone()]));
        let small = text[secret.clone()].to_ascii_lowercase();
        let word = || self.stopwords.iter().any(|s| small.windows(s.len().max(1)).any(|w| w == s.as_bytes()));
        if self.and && !self.regexes.is_empty() && !self.stopwords.is_empty() {
            regex() && word()
        } else {
            regex() || word()
        }
    }
}

/// Shannon entropy in bits per byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    bytes.iter().for_each(|b| counts[usize::from(*b)] += 1);
    let n = bytes.len() as f64;
    counts.iter().filter(|c| **c > 0).map(|c| f64::from(*c) / n).map(|p| -p * p.log2()).sum()
}
