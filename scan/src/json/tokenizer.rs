//! The state machine. See the module's text.

use std::ops::Range;

use super::escape::{Escape, Half, Is, Step};
use super::number::Number;
use super::{Broken, Why};

/// Levels of arrays and objects in each other; what `serde_json` takes. The attack: megabytes of `[`, which cost the next
/// parser its stack.
pub const MAX_DEPTH: usize = 128;

/// What stands in a document, but for white space, commas and colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// `{`
    BeginObject,
    /// `}`
    EndObject,
    /// `[`
    BeginArray,
    /// `]`
    EndArray,
    /// The quote before a key.
    BeginKey,
    /// The quote before a string that is a value.
    BeginString,
    /// The quote behind either.
    EndString,
    /// Before the first byte of a number.
    BeginNumber,
    /// Behind its last.
    EndNumber,
    /// `true`, whole.
    True,
    /// `false`, whole.
    False,
    /// `null`, whole.
    Null,
}

/// Takes what a document is made of. Offsets are of the whole document.
pub trait Events {
    /// A token. Its range is empty before and behind numbers.
    fn token(&mut self, token: Token, at: Range<u64>);
    /// Bytes of an open string or number that stand for themselves. A character of UTF-8 may be cut.
    fn plain(&mut self, bytes: &[u8], at: u64);
    /// A character of an open string, escaped.
    fn escaped(&mut self, character: char, at: Range<u64>);
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Value,
    /// Behind `[`.
    ValueOrEnd,
    /// Behind `{`.
    KeyOrEnd,
    /// Behind a comma in an object.
    Key,
    Colon,
    /// Behind a value that stands in another.
    CommaOrEnd,
    /// Behind the document.
    Nothing,
}

/// What is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum In {
    /// Nothing but arrays and objects.
    Between,
    Text(Option<Half>),
    Escape(Escape),
    /// A number, before its first byte or behind some.
    Number(Option<Number>),
    /// A word: what it will be, where it began, its bytes to come.
    Word(Token, u64, &'static [u8]),
}

/// See the module's text. It does not go on behind what is broken.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    /// Offset of the next byte.
    at: u64,
    state: In,
    /// The open string is a key.
    key: bool,
    next: Next,
    /// Of each level whether it is an object, the innermost lowest.
    objects: u128,
    depth: usize,
}

impl Default for Tokenizer {
    fn default() -> Self {
        Tokenizer { at: 0, state: In::Between, key: false, next: Next::Value, objects: 0, depth: 0 }
    }
}

impl Tokenizer {
    /// The next bytes. An error is final, and names the first byte that cannot stand where it stands; what came before it was
    /// told.
    pub fn push(&mut self, bytes: &[u8], events: &mut impl Events) -> Result<(), Broken> {
        let mut rest = bytes;
        while let [first, ..] = rest {
            let taken = match self.state {
                In::Between => self.between(rest, events)?,
                In::Text(half) => self.text(rest, half, events)?,
                In::Escape(escape) => self.escape(*first, escape, events)?,
                In::Number(number) => self.number(rest, number, events)?,
                In::Word(token, start, word) => self.word(*first, token, start, word, events)?,
            };
            rest = rest.get(taken..).unwrap_or(&[]);
        }
        Ok(())
    }

    /// The document ends here.
    pub fn finish(&mut self, events: &mut impl Events) -> Result<(), Broken> {
        if let In::Number(Some(number)) = self.state
            && number.is_whole()
        {
            events.token(Token::EndNumber, self.at..self.at);
            self.value_ends();
        }
        match (self.state, self.next) {
            (In::Between, Next::Nothing) => Ok(()),
            _ => self.broken(Why::Unfinished),
        }
    }

    /// How many arrays and objects are open.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// A value was read whole, and nothing but white space may follow.
    pub fn is_done(&self) -> bool {
        self.state == In::Between && self.next == Next::Nothing
    }

    fn broken<T>(&self, why: Why) -> Result<T, Broken> {
        Err(Broken { at: self.at, why })
    }

    /// Takes a token of one byte.
    fn token(&mut self, token: Token, events: &mut impl Events) {
        events.token(token, self.at..self.at + 1);
        self.at += 1;
    }

    /// Between tokens, as far as the first one.
    fn between(&mut self, rest: &[u8], events: &mut impl Events) -> Result<usize, Broken> {
        let white = rest.iter().take_while(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t')).count();
        self.at += white as u64;
        let Some(byte) = rest.get(white) else { return Ok(white) };
        let in_object = self.depth > 0 && self.objects & 1 == 1;
        match (self.next, byte) {
            (Next::Value | Next::ValueOrEnd, _) if self.value(*byte, events)? => {
                // The first byte of a number is told as one of its bytes.
                return Ok(white + usize::from(!matches!(self.state, In::Number(_))));
            }
            (Next::ValueOrEnd, b']') => self.close(Token::EndArray, events),
            (Next::KeyOrEnd, b'}') => self.close(Token::EndObject, events),
            (Next::CommaOrEnd, b'}') if in_object => self.close(Token::EndObject, events),
            (Next::CommaOrEnd, b']') if !in_object => self.close(Token::EndArray, events),
            (Next::KeyOrEnd | Next::Key, b'"') => {
                self.token(Token::BeginKey, events);
                (self.state, self.key) = (In::Text(None), true);
            }
            (Next::CommaOrEnd, b',') => {
                self.at += 1;
                self.next = if in_object { Next::Key } else { Next::Value };
            }
            (Next::Colon, b':') => {
                self.at += 1;
                self.next = Next::Value;
            }
            _ => return self.broken(Why::Unexpected),
        }
        Ok(white + 1)
    }

    /// Takes the first byte of a value, if it is one.
    fn value(&mut self, byte: u8, events: &mut impl Events) -> Result<bool, Broken> {
        match byte {
            b'{' => self.open(true, events)?,
            b'[' => self.open(false, events)?,
            b'"' => {
                self.token(Token::BeginString, events);
                (self.state, self.key) = (In::Text(None), false);
            }
            b't' => self.begin_word(Token::True, b"rue"),
            b'f' => self.begin_word(Token::False, b"alse"),
            b'n' => self.begin_word(Token::Null, b"ull"),
            _ => {
                if Number::begin(byte).is_none() {
                    return Ok(false);
                }
                events.token(Token::BeginNumber, self.at..self.at);
                self.state = In::Number(None);
            }
        }
        Ok(true)
    }

    fn begin_word(&mut self, token: Token, rest: &'static [u8]) {
        self.state = In::Word(token, self.at, rest);
        self.at += 1;
    }

    fn open(&mut self, object: bool, events: &mut impl Events) -> Result<(), Broken> {
        if self.depth == MAX_DEPTH {
            return self.broken(Why::Depth);
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(object);
        self.next = if object { Next::KeyOrEnd } else { Next::ValueOrEnd };
        self.token(if object { Token::BeginObject } else { Token::BeginArray }, events);
        Ok(())
    }

    fn close(&mut self, token: Token, events: &mut impl Events) {
        self.token(token, events);
        self.depth -= 1;
        self.objects >>= 1;
        self.value_ends();
    }

    fn value_ends(&mut self) {
        self.state = In::Between;
        self.next = if self.depth == 0 { Next::Nothing } else { Next::CommaOrEnd };
    }

    /// In a string, as far as its next quote or backslash.
    fn text(&mut self, rest: &[u8], half: Option<Half>, events: &mut impl Events) -> Result<usize, Broken> {
        let plain = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        let (run, special) = (&rest[..plain], rest.get(plain));
        if let Some(half) = half.filter(|_| plain > 0 || special == Some(&b'"')) {
            events.escaped(char::REPLACEMENT_CHARACTER, half.start..half.start + Half::LEN);
            self.state = In::Text(None);
        }
        let good = controls(run).unwrap_or(plain);
        if good > 0 {
            events.plain(&run[..good], self.at);
            self.at += good as u64;
        }
        if good < plain {
            return self.broken(Why::Control);
        }
        match special {
            None => return Ok(plain),
            Some(b'"') => {
                self.token(Token::EndString, events);
                if self.key {
                    (self.state, self.next) = (In::Between, Next::Colon);
                } else {
                    self.value_ends();
                }
            }
            Some(_) => {
                self.state = In::Escape(Escape::new(self.at, half.filter(|_| plain == 0)));
                self.at += 1;
            }
        }
        Ok(plain + 1)
    }

    fn escape(&mut self, byte: u8, escape: Escape, events: &mut impl Events) -> Result<usize, Broken> {
        match escape.next(byte) {
            Step::Broken => return self.broken(Why::Escape),
            Step::Open(escape) => {
                self.state = In::Escape(escape);
                self.at += 1;
            }
            Step::Whole { alone, is } => {
                self.at += 1;
                if let Some(half) = alone {
                    events.escaped(char::REPLACEMENT_CHARACTER, half.start..half.start + Half::LEN);
                }
                self.state = match is {
                    Is::Half(half) => In::Text(Some(half)),
                    Is::One { start, character } => {
                        events.escaped(character, start..self.at);
                        In::Text(None)
                    }
                };
            }
        }
        Ok(1)
    }

    /// In a number, as far as what does not belong to it.
    fn number(&mut self, rest: &[u8], mut number: Option<Number>, events: &mut impl Events) -> Result<usize, Broken> {
        let mut taken = 0;
        for byte in rest {
            let next = number.map_or_else(|| Number::begin(*byte), |n| n.next(*byte));
            if next.is_none() {
                break;
            }
            (number, taken) = (next, taken + 1);
        }
        self.state = In::Number(number);
        if taken > 0 {
            events.plain(&rest[..taken], self.at);
            self.at += taken as u64;
        }
        if taken < rest.len() {
            if !number.is_some_and(Number::is_whole) {
                return self.broken(Why::Unexpected);
            }
            events.token(Token::EndNumber, self.at..self.at);
            self.value_ends();
        }
        Ok(taken)
    }

    fn word(
        &mut self,
        byte: u8,
        token: Token,
        start: u64,
        word: &'static [u8],
        events: &mut impl Events,
    ) -> Result<usize, Broken> {
        let Some((_, rest)) = word.split_first().filter(|(expected, _)| **expected == byte) else {
            return self.broken(Why::Unexpected);
        };
        self.at += 1;
        self.state = In::Word(token, start, rest);
        if rest.is_empty() {
            events.token(token, start..self.at);
            self.value_ends();
        }
        Ok(1)
    }
}

/// Where the first control character stands.
fn controls(text: &[u8]) -> Option<usize> {
    // Without an early exit this is a few instructions for thirty-two bytes.
    let any = text.iter().fold(false, |any, b| any | (*b < 0x20));
    if any { text.iter().position(|b| *b < 0x20) } else { None }
}
