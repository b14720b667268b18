//! JSON files of secrets: every string and every number in an object is a value, and its path is its key.
//!
//! A number is taken as the file spells it: an account number is a secret too, and a parser that makes a float of it
//! would lose its digits. A key that comes twice has both values: which one counts depends on who reads the file. `true`,
//! `false` and `null` are passed over without a word: none of them can be a secret.
//!
//! This is *not* a second JSON parser: the text is read by the library, level by level. The attacker is a file that is
//! nested without end ([`MOST_DEEP`]).
//!
//! Errors have the line's number and nothing of the line.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Entry, OR_FORMAT};

/// Deepest nesting. Each level is read once for each above it: a file of 1 MiB is read 64 times at most.
const MOST_DEEP: usize = 64;

/// Parses a file; an error is `line: what; mend`.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // The library's own message may quote the text.
    let all: &RawValue = serde_json::from_slice(bytes)
        .map_err(|e| format!("{}: it is no JSON from column {} on; mend it there{OR_FORMAT}", e.line(), e.column()))?;
    if !all.get().starts_with('{') {
        return Err("1: the JSON is no object; write {\"key\": \"value\"}".to_owned());
    }
    let mut out = Reader { bytes, at: 0, line: 1, out: Vec::new() };
    out.collect(String::new(), all, 0)?;
    Ok(out.out)
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// Where the last value began, and on which line: values come in the order of the file.
    at: usize,
    line: usize,
    out: Vec<Entry>,
}

impl<'a> Reader<'a> {
    fn collect(&mut self, path: String, value: &'a RawValue, deep: usize) -> Result<(), String> {
        let text = value.get();
        let line = self.line_of(text);
        // Each part was read before, as a part of the whole.
        let odd = |_| format!("{line}: the JSON cannot be read; mend it there{OR_FORMAT}");
        let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match text.as_bytes().first() {
            Some(b'{' | b'[') if deep >= MOST_DEEP => {
                return Err(format!("{line}: the JSON is nested more than {MOST_DEEP} deep; write it flatter"));
            }
            Some(b'{') => {
                for (key, value) in serde_json::from_str::<Members<'a>>(text).map_err(odd)?.0 {
                    self.collect(below(&key), value, deep + 1)?;
                }
            }
            Some(b'[') => {
                for (i, value) in serde_json::from_str::<Vec<&'a RawValue>>(text).map_err(odd)?.into_iter().enumerate()
                {
                    self.collect(below(&i.to_string()), value, deep + 1)?;
                }
            }
            Some(b'"') => {
                let value = serde_json::from_str::<String>(text).map_err(odd)?;
                self.out.push(Entry { key: path, line, readings: vec![value.into_bytes()] });
            }
            Some(b'-' | b'0'..=b'9') => {
                self.out.push(Entry { key: path, line, readings: vec![text.as_bytes().to_vec()] });
            }
            _ => {}
        }
        Ok(())
    }

    /// The line on which a part of the text begins.
    fn line_of(&mut self, part: &str) -> usize {
        let at = (part.as_ptr() as usize).saturating_sub(self.bytes.as_ptr() as usize);
        let passed = self.bytes.get(self.at..at).unwrap_or_default();
        self.line += passed.iter().filter(|b| **b == b'\n').count();
        self.at = self.at.max(at);
        self.line
    }
}

/// The members of an object, as they come, each as often as it comes.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut out = Vec::new();
                while let Some(member) = map.next_entry()? {
                    out.push(member);
                }
                Ok(Members(out))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(String, usize, String)> {
        let entries = parse(text.as_bytes()).unwrap().into_iter();
        entries.map(|e| (e.key, e.line, String::from_utf8(e.readings[0].clone()).unwrap())).collect()
    }

    #[test]
    fn numbers_by_their_spelling_and_keys_that_come_twice() {
        let text = "{\"a\": 1234567890123456789012,\n \"b\": [true, null, {\"c\": -1.50e3}],\n\n \"a\": \"x\\ny\", \"e\": \"\"}";
        let want = [("a", 1, "1234567890123456789012"), ("b.2.c", 2, "-1.50e3"), ("a", 4, "x\ny"), ("e", 4, "")];
        assert_eq!(all(text), want.map(|(k, l, v)| (k.to_owned(), l, v.to_owned())));
    }

    #[test]
    fn nesting_without_end_is_an_error_with_a_mend() {
        let deep = |n: usize| format!("{{\"a\":{}1{}}}", "[".repeat(n), "]".repeat(n));
        assert_eq!(parse(deep(MOST_DEEP - 1).as_bytes()).unwrap().len(), 1);
        for n in [MOST_DEEP, 400_000] {
            let error = parse(deep(n).as_bytes()).map(|_| ()).unwrap_err();
            assert!(error.contains("write it flatter"), "{error}");
        }
    }
}
