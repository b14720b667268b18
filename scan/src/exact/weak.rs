//! Values that must not be looked for: they would be found in every other line of ordinary text.
//!
//! An environment file names ports, regions and addresses beside its secrets. To redact `localhost` or `eu-west-1`
//! wherever it stands would make the filter useless, so such values are left out, and the caller says so. This is *not* a
//! measure of how good a password is: `changeme123` may be one, and is left out all the same unless a profile keeps it.
//!
//! The rule is one of shapes, not a dictionary. A value is cut into *runs* of letters and digits. A run is ordinary if it
//! is a word (small letters, capitals, or a capital and small letters, or few such one behind the other), a short number,
//! or a short word with a short number (`v2`, `port8080`, `512Mi`). A value with any other run, a random one, is looked
//! for. One of ordinary runs only is left out if there are few of them, or if the marks between them make an address,
//! a path or a version. Three words and more with nothing but marks between them are a pass phrase, and are looked for.

/// Why a value is not looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Weakness {
    /// Fewer bytes than asked for.
    #[error("is shorter than `min_length`")]
    Short,
    /// A number, or digits and separators: a port, an address, a date, a size.
    #[error("is made of digits only")]
    Digits,
    /// One word, or a few with nothing but marks between them, or a usual setting.
    #[error("is an ordinary word or setting")]
    Word,
    /// A URL without credentials, a host, a path, an e-mail address.
    #[error("is an address or a path without a secret in it")]
    Address,
    /// Fewer than four different bytes: `xxxxxxxx`, `--------`.
    #[error("repeats a few characters")]
    Few,
}

/// Whether `value` would be found everywhere, and why.
pub fn weakness(value: &[u8], min_length: usize) -> Option<Weakness> {
    if value.len() < min_length {
        return Some(Weakness::Short);
    }
    let mut different = [false; 256];
    value.iter().for_each(|b| different[usize::from(*b)] = true);
    let different = different.iter().filter(|d| **d).count();
    if is_digits(value) {
        return Some(Weakness::Digits);
    }
    if different < 4 {
        return Some(Weakness::Few);
    }
    if USUAL.iter().any(|u| value.eq_ignore_ascii_case(u.as_bytes())) {
        return Some(Weakness::Word);
    }
    let runs = Runs::of(value)?;
    if runs.is_setting() {
        return Some(Weakness::Word);
    }
    (runs.mixed <= MOST_MIXED && is_address(value)).then_some(Weakness::Address)
}

/// Fewest digits of a number that is looked for: account and card numbers have as many. Shorter ones are ports, dates,
/// times and sizes.
const LONG_NUMBER: usize = 12;

/// Numbers of [`LONG_NUMBER`] digits and more that are limits or sizes of something: `2^40`, `2^53 - 1`, `2^63`.
const LIMITS: [u64; 5] = [1 << 40, (1 << 53) - 1, 1 << 53, (1 << 63) - 1, u64::MAX];

fn is_digits(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    if text.bytes().all(|b| b.is_ascii_digit()) {
        let limit = text.parse().is_ok_and(|n: u64| LIMITS.contains(&n));
        return text.len() < LONG_NUMBER || limit || text.ends_with("000000");
    }
    let number = text.bytes().any(|b| b.is_ascii_digit()) && text.parse::<f64>().is_ok();
    number || text.bytes().all(|b| b.is_ascii_digit() || b" .,:;/_-+".contains(&b))
}

/// Longest run of letters taken for a word. Random letters are not told from words; what is longer is no word.
const LONGEST_WORD: usize = 14;
/// Most letters and digits of an ordinary run with both.
const LONGEST_MIXED: usize = 12;
/// Most digits of a short number: a port, a year.
const LONGEST_NUMBER: usize = 5;
/// Most runs with letters and digits in an address: groups of a licence key have both.
const MOST_MIXED: usize = 1;

/// How many runs of each kind a value has.
#[derive(Default)]
struct Runs {
    words: usize,
    numbers: usize,
    mixed: usize,
    /// One of them has three letters or more one behind the other.
    long: bool,
    /// A mark that stands between words of settings: only those.
    plain_marks: bool,
}

impl Runs {
    /// `None` if one of them is not ordinary, or a byte is beyond ASCII.
    fn of(value: &[u8]) -> Option<Runs> {
        let mut runs = Runs { plain_marks: true, ..Runs::default() };
        for part in value.chunk_by(|a, b| a.is_ascii_alphanumeric() == b.is_ascii_alphanumeric()) {
            if !part[0].is_ascii_alphanumeric() {
                runs.plain_marks &= part.len() == 1 && b"-_. ".contains(&part[0]);
                if !part.iter().all(|b| b.is_ascii_graphic() || *b == b' ') {
                    return None;
                }
                continue;
            }
            let letters = part.iter().filter(|b| b.is_ascii_alphabetic()).count();
            runs.long |= letters >= 3;
            match part.len() - letters {
                0 => runs.words += words(part)?,
                digits if digits == part.len() => {
                    (digits <= LONGEST_NUMBER).then_some(())?;
                    runs.numbers += 1;
                }
                digits => {
                    // All digits in front, or all behind: a word with a number.
                    let behind = part[..letters].iter().all(u8::is_ascii_alphabetic);
                    let front = part[..digits].iter().all(u8::is_ascii_digit) && letters <= 6;
                    let word = if behind { &part[..letters] } else { &part[digits..] };
                    let short = digits <= 4 && part.len() <= LONGEST_MIXED && (behind || front);
                    (short && words(word)? == 1).then_some(())?;
                    runs.mixed += 1;
                }
            }
        }
        Some(runs)
    }

    /// `production`, `my-service`, `eu-west-1`, `changeme123`, `v1.2.3-rc1`.
    fn is_setting(&self) -> bool {
        let few =
            self.long && self.words <= 2 && self.mixed <= MOST_MIXED && self.words + self.mixed + self.numbers <= 3;
        let version = self.words + self.mixed <= 2 && self.numbers >= 2;
        self.plain_marks && (few || version)
    }
}

/// How many words a run of letters is: each a capital or more, or small letters, or both in this order. `None` if it is
/// none: letters of random case.
fn words(run: &[u8]) -> Option<usize> {
    if run.len() <= LONGEST_WORD && run.iter().all(u8::is_ascii_uppercase) {
        return Some(1);
    }
    let humps: Vec<&[u8]> = run.chunk_by(|a, b| !(a.is_ascii_lowercase() && b.is_ascii_uppercase())).collect();
    let hump = |h: &[u8]| {
        let capital = usize::from(h[0].is_ascii_uppercase());
        // One letter between two capitals is no word.
        let long = h.len() >= 2 || humps.len() == 1;
        long && h.len() <= LONGEST_WORD && h[capital..].iter().all(u8::is_ascii_lowercase)
    };
    humps.iter().all(|h| hump(h)).then_some(humps.len())
}

/// Whether the marks of a value, all of whose runs are ordinary, make a URL without credentials, a host, a path or an
/// e-mail address.
fn is_address(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    // A password stands in front of `@`, a secret behind `?` and `#`.
    if text.contains(['?', '#', ' ', '"', '\'', '$', '%', '&', '!', '*']) {
        return false;
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        return scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) && !rest.contains('@');
    }
    if let Some((user, host)) = text.split_once('@') {
        return !user.is_empty()
            && user.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.+".contains(&b))
            && is_host(host);
    }
    let path = ["/", "./", "../", "~/"].iter().any(|p| text.starts_with(p));
    path || is_host(text) || text.contains('/') && text.split('/').next().is_some_and(is_host)
}

/// Names with dots whose last one is a usual ending, or any name with a port.
fn is_host(text: &str) -> bool {
    let (name, port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let port = port.map(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
    let labels: Vec<&str> = name.split('.').collect();
    let label = |l: &&str| !l.is_empty() && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let ending = labels.len() > 1 && labels.last().is_some_and(|l| l.len() == 2 || ENDINGS.contains(l));
    labels.iter().all(label) && port.unwrap_or(ending)
}

/// Endings of host names of more than two letters that stand in settings.
const ENDINGS: [&str; 16] = [
    "com",
    "net",
    "org",
    "edu",
    "gov",
    "dev",
    "app",
    "cloud",
    "info",
    "local",
    "localhost",
    "internal",
    "lan",
    "test",
    "example",
    "svc",
];

/// Settings that stand in many environment files and have a shape of their own.
const USUAL: [&str; 8] = [
    "en_US.UTF-8",
    "en_GB.UTF-8",
    "C.UTF-8",
    "0.0.0.0/0",
    "application/json",
    "text/plain",
    "localhost.localdomain",
    "xterm-256color",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_settings_are_weak() {
        use Weakness::*;
        for (expected, values) in [
            (Short, "true abc 8080"),
            (Word, "localhost production Production PRODUCTION my-service en_us.utf-8 application/json changeme123"),
            (
                Word,
                "eu-west-1 us-east-1a ap-southeast-2 europe-west4 Welcome2024 postgres15 node-18-alpine release-2.14.3",
            ),
            (Word, "v1.2.3-rc1 18.04-alpine myService MyService my_service_2 v2026.11.03"),
            (
                Digits,
                "127.0.0.1:8080 2026-01-31 20260131 -------- 1073741824 9007199254740991 1000000000000 3.1415926 1.50e+300",
            ),
            (Few, "xxxxxxxxxxxx abababab"),
            (Address, "http://localhost:8080 https://api.example.com/v1/users redis:6379 redis://cache:6379/0"),
            (Address, "db.internal.example:5432 db.internal.example /var/lib/app/data ./target/debug ~/.config/app"),
            (
                Address,
                concat!("someone", "@mail.example /usr/local/bin:/usr/bin:/bin registry.example/team/app:latest"),
            ),
        ] {
            for value in values.split(' ') {
                assert_eq!(weakness(value.as_bytes(), 8), Some(expected), "{value}");
            }
        }
    }

    #[test]
    fn secrets_are_not_weak() {
        let url = |user: &str| format!("postgres://{user}@db.example:5432/app");
        let mut values =
            vec![url("app:secret"), url("token"), "1234567890123456".to_owned(), "correct horse battery".to_owned()];
        values.extend(
            "read-only-not correct-horse-battery-staple qmzpwtxkvbnrhjdlcgsf tr0ub4dor p@ss:w0rd%2F99xyz AB12-CD34-EF56-GH78 \
             kZ81-lmQ0-qpX7 aBcDeFgHiJ https://hooks.example/services/T0A1/B2C3/xyZ81kQm https://example.com/x?sig=abcdef \
             /Zk81lmQ0+qpX7ffT2 0123456789ab0123456789ab hunter2!hunter3 Tq9wZr4kPm2x a1b2c3d4e5 Sommer!2024#x x9-Lq-77-Zz \
             admin:letmein"
                .split_whitespace()
                .map(str::to_owned),
        );
        for value in values {
            assert_eq!(weakness(value.as_bytes(), 8), None, "{value}");
        }
        assert_eq!(weakness("пароль-на-двери".as_bytes(), 8), None);
        assert_eq!(weakness(b"abc!1", 4), None);
        assert_eq!(weakness(b"x9-Lq", 4), None);
    }
}
