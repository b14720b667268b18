//! The stream filter: pushes in, clean bytes and findings out.
//!
//! # One push
//! The bytes are taken in pieces of at most [`PIECE`]. Of each piece:
//!
//! 1. the candidate stage names literals; nearby words among them are noted;
//! 2. what was alive runs on: regions, keyed and forward automata resume from their saved state;
//! 3. literals and the trigger tables' class runs each start an automaton at their place, if nearby words allow;
//! 4. what is decided is settled, group by group in order of start: the longest end whose POST and checks hold;
//! 5. trackers read the piece;
//! 6. findings go out, ordered by where they became decided (never by when we learned it);
//! 7. the *horizon* is found, the earliest start that a span of an acting rule can still have: the earliest
//!    unsettled start, or what the probe finds backwards from the end; everything before it is released or replaced.
//!
//! # Why the cut does not matter (S1)
//! Whether a span matches depends on the text alone. When it is *decided* is the first offset at which its automaton
//! can go nowhere else, and no earlier start of its group is undecided: also a property of the text. Findings are
//! ordered by that. A splice is written only when every span that may overlap it is known.
//!
//! # Offsets
//! Inside, a line feed stands before the stream, so offsets are one more than the input's; they are turned back where
//! findings leave. It gives every guard and look a byte to look at.
//!
//! # Bounds (S4)
//! Held: at most [`crate::pattern::MAX_SPAN`] for a live span and [`crate::splice::MAX_SPLICE`] for a splice. Live
//! automata: a rule that can overlap itself more than 512 times is refused when it is loaded. History: what nearby
//! words and heads look back at, at most 512 bytes.

use std::sync::Arc;

use crate::candidates::Hit;
use crate::dfa::{Dfa, Run, State};
use crate::finding::{Action, Finding, Report, RuleId, Sink};
use crate::nearby::{Here, Near};
use crate::ruleset::{Asks, Group, Member, Probe, RuleSet};
use crate::simd::BLOCK;
use crate::splice::{Span, Splicer, Window};
use crate::token::{self, TokenKey};
use crate::trackers::{Mark, Tracker};

/// Pushes are taken in pieces of this many bytes: a window that stays in the first-level cache together with the
/// tables, and the bound on what a scratch grows to.
pub const PIECE: usize = 16 << 10;

/// A stream keeps up to this many bytes more than it needs, so that its buffer is seldom moved.
const SLACK: u64 = 256;

/// A rule with action `block` ended the stream: nothing from `at` on is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream was blocked at byte {at}")]
pub struct Ended {
    /// Input offset of the span that ended it, in bytes.
    pub at: u64,
}

/// Work space of a push, about 20 KiB once used. One a thread or a connection; carries nothing from push to push.
#[derive(Default)]
pub struct Scratch {
    window: Vec<u8>,
    hits: Vec<Hit>,
    marks: Vec<Mark>,
    decided: Vec<Decided>,
    /// Where patterns and marks of a group's automaton end, in order.
    ends: Vec<(u16, usize)>,
    /// Where heads of an inner literal may begin.
    heads: Vec<usize>,
    hit_members: Vec<usize>,
    live: Vec<Live>,
    /// Group, start and end of each automaton that began in this piece and accepted nothing.
    dead: Vec<(u32, u64, u64)>,
    /// The nearby words of the start that is being looked at.
    here: Here,
}

/// A finding and the internal offset at which nothing more could change it.
#[derive(Clone, Debug)]
struct Decided {
    at: u64,
    start: u64,
    end: u64,
    rule: RuleId,
    /// A region whose END never came.
    unended: bool,
}

/// An automaton that runs from one candidate.
#[derive(Clone, Copy, Debug)]
struct Live {
    group: u32,
    /// Start of the span; for a key, of its literal.
    start: u64,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// PRE of a keyed rule.
    Key(State),
    /// BODY and POST; as bits, which of the group's members are looked for and which were accepted so far.
    Forward { q: State, wanted: u64, matched: u64 },
    /// Nothing that follows `at` matters; which members were accepted.
    Done { at: u64, matched: u64 },
}

/// A region whose BEGIN was found.
#[derive(Clone, Copy, Debug)]
struct Region {
    member: u32,
    start: u64,
    /// Everything before belongs to it for certain.
    end: u64,
    state: State,
}

/// Filters one stream.
pub struct StreamFilter {
    rules: Arc<RuleSet>,
    key: TokenKey,
    /// Internal offset of `tail[0]`.
    base: u64,
    /// The last bytes of the input that may still be needed: history, live spans, held bytes.
    tail: Vec<u8>,
    live: Vec<Live>,
    /// Where the last match of a member ended: its next one starts there or behind.
    cooldown: Vec<(u32, u64)>,
    regions: Vec<Region>,
    near: Near,
    trackers: Vec<Box<dyn Tracker>>,
    splicer: Splicer,
    report: Report,
    /// A finding of a blocking rule went out; no finding follows it.
    muted: bool,
    /// Where a blocking tracker found something that has no bytes of its own: a verdict at the end of the stream.
    verdict: Option<u64>,
    ended: Option<u64>,
    finished: bool,
}

impl StreamFilter {
    /// A filter for a new stream. Tokens are keyed with `key`.
    pub fn new(rules: Arc<RuleSet>, key: TokenKey) -> Self {
        let trackers = rules.trackers.iter().map(|t| Arc::clone(&t.spec).start()).collect();
        StreamFilter {
            rules,
            key,
            base: 0,
            tail: vec![b'\n'],
            live: Vec::new(),
            cooldown: Vec::new(),
            regions: Vec::new(),
            near: Near::default(),
            trackers,
            splicer: Splicer::new(1),
            report: Report { complete: true, ..Report::default() },
            muted: false,
            verdict: None,
            ended: None,
            finished: false,
        }
    }

    /// Takes the next bytes of the stream; gives `sink` what may pass. After `Err` nothing is ever released again.
    pub fn push(&mut self, bytes: &[u8], scratch: &mut Scratch, sink: &mut impl Sink) -> Result<(), Ended> {
        for piece in bytes.chunks(PIECE) {
            if self.ended.is_some() || self.finished {
                break;
            }
            self.piece(piece, false, scratch, sink);
        }
        self.ended.map_or(Ok(()), |at| Err(Ended { at: at - 1 }))
    }

    /// The stream is over: releases or replaces what is held, gives the last findings and the report. Pushes after it
    /// are ignored; a second call gives the same report and nothing else.
    pub fn finish(&mut self, scratch: &mut Scratch, sink: &mut impl Sink) -> Report {
        if !self.finished && self.ended.is_none() {
            self.piece(&[], true, scratch, sink);
        }
        self.finished = true;
        let mut report = self.report.clone();
        if let Some(at) = self.ended {
            report.complete = false;
            report.blocked_at = Some(at - 1);
        }
        report
    }

    /// Bytes received and neither released nor replaced nor dropped.
    pub fn held(&self) -> usize {
        (self.base + self.tail.len() as u64 - self.splicer.out()) as usize
    }

    /// Bytes received.
    pub fn received(&self) -> u64 {
        self.base + self.tail.len() as u64 - 1
    }

    /// The rules in force.
    pub fn rules(&self) -> &Arc<RuleSet> {
        &self.rules
    }

    /// Memory of this stream's state, in bytes.
    pub fn memory(&self) -> usize {
        size_of::<Self>()
            + self.tail.capacity()
            + self.live.capacity() * size_of::<Live>()
            + self.cooldown.capacity() * size_of::<(u32, u64)>()
            + self.regions.capacity() * size_of::<Region>()
            + self.near.memory()
            + self.splicer.memory()
            + self.trackers.iter().map(|t| t.memory() + size_of::<Box<dyn Tracker>>()).sum::<usize>()
    }

    fn piece(&mut self, piece: &[u8], eof: bool, scratch: &mut Scratch, sink: &mut impl Sink) {
        let rules = Arc::clone(&self.rules);
        // A large piece goes through the scratch's buffer: the stream's own would have to grow and shrink each time.
        let large = piece.len() as u64 > SLACK;
        let mut window = std::mem::take(if large { &mut scratch.window } else { &mut self.tail });
        if large {
            window.clear();
            window.extend_from_slice(&self.tail);
        }
        if !large && window.capacity() - window.len() < piece.len() {
            // No more than is needed: the buffers of ten thousand streams are most of their memory.
            window.reserve_exact(piece.len() + SLACK as usize / 4);
        }
        window.extend_from_slice(piece);
        let w = Window { bytes: &window, base: self.base };
        let fresh = w.end() - piece.len() as u64;
        let mut pass = Pass { rules: &rules, w, fresh, eof, s: scratch };
        pass.s.decided.clear();
        pass.s.dead.clear();
        pass.s.here.clear();
        pass.find(self);
        pass.resume(self);
        pass.candidates(self);
        pass.class_runs(self);
        pass.settle(self);
        pass.track(self);
        pass.tell(self, sink);
        let horizon = pass.horizon(self);
        self.ended = self.splicer.advance(w, horizon, &rules, &self.key, sink).or(self.verdict);
        if large {
            let from = self.keep(window.len(), eof, 0);
            self.tail.clear();
            self.tail.extend_from_slice(&window[from..]);
            scratch.window = window;
        } else {
            let from = self.keep(window.len(), eof, SLACK);
            window.drain(..from);
            self.tail = window;
        }
        if self.tail.capacity() > 4 * self.tail.len().max(256) {
            self.tail.shrink_to(2 * self.tail.len());
        }
    }

    /// Forgets what no later piece may look at: how many of the window's `len` bytes, unless that is at most `slack`. A
    /// buffer is moved seldom: a small push must not pay for all of the history.
    fn keep(&mut self, len: usize, eof: bool, slack: u64) -> usize {
        let end = self.base + len as u64;
        if eof || self.ended.is_some() {
            // `received` counts from here; `held` is what a blocked stream never released.
            self.base = end;
            return len;
        }
        let first = self.live.iter().map(|l| l.start.saturating_sub(1)).min().unwrap_or(u64::MAX);
        let needed = self.splicer.out().min(first).min(end);
        let from = needed.saturating_sub(self.rules.history as u64).max(self.base);
        if self.live.capacity() > 64 && self.live.len() < 8 {
            self.live.shrink_to(8);
        }
        let looked_back_at = end.saturating_sub(self.rules.history as u64);
        self.near.forget(looked_back_at);
        if !self.cooldown.is_empty() {
            self.cooldown.retain(|(_, end)| *end > from.min(looked_back_at));
        }
        let dropped = from - self.base;
        if dropped <= slack {
            return 0;
        }
        self.base = from;
        dropped as usize
    }
}

/// The work on one piece.
struct Pass<'a> {
    rules: &'a RuleSet,
    w: Window<'a>,
    /// Internal offset of the piece's first byte.
    fresh: u64,
    eof: bool,
    s: &'a mut Scratch,
}

impl Pass<'_> {
    fn group(&self, g: u32) -> &Group {
        &self.rules.groups[g as usize]
    }

    /// The offset that stands for "the end came": one more than any byte's.
    fn past(&self) -> u64 {
        self.w.end() + u64::from(self.eof)
    }

    /// Everything that was alive takes the new bytes.
    fn resume(&mut self, f: &mut StreamFilter) {
        let fresh = self.w.slice(self.fresh, self.w.end());
        // Keys start new automata while they run, and those have seen the fresh bytes already: keep them apart.
        std::mem::swap(&mut f.live, &mut self.s.live);
        let mut old = std::mem::take(&mut self.s.live);
        for mut l in old.drain(..) {
            match l.phase {
                Phase::Done { .. } => {}
                Phase::Forward { q, wanted, matched } => {
                    l.phase = self.forward(l.group, q, wanted, matched, self.fresh, fresh);
                }
                Phase::Key(q) => match self.key(f, l.group, q, self.fresh) {
                    Some(q) => l.phase = Phase::Key(q),
                    None => continue,
                },
            }
            f.live.push(l);
        }
        self.s.live = old;
    }

    /// Runs a forward automaton over `bytes`, which start at `at`.
    fn forward(&self, g: u32, q: State, wanted: u64, mut matched: u64, at: u64, bytes: &[u8]) -> Phase {
        let dfa: &Dfa = &self.group(g).forward;
        let run = if wanted == u64::MAX {
            dfa.run(q, &mut matched, bytes.iter().copied())
        } else {
            dfa.run_for(wanted, q, &mut matched, bytes.iter().copied())
        };
        match run {
            Run::Decided { taken } => Phase::Done { at: at + taken as u64, matched },
            Run::Alive(q) if self.eof => {
                Phase::Done { at: self.past(), matched: if dfa.accepts_at_end(q) { wanted } else { matched } }
            }
            Run::Alive(q) => Phase::Forward { q, wanted, matched },
        }
    }

    /// Runs a key's automaton from `at` to the end of the window; starts a span wherever it accepts. `None` once dead.
    fn key(&mut self, f: &mut StreamFilter, g: u32, mut q: State, at: u64) -> Option<State> {
        let rules = self.rules;
        let dfa: &Dfa = &rules.groups[g as usize].key.as_ref()?.dfa;
        let mut last = 0;
        for (i, b) in self.w.slice(at, self.w.end()).iter().enumerate() {
            q = dfa.next(q, *b);
            let here = at + i as u64 + 1;
            if dfa.accepted_before(q) && last != here - 1 {
                self.start(f, g, here - 1);
            }
            if dfa.accepts_here(q) {
                last = here;
                self.start(f, g, here);
            }
            if !dfa.is_alive(q) {
                return None;
            }
        }
        (!self.eof).then_some(q)
    }

    /// Starts a group's forward automaton for a span at `start`.
    fn start(&mut self, f: &mut StreamFilter, g: u32, start: u64) {
        let rules = self.rules;
        let group = &rules.groups[g as usize];
        if group.asks.as_ref().is_some_and(|a| a.needs_word && f.near.is_empty()) {
            return;
        }
        let context = start - 1;
        let bytes = self.w.slice(context, self.w.end());
        // A later start is decided behind its shortest span: a death before that cannot come between.
        let at_once = |p: &Phase| matches!(p, Phase::Done { at, matched: 0 } if *at <= start + 1 + group.least);
        // Most starts die at once, and then nothing need be asked.
        let mut phase = self.forward(g, group.forward.start(), u64::MAX, 0, context, bytes);
        if at_once(&phase) {
            return;
        }
        if let Some(asks) = &group.asks {
            let wanted = self.wanted(f, asks, start);
            if wanted == 0 {
                return;
            }
            phase = self.forward(g, group.forward.start(), wanted, 0, context, bytes);
        }
        match phase {
            p if at_once(&p) => {}
            Phase::Done { at, matched: 0 } => self.s.dead.push((g, start, at)),
            phase => f.live.push(Live { group: g, start, phase }),
        }
    }

    /// The members that nearby words allow to begin at `start`, as bits.
    fn wanted(&mut self, f: &mut StreamFilter, asks: &Asks, start: u64) -> u64 {
        let (words, w) = (&self.rules.words, self.w);
        let mut wanted = asks.free | f.near.early(words, start, w, &mut self.s.here, &asks.opened_by);
        for (bit, gate) in &asks.others {
            // Of an early word it is known already that it is missing.
            let asked = !asks.early || gate.nearby.is_none() || wanted >> bit & 1 != 0;
            let opens = asked && f.near.opens(*gate, words, start, w, &mut self.s.here);
            wanted = wanted & !(1 << bit) | u64::from(opens) << bit;
        }
        wanted
    }

    /// The candidate stage. Words are noted before anything asks for them.
    fn find(&mut self, f: &mut StreamFilter) {
        self.s.hits.clear();
        let fresh = (self.fresh - self.w.base) as usize;
        self.rules.candidates().scan(self.w.bytes, fresh, &mut self.s.hits);
        self.s.hits.retain(|hit| {
            let literal = &self.rules.literals[hit.literal as usize];
            if let Some(word) = literal.word {
                f.near.note(&self.rules.words, word, hit.end, self.w);
            }
            !literal.gives.is_empty()
        });
    }

    /// Literals of the piece, each with the groups it may give away.
    fn candidates(&mut self, f: &mut StreamFilter) {
        let hits = std::mem::take(&mut self.s.hits);
        for hit in &hits {
            let literal = &self.rules.literals[hit.literal as usize];
            let end = self.w.base + hit.end as u64;
            for gives in &self.rules.gives[literal.gives.start as usize..literal.gives.end as usize] {
                if self.rules.fits(gives, self.w.bytes, hit.end - literal.len, hit.end) {
                    self.candidate(f, gives.group, end - literal.len as u64, end);
                }
            }
        }
        self.s.hits = hits;
    }

    /// A literal of group `g` stands at `[at, end)`.
    fn candidate(&mut self, f: &mut StreamFilter, g: u32, at: u64, end: u64) {
        let rules = self.rules;
        let group = &rules.groups[g as usize];
        if let Some(key) = &group.key {
            let from = match &key.guard {
                None => at - 1,
                Some(guard) if self.w.slice(at - 1, at).iter().all(|b| guard.has(*b)) => end - 1,
                Some(_) => return,
            };
            if let Some(q) = self.key(f, g, key.dfa.start(), from) {
                f.live.push(Live { group: g, start: at, phase: Phase::Key(q) });
            }
        } else if let Some(head) = &group.head {
            let mut heads = std::mem::take(&mut self.s.heads);
            heads.clear();
            head.ends(self.w.slice(0, at).iter().rev().copied(), false, |n| heads.push(n));
            for n in heads.iter().rev() {
                self.start(f, g, at - *n as u64 + 1);
            }
            self.s.heads = heads;
        } else {
            self.start(f, g, at);
        }
    }

    /// Places where guard and first bytes of a class rule fit.
    fn class_runs(&mut self, f: &mut StreamFilter) {
        let t = &self.rules.triggers;
        if t.groups.is_empty() {
            return;
        }
        let mut at = self.fresh;
        while at < self.w.end() {
            let to = self.w.end().min(at + BLOCK as u64);
            let words = f.near.before(&self.rules.words, at, to);
            let open = words.fold(t.free, |open, word| open | t.opened_by[word as usize]);
            self.class_block(f, at, to, open);
            at = to;
        }
    }

    /// The same for `from..to`, at most [`BLOCK`] bytes, and the buckets in `open`.
    fn class_block(&mut self, f: &mut StreamFilter, from: u64, to: u64, open: u32) {
        let bytes = self.w.slice(from - 1, self.w.end());
        let rules = self.rules;
        let mut places = rules.triggers.places(bytes, (to - from) as usize, open);
        while places != 0 {
            let place = places.trailing_zeros();
            places &= places - 1;
            let mut bits = open & rules.triggers.fitting(&bytes[place as usize..]);
            while bits != 0 {
                let bucket = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                self.start(f, rules.triggers.groups[bucket], from + u64::from(place));
            }
        }
    }

    /// Settles what is decided, group by group in order of start; a start that is not decided stops its group.
    fn settle(&mut self, f: &mut StreamFilter) {
        self.grow_regions(f);
        if f.live.is_empty() {
            return;
        }
        let is_key = |l: &Live| matches!(l.phase, Phase::Key(_));
        f.live.sort_unstable_by_key(|l| (l.group, is_key(l), l.start));
        // Two keywords may open one span. Here and not where it begins: there may be thousands in a piece of digits.
        f.live.dedup_by(|b, a| (a.group, a.start) == (b.group, b.start) && !is_key(a) && !is_key(b));
        let mut live = std::mem::take(&mut f.live);
        let (mut group, mut floor, mut stopped) = (u32::MAX, 0, false);
        let mut dead = std::mem::take(&mut self.s.dead);
        dead.sort_unstable();
        let mut dead_from = 0;
        live.retain(|l| {
            if l.group != group {
                (group, floor, stopped) = (l.group, 0, false);
            }
            // What began earlier and died in this piece was undecided until then, unless a match reached over it.
            while let Some((g, start, died)) =
                dead.get(dead_from).filter(|(g, start, _)| (*g, *start) < (group, l.start))
            {
                dead_from += 1;
                if *g == group && !self.is_covered(f, group, *start) {
                    floor = floor.max(*died);
                }
            }
            if !matches!(l.phase, Phase::Key(_)) && self.is_covered(f, l.group, l.start) {
                return false;
            }
            let Phase::Done { at, matched } = l.phase else {
                stopped |= matches!(l.phase, Phase::Forward { .. });
                return true;
            };
            let mut at = at.max(floor);
            if matched != 0 && !self.eof {
                at = at.max(l.start + self.nested_wait(group, l.start));
            }
            if stopped || at > self.past() {
                stopped = true;
                return true;
            }
            floor = at;
            stopped = matched != 0 && self.resolve(f, group, l.start, at, matched);
            stopped
        });
        debug_assert!(f.live.is_empty());
        f.live = live;
        self.s.dead = dead;
    }

    /// How many bytes past `start` must be seen before no longer literal can turn out to begin before it.
    fn nested_wait(&self, g: u32, start: u64) -> u64 {
        let before = self.w.slice(0, start);
        let around = |prefix: &[u8]| {
            before.len() >= prefix.len() && before[before.len() - prefix.len()..].eq_ignore_ascii_case(prefix)
        };
        self.group(g).nested.iter().filter(|(p, _)| around(p)).map(|(_, n)| *n).max().unwrap_or(0)
    }

    /// Whether a match of every member of the group reaches over the start: no other can begin there.
    fn is_covered(&self, f: &StreamFilter, g: u32, start: u64) -> bool {
        !f.cooldown.is_empty()
            && self.group(g).members.iter().all(|m| {
                let id = *m as u32;
                f.cooldown.iter().any(|(c, end)| *c == id && start < *end)
            })
    }

    /// Judges the members of a group that were accepted at a start. `true` if it must wait for the region of its own
    /// rule to end.
    fn resolve(&mut self, f: &mut StreamFilter, g: u32, start: u64, at: u64, matched: u64) -> bool {
        let rules = self.rules;
        let group = &rules.groups[g as usize];
        let mut members = std::mem::take(&mut self.s.hit_members);
        members.clear();
        let mut ends = std::mem::take(&mut self.s.ends);
        ends.clear();
        let bytes = self.w.slice(start - 1, self.w.end());
        group.forward.patterns(bytes.iter().copied(), self.eof, |n, patterns| {
            ends.extend(patterns.iter().map(|p| (*p, n)));
        });
        self.s.ends = ends;
        let counts = |p: usize| matched >> p.min(63) & 1 != 0;
        let accepted = self.s.ends.iter().map(|(p, _)| usize::from(*p)).filter(|p| counts(*p));
        members.extend(accepted.filter_map(|p| group.members.get(p).copied()));
        members.sort_unstable();
        members.dedup();
        let mut waits = false;
        for m in &members {
            let id = *m as u32;
            if let Some(r) = f.regions.iter().find(|r| r.member == id) {
                waits |= start >= r.end;
                continue;
            }
            if f.cooldown.iter().any(|(c, end)| *c == id && start < *end) {
                continue;
            }
            let member = &rules.members[*m];
            if let Some(end) = self.longest(member, start) {
                if self.is_allowed(member, start, end) {
                    f.cooldown.retain(|(c, _)| *c != id);
                    f.cooldown.push((id, end));
                } else {
                    self.accept(f, id, start, end, at);
                }
            }
        }
        self.s.hit_members = members;
        waits
    }

    /// The longest end at which BODY, POST and the checks hold. A span can end in hundreds of places: a check that fails
    /// says how much shorter a span must be for it to be asked again.
    fn longest(&self, m: &Member, start: u64) -> Option<u64> {
        let w = self.w;
        let mut ends =
            self.s.ends.iter().rev().filter(|(p, _)| *p == m.ends).map(|(_, n)| start - 1 + *n as u64).peekable();
        // The form of a token ends where it ends: what follows the longest end says nothing about it.
        let token = ends.peek().map_or(0, |end| token::token_len(w.slice(start, *end)));
        let mut most = usize::MAX;
        for end in ends {
            let span = w.slice(start, end);
            // POST first: it seldom reads more than a byte, a check reads the span, and a span can end in many places.
            if span.len() <= token || span.len() > most || !self.post_holds(m, end) {
                continue;
            }
            let Some(failed) = m.checks.iter().find(|c| !c.holds(span)) else { return Some(end) };
            most = failed.longest_left(span);
            if most <= token {
                break;
            }
        }
        None
    }

    fn post_holds(&self, m: &Member, end: u64) -> bool {
        m.post.as_ref().is_none_or(|p| {
            let mut any = false;
            p.ends(self.w.slice(end - 1, self.w.end()).iter().copied(), self.eof, |_| any = true);
            any
        })
    }

    /// Whether the rule's author lets this span through.
    fn is_allowed(&self, m: &Member, start: u64, end: u64) -> bool {
        m.allow.iter().any(|a| {
            let from = start.saturating_sub(a.before() as u64).max(1);
            a.holds(self.w.slice(from, end), (start - from) as usize)
        })
    }

    fn accept(&mut self, f: &mut StreamFilter, member: u32, start: u64, end: u64, at: u64) {
        let m = &self.rules.members[member as usize];
        let action = self.rules.info[m.rule.0 as usize].action;
        let region = m.region.is_some();
        if action.acts() {
            f.splicer.add(Span { start, end, rule: m.rule, action, region, open: region });
        }
        f.cooldown.retain(|(c, _)| *c != member);
        match &m.region {
            None => {
                f.cooldown.push((member, end));
                self.s.decided.push(Decided { at, start, end, rule: m.rule, unended: false });
            }
            Some(dfa) => {
                let mut r = Region { member, start, end, state: dfa.start() };
                if self.grow(f, &mut r, end - 1, at) {
                    f.regions.push(r);
                }
            }
        }
    }

    /// Regions take the new bytes.
    fn grow_regions(&mut self, f: &mut StreamFilter) {
        let mut i = 0;
        while i < f.regions.len() {
            let mut r = f.regions[i];
            if self.grow(f, &mut r, self.fresh, 0) {
                f.regions[i] = r;
                i += 1;
            } else {
                f.regions.swap_remove(i);
            }
        }
    }

    /// Runs a region from `at` to the end of the window; `true` if it may go on.
    fn grow(&mut self, f: &mut StreamFilter, r: &mut Region, at: u64, floor: u64) -> bool {
        let rules = self.rules;
        let m = &rules.members[r.member as usize];
        let Some(dfa) = &m.region else { return false };
        let mut over = None;
        for (i, b) in self.w.slice(at, self.w.end()).iter().enumerate() {
            r.state = dfa.next(r.state, *b);
            let here = at + i as u64 + 1;
            if dfa.accepted_before(r.state) {
                r.end = r.end.max(here - 1);
            }
            if dfa.accepts_here(r.state) {
                r.end = r.end.max(here);
            }
            if !dfa.is_alive(r.state) {
                over = Some((here, !dfa.accepts_here(r.state)));
                break;
            }
        }
        if over.is_none() && self.eof {
            // The end came inside a unit: what there is of it belongs to the region, an end that never came.
            r.end = self.w.end();
            over = Some((self.past(), true));
        }
        let Some((here, unended)) = over else {
            f.splicer.region(m.rule, r.end, true);
            return true;
        };
        f.splicer.region(m.rule, r.end, false);
        f.cooldown.push((r.member, r.end));
        self.s.decided.push(Decided { at: here.max(floor), start: r.start, end: r.end, rule: m.rule, unended });
        false
    }

    fn track(&mut self, f: &mut StreamFilter) {
        let piece = self.w.slice(self.fresh, self.w.end());
        let mut marks = std::mem::take(&mut self.s.marks);
        for (t, tracker) in self.rules.trackers.iter().zip(&mut f.trackers) {
            if !piece.is_empty() {
                tracker.feed(self.fresh - 1, piece, &mut marks);
            }
            if self.eof && !f.muted {
                tracker.finish(self.w.end() - 1, &mut marks, &mut f.report);
            }
            for m in marks.drain(..) {
                let rule = t.rules[m.rule];
                let (start, end) = (m.span.start + 1, m.span.end + 1);
                let action = self.rules.info[rule.0 as usize].action;
                if action.acts() && end > start {
                    f.splicer.add(Span { start, end, rule, action, region: false, open: false });
                } else if action == Action::Block {
                    f.verdict.get_or_insert(start);
                }
                self.s.decided.push(Decided { at: m.decided + 1, start, end, rule, unended: false });
            }
        }
        self.s.marks = marks;
    }

    /// Findings leave in the order in which they became decided.
    fn tell(&mut self, f: &mut StreamFilter, sink: &mut impl Sink) {
        if self.s.decided.is_empty() || f.muted {
            return;
        }
        self.s.decided.sort_unstable_by_key(|d| (d.at, d.start, d.end, d.rule));
        for d in &self.s.decided {
            let info = &self.rules.info[d.rule.0 as usize];
            let span = d.start - 1..d.end - 1;
            if d.unended {
                f.report.push(format!("unended-{}", info.name), span.start);
            }
            if matches!(info.family, crate::Family::Elision | crate::Family::Truncation) && !span.is_empty() {
                f.report.push(info.name.as_str(), span.start);
            }
            let value = (d.start >= self.w.base && d.end > d.start).then(|| self.w.slice(d.start, d.end));
            sink.finding_of(&Finding { rule: d.rule, span, action: info.action }, value);
            if info.action == Action::Block {
                f.muted = true;
                break;
            }
        }
    }

    /// Whether a live automaton may still give a match: not if those of its members that have accepted or can still
    /// accept anything have a match that reaches over its start.
    fn counts(&self, f: &StreamFilter, l: &Live) -> bool {
        let group = self.group(l.group);
        let members = match l.phase {
            Phase::Forward { q, wanted, matched } => group.forward.viable(q) & wanted | matched,
            Phase::Done { matched, .. } => matched,
            Phase::Key(_) => 0,
        };
        if f.cooldown.is_empty() || group.members.len() == 1 {
            return members != 0;
        }
        group.members.iter().enumerate().any(|(i, m)| {
            let id = *m as u32;
            members >> i.min(63) & 1 != 0 && !f.cooldown.iter().any(|(c, end)| *c == id && l.start < *end)
        })
    }

    /// The earliest start that a span of an acting rule can still have.
    fn horizon(&mut self, f: &mut StreamFilter) -> u64 {
        let end = self.w.end();
        if self.eof {
            return end;
        }
        let mut h = end;
        for l in &f.live {
            if l.start < h && self.group(l.group).acting && self.counts(f, l) {
                h = l.start;
            }
        }
        for (t, tracker) in self.rules.trackers.iter().zip(&f.trackers) {
            if t.acting {
                h = h.min(tracker.live_from().map_or(end, |at| at + 1));
            }
        }
        let rules = self.rules;
        let mut todo = rules.endings.probes(self.w.bytes);
        while todo != 0 {
            let i = todo.trailing_zeros();
            todo &= todo - 1;
            let probe = &rules.probes[i as usize];
            if probe.gated && f.near.is_empty() || !probe.may_find(self.w.bytes) {
                continue;
            }
            if self.probe(f, probe, &mut h) {
                todo = rules.endings.beyond(todo, self.w.slice(h - 1, end));
            }
        }
        for probe in rules.probes.iter().skip(64) {
            self.probe(f, probe, &mut h);
        }
        h
    }

    /// Lowers `h` to the earliest start that `probe` finds; `true` if it is an earlier one.
    fn probe(&mut self, f: &mut StreamFilter, probe: &Probe, h: &mut u64) -> bool {
        let (rules, w) = (self.rules, self.w);
        let before = *h;
        // What the probe accepts is a proper prefix of a span with its guard in front.
        probe.dfa.patterns(w.bytes.iter().rev().copied(), false, |n, patterns| {
            let start = w.end() + 1 - n as u64;
            let counts = start < *h
                && patterns.iter().any(|p| {
                    let id = probe.members[usize::from(*p)];
                    let gate = rules.members[id as usize].gate;
                    // Inside the last match of a rule no other match of it begins.
                    let covered = f.cooldown.iter().any(|(c, over)| *c == id && start < *over);
                    !covered
                        && !probe.literals[usize::from(*p)].seen_in(w.slice(start, w.end()))
                        && (!gate.asks() || f.near.opens(gate, &rules.words, start, w, &mut self.s.here))
                });
            if counts {
                *h = start;
            }
        });
        *h < before
    }
}
