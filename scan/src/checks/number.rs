//! Arithmetic that check digits share: reading a span, weighted sums and the standard check systems.
//!
//! Nothing here knows a country. Spans come from hostile text: every function takes any bytes and answers `false` or
//! `None` where they are not what it needs.

/// The letters and digits of a span, letters as capitals; separators are left out. Empty if there are more than 40:
/// the longest number with a check here is an IBAN (34 characters).
pub(super) struct Id {
    chars: [u8; 40],
    len: usize,
}

/// The ASCII letters and digits of a span, in order; full-width ones (U+FF10–FF19, FF21–FF3A, FF41–FF5A) count as those
/// that they are the wide forms of.
fn alphanumeric(span: &[u8]) -> impl Iterator<Item = u8> + '_ {
    span.iter().enumerate().filter_map(|(i, b)| {
        let wide = match (i.checked_sub(2).map(|j| &span[j..i]), b) {
            (Some([0xef, 0xbc]), 0x90..=0x99 | 0xa1..=0xba) => b - 0x60,
            (Some([0xef, 0xbd]), 0x81..=0x9a) => b - 0x20,
            _ => *b,
        };
        wide.is_ascii_alphanumeric().then_some(wide)
    })
}

impl Id {
    /// Reads a span.
    pub(super) fn of(span: &[u8]) -> Id {
        let mut id = Id { chars: [0; 40], len: 0 };
        for b in alphanumeric(span) {
            if id.len == id.chars.len() {
                id.len = 0;
                return id;
            }
            id.chars[id.len] = b.to_ascii_uppercase();
            id.len += 1;
        }
        id
    }

    /// Without `prefix`, if the span begins with it.
    pub(super) fn after(&self, prefix: &[u8]) -> &[u8] {
        self.strip_prefix(prefix).unwrap_or(self)
    }
}

impl std::ops::Deref for Id {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.chars[..self.len]
    }
}

/// The span's digits as numbers, if its letters and digits are exactly `N` digits.
pub(super) fn digits<const N: usize>(span: &[u8]) -> Option<[u8; N]> {
    let mut out = [0; N];
    let mut n = 0;
    for b in alphanumeric(span) {
        *out.get_mut(n)? = b.is_ascii_digit().then(|| b - b'0')?;
        n += 1;
    }
    (n == N).then_some(out)
}

/// The digits in a slice that is digits throughout, as one number. `None` beyond 18 digits.
pub(super) fn int(chars: &[u8]) -> Option<u64> {
    if chars.is_empty() || chars.len() > 18 {
        return None;
    }
    chars.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + u64::from(b - b'0')))
}

/// Digits already read as numbers, as one number.
pub(super) fn join(d: &[u8]) -> u64 {
    d.iter().fold(0, |n, d| n.wrapping_mul(10).wrapping_add(u64::from(*d)))
}

/// Sum of digits times weights, as far as both go.
pub(super) fn dot(d: &[u8], weights: &[i32]) -> i32 {
    d.iter().zip(weights).map(|(d, w)| i32::from(*d) * w).sum()
}

/// Not the same digit throughout: `000000000` passes most weighted sums and is never a number that was issued.
pub(super) fn varied(d: &[u8]) -> bool {
    d.windows(2).any(|w| w[0] != w[1])
}

/// ISO/IEC 7812-1 annex B (Luhn, mod 10), over the digits of a span; separators are skipped.
pub(super) fn luhn(span: &[u8]) -> bool {
    let digits = span.iter().filter(|b| b.is_ascii_digit()).map(|b| b - b'0');
    luhn_rest(digits.rev()) == 0
}

/// [`luhn`] over digits already read.
pub(super) fn luhn_digits(d: &[u8]) -> bool {
    luhn_rest(d.iter().rev().copied()) == 0
}

/// The Luhn sum modulo 10 of digits that come last first.
pub(super) fn luhn_rest(reversed: impl Iterator<Item = u8>) -> u32 {
    reversed.enumerate().map(|(i, d)| u32::from(if i % 2 == 0 { d } else { d * 2 % 10 + d / 5 })).sum::<u32>() % 10
}

/// 3GPP TS 23.003: an IMEI has 14 digits and a Luhn digit, which may be missing; with a software version it has 16 and none.
pub(super) fn imei(span: &[u8]) -> bool {
    let id = Id::of(span);
    id.iter().all(u8::is_ascii_digit) && varied(&id) && (matches!(id.len(), 14 | 16) || id.len() == 15 && luhn(&id))
}

/// Luhn's scheme in base 36, digits before letters: the check character of the Indian GSTIN.
pub(super) fn luhn36(chars: &[u8]) -> bool {
    let mut sum = 0;
    for (i, b) in chars.iter().rev().enumerate() {
        let Some(v) = value36(*b) else { return false };
        let v = if i % 2 == 0 { v } else { v * 2 };
        sum += v / 36 + v % 36;
    }
    sum % 36 == 0
}

/// Verhoeff (1969): the dihedral group D5 with a position-dependent permutation.
pub(super) fn verhoeff(d: &[u8]) -> bool {
    // The permutation of period 8; the group's product needs no table: elements 0–4 are rotations, 5–9 reflections.
    const STEP: [u8; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let product = |a: u8, b: u8| match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => 5 + (a + b) % 5,
        (false, true) => 5 + (a + 5 - b) % 5,
        (false, false) => (a + 5 - b) % 5,
    };
    let mut c = 0;
    for (i, digit) in d.iter().rev().enumerate() {
        let mut x = *digit;
        for _ in 0..i % 8 {
            x = STEP[usize::from(x % 10)];
        }
        c = product(c, x);
    }
    c == 0
}

/// [`verhoeff`] over the digits of a span.
pub(super) fn verhoeff_of(span: &[u8]) -> bool {
    in_digits(span, verhoeff)
}

/// [`mod11_10`] over the digits of a span.
pub(super) fn mod11_10_of(span: &[u8]) -> bool {
    in_digits(span, mod11_10)
}

fn in_digits(span: &[u8], test: fn(&[u8]) -> bool) -> bool {
    let mut id = Id::of(span);
    let n = id.len;
    let chars = &mut id.chars[..n];
    if n == 0 || !chars.iter().all(u8::is_ascii_digit) {
        return false;
    }
    for b in chars.iter_mut() {
        *b -= b'0';
    }
    test(chars)
}

/// ISO/IEC 7064 mod 11-10 over digits, the last of which is the check.
pub(super) fn mod11_10(d: &[u8]) -> bool {
    let Some((last, rest)) = d.split_last() else { return false };
    let mut p = 10;
    for d in rest {
        let s = (p + u32::from(*d)) % 10;
        p = if s == 0 { 10 } else { s } * 2 % 11;
    }
    (p + u32::from(*last)) % 10 == 1
}

/// ISO/IEC 7064 mod 11-2 over digits, with `X` as a last character that stands for ten.
pub(super) fn mod11_2(chars: &[u8]) -> bool {
    let Some((last, rest)) = chars.split_last() else { return false };
    let mut r = 0;
    for b in rest {
        if !b.is_ascii_digit() {
            return false;
        }
        r = (r + u32::from(b - b'0')) * 2 % 11;
    }
    let last = match last {
        b'0'..=b'9' => u32::from(last - b'0'),
        b'X' | b'x' => 10,
        _ => return false,
    };
    (r + last) % 11 == 1
}

/// A number in digits and capital letters (A = 10 … Z = 35, each written as two digits) modulo 97, as in
/// ISO/IEC 7064 mod 97-10 and ISO 13616. `None` if anything else occurs.
pub(super) fn mod97<'a>(chars: impl IntoIterator<Item = &'a u8>) -> Option<u32> {
    chars.into_iter().try_fold(0, |r, b| {
        let v = value36(*b)?;
        Some((r * if v > 9 { 100 } else { 10 } + v) % 97)
    })
}

/// `0`–`9`, `A`–`Z` as 0–35.
pub(super) fn value36(b: u8) -> Option<u32> {
    char::from(b).to_digit(36)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luhn_skips_separators() {
        assert!(luhn(b"4111 1111 1111 1111"));
        assert!(!luhn(b"4111 1111 1111 1112"));
    }

    /// The worked examples that the standards and Verhoeff's thesis print.
    #[test]
    fn printed_examples() {
        assert!(verhoeff(&[2, 3, 6, 3]) && !verhoeff(&[2, 3, 6, 4]));
        assert!(mod11_2(b"079X") && !mod11_2(b"0790"));
        assert!(mod11_10(&[0, 7, 9, 4, 5]) && !mod11_10(&[0, 7, 9, 4, 6]));
        assert_eq!(mod97(b"79444"), Some(79444 % 97));
        assert_eq!(mod97(b"a?"), None);
    }

    #[test]
    fn verhoeff_sees_every_single_change_and_neighbour_swap() {
        let good = [2u8, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 6];
        let good = (0..10).map(|c| [&good[..11], &[c]].concat()).find(|d| verhoeff(d)).unwrap_or_default();
        for i in 0..good.len() {
            for d in (0..10).filter(|d| *d != good[i]) {
                let mut bad = good.clone();
                bad[i] = d;
                assert!(!verhoeff(&bad));
            }
        }
        for i in 1..good.len() {
            let mut bad = good.clone();
            bad.swap(i - 1, i);
            assert!(bad == good || !verhoeff(&bad));
        }
    }

    #[test]
    fn reading() {
        assert_eq!(digits::<3>(b"1-2 3"), Some([1, 2, 3]));
        assert_eq!(digits::<3>(b"1-2"), None);
        assert_eq!(digits::<2>(b"1-2 3"), None);
        assert_eq!(digits::<3>(b"1a3"), None);
        assert_eq!(&*Id::of(b"a-1 b"), b"A1B");
        assert_eq!(Id::of(&[b'1'; 41]).len(), 0);
        assert_eq!(int(b"0042"), Some(42));
        assert_eq!(int(b"4x"), None);
    }
}
