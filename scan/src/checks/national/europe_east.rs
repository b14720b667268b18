//! Central and eastern Europe.

use crate::checks::Test;
use crate::checks::date::{in_any_century, real, two};
use crate::checks::number::{Id, digits, dot, int, join, mod11_10, value36, varied};

pub(super) const CHECKS: &[(&str, Test)] = &[
    ("bg-egn", bg_egn),
    ("bg-pnf", bg_pnf),
    ("bg-vat", bg_vat),
    ("by-unp", by_unp),
    ("cz-dic", cz_dic),
    ("cz-rc", cz_rc),
    ("hr-oib", hr_oib),
    ("hu-anum", hu_anum),
    ("hu-tin", hu_tin),
    ("md-idno", md_idno),
    ("me-pib", me_pib),
    ("mk-edb", mk_edb),
    ("pl-nip", pl_nip),
    ("pl-pesel", pl_pesel),
    ("pl-regon", pl_regon),
    ("ro-cnp", ro_cnp),
    ("ro-cui", ro_cui),
    ("rs-pib", rs_pib),
    ("ru-inn", ru_inn),
    ("ru-ogrn", ru_ogrn),
    ("ru-snils", ru_snils),
    ("si-ddv", si_ddv),
    ("si-maticna", si_maticna),
    ("sk-dph", sk_dph),
    ("ua-edrpou", ua_edrpou),
    ("ua-rntrc", ua_rntrc),
    ("yu-jmbg", yu_jmbg),
];

/// Bulgaria, GRAO: YYMMDD (20 added to the month for the 1800s, 40 for the 2000s), weights 2-4-8-5-10-9-7-3-6 mod 11.
fn bg_egn(span: &[u8]) -> bool {
    digits::<10>(span).is_some_and(|d| {
        let (century, month) = match two(&d, 2) {
            m @ 41.. => (2000, m - 40),
            m @ 21.. => (1800, m - 20),
            m => (1900, m),
        };
        real(century + two(&d, 0), month, two(&d, 4))
            && dot(&d, &[2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11 % 10 == i32::from(d[9])
    })
}

/// Bulgaria, foreigners' number: weights 21-19-17-13-11-9-7-3-1, mod 10.
fn bg_pnf(span: &[u8]) -> bool {
    digits::<10>(span).is_some_and(|d| varied(&d) && dot(&d, &[21, 19, 17, 13, 11, 9, 7, 3, 1]) % 10 == i32::from(d[9]))
}

/// Bulgaria, VAT: a company's nine digits (weights 1…8 mod 11, then 3…10), or a person's ten.
fn bg_vat(span: &[u8]) -> bool {
    let id = Id::of(span);
    let number = id.after(b"BG");
    let company = digits::<9>(number).is_some_and(|d| {
        let mut r = dot(&d, &[1, 2, 3, 4, 5, 6, 7, 8]) % 11;
        if r == 10 {
            r = dot(&d, &[3, 4, 5, 6, 7, 8, 9, 10]) % 11 % 10;
        }
        varied(&d) && r == i32::from(d[8])
    });
    let other = digits::<10>(number)
        .is_some_and(|d| varied(&d) && (11 - dot(&d, &[4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11) % 11 == i32::from(d[9]));
    company || bg_egn(number) || bg_pnf(number) || other
}

/// Belarus, tax ministry: weights 29-23-19-17-13-7-5-3 mod 11 (never ten); natural persons have two letters in front.
fn by_unp(span: &[u8]) -> bool {
    let id = Id::of(span);
    if id.len() != 9 || !id[2..].iter().all(u8::is_ascii_digit) {
        return false;
    }
    let second = if id[1].is_ascii_digit() {
        value36(id[1])
    } else {
        b"ABCEHKMOPT".iter().position(|b| *b == id[1]).and_then(|i| u32::try_from(i).ok())
    };
    let legal = matches!(id[0], b'1'..=b'7') && id[1].is_ascii_digit();
    let natural = b"ABCEHKM".contains(&id[0]);
    let (Some(first), Some(second)) = (value36(id[0]), second) else { return false };
    let rest: u32 = id[2..8].iter().zip([19, 17, 13, 7, 5, 3]).map(|(b, w)| u32::from(b - b'0') * w).sum();
    (legal || natural) && (first * 29 + second * 23 + rest) % 11 == u32::from(id[8] - b'0')
}

/// Czechia, VAT: a company's eight digits (weights 8…2 mod 11), or a person's birth number, or 6 and eight digits.
fn cz_dic(span: &[u8]) -> bool {
    let id = Id::of(span);
    let number = id.after(b"CZ");
    let company = digits::<8>(number).is_some_and(|d| {
        let r = (11 - dot(&d, &[8, 7, 6, 5, 4, 3, 2]) % 11) % 11;
        d[0] != 9 && varied(&d) && r.max(1) % 10 == i32::from(d[7])
    });
    let special = digits::<9>(number).is_some_and(|d| {
        let r = dot(&d[1..], &[8, 7, 6, 5, 4, 3, 2]) % 11;
        d[0] == 6 && (8 - (10 - r).rem_euclid(11)).rem_euclid(10) == i32::from(d[8])
    });
    company || special || cz_rc(number)
}

/// Czechia and Slovakia, birth number: YYMMDD (50 added to a woman's month, 20 more when serials ran out; validators in use
/// let that 20 come twice), and a multiple of eleven; until 1953 nine digits without a check.
fn cz_rc(span: &[u8]) -> bool {
    let month = |d: &[u8]| two(d, 2) % 50 % 20;
    let ten = digits::<10>(span).is_some_and(|d| {
        let year = if two(&d, 0) < 54 { 2000 } else { 1900 } + two(&d, 0);
        real(year, month(&d), two(&d, 4)) && join(&d[..9]) % 11 % 10 == u64::from(d[9])
    });
    ten || digits::<9>(span).is_some_and(|d| {
        let year = if two(&d, 0) > 53 { 1800 } else { 1900 } + two(&d, 0);
        real(year, month(&d), two(&d, 4)) && d[6..] != [0; 3]
    })
}

/// Croatia, Porezna uprava: ISO/IEC 7064 mod 11-10.
fn hr_oib(span: &[u8]) -> bool {
    digits::<11>(Id::of(span).after(b"HR")).is_some_and(|d| mod11_10(&d))
}

/// Hungary, VAT: weights 9-7-3-1, mod 10.
fn hu_anum(span: &[u8]) -> bool {
    digits::<8>(Id::of(span).after(b"HU")).is_some_and(|d| varied(&d) && dot(&d, &[9, 7, 3, 1, 9, 7, 3, 1]) % 10 == 0)
}

/// Hungary, a person's tax number: weights 1…9, mod 11.
fn hu_tin(span: &[u8]) -> bool {
    digits::<10>(span).is_some_and(|d| dot(&d, &[1, 2, 3, 4, 5, 6, 7, 8, 9]) % 11 == i32::from(d[9]) && varied(&d))
}

/// Moldova: weights 7-3-1, mod 10.
fn md_idno(span: &[u8]) -> bool {
    digits::<13>(span)
        .is_some_and(|d| varied(&d) && dot(&d, &[7, 3, 1, 7, 3, 1, 7, 3, 1, 7, 3, 1]) % 10 == i32::from(d[12]))
}

/// Montenegro: weights 8…2, mod 11.
fn me_pib(span: &[u8]) -> bool {
    digits::<8>(span).is_some_and(|d| varied(&d) && minus_mod11(&d, &[8, 7, 6, 5, 4, 3, 2]) == i32::from(d[7]))
}

/// North Macedonia: weights 7…2 twice, mod 11.
fn mk_edb(span: &[u8]) -> bool {
    let id = Id::of(span);
    digits::<13>(id.after(b"MK"))
        .is_some_and(|d| varied(&d) && minus_mod11(&d, &[7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) == i32::from(d[12]))
}

/// Eleven less the weighted sum mod 11; ten and eleven count as zero.
fn minus_mod11(d: &[u8], weights: &[i32]) -> i32 {
    (-dot(d, weights)).rem_euclid(11) % 10
}

/// Poland, tax number: weights 6-5-7-2-3-4-5-6-7, mod 11, never ten.
fn pl_nip(span: &[u8]) -> bool {
    digits::<10>(Id::of(span).after(b"PL"))
        .is_some_and(|d| varied(&d) && dot(&d, &[6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 == i32::from(d[9]))
}

/// Poland, PESEL: YYMMDD with the century in the month (80 for the 1800s, 20, 40, 60 after 1999), weights 1-3-7-9 mod 10.
fn pl_pesel(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| {
        let month = two(&d, 2);
        let century = [1900, 2000, 2100, 2200, 1800][usize::try_from(month / 20).unwrap_or(0).min(4)];
        real(century + two(&d, 0), month % 20, two(&d, 4)) && dot(&d, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 == 0
    })
}

/// Poland, statistics register: 9 digits (weights 8-9-2-3-4-5-6-7) or 14 (2-4-8-5-0-9-7-3-6-1-2-4-8), mod 11.
fn pl_regon(span: &[u8]) -> bool {
    let nine = |d: &[u8]| varied(d) && dot(d, &[8, 9, 2, 3, 4, 5, 6, 7]) % 11 % 10 == i32::from(d[8]);
    digits::<9>(span).is_some_and(|d| nine(&d))
        || digits::<14>(span).is_some_and(|d| {
            nine(&d[..9]) && dot(&d, &[2, 4, 8, 5, 0, 9, 7, 3, 6, 1, 2, 4, 8]) % 11 % 10 == i32::from(d[13])
        })
}

/// Romania, personal code: sex and century, YYMMDD, county, serial, weights 2-7-9-1-4-6-3-5-8-2-7-9 mod 11 (ten is one).
fn ro_cnp(span: &[u8]) -> bool {
    digits::<13>(span).is_some_and(|d| {
        let (year, month, day) = (two(&d, 1), two(&d, 3), two(&d, 5));
        let dated = match d[0] {
            1 | 2 => real(1900 + year, month, day),
            3 | 4 => real(1800 + year, month, day),
            5 | 6 => real(2000 + year, month, day),
            7..=9 => in_any_century(year, month, day),
            _ => false,
        };
        let r = dot(&d, &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
        let county = matches!(two(&d, 7), 1..=48 | 51 | 52 | 70 | 80..=83);
        dated && county && (if r == 10 { 1 } else { r }) == i32::from(d[12])
    })
}

/// Romania, company and VAT number: weights 7-5-3-2-1-7-5-3-2 against the right end, times ten, mod 11.
fn ro_cui(span: &[u8]) -> bool {
    let id = Id::of(span);
    let number = id.after(b"RO");
    if !(4..=10).contains(&number.len()) || number[0] == b'0' {
        return ro_cnp(number);
    }
    let (Some(n), weights) = (int(number), [2, 3, 5, 7, 1, 2, 3, 5, 7]) else { return false };
    let mut sum = 0;
    let mut rest = n / 10;
    for w in weights {
        sum += rest % 10 * w;
        rest /= 10;
    }
    varied(number) && sum * 10 % 11 % 10 == n % 10
}

/// Serbia, tax number: ISO/IEC 7064 mod 11-10.
fn rs_pib(span: &[u8]) -> bool {
    digits::<9>(span).is_some_and(|d| varied(&d) && mod11_10(&d))
}

/// Russia, FNS: 10 digits for companies, 12 for persons (two check digits), mod 11.
fn ru_inn(span: &[u8]) -> bool {
    let ok = |d: &[u8], w: &[i32]| dot(d, w) % 11 % 10 == i32::from(d[w.len()]);
    digits::<10>(span).is_some_and(|d| varied(&d) && ok(&d, &[2, 4, 10, 3, 5, 9, 4, 6, 8]))
        || digits::<12>(span).is_some_and(|d| {
            varied(&d) && ok(&d, &[7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) && ok(&d, &[3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8])
        })
}

/// Russia, company register: 13 digits mod 11, or 15 (sole traders) mod 13.
fn ru_ogrn(span: &[u8]) -> bool {
    digits::<13>(span).is_some_and(|d| d[0] > 0 && join(&d[..12]) % 11 % 10 == u64::from(d[12]))
        || digits::<15>(span).is_some_and(|d| matches!(d[0], 3 | 4) && join(&d[..14]) % 13 % 10 == u64::from(d[14]))
}

/// Russia, pension insurance: weights 9…1, mod 101.
fn ru_snils(span: &[u8]) -> bool {
    digits::<11>(span).is_some_and(|d| {
        let sum = dot(&d, &[9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101 % 100;
        varied(&d[..9]) && u32::try_from(sum) == Ok(two(&d, 9))
    })
}

/// Slovenia, tax number: weights 8…2, mod 11; eleven is not given out.
fn si_ddv(span: &[u8]) -> bool {
    digits::<8>(Id::of(span).after(b"SI")).is_some_and(|d| {
        let r = 11 - dot(&d, &[8, 7, 6, 5, 4, 3, 2]) % 11;
        d[0] > 0 && varied(&d) && r != 11 && r % 10 == i32::from(d[7])
    })
}

/// Slovenia, company register: weights 7…2 mod 11 over six digits; three characters for a unit may follow.
fn si_maticna(span: &[u8]) -> bool {
    let id = Id::of(span);
    let Some(d) = id.get(..7).and_then(digits::<7>) else { return false };
    let r = dot(&d, &[7, 6, 5, 4, 3, 2]) % 11;
    matches!(id.len(), 7 | 10) && varied(&d) && r != 0 && (11 - r) % 10 == i32::from(d[6])
}

/// Slovakia, VAT: a multiple of eleven; first digit not zero, third 2, 3, 4, 7, 8 or 9.
fn sk_dph(span: &[u8]) -> bool {
    let id = Id::of(span);
    let number = id.after(b"SK");
    cz_rc(number)
        || digits::<10>(number)
            .is_some_and(|d| d[0] > 0 && matches!(d[2], 2 | 3 | 4 | 7..=9) && varied(&d) && join(&d).is_multiple_of(11))
}

/// Ukraine, companies: weights 1…7 (or 7, 1…6 between 30 and 60 million) mod 11; if that gives ten, each weight two more.
fn ua_edrpou(span: &[u8]) -> bool {
    digits::<8>(span).is_some_and(|d| {
        let middle = (30_000_000..60_000_000).contains(&join(&d));
        let weights: [i32; 7] = if middle { [7, 1, 2, 3, 4, 5, 6] } else { [1, 2, 3, 4, 5, 6, 7] };
        let mut r = dot(&d, &weights) % 11;
        if r == 10 {
            r = dot(&d, &weights.map(|w| w + 2)) % 11 % 10;
        }
        varied(&d) && r == i32::from(d[7])
    })
}

/// Ukraine, taxpayers: weights −1, 5, 7, 9, 4, 6, 10, 5, 7, mod 11.
fn ua_rntrc(span: &[u8]) -> bool {
    digits::<10>(span)
        .is_some_and(|d| varied(&d) && dot(&d, &[-1, 5, 7, 9, 4, 6, 10, 5, 7]).rem_euclid(11) % 10 == i32::from(d[9]))
}

/// The citizen number of former Yugoslavia (Slovenia's EMŠO too): DDMMYYY, region, serial, weights 7…2 twice, mod 11.
fn yu_jmbg(span: &[u8]) -> bool {
    digits::<13>(span).is_some_and(|d| {
        let year = u32::from(d[4]) * 100 + two(&d, 5);
        real(if year < 800 { 2000 } else { 1000 } + year, two(&d, 2), two(&d, 0))
            && minus_mod11(&d, &[7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) == i32::from(d[12])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_answered() {
        for (name, test) in CHECKS {
            for span in [&b""[..], b"0", b"\xff\xff", b"A", b"--", &[b'0'; 60], "ž".as_bytes(), b"RO"] {
                assert!(!test(span), "{name}");
            }
        }
    }

    #[test]
    fn printed_examples() {
        assert!(pl_pesel(b"44051401359") && !pl_pesel(b"44051401358"));
        assert!(pl_nip(b"123-456-32-18") && !pl_nip(b"123-456-32-19"));
        assert!(pl_regon(b"123456785") && !pl_regon(b"123456784"));
        assert!(ru_snils(b"112-233-445 95") && !ru_snils(b"112-233-445 96"));
        assert!(hr_oib(b"94577403194") && !hr_oib(b"94577403195"));
    }
}
