//! Words before a span, for all rules at once.
//!
//! A thousand rules ask whether one of their words stands near a span, and one number can be a match of dozens of
//! them. So the words of all rules are literals of the candidate stage, which reads every byte anyway; a stream
//! remembers the last few it saw. A rule is asked *before* its automaton is started: whether a word stands in front of
//! a start is known there, and a start without its word is none. In a text without such words those rules cost nothing.

use std::collections::{BTreeMap, HashMap};

use crate::pack::{Edges, Nearby};
use crate::splice::Window;

/// Which list of words a rule asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListId(u16);

/// What a rule wants to stand before its spans, and what not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gate {
    pub(crate) nearby: Option<ListId>,
    pub(crate) unless: Option<ListId>,
}

impl Gate {
    /// Whether it is open where the lists in `here` have a word.
    pub(crate) fn is_open(self, here: &[u64]) -> bool {
        self.wants(here) && !self.unless.is_some_and(|list| has(here, list))
    }

    /// Whether what must stand before the span is among the lists in `here`.
    fn wants(self, here: &[u64]) -> bool {
        self.nearby.is_none_or(|list| has(here, list))
    }

    /// Whether there is anything to ask.
    pub(crate) fn asks(self) -> bool {
        self != Gate::default()
    }
}

fn has(here: &[u64], list: ListId) -> bool {
    here[usize::from(list.0 >> 6)] >> (list.0 & 63) & 1 != 0
}

/// How a word may stand and how far away, and the lists that want it so.
type Uses = BTreeMap<(Edges, usize), Vec<ListId>>;

/// Collects the lists of a rule set.
#[derive(Default)]
pub(crate) struct NearbyBuilder {
    words: BTreeMap<Vec<u8>, Uses>,
    lists: HashMap<String, ListId>,
}

impl NearbyBuilder {
    /// Adds a list; equal lists are one.
    pub(crate) fn add(&mut self, n: &Nearby) -> Result<ListId, String> {
        let key = format!("{n:?}");
        if let Some(id) = self.lists.get(&key) {
            return Ok(*id);
        }
        let id = ListId(u16::try_from(self.lists.len()).map_err(|_| "more than 65,535 lists of nearby words")?);
        for w in &n.words {
            let (word, edges) = Edges::of(w);
            let uses = self.words.entry(word.to_ascii_lowercase().into_bytes()).or_default();
            let lists = uses.entry((edges, n.within)).or_default();
            if lists.last() != Some(&id) {
                lists.push(id);
            }
        }
        self.lists.insert(key, id);
        Ok(id)
    }

    /// The words, each known by the number that `literal` gives it.
    pub(crate) fn build(self, mut literal: impl FnMut(Vec<u8>, u32)) -> NearbyWords {
        let stride = self.lists.len().div_ceil(64);
        let mut words = Vec::new();
        for (word, uses) in self.words {
            let uses = uses.into_iter().map(|((edges, within), lists)| {
                let mut row = vec![0; stride].into_boxed_slice();
                lists.iter().for_each(|l| row[usize::from(l.0 >> 6)] |= 1 << (l.0 & 63));
                Use { edges, within: within as u64, lists: row }
            });
            words.push(Word { len: word.len() as u64, uses: uses.collect() });
            literal(word, words.len() as u32 - 1);
        }
        NearbyWords { words, stride }
    }
}

impl NearbyWords {
    /// For each word, which of `gates` it may open, a bit each.
    pub(crate) fn opens(&self, gates: &[(u32, Gate)]) -> Vec<u32> {
        let opens = |word: &Word, gate: &Gate| word.uses.iter().any(|u| gate.wants(&u.lists));
        let of = |word| gates.iter().filter(|(_, gate)| opens(word, gate)).fold(0, |all, (bits, _)| all | bits);
        self.words.iter().map(of).collect()
    }
}

/// All nearby words of a rule set.
#[derive(Debug)]
pub(crate) struct NearbyWords {
    words: Vec<Word>,
    /// Length of a set of lists, in words of 64 bits.
    stride: usize,
}

#[derive(Debug)]
struct Word {
    len: u64,
    uses: Box<[Use]>,
}

/// How a word may stand for some lists.
#[derive(Debug)]
struct Use {
    edges: Edges,
    /// How far before a span it may begin.
    within: u64,
    lists: Box<[u64]>,
}

/// The words that a stream has seen of late.
#[derive(Default)]
pub(crate) struct Near {
    /// Word and end, in order of their end.
    seen: Vec<(u32, u64)>,
}

/// The lists that have a word before one place.
#[derive(Default)]
pub(crate) struct Here {
    start: u64,
    lists: Vec<u64>,
}

impl Here {
    /// Forgets: what was asked before was asked of another piece or stream.
    pub(crate) fn clear(&mut self) {
        self.start = u64::MAX;
    }
}

impl Near {
    /// A word ends `end` bytes into the window. One that is only part of a longer word, where no list wants it so, is
    /// not noted; at the end of the window that cannot be told yet.
    pub(crate) fn note(&mut self, all: &NearbyWords, word: u32, end: usize, w: Window<'_>) {
        let Word { len, uses } = &all.words[word as usize];
        if uses.iter().any(|u| u.edges.hold(w.bytes, end - *len as usize, end)) {
            self.seen.push((word, w.base + end as u64));
        }
    }

    /// The words that end in `from..=to`.
    pub(crate) fn between(&self, from: u64, to: u64) -> impl Iterator<Item = u32> {
        let begin = self.seen.partition_point(|(_, end)| *end < from);
        self.seen[begin..].iter().take_while(move |(_, end)| *end <= to).map(|(word, _)| *word)
    }

    /// No word was seen that anything may still ask for.
    pub(crate) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// The lists with a word in front of a span at `start`. All words of the window must have been noted.
    pub(crate) fn lists<'a>(&self, all: &NearbyWords, start: u64, w: Window<'_>, here: &'a mut Here) -> &'a [u64] {
        if here.start == start {
            return &here.lists;
        }
        here.start = start;
        here.lists.clear();
        here.lists.resize(all.stride, 0);
        for (word, end) in self.seen.iter().rev().skip_while(|(_, end)| *end > start) {
            if *end + Nearby::MAX_WITHIN as u64 <= start {
                break;
            }
            let word = &all.words[*word as usize];
            let begin = end - word.len;
            for u in word.uses.iter().filter(|u| begin + u.within >= start) {
                let text = w.slice(w.base, start);
                if u.edges.hold(text, (begin - w.base) as usize, (end - w.base) as usize) {
                    here.lists.iter_mut().zip(&u.lists).for_each(|(a, b)| *a |= b);
                }
            }
        }
        &here.lists
    }

    /// Forgets words that ended before `from`.
    pub(crate) fn forget(&mut self, from: u64) {
        if self.seen.first().is_some_and(|(_, end)| *end < from) {
            self.seen.drain(..self.seen.partition_point(|(_, end)| *end < from));
            if self.seen.capacity() > 64 && self.seen.len() < 16 {
                self.seen.shrink_to(16);
            }
        }
    }

    /// Bytes on the heap.
    pub(crate) fn memory(&self) -> usize {
        self.seen.capacity() * size_of::<(u32, u64)>()
    }
}
