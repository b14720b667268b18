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
    let has = |class: u32| classes & class != 0;
    if c.known == 0 || c.known + c.unknown + c.names > MAX_WORDS {
        return None;
    }
    let framed = f.any();
    let both = f.both();
    let rest = has(REST) || has(FAINT) && (framed || has(GONE | GOES));
    let quoted = rest || has(OTHER | EXISTING | DATED);
    let noun = has(CODE | UNIT | THING) || c.names > 0 && has(OF | REST | GONE);
    if c.first & CONJ != 0 && !rest && !has(OTHER | GONE) {
        return None;
    }
    if c.last & JOINT != 0 && !f.trail {
        return None;
    }
    // Strange words and names are only bearable beside words that say what kind of thing was left out.
    let strange = c.unknown;
    if strange > 0 && !(framed && noun && (quoted || has(GONE | YOUR) || both && has(HERE | GOES | PUT))) {
        return None;
    }
    if c.names > 2 || c.names > 0 && !(quoted || has(CODE | UNIT) && (framed || has(GONE | YOUR))) {
        return None;
    }
    let sure = if framed { Verdict::Sure } else { Verdict::Plain };
    if has(BREVITY) && has(GONE) || has(GONE) && quoted && (noun || rest || framed) {
        return Some(sure);
    }
    if has(ALONE) {
        return Some(sure);
    }
    if has(GONE) && has(CODE | UNIT) && (framed || has(CODE) || c.last & (GONE | HERE) != 0) {
        // "Imports omitted", but not "truncated header", which is a header.
        return Some(sure);
    }
    if has(GOES) && (has(CODE | UNIT) || quoted) {
        return Some(sure);
    }
    if has(HERE) && quoted && noun {
        return Some(sure);
    }
    if rest && has(HERE | KEEP) && strange == 0 {
        return Some(sure);
    }
    let before = rest || has(OTHER | EXISTING);
    if has(KEEP | PUT) && before && (has(CODE) || has(UNIT) && (framed || f.todo)) {
        return Some(sure);
    }
    if has(KEEP) && has(GONE) && (noun || framed || quoted) {
        return Some(sure);
    }
    if has(PUT) && quoted && noun && (has(HERE) || f.todo) {
        return Some(sure);
    }
    if rest && has(CODE) || has(OF) && has(UNIT) || has(GONE) && has(HERE) {
        return Some(sure);
    }
    if framed && noun && (before || ellipsis && quoted) {
        return Some(Verdict::Sure);
    }
    if framed && rest && strange == 0 {
        return Some(Verdict::Sure);
    }
    if both && has(CODE | UNIT) && strange == 0 {
        return Some(Verdict::Sure);
    }
    if both && noun && has(HERE | YOUR | PUT | KEEP) {
        return Some(Verdict::Sure);
    }
    if ellipsis && has(CODE) && has(YOUR | HERE) {
        return Some(Verdict::Sure);
    }
    if framed && has(GONE) {
        return Some(Verdict::Sure);
    }
    if has(PUT) {
        // "Add to the existing configuration" is about the code below.
        return None;
    }
    if has(EXISTING) && has(CODE) {
        return Some(Verdict::Plain);
    }
    if quoted && (noun || has(KEEP)) || has(GONE) || has(CODE) && has(YOUR) && has(HERE) {
        return Some(Verdict::Weak);
    }
    None
}
