//! Values that must not be looked for: they would be found in every other line of ordinary text.
//!
//! An environment file names ports and modes beside its secrets. To redact `localhost` or `production` wherever it
//! stands would make the filter useless, so such values are left out, and the caller says so. This is *not* a measure of
//! how good a password is.

/// Why a value is not looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Weakness {
    /// Fewer bytes than asked for.
    #[error("is shorter than `min_length`")]
    Short,
    /// Digits and separators only: a port, an address, a date, a size.
    #[error("is made of digits only")]
    Digits,
    /// One word, or a few with nothing but marks between them, or a usual setting.
    #[error("is an ordinary word or setting")]
    Word,
    /// Fewer than four different bytes: `xxxxxxxx`, `--------`.
    #[error("repeats a few characters")]
    Few,
}

/// Whether `value` would be found everywhere, and why.
pub fn weakness(value: &[u8], min_length: usize) -> Option<Weakness> {
    if value.len() < min_length {
        return Some(Weakness::Short);
    }
    if value.iter().all(|b| b.is_ascii_digit() || b" .,:;/_-+".contains(b)) {
        return Some(Weakness::Digits);
    }
    let mut different = [false; 256];
    value.iter().for_each(|b| different[usize::from(*b)] = true);
    if different.iter().filter(|d| **d).count() < 4 {
        return Some(Weakness::Few);
    }
    is_word(value).then_some(Weakness::Word)
}

/// Longest run of letters taken for a word. Random letters are not told from words; what is longer is no word.
const LONGEST_WORD: usize = 14;

fn is_word(value: &[u8]) -> bool {
    let letters = |w: &[u8]| {
        w.len() <= LONGEST_WORD
            && (w.iter().all(u8::is_ascii_lowercase)
                || w.iter().all(u8::is_ascii_uppercase)
                || w.first().is_some_and(u8::is_ascii_uppercase) && w[1..].iter().all(u8::is_ascii_lowercase))
    };
    // One word, or two: `en_US.UTF-8` and passphrases have more parts.
    let words: Vec<&[u8]> = value.split(|b| b"-_. ".contains(b)).collect();
    words.len() <= 2 && words.iter().all(|w| letters(w))
        || USUAL.iter().any(|u| value.eq_ignore_ascii_case(u.as_bytes()))
}

/// Settings that are no single word and stand in many environment files.
const USUAL: [&str; 12] = [
    "en_US.UTF-8",
    "en_GB.UTF-8",
    "C.UTF-8",
    "/bin/bash",
    "/usr/bin",
    "/usr/local/bin",
    "0.0.0.0/0",
    "application/json",
    "http://localhost",
    "https://localhost",
    "localhost.localdomain",
    "xterm-256color",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_settings_are_weak_and_keys_are_not() {
        let cases: [(&str, Option<Weakness>); 14] = [
            ("true", Some(Weakness::Short)),
            ("localhost", Some(Weakness::Word)),
            ("production", Some(Weakness::Word)),
            ("Production", Some(Weakness::Word)),
            ("read-only-not", None),
            ("my-service", Some(Weakness::Word)),
            ("en_us.utf-8", Some(Weakness::Word)),
            ("127.0.0.1:8080", Some(Weakness::Digits)),
            ("2026-01-31", Some(Weakness::Digits)),
            ("--------", Some(Weakness::Digits)),
            ("xxxxxxxxxxxx", Some(Weakness::Few)),
            ("correct horse battery", None),
            ("qmzpwtxkvbnrhjdlcgsf", None),
            ("tr0ub4dor", None),
        ];
        for (value, expected) in cases {
            assert_eq!(weakness(value.as_bytes(), 8), expected, "{value}");
        }
        assert_eq!(weakness(b"abc1", 4), None);
    }
}
