//! Words before a span, for all rules at once.
//!
//! Hundreds of rules ask whether one of their words stands near a number, and one number can be a match of dozens of
//! them. So all words of a rule set are in one automaton, and the text before a span is read once, when the first rule
//! asks; the answers for every rule are bits.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;

use crate::pack::{Edges, Nearby};

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
        let reach = self.within.iter().copied().max().unwrap_or(0);
        Ok(NearbyWords { finder, uses: self.uses, within: self.within, reach })
    }
}

/// All nearby words of a rule set.
#[derive(Debug)]
pub(crate) struct NearbyWords {
    finder: AhoCorasick,
    /// For each word, the lists it is in.
    uses: Vec<Vec<(ListId, Edges)>>,
    /// For each list, how far before a span its words may begin.
    within: Vec<usize>,
    reach: usize,
}

/// The lists that have a word before one span.
#[derive(Default)]
pub(crate) struct Near {
    /// The span's start; 0 for none.
    start: u64,
    lists: Vec<u64>,
}

impl Near {
    /// Forgets the span it was about.
    pub(crate) fn clear(&mut self) {
        self.start = 0;
    }

    /// Whether a word of the list stands in `before`, the text before the span at `start` (never 0).
    pub(crate) fn has(&mut self, all: &NearbyWords, list: ListId, start: u64, before: &[u8]) -> bool {
        if self.start != start {
            self.start = start;
            self.read(all, before);
        }
        self.lists[usize::from(list.0 >> 6)] & 1 << (list.0 & 63) != 0
    }

    fn read(&mut self, all: &NearbyWords, before: &[u8]) {
        self.lists.clear();
        self.lists.resize(all.within.len().div_ceil(64), 0);
        let from = before.len().saturating_sub(all.reach);
        let text = &before[from..];
        for m in all.finder.find_overlapping_iter(text) {
            for (list, edges) in &all.uses[m.pattern().as_usize()] {
                let skip = text.len().saturating_sub(all.within[usize::from(list.0)]);
                if m.start() >= skip && edges.hold(&text[skip..], m.start() - skip, m.end() - skip) {
                    self.lists[usize::from(list.0 >> 6)] |= 1 << (list.0 & 63);
                }
            }
        }
    }
}
