//! From an NFA to the subsets of its states that an input can lead to: determinisation for anchored automata.
//!
//! `regex-automata` has one, made for searching: for every subset it asks every class of bytes. Here most subsets go on
//! with a few bytes only (a trie of two thousand literals, numbers), so a subset is asked where its states lead, and
//! everything else is dead at once. Looks follow the same rules as there: a look behind is known when a subset is
//! entered, a look ahead when the next byte is, and what is accepted is told one byte late.
//!
//! The attacker is the author of a rule: subsets and their sizes are limited.

use std::collections::HashMap;

use regex_automata::nfa::thompson::{NFA, State as NfaState};
use regex_automata::util::look::{Look, LookSet};

/// A subset, by number. 0 is the dead one.
pub(crate) type Subset = u16;

/// What an NFA's inputs lead to.
pub(crate) struct Subsets {
    /// One byte of each class of bytes that the NFA cannot tell apart.
    pub(crate) reps: Vec<u8>,
    pub(crate) classes: [u8; 256],
    pub(crate) start: Subset,
    /// By subset and class, the next subset.
    pub(crate) rows: Vec<Subset>,
    /// By subset, the patterns that accept the input but for its last byte.
    pub(crate) delayed: Vec<Box<[u16]>>,
    /// By subset, the patterns that accept the input if it ends here.
    pub(crate) at_end: Vec<Box<[u16]>>,
}

/// What a byte, or the end, is to a look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Byte(u8),
    End,
}

impl Unit {
    fn is_word(self) -> bool {
        matches!(self, Unit::Byte(b) if b.is_ascii_alphanumeric() || b == b'_')
    }

    fn is(self, b: u8) -> bool {
        self == Unit::Byte(b)
    }
}

/// A subset as it is told from others: what it was entered by, what it accepts late, its states.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Key {
    /// Looks that held when it was entered.
    have: u32,
    from_word: bool,
    half_crlf: bool,
    matches: Box<[u16]>,
    /// Rising.
    states: Box<[u32]>,
}

struct Builder<'a> {
    nfa: &'a NFA,
    any: LookSet,
    width: usize,
    /// By NFA state, where it leads: first and last class, next state.
    edges: Vec<Vec<(u8, u8, u32)>>,
    index: HashMap<Key, Subset>,
    keys: Vec<Key>,
    /// By class, where the subset at hand leads.
    targets: Vec<Vec<u32>>,
    /// Sum of the sizes of all subsets.
    size: usize,
    /// States that the closure at hand has reached, by the number of the closure.
    seen: Vec<u32>,
    closure: u32,
    reached: Vec<u32>,
    stack: Vec<u32>,
}

/// Determinises `nfa`, anchored at its start as if a line feed stood before it. `None` if the table of states times
/// classes would be larger than `most_cells`, or all subsets together than `most_states`.
pub(crate) fn subsets(nfa: &NFA, most_cells: usize, most_states: usize) -> Option<Subsets> {
    let reps: Vec<u8> = nfa.byte_classes().representatives(0u8..=255).filter_map(|u| u.as_u8()).collect();
    let mut classes = [0u8; 256];
    for b in 0..=255u8 {
        // Classes are runs of bytes, numbered in order.
        classes[usize::from(b)] = nfa.byte_classes().get(b);
    }
    let n = nfa.states().len();
    let mut b = Builder {
        nfa,
        any: nfa.look_set_any(),
        width: reps.len(),
        edges: nfa.states().iter().map(|s| edges(s, &classes, &reps)).collect(),
        index: HashMap::new(),
        keys: vec![Key::default()],
        targets: Vec::new(),
        size: 0,
        seen: vec![0; n],
        closure: 0,
        reached: Vec::new(),
        stack: Vec::new(),
    };
    b.index.insert(Key::default(), 0);
    let mut out = Subsets {
        start: 0,
        rows: vec![0; reps.len()],
        delayed: vec![Box::default()],
        at_end: vec![Box::default()],
        classes,
        reps,
    };
    out.start = b.start(nfa.start_anchored().as_u32())?;
    let mut at = 1;
    while at < b.keys.len() {
        b.expand(at, &mut out)?;
        if out.rows.len() > most_cells || b.size > most_states {
            return None;
        }
        at += 1;
    }
    Some(out)
}

fn edges(state: &NfaState, classes: &[u8; 256], reps: &[u8]) -> Vec<(u8, u8, u32)> {
    let edge = |start: u8, end: u8, next: u32| (classes[usize::from(start)], classes[usize::from(end)], next);
    match state {
        NfaState::ByteRange { trans } => vec![edge(trans.start, trans.end, trans.next.as_u32())],
        NfaState::Sparse(s) => s.transitions.iter().map(|t| edge(t.start, t.end, t.next.as_u32())).collect(),
        NfaState::Dense(d) => reps.iter().filter_map(|b| Some(edge(*b, *b, d.matches(&[*b], 0)?.as_u32()))).collect(),
        _ => Vec::new(),
    }
}

impl Builder<'_> {
    fn start(&mut self, state: u32) -> Option<Subset> {
        let have = self.entered(Unit::Byte(b'\n'));
        self.begin();
        self.reach(state, have);
        self.enter(Unit::Byte(b'\n'), have, Box::default())
    }

    /// Fills the row of a subset.
    fn expand(&mut self, at: usize, out: &mut Subsets) -> Option<()> {
        let key = self.keys[at].clone();
        let looks = key.states.iter().any(|s| matches!(self.nfa.states()[*s as usize], NfaState::Look { .. }));
        out.delayed.push(key.matches.clone());
        let end = if looks { self.ahead(&key, Unit::End) } else { LookSet::empty() };
        let end = self.resolved(&key, looks, end);
        out.at_end.push(self.matches(&end));
        // Classes in front of which the same looks hold: without looks, all.
        let mut kinds: Vec<(LookSet, Vec<usize>)> = Vec::new();
        for class in 0..self.width {
            let ahead = if looks { self.ahead(&key, Unit::Byte(out.reps[class])) } else { LookSet::empty() };
            match kinds.iter_mut().find(|(have, _)| *have == ahead) {
                Some((_, classes)) => classes.push(class),
                None => kinds.push((ahead, vec![class])),
            }
        }
        let row = out.rows.len();
        out.rows.resize(row + self.width, 0);
        let mut targets = std::mem::take(&mut self.targets);
        targets.resize(self.width, Vec::new());
        for (ahead, classes) in kinds {
            let states = self.resolved(&key, looks, ahead);
            let matches = self.matches(&states);
            targets.iter_mut().for_each(Vec::clear);
            for (first, last, next) in states.iter().flat_map(|s| &self.edges[*s as usize]) {
                targets[usize::from(*first)..=usize::from(*last)].iter_mut().for_each(|t| t.push(*next));
            }
            // Neighbours often lead to the same.
            let mut last: Option<(usize, bool, Subset)> = None;
            for class in classes {
                let unit = Unit::Byte(out.reps[class]);
                let lines = unit.is(b'\n') || unit.is(b'\r');
                let same = last.filter(|(c, word, _)| *word == unit.is_word() && targets[*c] == targets[class]);
                let to = match same.filter(|_| !lines) {
                    Some((.., to)) => to,
                    None if targets[class].is_empty() && matches.is_empty() => 0,
                    None => {
                        let have = self.entered(unit);
                        self.begin();
                        for next in &targets[class] {
                            self.reach(*next, have);
                        }
                        self.enter(unit, have, matches.clone())?
                    }
                };
                last = Some((class, unit.is_word(), to)).filter(|_| !lines);
                out.rows[row + class] = to;
            }
        }
        self.targets = targets;
        Some(())
    }

    /// The states of a subset once the next byte is known: what stands behind looks that it fulfils, too.
    fn resolved(&mut self, key: &Key, looks: bool, have: LookSet) -> Vec<u32> {
        if !looks {
            return key.states.to_vec();
        }
        self.begin();
        for s in &key.states {
            self.reach(*s, have);
        }
        std::mem::take(&mut self.reached)
    }

    /// Looks that hold in front of `unit`.
    fn ahead(&self, key: &Key, unit: Unit) -> LookSet {
        let rev = self.nfa.is_reverse();
        let mut have = LookSet { bits: key.have };
        let mut add = |looks: &[Look]| have = looks.iter().fold(have, |h, l| h.insert(*l));
        match unit {
            Unit::End => add(&[Look::End, Look::EndLF, Look::EndCRLF]),
            Unit::Byte(b'\r') if !rev || !key.half_crlf => add(&[Look::EndCRLF]),
            Unit::Byte(b'\n') if rev || !key.half_crlf => add(&[Look::EndLF, Look::EndCRLF]),
            Unit::Byte(b'\n') => add(&[Look::EndLF]),
            Unit::Byte(_) => {}
        }
        if key.half_crlf && !unit.is(if rev { b'\r' } else { b'\n' }) {
            add(&[Look::StartCRLF]);
        }
        match (key.from_word, unit.is_word()) {
            (true, false) => add(&[Look::WordAscii, Look::WordEndAscii]),
            (false, true) => add(&[Look::WordAscii, Look::WordStartAscii]),
            _ => add(&[Look::WordAsciiNegate]),
        }
        if !unit.is_word() {
            add(&[Look::WordEndHalfAscii]);
        }
        have
    }

    /// Looks that hold behind `unit`, whatever follows.
    fn entered(&self, unit: Unit) -> LookSet {
        let rev = self.nfa.is_reverse();
        let mut have = LookSet::empty();
        if unit.is(b'\n') {
            have = have.insert(Look::StartLF);
        }
        if unit.is(if rev { b'\r' } else { b'\n' }) {
            have = have.insert(Look::StartCRLF);
        }
        if !unit.is_word() {
            have = have.insert(Look::WordStartHalfAscii);
        }
        have.intersect(self.any)
    }

    fn begin(&mut self) {
        self.closure += 1;
        self.reached.clear();
    }

    /// Adds what `state` leads to without a byte.
    fn reach(&mut self, state: u32, have: LookSet) {
        self.stack.push(state);
        while let Some(s) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[s as usize], self.closure) == self.closure {
                continue;
            }
            match &self.nfa.states()[s as usize] {
                NfaState::ByteRange { .. } | NfaState::Sparse(_) | NfaState::Dense(_) | NfaState::Match { .. } => {
                    self.reached.push(s);
                }
                NfaState::Look { look, next } => {
                    if have.contains(*look) {
                        self.stack.push(next.as_u32());
                    } else if !matches!(look, Look::Start | Look::StartLF) {
                        // It may hold once the next byte is known.
                        self.reached.push(s);
                    }
                }
                NfaState::Union { alternates } => self.stack.extend(alternates.iter().map(|a| a.as_u32())),
                NfaState::BinaryUnion { alt1, alt2 } => self.stack.extend([alt1.as_u32(), alt2.as_u32()]),
                NfaState::Capture { next, .. } => self.stack.push(next.as_u32()),
                NfaState::Fail => {}
            }
        }
    }

    /// The number of the subset of what was reached. `None` if there are too many.
    fn enter(&mut self, unit: Unit, have: LookSet, matches: Box<[u16]>) -> Option<Subset> {
        self.reached.sort_unstable();
        let needs = self.reached.iter().any(|s| matches!(self.nfa.states()[*s as usize], NfaState::Look { .. }));
        let crlf = self.any.contains_anchor_crlf();
        let key = Key {
            have: if needs { have.bits } else { 0 },
            from_word: needs && unit.is_word(),
            half_crlf: needs && crlf && unit.is(if self.nfa.is_reverse() { b'\n' } else { b'\r' }),
            matches,
            states: self.reached.as_slice().into(),
        };
        if let Some(known) = self.index.get(&key) {
            return Some(*known);
        }
        let number = Subset::try_from(self.keys.len()).ok()?;
        self.size += key.states.len();
        self.keys.push(key.clone());
        self.index.insert(key, number);
        Some(number)
    }

    /// The patterns that a subset accepts, rising.
    fn matches(&self, states: &[u32]) -> Box<[u16]> {
        let pattern = |s: &u32| match &self.nfa.states()[*s as usize] {
            NfaState::Match { pattern_id } => u16::try_from(pattern_id.as_usize()).ok(),
            _ => None,
        };
        let mut out: Vec<u16> = states.iter().filter_map(pattern).collect();
        out.sort_unstable();
        out.dedup();
        out.into()
    }
}
