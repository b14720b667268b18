//! Environment files: lines `KEY=value`.
//!
//! There is no standard. systemd, Docker, shells and the dotenv libraries differ about quotes, escapes, comments behind
//! a value and values of several lines, and a secret is what the program that uses it makes of it. So a value has all
//! the readings that one of them gives it. This is *not* a shell: nothing is expanded.
//!
//! Errors have the line's number and nothing of the line.

use super::{Entry, OR_FORMAT};

/// Parses a file; an error is `line: what; mend`.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut out = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let end = at + bytes[at..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - at);
        let text = bytes[at..end].trim_ascii();
        let mut next = end + 1;
        if !text.is_empty() && !text.starts_with(b"#") && !text.starts_with(b";") {
            let (key, from) = key(&bytes[at..end]).ok_or_else(|| {
                format!("{line}: the line is no KEY=value; mend it, make it a comment with #{OR_FORMAT}")
            })?;
            let (readings, used) = values(&bytes[at + from..])
                .ok_or_else(|| format!("{line}: the quote behind {key}= is never closed; close it"))?;
            out.push(Entry { key, line, readings });
            next = at + from + used;
        }
        line += bytes[at..next.min(bytes.len())].iter().filter(|b| **b == b'\n').count();
        at = next;
    }
    Ok(out)
}

/// The key of a line, and where its value begins.
fn key(line: &[u8]) -> Option<(String, usize)> {
    let equals = line.iter().position(|b| *b == b'=')?;
    let name = line[..equals].trim_ascii();
    let name = name.strip_prefix(b"export ").unwrap_or(name).trim_ascii();
    let fits = |b: &u8| b.is_ascii_alphanumeric() || b"_.-".contains(b);
    if name.is_empty() || name.len() > 64 || name[0].is_ascii_digit() || !name.iter().all(fits) {
        return None;
    }
    Some((String::from_utf8_lossy(name).into_owned(), equals + 1))
}

/// The readings of the value at the beginning of `text`, and how many bytes it takes with its line's end. `None` if a
/// quote is never closed.
fn values(text: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let blank = text.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let line_end = |from: usize| from + text[from..].iter().position(|b| *b == b'\n').unwrap_or(text.len() - from);
    let rest = &text[blank..];
    let quote = rest.first().copied().filter(|q| matches!(q, b'"' | b'\''));
    let Some(quote) = quote else {
        if blank > 0 && rest.starts_with(b"#") {
            return Some((Vec::new(), line_end(blank) + 1));
        }
        let mut end = line_end(blank);
        // A backslash at the end of a line goes on in the next one, for systemd and shells.
        while end < text.len() && text[..end].trim_ascii_end().ends_with(b"\\") {
            end = line_end(end + 1);
        }
        return Some((bare(text[blank..end].trim_ascii()), end + 1));
    };
    let mut close = 1;
    while *rest.get(close)? != quote {
        close += 1 + usize::from(quote == b'"' && rest[close] == b'\\');
    }
    let inside = &rest[1..close];
    let end = line_end(blank + close);
    let behind = text[blank + close + 1..end.max(blank + close + 1)].trim_ascii();
    let mut readings = vec![inside.to_vec()];
    if quote == b'"' && inside.contains(&b'\\') {
        readings.insert(0, unescaped(inside));
        readings.push(shell_unescaped(inside));
    }
    if !behind.is_empty() && !behind.starts_with(b"#") {
        // The quotes are part of it, or pieces of it are quoted.
        let all = text[blank..end].trim_ascii();
        readings.push(all.to_vec());
        readings.push(all.iter().copied().filter(|b| *b != quote).collect());
    }
    Some((readings, end + 1))
}

/// The readings of a value without quotes.
fn bare(text: &[u8]) -> Vec<Vec<u8>> {
    let mut out = vec![text.to_vec()];
    if let Some(at) = text.windows(2).position(|w| matches!(w[0], b' ' | b'\t') && w[1] == b'#') {
        out.insert(0, text[..at].trim_ascii().to_vec());
    }
    if text.contains(&b'\\') {
        out.push(shell_unescaped(text));
        out.push(unescaped(text));
    }
    out
}

/// Escapes as the dotenv libraries read them.
fn unescaped(text: &[u8]) -> Vec<u8> {
    escapes(text, |b, out| match b {
        b'n' => out.push(b'\n'),
        b'r' => out.push(b'\r'),
        b't' => out.push(b'\t'),
        b => out.push(b),
    })
}

/// Escapes as a shell reads them between double quotes, and systemd.
fn shell_unescaped(text: &[u8]) -> Vec<u8> {
    escapes(text, |b, out| match b {
        b'\n' => {}
        b'"' | b'\\' | b'$' | b'`' => out.push(b),
        b => out.extend([b'\\', b]),
    })
}

fn escapes(text: &[u8], escape: impl Fn(u8, &mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied();
    while let Some(b) = bytes.next() {
        match (b, if b == b'\\' { bytes.next() } else { None }) {
            (b'\\', Some(next)) => escape(next, &mut out),
            (b, _) => out.push(b),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(text: &str) -> Vec<String> {
        let entries = parse(text.as_bytes()).unwrap();
        entries[0].readings.iter().map(|r| String::from_utf8_lossy(r).into_owned()).collect()
    }

    #[test]
    fn a_value_has_the_readings_that_programs_give_it() {
        // Each with the program that reads it so.
        for (text, reading) in [
            ("K=abc def", "abc def"),            // docker, systemd
            ("K=abc # note", "abc"),             // dotenv
            ("K=abc # note", "abc # note"),      // docker
            ("K=abc#def", "abc#def"),            // all
            ("export K = 'a\"b\\n'", "a\"b\\n"), // shell
            ("K=\"a\\nb\"", "a\nb"),             // dotenv
            ("K=\"a\\nb\"", "a\\nb"),            // shell
            ("K=\"a\\\"b\" # c", "a\"b"),        // all
            ("K=\"one\ntwo\"\nL=x", "one\ntwo"),
            ("K='one\ntwo'", "one\ntwo"),
            ("K=a\\\nb", "ab"),         // systemd
            ("K=\"ab\"cd", "abcd"),     // shell
            ("K=\"ab\"cd", "\"ab\"cd"), // docker
            ("K=", ""),
            ("K=abc\r\n", "abc"),
            ("\u{feff}K=abc", "abc"),
        ] {
            assert!(readings(text).iter().any(|r| r == reading), "{text:?} is not {reading:?}: {:?}", readings(text));
        }
    }

    #[test]
    fn lines_are_counted_over_quotes_and_errors_show_nothing_of_them() {
        let text = "# c\n\nA=1\nB=\"x\ny\"\n; c\nC=2\n";
        let lines: Vec<(String, usize)> =
            parse(text.as_bytes()).unwrap().into_iter().map(|e| (e.key, e.line)).collect();
        assert_eq!(lines, [("A".to_owned(), 3), ("B".to_owned(), 4), ("C".to_owned(), 7)]);
        for (text, line) in
            [("A=1\nhunter\n", "2:"), ("A=1\n\nB=\"hunter\n", "3:"), ("9A=hunter", "1:"), ("=hunter", "1:")]
        {
            let error = parse(text.as_bytes()).map(|_| ()).unwrap_err();
            assert!(error.starts_with(line) && !error.contains("hunter"), "{error}");
        }
    }
}
