//! Checks: tests on the bytes of a span that a pattern cannot express.
//!
//! A check is pure: bytes in, yes or no out, no allocation. Separators that the pattern lets through (spaces, dashes,
//! dots, slashes) are skipped by the digit checks. Where a check comes from (standard, RFC, vendor) stands at it.

mod card;
mod cn;
mod date;
mod entropy;
mod iban;
mod national;
mod net;
mod number;
mod phone;
mod phone_plan;
mod token;

use std::fmt;

/// A named check.
#[derive(Clone, Copy)]
pub struct Check {
    name: &'static str,
    limit: f64,
    test: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Plain(Test),
    Limited(LimitedTest),
}

/// A test of a span against a limit.
type LimitedTest = fn(&[u8], f64) -> bool;

/// A test of a span, for the checks that take no limit.
type Test = fn(&[u8]) -> bool;

/// Checks of numbers and addresses; the national ones stand in [`national::TABLES`].
const NUMBERS: &[(&str, Test)] = &[
    ("card", card::card),
    ("card-any", card::card_any),
    ("cn-resident-id", cn::resident_id),
    ("cn-resident-id-15", cn::resident_id_15),
    ("cn-uscc", cn::uscc),
    ("e164", phone::e164),
    ("email", net::email),
    ("iban", iban::iban),
    ("imei", number::imei),
    ("ipv4", net::ipv4),
    ("ipv4-global", net::ipv4_global),
    ("ipv6", net::ipv6),
    ("ipv6-global", net::ipv6_global),
    ("iso7064-mod11-10", number::mod11_10_of),
    ("iso7064-mod11-2", |b| number::mod11_2(&number::Id::of(b))),
    ("iso7064-mod97-10", |b| number::mod97(number::Id::of(b).iter()) == Some(1)),
    ("jp-phone", phone::jp),
    ("luhn", number::luhn),
    ("mac", net::mac),
    ("nanp", phone::nanp),
    ("phone-national", phone::national),
    ("verhoeff", number::verhoeff_of),
];

/// Every other check, with what it tests. `limit` is the number behind `>=`, for the checks that take one.
const REGISTRY: &[(&str, bool, LimitedTest)] = &[
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
        if limit.is_none()
            && let Some((name, test)) = plain().find(|(n, _)| *n == name)
        {
            return Ok(Check { name, limit: 0.0, test: Kind::Plain(*test) });
        }
        let &(name, takes_limit, test) = REGISTRY
            .iter()
            .find(|(n, ..)| *n == name)
            .ok_or_else(|| format!("there is no check `{name}`; there are: {}", names()))?;
        if takes_limit != limit.is_some() {
            let how = if takes_limit { "needs a limit, as in `entropy>=3.5`" } else { "takes no limit" };
            return Err(format!("check `{name}` {how}"));
        }
        Ok(Check { name, limit: limit.unwrap_or(0.0), test: Kind::Limited(test) })
    }

    /// Whether the span passes.
    pub fn holds(&self, span: &[u8]) -> bool {
        match self.test {
            Kind::Plain(test) => test(span),
            Kind::Limited(test) => test(span, self.limit),
        }
    }
}

impl Check {
    /// Of a span that does not pass: the length of the longest shorter span with the same start that may, in bytes; 0 if
    /// none may. What it says of longer ones holds for every one of them.
    pub(crate) fn longest_left(&self, span: &[u8]) -> usize {
        let most = match self.name {
            "entropy" => entropy::longest_left(span, self.limit),
            "jwt-header" => token::before_second_part(span),
            "letters-and-digits" => 0,
            "not-placeholder" => token::unspoilt(span),
            "token-like" => token::longest_token_like(span),
            _ => usize::MAX,
        };
        most.min(span.len().saturating_sub(1))
    }

    /// How dear a check is next to others: the cheap ones are asked first.
    fn cost(&self) -> u8 {
        match self.name {
            "letters-and-digits" => 0,
            "entropy" => 2,
            _ => 1,
        }
    }

    /// The checks of a rule in the order in which to ask them.
    pub(crate) fn in_order(checks: &[Check]) -> Vec<Check> {
        let mut checks = checks.to_vec();
        checks.sort_by_key(Check::cost);
        checks
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

/// Every check that takes no limit.
fn plain() -> impl Iterator<Item = &'static (&'static str, Test)> {
    NUMBERS.iter().chain(national::TABLES.iter().copied().flatten())
}

fn names() -> String {
    REGISTRY.iter().map(|(n, ..)| *n).chain(plain().map(|(n, _)| *n)).collect::<Vec<_>>().join(", ")
}
