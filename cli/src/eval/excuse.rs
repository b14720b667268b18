//! What a category of harmless files holds by its nature, and is no false alarm there.

use std::net::IpAddr;

use forebay_scan::checks::Check;

/// Categories whose files name machines on the internet.
const NAME_MACHINES: [&str; 3] = ["csv", "svg", "lockfile"];
/// A category of random numbers, of which one in ten passes the check of a card.
const RANDOM_NUMBERS: &str = "generated-log";

/// Whether `text`, found in a file of `category`, is excused.
pub(crate) fn holds(category: &str, text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    if NAME_MACHINES.contains(&category) {
        let address = text.trim().split('/').next().unwrap_or_default();
        let address = address.trim_matches(['[', ']']);
        // Without the zone, which is no part of an IPv6 address (RFC 4007).
        return address.split('%').next().unwrap_or_default().parse::<IpAddr>().is_ok();
    }
    let digits: String = text.trim().chars().filter(|c| !matches!(c, ' ' | '-')).collect();
    category == RANDOM_NUMBERS
        && (13..=19).contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit())
        && Check::parse("luhn").is_ok_and(|luhn| luhn.holds(digits.as_bytes()))
}
