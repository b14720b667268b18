//! Where class rules are tried: rules that no literal gives away, such as numbers.
//!
//! They share automata, one a *bucket*, and a bucket is tried where the bytes at hand fit its trigger tables: one bit a
//! bucket for what each of the first bytes can be. The fewer places fit by chance, the faster the engine, so rules go
//! together that look alike: their [`Shape`]s are merged, cheapest first, until few enough buckets are left.

use crate::dfa::Dfa;
use crate::expr::Expr;
use crate::nearby::Gate;
use crate::parallel;
use crate::shape::ByteSet;
use crate::simd::{RUN, Runs};

/// How many bytes of a span the trigger tables look at.
pub(crate) const PLACES: usize = 8;
/// Most buckets: the bits of a trigger.
pub(crate) const MAX_BUCKETS: usize = 32;
/// Most rules of a bucket: the bits of what an automaton tells.
const MAX_RULES: usize = 64;

/// A rule that waits for its bucket.
#[derive(Clone, Debug)]
pub(crate) struct ClassRule {
    pub(crate) acting: bool,
    pub(crate) forward: Expr,
    pub(crate) body: Option<Expr>,
    /// What can stand at its first places.
    pub(crate) shape: Vec<ByteSet>,
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
    /// not there yet. `n` is at least 1 and at most [`crate::simd::BLOCK`].
    pub(crate) fn places(&self, bytes: &[u8], n: usize, open: u32) -> u64 {
        self.runs.places(bytes, n, open)
    }

    /// The buckets that guard and span at the beginning of `bytes` fit; what is not there yet may be anything.
    pub(crate) fn fitting(&self, bytes: &[u8]) -> u32 {
        if let Some([guard, span @ ..]) = bytes.first_chunk::<{ PLACES + 1 }>() {
            // Without branches: nearly everything that comes here fits the first few.
            let fits = self.bytes.iter().zip(span).map(|(table, b)| table[usize::from(*b)]);
            return fits.fold(self.guard[usize::from(*guard)], |bits, fits| bits & fits);
        }
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

/// Puts rules into buckets: lists of indices. Acting and reporting ones apart, so that a rule that only reports never
/// holds a byte; those that need a nearby word apart, so that they cost nothing without one; and those that ask that
/// none stands there, so that the others need not ask.
pub(crate) fn buckets(rules: &[ClassRule]) -> Vec<Vec<u32>> {
    let texts = Texts::new();
    let mut buckets: Vec<Bucket> = Vec::new();
    for (i, r) in (0..).zip(rules) {
        let b = Bucket::of(i, r, &texts);
        match buckets.iter_mut().find(|o| o.kind == b.kind && o.places == b.places && o.rules.len() < MAX_RULES) {
            Some(o) => o.rules.extend(b.rules),
            None => buckets.push(b),
        }
    }
    // Some room for buckets whose automaton turns out too large and is halved.
    let most = MAX_BUCKETS * 7 / 8;
    // For each bucket, the one behind it that it is merged with most cheaply.
    let all: Vec<usize> = (0..buckets.len()).collect();
    let mut best: Vec<Option<(f32, usize)>> = parallel::map(&all, |i| cheapest(&buckets, *i, &texts));
    while buckets.len() > most {
        let Some((_, i, j)) =
            best.iter().enumerate().filter_map(|(i, b)| b.map(|(c, j)| (c, i, j))).min_by(|a, b| a.0.total_cmp(&b.0))
        else {
            break;
        };
        let other = buckets.remove(j);
        best.remove(j);
        buckets[i].merge(other, &texts);
        for k in 0..buckets.len() {
            let stale = best[k].is_none_or(|(_, with)| with == i || with == j);
            if let Some((_, with)) = &mut best[k] {
                *with -= usize::from(*with > j);
            }
            if k == i || stale {
                best[k] = cheapest(&buckets, k, &texts);
            } else if k < i {
                let limit = best[k].map_or(f32::INFINITY, |(c, _)| c);
                let cost = buckets[k].cost_with(&buckets[i], &texts, limit);
                best[k] = [best[k], cost.map(|c| (c, i))].into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0));
            }
        }
    }
    buckets.into_iter().map(|b| b.rules).collect()
}

/// What decides how rules are put into buckets, and nothing else.
pub(crate) fn key(rules: &[ClassRule]) -> [u8; 32] {
    let mut hash = blake3::Hasher::new();
    for r in rules {
        let Kind { acting, asks } = r.kind();
        hash.update(&[u8::from(acting), asks as u8]);
        r.places().iter().for_each(|p| {
            hash.update(&p.to_le_bytes());
        });
    }
    *hash.finalize().as_bytes()
}

/// Whether `buckets` could be what [`buckets`] made of `rules`: each rule once, and none with others that it must not
/// share an automaton with.
pub(crate) fn are_buckets(buckets: &[Vec<u32>], rules: &[ClassRule]) -> bool {
    let mut seen = vec![false; rules.len()];
    let fits = |bucket: &Vec<u32>| {
        let mut kinds = bucket.iter().map(|i| rules.get(*i as usize).map(ClassRule::kind));
        let first = kinds.next().flatten();
        first.is_some() && kinds.all(|k| k == first) && bucket.len() <= MAX_RULES
    };
    buckets.iter().all(fits)
        && buckets.iter().flatten().all(|i| !std::mem::replace(&mut seen[*i as usize], true))
        && seen.iter().all(|s| *s)
}

fn cheapest(buckets: &[Bucket], i: usize, texts: &Texts) -> Option<(f32, usize)> {
    let mut best: Option<(f32, usize)> = None;
    for j in i + 1..buckets.len() {
        let limit = best.map_or(f32::INFINITY, |(c, _)| c);
        let cost = buckets[i].cost_with(&buckets[j], texts, limit);
        best = cost.filter(|c| *c < limit).map(|c| (c, j)).or(best);
    }
    best
}

impl ClassRule {
    fn kind(&self) -> Kind {
        let asks = match self.gate {
            Gate { nearby: Some(_), .. } => Asks::Word,
            Gate { unless: Some(_), .. } => Asks::NoWord,
            _ => Asks::Nothing,
        };
        Kind { acting: self.acting, asks }
    }

    fn places(&self) -> [u128; PLACES + 1] {
        let mut places = std::array::from_fn(|i| self.shape.get(i).map_or(u128::MAX, fold_high));
        places[1..].iter_mut().skip(self.least).for_each(|p| *p = u128::MAX);
        places
    }
}

/// Rules that differ in it stay apart.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind {
    acting: bool,
    asks: Asks,
}

/// What a rule asks of the words before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    Nothing,
    /// That some are not there.
    NoWord,
    /// That some are.
    Word,
}

struct Bucket {
    rules: Vec<u32>,
    kind: Kind,
    places: [u128; PLACES + 1],
    /// How often its tables fit a text, in some unit.
    cost: f32,
}

impl Bucket {
    fn of(index: u32, rule: &ClassRule, texts: &Texts) -> Bucket {
        let (kind, places) = (rule.kind(), rule.places());
        Bucket { rules: vec![index], kind, cost: texts.cost(&places, kind.asks, f32::INFINITY), places }
    }

    fn merge(&mut self, other: Bucket, texts: &Texts) {
        self.places = self.places_with(&other);
        self.rules.extend(other.rules);
        self.cost = texts.cost(&self.places, self.kind.asks, f32::INFINITY);
    }

    fn places_with(&self, other: &Bucket) -> [u128; PLACES + 1] {
        std::array::from_fn(|i| self.places[i] | other.places[i])
    }

    /// What it costs to make one of the two; `None` if that must not be. What comes out beyond `limit` is only a part.
    fn cost_with(&self, other: &Bucket, texts: &Texts, limit: f32) -> Option<f32> {
        if self.kind != other.kind || self.rules.len() + other.rules.len() > MAX_RULES {
            return None;
        }
        let now = self.cost + other.cost;
        Some(texts.cost(&self.places_with(other), self.kind.asks, limit + now) - self.cost - other.cost)
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

    /// How often a text fits `places`. Not looked at further once it is beyond `limit`, with a margin for rounding.
    fn cost(&self, places: &[u128], asks: Asks, limit: f32) -> f32 {
        // A word that opens the gate is rare.
        let rare = if asks == Asks::Word { 0.01 } else { 1.0 };
        let limit = limit * 1.001 / rare;
        let mut cost = 0.0;
        for (weight, sums) in &self.kinds {
            let mut chance = 1.0;
            for p in places {
                chance *= p.to_le_bytes().iter().zip(sums).map(|(b, s)| s[usize::from(*b)]).sum::<f32>();
            }
            cost += weight * chance;
            if cost > limit {
                break;
            }
        }
        cost * rare
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
