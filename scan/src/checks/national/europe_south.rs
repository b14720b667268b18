//! Italy, Spain, Portugal, Greece, Cyprus, Malta.

use crate::checks::Test;
use crate::checks::date::ddmmyy;
use crate::checks::number::{Id, digits, dot, int, join, luhn_digits, luhn_rest, value36, varied};

pub(super) const CHECKS: &[(&str, Test)] = &[
    ("cy-vat", cy_vat),
    ("es-ccc", es_ccc),
    ("es-cif", es_cif),
    ("es-dni", es_dni),
    ("es-nie", es_nie),
    ("es-nif", es_nif),
    ("es-nuss", es_nuss),
    ("gr-amka", gr_amka),
    ("gr-vat", gr_vat),
    ("it-fiscal-code", it_fiscal_code),
    ("it-vat", it_vat),
    ("mt-vat", mt_vat),
    ("pt-cc", pt_cc),
    ("pt-nif", pt_nif),
];

/// What a character counts at an odd place, in Italy's fiscal code and Cyprus's VAT number; digits count as A–J.
const ODD: [u32; 26] = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];

/// The sum of characters, odd places by [`ODD`], even ones by value (A = 0), mod 26, as a letter.
fn odd_even_letter(chars: &[u8]) -> Option<u8> {
    let mut sum = 0;
    for (i, b) in chars.iter().enumerate() {
        let v = value36(*b)?;
        let v = if v > 9 { v - 10 } else { v };
        sum += if i % 2 == 0 { ODD.get(usize::try_from(v).ok()?).copied()? } else { v };
    }
    u8::try_from(sum % 26).ok().map(|r| b'A' + r)
}

/// Cyprus, tax department: eight digits and a letter by [`ODD`]; numbers that begin with 12 are not VAT numbers.
fn cy_vat(span: &[u8]) -> bool {
    let id = Id::of(span);
    let number = id.after(b"CY");
    number.len() == 9
        && number[..8].iter().all(u8::is_ascii_digit)
        && number[..2] != *b"12"
        && odd_even_letter(&number[..8]) == Some(number[8])
}

/// Spain, bank account: two check digits, each weights 1-2-4-8-5-10-9-7-3-6 mod 11, over bank and branch and over the account.
fn es_ccc(span: &[u8]) -> bool {
    digits::<20>(span).is_some_and(|d| {
        let check = |part: &[u8]| {
            let weights = [1, 2, 4, 8, 5, 10, 9, 7, 3, 6];
            let r = 11 - dot(part, &weights[10 - part.len()..]) % 11;
            if r < 10 { r } else { 11 - r }
        };
        varied(&d) && check(&d[..8]) == i32::from(d[8]) && check(&d[10..]) == i32::from(d[9])
    })
}

/// Spain, companies: a letter, seven digits, and a digit or letter by Luhn, as the first letter asks for.
fn es_cif(span: &[u8]) -> bool {
    let id = Id::of(span);
    let number = id.after(b"ES");
    if number.len() != 9 || !b"ABCDEFGHJNPQRSUVW".contains(&number[0]) {
        return false;
    }
    digits::<7>(&number[1..8]).is_some_and(|d| {
        // The check digit is not there yet: shifting by one place doubles what it would double.
        let r = luhn_rest([0].into_iter().chain(d.iter().rev().copied()));
        let check = usize::try_from((10 - r) % 10).unwrap_or(0);
        let digit = b"0123456789"[check] == number[8] && !b"PQRSNW".contains(&number[0]);
        let letter = b"JABCDEFGHI"[check] == number[8] && !b"ABEH".contains(&number[0]);
        digit || letter
    })
}

/// Spain, Policía: up to eight digits and a letter for the number mod 23.
fn es_dni(span: &[u8]) -> bool {
    let id = Id::of(span);
    matches!(id.len(), 8 | 9) && mod23_letter(&id)
}

/// Digits and the letter that they give mod 23.
fn mod23_letter(chars: &[u8]) -> bool {
    let Some((letter, number)) = chars.split_last() else { return false };
    let Some(n) = int(number) else { return false };
    n > 0 && b"TRWAGMYFPDXBNJZSQVHLCKE"[usize::try_from(n % 23).unwrap_or(0)] == *letter
}

/// Spain, foreigners: X, Y or Z (for 0, 1, 2), seven digits, the letter of the DNI.
fn es_nie(span: &[u8]) -> bool {
    let id = Id::of(span);
    let Some(first) = id.first().and_then(|b| b"XYZ".iter().position(|x| x == b)) else { return false };
    if id.len() != 9 {
        return false;
    }
    let mut chars = [0u8; 9];
    chars.copy_from_slice(&id);
    chars[0] = b"012"[first];
    chars[1..8].iter().all(u8::is_ascii_digit) && mod23_letter(&chars)
}

/// Spain, tax number: a DNI, an NIE, a company's CIF, or K, L, M and seven digits with the letter of the DNI; with or
/// without `ES`.
fn es_nif(span: &[u8]) -> bool {
    let id = Id::of(span);
    let number = id.after(b"ES");
    let klm = matches!(number, [b'K' | b'L' | b'M', rest @ ..] if rest.len() == 8 && mod23_letter(rest));
    klm || es_nie(number) || es_cif(number) || number.len() == 9 && mod23_letter(number)
}

/// Spain, social security: province and number mod 97; a number below ten million is joined without its leading zero.
fn es_nuss(span: &[u8]) -> bool {
    digits::<12>(span).is_some_and(|d| {
        let (province, number) = (join(&d[..2]), join(&d[2..10]));
        let whole = if number < 10_000_000 { province * 10_000_000 + number } else { join(&d[..10]) };
        matches!(province, 1..=53 | 66) && whole % 97 == join(&d[10..])
    })
}

/// Greece, social security: DDMMYY, serial, Luhn.
fn gr_amka(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| ddmmyy(&d) && luhn_digits(&d))
}

/// Greece, AADE: weights 256, 128 … 2, mod 11, ten counts as zero.
fn gr_vat(span: &[u8]) -> bool {
    let id = Id::of(span);
    let number = id.strip_prefix(b"GR").unwrap_or(id.after(b"EL"));
    digits::<9>(number)
        .is_some_and(|d| varied(&d) && dot(&d, &[256, 128, 64, 32, 16, 8, 4, 2]) % 11 % 10 == i32::from(d[8]))
}

/// Italy, Agenzia delle Entrate: 15 characters by [`ODD`] and a letter. Digits may have been replaced by letters where two
/// persons would share a code; a company's code is its VAT number.
fn it_fiscal_code(span: &[u8]) -> bool {
    let id = Id::of(span);
    let letters = |i: &[usize]| i.iter().all(|i| id[*i].is_ascii_uppercase());
    let digit = |i: &[usize]| i.iter().all(|i| id[*i].is_ascii_digit() || b"LMNPQRSTUV".contains(&id[*i]));
    id.len() == 16
        && letters(&[0, 1, 2, 3, 4, 5, 8, 11, 15])
        && digit(&[6, 7, 9, 10, 12, 13, 14])
        && b"ABCDEHLMPRST".contains(&id[8])
        && odd_even_letter(&id[..15]) == Some(id[15])
}

/// Italy, VAT: seven digits, an office (1–100, 120, 121, 888, 999), Luhn.
fn it_vat(span: &[u8]) -> bool {
    digits::<11>(Id::of(span).after(b"IT")).is_some_and(|d| {
        d[..7] != [0; 7] && matches!(join(&d[7..10]), 1..=100 | 120 | 121 | 888 | 999) && luhn_digits(&d)
    })
}

/// Malta, VAT: weights 3-4-6-7-8-9-10-1, mod 37.
fn mt_vat(span: &[u8]) -> bool {
    digits::<8>(Id::of(span).after(b"MT"))
        .is_some_and(|d| d[0] > 0 && varied(&d) && dot(&d, &[3, 4, 6, 7, 8, 9, 10, 1]) % 37 == 0)
}

/// Portugal, citizen card: eight digits, a check, two letters or digits for the version, a check; Luhn with letters as 10–35.
fn pt_cc(span: &[u8]) -> bool {
    let id = Id::of(span);
    if id.len() != 12 || !id[..9].iter().all(u8::is_ascii_digit) || !id[11].is_ascii_digit() {
        return false;
    }
    let mut sum = 0;
    for (i, b) in id.iter().rev().enumerate() {
        let Some(v) = value36(*b) else { return false };
        let v = if i % 2 == 0 { v } else { v * 2 };
        sum += if i % 2 == 1 && v > 9 { v - 9 } else { v };
    }
    sum % 10 == 0
}

/// Portugal, tax number: weights 9…2, mod 11; the first digit, never zero, says who holds it.
fn pt_nif(span: &[u8]) -> bool {
    digits::<9>(Id::of(span).after(b"PT")).is_some_and(|d| {
        let r = dot(&d, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
        d[0] > 0 && varied(&d) && (if r < 2 { 0 } else { 11 - r }) == i32::from(d[8])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_answered() {
        for (name, test) in CHECKS {
            for span in [&b""[..], b"0", b"\xff\xff", b"A", b"--", &[b'0'; 60], "ñ".as_bytes(), b"ES"] {
                assert!(!test(span), "{name}");
            }
        }
    }

    #[test]
    fn printed_examples() {
        assert!(es_dni(b"12345678Z") && !es_dni(b"12345678A"));
        assert!(es_nie(b"X1234567L") && !es_nie(b"X1234567M"));
        assert!(es_cif(b"A58818501") && !es_cif(b"A58818502"));
        assert!(it_fiscal_code(b"RSSMRA85T10A562S") && !it_fiscal_code(b"RSSMRA85T10A562T"));
        assert!(gr_vat(b"EL094259216") && !gr_vat(b"EL094259217"));
        assert!(es_ccc(b"2077-0024-00-3102575766") && !es_ccc(b"2077-0024-00-3102575767"));
    }
}
