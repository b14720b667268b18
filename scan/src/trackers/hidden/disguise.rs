//! Letters that look like letters: whole sentences in styled letters, with a mark on every letter, or in words that mix
//! scripts. A reader sees a plain sentence; a filter that looks for words does not.
//!
//! *Not* reported: a formula, a heading of a word or two, struck-out prices, Vietnamese or Czech with decomposed
//! accents, product names next to Cyrillic words.

use super::chars::{Char, Class, is_foreign};
use super::{Kind, MAX_SPAN, Out};

/// Styled letters that are a sentence, in at least so many words: headings, signatures and brand names are shorter.
const STYLED: u32 = 18;
const STYLED_WORDS: u32 = 3;
/// Letters in a row that each bear a mark. No language marks every letter; a struck-out word is shorter.
const MARKED: u32 = 16;
/// Weight of mixed words (two for a word that changes script back and forth, one for a single change) that is no slip.
const MIXED: u32 = 3;
/// Longest word, in bytes; German and Finnish compounds stay below. A longer one is counted in pieces.
const LONGEST_WORD: u64 = 256;
/// Pure words after which mixed words no longer belong together.
const PURE_WORDS: u32 = 6;

/// The machine.
#[derive(Default)]
pub(super) struct Disguise {
    styled: Option<Styled>,
    marked: Option<Marked>,
    /// A Greek or Cyrillic letter was the last character: a Latin one may follow.
    foreign: Option<u64>,
    in_word: bool,
    word: Option<Word>,
    mixed: Option<Mixed>,
}

struct Styled {
    start: u64,
    end: u64,
    letters: u32,
    words: u32,
    in_word: bool,
}

struct Marked {
    start: u64,
    end: u64,
    letters: u32,
    /// The last letter bears a mark.
    done: bool,
}

/// A word of mixed script, from its first change on.
struct Word {
    start: u64,
    end: u64,
    changes: u32,
    /// Every letter next to a change looks like a Latin one.
    alike: bool,
    greek: bool,
}

struct Mixed {
    start: u64,
    end: u64,
    weight: u32,
    pure: u32,
}

impl Disguise {
    pub(super) fn is_quiet(&self) -> bool {
        self.styled.is_none()
            && self.marked.is_none()
            && self.foreign.is_none()
            && self.word.is_none()
            && self.mixed.is_none()
    }

    pub(super) fn live_from(&self) -> Option<u64> {
        let word = self.word.as_ref().map(|w| w.start).or(self.foreign);
        let mixed = self.mixed.as_ref().map(|m| m.start).or(word);
        [self.styled.as_ref().map(|s| s.start), self.marked.as_ref().map(|m| m.start), mixed]
            .into_iter()
            .flatten()
            .min()
    }

    /// `before` is the character before.
    pub(super) fn step(&mut self, c: Char, before: Char, out: &mut Out<'_>) {
        self.step_styled(c, out);
        self.step_marked(c, before, out);
        self.step_word(c, before, out);
    }

    pub(super) fn finish(&mut self, at: u64, out: &mut Out<'_>) {
        self.close_styled(at, out);
        self.close_marked(at, out);
        self.close_word(at, out);
        self.close_mixed(at, out);
    }

    fn step_styled(&mut self, c: Char, out: &mut Out<'_>) {
        match c.class {
            Class::Styled => {
                let s =
                    self.styled.get_or_insert(Styled { start: c.at, end: c.at, letters: 0, words: 0, in_word: false });
                s.end = c.end;
                s.letters += 1;
                s.words += u32::from(!s.in_word);
                s.in_word = true;
                if c.end - s.start >= MAX_SPAN {
                    self.close_styled(c.end, out);
                }
            }
            Class::Space => {
                if let Some(s) = &mut self.styled {
                    s.in_word = false;
                }
            }
            Class::Latin
            | Class::Cyrillic
            | Class::Greek
            | Class::Cjk
            | Class::Complex
            | Class::RightToLeft
            | Class::Newline => self.close_styled(c.end, out),
            _ => {}
        }
    }

    fn close_styled(&mut self, decided: u64, out: &mut Out<'_>) {
        if let Some(s) = self.styled.take()
            && s.letters >= STYLED
            && s.words >= STYLED_WORDS
        {
            out.mark(Kind::StyledLetters, s.start, s.end, decided);
        }
    }

    fn step_marked(&mut self, c: Char, before: Char, out: &mut Out<'_>) {
        match c.class {
            Class::Mark => match &mut self.marked {
                Some(m) => {
                    m.letters += u32::from(!m.done);
                    m.done = true;
                    m.end = c.end;
                    if c.end - m.start >= MAX_SPAN {
                        self.close_marked(c.end, out);
                    }
                }
                None if before.class == Class::Latin => {
                    self.marked = Some(Marked { start: c.at, end: c.end, letters: 1, done: true });
                }
                None => {}
            },
            Class::Latin => match &mut self.marked {
                // A letter with its accent built in is marked too.
                Some(m) if m.done => m.done = c.cp >= 0xC0,
                Some(_) => self.close_marked(c.end, out),
                None => {}
            },
            Class::Newline | Class::Cjk | Class::Cyrillic | Class::Greek | Class::Complex | Class::RightToLeft => {
                self.close_marked(c.end, out);
            }
            _ => {
                if self.marked.as_ref().is_some_and(|m| !m.done) {
                    self.close_marked(c.end, out);
                }
            }
        }
    }

    fn close_marked(&mut self, decided: u64, out: &mut Out<'_>) {
        if let Some(m) = self.marked.take()
            && m.letters >= MARKED
        {
            out.mark(Kind::MarkedLetters, m.start, m.end, decided);
        }
    }

    fn step_word(&mut self, c: Char, before: Char, out: &mut Out<'_>) {
        let foreign = is_foreign(c.class);
        self.foreign = foreign.then_some(c.at);
        if !foreign && c.class != Class::Latin {
            self.close_word(c.end, out);
            if c.class == Class::Newline && self.mixed.as_ref().is_some_and(|m| m.pure > 0) {
                self.close_mixed(c.end, out);
            }
            return;
        }
        self.in_word = true;
        let is_ascii = |c: Char| c.class == Class::Latin && c.cp < 0x80;
        let other = match (foreign, before) {
            (true, b) if is_ascii(b) => Some(c),
            (false, b) if is_foreign(b.class) && is_ascii(c) => Some(b),
            _ => None,
        };
        if let Some(other) = other {
            let w =
                self.word.get_or_insert(Word { start: other.at, end: c.end, changes: 0, alike: true, greek: false });
            w.changes += 1;
            w.alike &= looks_latin(other.cp);
            w.greek |= other.class == Class::Greek;
        }
        if let Some(w) = &mut self.word {
            w.end = c.end;
            if c.end - w.start >= LONGEST_WORD {
                self.close_word(c.end, out);
            }
        }
    }

    fn close_word(&mut self, decided: u64, out: &mut Out<'_>) {
        if !std::mem::take(&mut self.in_word) {
            return;
        }
        let w = self.word.take().unwrap_or(Word { start: 0, end: 0, changes: 0, alike: true, greek: false });
        // Greek letters stand next to Latin ones in formulas and units: only a word that goes back and forth counts.
        let weight = match w.changes {
            0 => 0,
            1 if w.greek || !w.alike => 0,
            1 => 1,
            _ if w.alike => 2,
            _ => 1,
        };
        if weight == 0 {
            if let Some(m) = &mut self.mixed {
                m.pure += 1;
                if m.pure > PURE_WORDS {
                    self.close_mixed(decided, out);
                }
            }
            return;
        }
        let m = self.mixed.get_or_insert(Mixed { start: w.start, end: w.end, weight: 0, pure: 0 });
        m.end = w.end;
        m.weight += weight;
        m.pure = 0;
        if m.end - m.start >= MAX_SPAN {
            self.close_mixed(decided, out);
        }
    }

    fn close_mixed(&mut self, decided: u64, out: &mut Out<'_>) {
        if let Some(m) = self.mixed.take()
            && m.weight >= MIXED
        {
            out.mark(Kind::MixedScript, m.start, m.end, decided);
        }
    }
}

/// Cyrillic and Greek letters that print like a Latin one (Unicode UTS #39, single-letter confusables).
fn looks_latin(cp: u32) -> bool {
    const ALIKE: &str = "аеорсухіјѕһԁԛԝґгкпмтвнАВЕКМНОРСТУХІЈЅҺԌԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧαινορυχγκτ";
    char::from_u32(cp).is_some_and(|c| ALIKE.contains(c))
}
