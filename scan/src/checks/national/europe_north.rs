//! The Nordic and Baltic countries.

use crate::checks::Test;
use crate::checks::date::{ddmmyy, in_any_century, real, two};
use crate::checks::number::{Id, digits, dot, join, luhn_digits, varied};

pub(super) const CHECKS: &[(&str, Test)] = &[
    ("dk-cpr", dk_cpr),
    ("dk-cvr", dk_cvr),
    ("ee-isikukood", baltic_person),
    ("ee-kmkr", ee_kmkr),
    ("ee-registrikood", ee_registrikood),
    ("fi-hetu", fi_hetu),
    ("fi-ytunnus", fi_ytunnus),
    ("is-kennitala", is_kennitala),
    ("lt-asmens", lt_asmens),
    ("lt-pvm", lt_pvm),
    ("lv-pk", lv_pk),
    ("lv-pvn", lv_pvn),
    ("no-fodselsnummer", no_fodselsnummer),
    ("no-kontonr", no_kontonr),
    ("no-orgnr", no_orgnr),
    ("se-orgnr", se_orgnr),
    ("se-personnummer", se_personnummer),
    ("se-samordningsnummer", se_samordningsnummer),
    ("se-vat", se_vat),
];

/// Denmark, CPR: DDMMYY and a serial. Since 2007 the weighted sum no longer holds, so only the date is asked for.
fn dk_cpr(span: &[u8]) -> bool {
    digits::<10>(span).is_some_and(|d| ddmmyy(&d))
}

/// Denmark, Erhvervsstyrelsen: weights 2-7-6-5-4-3-2-1, mod 11.
fn dk_cvr(span: &[u8]) -> bool {
    digits::<8>(Id::of(span).after(b"DK")).is_some_and(|d| d[0] > 0 && dot(&d, &[2, 7, 6, 5, 4, 3, 2, 1]) % 11 == 0)
}

/// Estonia and Lithuania: century and sex, YYMMDD, serial; weights 1…9, 1 mod 11, and if that gives ten, 3…9, 1, 2, 3.
fn baltic_person(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| {
        (1..=8).contains(&d[0])
            && real(1800 + (u32::from(d[0]) - 1) / 2 * 100 + two(&d, 1), two(&d, 3), two(&d, 5))
            && two_stage(&d[..10]) == d[10]
    })
}

/// Lithuania: as in Estonia; numbers that begin with 9 carry no date.
fn lt_asmens(span: &[u8]) -> bool {
    baltic_person(span) || digits::<11>(span).is_some_and(|d| d[0] == 9 && two_stage(&d[..10]) == d[10])
}

/// Weights 1, 2 … 9, 1 … mod 11; if that gives ten, weights 3, 4 …; ten again counts as zero.
fn two_stage(d: &[u8]) -> u8 {
    let sum = |shift: usize| -> usize {
        d.iter().enumerate().map(|(i, d)| usize::from(*d) * ((i + shift) % 9 + 1)).sum::<usize>() % 11
    };
    let r = if sum(0) < 10 { sum(0) } else { sum(2) % 10 };
    u8::try_from(r).unwrap_or(0)
}

/// Estonia, VAT: weights 3-7-1, mod 10.
fn ee_kmkr(span: &[u8]) -> bool {
    digits::<9>(Id::of(span).after(b"EE"))
        .is_some_and(|d| varied(&d) && dot(&d, &[3, 7, 1, 3, 7, 1, 3, 7, 1]) % 10 == 0)
}

/// Estonia, business register: 1, 7, 8 or 9 first; two-stage weights.
fn ee_registrikood(span: &[u8]) -> bool {
    digits::<8>(span).is_some_and(|d| matches!(d[0], 1 | 7..=9) && two_stage(&d[..7]) == d[7])
}

/// Finland, DVV: DDMMYY, a sign for the century, three digits, and a character for the nine digits mod 31.
fn fi_hetu(span: &[u8]) -> bool {
    let [date @ .., sign, a, b, c, check] = span else { return false };
    let century = match sign.to_ascii_uppercase() {
        b'+' => 1800,
        b'-' | b'U'..=b'Y' => 1900,
        b'A'..=b'F' => 2000,
        _ => return false,
    };
    let (Some(d), Some(serial)) = (digits::<6>(date), digits::<3>(&[*a, *b, *c])) else { return false };
    let rest = usize::try_from((join(&d) * 1000 + join(&serial)) % 31).unwrap_or(0);
    date.len() == 6
        && real(century + two(&d, 4), two(&d, 2), two(&d, 0))
        && serial > [0, 0, 1]
        && b"0123456789ABCDEFHJKLMNPRSTUVWXY"[rest] == check.to_ascii_uppercase()
}

/// Finland, business identity and VAT: weights 7-9-10-5-8-4-2, mod 11; a remainder of one is not given out.
fn fi_ytunnus(span: &[u8]) -> bool {
    digits::<8>(Id::of(span).after(b"FI")).is_some_and(|d| varied(&d) && dot(&d, &[7, 9, 10, 5, 8, 4, 2, 1]) % 11 == 0)
}

/// Iceland, Þjóðskrá: DDMMYY (organisations add 40 to the day), weights 3-2-7-6-5-4-3-2 mod 11, century.
fn is_kennitala(span: &[u8]) -> bool {
    digits::<10>(span).is_some_and(|d| {
        let day = two(&d, 0);
        matches!(d[9], 0 | 8 | 9)
            && in_any_century(two(&d, 4), two(&d, 2), if day > 40 { day - 40 } else { day })
            && dot(&d, &[3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 == 0
    })
}

/// Lithuania, VAT: 9 digits (the eighth is 1) or 12 (the eleventh is 1), two-stage weights.
fn lt_pvm(span: &[u8]) -> bool {
    let id = Id::of(span);
    let number = id.after(b"LT");
    let nine = digits::<9>(number).is_some_and(|d| d[7] == 1 && two_stage(&d[..8]) == d[8]);
    nine || digits::<12>(number).is_some_and(|d| d[10] == 1 && two_stage(&d[..11]) == d[11])
}

/// Latvia, personal code: DDMMYY and century, or 32 and no date (since 2017); weights 10-5-8-4-2-1-6-3-7-9.
fn lv_pk(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| lv_person(&d))
}

fn lv_person(d: &[u8]) -> bool {
    let dated = d[6] <= 2 && real(1800 + u32::from(d[6]) * 100 + two(d, 4), two(d, 2), two(d, 0));
    (dated || d[..2] == [3, 2]) && (1 + dot(d, &[10, 5, 8, 4, 2, 1, 6, 3, 7, 9])) % 11 % 10 == i32::from(d[10])
}

/// Latvia, VAT: a legal entity (first digit above 3, weights 9-1-4-8-3-10-2-5-7-6-1 mod 11 = 3) or a person.
fn lv_pvn(span: &[u8]) -> bool {
    digits::<11>(Id::of(span).after(b"LV"))
        .is_some_and(|d| if d[0] > 3 { dot(&d, &[9, 1, 4, 8, 3, 10, 2, 5, 7, 6, 1]) % 11 == 3 } else { lv_person(&d) })
}

/// Norway, Skatteetaten: DDMMYY (D numbers add 40 to the day, H numbers 40 to the month), two check digits mod 11.
fn no_fodselsnummer(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| {
        let (day, month) = (two(&d, 0), two(&d, 2));
        in_any_century(two(&d, 4), if month > 40 { month - 40 } else { month }, if day > 40 { day - 40 } else { day })
            && dot(&d, &[3, 7, 6, 1, 8, 9, 4, 5, 2, 1]) % 11 == 0
            && dot(&d, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 == 0
    })
}

/// Norway, bank account: weights 5-4-3-2-7-6-5-4-3-2 mod 11; the old seven-digit giro numbers use Luhn.
fn no_kontonr(span: &[u8]) -> bool {
    let long = digits::<11>(span).is_some_and(|d| {
        let giro = d[..4] == [0; 4] && varied(&d[4..]) && luhn_digits(&d[4..]);
        giro || d[..4] != [0; 4] && dot(&d, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 == 0
    });
    long || digits::<7>(span).is_some_and(|d| varied(&d) && luhn_digits(&d))
}

/// Norway, Brønnøysund: weights 3-2-7-6-5-4-3-2, mod 11. `NO` and `MVA` may stand around it.
fn no_orgnr(span: &[u8]) -> bool {
    let id = Id::of(span);
    let number = id.after(b"NO");
    let number = number.strip_suffix(b"MVA").unwrap_or(number);
    digits::<9>(number).is_some_and(|d| varied(&d) && dot(&d, &[3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 == 0)
}

/// Sweden, Bolagsverket: third digit at least 2, Luhn.
fn se_orgnr(span: &[u8]) -> bool {
    digits::<10>(span).is_some_and(|d| d[0] > 0 && varied(&d) && luhn_digits(&d))
}

/// Sweden, Skatteverket: [CC]YYMMDD and four digits, Luhn over the last ten.
fn se_personnummer(span: &[u8]) -> bool {
    se_person(span, |month, day| (month, day))
}

/// Sweden, coordination number: as the personal number with 60 added to the day; unknown months and days are zero.
fn se_samordningsnummer(span: &[u8]) -> bool {
    se_person(span, |month, day| match day {
        60 => (month.max(1), 1),
        61.. => (month.max(1), day - 60),
        _ => (0, 0),
    })
}

fn se_person(span: &[u8], date: impl Fn(u32, u32) -> (u32, u32)) -> bool {
    let (century, d) = match (digits::<12>(span), digits::<10>(span)) {
        (Some(long), _) => {
            let mut d = [0; 10];
            d.copy_from_slice(&long[2..]);
            (two(&long, 0), d)
        }
        (_, Some(d)) => (0, d),
        _ => return false,
    };
    let (month, day) = date(two(&d, 2), two(&d, 4));
    let dated = match century {
        0 => in_any_century(two(&d, 0), month, day),
        18..=20 => real(century * 100 + two(&d, 0), month, day),
        _ => false,
    };
    dated && luhn_digits(&d)
}

/// Sweden, VAT: an organisation's or a person's ten digits with Luhn, and a number that ends in 1.
fn se_vat(span: &[u8]) -> bool {
    digits::<12>(Id::of(span).after(b"SE"))
        .is_some_and(|d| d[10..] == [0, 1] && varied(&d[..10]) && luhn_digits(&d[..10]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_answered() {
        for (name, test) in CHECKS {
            for span in [&b""[..], b"0", b"\xff\xff\xff\xff\xff", b"A", b"--", &[b'0'; 60], "é".as_bytes()] {
                assert!(!test(span), "{name}");
            }
        }
    }

    #[test]
    fn printed_examples() {
        assert!(fi_hetu(b"131052-308T") && !fi_hetu(b"131052-309T") && !fi_hetu(b"131352-308T"));
        assert!(
            se_personnummer(b"811218-9876") && !se_personnummer(b"811218-9877") && !se_personnummer(b"811318-9876")
        );
        assert!(is_kennitala(b"120174-3399") && !is_kennitala(b"120174-3389"));
        assert!(baltic_person(b"37605030299") && !baltic_person(b"37605030298"));
    }
}
