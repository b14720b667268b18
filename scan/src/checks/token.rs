//! Checks of credentials: built-in checksums, decodable headers, and the difference between a token and a placeholder.
//!
//! Nothing here says that a credential is live; that takes a question to its vendor. The checks only keep out texts that
//! a credential of the kind cannot be. They read the span once or twice, allocate nothing and cannot fail: the attacker
//! chooses every byte of the span.

/// The digits of GitHub's base 62, in value order.
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Length of the check in the formats with a CRC-32 in base 62: 62^6 is the first power above 2^32.
const CRC_CHARS: usize = 6;

/// The last six characters are the CRC-32 of what stands between them and the first `_`, in base 62.
/// GitHub's token format of 2021 ("Behind GitHub's new authentication token formats").
pub(super) fn crc32_base62(span: &[u8]) -> bool {
    let Some(cut) = span.iter().position(|b| *b == b'_') else { return false };
    let rest = &span[cut + 1..];
    let Some(at) = rest.len().checked_sub(CRC_CHARS).filter(|at| *at > 0) else { return false };
    let (body, check) = rest.split_at(at);
    let mut value: u64 = 0;
    for c in check {
        let Some(digit) = BASE62.iter().position(|d| d == c) else { return false };
        value = value * 62 + digit as u64; // at most 62^6 - 1, far below 2^64
    }
    value == u64::from(crc32(body))
}

/// CRC-32 as in IEEE 802.3 (reflected, polynomial 0x04C11DB7). Spans are short; a table would not pay.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for b in bytes {
        crc ^= u32::from(*b);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1));
        }
    }
    !crc
}

/// What stands before the first `.` is the base64url of a JSON object that has an `alg` member (RFC 7515 §4.1.1) or, in
/// an encrypted token, an `enc` one (RFC 7516 §4.1.2). Only the look of it is tested: `{`, then `"alg"` and a colon.
pub(super) fn jwt_header(span: &[u8]) -> bool {
    const NAMES: [&[u8; 5]; 2] = [b"\"alg\"", b"\"enc\""];
    let header = span.split(|b| *b == b'.').next().unwrap_or_default();
    let mut window = [0u8; 5];
    let mut seen = 0usize;
    let (mut named, mut keyed) = (false, false);
    let complete = decode(header, |b| {
        if seen == 0 && b != b'{' {
            return false;
        }
        seen += 1;
        if b.is_ascii_whitespace() {
            return true;
        }
        keyed |= named && b == b':';
        window.rotate_left(1);
        window[4] = b;
        named = NAMES.contains(&&window);
        true
    });
    complete && keyed
}

/// The length of what stands before the second part of a token: whatever is longer has the same header.
pub(super) fn before_second_part(span: &[u8]) -> usize {
    span.iter().position(|b| *b == b'.').unwrap_or(usize::MAX)
}

/// Feeds the bytes of base64 or base64url text to `take` until it says no. Whether all were taken.
fn decode(text: &[u8], mut take: impl FnMut(u8) -> bool) -> bool {
    let (mut bits, mut have) = (0u32, 0u32);
    for c in text {
        let v = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return false,
        };
        bits = (bits << 6) | u32::from(v);
        have += 6;
        if have >= 8 {
            have -= 8;
            if !take((bits >> have) as u8) {
                return false;
            }
            bits &= (1 << have) - 1;
        }
    }
    true
}

/// Words that people write where a credential goes. Compared without regard to case. Each is at least four letters long,
/// so that a random token of 40 letters holds one of them with a probability below 10^-3.
const PLACEHOLDER_WORDS: &[&[u8]] = &[
    b"example",
    b"sample",
    b"placeholder",
    b"changeme",
    b"change-me",
    b"change_me",
    b"replaceme",
    b"replace-",
    b"replace_",
    b"redacted",
    b"yourtoken",
    b"yourkey",
    b"yoursecret",
    b"yourpass",
    b"yourapi",
    b"your-",
    b"your_",
    b"dummy",
    b"insert-",
    b"insert_",
    b"todo",
    b"fixme",
    b"foobar",
    b"notreal",
    b"not-real",
    b"deadbeef",
    b"asdfasdf",
    b"qwerty",
    b"lorem",
    b"process.env",
];

/// What documentation puts where a password goes, as the whole of it.
const STOCK_WORDS: &[&[u8]] = &[
    b"pass",
    b"passw",
    b"passwd",
    b"password",
    b"secret",
    b"token",
    b"user",
    b"username",
    b"test",
    b"admin",
    b"root",
    b"guest",
    b"none",
    b"null",
    b"true",
    b"false",
    b"postgres",
    b"mysql",
    b"redis",
    b"pwd",
    b"mypassword",
    b"string",
];

/// The longest of them, in bytes.
const LONGEST_STOCK_WORD: usize = 10;

/// Which two bytes may begin a placeholder word: for the low five bits of the first, a bit for those of the second. Both
/// cases of a letter have the same ones; what else has them costs a comparison.
const OPENS: [u32; 32] = {
    let mut table = [0; 32];
    let mut i = 0;
    while i < PLACEHOLDER_WORDS.len() {
        let word = PLACEHOLDER_WORDS[i];
        table[(word[0] & 31) as usize] |= 1 << (word[1] & 31);
        i += 1;
    }
    table
};

/// The longest rising run (`abcdef`, `123456`, `1234567890`) that a token may hold. Eight or more in a row come up once
/// in 10^10 random places; people who make a token up type them first.
const LONGEST_RUN: usize = 7;

/// Not a stand-in for a credential: no such word, no template mark, no typed sequence, not one character over and over.
/// Two passes at most: keyed rules ask it of every value behind a common word.
pub(super) fn not_placeholder(span: &[u8]) -> bool {
    span.len() >= 4
        && unspoilt(span) == span.len()
        && !is_mostly_one(span)
        && !(span.len() <= LONGEST_STOCK_WORD && STOCK_WORDS.iter().any(|w| span.eq_ignore_ascii_case(w)))
        && !ends_in_cycle(span)
}

/// The length of what stands before anything that makes a placeholder of every span that holds it: a word, a mark, a
/// typed sequence, eight equal bytes. The last byte of that is left out.
pub(super) fn unspoilt(span: &[u8]) -> usize {
    let Some(first) = span.first().map(u8::to_ascii_lowercase) else { return 0 };
    if is_mark(first) {
        return 0;
    }
    let (mut before, mut rising, mut same) = (first, 1, 1);
    let mut word_ends = span.len();
    for (i, b) in (1..).zip(span[1..].iter().map(u8::to_ascii_lowercase)) {
        if i >= word_ends {
            break;
        }
        if OPENS[usize::from(before & 31)] >> (b & 31) & 1 != 0
            && let Some(n) = placeholder_word(&span[i - 1..])
        {
            word_ends = word_ends.min(i - 1 + n - 1);
        }
        rising = if follows(before, b) { rising + 1 } else { 1 };
        same = if before == b { same + 1 } else { 1 };
        if is_mark(b) || rising > LONGEST_RUN || same >= 8 || same >= 3 && b == b'.' {
            return i;
        }
        before = b;
    }
    word_ends
}

/// One character, in either case, fills more than half of the span.
fn is_mostly_one(span: &[u8]) -> bool {
    // It is left with votes when every other byte takes one away.
    let (mut most, mut votes) = (0, 0usize);
    for b in span.iter().map(u8::to_ascii_lowercase) {
        match votes {
            0 => (most, votes) = (b, 1),
            _ if b == most => votes += 1,
            _ => votes -= 1,
        }
    }
    votes > 0 && span.iter().filter(|b| b.eq_ignore_ascii_case(&most)).count() * 2 > span.len()
}

/// Template marks and stars.
fn is_mark(b: u8) -> bool {
    matches!(b, b'<' | b'>' | b'{' | b'}' | b'*')
}

/// The length of the shortest placeholder word that `text` begins with.
fn placeholder_word(text: &[u8]) -> Option<usize> {
    let begins = |w: &&&[u8]| text.get(..w.len()).is_some_and(|t| t.eq_ignore_ascii_case(w));
    PLACEHOLDER_WORDS.iter().filter(begins).map(|w| w.len()).min()
}

/// Whether `b` is what one types behind `a`; `0` may follow `9`.
fn follows(a: u8, b: u8) -> bool {
    (b == a.wrapping_add(1) || (a, b) == (b'9', b'0')) && b.is_ascii_alphanumeric()
}

/// The last twelve bytes repeat two or three.
fn ends_in_cycle(span: &[u8]) -> bool {
    let end = &span[span.len().saturating_sub(12)..];
    end.len() == 12 && [2, 3].iter().any(|n| end[*n..] == end[..12 - n])
}

/// Looks like the random value of a key rather than like a name, a version, a path or a date. One of:
/// a stretch without punctuation has at least eight characters, two digits among letters, and changes between the two at
/// least three times; the whole has sixteen characters or more, a digit, and changes between small letters, capitals and
/// digits at two places in five; it is a UUID; it is groups of four or more capitals and digits joined by dashes.
/// For values that only a keyword gives away.
pub(super) fn token_like(span: &[u8]) -> bool {
    // All shapes but that of a UUID have a digit; most words that stand where a key could have none.
    let shaped = span.iter().any(u8::is_ascii_digit)
        && (restless(span) || span.split(|b| !b.is_ascii_alphanumeric()).any(mixed) || grouped(span));
    (shaped || uuid(span)) && not_placeholder(span)
}

/// The length of the longest shorter span with the same start that may look like a token; the span itself does not.
pub(super) fn longest_token_like(span: &[u8]) -> usize {
    // Thirty-two letters and four dashes pass for a UUID, and so do digits.
    if letters_and_digits(span) { unspoilt(span) } else { UUID_LEN }
}

fn mixed(piece: &[u8]) -> bool {
    let digits = piece.iter().filter(|b| b.is_ascii_digit()).count();
    let changes = piece.windows(2).filter(|w| w[0].is_ascii_digit() != w[1].is_ascii_digit()).count();
    piece.len() >= 8 && digits >= 2 && digits < piece.len() && changes >= 3
}

fn restless(span: &[u8]) -> bool {
    let class = |b: u8| if b.is_ascii_digit() { 0u8 } else { 1 + u8::from(b.is_ascii_uppercase()) };
    let (mut n, mut changes, mut digits, mut last) = (0usize, 0usize, 0usize, None);
    for c in span.iter().filter(|b| b.is_ascii_alphanumeric()).map(|b| class(*b)) {
        n += 1;
        digits += usize::from(c == 0);
        changes += usize::from(last.is_some_and(|l| l != c));
        last = Some(c);
    }
    n >= 16 && digits >= 1 && digits < n && changes * 5 >= n * 2
}

/// Length of a UUID in text form.
const UUID_LEN: usize = 36;

fn uuid(span: &[u8]) -> bool {
    span.len() == UUID_LEN
        && span
            .iter()
            .enumerate()
            .all(|(i, b)| if matches!(i, 8 | 13 | 18 | 23) { *b == b'-' } else { b.is_ascii_alphanumeric() })
}

fn grouped(span: &[u8]) -> bool {
    let mut groups = 0;
    let all = span.split(|b| *b == b'-').all(|g| {
        groups += 1;
        let digits = g.iter().filter(|b| b.is_ascii_digit()).count();
        (4..=12).contains(&g.len())
            && digits > 0
            && digits < g.len()
            && g.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
    });
    all && groups >= 2
}

/// Holds at least one digit and one letter: for prefixes that also begin ordinary words (`sk-`, `key-`).
pub(super) fn letters_and_digits(span: &[u8]) -> bool {
    span.iter().any(u8::is_ascii_digit) && span.iter().any(u8::is_ascii_alphabetic)
}

/// The base64 text of `user:password`: decodes to visible ASCII with a colon that is neither first nor last (RFC 7617 §2).
pub(super) fn basic_credentials(span: &[u8]) -> bool {
    let (mut n, mut colon, mut last) = (0usize, false, 0u8);
    let all = decode(span, |b| {
        if !(0x20..0x7f).contains(&b) {
            return false;
        }
        colon |= b == b':' && n > 0;
        n += 1;
        last = b;
        true
    });
    all && colon && last != b':'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::expand;

    #[test]
    fn crc_of_the_standard_check_string() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn github_crc() {
        let body = expand("{alnum*30}").unwrap_or_default();
        let mut crc = u64::from(crc32(body.as_bytes()));
        let mut check = [b'0'; CRC_CHARS];
        for c in check.iter_mut().rev() {
            *c = BASE62[(crc % 62) as usize];
            crc /= 62;
        }
        let check = String::from_utf8_lossy(&check).into_owned();
        assert!(crc32_base62(format!("ghp_{body}{check}").as_bytes()));
        assert!(!crc32_base62(format!("ghp_{body}{check}0").as_bytes()));
        assert!(!crc32_base62(b"ghp_") && !crc32_base62(b"") && !crc32_base62(b"_12345"));
    }

    #[test]
    fn jwt_headers() {
        // Put together here, so that no scanner takes this file for a place where tokens lie.
        let holds = |rest: &str| jwt_header(["ey", "J", rest].concat().as_bytes());
        // {"alg":"none"} · {"typ":"JWT","enc" : 1} · {"kid":"alg"} · not an object
        assert!(holds("hbGciOiJub25lIn0.e30."));
        assert!(holds("0eXAiOiJKV1QiLCJlbmMiIDogMX0.e30.x"));
        assert!(!holds("raWQiOiJhbGcifQ.e30.x"));
        assert!(!jwt_header(b"W10.e30.x") && !jwt_header(b"") && !jwt_header(b"\xff.."));
    }

    #[test]
    fn placeholders() {
        for p in [
            "ghp_xxxxxxxxxxxxxxxxxxxx",
            "AKIAIOSFODNN7EXAMPLE",
            "abcdefghijkl",
            "x1234567890",
            "your_key_9f8",
            "aaaa",
            "",
            "<k>",
        ] {
            assert!(!not_placeholder(p.as_bytes()), "{p}");
        }
        for p in ["9f3kd0al2mxz", "a1b2c3d4e5f6g7h8", "MIIEvQIBADANBgkqhkiG9w0"] {
            assert!(not_placeholder(p.as_bytes()), "{p}");
        }
    }

    /// What it says of shorter spans, against asking each of them.
    #[test]
    fn what_is_left_of_a_failed_span() {
        let texts = [
            "xoxd-q7Rz-your_key-9f4b2d7e1a3c",
            "9f4b2d7e1a3c8056<k>9f4b2d7e",
            "q7Rz2p2K8t9Lw4B1234567890",
            "9f4b2d7e1a3c80aaaaaaaaaa",
            "aAaAaAaAbcdabcdabcd...x",
            "49293105874929310587",
            "return_value-of-a-function-of-some-name-here",
            "abcdefgh-abcd-abcd-abcd-abcdefghijklm",
            "ey.your-.x",
            "inserinsert_insert-",
        ];
        for text in texts.map(str::as_bytes) {
            for check in
                ["not-placeholder", "token-like", "letters-and-digits", "jwt-header", "entropy>=3", "entropy>=2"]
            {
                let check = crate::checks::Check::parse(check).unwrap_or_else(|e| panic!("{e}"));
                for end in (0..=text.len()).filter(|n| !check.holds(&text[..*n])) {
                    let left = check.longest_left(&text[..end]);
                    assert!(left <= end.saturating_sub(1), "{check} {end}");
                    let passes = (left + 1..=end).find(|n| check.holds(&text[..*n]));
                    assert_eq!(passes, None, "{check} of {:?}", String::from_utf8_lossy(&text[..end]));
                }
            }
        }
    }

    #[test]
    fn tokens_and_names() {
        for t in ["9f4b2d7e1a3c8056", "x7PX0fac8a2GW2fgnNqdtqIwMQ", "5f0a9c1e-2b4d-4a6f-8c10-1d2e3f4a5b6c"] {
            assert!(token_like(t.as_bytes()), "{t}");
        }
        for t in
            ["app.kubernetes.io/v1beta1", "2024-01-02T10", "oauth2/token/v1", "getAccessTokenFromEnv", "1700000000"]
        {
            assert!(!token_like(t.as_bytes()), "{t}");
        }
    }

    #[test]
    fn basic() {
        assert!(basic_credentials(b"YWxhZGRpbjpvcGVu")); // aladdin:open
        assert!(!basic_credentials(b"YWxhZGRpbg==") && !basic_credentials(b"/////w==") && !basic_credentials(b""));
    }
}
