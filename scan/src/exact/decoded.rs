//! The search in decoded text: what stands behind the escapes of JSON strings, in one, two and three layers, and of URLs.
//!
//! Writers differ in what they escape and how, and an attacker may escape what no writer does, so spellings are not
//! listed: the text is decoded as it comes and the values are searched for in what comes out. Each decoder is a *tap*: a
//! place in the automaton that also finds the values as they are, and for each decoded byte of what has begun the offset
//! of its first raw one.
//!
//! A tap is off where decoded text and raw text are the same: then its place is the raw search's. A trigger byte
//! ([`Triggers`]) turns it on, and it is off again once no escape is among what has begun. Text without trigger bytes costs
//! a look for them.
//!
//! Invariants: what a tap knows depends on the text before a place, never on the cut; the hold is the least one, also
//! within an escape ([`Taps::live_from`]); no span is longer than [`MAX_SPAN`] raw bytes, which bounds memory to four bytes a
//! decoded one; a value begins where a character does, since half of an escape cannot be replaced.
//!
//! This is *not* a decoder of documents: a text is decoded from its first byte on by every tap, whatever it is.

use std::collections::VecDeque;

use super::automaton::{Automaton, Node, ROOT};
use super::unescape::{Layer, Outcome, Piece, hex_digit};
use crate::pattern::MAX_SPAN;

/// Layers of JSON strings: a tool's answer is a string of JSON-RPC, which may hold JSON whose strings hold JSON.
const LAYERS: usize = 3;
/// The longest span, as a difference of offsets.
const LONGEST: u64 = MAX_SPAN as u64;
/// Room for offsets that a tap keeps when nothing has begun.
const KEPT: usize = 64;

/// A value that was found: its index among the values and its span.
pub(super) type Found = (u32, std::ops::Range<u64>);

/// One decoder's place in the automaton.
#[derive(Debug, Default)]
struct Tap {
    on: bool,
    node: Node,
    /// Raw offsets of decoded bytes, the last `len` of them, modulo 2³². Those before were read while the tap was off.
    starts: VecDeque<u32>,
    /// Where the tap was turned on: bytes before are as they are.
    since: u64,
    /// Behind the last escape.
    escaped: u64,
}

impl Tap {
    fn turn_on(&mut self, node: Node, at: u64) {
        if !self.on {
            (self.on, self.node, self.since, self.escaped) = (true, node, at, 0);
            self.starts.clear();
        }
    }

    /// Off again if the raw search has the same place, for the same bytes.
    fn turn_off(&mut self, a: &Automaton, raw: Node, at: u64) {
        if self.node == raw && (raw == ROOT || self.start(a.depth(raw), at) >= self.escaped) {
            self.on = false;
            self.starts.clear();
            if self.starts.capacity() > KEPT {
                self.starts = VecDeque::new();
            }
        }
    }

    /// Raw offset of the first of the last `depth` decoded bytes. `at` is any offset less than 4 GiB behind it.
    fn start(&self, depth: usize, at: u64) -> u64 {
        match self.starts.len().checked_sub(depth).and_then(|i| self.starts.get(i)) {
            Some(low) => at - u64::from((at as u32).wrapping_sub(*low)),
            None => self.since - depth.saturating_sub(self.starts.len()) as u64,
        }
    }

    /// Takes a piece whose last raw byte stands before `end`.
    fn take(&mut self, a: &Automaton, p: Piece, end: u64, found: &mut Vec<Found>) {
        if p.bytes().is_empty() {
            self.node = ROOT;
            self.starts.clear();
            self.since = end;
            return;
        }
        if p.escaped {
            self.escaped = end;
        }
        for (before, byte) in p.bytes().iter().enumerate() {
            self.starts.push_back(p.start as u32);
            self.node = a.next(self.node, *byte);
            if a.ends(self.node) {
                for (values, len) in a.matches(self.node).filter(|(_, len)| *len > before) {
                    let start = self.start(len, end);
                    // What has no escape in it is the raw search's.
                    if start < self.escaped && end - start <= LONGEST {
                        found.extend(values.iter().map(|v| (*v, start..end)));
                    }
                }
                self.node = a.open(self.node);
            }
            // A value cannot begin within a character, nor be longer than a span may be.
            while self.node != ROOT
                && (a.depth(self.node) <= before || end - self.start(a.depth(self.node), end) >= LONGEST)
            {
                self.node = a.open(a.shorter(self.node));
            }
            let depth = a.depth(self.node);
            if self.starts.len() > depth {
                self.starts.drain(..self.starts.len() - depth);
            }
        }
    }

    /// Start of the earliest span that can still end behind `at`, if the text ends in no escape.
    fn live(&self, a: &Automaton, at: u64) -> Option<u64> {
        (self.on && self.node != ROOT).then(|| self.start(a.depth(self.node), at))
    }

    /// The same if one of these characters comes next.
    fn live_before(&self, a: &Automaton, at: u64, next: &[Outcome]) -> Option<u64> {
        let one = |o: &Outcome| {
            let mut node = if o.broken { ROOT } else { self.node };
            loop {
                let start = if node == ROOT { o.start } else { self.start(a.depth(node), at) };
                if at - start < LONGEST && goes_on(a, node, o.lo, o.hi) {
                    return Some(start);
                }
                if node == ROOT {
                    return None;
                }
                node = a.shorter(node);
            }
        };
        // There may be a hundred of them, of which few can begin earlier.
        next.iter().fold(None, |earliest: Option<u64>, o| match earliest {
            Some(at) if o.broken && o.start >= at => earliest,
            _ => [earliest, one(o)].into_iter().flatten().min(),
        })
    }
}

/// Whether some character from `lo` to `hi` goes on with what has begun.
fn goes_on(a: &Automaton, node: Node, lo: u32, hi: u32) -> bool {
    [(0, 0x7f), (0x80, 0x7ff), (0x800, 0xffff), (0x1_0000, 0x10_ffff)].into_iter().any(|(first, last)| {
        let (lo, hi) = (lo.max(first), hi.min(last));
        let (mut low, mut high) = ([0; 4], [0; 4]);
        // No character stands from D800 to DFFF, and no outcome ends there.
        match (char::from_u32(lo), char::from_u32(hi)) {
            (Some(l), Some(h)) if lo <= hi => {
                let (low, high) = (l.encode_utf8(&mut low).as_bytes(), h.encode_utf8(&mut high).as_bytes());
                between(a, node, Some(low), Some(high), low.len())
            }
            _ => false,
        }
    })
}

/// Whether a path of `len` bytes goes on from `node` that is no less than `low` and no more than `high`, where given; or a
/// shorter one at which values end.
fn between(a: &Automaton, node: Node, low: Option<&[u8]>, high: Option<&[u8]>, len: usize) -> bool {
    if len == 0 {
        return true;
    }
    let least = low.and_then(|l| l.first()).copied().unwrap_or(0x80);
    let most = high.and_then(|h| h.first()).copied().unwrap_or(0xbf);
    a.edges(node).filter(|(b, _)| (least..=most).contains(b)).any(|(b, next)| {
        let low = low.filter(|_| b == least).and_then(|l| l.get(1..));
        let high = high.filter(|_| b == most).and_then(|h| h.get(1..));
        a.is_whole(next) || between(a, next, low, high, len - 1)
    })
}

/// A percent escape that is open.
#[derive(Clone, Copy, Debug, Default)]
enum Percent {
    #[default]
    Text,
    /// Behind the `%` at this offset.
    Sign(u64),
    /// Behind a digit too.
    Digit(u64, u8),
}

/// Percent decoding; a `%` that no two digits follow stands for itself.
#[derive(Debug, Default)]
struct Url {
    tap: Tap,
    state: Percent,
    /// `+` is a space.
    plus: bool,
}

impl Url {
    fn take(&mut self, a: &Automaton, byte: u8, at: u64, found: &mut Vec<Found>) {
        match (self.state, hex_digit(byte)) {
            (Percent::Sign(start), Some(_)) => {
                self.state = Percent::Digit(start, byte);
                return;
            }
            (Percent::Digit(start, first), Some(low)) => {
                self.state = Percent::Text;
                let high = hex_digit(first).unwrap_or(0);
                self.tap.take(a, Piece::escaped_byte(high << 4 | low, start), at + 1, found);
                return;
            }
            (Percent::Sign(_) | Percent::Digit(..), None) => self.flush(a, found),
            (Percent::Text, _) => {}
        }
        match byte {
            b'%' => self.state = Percent::Sign(at),
            b'+' if self.plus => self.tap.take(a, Piece::escaped_byte(b' ', at), at + 1, found),
            _ => self.tap.take(a, Piece::byte(byte, at), at + 1, found),
        }
    }

    /// What is open is no escape.
    fn flush(&mut self, a: &Automaton, found: &mut Vec<Found>) {
        match std::mem::take(&mut self.state) {
            Percent::Text => {}
            Percent::Sign(start) => self.tap.take(a, Piece::byte(b'%', start), start + 1, found),
            Percent::Digit(start, digit) => {
                self.tap.take(a, Piece::byte(b'%', start), start + 1, found);
                self.tap.take(a, Piece::byte(digit, start + 1), start + 2, found);
            }
        }
    }

    fn live(&self, a: &Automaton, at: u64) -> Option<u64> {
        let tap = &self.tap;
        match self.state {
            Percent::Text => tap.live(a, at),
            // Any byte may come, also the sign itself.
            Percent::Sign(start) => Some(tap.live(a, at).unwrap_or(start)),
            Percent::Digit(start, digit) => {
                let high = hex_digit(digit).unwrap_or(0) << 4;
                let mut node = tap.node;
                let escape = loop {
                    if a.edges(node).any(|(b, _)| b >> 4 == high >> 4) {
                        break Some(if node == ROOT { start } else { tap.start(a.depth(node), at) });
                    }
                    if node == ROOT {
                        break None;
                    }
                    node = a.shorter(node);
                };
                [escape, self.live_literal(a, at, start, digit)].into_iter().flatten().min()
            }
        }
    }

    /// If the sign and the digit stand for themselves: what has begun then, and what ends there and is not told yet.
    fn live_literal(&self, a: &Automaton, at: u64, sign: u64, digit: u8) -> Option<u64> {
        let first = a.next(self.tap.node, b'%');
        let second = a.next(a.open(first), digit);
        let start = |depth: usize, behind: usize| match depth.checked_sub(behind) {
            Some(0) => Some(sign),
            Some(depth) => Some(self.tap.start(depth, at)),
            None => (depth > 0).then_some(sign + 1),
        };
        let ended = a.matches(first).map(|(_, len)| (len, 1)).chain(a.matches(second).map(|(_, len)| (len, 2)));
        let begun = std::iter::once((a.depth(a.open(second)), 2));
        ended.chain(begun).filter_map(|(depth, behind)| start(depth, behind)).min()
    }
}

/// Bytes that turn decoders on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Triggers {
    /// Whether `+` may be a space: whether a value has one.
    pub(super) plus: bool,
}

impl Triggers {
    /// The first of them at or behind `from`; the length if there is none.
    #[inline]
    pub(super) fn next(self, bytes: &[u8], from: usize) -> usize {
        let rest = bytes.get(from..).unwrap_or_default();
        let found = match self.plus {
            true => memchr::memchr3(b'\\', b'%', b'+', rest),
            false => memchr::memchr2(b'\\', b'%', rest),
        };
        found.map_or(bytes.len(), |i| from + i)
    }

    #[inline]
    pub(super) fn has(self, byte: u8) -> bool {
        byte == b'\\' || byte == b'%' || byte == b'+' && self.plus
    }
}

/// The decoders of one stream.
#[derive(Debug)]
pub(super) struct Taps {
    layers: [Layer; LAYERS],
    json: [Tap; LAYERS],
    urls: [Url; 2],
    /// Whether a tap of either kind is on.
    json_on: bool,
    urls_on: bool,
}

impl Taps {
    pub(super) fn new() -> Taps {
        let urls = [Url::default(), Url { plus: true, ..Url::default() }];
        Taps { layers: Default::default(), json: Default::default(), urls, json_on: false, urls_on: false }
    }

    /// Whether every decoder is where the raw search is.
    #[inline]
    pub(super) fn are_off(&self) -> bool {
        !self.json_on && !self.urls_on
    }

    /// Takes a byte, with the raw search's place before and behind it.
    pub(super) fn take(
        &mut self,
        a: &Automaton,
        t: Triggers,
        byte: u8,
        at: u64,
        raw: [Node; 2],
        found: &mut Vec<Found>,
    ) {
        let [before, behind] = raw;
        if self.json_on || byte == b'\\' {
            self.take_json(a, byte, at, before, found);
            self.json_on = false;
            let mut open = false;
            for (layer, tap) in self.layers.iter().zip(&mut self.json) {
                open |= layer.is_open();
                if !open {
                    tap.turn_off(a, behind, at + 1);
                }
                self.json_on |= tap.on;
            }
        }
        if self.urls_on || byte == b'%' || byte == b'+' && t.plus {
            self.urls_on = false;
            for url in self.urls.iter_mut().take(1 + usize::from(t.plus)) {
                url.tap.turn_on(before, at);
                url.take(a, byte, at, found);
                if matches!(url.state, Percent::Text) {
                    url.tap.turn_off(a, behind, at + 1);
                }
                self.urls_on |= url.tap.on;
            }
        }
    }

    fn take_json(&mut self, a: &Automaton, byte: u8, at: u64, before: Node, found: &mut Vec<Found>) {
        let ([one, two, three], [first, second, third]) = (&mut self.layers, &mut self.json);
        [&mut *first, &mut *second, &mut *third].into_iter().for_each(|tap| tap.turn_on(before, at));
        one.take(Piece::byte(byte, at), &mut |p| {
            first.take(a, p, at + 1, found);
            two.take(p, &mut |p| {
                second.take(a, p, at + 1, found);
                three.take(p, &mut |p| third.take(a, p, at + 1, found));
            });
        });
    }

    /// The text ends: what is open in a URL is no escape.
    pub(super) fn finish(&mut self, a: &Automaton, found: &mut Vec<Found>) {
        self.urls.iter_mut().for_each(|url| url.flush(a, found));
    }

    /// Start of the earliest span with an escape in it that may still end behind `at`.
    pub(super) fn live_from(&self, a: &Automaton, at: u64) -> Option<u64> {
        if self.are_off() {
            return None;
        }
        let mut earliest = self.urls.iter().filter_map(|url| url.live(a, at)).min();
        let mut next: Option<Vec<Outcome>> = None;
        for (layer, tap) in self.layers.iter().zip(&self.json) {
            next = layer.outcomes(next.as_deref());
            let live = match &next {
                None => tap.live(a, at),
                Some(next) => tap.live_before(a, at, next),
            };
            earliest = [earliest, live].into_iter().flatten().min();
        }
        earliest
    }

    /// Memory on the heap, in bytes.
    pub(super) fn memory(&self) -> usize {
        let taps = self.json.iter().chain(self.urls.iter().map(|u| &u.tap));
        taps.map(|t| t.starts.capacity() * size_of::<u32>()).sum()
    }
}
