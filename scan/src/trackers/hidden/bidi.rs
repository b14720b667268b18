//! Direction controls that show a reader something else than what the bytes say.
//!
//! Reported: Latin text inside a right-to-left override, embedding or isolate, with no right-to-left letter near it
//! (the text is stored in one order and shown in another), and right-to-left text inside a left-to-right override.
//! *Not* reported: isolates around names in right-to-left text, and the neutral ones that translation libraries put
//! around every inserted value. See Unicode UAX #9 and CVE-2021-42574.

use super::chars::{Char, Class};
use super::{Kind, Out};

/// Letters inside that are text rather than a mark.
const LETTERS: u32 = 2;
/// A right-to-left letter this many bytes before a control makes it ordinary; about two lines.
const NEAR: u64 = 160;
/// Longest text inside one control, in bytes: one screenful. Longer is reported so far, and the rest by itself.
const LONGEST: u64 = 1024;

/// The machine.
#[derive(Default)]
pub(super) struct Bidi {
    open: Option<Open>,
    /// Where the last right-to-left letter ended.
    last_rtl: Option<u64>,
}

struct Open {
    start: u64,
    /// Turns text that runs from left to right, rather than the reverse.
    to_rtl: bool,
    ltr: u32,
    rtl: u32,
}

impl Bidi {
    pub(super) fn is_quiet(&self) -> bool {
        self.open.is_none()
    }

    pub(super) fn live_from(&self) -> Option<u64> {
        self.open.as_ref().map(|o| o.start)
    }

    /// A right-to-left letter ended at `end`.
    pub(super) fn saw_rtl(&mut self, end: u64) {
        self.last_rtl = Some(end);
    }

    pub(super) fn step(&mut self, c: Char, out: &mut Out<'_>) {
        if c.class == Class::RightToLeft {
            self.saw_rtl(c.end);
        }
        match (c.class, c.cp) {
            (Class::Bidi, 0x202C | 0x2069) => self.close(c.end, c.end, out),
            (Class::Bidi, 0x202B | 0x202E | 0x2067) if self.open.is_none() => {
                let ordinary = self.last_rtl.is_some_and(|end| c.at - end < NEAR);
                if !ordinary {
                    self.open = Some(Open { start: c.at, to_rtl: true, ltr: 0, rtl: 0 });
                }
            }
            (Class::Bidi, 0x202D) if self.open.is_none() => {
                self.open = Some(Open { start: c.at, to_rtl: false, ltr: 0, rtl: 0 });
            }
            (Class::Newline, _) => self.close(c.at, c.end, out),
            _ => {
                if let Some(o) = &mut self.open {
                    o.ltr += u32::from(c.class == Class::Latin);
                    o.rtl += u32::from(c.class == Class::RightToLeft);
                    if c.end - o.start >= LONGEST {
                        self.close(c.end, c.end, out);
                    }
                }
            }
        }
    }

    pub(super) fn finish(&mut self, at: u64, out: &mut Out<'_>) {
        self.close(at, at, out);
    }

    fn close(&mut self, end: u64, decided: u64, out: &mut Out<'_>) {
        if let Some(o) = self.open.take() {
            let turned = if o.to_rtl { o.ltr >= LETTERS && o.rtl == 0 } else { o.rtl >= LETTERS };
            if turned {
                out.mark(Kind::BidiReorder, o.start, end, decided);
            }
        }
    }
}
