//! Characters that take no room: tags, variation selectors, zero-width characters in runs and between letters.
//!
//! What is *not* reported: joiners next to letters of scripts that spell with them and inside emoji sequences, single
//! breaks and soft hyphens, a byte order mark at the start, the tag sequences of the three registered flags, one
//! variation selector behind its base.

use super::chars::{Char, Class};
use super::{Kind, MAX_SPAN, Out};

/// Zero-width characters in a row that are a run: two appear by accident (copied web pages are full of double ZWSP).
const RUN: u32 = 3;
/// In a row of characters that text has no use for.
const RARE_RUN: u32 = 2;
/// In a row next to a script that spells with joiners, where doubled ones are a common slip.
const COMPLEX_RUN: u32 = 6;
/// Hidden places between letters, each at most [`GAP`] letters behind the one before, that are a pattern.
const PLACES: u32 = 4;
/// The same for soft hyphens, which hyphenators do put two or three letters apart.
const SOFT_PLACES: u32 = 6;
/// Visible characters between two hidden places of one pattern: a letter, or a letter and a space or two.
const GAP: u32 = 3;
/// Selectors in a row: VS17 to VS256 come singly, behind an ideograph; VS15 and VS16 are doubled by careless editors.
const HIGH_SELECTORS: u32 = 2;
const SELECTORS: u32 = 4;
/// The black flag that begins a flag sequence, and the regions for which one is registered (UTS #51, RGI).
const FLAG: u32 = 0x1F3F4;
const FLAGS: [&[u8; 5]; 3] = [b"gbeng", b"gbsct", b"gbwls"];

/// The machine.
#[derive(Default)]
pub(super) struct Invisible {
    tags: Option<Tags>,
    selectors: Option<Selectors>,
    run: Option<Run>,
    pattern: Option<Pattern>,
}

/// Tag characters in a row.
struct Tags {
    start: u64,
    end: u64,
    /// The letters of a flag sequence so far; `None` once it cannot be one.
    region: Option<([u8; 5], usize)>,
}

/// Variation selectors in a row.
struct Selectors {
    start: u64,
    end: u64,
    count: u32,
    high: u32,
}

/// Zero-width characters in a row.
struct Run {
    start: u64,
    end: u64,
    count: u32,
    rare: bool,
    soft: bool,
    left: Char,
}

/// Zero-width characters between letters, one after another.
struct Pattern {
    start: u64,
    end: u64,
    places: u32,
    soft: u32,
    gap: u32,
}

impl Invisible {
    pub(super) fn is_quiet(&self) -> bool {
        self.tags.is_none() && self.selectors.is_none() && self.run.is_none() && self.pattern.is_none()
    }

    pub(super) fn live_from(&self) -> Option<u64> {
        [
            self.tags.as_ref().map(|t| t.start),
            self.selectors.as_ref().map(|s| s.start),
            self.run.as_ref().map(|r| r.start),
            self.pattern.as_ref().map(|p| p.start),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// `before` is the character before.
    pub(super) fn step(&mut self, c: Char, before: Char, out: &mut Out<'_>) {
        if c.class != Class::Tag {
            self.close_tags(c.at, c.end, out);
        }
        if !matches!(c.class, Class::Selector(_)) {
            self.close_selectors(c.end, out);
        }
        match c.class {
            Class::Tag => self.tag(c, before, out),
            Class::Selector(high) => {
                self.selector(c, high, out);
                if before.class == Class::Latin {
                    self.zero_width(c, before, out);
                }
            }
            Class::Invisible | Class::RareInvisible | Class::SoftHyphen if c.at > 0 => self.zero_width(c, before, out),
            Class::Invisible | Class::RareInvisible | Class::SoftHyphen | Class::Mark | Class::Bidi => {}
            _ => self.visible(c, out),
        }
    }

    pub(super) fn finish(&mut self, at: u64, out: &mut Out<'_>) {
        self.close_tags(at, at, out);
        self.close_selectors(at, out);
        let end = Char { at, end: at, cp: 0x0A, class: Class::Newline };
        self.close_run(end, out);
        self.close_pattern(at, out);
    }

    fn tag(&mut self, c: Char, before: Char, out: &mut Out<'_>) {
        let flag = before.cp == FLAG && before.end == c.at;
        let tags = self.tags.get_or_insert(Tags {
            start: c.at,
            end: c.at,
            region: if flag { Some(([0; 5], 0)) } else { None },
        });
        tags.end = c.end;
        let letter = (c.cp & 0x7F) as u8;
        match tags.region {
            Some((region, 5)) if letter == 0x7F && FLAGS.contains(&&region) => {
                self.tags = None;
                return;
            }
            Some((mut region, n)) if n < 5 && letter.is_ascii_lowercase() => {
                region[n] = letter;
                tags.region = Some((region, n + 1));
            }
            _ => tags.region = None,
        }
        if c.end - tags.start >= MAX_SPAN {
            self.close_tags(c.end, c.end, out);
        }
    }

    fn close_tags(&mut self, _at: u64, decided: u64, out: &mut Out<'_>) {
        if let Some(t) = self.tags.take() {
            out.mark(Kind::TagCharacters, t.start, t.end, decided);
        }
    }

    fn selector(&mut self, c: Char, high: bool, out: &mut Out<'_>) {
        let s = self.selectors.get_or_insert(Selectors { start: c.at, end: c.at, count: 0, high: 0 });
        s.end = c.end;
        s.count += 1;
        s.high += u32::from(high);
        if c.end - s.start >= MAX_SPAN {
            self.close_selectors(c.end, out);
        }
    }

    fn close_selectors(&mut self, decided: u64, out: &mut Out<'_>) {
        if let Some(s) = self.selectors.take()
            && (s.high >= HIGH_SELECTORS || s.count >= SELECTORS)
        {
            out.mark(Kind::VariationSelectors, s.start, s.end, decided);
        }
    }

    fn zero_width(&mut self, c: Char, before: Char, out: &mut Out<'_>) {
        let run =
            self.run.get_or_insert(Run { start: c.at, end: c.at, count: 0, rare: true, soft: true, left: before });
        run.end = c.end;
        run.count += 1;
        run.rare &= c.class == Class::RareInvisible;
        run.soft &= c.class == Class::SoftHyphen;
        if c.end - run.start >= MAX_SPAN {
            self.close_run(Char { at: c.end, end: c.end, cp: 0x20, class: Class::Space }, out);
        }
    }

    fn visible(&mut self, c: Char, out: &mut Out<'_>) {
        self.close_run(c, out);
        if let Some(p) = &mut self.pattern {
            p.gap += 1;
            if p.gap > GAP || matches!(c.class, Class::Complex | Class::RightToLeft) {
                self.close_pattern(c.end, out);
            }
        }
    }

    /// The zero-width characters before `right` are over.
    fn close_run(&mut self, right: Char, out: &mut Out<'_>) {
        let Some(run) = self.run.take() else { return };
        let joins = |c: Class| matches!(c, Class::Complex | Class::RightToLeft | Class::Other);
        let needed = if joins(run.left.class) && joins(right.class) {
            COMPLEX_RUN
        } else if run.rare {
            RARE_RUN
        } else {
            RUN
        };
        if run.count >= needed {
            out.mark(Kind::ZeroWidthRun, run.start, run.end, right.end);
        }
        let plain = run.left.class.is_plain_letter() && !matches!(right.class, Class::Complex | Class::RightToLeft);
        if !plain {
            return;
        }
        let p = self.pattern.get_or_insert(Pattern { start: run.start, end: run.end, places: 0, soft: 0, gap: 0 });
        p.end = run.end;
        p.places += 1;
        p.soft += u32::from(run.soft);
        p.gap = 0;
        if p.end - p.start >= MAX_SPAN {
            self.close_pattern(right.end, out);
        }
    }

    fn close_pattern(&mut self, decided: u64, out: &mut Out<'_>) {
        if let Some(p) = self.pattern.take() {
            let needed = if p.soft == p.places { SOFT_PLACES } else { PLACES };
            if p.places >= needed {
                out.mark(Kind::ZeroWidthBetweenLetters, p.start, p.end, decided);
            }
        }
    }
}
