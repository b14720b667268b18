//! Checks: tests on the bytes of a span that a pattern cannot express.
//!
//! A check is pure: bytes in, yes or no out, no allocation. Separators that the pattern lets through (spaces, dashes,
//! dots, slashes) are skipped by the digit checks. Where a check comes from (standard, RFC, vendor) stands at it.

mod card;
mod cn;
mod coin;
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
    Known(&'static Known),
}

/// A check of credentials, and what is known of it.
struct Known {
    name: &'static str,
    /// `limit` is the number behind `>=`; the others are told 0.
    takes_limit: bool,
    test: LimitedTest,
    /// See [`Check::longest_left`].
    longest_left: fn(&[u8], f64) -> usize,
    /// How dear it is next to others.
    cost: u8,
}

/// A test of a span against a limit.
type LimitedTest = fn(&[u8], f64) -> bool;

/// A test of a span, for the checks that take no limit.
type Test = fn(&[u8]) -> bool;

/// Checks of numbers and addresses; the national ones stand in [`national::TABLES`].
const NUMBERS: &[(&str, Test)] = &[
    ("btc-address", coin::btc),
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

/// Nothing is known of shorter spans.
const ANY: fn(&[u8], f64) -> usize = |_, _| usize::MAX;

/// Every other check.
const REGISTRY: &[Known] = &[
    Known { name: "entropy", takes_limit: true, test: entropy::at_least, longest_left: entropy::longest_left, cost: 2 },
    known("crc32-base62", 1, |b, _| token::crc32_base62(b), ANY),
    known("jwt-header", 1, |b, _| token::jwt_header(b), |b, _| token::before_second_part(b)),
    known("not-placeholder", 1, |b, _| token::not_placeholder(b), |b, _| token::unspoilt(b)),
    known("token-like", 1, |b, _| token::token_like(b), |b, _| token::longest_token_like(b)),
    known("letters-and-digits", 0, |b, _| token::letters_and_digits(b), |_, _| 0),
    known("basic-credentials", 1, |b, _| token::basic_credentials(b), ANY),
];

const fn known(name: &'static str, cost: u8, test: LimitedTest, longest_left: fn(&[u8], f64) -> usize) -> Known {
    Known { name, takes_limit: false, test, longest_left, cost }
}

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
        let known = REGISTRY
            .iter()
            .find(|k| k.name == name)
            .ok_or_else(|| format!("there is no check `{name}`; there are: {}", names()))?;
        if known.takes_limit != limit.is_some() {
            let how = if known.takes_limit { "needs a limit, as in `entropy>=3.5`" } else { "takes no limit" };
            return Err(format!("check `{name}` {how}"));
        }
        Ok(Check { name: known.name, limit: limit.unwrap_or(0.0), test: Kind::Known(known) })
    }

    /// Whether the span passes.
    pub fn holds(&self, span: &[u8]) -> bool {
        match self.test {
            Kind::Plain(test) => test(span),
            Kind::Known(known) => (known.test)(span, self.limit),
        }
    }

    /// Of a span that does not pass: the length of the longest shorter span with the same start that may, in bytes; 0 if
    /// none may. What it says of longer ones holds for every one of them.
    pub(crate) fn longest_left(&self, span: &[u8]) -> usize {
        let most = match self.test {
            Kind::Plain(_) => usize::MAX,
            Kind::Known(known) => (known.longest_left)(span, self.limit),
        };
        most.min(span.len().saturating_sub(1))
    }

    /// The checks of a rule in the order in which to ask them.
    pub(crate) fn in_order(checks: &[Check]) -> Vec<Check> {
        let mut checks = checks.to_vec();
        checks.sort_by_key(|c| match c.test {
            Kind::Plain(_) => 1,
            Kind::Known(known) => known.cost,
        });
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
    REGISTRY.iter().map(|k| k.name).chain(plain().map(|(n, _)| *n)).collect::<Vec<_>>().join(", ")
}
