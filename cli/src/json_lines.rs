//! Lines of JSON, one at a time, from somebody who may send anything.
//!
//! This is the reading and the wording of complaints; what a line must hold is the business of the command that asked.
//! It is *not* a JSON parser: `serde_json` is.
//!
//! Invariants: no more than one line is in memory, and none beyond its bound; after a line that was too long reading goes
//! on behind its end. A byte order mark in front of a line is no part of it (editors on Windows write one, and files
//! with one are put together with `cat`). The attacker is whoever wrote the lines: he wants memory (no line end), or his
//! bytes in a message, so messages name the place and never show the line.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde_json::error::Category;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Bytes asked of the system at once.
const BLOCK: usize = 256 << 10;

/// Reads lines.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    number: u64,
    most: usize,
}

/// What came next.
#[derive(Debug)]
pub(crate) enum Next<'a> {
    /// A line that is not blank: its number from 1, and its bytes.
    Line(u64, &'a [u8]),
    /// A line longer than the bound; it was skipped.
    TooLong(u64),
    /// There are no more.
    End,
}

impl<R: Read> Lines<R> {
    /// `most`: longest line that is taken, in bytes.
    pub(crate) fn new(input: R, most: usize) -> Self {
        Lines { input: BufReader::with_capacity(BLOCK, input), line: Vec::new(), number: 0, most }
    }

    /// Whether the next line is not here yet: whoever waits for an answer must get it now.
    pub(crate) fn must_wait(&self) -> bool {
        memchr::memchr(b'\n', self.input.buffer()).is_none()
    }

    /// The next line that is not blank.
    pub(crate) fn next(&mut self) -> io::Result<Next<'_>> {
        loop {
            self.number += 1;
            self.line.clear();
            let n = (&mut self.input).take(self.most as u64 + 1).read_until(b'\n', &mut self.line)?;
            if n == 0 {
                return Ok(Next::End);
            }
            if n > self.most && self.line.last() != Some(&b'\n') {
                // What was kept of it is of no use; the next line may be short.
                self.line = Vec::new();
                self.skip()?;
                return Ok(Next::TooLong(self.number));
            }
            if !bare(&self.line).iter().all(u8::is_ascii_whitespace) {
                break;
            }
        }
        Ok(Next::Line(self.number, bare(&self.line)))
    }

    /// Reads to behind the next line end.
    fn skip(&mut self) -> io::Result<()> {
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(b) => b,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            let (n, done) = match memchr::memchr(b'\n', buffer) {
                Some(i) => (i + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.input.consume(n);
            if done {
                return Ok(());
            }
        }
    }
}

fn bare(line: &[u8]) -> &[u8] {
    line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
}

/// The object that a line holds. An error names the place and the mend; `shape` is what a line must look like.
pub(crate) fn object<'a, T: Deserialize<'a>>(line: &'a [u8], shape: &str) -> Result<T, String> {
    let line = line.trim_ascii_end();
    let blank = line.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let first = line.get(blank);
    // Not left to serde, which takes an array for a struct.
    if first != Some(&b'{') {
        let mend = match first {
            Some(0xfe | 0xff | 0) => "this looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8".to_owned(),
            Some(b'[') => "this is an array; write its items one a line: jq -c '.[]'".to_owned(),
            _ => format!("a line must be {shape}"),
        };
        return Err(format!("column {}: no JSON object begins here; {mend}", blank + 1));
    }
    serde_json::from_slice(line).map_err(|e| {
        // serde_json counts lines within the slice; only the column means something here.
        let text = e.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        format!("column {}: {what}; {}", e.column(), mend(line, e.classify(), shape))
    })
}

fn mend(line: &[u8], what: Category, shape: &str) -> String {
    match what {
        _ if std::str::from_utf8(line).is_err() => {
            "the line is not UTF-8; convert it, for example from Latin-1: iconv -f LATIN1 -t UTF-8".to_owned()
        }
        Category::Eof => "the object goes on behind the line, or was cut; write each on one line: jq -c .".to_owned(),
        Category::Syntax => format!("a line must be one JSON object with nothing behind it: {shape}"),
        Category::Data | Category::Io => format!("a line must be {shape}"),
    }
}

/// A JSON string as bytes. A lone surrogate (`"\ud83d"`), which JSON allows and UTF-8 does not, is the three bytes of its
/// generalised UTF-8 form.
#[derive(Debug)]
pub(crate) struct Text(pub(crate) Vec<u8>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text(bytes.to_vec()))
            }

            fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Text, E> {
                Ok(Text(bytes))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.as_bytes().to_vec()))
            }
        }
        d.deserialize_byte_buf(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8], most: usize) -> Vec<String> {
        let mut lines = Lines::new(input, most);
        let mut out = Vec::new();
        loop {
            match lines.next().expect("a slice can be read") {
                Next::Line(n, l) => out.push(format!("{n}:{}", String::from_utf8_lossy(l).trim_end())),
                Next::TooLong(n) => out.push(format!("{n}!")),
                Next::End => return out,
            }
        }
    }

    #[test]
    fn long_lines_are_skipped_and_counted() {
        assert_eq!(read(b"abcd\nabcde\n\nx\nlonglonglong", 4), ["1:abcd", "2!", "4:x", "5!"]);
        assert_eq!(read(b"", 4), [""; 0]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_line() {
        assert_eq!(read(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n\xef\xbb\xbf\n", 9), ["1:a", "2:b"]);
    }
}
