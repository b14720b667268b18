//! The automaton that every rule runs on: small, dense, resumable at any byte.
//!
//! Built from the NFA of `regex-automata` by [`crate::determinize`] and rewritten into a table of our own, because a stream
//! needs three things that a search does not: a state that can be kept between pushes (two bytes), the answer "can
//! anything still match?" for every state, and acceptance at the byte where it is known instead of one byte later.
//!
//! All automata are anchored and consume one byte of left context first (see [`crate::plan`]), so they have a single
//! start state. The attacker is the author of a rule: sizes are limited while building.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use regex_automata::nfa::thompson;
use regex_syntax::hir::Hir;
use serde::{Deserialize, Serialize};

use crate::determinize::{self, Subsets};
use crate::expr::Expr;
use crate::shape::ByteSet;

/// Bound on the table of one automaton while it is built, in bytes. A rule that needs more is exploding: the largest
/// honest rule (a three-part JWT) needs 0.4 MiB.
const MAX_TABLE: usize = 8 << 20;
/// Bound on the automaton's NFA, in bytes: stops `(((a{100}){100}){100})` before it is determinised.
const MAX_NFA: usize = 4 << 20;

/// A state of a [`Dfa`]. 0 is dead.
pub(crate) type State = u16;

/// Some longer input may be accepted.
const VIABLE: u8 = 1;
/// The input so far is accepted, whatever follows.
const ALWAYS: u8 = 2;
/// The input so far, but for its last byte, is accepted.
const DELAYED: u8 = 4;
/// The input so far is accepted if it ends here.
const AT_END: u8 = 8;
/// Whether the input so far is accepted depends on the next byte or the end.
const OPEN: u8 = 16;
/// The loop must look at the flags: something was accepted, or nothing more can be.
const LOOK: u8 = 32;

/// An anchored automaton over one or more patterns.
pub(crate) struct Dfa {
    classes: [u8; 256],
    shift: u32,
    trans: Vec<State>,
    flags: Vec<u8>,
    start: State,
    /// Patterns accepted at a state, for `ALWAYS` and `AT_END`; `delayed` for `DELAYED`. Empty if never asked for.
    accepts: Vec<Box<[u16]>>,
    delayed: Vec<Box<[u16]>>,
    /// For each state, bit i: pattern i may still be accepted. Empty if there are more than 64 patterns, or one.
    viable: Vec<u64>,
    /// For each state, bit i: pattern i is accepted here or one byte before. Empty in the same cases.
    accepted: Vec<u64>,
}

impl std::fmt::Debug for Dfa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dfa({} states, {} bytes)", self.states(), self.bytes())
    }
}

/// What an automaton is built from.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    patterns: Vec<Expr>,
    /// Patterns that it reports too, but that have no say in what is accepted and what is alive.
    marks: Vec<Expr>,
    several: bool,
    reverse: bool,
}

impl Recipe {
    /// For one pattern.
    pub(crate) fn of(pattern: Expr) -> Recipe {
        Recipe { patterns: vec![pattern], marks: Vec::new(), several: false, reverse: false }
    }

    /// For one pattern and where its `body` ends: mark 1, or pattern 0 if it is the pattern itself.
    pub(crate) fn with_body(pattern: Expr, body: Option<Expr>) -> Recipe {
        Recipe { patterns: vec![pattern], marks: body.into_iter().collect(), several: true, reverse: false }
    }

    /// For one pattern, over the reversed input.
    pub(crate) fn reversed(pattern: Expr) -> Recipe {
        Recipe { reverse: true, ..Recipe::of(pattern) }
    }

    /// For any of `patterns`, knowing which, behind them `marks`.
    pub(crate) fn any(patterns: Vec<Expr>, marks: Vec<Expr>) -> Recipe {
        Recipe { patterns, marks, several: true, reverse: false }
    }

    /// For any of `patterns`, knowing which, over the reversed input.
    pub(crate) fn reversed_any(patterns: Vec<Expr>) -> Recipe {
        Recipe { patterns, marks: Vec::new(), several: true, reverse: true }
    }

    /// BLAKE3 over all of it.
    pub(crate) fn key(&self) -> [u8; 32] {
        let mut hash = blake3::Hasher::new();
        hash.update(&[u8::from(self.several), u8::from(self.reverse)]);
        hash.update(&self.patterns.len().to_le_bytes());
        for e in self.patterns.iter().chain(&self.marks) {
            hash.update(&e.text().len().to_le_bytes()).update(e.text().as_bytes());
        }
        *hash.finalize().as_bytes()
    }

    /// Bytes of its expressions: how long it takes to build, roughly.
    pub(crate) fn weight(&self) -> usize {
        self.patterns.iter().chain(&self.marks).map(|e| e.text().len()).sum()
    }

    /// Patterns and marks that an automaton of it may name.
    pub(crate) fn names(&self) -> usize {
        if self.several { self.patterns.len() + self.marks.len() } else { 0 }
    }

    /// Builds it.
    pub(crate) fn make(&self) -> Result<Dfa, String> {
        let all = self.patterns.iter().chain(&self.marks).map(Expr::tree).collect::<Result<Vec<Arc<Hir>>, String>>()?;
        Dfa::build(&all, self.reverse, self.patterns.len(), self.several)
    }
}

/// An automaton that is built when it is first needed.
///
/// Most rules of a large set never see a candidate in a stream. The built-in packs are known to build (a test builds
/// them all), so their automata wait; those of other packs are built, and refused, when they are loaded.
#[derive(Debug)]
pub(crate) struct LazyDfa {
    /// `None`: it is built.
    recipe: Option<Recipe>,
    built: OnceLock<Dfa>,
}

impl LazyDfa {
    /// One that waits, shared with every rule set of the process that has the same: the profiles of a daemon differ in
    /// actions, not in automata.
    pub(crate) fn shared(key: [u8; 32], recipe: Recipe) -> Arc<LazyDfa> {
        static KNOWN: Mutex<BTreeMap<[u8; 32], Weak<LazyDfa>>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(d) = known.get(&key).and_then(Weak::upgrade) {
            return d;
        }
        let d = Arc::new(LazyDfa { recipe: Some(recipe), built: OnceLock::new() });
        if known.len().is_power_of_two() {
            known.retain(|_, d| d.strong_count() > 0);
        }
        known.insert(key, Arc::downgrade(&d));
        d
    }

    /// Builds it now.
    pub(crate) fn build(&self) -> Result<(), String> {
        if let (None, Some(recipe)) = (self.built.get(), &self.recipe) {
            let _ = self.built.set(recipe.make()?);
        }
        Ok(())
    }

    /// Patterns and marks that it names; 0 if it names none.
    pub(crate) fn names(&self) -> usize {
        self.recipe.as_ref().map_or(0, Recipe::names)
    }

    /// How long it takes to build, roughly.
    pub(crate) fn weight(&self) -> usize {
        self.recipe.as_ref().map_or(0, Recipe::weight)
    }
}

impl From<Dfa> for LazyDfa {
    fn from(dfa: Dfa) -> Self {
        LazyDfa { recipe: None, built: OnceLock::from(dfa) }
    }
}

impl std::ops::Deref for LazyDfa {
    type Target = Dfa;

    fn deref(&self) -> &Dfa {
        self.built.get_or_init(|| {
            // Only reached for packs that are known to build. If one did not, its rule would match every candidate: it
            // fails closed, and visibly.
            let made = self.recipe.as_ref().and_then(|r| r.make().ok());
            made.unwrap_or_else(Dfa::accepts_two_bytes)
        })
    }
}

/// How a run went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// All bytes were taken; more may matter.
    Alive(State),
    /// After `taken` bytes nothing that follows can matter any more.
    Decided {
        /// Bytes taken.
        taken: usize,
    },
}

impl Dfa {
    /// Any two bytes: a guard and one byte of span.
    fn accepts_two_bytes() -> Dfa {
        Dfa {
            classes: [0; 256],
            shift: 0,
            trans: vec![0, 2, 3, 0],
            flags: vec![LOOK, VIABLE, VIABLE, ALWAYS | AT_END | LOOK],
            start: 1,
            accepts: vec![Box::default(), Box::default(), Box::default(), Box::new([0, 1])],
            delayed: vec![Box::default(); 4],
            viable: Vec::new(),
            accepted: Vec::new(),
        }
    }

    fn build(patterns: &[Arc<Hir>], reverse: bool, decisive: usize, several: bool) -> Result<Dfa, String> {
        let nfa = thompson::Compiler::new()
            .configure(
                thompson::Config::new()
                    .utf8(false)
                    .reverse(reverse)
                    .which_captures(thompson::WhichCaptures::None)
                    .nfa_size_limit(Some(MAX_NFA)),
            )
            .build_many_from_hir(patterns)
            .map_err(|_| format!("its automaton explodes (more than {} MiB of NFA)", MAX_NFA >> 20))?;
        if nfa.look_set_any().contains_word_unicode() {
            return Err("it asks for Unicode word boundaries, which no byte alone tells; write `(?-u:\\b)`".to_owned());
        }
        // A cell of the library's table, which these limits were made for, has four bytes.
        let source = determinize::subsets(&nfa, MAX_TABLE / 4, MAX_TABLE)
            .ok_or_else(|| format!("its automaton explodes (more than {} MiB)", MAX_TABLE >> 20))?;
        Ok(table(source, decisive, several))
    }

    /// As it is stored.
    pub(crate) fn stored(&self) -> StoredDfa<'_> {
        StoredDfa {
            classes: Cow::Borrowed(&self.classes),
            shift: self.shift,
            trans: Cow::Owned(self.trans.iter().flat_map(|q| q.to_le_bytes()).collect()),
            flags: Cow::Borrowed(&self.flags),
            start: self.start,
            accepts: Cow::Borrowed(&self.accepts),
            delayed: Cow::Borrowed(&self.delayed),
            viable: Cow::Borrowed(&self.viable),
            accepted: Cow::Borrowed(&self.accepted),
        }
    }

    /// The only start state.
    pub(crate) fn start(&self) -> State {
        self.start
    }

    /// Takes bytes. `matched` gets a bit for each pattern that is accepted (all bits if that is not known).
    #[inline]
    pub(crate) fn run(&self, mut q: State, matched: &mut u64, bytes: impl IntoIterator<Item = u8>) -> Run {
        for (i, b) in bytes.into_iter().enumerate() {
            q = self.next(q, b);
            let f = self.flags[usize::from(q)];
            if f & LOOK != 0 {
                if f & (ALWAYS | DELAYED) != 0 {
                    *matched |= self.accepted.get(usize::from(q)).copied().unwrap_or(u64::MAX);
                }
                if f & (VIABLE | OPEN) == 0 {
                    return Run::Decided { taken: i + 1 };
                }
            }
        }
        Run::Alive(q)
    }

    /// The same for some of the patterns: `wanted` has their bits.
    pub(crate) fn run_for(
        &self,
        wanted: u64,
        mut q: State,
        matched: &mut u64,
        bytes: impl IntoIterator<Item = u8>,
    ) -> Run {
        for (i, b) in bytes.into_iter().enumerate() {
            q = self.next(q, b);
            if self.flags[usize::from(q)] & (ALWAYS | DELAYED) != 0 {
                *matched |= wanted & self.accepted.get(usize::from(q)).copied().unwrap_or(u64::MAX);
            }
            if !self.is_alive(q) || self.viable(q) & wanted == 0 {
                return Run::Decided { taken: i + 1 };
            }
        }
        Run::Alive(q)
    }

    /// One byte.
    #[inline]
    pub(crate) fn next(&self, q: State, b: u8) -> State {
        self.trans[(usize::from(q) << self.shift) | usize::from(self.classes[usize::from(b)])]
    }

    /// Whether a longer input may be accepted, or the next byte decides about this one.
    pub(crate) fn is_alive(&self, q: State) -> bool {
        self.flags[usize::from(q)] & (VIABLE | OPEN) != 0
    }

    /// Bit i: a longer input may still be accepted by pattern i, or the next byte decides about this one. All bits if
    /// that is not known.
    pub(crate) fn viable(&self, q: State) -> u64 {
        self.viable.get(usize::from(q)).copied().unwrap_or(u64::MAX)
    }

    /// The input so far is accepted, whatever follows.
    pub(crate) fn accepts_here(&self, q: State) -> bool {
        self.flags[usize::from(q)] & ALWAYS != 0
    }

    /// The input so far but for its last byte is accepted.
    pub(crate) fn accepted_before(&self, q: State) -> bool {
        self.flags[usize::from(q)] & DELAYED != 0
    }

    /// The input so far is accepted if it ends here.
    pub(crate) fn accepts_at_end(&self, q: State) -> bool {
        self.flags[usize::from(q)] & AT_END != 0
    }

    /// Calls `f` with every length at which the run over `bytes` accepts, in rising order, until the automaton dies.
    /// `at_end` says that nothing follows `bytes`.
    pub(crate) fn ends(&self, bytes: impl IntoIterator<Item = u8>, at_end: bool, mut f: impl FnMut(usize)) {
        let mut q = self.start;
        let mut last = usize::MAX;
        let mut tell = |n: usize, last: &mut usize| {
            if *last != n {
                *last = n;
                f(n);
            }
        };
        if self.accepts_here(q) {
            tell(0, &mut last);
        }
        let mut n = 0;
        for b in bytes {
            q = self.next(q, b);
            if self.accepted_before(q) {
                tell(n, &mut last);
            }
            n += 1;
            if self.accepts_here(q) {
                tell(n, &mut last);
            }
            if !self.is_alive(q) {
                return;
            }
        }
        if at_end && self.accepts_at_end(q) {
            tell(n, &mut last);
        }
    }

    /// Calls `f` with every length at which the run over `bytes` accepts, and the patterns and marks it accepts there,
    /// in rising order, until the automaton dies. For automata that know their patterns.
    pub(crate) fn patterns(&self, bytes: impl IntoIterator<Item = u8>, at_end: bool, mut f: impl FnMut(usize, &[u16])) {
        let mut q = self.start;
        let mut n = 0;
        for b in bytes {
            q = self.next(q, b);
            n += 1;
            if self.flags[usize::from(q)] & LOOK == 0 {
                continue;
            }
            if !self.delayed[usize::from(q)].is_empty() {
                f(n - 1, &self.delayed[usize::from(q)]);
            }
            if !self.is_alive(q) {
                break;
            }
        }
        // What is accepted at the last byte is told by the next one, or is so whatever follows.
        if at_end || self.accepts_here(q) {
            f(n, &self.accepts[usize::from(q)]);
        }
    }

    /// Which first three bytes may lead to something that is accepted: a bit for each three, of which only the low five
    /// bits are told apart, the first ones highest.
    pub(crate) fn triples(&self) -> Box<[u64; 512]> {
        // One byte of each class, and the low bits of all its bytes.
        let mut kinds = vec![(0u8, 0u32); 1 << self.shift];
        (0..=255u8).for_each(|b| {
            let kind = &mut kinds[usize::from(self.classes[usize::from(b)])];
            *kind = (b, kind.1 | 1 << (b & 31));
        });
        kinds.retain(|(_, low)| *low != 0);
        let accepts = |q: State| self.accepted_before(q) || self.accepts_here(q);
        let mut out = Box::new([0u64; 512]);
        let each = |low: u32| (0..32usize).filter(move |k| low >> k & 1 != 0);
        for (a, low_a) in &kinds {
            let q = self.next(self.start, *a);
            for (b, low_b) in kinds.iter().filter(|_| self.is_alive(q)) {
                let q = self.next(q, *b);
                let mut low = if accepts(q) { u32::MAX } else { 0 };
                for (c, low_c) in kinds.iter().filter(|_| self.is_alive(q)) {
                    let q = self.next(q, *c);
                    low |= if self.is_alive(q) || accepts(q) { *low_c } else { 0 };
                }
                for pair in each(*low_a).flat_map(|a| each(*low_b).map(move |b| a << 5 | b)).filter(|_| low != 0) {
                    out[pair >> 1] |= u64::from(low) << (32 * (pair & 1));
                }
            }
        }
        out
    }

    /// The bytes that may stand anywhere in what is accepted, but for its last byte.
    pub(crate) fn bytes_within(&self) -> ByteSet {
        let mut out = ByteSet::default();
        for q in (1..self.states()).filter(|q| self.flags[*q] & (VIABLE | OPEN) != 0) {
            for b in 0..=255 {
                let to = self.next(q as State, b);
                if self.is_alive(to) {
                    out.add(b);
                }
            }
        }
        out
    }

    /// The states one byte on from `from`; calls `f` with every byte that leads there. An accepting state that nothing
    /// follows leads anywhere: a span may be shorter than what is asked about. A state that can only fail leads nowhere.
    pub(crate) fn step(&self, from: &[State], mut f: impl FnMut(u8)) -> Vec<State> {
        let flags = |q: State| self.flags[usize::from(q)];
        let mut to = Vec::new();
        for q in from {
            for b in 0..=255u8 {
                let next = if flags(*q) & (VIABLE | OPEN) == 0 { *q } else { self.next(*q, b) };
                if flags(next) & (VIABLE | OPEN | ALWAYS | DELAYED) != 0 {
                    f(b);
                    to.push(next);
                }
            }
        }
        to.sort_unstable();
        to.dedup();
        to
    }

    /// Number of states, the dead one included.
    pub(crate) fn states(&self) -> usize {
        self.flags.len()
    }

    /// Memory of the tables, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.trans.len() * 2 + self.flags.len() + 256
    }
}

/// An automaton's tables, as they stand in a cache file: whoever wrote them, [`StoredDfa::checked`] lets nothing pass
/// that could lead out of a table.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredDfa<'a> {
    #[serde(borrow)]
    classes: Cow<'a, [u8]>,
    shift: u32,
    /// Two bytes a state, the lower one first.
    #[serde(borrow)]
    trans: Cow<'a, [u8]>,
    #[serde(borrow)]
    flags: Cow<'a, [u8]>,
    start: State,
    accepts: Cow<'a, [Box<[u16]>]>,
    delayed: Cow<'a, [Box<[u16]>]>,
    viable: Cow<'a, [u64]>,
    accepted: Cow<'a, [u64]>,
}

impl StoredDfa<'_> {
    /// The automaton, if it is sound and one of `decisive` patterns that names `names` of them and their marks.
    pub(crate) fn checked(self, decisive: usize, names: usize) -> Option<Dfa> {
        let n = self.flags.len();
        let classes: [u8; 256] = self.classes.as_ref().try_into().ok()?;
        let trans: Vec<State> = self.trans.chunks_exact(2).map(|q| State::from_le_bytes([q[0], q[1]])).collect();
        if n == 0 || n > usize::from(State::MAX) + 1 || self.shift > 8 || self.trans.len() != 2 * (n << self.shift) {
            return None;
        }
        let named = |list: &[Box<[u16]>]| {
            list.len() == if names > 0 { n } else { 0 } && list.iter().flatten().all(|p| usize::from(*p) < names)
        };
        let masks = names > 0 && decisive <= 64;
        let masked = |list: &[u64]| {
            list.len() == if masks { n } else { 0 } && list.iter().all(|m| decisive >= 64 || m >> decisive == 0)
        };
        let sound = classes.iter().all(|c| usize::from(*c) < 1 << self.shift)
            && trans.iter().all(|q| usize::from(*q) < n)
            && trans[..1 << self.shift].iter().all(|q| *q == 0)
            && usize::from(self.start) < n
            && self.flags[0] == LOOK
            && self.flags.iter().all(|f| f & !(VIABLE | ALWAYS | DELAYED | AT_END | OPEN | LOOK) == 0)
            && [&self.accepts, &self.delayed].into_iter().all(|list| named(list))
            && [&self.viable, &self.accepted].into_iter().all(|list| masked(list));
        sound.then(|| Dfa {
            classes,
            shift: self.shift,
            trans,
            flags: self.flags.into_owned(),
            start: self.start,
            accepts: self.accepts.into_owned(),
            delayed: self.delayed.into_owned(),
            viable: self.viable.into_owned(),
            accepted: self.accepted.into_owned(),
        })
    }
}

/// The way from subsets of states, which tell what is accepted one byte late, to our automaton. Patterns from
/// `decisive` on are marks.
fn table(source: Subsets, decisive: usize, several: bool) -> Dfa {
    let Subsets { reps, classes, start, rows, delayed: late, at_end } = source;
    let (n, width) = (late.len(), reps.len());
    let decides = |list: &[u16]| list.iter().any(|p| usize::from(*p) < decisive);
    let matches: Vec<bool> = late.iter().map(|list| decides(list)).collect();
    let mut flags = vec![0u8; n];
    for i in 1..n {
        let ends = decides(&at_end[i]);
        let row = &rows[i * width..(i + 1) * width];
        let count = row.iter().filter(|t| matches[usize::from(**t)]).count();
        if ends {
            flags[i] |= AT_END;
        }
        match count + usize::from(ends) {
            0 => {}
            c if c == width + 1 => flags[i] |= ALWAYS,
            _ => flags[i] |= OPEN,
        }
        if matches[i] {
            flags[i] |= DELAYED;
        }
    }
    let (accepts, delayed) = if several { (at_end, late) } else { (Vec::new(), Vec::new()) };
    // With several patterns "accepted whatever follows" must hold for each of them and for every mark, not for their
    // union: where the sets differ with the next byte, the verdict stays open.
    if several {
        for i in 1..n {
            if flags[i] & ALWAYS != 0 {
                let row = &rows[i * width..(i + 1) * width];
                if row.iter().any(|t| delayed[usize::from(*t)] != accepts[i]) {
                    flags[i] = flags[i] & !ALWAYS | OPEN;
                }
            }
        }
    }
    mark_viable(&rows, width, &mut flags);
    for (i, f) in flags.iter_mut().enumerate() {
        let tells = delayed.get(i).is_some_and(|d| !d.is_empty());
        if *f & (ALWAYS | DELAYED) != 0 || *f & (VIABLE | OPEN) == 0 || tells {
            *f |= LOOK;
        }
    }
    let shift = width.next_power_of_two().trailing_zeros();
    let mut trans = vec![0; n << shift];
    for i in 0..n {
        trans[i << shift..(i << shift) + width].copy_from_slice(&rows[i * width..(i + 1) * width]);
    }
    let (mut viable, mut accepted) = (Vec::new(), Vec::new());
    if several && decisive <= 64 {
        let bits = |list: &[u16]| bits(list, decisive);
        viable = viable_patterns(&rows, width, &accepts, &delayed, decisive);
        // Where the verdict is open, what is accepted either way is not settled yet either.
        for i in (1..n).filter(|i| flags[*i] & OPEN != 0) {
            let row = &rows[i * width..(i + 1) * width];
            viable[i] |= row.iter().fold(bits(&accepts[i]), |a, t| a | bits(&delayed[usize::from(*t)]));
        }
        accepted = (0..n)
            .map(|i| {
                let here = if flags[i] & ALWAYS != 0 { bits(&accepts[i]) } else { 0 };
                here | bits(&delayed[i])
            })
            .collect();
    }
    Dfa { classes, shift, trans, flags, start, accepts, delayed, viable, accepted }
}

/// Marks the states from which a longer input can be accepted, backwards from the accepting ones.
fn mark_viable(rows: &[State], width: usize, flags: &mut [u8]) {
    let n = flags.len();
    let mut from: Vec<Vec<State>> = vec![Vec::new(); n];
    for i in 1..n {
        let mut last = 0;
        for t in &rows[i * width..(i + 1) * width] {
            if *t != 0 && *t != last {
                from[usize::from(*t)].push(i as State);
                last = *t;
            }
        }
    }
    let mut todo: Vec<usize> = (1..n).filter(|i| flags[*i] & (ALWAYS | OPEN) != 0).collect();
    while let Some(i) = todo.pop() {
        for f in std::mem::take(&mut from[i]) {
            let f = usize::from(f);
            if flags[f] & VIABLE == 0 {
                flags[f] |= VIABLE;
                todo.push(f);
            }
        }
    }
}

/// Patterns as bits, marks left out.
fn bits(list: &[u16], decisive: usize) -> u64 {
    list.iter().filter(|p| usize::from(**p) < decisive).fold(0, |a, p| a | 1 << p)
}

/// For each state the patterns that a longer input may be accepted by, as bits, backwards from the accepting states.
fn viable_patterns(
    rows: &[State],
    width: usize,
    accepts: &[Box<[u16]>],
    delayed: &[Box<[u16]>],
    decisive: usize,
) -> Vec<u64> {
    let bits = |list: &[u16]| bits(list, decisive);
    let n = accepts.len();
    let mut from: Vec<Vec<State>> = vec![Vec::new(); n];
    for i in 1..n {
        for t in &rows[i * width..(i + 1) * width] {
            if *t != 0 && from[usize::from(*t)].last() != Some(&(i as State)) {
                from[usize::from(*t)].push(i as State);
            }
        }
    }
    // What a byte from here on makes accepted: at once, or by the byte behind it, or by the end behind it.
    let mut out = vec![0u64; n];
    let mut todo = Vec::new();
    for i in 1..n {
        // An input that is accepted by every next byte is decided; only where they differ is this one open.
        let row = &rows[i * width..(i + 1) * width];
        let next: Vec<u64> = row.iter().map(|t| bits(&delayed[usize::from(*t)])).chain([bits(&accepts[i])]).collect();
        out[i] = next.iter().fold(0, |a, b| a | b) & !next.iter().fold(u64::MAX, |a, b| a & b);
        todo.push(i);
    }
    let any: Vec<u64> = (0..n)
        .map(|i| {
            let row = &rows[i * width..(i + 1) * width];
            row.iter().fold(bits(&accepts[i]), |a, t| a | bits(&delayed[usize::from(*t)]))
        })
        .collect();
    while let Some(i) = todo.pop() {
        for f in from[i].clone() {
            let f = usize::from(f);
            let more = out[f] | out[i] | any[i];
            if more != out[f] {
                out[f] = more;
                todo.push(f);
            }
        }
    }
    out
}
