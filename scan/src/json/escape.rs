//! One escape of a string, a byte at a time. Two of them are one character where they are the halves of a surrogate pair.

/// What was read behind a backslash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Escape {
    /// Offset of its backslash.
    start: u64,
    /// The first half of a pair, which stands right before it.
    half: Option<Half>,
    /// How many digits of `\u` were read, and their value; `None` before the `u`.
    digits: Option<(u8, u16)>,
}

/// The first half of a surrogate pair: what follows decides what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Half {
    /// Offset of its backslash.
    pub(super) start: u64,
    unit: u16,
}

/// What one more byte makes of an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// More is to come.
    Open(Escape),
    /// It is no escape.
    Broken,
    /// It is whole. `alone`: the first half before it was half of nothing.
    Whole { alone: Option<Half>, is: Is },
}

/// What an escape is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    /// A character, whose escapes begin at `start`.
    One {
        start: u64,
        character: char,
    },
    Half(Half),
}

impl Half {
    /// Its length: a backslash, `u`, four digits.
    pub(super) const LEN: u64 = 6;
}

impl Escape {
    /// Behind a backslash at `start`, which stands right behind `half`.
    pub(super) fn new(start: u64, half: Option<Half>) -> Escape {
        Escape { start, half, digits: None }
    }

    pub(super) fn next(self, byte: u8) -> Step {
        let Some((count, unit)) = self.digits else {
            return match (byte, simple(byte)) {
                (b'u', _) => Step::Open(Escape { digits: Some((0, 0)), ..self }),
                (_, Some(means)) => self.alone(char::from(means)),
                (_, None) => Step::Broken,
            };
        };
        let Some(digit) = char::from(byte).to_digit(16) else { return Step::Broken };
        match (count + 1, unit << 4 | digit as u16) {
            (4, unit) => self.unit(unit),
            (count, unit) => Step::Open(Escape { digits: Some((count, unit)), ..self }),
        }
    }

    /// A unit of UTF-16 is whole.
    fn unit(self, unit: u16) -> Step {
        match (self.half, unit) {
            (alone, 0xd800..=0xdbff) => Step::Whole { alone, is: Is::Half(Half { start: self.start, unit }) },
            (Some(half), 0xdc00..=0xdfff) => match char::decode_utf16([half.unit, unit]).next() {
                Some(Ok(character)) => Step::Whole { alone: None, is: Is::One { start: half.start, character } },
                _ => Step::Broken,
            },
            _ => self.alone(char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }

    /// It means this character by itself.
    fn alone(self, character: char) -> Step {
        Step::Whole { alone: self.half, is: Is::One { start: self.start, character } }
    }
}

/// What the character of an escape without digits stands for.
pub(crate) fn simple(c: u8) -> Option<u8> {
    Some(match c {
        b'"' | b'\\' | b'/' => c,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    })
}
