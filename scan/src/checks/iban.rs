//! International bank account numbers: ISO 13616-1.

use super::number::{Id, mod97};

/// Country and structure of the BBAN, as the registry writes it: `8n12c` is eight digits, then twelve characters
/// that are digits or letters; `a` is a letter.
/// Source: IBAN registry that SWIFT keeps for ISO 13616 (release 101). Neighbouring fields of a kind are one field.
#[rustfmt::skip]
const COUNTRIES: &[([u8; 2], &str)] = &[
    (*b"AD", "8n12c"), (*b"AE", "19n"), (*b"AL", "8n16c"), (*b"AT", "16n"), (*b"AZ", "4a20c"), (*b"BA", "16n"),
    (*b"BE", "12n"), (*b"BG", "4a6n8c"), (*b"BH", "4a14c"), (*b"BI", "23n"), (*b"BR", "23n1a1c"),
    (*b"BY", "4c4n16c"), (*b"CH", "5n12c"), (*b"CR", "18n"), (*b"CY", "8n16c"), (*b"CZ", "20n"), (*b"DE", "18n"),
    (*b"DJ", "23n"), (*b"DK", "14n"), (*b"DO", "4c20n"), (*b"EE", "16n"), (*b"EG", "25n"), (*b"ES", "20n"),
    (*b"FI", "14n"), (*b"FK", "2a12n"), (*b"FO", "14n"), (*b"FR", "10n11c2n"), (*b"GB", "4a14n"), (*b"GE", "2a16n"),
    (*b"GI", "4a15c"), (*b"GL", "14n"), (*b"GR", "7n16c"), (*b"GT", "24c"), (*b"HN", "4a20n"), (*b"HR", "17n"),
    (*b"HU", "24n"), (*b"IE", "4a14n"), (*b"IL", "19n"), (*b"IQ", "4a15n"), (*b"IS", "22n"), (*b"IT", "1a10n12c"),
    (*b"JO", "4a4n18c"), (*b"KW", "4a22c"), (*b"KZ", "3n13c"), (*b"LB", "4n20c"), (*b"LC", "4a24c"),
    (*b"LI", "5n12c"), (*b"LT", "16n"), (*b"LU", "3n13c"), (*b"LV", "4a13c"), (*b"LY", "21n"), (*b"MC", "10n11c2n"),
    (*b"MD", "20c"), (*b"ME", "18n"), (*b"MK", "3n10c2n"), (*b"MN", "16n"), (*b"MR", "23n"), (*b"MT", "4a5n18c"),
    (*b"MU", "4a19n3a"), (*b"NI", "4a20n"), (*b"NL", "4a10n"), (*b"NO", "11n"), (*b"OM", "3n16c"), (*b"PK", "4a16c"),
    (*b"PL", "24n"), (*b"PS", "4a21c"), (*b"PT", "21n"), (*b"QA", "4a21c"), (*b"RO", "4a16c"), (*b"RS", "18n"),
    (*b"RU", "14n15c"), (*b"SA", "2n18c"), (*b"SC", "4a20n3a"), (*b"SD", "14n"), (*b"SE", "20n"), (*b"SI", "15n"),
    (*b"SK", "20n"), (*b"SM", "1a10n12c"), (*b"SO", "19n"), (*b"ST", "21n"), (*b"SV", "4a20n"), (*b"TL", "19n"),
    (*b"TN", "20n"), (*b"TR", "6n16c"), (*b"UA", "6n19c"), (*b"VA", "18n"), (*b"VG", "4a16n"), (*b"XK", "16n"),
    (*b"YE", "4a4n18c"),];

/// A country of the registry, its structure, and ISO/IEC 7064 mod 97-10 over the number with its head at the end.
pub(super) fn iban(span: &[u8]) -> bool {
    let id = Id::of(span);
    let Some((head, bban)) = id.split_at_checked(4) else { return false };
    let Ok(i) = COUNTRIES.binary_search_by_key(&[head[0], head[1]], |c| c.0) else { return false };
    follows(bban, COUNTRIES[i].1) && mod97(bban.iter().chain(head)) == Some(1)
}

/// Whether `bban` has the structure, to its last character.
fn follows(mut bban: &[u8], structure: &str) -> bool {
    for field in structure.split_inclusive(|c: char| c.is_ascii_alphabetic()) {
        let (count, kind) = field.split_at(field.len() - 1);
        let Some((part, rest)) = count.parse().ok().and_then(|n| bban.split_at_checked(n)) else { return false };
        let fits = match kind {
            "n" => part.iter().all(u8::is_ascii_digit),
            "a" => part.iter().all(u8::is_ascii_uppercase),
            _ => true,
        };
        if !fits {
            return false;
        }
        bban = rest;
    }
    bban.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_and_within_34_characters() {
        assert!(COUNTRIES.is_sorted_by_key(|c| c.0));
        for (country, s) in COUNTRIES {
            let fields = s.split_inclusive(|c: char| c.is_ascii_alphabetic());
            let total: usize = fields.filter_map(|f| f[..f.len() - 1].parse::<usize>().ok()).sum();
            assert!((11..=30).contains(&total), "{country:?}");
        }
    }

    /// The registry's own examples.
    #[test]
    fn printed_examples() {
        for good in [
            "DE89 3704 0044 0532 0130 00",
            "GB29NWBK60161331926819",
            "NO93 8601 1117 947",
            "FR1420041010050500013M02606",
        ] {
            assert!(iban(good.as_bytes()), "{good}");
        }
        for bad in [
            "DE89 3704 0044 0532 0130 01",
            "DE89 3704 0044 0532 0130",
            "ZZ89 3704 0044 0532 0130 00",
            "DE",
            "",
            "GB29 1WBK 6016 1331 9268 19",
        ] {
            assert!(!iban(bad.as_bytes()), "{bad}");
        }
    }
}
