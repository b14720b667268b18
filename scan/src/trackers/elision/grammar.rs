//! The grammar: whether the words of a body, with its frame, mean "something was left out here".
//!
//! The whole body must be made of known words: `the rest of the methods` is an elision, `the rest of the arguments go
//! to the parent` is prose. A frame (ellipses, brackets) buys a strange word or two, since a frame says that the
//! phrase is not a sentence about the code below.

use super::frame::Framed;
use super::words::{Content, Vocabulary, class::*};

/// How sure a body is an elision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// Reads like a label as well: an elision if nothing of the same block follows.
    Weak,
    /// An elision, unless it is one line of a longer paragraph.
    Plain,
    /// An elision wherever it stands.
    Sure,
}

/// Most words of an elision. "Keep all the other existing methods of this class exactly as they were before" has 14.
const MAX_WORDS: u32 = 18;

/// The language and the verdict that fit best, if any does.
pub(super) fn judge(vocabulary: &Vocabulary, f: &Framed) -> Option<(usize, Verdict)> {
    if f.label {
        return None;
    }
    let allowed = if f.both() { 2 } else { u32::from(f.lead || f.trail) };
    let mut best: Option<(usize, Verdict, Content)> = None;
    for language in 0..vocabulary.languages.len() {
        if !script_fits(vocabulary.languages[language].dense, &f.text) {
            continue;
        }
        let Some(c) = vocabulary.content(language, &f.text, allowed) else { continue };
        let Some(v) = verdict(&c, f) else { continue };
        let better = best.as_ref().is_none_or(|(_, bv, bc)| {
            // Fewest strange words first: it tells Spanish from Portuguese. Then the surer, then the longer words.
            (bc.unknown + bc.names, std::cmp::Reverse(*bv), bc.known)
                > (c.unknown + c.names, std::cmp::Reverse(v), c.known)
        });
        if better {
            best = Some((language, v, c));
        }
    }
    best.map(|(language, v, _)| (language, v))
}

/// Dense languages need a character beyond ASCII; the others none of theirs.
fn script_fits(dense: bool, text: &str) -> bool {
    let cjk =
        text.chars().any(|c| matches!(c, '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'));
    dense == cjk
}

fn verdict(c: &Content, f: &Framed) -> Option<Verdict> {
    let mut classes = c.classes;
    if classes & OF != 0 {
        classes |= REST;
    }
    let ellipsis = f.lead || f.trail || f.inside;
    if classes & SAME != 0 && (ellipsis || classes & (REST | FAINT | OTHER | EXISTING) != 0) {
        classes |= GONE;
    }
    if classes & FAINT != 0 && (f.any() || classes & (GONE | GOES) != 0) {
        classes |= REST;
    }
    let p = Phrase { c, f, classes, ellipsis };
    if !p.is_phrase() {
        return None;
    }
    if p.left_out_in_frame() {
        return Some(Verdict::Sure);
    }
    if p.left_out() {
        return Some(if f.any() { Verdict::Sure } else { Verdict::Plain });
    }
    p.label().then_some(Verdict::Weak)
}

/// A body with what is known about it.
struct Phrase<'a> {
    c: &'a Content,
    f: &'a Framed,
    classes: u32,
    ellipsis: bool,
}

impl Phrase<'_> {
    fn has(&self, classes: u32) -> bool {
        self.classes & classes != 0
    }

    fn ends_in(&self, classes: u32) -> bool {
        self.c.last & classes != 0
    }

    /// The rest, other, existing: words that say which part is meant.
    fn quoted(&self) -> bool {
        self.has(REST | OTHER | EXISTING | DATED)
    }

    /// Words that say what is meant. A name counts where the phrase is about the rest of something.
    fn noun(&self) -> bool {
        self.has(CODE | UNIT | THING) || self.c.names > 0 && self.has(REST | GONE)
    }

    /// Short, whole, and with no more strange words and names than its other words bear.
    fn is_phrase(&self) -> bool {
        let c = self.c;
        if c.known == 0 || c.known + c.unknown + c.names + c.numbers > MAX_WORDS || c.numbers > 2 || c.names > 2 {
            return false;
        }
        if c.first & CONJ != 0 && !self.has(REST | OTHER | GONE) || self.ends_in(JOINT) && !self.f.trail {
            return false; // half a sentence
        }
        let both = self.f.both();
        let strange_fits = self.quoted() || self.has(GONE | YOUR) || both && self.has(HERE | GOES | PUT);
        let strange_fits = self.f.any() && self.noun() && (strange_fits || both && self.ends_in(CODE));
        let names_fit =
            self.quoted() || self.has(CODE | UNIT) && (self.f.any() || self.has(GONE | YOUR)) || both && self.has(GONE);
        (c.unknown == 0 || strange_fits) && (c.names == 0 || names_fit)
    }

    /// What means "left out" in any place.
    fn left_out(&self) -> bool {
        let (framed, known_only) = (self.f.any(), self.c.unknown == 0);
        let (quoted, noun, rest) = (self.quoted(), self.noun(), self.has(REST));
        let before = rest || self.has(EXISTING);
        let order = self.f.todo || framed;
        // A state, and of what: "other methods unchanged", "omitted for brevity". "Imports omitted", but not
        // "truncated header", which is a header; "lines 3 to 9 unchanged".
        self.has(GONE) && (self.has(BREVITY | HERE) || quoted && (noun || rest || framed))
            || self.has(GONE) && self.has(CODE)
            || self.has(GONE) && self.has(UNIT) && (framed || self.ends_in(GONE))
            || self.has(GONE) && self.has(THING) && self.c.numbers > 0
            || self.has(EXISTING) && self.has(SAME)
            || self.has(ALONE)
            // A place: "existing code here", "logic goes here", "the rest here".
            || self.has(GOES) && (self.has(CODE | UNIT) || quoted)
            || self.has(HERE) && quoted && noun && (!self.has(PUT) || before || order)
            || rest && self.has(HERE | KEEP) && known_only
            // An order: "keep the existing code", "TODO: paste the remaining cases".
            || self.has(KEEP | PUT) && (before || self.has(OTHER)) && (self.has(CODE) || self.has(UNIT) && order)
            || self.has(KEEP) && self.has(GONE) && (noun || framed || quoted)
            || self.has(PUT) && quoted && noun && self.f.todo
            // Program text as such: "rest of the code", "rest of the class", "existing code", "other code".
            || rest && self.has(CODE)
            || self.has(OF) && self.has(UNIT)
            || self.has(EXISTING | OTHER) && self.has(CODE) && !self.has(PUT) && self.c.known <= 4 && self.c.names == 0
    }

    /// What means "left out" inside ellipses or brackets only.
    fn left_out_in_frame(&self) -> bool {
        let both = self.f.both();
        if !self.f.any() {
            return false;
        }
        self.noun() && (self.has(REST | OTHER | EXISTING) || self.ellipsis && self.has(DATED))
            || self.has(REST) && self.c.unknown == 0
            || self.has(GONE)
            || both && self.has(CODE | UNIT) && (self.c.unknown == 0 || self.ends_in(CODE))
            || both && self.noun() && self.has(HERE | YOUR | PUT | KEEP)
            || self.ellipsis && self.has(CODE) && self.has(YOUR | HERE)
    }

    /// What reads like a label, too: "other fields", "unchanged". What was there before ("previous value") is as a
    /// label about values at run time.
    fn label(&self) -> bool {
        if self.has(PUT) {
            return false; // "Add to the existing configuration" is about the code below
        }
        let parts = self.noun() && (self.has(REST | OTHER) || self.quoted() && self.has(CODE | UNIT));
        parts
            || self.quoted() && self.has(KEEP)
            || self.has(GONE) && self.ends_in(GONE | SAME | BREVITY)
            || self.has(CODE) && self.has(YOUR) && self.has(HERE)
    }
}
