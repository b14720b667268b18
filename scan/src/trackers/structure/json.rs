//! JSON, byte by byte: what is open, and whether the text so far is JSON at all.
//!
//! An input that is not JSON from its first byte on is not judged as JSON, since a repaired reading would hide exactly
//! the cut that is looked for. Lexical and grammatical rules are those of RFC 8259; surrogates in `\u` escapes and the
//! encoding of strings are not looked at. Several values, one a line (JSON Lines), are accepted in that mode.
//!
//! Memory is one word a nesting level, at most [`MAX_DEPTH`]; deeper levels are counted, and their kinds not checked.

use crate::json::Number;
use crate::trackers::block::{BLOCK, Block, Lanes, is};

/// Nesting levels whose kind and place are kept. Real documents stay under 100; `[[[[…` is the attack.
pub(super) const MAX_DEPTH: usize = 1024;

/// What a text is, read as one JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonState {
    /// A whole value. (A number at the end may have been longer: nobody can tell.)
    Complete,
    /// The beginning of a value: some continuation makes it whole.
    Incomplete,
    /// Not JSON, whatever follows.
    Invalid,
}

/// Reads `bytes` as one JSON value.
pub fn json_state(bytes: &[u8]) -> JsonState {
    let mut j = Json::new(false);
    j.feed(0, bytes);
    j.state()
}

/// Like [`json_state`], for input in pieces: the answer does not depend on how they are cut.
pub fn json_state_in_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> JsonState {
    let mut j = Json::new(false);
    let mut at = 0u64;
    for p in pieces {
        j.feed(at, p);
        at += u64::try_from(p.len()).unwrap_or(u64::MAX);
    }
    j.state()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    KeyOrEnd,
    Key,
    Colon,
    CommaOrEnd,
    Str {
        key: bool,
    },
    Escape {
        key: bool,
    },
    Hex {
        key: bool,
        left: u8,
    },
    Number(Number),
    /// In one of [`WORDS`], of which so many bytes were seen.
    Literal {
        word: u8,
        seen: u8,
    },
    Done,
    Dead,
}

/// The tracker's state.
#[derive(Debug)]
pub(super) struct Json {
    expect: Expect,
    /// Open containers: place in the low bits, `{` marked in the top one.
    stack: Vec<u64>,
    /// Levels beyond [`MAX_DEPTH`].
    deeper: u64,
    /// Where the current string or word began.
    token_at: u64,
    /// More values may follow.
    lines: bool,
    /// Values seen at the top.
    values: u64,
}

const OBJECT: u64 = 1 << 63;

const WORDS: [&[u8]; 3] = [b"true", b"false", b"null"];

/// Bytes that end a run inside a string: the quote, the backslash and control characters.
#[inline]
fn ends_run(v: Lanes) -> Lanes {
    v.min(Lanes::splat(0x1f)).cmp_eq(v) | is(v, b'"') | is(v, b'\\')
}

impl Json {
    pub(super) fn new(lines: bool) -> Json {
        Json { expect: Expect::Value, stack: Vec::new(), deeper: 0, token_at: 0, lines, values: 0 }
    }

    /// Takes the bytes at offset `at`. Returns at the first byte that is not JSON.
    pub(super) fn feed(&mut self, at: u64, bytes: &[u8]) {
        for (n, part) in bytes.chunks(BLOCK).enumerate() {
            self.feed_block(at + u64::try_from(n * BLOCK).unwrap_or(u64::MAX), part, Block::new(part).mask(ends_run));
        }
    }

    /// Takes up to 64 bytes; a set bit ends a run of characters of a string. Whole tokens where they are whole.
    fn feed_block(&mut self, at: u64, bytes: &[u8], stops: u64) {
        let offset = |n: usize| at + u64::try_from(n).unwrap_or(u64::MAX);
        let mut i = 0;
        while i < bytes.len() {
            let key = match self.expect {
                Expect::Dead => return,
                Expect::Str { key } => {
                    i = self.string(offset(i), bytes, i, stops, key);
                    continue;
                }
                Expect::Number(Number::Whole | Number::Fraction | Number::PowerDigits) => {
                    i += bytes[i..].iter().take_while(|b| b.is_ascii_digit()).count();
                    if bytes.get(i) == Some(&b',') {
                        self.expect = self.after_value();
                        i = self.comma(bytes, i);
                        continue;
                    }
                    if i == bytes.len() {
                        return;
                    }
                    false
                }
                Expect::Literal { word, seen } => {
                    let left = &WORDS[usize::from(word)][usize::from(seen)..];
                    if bytes[i..].starts_with(left) {
                        self.expect = self.after_value();
                        i = self.comma(bytes, i + left.len());
                        continue;
                    }
                    false
                }
                Expect::Key | Expect::KeyOrEnd => true,
                _ => false,
            };
            if bytes[i] == b'"' && matches!(self.expect, Expect::Key | Expect::KeyOrEnd | Expect::Value) {
                self.token_at = offset(i);
                i = self.string(offset(i + 1), bytes, i + 1, stops, key);
            } else {
                self.step(offset(i), bytes[i]);
                i += 1;
            }
        }
    }

    /// Reads a string on from `bytes[i]`, which is at offset `at`, and the colon or comma behind it. Gives back where
    /// it stopped.
    #[inline]
    fn string(&mut self, at: u64, bytes: &[u8], i: usize, stops: u64, key: bool) -> usize {
        let ahead = if i < BLOCK { stops >> i } else { 0 };
        let run = ahead.trailing_zeros() as usize;
        let Some(b) = bytes.get(i + run) else {
            self.expect = Expect::Str { key };
            return bytes.len();
        };
        let behind = i + run + 1;
        if *b != b'"' {
            self.expect = Expect::Str { key };
            self.step(at + u64::try_from(run).unwrap_or(u64::MAX), *b);
            return behind;
        }
        self.expect = self.after_string(key);
        match (key, bytes.get(behind)) {
            (true, Some(b':')) => {
                self.expect = Expect::Value;
                behind + 1
            }
            (true, _) => behind,
            (false, _) => self.comma(bytes, behind),
        }
    }

    /// Reads the comma behind a value, if it is at `bytes[i]`.
    #[inline]
    fn comma(&mut self, bytes: &[u8], i: usize) -> usize {
        if self.expect != Expect::CommaOrEnd || bytes.get(i) != Some(&b',') {
            return i;
        }
        self.expect = if self.in_object() { Expect::Key } else { Expect::Value };
        i + 1
    }

    pub(super) fn dead(&self) -> bool {
        self.expect == Expect::Dead
    }

    /// Whether at least one whole value was read and nothing is open.
    pub(super) fn state(&self) -> JsonState {
        match self.expect {
            Expect::Dead => JsonState::Invalid,
            Expect::Done => JsonState::Complete,
            Expect::Number(n) if n.is_whole() && self.stack.is_empty() => JsonState::Complete,
            Expect::Value if self.values > 0 && self.stack.is_empty() => JsonState::Complete,
            _ => JsonState::Incomplete,
        }
    }

    /// What is open at the end: codes and places, outermost first. At most the outermost and innermost container and
    /// the token.
    pub(super) fn open(&self, out: &mut Vec<(&'static str, u64)>) {
        let container = |e: &u64| {
            let code = if e & OBJECT != 0 { "open-json-object" } else { "open-json-array" };
            (code, e & !OBJECT)
        };
        if let Some(e) = self.stack.first() {
            out.push(container(e));
        }
        if self.stack.len() > 1 {
            out.extend(self.stack.last().map(container));
        }
        match self.expect {
            Expect::Str { .. } => out.push(("open-json-string", self.token_at)),
            Expect::Escape { .. } | Expect::Hex { .. } => out.push(("open-json-escape", self.token_at)),
            Expect::Literal { .. } => out.push(("open-json-word", self.token_at)),
            Expect::Number(n) if !n.is_whole() => out.push(("open-json-number", self.token_at)),
            _ => {}
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.stack.capacity() * size_of::<u64>()
    }

    #[inline]
    fn step(&mut self, at: u64, b: u8) {
        use Expect::*;
        self.expect = match self.expect {
            Str { key } => match b {
                b'"' => self.after_string(key),
                b'\\' => Escape { key },
                0..0x20 => Dead,
                _ => return,
            },
            Escape { key } => match b {
                b'u' => Hex { key, left: 4 },
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Str { key },
                _ => Dead,
            },
            Hex { key, left } => match b {
                b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' if left == 1 => Str { key },
                b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' => Hex { key, left: left - 1 },
                _ => Dead,
            },
            Literal { word, seen } => {
                let (text, n) = (WORDS[usize::from(word)], usize::from(seen));
                match text.get(n) {
                    Some(want) if *want == b && n + 1 == text.len() => self.after_value(),
                    Some(want) if *want == b => Literal { word, seen: seen + 1 },
                    _ => Dead,
                }
            }
            Number(n) => match n.next(b) {
                Some(n) => Number(n),
                None if n.is_whole() => {
                    self.expect = self.after_value();
                    return self.between(at, b);
                }
                None => Dead,
            },
            _ => return self.between(at, b),
        };
    }

    /// A byte outside of strings and words.
    fn between(&mut self, at: u64, b: u8) {
        use Expect::*;
        if matches!(b, b' ' | b'\t' | b'\n' | b'\r') {
            return;
        }
        if self.expect == Done && self.lines {
            self.expect = Value;
        }
        self.expect = match (self.expect, b) {
            (Value | ValueOrEnd, b'{') => {
                self.push(at | OBJECT);
                KeyOrEnd
            }
            (Value | ValueOrEnd, b'[') => {
                self.push(at);
                ValueOrEnd
            }
            (ValueOrEnd, b']') => self.close(b),
            (Value | ValueOrEnd, _) => self.scalar(at, b),
            (KeyOrEnd | Key, b'"') => {
                self.token_at = at;
                Str { key: true }
            }
            (KeyOrEnd, b'}') => self.close(b),
            (Colon, b':') => Value,
            (CommaOrEnd, b',') if self.in_object() => Key,
            (CommaOrEnd, b',') => Value,
            (CommaOrEnd, b']' | b'}') => self.close(b),
            _ => Dead,
        };
    }

    fn scalar(&mut self, at: u64, b: u8) -> Expect {
        self.token_at = at;
        match b {
            b'"' => Expect::Str { key: false },
            b't' => Expect::Literal { word: 0, seen: 1 },
            b'f' => Expect::Literal { word: 1, seen: 1 },
            b'n' => Expect::Literal { word: 2, seen: 1 },
            _ => Number::begin(b).map_or(Expect::Dead, Expect::Number),
        }
    }

    fn after_string(&mut self, key: bool) -> Expect {
        if key { Expect::Colon } else { self.after_value() }
    }

    fn push(&mut self, entry: u64) {
        if self.stack.len() < MAX_DEPTH {
            self.stack.push(entry);
        } else {
            self.deeper += 1;
        }
    }

    /// Whether the innermost container is an object. Beyond the bound the kinds are not known; the one at the bound
    /// stands for them.
    fn in_object(&self) -> bool {
        self.stack.last().is_some_and(|e| e & OBJECT != 0)
    }

    fn close(&mut self, b: u8) -> Expect {
        if self.deeper > 0 {
            self.deeper -= 1;
            return self.after_value();
        }
        match self.stack.pop() {
            Some(e) if (e & OBJECT != 0) == (b == b'}') => self.after_value(),
            _ => Expect::Dead,
        }
    }

    fn after_value(&mut self) -> Expect {
        if self.stack.is_empty() {
            self.values += 1;
            Expect::Done
        } else {
            Expect::CommaOrEnd
        }
    }
}
