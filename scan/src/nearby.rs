//! Words before a span, for all rules at once.
//!
//! A thousand rules ask whether one of their words stands near a span, and one number can be a match of dozens of
//! them. Two kinds of words:
//!
//! - *early* ones, which class rules need before they are even tried: they are needles of the candidate stage, which
//!   reads every byte anyway, and a stream remembers the last few that it saw. In a text without such words those
//!   rules cost nothing.
//! - *late* ones, which only rules ask for that a literal gave away, and what must not stand there: the text before a
//!   span is searched for them when one of those rules was found. Most texts are never searched.
//!
//! A rule is asked *before* its automaton is started: whether a word stands in front of a start is known there, and a
//! start without its word is none.

use std::collections::{BTreeMap, HashMap};

use crate::candidates::{Candidates, Hit, Needle, Portable, Spelling};
use crate::pack::{Edges, Nearby};
use crate::shape::ByteSet;
use crate::splice::Window;

/// Which list of words a rule asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListId(u16);

impl ListId {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What a rule wants to stand before its spans, and what not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gate {
    pub(crate) nearby: Option<ListId>,
    pub(crate) unless: Option<ListId>,
}

impl Gate {
    /// Whether it is open where the lists in `here` have a word.
    fn is_open(self, here: &[u64]) -> bool {
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
    /// By list, whether it must be known early, and how far it looks back.
    early: Vec<(bool, u64)>,
}

impl NearbyBuilder {
    /// Adds a list; equal lists are one.
    pub(crate) fn add(&mut self, n: &Nearby, early: bool) -> Result<ListId, String> {
        let key = format!("{n:?}");
        if let Some(id) = self.lists.get(&key) {
            self.early[usize::from(id.0)].0 |= early;
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
        self.early.push((early, n.within as u64));
        Ok(id)
    }

    /// The words; what looks for the early ones is `needle`'s to keep.
    pub(crate) fn build(self, mut needle: impl FnMut(Spelling, ByteSet, u32)) -> NearbyWords {
        let stride = self.lists.len().div_ceil(64);
        let row_of = |lists: &mut dyn Iterator<Item = ListId>| {
            let mut row = vec![0; stride].into_boxed_slice();
            lists.for_each(|l| row[usize::from(l.0 >> 6)] |= 1 << (l.0 & 63));
            row
        };
        let early_lists =
            row_of(&mut (0u16..).zip(&self.early).filter(|(_, (early, _))| *early).map(|(i, _)| ListId(i)));
        let (mut words, mut late) = (Vec::new(), Vec::new());
        for (word, uses) in self.words {
            let early = uses.values().flatten().any(|l| self.early[usize::from(l.0)].0);
            let id = words.len() as u32;
            for (spelling, guard) in spellings(&word, uses.keys().all(|(edges, _)| edges.before())) {
                if early {
                    needle(spelling, guard, id);
                } else {
                    late.push(Needle { spelling, guard, id });
                }
            }
            let uses = uses.into_iter().map(|((edges, within), lists)| Use {
                edges,
                within: within as u64,
                lists: row_of(&mut lists.into_iter()),
            });
            let uses: Box<[Use]> = uses.collect();
            let reach = uses.iter().map(|u| u.within).max().unwrap_or(0);
            words.push(Word { len: word.len() as u64, reach, uses });
        }
        let late = (!late.is_empty()).then(|| Portable::new(late));
        let within = self.early.into_iter().map(|(_, within)| within).collect();
        NearbyWords { words, stride, early: early_lists, within, late }
    }
}

/// How a word may be spelled, and what may stand before it: see [`Edges::hold`].
fn spellings(word: &[u8], edge: bool) -> Vec<(Spelling, ByteSet)> {
    if !edge || !word[0].is_ascii_alphabetic() {
        return vec![(Spelling::any_case(word), ByteSet::full())];
    }
    let no_letter = ByteSet::of(|b| !b.is_ascii_alphabetic());
    let small = ByteSet::of(|b| b.is_ascii_lowercase());
    vec![(Spelling::any_case(word), no_letter), (Spelling::capitalized(word), small)]
}

impl NearbyWords {
    /// Whether the words that must stand there are noted before anything asks.
    fn is_early(&self, gate: &Gate) -> bool {
        gate.nearby.is_some_and(|list| has(&self.early, list))
    }

    /// For each early word, which of `gates` it may open, a bit each.
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
    /// The lists whose words the candidate stage finds.
    early: Box<[u64]>,
    /// How far each list looks back.
    within: Vec<u64>,
    /// Finds the words that are in no such list.
    late: Option<Portable>,
}

#[derive(Debug)]
struct Word {
    len: u64,
    /// No list wants it further before a span.
    reach: u64,
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
    /// Early words and their ends, in order of their end.
    seen: Vec<(u32, u64)>,
    /// The same for late words.
    late: Vec<(u32, u64)>,
    /// What was searched for late words.
    searched: std::ops::Range<u64>,
}

/// The lists that have a word before one place.
#[derive(Default)]
pub(crate) struct Here {
    start: u64,
    lists: Vec<u64>,
    hits: Vec<Hit>,
}

impl Here {
    /// Forgets: what was asked before was asked of another piece or stream.
    pub(crate) fn clear(&mut self) {
        self.start = u64::MAX;
    }
}

impl Near {
    /// An early word ends `end` bytes into the window. One that is only part of a longer word, where no list wants it
    /// so, is not noted; at the end of the window that cannot be told yet.
    pub(crate) fn note(&mut self, all: &NearbyWords, word: u32, end: usize, w: Window<'_>) {
        let Word { len, uses, .. } = &all.words[word as usize];
        if uses.iter().any(|u| u.edges.hold(w.bytes, end - *len as usize, end)) {
            self.seen.push((word, w.base + end as u64));
        }
    }

    /// The early words that some list may have in front of a span that starts in `from..=to`.
    pub(crate) fn before(&self, all: &NearbyWords, from: u64, to: u64) -> impl Iterator<Item = u32> {
        let begin = self.seen.partition_point(|(_, end)| *end + (Nearby::MAX_WITHIN as u64) < from);
        let near = self.seen[begin..].iter().take_while(move |(_, end)| *end <= to);
        near.filter(move |(word, end)| end + all.words[*word as usize].reach >= from).map(|(word, _)| *word)
    }

    /// No early word was seen that anything may still ask for.
    pub(crate) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Those of `opened_by`, bits by list, whose list has an early word in front of a span at `start`. All early words of
    /// the window must have been noted.
    pub(crate) fn early(
        &self,
        all: &NearbyWords,
        start: u64,
        w: Window<'_>,
        here: &mut Here,
        opened_by: &[u64],
    ) -> u64 {
        self.gather(all, start, w, here);
        let mut bits = 0;
        for (chunk, lists) in opened_by.chunks(64).zip(&here.lists) {
            let mut lists = *lists;
            while lists != 0 {
                bits |= chunk.get(lists.trailing_zeros() as usize).unwrap_or(&0);
                lists &= lists - 1;
            }
        }
        bits
    }

    /// Gathers the lists with an early word in front of `start`.
    fn gather(&self, all: &NearbyWords, start: u64, w: Window<'_>, here: &mut Here) {
        if here.start != start {
            here.start = start;
            here.lists.clear();
            here.lists.resize(all.stride, 0);
            add_lists(&self.seen, all, start, w, &mut here.lists);
        }
    }

    /// Whether a gate is open for a span at `start`. All early words of the window must have been noted.
    pub(crate) fn opens(&mut self, gate: Gate, all: &NearbyWords, start: u64, w: Window<'_>, here: &mut Here) -> bool {
        self.gather(all, start, w, here);
        if all.is_early(&gate) && !gate.wants(&here.lists) {
            return false;
        }
        let late = [gate.nearby, gate.unless].into_iter().flatten().filter(|list| !has(&all.early, *list));
        if let Some(within) = late.map(|list| all.within[usize::from(list.0)]).max() {
            self.search(all, start, within, w, &mut here.hits);
            add_lists(&self.late, all, start, w, &mut here.lists);
        }
        gate.is_open(&here.lists)
    }

    /// Searches the `within` bytes before `start` for late words. What was searched is not searched again, as long as
    /// starts come in order or nearly so.
    fn search(&mut self, all: &NearbyWords, start: u64, within: u64, w: Window<'_>, hits: &mut Vec<Hit>) {
        let Some(needles) = &all.late else { return };
        let from = start.saturating_sub(within).max(w.base);
        if self.searched.end < from || start < self.searched.start || self.searched.is_empty() {
            self.late.clear();
            self.searched = from..from;
        }
        if from < self.searched.start {
            let rest = std::mem::take(&mut self.late);
            self.look(needles, all, from..self.searched.start, w, hits);
            self.late.extend(rest);
            self.searched.start = from;
        }
        if self.searched.end < start {
            self.look(needles, all, self.searched.end..start, w, hits);
            self.searched.end = start;
        }
    }

    /// Notes the late words that end in `range`.
    fn look(
        &mut self,
        needles: &Portable,
        all: &NearbyWords,
        range: std::ops::Range<u64>,
        w: Window<'_>,
        hits: &mut Vec<Hit>,
    ) {
        hits.clear();
        let text = w.slice(w.base, range.end);
        needles.scan(text, (range.start - w.base) as usize, hits);
        for hit in hits {
            let Word { len, uses, .. } = &all.words[hit.literal as usize];
            // What follows the last byte is not known here.
            if uses.iter().any(|u| u.edges.hold(text, hit.end - *len as usize, hit.end)) {
                self.late.push((hit.literal, w.base + hit.end as u64));
            }
        }
    }

    /// Forgets words that ended before `from`.
    pub(crate) fn forget(&mut self, from: u64) {
        for seen in [&mut self.seen, &mut self.late] {
            if seen.first().is_some_and(|(_, end)| *end < from) {
                seen.drain(..seen.partition_point(|(_, end)| *end < from));
                if seen.capacity() > 64 && seen.len() < 16 {
                    seen.shrink_to(16);
                }
            }
        }
        self.searched = self.searched.start.max(from)..self.searched.end.max(from);
    }

    /// Bytes on the heap.
    pub(crate) fn memory(&self) -> usize {
        (self.seen.capacity() + self.late.capacity()) * size_of::<(u32, u64)>()
    }
}

/// Adds the lists that have one of `seen` in front of a span at `start`.
fn add_lists(seen: &[(u32, u64)], all: &NearbyWords, start: u64, w: Window<'_>, lists: &mut [u64]) {
    let before = seen.partition_point(|(_, end)| *end <= start);
    for (word, end) in seen[..before].iter().rev() {
        if *end + Nearby::MAX_WITHIN as u64 <= start {
            break;
        }
        let word = &all.words[*word as usize];
        let begin = end - word.len;
        for u in word.uses.iter().filter(|u| begin + u.within >= start) {
            let text = w.slice(w.base, start);
            if u.edges.hold(text, (begin - w.base) as usize, (end - w.base) as usize) {
                lists.iter_mut().zip(&u.lists).for_each(|(a, b)| *a |= b);
            }
        }
    }
}
