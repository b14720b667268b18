//! Africa, Australia and New Zealand.

use crate::checks::Test;
use crate::checks::date::{real, two, yymmdd};
use crate::checks::number::{Id, digits, dot, int, join, luhn_digits, value36, varied, verhoeff};

pub(super) const CHECKS: &[(&str, Test)] = &[
    ("au-abn", au_abn),
    ("au-acn", au_acn),
    ("au-medicare", au_medicare),
    ("au-tfn", au_tfn),
    ("eg-nid", eg_nid),
    ("gh-tin", gh_tin),
    ("gn-nifp", gn_nifp),
    ("ma-ice", ma_ice),
    ("mu-nid", mu_nid),
    ("mz-nuit", mz_nuit),
    ("ng-nin", ng_nin),
    ("nz-bank-account", nz_bank_account),
    ("nz-ird", nz_ird),
    ("sn-ninea", sn_ninea),
    ("za-id", za_id),
    ("za-tin", za_tin),
];

/// Australian Business Register: the first digit less one, weights 10-1-3-5-7-9-11-13-15-17-19, mod 89.
fn au_abn(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| d[0] > 0 && (dot(&d, &[10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]) - 10) % 89 == 0)
}

/// Australia, ASIC: weights 8…1, mod 10.
fn au_acn(span: &[u8]) -> bool {
    digits::<9>(span)
        .is_some_and(|d| varied(&d) && (10 - dot(&d, &[8, 7, 6, 5, 4, 3, 2, 1]) % 10) % 10 == i32::from(d[8]))
}

/// Australia, Medicare: first digit 2–6, weights 1-3-7-9 mod 10 at the ninth place; an issue number and a line may follow.
fn au_medicare(span: &[u8]) -> bool {
    let id = Id::of(span);
    (9..=11).contains(&id.len())
        && id.iter().all(u8::is_ascii_digit)
        && digits::<9>(&id[..9]).is_some_and(|d| {
            (2..=6).contains(&d[0]) && varied(&d) && dot(&d, &[1, 3, 7, 9, 1, 3, 7, 9]) % 10 == i32::from(d[8])
        })
}

/// Australian Taxation Office: weights 1-4-3-7-5-8-6-9-10 (nine digits) or 10-7-8-4-6-3-5-1 (eight), mod 11.
fn au_tfn(span: &[u8]) -> bool {
    let nine = digits::<9>(span).is_some_and(|d| varied(&d) && dot(&d, &[1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 == 0);
    nine || digits::<8>(span).is_some_and(|d| varied(&d) && dot(&d, &[10, 7, 8, 4, 6, 3, 5, 1]) % 11 == 0)
}

/// Egypt, national number: century (2 or 3), date, governorate, serial; its check digit is not published.
fn eg_nid(span: &[u8]) -> bool {
    digits::<14>(span).is_some_and(|d| {
        matches!(d[0], 2 | 3)
            && real(u32::from(d[0]) * 100 + 1700 + two(&d, 1), two(&d, 3), two(&d, 5))
            && matches!(two(&d, 7), 1..=4 | 11..=19 | 21..=29 | 31..=35 | 88)
    })
}

/// Ghana Revenue Authority: P, C, G, Q or V, two zeros, weights 1…9 mod 11, `X` for ten.
fn gh_tin(span: &[u8]) -> bool {
    let id = Id::of(span);
    let Some(b'P' | b'C' | b'G' | b'Q' | b'V') = id.first() else { return false };
    let (Some(d), Some(check)) = (id.get(1..10).and_then(digits::<9>), id.get(10)) else { return false };
    let r = dot(&d, &[1, 2, 3, 4, 5, 6, 7, 8, 9]) % 11;
    id.len() == 11 && b"0123456789X"[usize::try_from(r).unwrap_or(0)] == *check
}

/// Guinea, permanent tax number: Luhn over nine digits.
fn gn_nifp(span: &[u8]) -> bool {
    digits::<9>(span).is_some_and(|d| varied(&d) && luhn_digits(&d))
}

/// Morocco, common identifier of enterprises: 15 digits, divisible by 97.
fn ma_ice(span: &[u8]) -> bool {
    digits::<15>(span).is_some_and(|d| varied(&d) && join(&d).is_multiple_of(97))
}

/// Mauritius, national identity card: first letter of the surname, date, serial, and a check character mod 17.
fn mu_nid(span: &[u8]) -> bool {
    let id = Id::of(span);
    if id.len() != 14 || !id[0].is_ascii_uppercase() || !id[1..13].iter().all(u8::is_ascii_digit) {
        return false;
    }
    let date = digits::<6>(&id[1..7]).is_some_and(|d| two(&d, 2) <= 12 && two(&d, 0) <= 31);
    let sum: u32 = id[..13].iter().zip((2..=14).rev()).map(|(b, w)| value36(*b).unwrap_or(0) * w).sum();
    date && value36(id[13]) == Some((17 - sum % 17) % 17)
}

/// Mozambique, tax number: weights 8-9-4-5-6-7-8-9, mod 11, ten counts as one.
fn mz_nuit(span: &[u8]) -> bool {
    digits::<9>(span).is_some_and(|d| {
        let r = dot(&d, &[8, 9, 4, 5, 6, 7, 8, 9]) % 11;
        varied(&d) && (if r == 10 { 1 } else { r }) == i32::from(d[8])
    })
}

/// Nigeria, NIMC: 11 digits with Verhoeff.
fn ng_nin(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| varied(&d) && verhoeff(&d))
}

/// New Zealand, Inland Revenue: weights 3-2-7-6-5-4-3-2 mod 11; if that gives ten, 7-4-3-2-5-2-7-6. From 10,000,000 to
/// 150,000,000.
fn nz_ird(span: &[u8]) -> bool {
    let id = Id::of(span);
    let Some(n) = int(&id).filter(|n| (10_000_000..150_000_000).contains(n) && matches!(id.len(), 8 | 9)) else {
        return false;
    };
    let mut d = [0u8; 9];
    let mut rest = n;
    for slot in d.iter_mut().rev() {
        *slot = u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    let mut r = (-dot(&d, &[3, 2, 7, 6, 5, 4, 3, 2])).rem_euclid(11);
    if r == 10 {
        r = (-dot(&d, &[7, 4, 3, 2, 5, 2, 7, 6])).rem_euclid(11);
    }
    r == i32::from(d[8])
}

/// New Zealand, Inland Revenue's rule for bank accounts: the bank (two digits) says which weights bank, branch (four), account
/// (seven) and suffix (two or three) take. Bank 31 has no check digit.
fn nz_bank_account(span: &[u8]) -> bool {
    let id = Id::of(span);
    let mut d = [0u8; 16];
    if !matches!(id.len(), 15 | 16) || !id.iter().all(u8::is_ascii_digit) {
        return false;
    }
    for (i, b) in id.iter().enumerate() {
        // A suffix of two digits has a zero in front.
        d[if i < 13 { i } else { i + 16 - id.len() }] = b - b'0';
    }
    let account = join(&d[6..13]);
    let root = |x: i32| if x == 0 { 0 } else { 1 + (x - 1) % 9 };
    let rooted = |w: &[i32; 16]| d.iter().zip(w).map(|(d, w)| root(i32::from(*d) * w)).sum::<i32>();
    let sum = match two(&d, 0) {
        1..=4 | 6 | 10..=24 | 27 | 30 | 35 | 38 if account < 990_000 => {
            dot(&d, &[0, 0, 6, 3, 7, 9, 0, 10, 5, 8, 4, 2, 1]) % 11
        }
        1..=4 | 6 | 10..=24 | 27 | 30 | 35 | 38 => dot(&d, &[0, 0, 0, 0, 0, 0, 0, 10, 5, 8, 4, 2, 1]) % 11,
        8 => dot(&d, &[0, 0, 0, 0, 0, 0, 7, 6, 5, 4, 3, 2, 1]) % 11,
        9 => rooted(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 4, 3, 2, 0, 0, 1]) % 11,
        25 | 33 => dot(&d, &[0, 0, 0, 0, 0, 0, 1, 7, 3, 1, 7, 3, 1]) % 10,
        26 | 28 | 29 => rooted(&[0, 0, 0, 0, 0, 0, 1, 3, 7, 1, 3, 7, 1, 3, 7, 1]) % 10,
        31 => 0,
        _ => return false,
    };
    sum == 0 && account > 0
}

/// Senegal, ANSD: seven or nine digits with weights 1-2-1-2… from the right, mod 10; a three-character tax code may follow.
fn sn_ninea(span: &[u8]) -> bool {
    let id = Id::of(span);
    let tax_code = |c: &[u8]| matches!(c, [b'0'..=b'2', b'A'..=b'Z', b'0'..=b'9']);
    let number: &[u8] = match id.len() {
        7 | 9 => &id,
        10 | 12 if tax_code(&id[id.len() - 3..]) => &id[..id.len() - 3],
        _ => return false,
    };
    let sum: u32 = number.iter().rev().zip([1, 2].iter().cycle()).map(|(b, w)| u32::from(b - b'0') * w).sum();
    number.iter().all(u8::is_ascii_digit) && varied(number) && sum.is_multiple_of(10)
}

/// South Africa, Home Affairs: date, sequence, citizenship (0, 1 or 2), 8 or 9, Luhn.
fn za_id(span: &[u8]) -> bool {
    digits::<13>(span).is_some_and(|d| yymmdd(&d) && d[10] <= 2 && luhn_digits(&d))
}

/// South African Revenue Service: first digit 0–3 or 9, Luhn over ten digits.
fn za_tin(span: &[u8]) -> bool {
    digits::<10>(span).is_some_and(|d| matches!(d[0], 0..=3 | 9) && varied(&d) && luhn_digits(&d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_answered() {
        for (name, test) in CHECKS {
            for span in [&b""[..], b"0", b"\xff\xff", b"A", b"--", &[b'0'; 60], "é".as_bytes()] {
                assert!(!test(span), "{name}");
            }
        }
    }

    #[test]
    fn printed_examples() {
        assert!(au_abn(b"51 824 753 556") && !au_abn(b"51 824 753 557"));
        assert!(au_tfn(b"123 456 782") && !au_tfn(b"123 456 783"));
        assert!(au_acn(b"004 085 616") && !au_acn(b"004 085 617"));
        // Algorithms A and D of Inland Revenue's document, with its own examples.
        assert!(nz_bank_account(b"01-0902-0068389-00") && !nz_bank_account(b"01-0902-0068388-00"));
        assert!(nz_bank_account(b"08-6523-1954512-001") && !nz_bank_account(b"08-6523-1954513-001"));
        assert!(nz_ird(b"49-091-850") && !nz_ird(b"49-091-851"));
        assert!(za_id(b"8001015009087") && !za_id(b"8001015009088"));
    }
}
