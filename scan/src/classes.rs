//! Where class rules are tried: rules that no literal gives away, such as numbers.
//!
//! They share automata, one a *bucket*, and a bucket is tried where the bytes at hand fit its trigger tables: one bit a
//! bucket for what each of the first bytes can be. The fewer places fit by chance, the faster the engine, so rules go
//! together that look alike: their [`Shape`]s are merged, cheapest first, until few enough buckets are left.

use regex_syntax::hir::Hir;

use crate::dfa::Dfa;
use crate::nearby::Gate;
use crate::shape::{ByteSet, Shape};
use crate::simd::{BLOCK, RUN, Runs};

/// How many bytes of a span the trigger tables look at.
const PLACES: usize = 8;
/// Most buckets: the bits of a trigger.
pub(crate) const MAX_BUCKETS: usize = 32;
/// Most rules of a bucket: the bits of what an automaton tells.
const MAX_RULES: usize = 64;

/// A rule that waits for its bucket.
#[derive(Clone, Debug)]
pub(crate) struct ClassRule {
    pub(crate) acting: bool,
    pub(crate) forward: Hir,
    pub(crate) body: Option<Hir>,
    /// Shortest span in bytes.
    pub(crate) least: usize,
    pub(crate) gate: Gate,
    pub(crate) member: usize,
}

/// One bit a bucket.
#[derive(Debug)]
pub(crate) struct Triggers {
    guard: [u32; 256],
    /// What the first bytes of a span can be, each by itself.
    bytes: [[u32; 256]; PLACES],
    /// Group of each bucket.
    pub(crate) groups: Vec<u32>,
    /// Buckets that may be tried where no word stands.
    pub(crate) free: u32,
    /// For each nearby word, the other buckets that it opens.
    pub(crate) opened_by: Vec<u32>,
    /// The tables of guard and first bytes, coarser: many places at once.
    runs: Runs,
}

impl Triggers {
    pub(crate) fn new() -> Triggers {
        Triggers {
            guard: [0; 256],
            bytes: [[0; 256]; PLACES],
            groups: Vec::new(),
            free: 0,
            opened_by: Vec::new(),
            runs: Runs::default(),
        }
    }

    /// A bit for each place among the first `n` of `bytes` where guard and next bytes may fit a bucket of `open`, or are
    /// not there yet. `n` is at least 1 and at most [`BLOCK`].
    pub(crate) fn places(&self, bytes: &[u8], n: usize, open: u32) -> u64 {
        let sure = n.min(bytes.len().saturating_sub(RUN - 1));
        // What stands too near the end to be looked at.
        let unsure = (u64::MAX >> (BLOCK - n)) & !(u64::MAX.checked_shr((BLOCK - sure) as u32).unwrap_or(0));
        unsure | if sure == 0 { 0 } else { self.runs.places(bytes, sure, open) }
    }

    /// The buckets that guard and span at the beginning of `bytes` fit; what is not there yet may be anything.
    pub(crate) fn fitting(&self, bytes: &[u8]) -> u32 {
        let guard = self.guard[usize::from(bytes[0])];
        self.bytes.iter().zip(&bytes[1..]).fold(guard, |bits, (table, b)| bits & table[usize::from(*b)])
    }

    /// Adds a bucket: `forward` is its automaton, `least` its shortest span. `None` if there are too many.
    pub(crate) fn add(&mut self, forward: &Dfa, least: usize, group: u32, gated: bool) -> Option<()> {
        if self.groups.len() == MAX_BUCKETS {
            return None;
        }
        let bit = 1 << self.groups.len();
        let mut states = forward.step(&[forward.start()], |b| self.guard[usize::from(b)] |= bit);
        // No further than the shortest span: an automaton that is never started must not have been able to outlive the
        // decision about a later start.
        for (i, table) in self.bytes.iter_mut().enumerate() {
            if i < least {
                states = forward.step(&states, |b| table[usize::from(b)] |= bit);
            } else {
                table.iter_mut().for_each(|t| *t |= bit);
            }
        }
        let tables = std::iter::once(&self.guard).chain(&self.bytes).take(RUN);
        for (place, table) in tables.enumerate() {
            let fits = (0..=255u8).filter(|b| table[usize::from(*b)] & bit != 0);
            fits.for_each(|b| self.runs.add(self.groups.len(), place, b));
        }
        self.free |= if gated { 0 } else { bit };
        self.groups.push(group);
        Some(())
    }
}

/// Puts rules into buckets. Acting and reporting ones apart, so that a rule that only reports never holds a byte; those
/// that need a nearby word apart, so that they cost nothing without one.
pub(crate) fn buckets(rules: Vec<ClassRule>) -> Vec<Vec<ClassRule>> {
    let texts = Texts::new();
    let mut buckets: Vec<Bucket> = Vec::new();
    for r in rules {
        let b = Bucket::of(r, &texts);
        match buckets.iter_mut().find(|o| o.kind == b.kind && o.places == b.places && o.rules.len() < MAX_RULES) {
            Some(o) => o.rules.extend(b.rules),
            None => buckets.push(b),
        }
    }
    // Some room for buckets whose automaton turns out too large and is halved.
    let most = MAX_BUCKETS * 7 / 8;
    // For each bucket, the one behind it that it is merged with most cheaply.
    let mut best: Vec<Option<(f32, usize)>> = (0..buckets.len()).map(|i| cheapest(&buckets, i, &texts)).collect();
    while buckets.len() > most {
        let Some((_, i, j)) =
            best.iter().enumerate().filter_map(|(i, b)| b.map(|(c, j)| (c, i, j))).min_by(|a, b| a.0.total_cmp(&b.0))
        else {
            break;
        };
        let other = buckets.remove(j);
        best.remove(j);
        buckets[i] = buckets[i].with(&other, &texts);
        for k in 0..buckets.len() {
            let stale = best[k].is_none_or(|(_, with)| with == i || with == j);
            if let Some((_, with)) = &mut best[k] {
                *with -= usize::from(*with > j);
            }
            if k == i || stale {
                best[k] = cheapest(&buckets, k, &texts);
            } else if k < i {
                let cost = buckets[k].cost_with(&buckets[i], &texts);
                best[k] = [best[k], cost.map(|c| (c, i))].into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0));
            }
        }
    }
    buckets.into_iter().map(|b| b.rules).collect()
}

fn cheapest(buckets: &[Bucket], i: usize, texts: &Texts) -> Option<(f32, usize)> {
    let costs = (i + 1..buckets.len()).filter_map(|j| Some((buckets[i].cost_with(&buckets[j], texts)?, j)));
    costs.min_by(|a, b| a.0.total_cmp(&b.0))
}

#[derive(Clone)]
struct Bucket {
    rules: Vec<ClassRule>,
    /// Acting, gated: buckets that differ in it stay apart.
    kind: (bool, bool),
    places: [u128; PLACES + 1],
    /// How often its tables fit a text, in some unit.
    cost: f32,
}

impl Bucket {
    fn of(rule: ClassRule, texts: &Texts) -> Bucket {
        let shape = Shape::of(&rule.forward, PLACES + 1);
        let mut places: [u128; PLACES + 1] = std::array::from_fn(|i| fold_high(&shape[i]));
        places[1..].iter_mut().skip(rule.least).for_each(|p| *p = u128::MAX);
        let kind = (rule.acting, rule.gate.nearby.is_some());
        Bucket { rules: vec![rule], kind, cost: texts.cost(&places, kind.1), places }
    }

    fn with(&self, other: &Bucket, texts: &Texts) -> Bucket {
        let places = std::array::from_fn(|i| self.places[i] | other.places[i]);
        Bucket {
            rules: [self.rules.as_slice(), other.rules.as_slice()].concat(),
            kind: self.kind,
            cost: texts.cost(&places, self.kind.1),
            places,
        }
    }

    /// What it costs to make one of the two; `None` if that must not be.
    fn cost_with(&self, other: &Bucket, texts: &Texts) -> Option<f32> {
        if self.kind != other.kind || self.rules.len() + other.rules.len() > MAX_RULES {
            return None;
        }
        let places: [u128; PLACES + 1] = std::array::from_fn(|i| self.places[i] | other.places[i]);
        Some(texts.cost(&places, self.kind.1) - self.cost - other.cost)
    }
}

/// A set as one word: bytes beyond ASCII are one.
fn fold_high(set: &ByteSet) -> u128 {
    let ascii = (0..127u8).filter(|b| set.has(*b)).fold(0, |m, b| m | 1 << b);
    ascii | u128::from((127..=255u8).any(|b| set.has(b))) << 127
}

/// Kinds of text, by how often their bytes are: what is unlikely in each of them is unlikely.
struct Texts {
    /// For each kind its weight, and for each eight bytes of the alphabet the sums over their subsets.
    kinds: Vec<(f32, Vec<[f32; 256]>)>,
}

impl Texts {
    fn new() -> Texts {
        // Shares of digits, a-f, g-z, capitals, white space, marks, bytes beyond ASCII.
        let kinds = [
            (0.4, [0.01, 0.22, 0.55, 0.03, 0.16, 0.03, 0.0]),
            (0.3, [0.03, 0.19, 0.42, 0.05, 0.17, 0.14, 0.0]),
            (0.1, [0.6, 0.04, 0.04, 0.03, 0.06, 0.23, 0.0]),
            (0.05, [0.58, 0.4, 0.0, 0.0, 0.01, 0.01, 0.0]),
            (0.05, [0.14, 0.1, 0.3, 0.42, 0.01, 0.03, 0.0]),
            (0.1, [0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.94]),
        ];
        Texts { kinds: kinds.map(|(weight, shares)| (weight, sums(&shares))).into() }
    }

    fn cost(&self, places: &[u128], gated: bool) -> f32 {
        let of = |sums: &Vec<[f32; 256]>| -> f32 {
            let chance = |p: &u128| -> f32 { p.to_le_bytes().iter().zip(sums).map(|(b, s)| s[usize::from(*b)]).sum() };
            places.iter().map(chance).product()
        };
        let cost: f32 = self.kinds.iter().map(|(weight, sums)| weight * of(sums)).sum();
        // A word that opens the gate is rare.
        if gated { cost * 0.01 } else { cost }
    }
}

fn sums(shares: &[f32; 7]) -> Vec<[f32; 256]> {
    let kind = |b: u8| match b {
        b'0'..=b'9' => 0,
        b'a'..=b'f' => 1,
        b'g'..=b'z' => 2,
        b'A'..=b'Z' => 3,
        b' ' | b'\n' | b'\t' | b'\r' => 4,
        0..127 => 5,
        127.. => 6,
    };
    let mut count = [0f32; 7];
    (0..=127).for_each(|b| count[kind(b)] += 1.0);
    let chance = |b: u8| shares[kind(b)] / count[kind(b)];
    let of = |chunk: u8, bits: usize| (0..8).filter(|i| bits >> i & 1 != 0).map(|i| chance(chunk * 8 + i)).sum();
    (0..16).map(|chunk| std::array::from_fn(|bits| of(chunk, bits))).collect()
}
