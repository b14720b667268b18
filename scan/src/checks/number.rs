//! Check digits of numbers.

/// The digits of a span, separators skipped.
fn digits(span: &[u8]) -> impl DoubleEndedIterator<Item = u32> + '_ {
    span.iter().filter(|b| b.is_ascii_digit()).map(|b| u32::from(b - b'0'))
}

/// ISO/IEC 7812-1 annex B (Luhn, mod 10).
pub(super) fn luhn(span: &[u8]) -> bool {
    let sum: u32 = digits(span)
        .rev()
        .enumerate()
        .map(|(i, d)| if i % 2 == 0 { d } else { d * 2 - if d > 4 { 9 } else { 0 } })
        .sum();
    sum % 10 == 0
}

#[cfg(test)]
mod tests {
    #[test]
    fn luhn() {
        assert!(super::luhn(b"4111 1111 1111 1111"));
        assert!(!super::luhn(b"4111 1111 1111 1112"));
    }
}
