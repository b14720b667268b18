//! JSON, byte by byte: what is open, and whether the text so far is JSON at all.
//!
//! An input that is not JSON from its first byte on is not judged as JSON, since a repaired reading would hide exactly
//! the cut that is looked for. Lexical and grammatical rules are those of RFC 8259; surrogates in `\u` escapes and the
//! encoding of strings are not looked at. Several values, one a line (JSON Lines), are accepted in that mode.
//!
//! Memory is one word a nesting level, at most [`MAX_DEPTH`]; deeper levels are counted, and their kinds not checked.

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
    Str { key: bool },
    Escape { key: bool },
    Hex { key: bool, left: u8 },
    Number(Number),
    Literal { text: &'static [u8], seen: u8 },
    Done,
    Dead,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Int,
    Dot,
    Frac,
    Exp,
    ExpSign,
    ExpDigits,
}

impl Number {
    fn whole(self) -> bool {
        matches!(self, Number::Zero | Number::Int | Number::Frac | Number::ExpDigits)
    }

    fn next(self, b: u8) -> Option<Number> {
        use Number::*;
        Some(match (self, b) {
            (Minus, b'0') => Zero,
            (Minus, b'1'..=b'9') | (Int, b'0'..=b'9') => Int,
            (Zero | Int, b'.') => Dot,
            (Dot | Frac, b'0'..=b'9') => Frac,
            (Zero | Int | Frac, b'e' | b'E') => Exp,
            (Exp, b'+' | b'-') => ExpSign,
            (Exp | ExpSign | ExpDigits, b'0'..=b'9') => ExpDigits,
            _ => return None,
        })
    }
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

/// Bytes that end a run inside a string: the quote, the backslash and control characters.
static STRING_STOP: [bool; 256] = {
    let mut t = [false; 256];
    let mut i = 0;
    while i < 0x20 {
        t[i] = true;
        i += 1;
    }
    t[b'"' as usize] = true;
    t[b'\\' as usize] = true;
    t
};

impl Json {
    pub(super) fn new(lines: bool) -> Json {
        Json { expect: Expect::Value, stack: Vec::new(), deeper: 0, token_at: 0, lines, values: 0 }
    }

    /// Takes the bytes at offset `at`. Returns at the first byte that is not JSON.
    pub(super) fn feed(&mut self, at: u64, bytes: &[u8]) {
        let mut i = 0;
        while i < bytes.len() {
            if self.expect == Expect::Dead {
                return;
            }
            if let Expect::Str { .. } = self.expect {
                i += bytes[i..].iter().position(|b| STRING_STOP[usize::from(*b)]).unwrap_or(bytes.len() - i);
                if i == bytes.len() {
                    return;
                }
            }
            self.step(at + u64::try_from(i).unwrap_or(u64::MAX), bytes[i]);
            i += 1;
        }
    }

    pub(super) fn dead(&self) -> bool {
        self.expect == Expect::Dead
    }

    /// Whether at least one whole value was read and nothing is open.
    pub(super) fn state(&self) -> JsonState {
        match self.expect {
            Expect::Dead => JsonState::Invalid,
            Expect::Done => JsonState::Complete,
            Expect::Number(n) if n.whole() && self.stack.is_empty() => JsonState::Complete,
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
            Expect::Number(n) if !n.whole() => out.push(("open-json-number", self.token_at)),
            _ => {}
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.stack.capacity() * size_of::<u64>()
    }

    fn step(&mut self, at: u64, b: u8) {
        use Expect::*;
        let blank = matches!(b, b' ' | b'\t' | b'\n' | b'\r');
        self.expect = match (self.expect, b) {
            (Str { key }, b'"') => {
                if key {
                    Colon
                } else {
                    self.after_value()
                }
            }
            (Str { key }, b'\\') => Escape { key },
            (Str { .. }, 0..0x20) => Dead,
            (s @ Str { .. }, _) => s,
            (Escape { key }, b'u') => Hex { key, left: 4 },
            (Escape { key }, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Str { key },
            (Hex { key, left: 1 }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => Str { key },
            (Hex { key, left }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => Hex { key, left: left - 1 },
            (Literal { text, seen }, _) if text.get(usize::from(seen)) == Some(&b) => {
                if usize::from(seen) + 1 == text.len() { self.after_value() } else { Literal { text, seen: seen + 1 } }
            }
            (Number(n), _) => match n.next(b) {
                Some(n) => Number(n),
                None if n.whole() => {
                    self.expect = self.after_value();
                    return self.step(at, b);
                }
                None => Dead,
            },
            (Value | ValueOrEnd | KeyOrEnd | Key | Colon | CommaOrEnd | Done, _) if blank => self.expect,
            (Done, _) if self.lines => {
                self.expect = Value;
                return self.step(at, b);
            }
            (ValueOrEnd, b']') | (KeyOrEnd, b'}') | (CommaOrEnd, b']' | b'}') => self.close(b),
            (Value | ValueOrEnd, b'{') => {
                self.push(at | OBJECT);
                KeyOrEnd
            }
            (Value | ValueOrEnd, b'[') => {
                self.push(at);
                ValueOrEnd
            }
            (Value | ValueOrEnd, _) => self.scalar(at, b),
            (KeyOrEnd | Key, b'"') => {
                self.token_at = at;
                Str { key: true }
            }
            (Colon, b':') => Value,
            (CommaOrEnd, b',') => {
                if self.in_object() {
                    Key
                } else {
                    Value
                }
            }
            _ => Dead,
        };
    }

    fn scalar(&mut self, at: u64, b: u8) -> Expect {
        self.token_at = at;
        match b {
            b'"' => Expect::Str { key: false },
            b'-' => Expect::Number(Number::Minus),
            b'0' => Expect::Number(Number::Zero),
            b'1'..=b'9' => Expect::Number(Number::Int),
            b't' => Expect::Literal { text: b"true", seen: 1 },
            b'f' => Expect::Literal { text: b"false", seen: 1 },
            b'n' => Expect::Literal { text: b"null", seen: 1 },
            _ => Expect::Dead,
        }
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
