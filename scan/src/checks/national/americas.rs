//! Latin America and the Caribbean.

use crate::checks::Test;
use crate::checks::date::{ddmmyy, two, yymmdd};
use crate::checks::number::{Id, digits, dot, luhn_digits, value36, varied};

pub(super) const CHECKS: &[(&str, Test)] = &[
    ("ar-cbu", ar_cbu),
    ("ar-cuit", ar_cuit),
    ("br-cnpj", br_cnpj),
    ("br-cpf", br_cpf),
    ("cl-rut", cl_rut),
    ("co-nit", co_nit),
    ("cr-id", cr_id),
    ("cu-ni", cu_ni),
    ("do-cedula", do_cedula),
    ("do-rnc", do_rnc),
    ("ec-ci", ec_ci),
    ("ec-ruc", ec_ruc),
    ("gt-nit", gt_nit),
    ("mx-clabe", mx_clabe),
    ("mx-curp", mx_curp),
    ("mx-rfc", mx_rfc),
    ("pe-cui", pe_cui),
    ("pe-ruc", pe_ruc),
    ("py-ruc", py_ruc),
    ("sv-nit", sv_nit),
    ("uy-rut", uy_rut),
    ("ve-rif", ve_rif),
];

/// Argentina, BCRA: bank and branch (7 digits and a check), account (13 and a check), weights 3-1-7-9 from the right.
fn ar_cbu(span: &[u8]) -> bool {
    digits::<22>(span).is_some_and(|d| {
        let check = |part: &[u8]| {
            let sum: i32 = part.iter().rev().zip([3, 1, 7, 9].iter().cycle()).map(|(d, w)| i32::from(*d) * w).sum();
            (10 - sum % 10) % 10
        };
        varied(&d) && check(&d[..7]) == i32::from(d[7]) && check(&d[8..21]) == i32::from(d[21])
    })
}

/// Argentina, AFIP: type of person, DNI, weights 5-4-3-2-7-6-5-4-3-2 mod 11.
fn ar_cuit(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| {
        let check = match 11 - dot(&d, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11 {
            11 => 0,
            10 => 9,
            n => n,
        };
        matches!(d[0] * 10 + d[1], 20 | 23 | 24 | 25 | 26 | 27 | 30 | 33 | 34 | 50 | 51 | 55)
            && check == i32::from(d[10])
    })
}

/// Brazil, Receita Federal (since 2026 with letters): weights 5-4-3-2-9-8-7-6-5-4-3-2 and one more, mod 11, twice;
/// a character counts as its ASCII code less 48.
fn br_cnpj(span: &[u8]) -> bool {
    let id = Id::of(span);
    if id.len() != 14 || !id[12..].iter().all(u8::is_ascii_digit) {
        return false;
    }
    let mut v = [0u8; 14];
    for (v, b) in v.iter_mut().zip(id.iter()) {
        *v = b - b'0';
    }
    let check = |n: usize| {
        let weights = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];
        let r = dot(&v[..n], &weights[13 - n..]) % 11;
        if r < 2 { 0 } else { 11 - r }
    };
    varied(&v) && check(12) == i32::from(v[12]) && check(13) == i32::from(v[13])
}

/// Brazil, Receita Federal: weights 10…2 and 11…2, mod 11, twice.
fn br_cpf(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| {
        let check = |n: usize| {
            let r = dot(&d[..n], &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2][10 - n..]) * 10 % 11;
            r % 10
        };
        varied(&d) && check(9) == i32::from(d[9]) && check(10) == i32::from(d[10])
    })
}

/// Chile, Registro Civil: weights 2…7 from the right, mod 11, `K` for ten.
fn cl_rut(span: &[u8]) -> bool {
    let id = Id::of(span);
    let number = id.after(b"CL");
    let Some((check, rest)) = number.split_last() else { return false };
    if !(7..=8).contains(&rest.len()) || !rest.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: i32 = rest.iter().rev().zip([2, 3, 4, 5, 6, 7].iter().cycle()).map(|(b, w)| i32::from(b - b'0') * w).sum();
    let want = b"0K987654321"[usize::try_from(sum % 11).unwrap_or(0)];
    *check == want && varied(rest)
}

/// Colombia, DIAN: weights 3-7-13-17-19-23-29-37-41-43-47-53-59-67-71 from the right, mod 11.
fn co_nit(span: &[u8]) -> bool {
    let id = Id::of(span);
    let Some((check, rest)) = id.split_last() else { return false };
    if !(7..=15).contains(&rest.len()) || !id.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let weights = [3, 7, 13, 17, 19, 23, 29, 37, 41, 43, 47, 53, 59, 67, 71];
    let sum: i32 = rest.iter().rev().zip(weights).map(|(b, w)| i32::from(b - b'0') * w).sum();
    let r = sum % 11;
    varied(rest) && i32::from(check - b'0') == if r < 2 { r } else { 11 - r }
}

/// Costa Rica: no check digit; a physical person's number begins with 0 or 1–9 (region), a legal one with 2–5,
/// a foreigner's with 1 and has 11 or 12 digits.
fn cr_id(span: &[u8]) -> bool {
    let id = Id::of(span);
    match id.len() {
        9 | 10 => varied(&id),
        11 | 12 => id[0] == b'1',
        _ => false,
    }
}

/// Cuba, carné de identidad: YYMMDD, century, sex; no check digit.
fn cu_ni(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| yymmdd(&d))
}

/// Dominican Republic, JCE: Luhn over 11 digits.
fn do_cedula(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| varied(&d) && luhn_digits(&d))
}

/// Dominican Republic, DGII: weights 7-9-8-6-5-4-3-2, mod 11, mapped to 1–9.
fn do_rnc(span: &[u8]) -> bool {
    digits::<9>(span).is_some_and(|d| {
        let r = dot(&d, &[7, 9, 8, 6, 5, 4, 3, 2]) % 11;
        varied(&d) && (10 - r).rem_euclid(9) + 1 == i32::from(d[8])
    })
}

/// Ecuador, Registro Civil: province 01–24 or 30, third digit below 6, Luhn.
fn ec_ci(span: &[u8]) -> bool {
    digits::<10>(span).is_some_and(|d| ec_natural(&d))
}

fn ec_natural(d: &[u8]) -> bool {
    ec_province(d) && d[2] <= 6 && luhn_digits(d)
}

fn ec_province(d: &[u8]) -> bool {
    matches!(two(d, 0), 1..=24 | 30 | 50)
}

/// Ecuador, SRI: a natural person's identity number and an establishment; public bodies (6) mod 11 with weights
/// 3-2-7-6-5-4-3-2; companies (9) mod 11 with weights 4-3-2-7-6-5-4-3-2.
fn ec_ruc(span: &[u8]) -> bool {
    digits::<13>(span).is_some_and(|d| {
        let public = || d[9..] != [0; 4] && dot(&d[..9], &[3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 == 0;
        let company = || d[10..] != [0; 3] && dot(&d[..10], &[4, 3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 == 0;
        ec_province(&d)
            && match d[2] {
                0..=5 => ec_natural(&d[..10]) && d[10..] != [0; 3],
                6 => public() || ec_natural_any(&d),
                9 => company(),
                _ => false,
            }
    })
}

/// Identity numbers that the SRI also accepts with a third digit of 6: Luhn.
fn ec_natural_any(d: &[u8]) -> bool {
    luhn_digits(&d[..10]) && d[10..] != [0; 3]
}

/// Guatemala, SAT: weights 2, 3, 4 … from the right, mod 11, `K` for ten.
fn gt_nit(span: &[u8]) -> bool {
    let id = Id::of(span);
    let Some((check, rest)) = id.split_last() else { return false };
    if !(4..=11).contains(&rest.len()) || !rest.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: i32 = rest.iter().rev().zip(2..).map(|(b, w)| i32::from(b - b'0') * w).sum();
    b"0123456789K"[usize::try_from((-sum).rem_euclid(11)).unwrap_or(0)] == *check
}

/// Mexico, ABM bank account (CLABE): weights 3-7-1, each product mod 10, mod 10.
fn mx_clabe(span: &[u8]) -> bool {
    digits::<18>(span).is_some_and(|d| {
        let sum: i32 = d[..17].iter().zip([3, 7, 1].iter().cycle()).map(|(d, w)| i32::from(*d) * w % 10).sum();
        varied(&d) && (10 - sum % 10) % 10 == i32::from(d[17])
    })
}

/// Mexico, RENAPO: initials, date, sex, state, consonants, and a check digit in base 37 (letters with Ñ), mod 10.
fn mx_curp(span: &[u8]) -> bool {
    let id = Id::of(span);
    if id.len() != 18 || !id[..4].iter().all(u8::is_ascii_uppercase) || !b"HMX".contains(&id[10]) {
        return false;
    }
    let date = digits::<6>(&id[4..10]).is_some_and(|d| yymmdd(&d));
    // The official alphabet has Ñ behind N, so letters from O on count one more.
    let value = |b: u8| value36(b).map(|v| v + u32::from(b > b'N'));
    let sum = id[..17].iter().zip((2..=18).rev()).try_fold(0, |sum, (b, w)| Some(sum + value(*b)? * w));
    date && id[17].is_ascii_digit() && sum.is_some_and(|s| (10 - s % 10) % 10 == u32::from(id[17] - b'0'))
}

/// Mexico, SAT: three (companies) or four (persons) letters, a real date, three characters. The check character is not
/// asked for: the SAT itself has issued numbers that fail it.
fn mx_rfc(span: &[u8]) -> bool {
    let head = span.iter().take_while(|b| !b.is_ascii_digit()).count();
    let id = Id::of(&span[head..]);
    id.len() == 9 && id.get(..6).and_then(digits::<6>).is_some_and(|d| yymmdd(&d))
}

/// Peru, RENIEC: weights 3-2-7-6-5-4-3-2 mod 11, written as a digit or a letter.
fn pe_cui(span: &[u8]) -> bool {
    let id = Id::of(span);
    let (Some(number), [check]) = (id.get(..8).and_then(digits::<8>), id.get(8..).unwrap_or_default()) else {
        return false;
    };
    let at = usize::try_from(dot(&number, &[3, 2, 7, 6, 5, 4, 3, 2]) % 11).unwrap_or(0);
    varied(&number) && (b"65432110987"[at] == *check || b"KJIHGFEDCBA"[at] == *check)
}

/// Peru, SUNAT: kind of person, weights 5-4-3-2-7-6-5-4-3-2 mod 11.
fn pe_ruc(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| {
        matches!(d[0] * 10 + d[1], 10 | 15 | 16 | 17 | 20)
            && (11 - dot(&d, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11) % 10 == i32::from(d[10])
    })
}

/// Paraguay, SET: weights 2, 3, 4 … from the right, mod 11.
fn py_ruc(span: &[u8]) -> bool {
    let id = Id::of(span);
    let Some((check, rest)) = id.split_last() else { return false };
    if !(4..=8).contains(&rest.len()) || !id.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: i32 = rest.iter().rev().zip(2..).map(|(b, w)| i32::from(b - b'0') * w).sum();
    varied(rest) && (-sum).rem_euclid(11) % 10 == i32::from(check - b'0')
}

/// El Salvador, Ministerio de Hacienda: municipality, date, serial, check. Serials up to 100 use weights 14…2 mod 11, later
/// ones weights 2-7-6-5-4-3-2-7-6-5-4-3-2.
fn sv_nit(span: &[u8]) -> bool {
    digits::<14>(span).is_some_and(|d| {
        let old = d[10] == 0 && (d[11] == 0 || (d[11] == 1 && d[12] == 0)) || d[10..13] == [1, 0, 0];
        let check = if old {
            dot(&d, &[14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11 % 10
        } else {
            (-dot(&d, &[2, 7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2])).rem_euclid(11) % 10
        };
        matches!(d[0], 0 | 1 | 9) && ddmmyy(&d[4..]) && check == i32::from(d[13])
    })
}

/// Uruguay, DGI: weights 4-3-2-9-8-7-6-5-4-3-2 mod 11; the first two digits 01–22, then a number, then 001.
fn uy_rut(span: &[u8]) -> bool {
    digits::<12>(span).is_some_and(|d| {
        (1..=22).contains(&two(&d, 0))
            && d[2..8] != [0; 6]
            && d[8..11] == [0, 0, 1]
            && (-dot(&d, &[4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])).rem_euclid(11) == i32::from(d[11])
    })
}

/// Venezuela, SENIAT: kind of person (V, E, J, P, G, C), weights 3-2-7-6-5-4-3-2 mod 11.
fn ve_rif(span: &[u8]) -> bool {
    let id = Id::of(span);
    let kind = match id.first() {
        Some(b'V') => 4,
        Some(b'E') => 8,
        Some(b'J' | b'C') => 12,
        Some(b'P') => 16,
        Some(b'G') => 20,
        _ => return false,
    };
    digits::<9>(&id[1..]).is_some_and(|d| {
        let r = (kind + dot(&d, &[3, 2, 7, 6, 5, 4, 3, 2])) % 11;
        varied(&d) && i32::from(b"00987654321"[usize::try_from(r).unwrap_or(0)] - b'0') == i32::from(d[8])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_answered() {
        for (name, test) in CHECKS {
            for span in [&b""[..], b"0", b"\xff\xff", b"K", b"--", &[b'0'; 60], "Ñ".as_bytes()] {
                assert!(!test(span), "{name}");
            }
        }
    }

    #[test]
    fn well_known() {
        assert!(br_cpf(b"111.444.777-35") && !br_cpf(b"111.444.777-36") && !br_cpf(b"111.111.111-11"));
        assert!(br_cnpj(b"11.444.777/0001-61") && !br_cnpj(b"11.444.777/0001-62"));
        assert!(cl_rut(b"12.345.678-5") && !cl_rut(b"12.345.678-4"));
    }
}
