//! What a character means to the hidden-text tracker, and how one is read from bytes that may be cut anywhere.
//!
//! Ranges are from the Unicode Character Database (version 16): default-ignorable code points, bidirectional controls,
//! variation selectors, tags. It is *not* a full table of scripts: only what decides whether an invisible character
//! has work to do where it stands.

use crate::trackers::block::{Lanes, at_least, is, within};

/// A character of the stream. Bytes that are no UTF-8 count as one [`Class::Other`] each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Char {
    /// Input offset of its first byte.
    pub(super) at: u64,
    /// Input offset behind its last byte.
    pub(super) end: u64,
    /// The code point; `u32::MAX` for a byte that is no UTF-8.
    pub(super) cp: u32,
    /// What it is to us.
    pub(super) class: Class,
}

/// What a character is to this tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A Latin letter.
    Latin,
    /// A Cyrillic letter.
    Cyrillic,
    /// A Greek letter.
    Greek,
    /// An ideograph, kana or Hangul syllable.
    Cjk,
    /// A letter or mark of a script in which joiners and breaks are part of the spelling.
    Complex,
    /// The same, written from right to left.
    RightToLeft,
    /// A letter in dress: mathematical, circled, full-width, small capital.
    Styled,
    /// An ASCII digit.
    Digit,
    /// White space within a line.
    Space,
    /// A line feed or carriage return.
    Newline,
    /// A combining mark of no particular script.
    Mark,
    /// A zero-width character with everyday uses: ZWSP, ZWJ, ZWNJ, word joiner, direction marks.
    Invisible,
    /// A zero-width character that running text has no use for.
    RareInvisible,
    /// U+00AD.
    SoftHyphen,
    /// A variation selector; VS17 to VS256 if `true`.
    Selector(bool),
    /// U+E0000 to U+E007F.
    Tag,
    /// An embedding, override or isolate control, or what closes one.
    Bidi,
    /// The escape character.
    Escape,
    /// Anything else that can be seen.
    Other,
}

impl Class {
    /// Letters (and marks on them) between which an invisible character has nothing to do.
    pub(super) fn is_plain_letter(self) -> bool {
        matches!(
            self,
            Class::Latin | Class::Cyrillic | Class::Greek | Class::Cjk | Class::Styled | Class::Digit | Class::Mark
        )
    }

    /// Nothing hidden begins with it.
    pub(super) fn begins_nothing(self) -> bool {
        matches!(
            self,
            Class::Latin | Class::Cjk | Class::Complex | Class::Digit | Class::Space | Class::Newline | Class::Other
        )
    }

    /// Takes no room on the screen.
    pub(super) fn is_hidden(self) -> bool {
        matches!(
            self,
            Class::Invisible
                | Class::RareInvisible
                | Class::SoftHyphen
                | Class::Selector(_)
                | Class::Tag
                | Class::Bidi
                | Class::Mark
        )
    }
}

/// The class of a code point.
pub(super) fn classify(cp: u32) -> Class {
    match cp {
        0x0A | 0x0D | 0x2028 | 0x2029 => Class::Newline,
        0x1B => Class::Escape,
        0x09 | 0x20 | 0xA0 | 0x2000..=0x200A | 0x202F | 0x205F | 0x3000 => Class::Space,
        0x30..=0x39 => Class::Digit,
        0x41..=0x5A | 0x61..=0x7A => Class::Latin,
        0xAD => Class::SoftHyphen,
        // Small capitals stand among the phonetic letters.
        0x0262 | 0x026A | 0x0274 | 0x0280 | 0x028F | 0x0299 | 0x029C | 0x029F | 0x1D00..=0x1D22 | 0xA730 | 0xA731 => {
            Class::Styled
        }
        0xC0..=0x024F | 0x1E00..=0x1EFF => Class::Latin,
        0x034F => Class::RareInvisible,
        0x0300..=0x036F | 0x0488 | 0x0489 | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF => Class::Mark,
        0x0370..=0x03FF | 0x1F00..=0x1FFF => Class::Greek,
        0x0400..=0x052F => Class::Cyrillic,
        0x061C | 0x200B..=0x200F | 0x2060 => Class::Invisible,
        0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180E | 0x2061..=0x2064 | 0x206A..=0x206F | 0x3164 | 0xFEFF | 0xFFA0 => {
            Class::RareInvisible
        }
        0x0590..=0x08FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFC | 0x10800..=0x10FFF | 0x1E800..=0x1EFFF => {
            Class::RightToLeft
        }
        0x0900..=0x109F | 0x1780..=0x18AF | 0x1900..=0x1CFF | 0xA800..=0xABFF | 0x11000..=0x11FFF => Class::Complex,
        0x202A..=0x202E | 0x2066..=0x2069 => Class::Bidi,
        0x24B6..=0x24E9 | 0xFF21..=0xFF3A | 0xFF41..=0xFF5A | 0x1D400..=0x1D7CB | 0x1F130..=0x1F189 => Class::Styled,
        0x1100..=0x11FF | 0x2E80..=0x2FFF | 0x3041..=0x3163 | 0x3165..=0x9FFF | 0xAC00..=0xD7FF | 0xF900..=0xFAFF => {
            Class::Cjk
        }
        0x20000..=0x3FFFF => Class::Cjk,
        0xFE00..=0xFE0F => Class::Selector(false),
        0xE0100..=0xE01EF => Class::Selector(true),
        0xE0000..=0xE007F => Class::Tag,
        _ => Class::Other,
    }
}

/// Whether a character of this first byte can begin something hidden. What follows in a longer character never can.
///
/// ASCII but ESC cannot; nor can most of Latin-1, and no ideograph. U+00AD begins with C2, combining marks with CC and
/// CD, Greek and Cyrillic with CE to D4, right-to-left scripts with D6 to DF, the zero-width and bidirectional
/// characters with E1, E2, E3 and EF, small capitals with C9, CA, E1 and EA, dressed letters with E2, EF and F0, tags
/// and high selectors with F3.
pub(super) const fn may_begin(byte: u8) -> bool {
    matches!(byte, 0x1B | 0xC2 | 0xC9 | 0xCA | 0xCC..=0xD4 | 0xD6..=0xE3 | 0xEA | 0xEF | 0xF0 | 0xF3)
}

/// Which bytes pass [`may_begin`], and a few more.
#[inline]
pub(super) fn leads(v: Lanes) -> Lanes {
    is(v, 0x1B) | within(v, 0xC2, 0xE3) | is(v, 0xEA) | at_least(v, 0xEF)
}

/// Whether `text` begins with a whole character that begins nothing hidden though its first byte may: punctuation of
/// most scripts, kana. Says no of some that do not either.
#[inline]
pub(super) fn is_plain(text: &[u8]) -> bool {
    match *text {
        [0xC2, b, ..] => b != 0xAD,
        [0xE2, 0x80, b, ..] => matches!(b, 0x90..=0xA7),
        [0xE2, b, _, ..] => matches!(b, 0x84..=0x91 | 0x94..),
        [0xE3, b, c, ..] => b != 0x85 || c != 0xA4,
        [0xEF, 0xBC, b, ..] => !matches!(b, 0xA1..=0xBA),
        [0xEF, 0xBD, b, ..] => !matches!(b, 0x81..=0x9A),
        _ => false,
    }
}

/// A letter of a script whose letters can pass for Latin ones.
pub(super) fn is_foreign(class: Class) -> bool {
    matches!(class, Class::Cyrillic | Class::Greek)
}

/// Whether a character of this first byte is Greek or Cyrillic, of two bytes (a few neighbours of theirs included).
pub(super) const fn is_foreign_lead(byte: u8) -> bool {
    matches!(byte, 0xCE..=0xD4)
}

/// What [`read`] found.
pub(super) enum Read {
    /// A character of so many bytes.
    Char(u32, usize),
    /// The bytes end inside a character that is well-formed so far.
    Cut,
}

/// Reads the character at the start of `bytes`, which must not be empty.
pub(super) fn read(bytes: &[u8]) -> Read {
    let lead = bytes[0];
    let (len, first) = match lead {
        0..=0x7F => return Read::Char(u32::from(lead), 1),
        0xC2..=0xDF => (2, u32::from(lead & 0x1F)),
        0xE0..=0xEF => (3, u32::from(lead & 0x0F)),
        0xF0..=0xF4 => (4, u32::from(lead & 0x07)),
        _ => return Read::Char(u32::MAX, 1),
    };
    let mut cp = first;
    for i in 1..len {
        match bytes.get(i) {
            None => return Read::Cut,
            Some(b) if b & 0xC0 == 0x80 => cp = cp << 6 | u32::from(b & 0x3F),
            Some(_) => return Read::Char(u32::MAX, 1),
        }
    }
    Read::Char(cp, len)
}

/// The code point that ends at the end of `bytes` and its length; `(u32::MAX, 1)` if none does, or nothing is there.
pub(super) fn read_back(bytes: &[u8]) -> (u32, usize) {
    for len in 1..=bytes.len().min(4) {
        let tail = &bytes[bytes.len() - len..];
        if tail[0] & 0xC0 != 0x80 {
            return match read(tail) {
                Read::Char(cp, n) if n == len => (cp, len),
                _ => (u32::MAX, 1),
            };
        }
    }
    (u32::MAX, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trackers::block::Block;

    #[test]
    fn every_hidden_character_has_a_trigger_byte() {
        for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
            let class = classify(u32::from(c));
            let needs = class.is_hidden()
                || matches!(class, Class::Escape | Class::Styled | Class::Cyrillic | Class::Greek | Class::RightToLeft);
            // U+10800 and U+1E800 are covered by F0; U+1AB0 and the like by E1.
            if needs {
                let mut buffer = [0; 4];
                let bytes = c.encode_utf8(&mut buffer).as_bytes();
                assert!(may_begin(bytes[0]), "{:x}", u32::from(c));
                assert!(!is_plain(bytes), "{:x}", u32::from(c));
            }
            let mut buffer = [0; 4];
            if is_plain(c.encode_utf8(&mut buffer).as_bytes()) {
                assert!(class.begins_nothing(), "{:x}", u32::from(c));
            }
        }
    }

    #[test]
    fn no_lead_is_passed() {
        for b in 0..=u8::MAX {
            assert!(!may_begin(b) || Block::new(&[b]).mask(leads) == 1, "{b:x}");
        }
    }

    #[test]
    fn reads_both_ways() {
        for c in ['a', 'é', '\u{200b}', '\u{e0041}'] {
            let s = format!("x{c}");
            assert_eq!(read_back(s.as_bytes()), (u32::from(c), c.len_utf8()));
            assert!(matches!(read(&s.as_bytes()[1..]), Read::Char(cp, n) if cp == u32::from(c) && n == c.len_utf8()));
        }
        assert_eq!(read_back(b"\xff"), (u32::MAX, 1));
        assert_eq!(read_back(b""), (u32::MAX, 1));
        assert!(matches!(read(b"\xe2\x80"), Read::Cut));
        assert!(matches!(read(b"\xe2a"), Read::Char(u32::MAX, 1)));
    }
}
