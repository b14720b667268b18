//! One layer of JSON string escapes, taken off a stream byte by byte.
//!
//! A layer takes pieces (bytes as they are, or characters that a layer before it decoded) and gives pieces on, each with
//! the offset at which its first raw byte stands. What no writer of JSON makes (`\q`, `\u12` cut short, half of a
//! surrogate pair) is a *break*: nothing goes on behind it, and the byte that broke it is read as if nothing had been
//! before. Layers in a row read a string inside a string inside a string.
//!
//! The other half of the work is the least hold: a layer in the middle of an escape says which characters may still come
//! of it ([`Layer::outcomes`]), so that a stream holds `…\u00` only if some value goes on with one of them.
//!
//! This is *not* a JSON parser: it knows no quotes, and reads any text as if it were inside a string. Memory is a few
//! words a layer, whatever the text is.

use crate::json;

/// A byte as it is, or a decoded character.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    bytes: [u8; 4],
    len: u8,
    /// It was spelled by an escape.
    pub(super) escaped: bool,
    /// Offset of its first raw byte.
    pub(super) start: u64,
}

impl Piece {
    pub(super) fn byte(byte: u8, start: u64) -> Piece {
        Piece { bytes: [byte, 0, 0, 0], len: 1, escaped: false, start }
    }

    /// Nothing goes on behind it.
    const BREAK: Piece = Piece { bytes: [0; 4], len: 0, escaped: true, start: 0 };

    fn escaped(code: u32, start: u64) -> Piece {
        let mut bytes = [0; 4];
        let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        let len = c.encode_utf8(&mut bytes).len() as u8;
        Piece { bytes, len, escaped: true, start }
    }

    /// A byte that an escape stands for.
    pub(super) fn escaped_byte(byte: u8, start: u64) -> Piece {
        Piece { escaped: true, ..Piece::byte(byte, start) }
    }

    /// No bytes: a break.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    fn ascii(&self) -> Option<u8> {
        (self.len == 1 && self.bytes[0] < 0x80).then_some(self.bytes[0])
    }
}

/// Characters that may come next, and where the first of them would begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Code points from this one…
    pub(super) lo: u32,
    /// …to this one.
    pub(super) hi: u32,
    pub(super) start: u64,
    /// There is a break before it: it can only be the first character of a value.
    pub(super) broken: bool,
}

const LAST: u32 = 0x10_ffff;

/// What a character of a simple escape stands for. `\'` is no JSON, but JavaScript and Python write it.
pub(super) fn simple(c: u8) -> Option<u8> {
    if c == b'\'' { Some(c) } else { json::simple(c) }
}

pub(super) fn hex_digit(c: u8) -> Option<u8> {
    (c as char).to_digit(16).map(|d| d as u8)
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Text,
    /// Behind a backslash.
    Escape,
    /// Behind `\u` and some digits.
    Unit { digits: u8, value: u16 },
}

/// One layer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layer {
    state: State,
    /// The first half of a surrogate pair, whose second half must follow.
    high: Option<u16>,
    /// Where what is open began.
    start: u64,
    /// Where the escape behind `high` began.
    second: u64,
}

impl Layer {
    /// Whether the text ends within an escape or a surrogate pair.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.state, State::Text) || self.high.is_some()
    }

    /// Takes a piece, gives on what it completes.
    #[inline]
    pub(super) fn take(&mut self, p: Piece, out: &mut impl FnMut(Piece)) {
        let c = p.ascii();
        match self.state {
            State::Text if c == Some(b'\\') => {
                self.state = State::Escape;
                *(if self.high.is_some() { &mut self.second } else { &mut self.start }) = p.start;
            }
            State::Text => {
                self.cut(out);
                out(p);
            }
            State::Escape => match c {
                Some(b'u') => self.state = State::Unit { digits: 0, value: 0 },
                c => {
                    self.state = State::Text;
                    let start = self.here();
                    let simple = c.and_then(simple);
                    if !self.cut(out) && simple.is_none() {
                        out(Piece::BREAK);
                    }
                    out(simple.map_or(p, |c| Piece::escaped(u32::from(c), start)));
                }
            },
            State::Unit { digits, value } => match c.and_then(hex_digit) {
                None => {
                    *self = Layer::default();
                    out(Piece::BREAK);
                    self.take(p, out);
                }
                Some(d) => {
                    let value = value << 4 | u16::from(d);
                    if digits < 3 {
                        self.state = State::Unit { digits: digits + 1, value };
                    } else {
                        self.unit(value, out);
                    }
                }
            },
        }
    }

    /// Where the escape began that is open.
    fn here(&self) -> u64 {
        if self.high.is_some() { self.second } else { self.start }
    }

    /// Half a pair without its other half is a break.
    fn cut(&mut self, out: &mut impl FnMut(Piece)) -> bool {
        let cut = self.high.take().is_some();
        if cut {
            out(Piece::BREAK);
        }
        cut
    }

    fn unit(&mut self, unit: u16, out: &mut impl FnMut(Piece)) {
        self.state = State::Text;
        let start = self.here();
        match (self.high, unit) {
            (Some(high), 0xdc00..=0xdfff) => {
                self.high = None;
                out(Piece::escaped(astral(high) + u32::from(unit - 0xdc00), self.start));
            }
            (_, 0xd800..=0xdbff) => {
                self.cut(out);
                (self.high, self.start) = (Some(unit), start);
            }
            (_, 0xdc00..=0xdfff) => {
                self.high = None;
                out(Piece::BREAK);
            }
            _ => {
                self.cut(out);
                out(Piece::escaped(u32::from(unit), start));
            }
        }
    }

    /// What may come next of a text that ends here. `before` is the same of the layer before this one, `None` if it is
    /// not within an escape. `None` if neither is: anything may come, and begins behind the end.
    pub(super) fn outcomes(&self, before: Option<&[Outcome]>) -> Option<Vec<Outcome>> {
        let mut out = Vec::new();
        match before {
            None if !self.is_open() => return None,
            None => self.open(false, &mut out),
            Some(before) => before.iter().for_each(|o| match o.broken {
                true => Layer::default().follow(o, &mut out),
                false => self.follow(o, &mut out),
            }),
        }
        Some(out)
    }

    /// What may come of what is open, whatever follows.
    fn open(&self, broken: bool, out: &mut Vec<Outcome>) {
        let mut add = |lo, hi, start, broken| {
            if lo <= hi {
                out.push(Outcome { lo, hi, start, broken });
            }
        };
        let mut units = |lo: u32, hi: u32, start, broken| {
            add(lo, hi.min(0xd7ff), start, broken);
            add(lo.max(0xe000), hi, start, broken);
            let (high, last) = (lo.max(0xd800), hi.min(0xdbff));
            if high <= last {
                add(astral(high as u16), astral(last as u16) + 0x3ff, start, broken);
            }
        };
        match (self.state, self.high) {
            (State::Text, None) => {}
            (State::Text, Some(high)) => add(astral(high), astral(high) + 0x3ff, self.start, broken),
            (State::Escape, None) => add(0, LAST, self.start, broken),
            (State::Escape, Some(high)) => {
                add(astral(high), astral(high) + 0x3ff, self.start, broken);
                add(0, LAST, self.second, true);
            }
            (State::Unit { digits, value }, high) => {
                let free = 4 * (4 - u32::from(digits));
                let lo = u32::from(value).checked_shl(free).unwrap_or(0) & 0xffff;
                let hi = lo + ((1 << free) - 1);
                match high {
                    None => units(lo, hi, self.start, broken),
                    Some(high) => {
                        units(lo, hi, self.second, true);
                        let (lo, hi) = (lo.max(0xdc00), hi.min(0xdfff));
                        if lo <= hi {
                            add(astral(high) + lo - 0xdc00, astral(high) + hi - 0xdc00, self.start, broken);
                        }
                    }
                }
            }
        }
    }

    /// What may come if one of these characters is next.
    fn follow(&self, o: &Outcome, out: &mut Vec<Outcome>) {
        if !self.is_open() {
            let escape = o.lo <= u32::from(b'\\') && u32::from(b'\\') <= o.hi;
            out.push(if escape { Outcome { lo: 0, hi: LAST, ..*o } } else { *o });
            return;
        }
        if o.hi > 0x7f {
            // No escape goes on with it.
            out.push(Outcome { lo: o.lo.max(0x80), broken: true, ..*o });
        }
        for c in o.lo..=o.hi.min(0x7f) {
            let (mut layer, mut broken) = (*self, o.broken);
            layer.take(Piece::byte(c as u8, o.start), &mut |p| match std::str::from_utf8(p.bytes()) {
                Ok(text) => match text.chars().next() {
                    Some(c) => out.push(Outcome { lo: c as u32, hi: c as u32, start: p.start, broken }),
                    None => broken = true,
                },
                Err(_) => broken = true,
            });
            layer.open(broken, out);
        }
    }
}

/// The first character that a pair with this first half spells.
fn astral(high: u16) -> u32 {
    0x1_0000 + ((u32::from(high) - 0xd800) << 10)
}
