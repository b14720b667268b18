//! Whether a rule's name says that its finding is of a line's kind, or of its vendor.
//!
//! A labelled file has its own names for kinds, and rules have theirs. They are compared word by word: a name is meant
//! when its words stand next to each other in the rule's name, however either is divided (`hugging-face`,
//! `HuggingFace`). This is *not* a judgement of the place; that is [`super::judge`]'s.

use std::collections::HashMap;

use forebay_scan::{RuleId, RuleSet};

use super::line::Line;

/// Most words of a rule's name that are put together as one: names of vendors have no more.
const MOST_JOINED: usize = 8;

/// What else a kind or vendor is called.
const OTHERS: &[(&str, &[&str])] = &[
    // Numbers and addresses of people.
    ("credit-card", &["creditcard", "card", "pan"]),
    ("email", &["mail", "e-mail"]),
    ("ip-address", &["ipv6", "ipv4", "ip"]),
    ("mac-address", &["mac"]),
    ("us-aba-routing-number", &["routing", "us-aba", "aba"]),
    ("uk-nhs", &["gb-nhs", "nhs"]),
    ("uk-nino", &["gb-nino", "nino"]),
    ("in-aadhaar", &["aadhaar"]),
    ("cn-resident-id", &["gb11643", "cn-id-card", "cn-id"]),
    ("kr-rrn", &["kr-resident-registration"]),
    // Addresses of money.
    ("btc-address", &["crypto", "btc", "bitcoin"]),
    ("eth-address", &["crypto", "eth", "ethereum"]),
    ("xmr-address", &["crypto", "xmr", "monero"]),
    // Credentials.
    ("jwt", &["json-web-token"]),
    ("json-web-token", &["jwt"]),
    ("private-key", &["pem-private-key", "pem"]),
    ("generic", &["password-assignment", "entropy", "keyword"]),
];

/// What a kind with the word `phone` may be called, whatever its country.
const PHONE: [&str; 3] = ["phone", "telephone", "mobile"];

/// The names of a rule set, in words.
pub(crate) struct RuleNames(HashMap<RuleId, RuleName>);

struct RuleName {
    full: String,
    words: Vec<String>,
}

impl RuleNames {
    pub(crate) fn of(rules: &RuleSet) -> Self {
        let name = |full: &str| RuleName { full: full.to_owned(), words: words(full) };
        RuleNames(rules.rules().map(|(id, info)| (id, name(&info.name))).collect())
    }
}

/// What a line is called, and by which rules. Remembers its answers.
pub(crate) struct LineNames<'a> {
    rules: &'a RuleNames,
    line: &'a Line,
    /// Each without anything between its words.
    wanted: Vec<String>,
    known: HashMap<RuleId, bool>,
}

impl<'a> LineNames<'a> {
    pub(crate) fn of(line: &'a Line, rules: &'a RuleNames) -> Self {
        let vendor = line.vendor.as_deref().unwrap_or_default();
        let phone = line.kind.split('-').any(|w| w == "phone");
        let wanted = [line.kind.as_str(), vendor]
            .into_iter()
            .chain(others(&line.kind).iter().copied())
            .chain(others(vendor).iter().copied())
            .chain(PHONE.into_iter().filter(|_| phone))
            .map(|name| words(name).concat())
            .filter(|name| !name.is_empty())
            .collect();
        LineNames { rules, line, wanted, known: HashMap::new() }
    }

    /// Whether the rule is one for this line's kind or vendor.
    pub(crate) fn names(&mut self, rule: RuleId) -> bool {
        if let Some(known) = self.known.get(&rule) {
            return *known;
        }
        let answer = self.rules.0.get(&rule).is_some_and(|r| self.is_its_rule(&r.full) || self.is_named_in(&r.words));
        self.known.insert(rule, answer);
        answer
    }

    /// The very rule that the line was made for.
    fn is_its_rule(&self, full: &str) -> bool {
        let Some(rule) = &self.line.rule else { return false };
        full == rule || rule.split_once(':').is_some_and(|(_, own)| own == full)
    }

    fn is_named_in(&self, words: &[String]) -> bool {
        (0..words.len()).any(|from| {
            let end = words.len().min(from + MOST_JOINED);
            self.wanted.iter().any(|name| is_beginning(&words[from..end], name))
        })
    }
}

/// What else something is called.
fn others(name: &str) -> &'static [&'static str] {
    OTHERS.iter().find(|(n, _)| *n == name).map_or(&[], |(_, others)| *others)
}

/// Whether the first words, put together, are `name`.
fn is_beginning(words: &[String], name: &str) -> bool {
    let mut rest = name;
    for word in words {
        match rest.strip_prefix(word.as_str()) {
            Some("") => return true,
            Some(r) => rest = r,
            None => return false,
        }
    }
    false
}

/// The words of a name in small letters: they end at anything but an ASCII letter or digit, where a capital follows a
/// small letter or digit, and before the last capital of several that a small letter follows (`AWSAccessKey`).
fn words(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let bytes = name.as_bytes();
    for (i, b) in bytes.iter().enumerate() {
        let before = i.checked_sub(1).map_or(b' ', |i| bytes[i]);
        let behind = bytes.get(i + 1).copied().unwrap_or(b' ');
        let turns = b.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || before.is_ascii_uppercase() && behind.is_ascii_lowercase());
        if turns || !b.is_ascii_alphanumeric() {
            out.push(String::new());
        }
        if let (true, Some(word)) = (b.is_ascii_alphanumeric(), out.last_mut()) {
            word.push(char::from(b.to_ascii_lowercase()));
        }
    }
    out.retain(|w| !w.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_divided_into_words() {
        assert_eq!(words("AWSAccessKey"), ["aws", "access", "key"]);
        assert_eq!(words("secret.hugging-face_2Token"), ["secret", "hugging", "face", "2", "token"]);
        assert_eq!(words("é-多"), [""; 0]);
    }

    #[test]
    fn words_stand_together_or_not_at_all() {
        let stands = |rule: &str, name: &str| {
            let words = words(rule);
            (0..words.len()).any(|from| is_beginning(&words[from..], name))
        };
        assert!(stands("secret.hugging-face-token", "huggingface"));
        assert!(stands("secret.huggingface-token", "huggingface"));
        assert!(!stands("ship-it", "ip"));
        assert!(!stands("secret.squarespace", "square"));
        assert!(!stands("secret.square-up-space", "squarespace"));
    }
}
