//! Checks: tests on the bytes of a span that a pattern cannot express.
//!
//! A check is pure: bytes in, yes or no out, no allocation. Separators that the pattern lets through (spaces, dashes,
//! dots, slashes) are skipped by the digit checks. Where a check comes from (standard, RFC, vendor) stands at it.

mod entropy;
mod number;
mod token;

use std::fmt;

/// A named check.
#[derive(Clone, Copy)]
pub struct Check {
    name: &'static str,
    limit: f64,
    test: fn(&[u8], f64) -> bool,
}

/// Every check, with what it tests. `limit` is the number behind `>=`, for the checks that take one.
const REGISTRY: &[(&str, bool, fn(&[u8], f64) -> bool)] = &[
    ("luhn", false, |b, _| number::luhn(b)),
    ("entropy", true, entropy::at_least),
    ("crc32-base62", false, |b, _| token::crc32_base62(b)),
    ("jwt-header", false, |b, _| token::jwt_header(b)),
    ("not-placeholder", false, |b, _| token::not_placeholder(b)),
    ("token-like", false, |b, _| token::token_like(b)),
    ("letters-and-digits", false, |b, _| token::letters_and_digits(b)),
    ("basic-credentials", false, |b, _| token::basic_credentials(b)),
];

impl Check {
    /// Parses `luhn` or `entropy>=3.5`.
    pub fn parse(text: &str) -> Result<Check, String> {
        let (name, limit) = match text.split_once(">=") {
            Some((n, l)) => {
                let limit = l.trim().parse::<f64>().ok().filter(|l| l.is_finite());
                (n.trim(), Some(limit.ok_or_else(|| format!("check `{text}`: `{l}` is not a number"))?))
            }
            None => (text.trim(), None),
        };
        let &(name, takes_limit, test) = REGISTRY
            .iter()
            .find(|(n, ..)| *n == name)
            .ok_or_else(|| format!("there is no check `{name}`; there are: {}", names()))?;
        if takes_limit != limit.is_some() {
            let how = if takes_limit { "needs a limit, as in `entropy>=3.5`" } else { "takes no limit" };
            return Err(format!("check `{name}` {how}"));
        }
        Ok(Check { name, limit: limit.unwrap_or(0.0), test })
    }

    /// Whether the span passes.
    pub fn holds(&self, span: &[u8]) -> bool {
        (self.test)(span, self.limit)
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if self.limit != 0.0 { write!(f, ">={}", self.limit) } else { Ok(()) }
    }
}

fn names() -> String {
    REGISTRY.iter().map(|(n, ..)| *n).collect::<Vec<_>>().join(", ")
}
