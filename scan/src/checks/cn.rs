//! Identifiers of the People's Republic of China.

use super::date::{real, two};
use super::number::{Id, digits, mod11_2};

/// GB/T 2260: the first two digits of a division code; 81–83 are Hong Kong, Macau and Taiwan (residence permits).
fn province(code: u32) -> bool {
    matches!(code, 11..=15 | 21..=23 | 31..=37 | 41..=46 | 50..=54 | 61..=65 | 71 | 81..=83)
}

/// GB 11643-1999: division code, real date of birth, ISO/IEC 7064 mod 11-2 with `X`.
pub(super) fn resident_id(span: &[u8]) -> bool {
    let id = Id::of(span);
    if id.len() != 18 {
        return false;
    }
    let mut d = [0u8; 17];
    for (d, b) in d.iter_mut().zip(id.iter()) {
        if !b.is_ascii_digit() {
            return false;
        }
        *d = b - b'0';
    }
    province(two(&d, 0)) && real(two(&d, 6) * 100 + two(&d, 8), two(&d, 10), two(&d, 12)) && mod11_2(&id)
}

/// GB 11643-1989, the 15-digit form in use before 1999: division code and a date of the 1900s, no check digit.
pub(super) fn resident_id_15(span: &[u8]) -> bool {
    digits::<15>(span).is_some_and(|d| province(two(&d, 0)) && real(1900 + two(&d, 6), two(&d, 8), two(&d, 10)))
}

/// GB 32100-2015, unified social credit code: registering body, kind, division code, and a check character mod 31 in an
/// alphabet without I, O, S, V, Z.
pub(super) fn uscc(span: &[u8]) -> bool {
    const ALPHABET: &[u8] = b"0123456789ABCDEFGHJKLMNPQRTUWXY";
    let id = Id::of(span);
    if id.len() != 18 || !id[2..8].iter().all(u8::is_ascii_digit) {
        return false;
    }
    let mut sum = 0;
    let mut weight = 1;
    for b in &id[..17] {
        let Some(v) = ALPHABET.iter().position(|a| a == b) else { return false };
        sum = (sum + v * weight) % 31;
        weight = weight * 3 % 31;
    }
    ALPHABET.get((31 - sum) % 31) == Some(&id[17])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident() {
        assert!(resident_id(b"11010519491231002X")); // printed in GB 11643
        assert!(resident_id(b"11010519491231002x"));
        for bad in [
            "110105194912310021",
            "91010519491231002X",
            "11010519491331002X",
            "11010519490229002X",
            "",
            "11010519491231002",
        ] {
            assert!(!resident_id(bad.as_bytes()), "{bad}");
        }
        assert!(resident_id_15(b"110105491231002") && !resident_id_15(b"110105491331002"));
    }

    #[test]
    fn social_credit() {
        assert!(uscc(b"91350100M000100Y43")); // printed in GB 32100
        assert!(!uscc(b"91350100M000100Y44") && !uscc(b"91350100M00O100Y43") && !uscc(b"9"));
    }
}
