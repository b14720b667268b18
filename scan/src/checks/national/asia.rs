//! Asia (mainland China's numbers stand in `checks::cn`).

use crate::checks::Test;
use crate::checks::date::{in_any_century, real, two, yymmdd};
use crate::checks::number::{Id, digits, dot, luhn_digits, luhn36, varied, verhoeff};

pub(super) const CHECKS: &[(&str, Test)] = &[
    ("az-voen", az_voen),
    ("hk-id", hk_id),
    ("id-nik", id_nik),
    ("id-npwp", id_npwp),
    ("il-id", il_id),
    ("in-aadhaar", in_aadhaar),
    ("in-epic", in_epic),
    ("in-gstin", in_gstin),
    ("in-vid", in_vid),
    ("jp-corporate", jp_corporate),
    ("jp-my-number", jp_my_number),
    ("kr-brn", kr_brn),
    ("kr-frn", kr_frn),
    ("kr-frn-shape", kr_frn_shape),
    ("kr-rrn", kr_rrn),
    ("kr-rrn-shape", kr_rrn_shape),
    ("kz-iin", kz_iin),
    ("my-nric", my_nric),
    ("pk-cnic", pk_cnic),
    ("sg-nric", sg_nric),
    ("sg-uen", sg_uen),
    ("th-id", th_id),
    ("tr-tckn", tr_tckn),
    ("tr-vkn", tr_vkn),
    ("tw-id", tw_id),
    ("tw-ubn", tw_ubn),
    ("vn-mst", vn_mst),
];

/// Azerbaijan, tax ministry: weights 4-1-8-6-2-7-5-3 mod 11; the last digit is 1 (legal) or 2 (natural person).
fn az_voen(span: &[u8]) -> bool {
    digits::<10>(span)
        .is_some_and(|d| matches!(d[9], 1 | 2) && dot(&d, &[4, 1, 8, 6, 2, 7, 5, 3]) % 11 == i32::from(d[8]))
}

/// Hong Kong, Immigration Department: one or two letters (A = 10; a missing first letter is 36), weights 9…1 mod 11.
fn hk_id(span: &[u8]) -> bool {
    let id = Id::of(span);
    let letters = id.iter().take_while(|b| b.is_ascii_uppercase()).count();
    if !(1..=2).contains(&letters)
        || id.len() != letters + 7
        || !id[letters..letters + 6].iter().all(u8::is_ascii_digit)
    {
        return false;
    }
    let letter = |b: u8| i32::from(b - b'A') + 10;
    let head = if letters == 1 { 36 * 9 + letter(id[0]) * 8 } else { letter(id[0]) * 9 + letter(id[1]) * 8 };
    let body: i32 = id[letters..letters + 6].iter().zip([7, 6, 5, 4, 3, 2]).map(|(b, w)| i32::from(b - b'0') * w).sum();
    let check = match id[letters + 6] {
        b'A' => 10,
        b @ b'0'..=b'9' => i32::from(b - b'0'),
        _ => return false,
    };
    (head + body + check) % 11 == 0
}

/// Indonesia, Dukcapil: province 11–94, date of birth with 40 added to a woman's day, serial; no check digit.
fn id_nik(span: &[u8]) -> bool {
    digits::<16>(span).is_some_and(|d| {
        let day = two(&d, 6);
        (11..=94).contains(&two(&d, 0))
            && in_any_century(two(&d, 10), two(&d, 8), if day > 40 { day - 40 } else { day })
            && d[12..] != [0; 4]
    })
}

/// Indonesia, DJP tax number: Luhn over the first nine of 15 digits. Since 2024 it has 16: a zero in front of the old number,
/// or a citizen's identity number.
fn id_npwp(span: &[u8]) -> bool {
    let old = |d: &[u8]| varied(&d[..9]) && luhn_digits(&d[..9]);
    digits::<15>(span).is_some_and(|d| old(&d))
        || digits::<16>(span).is_some_and(|d| d[0] == 0 && old(&d[1..]))
        || id_nik(span)
}

/// Israel, Population Authority and company registrar: Luhn over nine digits.
fn il_id(span: &[u8]) -> bool {
    digits::<9>(span).is_some_and(|d| varied(&d) && luhn_digits(&d))
}

/// India, UIDAI: Verhoeff, first digit 2–9, not a palindrome.
fn in_aadhaar(span: &[u8]) -> bool {
    digits::<12>(span).is_some_and(|d| d[0] >= 2 && !d.iter().eq(d.iter().rev()) && verhoeff(&d))
}

/// India, UIDAI virtual identifier: Verhoeff over 16 digits, first digit 2–9, not a palindrome.
fn in_vid(span: &[u8]) -> bool {
    digits::<16>(span).is_some_and(|d| d[0] >= 2 && !d.iter().eq(d.iter().rev()) && verhoeff(&d))
}

/// India, Election Commission: three letters and seven digits with Luhn.
fn in_epic(span: &[u8]) -> bool {
    let id = Id::of(span);
    id.len() == 10
        && id[..3].iter().all(u8::is_ascii_uppercase)
        && digits::<7>(&id[3..]).is_some_and(|d| varied(&d) && luhn_digits(&d))
}

/// India, GST Council: state code, PAN, entity, `Z`, Luhn in base 36.
fn in_gstin(span: &[u8]) -> bool {
    let id = Id::of(span);
    if id.len() != 15 {
        return false;
    }
    let state = digits::<2>(&id[..2]).map_or(0, |d| d[0] * 10 + d[1]);
    matches!(state, 1..=38 | 96 | 97 | 99) && id[13] == b'Z' && luhn36(&id)
}

/// Japan, individual number (My Number Act, order of 2014): weights 6-5-4-3-2-7-6-5-4-3-2 mod 11.
fn jp_my_number(span: &[u8]) -> bool {
    digits::<12>(span).is_some_and(|d| {
        let r = dot(&d, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
        varied(&d) && (if r < 2 { 0 } else { 11 - r }) == i32::from(d[11])
    })
}

/// Japan, National Tax Agency corporate number: the first digit is 9 − (weighted sum mod 9), weights 1 and 2 from the right.
fn jp_corporate(span: &[u8]) -> bool {
    digits::<13>(span)
        .is_some_and(|d| varied(&d) && 9 - dot(&d[1..], &[2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1]) % 9 == i32::from(d[0]))
}

/// Korea, National Tax Service: weights 1-3-7-1-3-7-1-3-5, the last product with its tens added, mod 10.
fn kr_brn(span: &[u8]) -> bool {
    digits::<10>(span).is_some_and(|d| {
        let sum = dot(&d, &[1, 3, 7, 1, 3, 7, 1, 3, 5]) + i32::from(d[8]) * 5 / 10;
        varied(&d) && d[0] > 0 && (10 - sum % 10) % 10 == i32::from(d[9])
    })
}

/// Korea, resident registration: date, and a seventh digit that says century and sex (0–4, 9).
fn kr_rrn_shape(span: &[u8]) -> bool {
    digits::<13>(span).is_some_and(|d| matches!(d[6], 0..=4 | 9) && kr_date(&d))
}

/// [`kr_rrn_shape`] and the check digit. Numbers given out since October 2020 are random behind the seventh digit.
fn kr_rrn(span: &[u8]) -> bool {
    digits::<13>(span).is_some_and(|d| kr_rrn_shape(span) && (11 - kr_sum(&d)) % 10 == i32::from(d[12]))
}

/// Korea, foreigner registration: as for residents with a seventh digit of 5–8.
fn kr_frn_shape(span: &[u8]) -> bool {
    digits::<13>(span).is_some_and(|d| matches!(d[6], 5..=8) && kr_date(&d))
}

/// [`kr_frn_shape`] and the check digit, which is two more than a resident's would be.
fn kr_frn(span: &[u8]) -> bool {
    digits::<13>(span).is_some_and(|d| kr_frn_shape(span) && (13 - kr_sum(&d)) % 10 == i32::from(d[12]))
}

fn kr_date(d: &[u8]) -> bool {
    let century = match d[6] {
        9 | 0 => 1800,
        1 | 2 | 5 | 6 => 1900,
        _ => 2000,
    };
    real(century + two(d, 0), two(d, 2), two(d, 4))
}

fn kr_sum(d: &[u8]) -> i32 {
    dot(d, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11
}

/// Kazakhstan, individual (IIN) and business (BIN) number: weights 1…11 mod 11; if that gives ten, weights 3…11, 1, 2.
fn kz_iin(span: &[u8]) -> bool {
    digits::<12>(span).is_some_and(|d| {
        let mut r = dot(&d, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) % 11;
        if r == 10 {
            r = dot(&d, &[3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2]) % 11;
        }
        let month = two(&d, 2);
        (1..=12).contains(&month) && varied(&d) && r == i32::from(d[11])
    })
}

/// Malaysia, JPN: date, place of birth, serial; no check digit. Places are 01–16, 21–59, 82 and others abroad.
fn my_nric(span: &[u8]) -> bool {
    digits::<12>(span)
        .is_some_and(|d| yymmdd(&d) && !matches!(two(&d, 6), 0 | 17..=20 | 69 | 70 | 73 | 80 | 81 | 94..=97))
}

/// Pakistan, NADRA: province 1–7, a family number, a digit for the sex; no check digit.
fn pk_cnic(span: &[u8]) -> bool {
    digits::<13>(span).is_some_and(|d| (1..=7).contains(&d[0]) && d[12] != 0 && varied(&d))
}

/// Singapore, ICA: S, T, F, G or M, weights 2-7-6-5-4-3-2, and a letter that depends on the first.
fn sg_nric(span: &[u8]) -> bool {
    let id = Id::of(span);
    if id.len() != 9 {
        return false;
    }
    let (offset, letters): (i32, &[u8; 11]) = match id[0] {
        b'S' => (0, b"JZIHGFEDCBA"),
        b'T' => (4, b"JZIHGFEDCBA"),
        b'F' => (0, b"XWUTRQPNMLK"),
        b'G' => (4, b"XWUTRQPNMLK"),
        b'M' => (3, b"XWUTRQPNJLK"),
        _ => return false,
    };
    digits::<7>(&id[1..8]).is_some_and(|d| {
        let r = (offset + dot(&d, &[2, 7, 6, 5, 4, 3, 2])) % 11;
        letters.get(usize::try_from(r).unwrap_or(0)) == Some(&id[8])
    })
}

/// Singapore, ACRA: businesses (8 digits), local companies (year and 5 digits), other entities (T, S or R, year, kind).
fn sg_uen(span: &[u8]) -> bool {
    let id = Id::of(span);
    let Some((check, body)) = id.split_last() else { return false };
    let at = |letters: &[u8], r: i32| letters.get(usize::try_from(r).unwrap_or(usize::MAX)) == Some(check);
    match (id.len(), id.first()) {
        (9, _) => digits::<8>(body).is_some_and(|d| at(b"XMKECAWLJDB", dot(&d, &[10, 4, 9, 3, 8, 2, 7, 1]) % 11)),
        (10, Some(b'0'..=b'9')) => digits::<9>(body).is_some_and(|d| {
            (1800..2100).contains(&(two(&d, 0) * 100 + two(&d, 2)))
                && at(b"ZKCMDNERGWH", dot(&d, &[10, 8, 6, 4, 9, 7, 5, 3, 1]) % 11)
        }),
        (10, Some(b'T' | b'S' | b'R')) => {
            const ALPHABET: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWX0123456789";
            let mut sum = 0;
            for (b, w) in body.iter().zip([4, 3, 5, 3, 10, 2, 2, 5, 7]) {
                let Some(v) = ALPHABET.iter().position(|a| a == b) else { return false };
                sum += i32::try_from(v).unwrap_or(0) * w;
            }
            body[1..3].iter().all(u8::is_ascii_digit)
                && body[5..].iter().all(u8::is_ascii_digit)
                && at(ALPHABET, (sum - 5) % 11)
        }
        _ => false,
    }
}

/// Thailand, Ministry of Interior (and tax and company numbers): weights 13…2 mod 11.
fn th_id(span: &[u8]) -> bool {
    digits::<13>(span).is_some_and(|d| {
        varied(&d) && (11 - dot(&d, &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11) % 10 == i32::from(d[12])
    })
}

/// Türkiye, identity number: the tenth digit is 7 × (odd places) − (even places), the eleventh the sum of ten, both mod 10.
fn tr_tckn(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| {
        let odd = dot(&d, &[1, 0, 1, 0, 1, 0, 1, 0, 1]);
        let even = dot(&d, &[0, 1, 0, 1, 0, 1, 0, 1]);
        let sum = odd + even + i32::from(d[9]);
        d[0] > 0 && (odd * 7 - even).rem_euclid(10) == i32::from(d[9]) && sum % 10 == i32::from(d[10])
    })
}

/// Türkiye, tax number: (digit + position) mod 10, times 2^position mod 9 with nine for a non-zero multiple; the sum's
/// complement to ten. Positions count 9…1 from the left.
fn tr_vkn(span: &[u8]) -> bool {
    digits::<10>(span).is_some_and(|d| {
        let mut sum = 0;
        for (d, i) in d.iter().zip((1..=9u32).rev()) {
            let c = (u32::from(*d) + i) % 10;
            let v = c * (1 << i) % 9;
            sum += if c > 0 && v == 0 { 9 } else { v };
        }
        varied(&d) && (10 - sum % 10) % 10 == u32::from(d[9])
    })
}

/// Taiwan, national ID and resident certificate: the letter stands for two digits, weights 1-9-8-7-6-5-4-3-2-1-1 mod 10.
fn tw_id(span: &[u8]) -> bool {
    // Letters in the order of the numbers 10, 11, 12 … that they stand for.
    const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVXYWZIO";
    let id = Id::of(span);
    let Some(v) = id.first().and_then(|b| LETTERS.iter().position(|l| l == b)) else { return false };
    let v = i32::try_from(v).unwrap_or(0) + 10;
    digits::<9>(&id[1..]).is_some_and(|d| {
        matches!(d[0], 1 | 2 | 8 | 9) && (v / 10 + v % 10 * 9 + dot(&d, &[8, 7, 6, 5, 4, 3, 2, 1, 1])) % 10 == 0
    })
}

/// Taiwan, Ministry of Finance (rule of 2023): weights 1-2-1-2-1-2-4-1, digits of the products added, mod 5; a seventh digit
/// of 7 may count as one less.
fn tw_ubn(span: &[u8]) -> bool {
    digits::<8>(span).is_some_and(|d| {
        let sum: i32 =
            d.iter().zip([1, 2, 1, 2, 1, 2, 4, 1]).map(|(d, w)| i32::from(*d) * w).map(|p| p / 10 + p % 10).sum();
        varied(&d) && (sum % 5 == 0 || d[6] == 7 && (sum + 1) % 5 == 0)
    })
}

/// Viet Nam, tax number: weights 31-29-23-19-17-13-7-5-3, ten less the remainder mod 11; a branch may follow.
fn vn_mst(span: &[u8]) -> bool {
    let id = Id::of(span);
    matches!(id.len(), 10 | 13)
        && digits::<10>(&id[..10]).is_some_and(|d| {
            varied(&d)
                && id[10..].iter().all(u8::is_ascii_digit)
                && 10 - dot(&d, &[31, 29, 23, 19, 17, 13, 7, 5, 3]) % 11 == i32::from(d[9])
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_answered() {
        for (name, test) in CHECKS {
            for span in [&b""[..], b"0", b"\xff\xff", b"A", b"--", &[b'0'; 60], "１".as_bytes()] {
                assert!(!test(span), "{name}");
            }
        }
    }

    #[test]
    fn printed_examples() {
        assert!(hk_id(b"A123456(3)") && !hk_id(b"A123456(4)"));
        assert!(tw_id(b"A123456789") && !tw_id(b"A123456788"));
        assert!(tr_tckn(b"10000000146") && !tr_tckn(b"10000000147"));
        assert!(sg_nric(b"S1234567D") && !sg_nric(b"S1234567E"));
        assert!(jp_my_number(b"1234 5678 9018") && !jp_my_number(b"1234 5678 9019"));
    }
}
