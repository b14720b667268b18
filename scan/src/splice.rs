//! Arbitration and output: which bytes pass, which become a token, and when.
//!
//! Overlapping acting spans become one splice (promise S6). What decides is only the set of spans, never when they
//! became known: spans are taken in order of their start, and none is taken before every span with an earlier start
//! is known (the *horizon* is the earliest start that an undecided span can still have).
//!
//! A splice of more than [`MAX_SPLICE`] bytes is closed: what still overlaps it becomes a splice of its own behind it.
//! Without that bound a chain of overlapping spans would be held until it ends.
//!
//! A *region* in a splice makes it a *swallow*: its bytes are hashed and dropped as they come, the token follows when
//! the region's end is known.
//!
//! Offsets in here are internal ones (one more than the input's: see [`crate::filter`]).

use crate::finding::{Action, RuleId, Sink};
use crate::ruleset::RuleSet;
use crate::token::{self, TokenKey, ValueHash};

/// Longest splice, in bytes: twice the longest span of the built-in rules. An adversary who chains overlapping spans
/// makes a stream hold this much and one span more, no further.
pub(crate) const MAX_SPLICE: u64 = 8192;

/// A decided span of an acting rule.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) rule: RuleId,
    pub(crate) action: Action,
    /// Of a region; `open` while its end is not known.
    pub(crate) region: bool,
    pub(crate) open: bool,
}

/// The label of a splice: whose token, whose action.
#[derive(Clone, Copy, Debug)]
struct Label {
    action: Action,
    rule: RuleId,
    priority: u32,
    start: u64,
    end: u64,
}

impl Label {
    fn of(s: &Span, rules: &RuleSet) -> Label {
        let priority = rules.rule(s.rule).map_or(0, |r| r.priority);
        // How far a region reaches is not known when it begins: every region counts as longer than any other span.
        let end = if s.region { u64::MAX } else { s.end };
        Label { action: s.action, rule: s.rule, priority, start: s.start, end }
    }

    /// The stronger action, then the higher priority, the earlier start, the longer span, the earlier rule.
    fn better(self, other: Label) -> Label {
        let key = |l: &Label| {
            (token::strength(l.action), l.priority, u64::MAX - l.start, l.end - l.start, u32::MAX - l.rule.0)
        };
        if key(&other) > key(&self) { other } else { self }
    }
}

struct Swallow {
    start: u64,
    end: u64,
    label: Label,
    /// The rule of each region that has not ended.
    open: Vec<RuleId>,
    hash: ValueHash,
}

/// The output side of a stream.
#[derive(Default)]
pub(crate) struct Splicer {
    /// Everything before is released or replaced.
    out: u64,
    spans: Vec<Span>,
    swallow: Option<Box<Swallow>>,
    token: Vec<u8>,
}

/// What stands in the window: bytes from internal offset `base` on.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) base: u64,
}

impl<'a> Window<'a> {
    pub(crate) fn end(self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// The bytes `[from, to)`, clipped to the window.
    pub(crate) fn slice(self, from: u64, to: u64) -> &'a [u8] {
        let from = (from.max(self.base) - self.base).min(self.bytes.len() as u64) as usize;
        let to = (to.max(self.base) - self.base).min(self.bytes.len() as u64) as usize;
        &self.bytes[from..to.max(from)]
    }
}

impl Splicer {
    pub(crate) fn new(out: u64) -> Self {
        Splicer { out, ..Splicer::default() }
    }

    /// Everything before this offset is released or replaced.
    pub(crate) fn out(&self) -> u64 {
        self.out
    }

    /// Adds a decided span.
    pub(crate) fn add(&mut self, span: Span) {
        let at = self.spans.partition_point(|s| (s.start, s.end, s.rule) <= (span.start, span.end, span.rule));
        self.spans.insert(at, span);
    }

    /// A region of `rule` now reaches to `end`; `open` says whether it may go on.
    pub(crate) fn region(&mut self, rule: RuleId, end: u64, open: bool) {
        if let Some(s) = self.spans.iter_mut().find(|s| s.open && s.rule == rule) {
            s.end = s.end.max(end);
            s.open = open;
        } else if let Some(w) = self.swallow.as_mut().filter(|w| w.open.contains(&rule)) {
            w.end = w.end.max(end);
            if !open {
                w.open.retain(|r| *r != rule);
            }
        }
    }

    /// Memory on the heap, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.spans.capacity() * size_of::<Span>()
            + self.token.capacity()
            + self.swallow.as_ref().map_or(0, |_| size_of::<Swallow>())
    }

    /// Releases and replaces what is settled: no undecided span starts before `horizon`. `Some(at)` if a splice with
    /// action `block` was reached: nothing from `at` on was released, nor will be.
    pub(crate) fn advance(
        &mut self,
        w: Window<'_>,
        horizon: u64,
        rules: &RuleSet,
        key: &TokenKey,
        sink: &mut impl Sink,
    ) -> Option<u64> {
        loop {
            if self.swallow.is_some() {
                if !self.swallowed(w, horizon, rules, key, sink) {
                    return self.swallow.as_ref().filter(|s| s.label.action == Action::Block).map(|s| s.start);
                }
                continue;
            }
            let Some(first) = self.spans.first().filter(|s| s.start < horizon) else {
                self.release(w, horizon, sink);
                return None;
            };
            let start = first.start.max(self.out);
            if first.end <= start && !first.open {
                self.spans.remove(0);
                continue;
            }
            self.release(w, start, sink);
            let (n, end, label, closed) = self.union(start, horizon, rules);
            if label.action == Action::Block {
                return Some(start);
            }
            if self.spans[..n].iter().any(|s| s.region) {
                let open = self.spans.drain(..n).filter(|s| s.open).map(|s| s.rule).collect();
                self.swallow = Some(Box::new(Swallow { start, end, label, open, hash: key.value() }));
                continue;
            }
            if !closed && horizon < end {
                return None;
            }
            self.spans.drain(..n);
            self.splice(label, w.slice(start, end), rules, key, sink);
            self.out = end;
        }
    }

    /// The splice that begins at `start`: how many spans, its end, its label, and whether it is full.
    fn union(&self, start: u64, horizon: u64, rules: &RuleSet) -> (usize, u64, Label, bool) {
        let mut end = self.spans[0].end.max(start);
        let mut label = Label::of(&self.spans[0], rules);
        let mut n = 1;
        while end - start <= MAX_SPLICE {
            let Some(next) = self.spans.get(n).filter(|s| s.start < end && s.start < horizon) else {
                return (n, end, label, false);
            };
            end = end.max(next.end);
            label = label.better(Label::of(next, rules));
            n += 1;
        }
        (n, end, label, true)
    }

    /// Drops what a swallow covers; `true` if it ended and its token was written.
    fn swallowed(
        &mut self,
        w: Window<'_>,
        horizon: u64,
        rules: &RuleSet,
        key: &TokenKey,
        sink: &mut impl Sink,
    ) -> bool {
        let Some(mut s) = self.swallow.take() else { return true };
        while let Some(next) = self.spans.first().filter(|n| n.start < horizon && n.start < s.end) {
            s.end = s.end.max(next.end);
            s.label = s.label.better(Label::of(next, rules));
            if next.open {
                s.open.push(next.rule);
            }
            self.spans.remove(0);
        }
        let end = s.end.min(w.end());
        s.hash.update(w.slice(self.out, end));
        self.out = self.out.max(end);
        if s.label.action == Action::Block || !s.open.is_empty() || horizon < s.end {
            self.swallow = Some(s);
            return false;
        }
        self.token.clear();
        write(&mut self.token, s.label, s.hash, rules, key);
        sink.release(&self.token);
        true
    }

    fn release(&mut self, w: Window<'_>, to: u64, sink: &mut impl Sink) {
        if to > self.out {
            let bytes = w.slice(self.out, to);
            debug_assert_eq!(bytes.len() as u64, to - self.out);
            if !bytes.is_empty() {
                sink.release(bytes);
            }
            self.out = to;
        }
    }

    fn splice(&mut self, label: Label, value: &[u8], rules: &RuleSet, key: &TokenKey, sink: &mut impl Sink) {
        self.token.clear();
        match label.action {
            Action::Mask => token::mask(value, &mut self.token),
            _ => {
                let mut hash = key.value();
                hash.update(value);
                write(&mut self.token, label, hash, rules, key);
            }
        }
        if !self.token.is_empty() {
            sink.release(&self.token);
        }
    }
}

/// The token of a splice. An exact value has one, however it is spelled and whatever else the splice covers.
fn write(token: &mut Vec<u8>, label: Label, mut hash: ValueHash, rules: &RuleSet, key: &TokenKey) {
    if let Some(value) = rules.exact_value(label.rule) {
        hash = key.value();
        hash.update(value);
    }
    if let Some(r) = rules.rule(label.rule) {
        key.write(&r.token, &hash, token);
    }
}
