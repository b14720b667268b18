//! Dates inside numbers.

/// Whether the day exists in the Gregorian calendar, from 1800 to 2199: no register writes dates outside, and the
/// Baltic ones have digits ready for the 2100s.
pub(super) fn real(year: u32, month: u32, day: u32) -> bool {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 0,
    };
    (1800..2200).contains(&year) && (1..=days).contains(&day)
}

/// Two digits at `i`, as a number; 99 (no month, no day) where there are none.
pub(super) fn two(d: &[u8], i: usize) -> u32 {
    match d.get(i..i + 2) {
        Some([a, b]) => u32::from(*a) * 10 + u32::from(*b),
        _ => 99,
    }
}

/// YYMMDD at the head of `d`, in some century.
pub(super) fn yymmdd(d: &[u8]) -> bool {
    in_any_century(two(d, 0), two(d, 2), two(d, 4))
}

/// DDMMYY at the head of `d`, in some century.
pub(super) fn ddmmyy(d: &[u8]) -> bool {
    in_any_century(two(d, 4), two(d, 2), two(d, 0))
}

/// A two-digit year with month and day that exist in 1900–1999 or 2000–2099.
pub(super) fn in_any_century(year: u32, month: u32, day: u32) -> bool {
    real(1900 + year, month, day) || real(2000 + year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leap_years() {
        assert!(real(2000, 2, 29) && real(1996, 2, 29));
        assert!(!real(1900, 2, 29) && !real(1997, 2, 29));
        assert!(!real(2000, 13, 1) && !real(2000, 0, 1) && !real(2000, 4, 31) && !real(1700, 1, 1));
    }

    #[test]
    fn short_input_is_no_date() {
        assert!(!yymmdd(&[]) && !ddmmyy(&[0, 1]));
        assert!(yymmdd(&[9, 6, 0, 2, 2, 9]) && ddmmyy(&[2, 9, 0, 2, 0, 0]));
    }
}
