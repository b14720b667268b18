//! Telephone numbers: E.164 and the forms of a few national plans.

use super::phone_plan::PLANS;

/// ITU-T E.164: `+`, a calling code, a national number whose length and first digit its plan allows.
/// The trunk zero that Europeans write as `(0)` is left out.
pub(super) fn e164(span: &[u8]) -> bool {
    let mut buf = [0u8; 15];
    let mut n = 0;
    let mut rest = span;
    while let Some((b, tail)) = rest.split_first() {
        if let Some(tail) = rest.strip_prefix(b"(0)") {
            rest = tail;
            continue;
        }
        rest = tail;
        if b.is_ascii_digit() {
            let Some(slot) = buf.get_mut(n) else { return false };
            *slot = *b;
            n += 1;
        }
    }
    let number = &buf[..n];
    match number {
        [b'1', area, ..] => n == 11 && *area >= b'2',
        _ => (2..=3).any(|split| planned(number, split)),
    }
}

fn planned(number: &[u8], split: usize) -> bool {
    // 7 and 20–98 are one and two digits, the rest three; code 7 is tried on its own.
    let split = if number.first() == Some(&b'7') { 1 } else { split };
    let Some((code, national)) = number.split_at_checked(split) else { return false };
    let code = code.iter().fold(0, |n, b| n * 10 + u16::from(b - b'0'));
    let Ok(i) = PLANS.binary_search_by_key(&code, |p| p.0) else { return false };
    PLANS[i].1.split(' ').filter_map(|p| p.split_once(':')).any(|(length, firsts)| {
        length.parse() == Ok(national.len()) && national.first().is_some_and(|f| firsts.as_bytes().contains(f))
    })
}

/// North American Numbering Plan: area code and exchange begin with 2–9, and neither is a service code (N11).
pub(super) fn nanp(span: &[u8]) -> bool {
    let mut d = [0u8; 10];
    let mut n = 0;
    // An extension stands behind a letter; a country code 1 in front.
    let digits = span.iter().take_while(|b| !b.is_ascii_alphabetic()).filter(|b| b.is_ascii_digit());
    for b in digits.skip_while(|b| **b == b'1') {
        let Some(slot) = d.get_mut(n) else { return false };
        *slot = b - b'0';
        n += 1;
    }
    n == 10 && d[0] >= 2 && d[3] >= 2 && d[1..3] != [1, 1] && d[4..6] != [1, 1]
}

/// A national number as people write it: 7 to 12 digits, not a date or a time.
pub(super) fn national(span: &[u8]) -> bool {
    let digits = span.iter().take_while(|b| !b.is_ascii_alphabetic()).filter(|b| b.is_ascii_digit()).count();
    let four_then_two = matches!(span, [a, b, c, d, b'-', e, f, b'-', ..]
        if [a, b, c, d, e, f].iter().all(|x| x.is_ascii_digit()));
    (7..=12).contains(&digits) && !four_then_two
}

/// Japan (MIC): a domestic number has 10 digits with its trunk zero, a mobile or IP number (050, 060–090) 11.
pub(super) fn jp(span: &[u8]) -> bool {
    let mut digits = span.iter().filter(|b| b.is_ascii_digit());
    let n = digits.clone().count();
    let second = digits.nth(1);
    let eleven = matches!(second, Some(b'5'..=b'9')) && digits.next() == Some(&b'0');
    n == if eleven { 11 } else { 10 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_sorted_and_well_formed() {
        assert!(PLANS.is_sorted_by_key(|p| p.0));
        for (code, plan) in PLANS {
            for p in plan.split(' ') {
                let (length, firsts) = p.split_once(':').unwrap_or_default();
                assert!(length.parse::<usize>().is_ok_and(|n| (4..=14).contains(&n)), "{code}: {p}");
                assert!(!firsts.is_empty() && firsts.bytes().all(|b| b.is_ascii_digit()), "{code}: {p}");
            }
        }
    }

    #[test]
    fn international() {
        for good in
            ["+49 30 12345678", "+1 (212) 555-0147", "+44 (0)20 7946 0018", "+86 138 1234 5678", "+7 495 123-45-67"]
        {
            assert!(e164(good.as_bytes()), "{good}");
        }
        for bad in ["+1 123 456 7890", "+999 12345678", "+49", "+", "+86 13812345678901234", "+44 20 7946"] {
            assert!(!e164(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn national_forms() {
        assert!(nanp(b"(212) 555-0147") && nanp(b"1-212-555-0147") && nanp(b"212.555.0147x12"));
        assert!(!nanp(b"112-555-0147") && !nanp(b"211-555-0147") && !nanp(b"212-055-0147") && !nanp(b"555-0147"));
        assert!(national(b"030 123456") && !national(b"2024-03-15") && !national(b"123456"));
        assert!(jp(b"03-1234-5678") && jp(b"090-1234-5678") && !jp(b"03-1234-567") && !jp(b"03-12345-6789"));
    }
}
