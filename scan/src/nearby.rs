//! Words before a span, for all rules at once.
//!
//! Hundreds of rules ask whether one of their words stands near a number, and one number can be a match of dozens of
//! them. So all words of a rule set are in one automaton, and a stream reads each byte with it at most about once, when
//! a rule first asks about a span behind it. What was seen in the last [`Nearby::MAX_WITHIN`] bytes is kept.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;

use crate::pack::{Edges, Nearby};
use crate::splice::Window;

/// Which list of words a rule asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListId(u16);

/// Collects the lists of a rule set.
#[derive(Default)]
pub(crate) struct NearbyBuilder {
    words: Vec<String>,
    index: HashMap<String, usize>,
    uses: Vec<Vec<(ListId, Edges)>>,
    lists: HashMap<String, ListId>,
    within: Vec<usize>,
}

impl NearbyBuilder {
    /// Adds a list; equal lists are one.
    pub(crate) fn add(&mut self, n: &Nearby) -> Result<ListId, String> {
        let key = format!("{n:?}");
        if let Some(id) = self.lists.get(&key) {
            return Ok(*id);
        }
        let id = ListId(u16::try_from(self.within.len()).map_err(|_| "more than 65,535 lists of nearby words")?);
        for w in &n.words {
            let (word, edges) = Edges::of(w);
            let word = word.to_ascii_lowercase();
            let at = *self.index.entry(word.clone()).or_insert_with(|| {
                self.words.push(word);
                self.uses.push(Vec::new());
                self.uses.len() - 1
            });
            self.uses[at].push((id, edges));
        }
        self.within.push(n.within);
        self.lists.insert(key, id);
        Ok(id)
    }

    /// The automaton over all words.
    pub(crate) fn build(self) -> Result<NearbyWords, String> {
        let finder = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(&self.words)
            .map_err(|e| format!("the nearby words do not fit into an automaton: {e}"))?;
        let longest = self.words.iter().map(String::len).max().unwrap_or(0);
        Ok(NearbyWords { finder, uses: self.uses, within: self.within, longest })
    }
}

/// All nearby words of a rule set.
#[derive(Debug)]
pub(crate) struct NearbyWords {
    finder: AhoCorasick,
    /// For each word, the lists it is in, in order.
    uses: Vec<Vec<(ListId, Edges)>>,
    /// For each list, how far before a span its words may begin.
    within: Vec<usize>,
    /// Length of the longest word in bytes.
    longest: usize,
}

/// How far back words are kept. Spans are asked about nearly in order of their start; one that began further back than
/// this is rare enough to read its neighbourhood again.
const KEPT: u64 = 1024;

/// The words that a stream has seen of late.
#[derive(Default)]
pub(crate) struct Near {
    /// Words that begin at `from` or behind and end at `upto` or before are known.
    from: u64,
    upto: u64,
    seen: Vec<Seen>,
}

/// A word at `[start, end)`.
#[derive(Clone, Copy)]
struct Seen {
    word: u32,
    start: u64,
    end: u64,
}

impl Near {
    /// Whether a word of the list stands before the span at `start`.
    pub(crate) fn has(&mut self, all: &NearbyWords, list: ListId, start: u64, w: Window<'_>) -> bool {
        let from = start.saturating_sub(all.within[usize::from(list.0)] as u64).max(w.base);
        if from < self.from {
            let mut again = Near { from, upto: from, seen: Vec::new() };
            again.read(all, start, w);
            return again.holds(all, list, from, start, w);
        }
        self.read(all, start, w);
        self.holds(all, list, from, start, w)
    }

    /// Bytes on the heap.
    pub(crate) fn memory(&self) -> usize {
        self.seen.capacity() * size_of::<Seen>()
    }

    fn holds(&self, all: &NearbyWords, list: ListId, from: u64, start: u64, w: Window<'_>) -> bool {
        let text = w.slice(from, start);
        self.seen.iter().any(|s| {
            s.start >= from
                && s.end <= start
                && all.uses[s.word as usize].iter().any(|(l, edges)| {
                    *l == list && edges.hold(text, (s.start - from) as usize, (s.end - from) as usize)
                })
        })
    }

    /// Reads up to `to`.
    fn read(&mut self, all: &NearbyWords, to: u64, w: Window<'_>) {
        if self.upto >= to {
            return;
        }
        let reach = to.saturating_sub(Nearby::MAX_WITHIN as u64).max(w.base);
        if reach > self.upto {
            // What lies between was never asked about.
            (self.from, self.upto) = (reach, reach);
            self.seen.clear();
        } else if self.from + 2 * KEPT < to {
            self.from = to - KEPT;
            self.seen.retain(|s| s.start + KEPT >= to);
        }
        // A word may have begun before what was read, but not ended there.
        let begin = self.upto.saturating_sub(all.longest as u64).max(self.from).max(w.base);
        for m in all.finder.find_overlapping_iter(w.slice(begin, to)) {
            let (start, end) = (begin + m.start() as u64, begin + m.end() as u64);
            if end > self.upto {
                self.seen.push(Seen { word: m.pattern().as_u32(), start, end });
            }
        }
        self.upto = to;
    }
}
