//! `hidden-text`: text that a person does not see and a model reads.
//!
//! Rules name it with `tracker = "hidden-text"` and `options = { kind = "…" }`; the kinds:
//!
//! | kind | what |
//! |---|---|
//! | `tag-characters` | U+E0000–E007F outside the three registered flags of Unicode (England, Scotland, Wales) |
//! | `variation-selectors` | runs of selectors: two of VS17–256, or four of any |
//! | `zero-width-run` | runs of zero-width characters that no script needs there |
//! | `zero-width-between-letters` | zero-width characters after every letter or two |
//! | `bidi-reorder` | overrides and isolates that turn left-to-right text round |
//! | `ansi-conceal` | terminal escapes that print text invisibly |
//! | `ansi-between-letters` | a colour change around every letter |
//! | `deceptive-link` | a terminal link that shows one host and leads to another |
//! | `styled-letters` | sentences in mathematical, circled, full-width or small-capital letters |
//! | `marked-letters` | sentences with a combining mark on every letter |
//! | `mixed-script` | words that mix Latin letters with Cyrillic or Greek look-alikes |
//!
//! It reads UTF-8 one character at a time, but only where something can be hidden: between such places it runs over
//! ASCII in blocks. It is *not* a normaliser: it does not read what is hidden.
//!
//! **Invariants.** The state depends on the bytes alone, never on how they were cut. Memory is one struct. A span is at
//! most [`MAX_SPAN`] bytes: hidden text that goes on is reported in pieces.
//!
//! **Attacker.** Whoever writes what an agent reads. And whoever wants the filter to cry wolf: joiners in Persian and
//! Hindi, emoji sequences, soft hyphens, breaks in Thai and Khmer, marks in Hebrew and Vietnamese must stay silent.

mod ansi;
mod bidi;
mod chars;
mod disguise;
mod invisible;

use std::sync::Arc;

use crate::finding::Report;

use super::block::{BLOCK, Block, is, places};
use super::{Mark, Tracker, TrackerSpec};
use chars::{Char, Class, Read, classify, is_foreign, is_foreign_lead, is_plain, leads, may_begin, read, read_back};

/// Longest span of one finding, in bytes. A sentence in tag characters is a few hundred bytes; 4 KiB holds every
/// payload that was seen, and bounds what an acting rule can be made to hold.
pub(super) const MAX_SPAN: u64 = 4096;

/// What a rule of this tracker looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    TagCharacters,
    VariationSelectors,
    ZeroWidthRun,
    ZeroWidthBetweenLetters,
    BidiReorder,
    AnsiConceal,
    AnsiBetweenLetters,
    DeceptiveLink,
    StyledLetters,
    MarkedLetters,
    MixedScript,
}

const KINDS: [(&str, Kind); 11] = [
    ("tag-characters", Kind::TagCharacters),
    ("variation-selectors", Kind::VariationSelectors),
    ("zero-width-run", Kind::ZeroWidthRun),
    ("zero-width-between-letters", Kind::ZeroWidthBetweenLetters),
    ("bidi-reorder", Kind::BidiReorder),
    ("ansi-conceal", Kind::AnsiConceal),
    ("ansi-between-letters", Kind::AnsiBetweenLetters),
    ("deceptive-link", Kind::DeceptiveLink),
    ("styled-letters", Kind::StyledLetters),
    ("marked-letters", Kind::MarkedLetters),
    ("mixed-script", Kind::MixedScript),
];

/// The rule of each kind, if a rule names it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted([Option<u8>; KINDS.len()]);

/// The tracker, built from the options of its rules, in order.
pub(super) fn build(rules: &[&toml::Table]) -> Result<Arc<dyn TrackerSpec>, String> {
    let names = || KINDS.map(|(name, _)| name).join(", ");
    let mut wanted = Wanted::default();
    for (index, options) in rules.iter().enumerate() {
        if let Some(key) = options.keys().find(|k| *k != "kind") {
            return Err(format!("`hidden-text` has no option `{key}`; it takes `kind` alone"));
        }
        let kind = options.get("kind").and_then(toml::Value::as_str);
        let kind = kind.ok_or_else(|| format!("`hidden-text` needs `kind`, one of {}", names()))?;
        let slot = KINDS.iter().position(|(name, _)| *name == kind);
        let slot = slot.ok_or_else(|| format!("`hidden-text` knows no kind `{kind}`; it knows {}", names()))?;
        // Kinds do not repeat, so an index is below their number.
        if wanted.0[slot].replace(u8::try_from(index).unwrap_or(u8::MAX)).is_some() {
            return Err(format!("two rules want `hidden-text` kind `{kind}`; keep one"));
        }
    }
    Ok(Arc::new(HiddenText { wanted }))
}

#[derive(Debug)]
struct HiddenText {
    wanted: Wanted,
}

impl TrackerSpec for HiddenText {
    fn start(self: Arc<Self>) -> Box<dyn Tracker> {
        Box::new(Hidden { wanted: self.wanted, ..Hidden::default() })
    }
}

/// Where findings go: knows which rule wants which kind.
pub(super) struct Out<'a> {
    wanted: Wanted,
    marks: &'a mut Vec<Mark>,
}

impl Out<'_> {
    /// A finding of `kind` over `start..end`, certain once `decided` bytes were seen.
    pub(super) fn mark(&mut self, kind: Kind, start: u64, end: u64, decided: u64) {
        debug_assert!(start < end && end <= decided);
        if let Some(rule) = self.wanted.0[kind as usize] {
            self.marks.push(Mark { rule: usize::from(rule), span: start..end, decided });
        }
    }
}

/// The state of one stream.
#[derive(Default)]
struct Hidden {
    wanted: Wanted,
    /// The last four bytes read, oldest first; zeros before the stream.
    tail: [u8; 4],
    /// The bytes of a character that the last push cut, or that waits for the byte behind it.
    cut: [u8; 3],
    cut_len: usize,
    /// Where the bytes read so far end; a cut character begins there.
    at: u64,
    /// Some machine is in the middle of something: every character counts.
    busy: bool,
    /// The character before, if `busy`; what belongs to an escape does not count.
    before: Option<Char>,
    ansi: ansi::Ansi,
    bidi: bidi::Bidi,
    invisible: invisible::Invisible,
    disguise: disguise::Disguise,
}

impl Tracker for Hidden {
    fn feed(&mut self, at: u64, bytes: &[u8], out: &mut Vec<Mark>) {
        if !self.busy && self.cut_len == 0 && skip(bytes, bytes.len()) == bytes.len() {
            self.remember(bytes);
            self.at = at + bytes.len() as u64;
            return;
        }
        let mut out = Out { wanted: self.wanted, marks: out };
        let (mut at, mut bytes) = (at, bytes);
        if self.cut_len > 0 {
            // Complete the cut character in a small buffer of its own.
            let mut joined = [0; 8];
            let had = self.cut_len;
            let more = bytes.len().min(4);
            joined[..had].copy_from_slice(&self.cut[..had]);
            joined[had..had + more].copy_from_slice(&bytes[..more]);
            self.cut_len = 0;
            let used = self.run(at - had as u64, &joined[..had + more], had, &mut out);
            if used < had {
                return self.keep(&joined[used..had + more]);
            }
            at += (used - had) as u64;
            bytes = &bytes[used - had..];
        }
        let used = self.run(at, bytes, bytes.len(), &mut out);
        self.keep(&bytes[used..]);
    }

    fn finish(&mut self, at: u64, out: &mut Vec<Mark>, _report: &mut Report) {
        let mut out = Out { wanted: self.wanted, marks: out };
        let cut = self.cut;
        let len = std::mem::take(&mut self.cut_len);
        let cut_at = at - len as u64;
        match read(&cut[..len.max(1)]) {
            // A letter that waited for the byte behind it.
            Read::Char(cp, n) if len > 0 && n == len => self.meet(cp, cut_at, at, &[], 0, &mut out),
            _ => (0..len as u64).for_each(|i| self.meet(u32::MAX, cut_at + i, cut_at + i + 1, &[], 0, &mut out)),
        }
        self.ansi.finish(at, &mut out);
        self.bidi.finish(at, &mut out);
        self.invisible.finish(at, &mut out);
        self.disguise.finish(at, &mut out);
    }

    fn live_from(&self) -> Option<u64> {
        // A cut character may turn out to be hidden; `at` is where the bytes read end.
        let cut = (self.cut_len > 0).then_some(self.at);
        if !self.busy {
            return cut; // all machines are quiet
        }
        [cut, self.ansi.live_from(), self.bidi.live_from(), self.invisible.live_from(), self.disguise.live_from()]
            .into_iter()
            .flatten()
            .min()
    }

    fn memory(&self) -> usize {
        size_of::<Self>() + self.ansi.memory()
    }
}

impl Hidden {
    /// Reads characters that start before `until`; gives back how far it came (short of it only at a cut character).
    fn run(&mut self, at: u64, bytes: &[u8], until: usize, out: &mut Out<'_>) -> usize {
        let mut i = 0;
        while i < until {
            if !self.busy {
                i += skip(&bytes[i..], until - i);
                if i == until {
                    break;
                }
            }
            let (cp, len) = match read(&bytes[i..]) {
                Read::Char(cp, len) => (cp, len),
                Read::Cut => break,
            };
            // Whether a letter stands in a word of mixed script depends on both sides of it: without the byte behind
            // it, it waits. Otherwise it would depend on the cut whether this letter is looked at.
            if !self.busy && len == 2 && bytes.len() == i + 2 && is_foreign(classify(cp)) {
                break;
            }
            let start = at + i as u64;
            self.meet(cp, start, start + len as u64, bytes, i, out);
            i += len;
        }
        self.remember(&bytes[..i]);
        self.at = at + i as u64;
        i
    }

    /// Gives one character, which stands at `bytes[i]`, to the machines that care.
    fn meet(&mut self, cp: u32, at: u64, end: u64, bytes: &[u8], i: usize, out: &mut Out<'_>) {
        let class = classify(cp);
        if !self.busy {
            match class {
                Class::RightToLeft => return self.bidi.saw_rtl(end),
                c if c.begins_nothing() => return,
                _ => self.before = Some(self.look_back(at, bytes, i)),
            }
        }
        let c = Char { at, end, cp, class };
        let before = self.before.unwrap_or(Char { at, end: at, cp: 0x0A, class: Class::Newline });
        if !self.ansi.step(c, out) {
            self.bidi.step(c, out);
            self.invisible.step(c, before, out);
            self.disguise.step(c, before, out);
            self.before = Some(c);
        }
        self.busy =
            !(self.ansi.is_quiet() && self.bidi.is_quiet() && self.invisible.is_quiet() && self.disguise.is_quiet());
    }

    /// The character before the one at `at`, which stands at `bytes[i]`.
    fn look_back(&self, at: u64, bytes: &[u8], i: usize) -> Char {
        let mut last = [0; 4];
        for (k, slot) in last.iter_mut().enumerate() {
            let back = 4 - k;
            *slot = if i >= back { bytes[i - back] } else { self.tail[k + i] };
        }
        let (cp, len) = if at == 0 { (0x0A, 0) } else { read_back(&last) };
        Char { at: at.saturating_sub(len as u64), end: at, cp, class: classify(cp) }
    }

    fn remember(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last_chunk() {
            self.tail = *last;
            return;
        }
        for &b in bytes {
            self.tail.rotate_left(1);
            self.tail[3] = b;
        }
    }

    /// Keeps the head of a character whose rest has not come.
    fn keep(&mut self, head: &[u8]) {
        debug_assert!(head.len() <= 3);
        self.cut[..head.len()].copy_from_slice(head);
        self.cut_len = head.len();
    }
}

/// How many of the first `until` bytes cannot begin anything hidden. What small pieces nearly always are altogether.
#[inline]
fn skip(bytes: &[u8], until: usize) -> usize {
    for (n, part) in bytes[..until].chunks(BLOCK).enumerate() {
        let block = Block::new(part);
        // ASCII without an escape passes by this test alone.
        if block.mask(|v| v | is(v, 0x1b)) != 0
            && let Some(i) = places(block.mask(leads)).map(|i| n * BLOCK + i).find(|i| hides(bytes, *i))
        {
            return i;
        }
    }
    until
}

/// Whether the character at `bytes[i]` may be or begin something hidden.
fn hides(bytes: &[u8], i: usize) -> bool {
    let b = bytes[i];
    may_begin(b) && !is_plain(&bytes[i..]) && !(is_foreign_lead(b) && among_its_own(bytes, i))
}

/// The letter of two bytes at `bytes[i]` has no ASCII letter on either side, as far as can be seen from here.
fn among_its_own(bytes: &[u8], i: usize) -> bool {
    i > 0 && !bytes[i - 1].is_ascii_alphabetic() && bytes.get(i + 2).is_some_and(|b| !b.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests;
