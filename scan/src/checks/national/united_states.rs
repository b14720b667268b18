//! The United States and Canada.

use crate::checks::Test;
use crate::checks::number::{Id, digits, dot, int, luhn_digits, varied};

pub(super) const CHECKS: &[(&str, Test)] = &[
    ("us-ssn", us_ssn),
    ("us-itin", us_itin),
    ("us-ein", us_ein),
    ("us-aba", us_aba),
    ("us-npi", us_npi),
    ("us-dea", us_dea),
    ("ca-sin", ca_sin),
    ("ca-bc-phn", ca_bc_phn),
    ("ca-bn", ca_bn),
];

/// Social Security Administration, randomisation of 2011: no area 000, 666 or 9xx, no group 00, no serial 0000; and not one
/// of the numbers that the SSA has declared void because they were printed in advertisements.
fn us_ssn(span: &[u8]) -> bool {
    let Some(n) = digits::<9>(span).map(|d| crate::checks::number::join(&d)) else { return false };
    let (area, group, serial) = (n / 1_000_000, n / 10_000 % 100, n % 10_000);
    let void = matches!(n, 78_051_120 | 219_099_999 | 123_456_789 | 987_654_320..=987_654_329);
    let allowed = area != 0 && area != 666 && area < 900 && group != 0 && serial != 0;
    allowed && !void && n % 111_111_111 != 0
}

/// Internal Revenue Service: 9xx, with the fourth and fifth digits 50–65, 70–88, 90–92 or 94–99.
fn us_itin(span: &[u8]) -> bool {
    digits::<9>(span).is_some_and(|d| d[0] == 9 && matches!(d[3] * 10 + d[4], 50..=65 | 70..=88 | 90..=92 | 94..=99))
}

/// Internal Revenue Service: the first two digits are those of a campus or of the internet.
fn us_ein(span: &[u8]) -> bool {
    digits::<9>(span).is_some_and(|d| {
        !matches!(d[0] * 10 + d[1], 0 | 7..=9 | 17..=19 | 28 | 29 | 49 | 69 | 70 | 78 | 79 | 89 | 96 | 97) && varied(&d)
    })
}

/// American Bankers Association routing number: weights 3-7-1 mod 10. The first two digits are left alone: besides the Federal
/// Reserve's districts they number thrift institutions, electronic and internal use.
fn us_aba(span: &[u8]) -> bool {
    digits::<9>(span).is_some_and(|d| varied(&d) && dot(&d, &[3, 7, 1, 3, 7, 1, 3, 7, 1]) % 10 == 0)
}

/// National Provider Identifier (45 CFR 162): Luhn over 80840 and the number, whose first digit is 1 or 2.
fn us_npi(span: &[u8]) -> bool {
    digits::<10>(span).is_some_and(|d| {
        let mut whole = [8, 0, 8, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        whole[5..].copy_from_slice(&d);
        luhn_digits(&whole) && varied(&d[..9])
    })
}

/// Drug Enforcement Administration: two letters (or a letter and 9), six digits, and the last digit of
/// d1 + d3 + d5 + 2 (d2 + d4 + d6).
fn us_dea(span: &[u8]) -> bool {
    let id = Id::of(span);
    if id.len() != 9 || !b"ABCDEFGHJKLMPRSTUX".contains(&id[0]) || !(id[1].is_ascii_uppercase() || id[1] == b'9') {
        return false;
    }
    digits::<7>(&id[2..]).is_some_and(|d| dot(&d, &[1, 2, 1, 2, 1, 2]) % 10 == i32::from(d[6]))
}

/// Service Canada social insurance number: Luhn; 0 and 8 are not given to persons.
fn ca_sin(span: &[u8]) -> bool {
    digits::<9>(span).is_some_and(|d| d[0] != 0 && d[0] != 8 && luhn_digits(&d) && varied(&d))
}

/// British Columbia personal health number: begins with 9, weights 2-4-8-5-10-9-7-3 over the next eight, mod 11.
fn ca_bc_phn(span: &[u8]) -> bool {
    digits::<10>(span).is_some_and(|d| {
        let sum = dot(&d[1..9], &[2, 4, 8, 5, 10, 9, 7, 3]) % 11;
        d[0] == 9 && (11 - sum) % 11 == i32::from(d[9])
    })
}

/// Canada Revenue Agency business number: nine digits with Luhn, and a programme account (RC, RM, RP, RT and four digits).
fn ca_bn(span: &[u8]) -> bool {
    let id = Id::of(span);
    let (Some(number), Some(account)) = (id.get(..9), id.get(9..)) else { return false };
    let account_ok = match account {
        [] => true,
        [b'R', kind, serial @ ..] => b"CMPTRZ".contains(kind) && serial.len() == 4 && int(serial).is_some(),
        _ => false,
    };
    account_ok && digits::<9>(number).is_some_and(|d| luhn_digits(&d) && varied(&d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn social_security() {
        assert!(us_ssn(b"536-90-4399"));
        for bad in
            ["000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567", "123-45-0000", "078-05-1120", "12-345-678", ""]
        {
            assert!(!us_ssn(bad.as_bytes()), "{bad}");
        }
        assert!(us_itin(b"912-70-1234") && !us_itin(b"912-49-1234") && !us_itin(b"812-70-1234"));
        assert!(us_ein(b"12-3456788") && !us_ein(b"07-1234567"));
    }

    #[test]
    fn printed_examples() {
        assert!(us_aba(b"111000025") && !us_aba(b"111000026"));
        assert!(us_npi(b"1234567893") && !us_npi(b"1234567894"));
        assert!(us_dea(b"AB1234563") && !us_dea(b"AB1234564") && !us_dea(b"A"));
        assert!(ca_sin(b"130 692 544") && !ca_sin(b"130 692 543"));
        assert!(ca_bn(b"123026635RC0001") && ca_bn(b"123026635") && !ca_bn(b"123026636") && !ca_bn(b"123026635RC01"));
    }
}
