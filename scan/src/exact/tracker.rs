//! A stream's place in the automata of exact values.
//!
//! Two searches run side by side: one over the bytes as they are (and, from the first escape on, as they decode:
//! [`super::decoded`]), one over base64 symbols, which looks through line
//! breaks: `base64`, PEM and MIME writers break lines, and a value must not get out by standing where one is. A break is
//! a line feed, a carriage return, or either as a JSON string spells it (`\n`).
//!
//! Where nothing has begun, both skip from one likely place to the next. Everything in here is a function of the text
//! before a place, never of the cut.
//!
//! Every place at which a value stands is a finding, also where it overlaps itself: no byte of any of them passes.

use std::sync::Arc;

use memchr::memchr3;

use super::ExactBytes;
use super::automaton::{Automaton, Lead, Node, Pattern, ROOT};
use super::decoded::{Taps, Triggers};
use super::forms;
use super::grams::Grams;
use super::unescape::{hex_digit, simple};
use crate::finding::Report;
use crate::trackers::{Mark, Tracker, TrackerSpec};

/// Shortest line between two breaks inside a form, in symbols: writers use 60, 64 or 76. It bounds what a stream notes
/// while a form goes on, against a text with a break behind every symbol.
const LEAST_LINE: usize = 32;
/// Most bytes of one break: an escaped carriage return and line feed.
const MOST_BREAK: usize = 4;

/// The values of a rule set whose rules do the same kind of thing (act or only report), ready for streams.
pub(crate) struct ExactSpec {
    plain: Automaton,
    plain_grams: Grams,
    triggers: Triggers,
    base64: Automaton,
    base64_grams: Grams,
}

impl std::fmt::Debug for ExactSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ExactSpec({} bytes)", self.bytes())
    }
}

impl ExactSpec {
    /// Prepares values; marks name them by their index.
    pub(crate) fn build(values: &[ExactBytes]) -> Result<Arc<dyn TrackerSpec>, String> {
        let (mut plain, mut base64) = (Vec::new(), Vec::new());
        for (id, value) in (0..).zip(values) {
            for reading in value.readings() {
                let texts = forms::plain(reading).into_iter();
                plain.extend(texts.map(|text| Pattern { lead: Lead::None, text, value: id }));
                base64.extend(forms::base64(reading, id));
            }
        }
        let large = || format!("the exact values need more than {} states", super::automaton::MAX_NODES);
        let bytes: Vec<Vec<u8>> = (0..=255u8).map(|b| vec![b]).collect();
        let symbols: Vec<Vec<u8>> =
            (0..64).map(|s| (0..=255u8).filter(|b| KIND[usize::from(*b)] == s).collect()).collect();
        let plus = values.iter().flat_map(ExactBytes::readings).any(|r| r.contains(&b' '));
        Ok(Arc::new(ExactSpec {
            triggers: Triggers { plus },
            plain_grams: Grams::new(&plain, &bytes),
            base64_grams: Grams::new(&base64, &symbols),
            plain: Automaton::new(plain).ok_or_else(large)?,
            base64: Automaton::new(base64).ok_or_else(large)?,
        }))
    }
}

impl TrackerSpec for ExactSpec {
    fn bytes(&self) -> usize {
        self.plain.bytes() + self.plain_grams.bytes() + self.base64.bytes() + self.base64_grams.bytes()
    }

    fn start(self: Arc<Self>) -> Box<dyn Tracker> {
        Box::new(Exact { spec: self, plain: ROOT, taps: Taps::new(), base64: Wrapped::default(), at: 0 })
    }
}

/// What a byte is to the base64 search: its six bits, or one of these.
const OTHER: u8 = 64;
const BREAK: u8 = 65;
const BACKSLASH: u8 = 66;

const KIND: [u8; 256] = {
    let mut kind = [OTHER; 256];
    let mut i = 0;
    while i < 26 {
        kind[b'A' as usize + i] = i as u8;
        kind[b'a' as usize + i] = 26 + i as u8;
        i += 1;
    }
    let mut i = 0;
    while i < 10 {
        kind[b'0' as usize + i] = 52 + i as u8;
        i += 1;
    }
    // Standard and URL-safe alphabet at once: a text that mixes them holds the value all the same.
    kind[b'+' as usize] = 62;
    kind[b'-' as usize] = 62;
    kind[b'/' as usize] = 63;
    kind[b'_' as usize] = 63;
    kind[b'\r' as usize] = BREAK;
    kind[b'\n' as usize] = BREAK;
    kind[b'\\' as usize] = BACKSLASH;
    kind
};

/// The search over base64 symbols.
#[derive(Default)]
struct Wrapped {
    node: Node,
    /// Offsets of the bytes of line breaks inside what has begun.
    breaks: Vec<u64>,
    /// Symbols since the last of them.
    line: usize,
    /// Bytes of the break that the text ends in.
    run: usize,
    /// The last byte was a backslash.
    escape: bool,
}

impl Wrapped {
    /// Where the last `depth` symbols before `end` begin.
    fn start(&self, depth: usize, end: u64) -> u64 {
        let mut start = end - depth as u64;
        for b in self.breaks.iter().rev() {
            if *b < start {
                break;
            }
            start -= 1;
        }
        start
    }

    fn reset(&mut self) {
        self.node = ROOT;
        self.breaks.clear();
        (self.line, self.run, self.escape) = (0, 0, false);
    }

    /// Takes the byte at `at`; `true` if a form ends with it.
    fn step(&mut self, a: &Automaton, byte: u8, at: u64) -> bool {
        let kind = KIND[usize::from(byte)];
        if self.escape {
            self.escape = false;
            if matches!(byte, b'n' | b'r') {
                self.line_break(a, at);
                return false;
            }
            self.reset();
        }
        match kind {
            OTHER => self.reset(),
            _ if kind > OTHER && self.node == ROOT => {}
            BREAK => self.line_break(a, at),
            BACKSLASH => {
                self.line_break(a, at);
                self.escape = self.node != ROOT;
            }
            symbol => {
                self.node = a.next(self.node, symbol);
                self.line += 1;
                self.run = 0;
                self.forget(a, at + 1);
                return a.ends(self.node);
            }
        }
        false
    }

    /// A byte of a line break, with something begun before it.
    fn line_break(&mut self, a: &Automaton, at: u64) {
        if self.run == 0 {
            if !self.breaks.is_empty() && self.line < LEAST_LINE {
                // The line before was too short to stand inside a form: only what began on it may go on.
                while a.depth(self.node) > self.line {
                    self.node = a.shorter(self.node);
                }
                self.breaks.clear();
            }
            self.line = 0;
        }
        self.run += 1;
        if self.node == ROOT || self.run > MOST_BREAK {
            self.reset();
        } else {
            self.breaks.push(at);
        }
    }

    /// Breaks before what has begun do not matter any more.
    fn forget(&mut self, a: &Automaton, end: u64) {
        if self.node == ROOT {
            self.breaks.clear();
        } else if !self.breaks.is_empty() {
            let start = self.start(a.depth(self.node), end);
            let gone = self.breaks.partition_point(|b| *b < start);
            self.breaks.drain(..gone);
        }
    }
}

/// One stream.
struct Exact {
    spec: Arc<ExactSpec>,
    plain: Node,
    taps: Taps,
    base64: Wrapped,
    /// Bytes seen.
    at: u64,
}

impl Exact {
    fn feed_plain(&mut self, at: u64, bytes: &[u8], out: &mut Vec<Mark>) {
        let (a, grams, triggers) = (&self.spec.plain, &self.spec.plain_grams, self.spec.triggers);
        let mut found = Vec::new();
        let mut i = 0;
        // What is skipped ends before the next byte that turns a decoder on.
        let mut trigger = triggers.next(bytes, 0);
        loop {
            if self.plain == ROOT && self.taps.are_off() {
                if i > trigger {
                    trigger = triggers.next(bytes, i);
                }
                (i, _) = grams.skip(&bytes[..trigger], i);
                if i == trigger {
                    i += self.spec.harmless(&bytes[i..]);
                }
            }
            let Some(b) = bytes.get(i) else { break };
            let before = self.plain;
            self.plain = a.next(self.plain, *b);
            let end = at + i as u64 + 1;
            if a.ends(self.plain) {
                for (values, len) in a.matches(self.plain) {
                    out.extend(values.iter().map(|v| mark(*v, end - len as u64, end)));
                }
                self.plain = a.open(self.plain);
            }
            if triggers.has(*b) || !self.taps.are_off() {
                self.taps.take(a, triggers, *b, end - 1, [before, self.plain], &mut found);
                tell(&mut found, end, out);
            }
            i += 1;
        }
    }

    fn feed_base64(&mut self, at: u64, bytes: &[u8], out: &mut Vec<Mark>) {
        let spec = Arc::clone(&self.spec);
        let (a, grams) = (&spec.base64, &spec.base64_grams);
        let mut i = 0;
        // Where the line ends on which `i` stands: a form's first bytes may be on two lines.
        let mut line = 0;
        loop {
            if self.base64.node == ROOT && !self.base64.escape {
                if i >= line {
                    line = memchr3(b'\n', b'\r', b'\\', &bytes[i..]).map_or(bytes.len(), |n| i + n);
                }
                let (place, seen) = grams.skip(&bytes[..line], i);
                i = place;
                if !seen {
                    // What may go on behind the line begins behind its last mark.
                    let marks = bytes[i..line].iter().rposition(|b| KIND[usize::from(*b)] == OTHER);
                    i = marks.map_or(i, |m| i + m + 1);
                }
            }
            let Some(b) = bytes.get(i) else { break };
            let here = at + i as u64;
            i += 1;
            if self.base64.step(a, *b, here) {
                for (values, len) in a.matches(self.base64.node) {
                    let start = self.base64.start(len, here + 1);
                    out.extend(values.iter().map(|v| mark(*v, start, here + 1)));
                }
                self.base64.node = a.open(self.base64.node);
                self.base64.forget(a, here + 1);
            }
        }
    }
}

impl ExactSpec {
    /// How many bytes of an escape at the beginning of `bytes` may be passed over where nothing has begun: nothing begins
    /// in it, neither as it is nor decoded. 0 if that is not plain to see.
    #[inline]
    fn harmless(&self, bytes: &[u8]) -> usize {
        let begins = |b: &u8| self.plain.next(ROOT, *b) != ROOT;
        match bytes {
            [b'\\', c, ..] if *c != b'\\' => match simple(*c) {
                Some(d) if ![b'\\', *c, d].iter().any(begins) => 2,
                _ => 0,
            },
            [b'%', c, ..] if hex_digit(*c).is_none() && !begins(&b'%') => 1,
            [b'+', ..] if ![b'+', b' '].iter().any(begins) => 1,
            _ => 0,
        }
    }
}

/// Tells once what one byte completed under several decoders.
fn tell(found: &mut Vec<super::decoded::Found>, decided: u64, out: &mut Vec<Mark>) {
    if !found.is_empty() {
        found.sort_unstable_by_key(|(value, span)| (*value, span.start, span.end));
        found.dedup();
        out.extend(found.drain(..).map(|(value, span)| Mark { rule: value as usize, span, decided }));
    }
}

fn mark(value: u32, start: u64, end: u64) -> Mark {
    Mark { rule: value as usize, span: start..end, decided: end }
}

impl Tracker for Exact {
    fn feed(&mut self, at: u64, bytes: &[u8], out: &mut Vec<Mark>) {
        self.feed_plain(at, bytes, out);
        self.feed_base64(at, bytes, out);
        self.at = at + bytes.len() as u64;
    }

    fn finish(&mut self, _at: u64, out: &mut Vec<Mark>, _report: &mut Report) {
        let mut found = Vec::new();
        self.taps.finish(&self.spec.plain, &mut found);
        tell(&mut found, self.at, out);
    }

    fn live_from(&self) -> Option<u64> {
        let plain = (self.plain != ROOT).then(|| self.at - self.spec.plain.depth(self.plain) as u64);
        let depth = self.spec.base64.depth(self.base64.node);
        let base64 = (depth > 0).then(|| self.base64.start(depth, self.at));
        let decoded = self.taps.live_from(&self.spec.plain, self.at);
        [plain, base64, decoded].into_iter().flatten().min()
    }

    fn memory(&self) -> usize {
        size_of::<Self>() + self.taps.memory() + self.base64.breaks.capacity() * size_of::<u64>()
    }
}
