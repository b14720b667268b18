//! Payment cards: which issuer identification numbers exist, and with which lengths.

use super::number::{Id, int, luhn, varied};

/// ISO/IEC 7812-1: issuer range, length and Luhn digit. Ranges are those that the schemes publish: Visa (4), Mastercard
/// (51–55, 2221–2720), American Express (34, 37), Discover (6011, 644–649, 65), Diners Club (300–305, 3095, 36, 38–39),
/// JCB (3528–3589), UnionPay (62, 81), Mir (2200–2204), RuPay (60, 65, 508), Troy (9792), Maestro (50, 56–58, 6x),
/// InstaPayment (637–639), Verve (5060–5061, 5078–5079, 6500), Dankort (5019).
pub(super) fn card(span: &[u8]) -> bool {
    issued(span, usual)
}

/// [`card`] with the ranges and lengths that are rare or look like other numbers: Visa with 13 digits, Maestro with 12 or
/// 13, JCB's old 15-digit numbers (1800, 2131), UATP (1, 15 digits), UnionPay's debit ranges. They need a word beside them.
pub(super) fn card_any(span: &[u8]) -> bool {
    issued(span, |head, n| usual(head, n) || rare(head, n))
}

fn issued(span: &[u8], lengths: impl Fn(u64, usize) -> bool) -> bool {
    let id = Id::of(span);
    let Some(head) = id.get(..6).and_then(int) else { return false };
    id.iter().all(u8::is_ascii_digit) && lengths(head, id.len()) && luhn(&id) && varied(&id)
}

/// `head`: the first six digits.
fn usual(head: u64, n: usize) -> bool {
    match head {
        400_000..=499_999 => n == 16 || n == 19,
        510_000..=559_999 | 222_100..=272_099 => n == 16,
        340_000..=349_999 | 370_000..=379_999 => n == 15,
        601_100..=601_199 | 644_000..=659_999 => (16..=19).contains(&n),
        300_000..=305_999 | 309_500..=309_599 | 360_000..=369_999 | 380_000..=399_999 => n == 14 || n == 16,
        352_800..=358_999 => (16..=19).contains(&n),
        620_000..=629_999 | 810_000..=817_199 => (16..=19).contains(&n),
        220_000..=220_499 => (16..=19).contains(&n),
        979_200..=979_299 | 637_000..=639_999 => n == 16,
        500_000..=509_999 | 560_000..=589_999 | 600_000..=609_999 | 630_000..=636_999 | 670_000..=679_999 => {
            (16..=19).contains(&n)
        }
        _ => false,
    }
}

fn rare(head: u64, n: usize) -> bool {
    match head {
        400_000..=499_999 => n == 13,
        180_000..=180_099 | 213_100..=213_199 | 100_000..=199_999 => n == 15,
        500_000..=509_999 | 560_000..=589_999 | 600_000..=699_999 => (12..=19).contains(&n),
        900_000..=999_999 => n == 16 || n == 19,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that the schemes publish for tests.
    #[test]
    fn schemes() {
        for good in [
            "4111 1111 1111 1111",
            "5105105105105100",
            "378282246310005",
            "6011-1111-1111-1117",
            "30569309025904",
            "3530111333300000",
            "6200000000000005",
            "2223003122003222",
        ] {
            assert!(card(good.as_bytes()), "{good}");
        }
        for bad in
            ["4111111111111112", "411111111111111", "1111111111111117", "0000000000000000", "4", "", "4000000000000000"]
        {
            assert!(!card(bad.as_bytes()), "{bad}");
        }
        assert!(!card(b"4222222222222") && card_any(b"4222222222222"));
    }
}
