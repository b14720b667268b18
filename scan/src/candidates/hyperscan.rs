//! The Hyperscan backend: one block-mode database of all literals, searched by libhs.
//!
//! The database knows texts, in either case where a needle asks for that; the cases of single letters and what may
//! stand before a needle are asked of each of its hits here. It is *not* one database of whole rules, and keeps nothing
//! of a stream: what a push before began is found by beginning the search one byte less than the longest needle
//! before the fresh bytes.
//!
//! # Invariants
//! - A scratch space is only used with the database that it was made for. libhs looks at little of that and its binding
//!   at nothing, so spaces are known by a number that no other database ever gets, not by an address.
//! - Nothing goes unsearched. Where libhs cannot (no memory for a scratch space, a thread that is about to end, a window
//!   whose length it cannot count), a spare portable search does the work.
//!
//! # Attacker
//! Text full of needles: each costs one call back, some comparisons and 16 bytes of the list of hits, as with the
//! portable backend. Packs: literals make no automata, so the database grows with their bytes.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use ::hyperscan::{BlockDatabase, Builder, Matching, Pattern, PatternFlags, Patterns, Scratch};

use super::{Candidates, Hit, Needle, Portable};

/// Database, and what is asked of its hits.
pub(super) struct Hyperscan {
    database: BlockDatabase,
    /// Of this database alone.
    number: u64,
    /// By pattern of the database, the needles with that text: indices into `needles`.
    spelled: Vec<Vec<u32>>,
    /// In the order in which those that end at one place are told.
    needles: Vec<Needle>,
    /// Length of the longest needle.
    longest: usize,
    /// Searches where libhs cannot.
    spare: Portable,
}

impl std::fmt::Debug for Hyperscan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hyperscan({} literals)", self.needles.len())
    }
}

impl Hyperscan {
    /// Compiles needles, none of them empty and at least one. An error is what libhs said.
    pub(super) fn new(mut needles: Vec<Needle>) -> Result<Hyperscan, ::hyperscan::Error> {
        let spare = Portable::new(needles.clone());
        needles.sort_by_cached_key(|n| (Reverse(Portable::known(n)), n.id));
        let mut by_text: BTreeMap<Vec<u8>, Vec<u32>> = BTreeMap::new();
        for (i, n) in (0..).zip(&needles) {
            by_text.entry(n.spelling.value.to_ascii_uppercase()).or_default().push(i);
        }
        let mut patterns = Vec::with_capacity(by_text.len());
        for same in by_text.values() {
            let same: Vec<&Needle> = same.iter().map(|i| &needles[*i as usize]).collect();
            let id = Some(patterns.len());
            patterns.push(Pattern { id, ..pattern_of(&same)? });
        }
        let database: BlockDatabase = Patterns(patterns).build()?;
        // A database that gives no scratch space is of no use: better known now than at the first push.
        database.alloc_scratch()?;
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Ok(Hyperscan {
            database,
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            spelled: by_text.into_values().collect(),
            longest: needles.iter().map(|n| n.spelling.len()).max().unwrap_or(1),
            needles,
            spare,
        })
    }

    /// Searches with `space`; `None` if libhs could not.
    fn search(&self, space: &Scratch, window: &[u8], fresh: usize, hits: &mut Vec<Hit>) -> Option<()> {
        let from = (fresh + 1).saturating_sub(self.longest);
        let text = &window[from..];
        // Its lengths have 32 bits.
        u32::try_from(text.len()).ok()?;
        let found = |pattern: u32, _: u64, to: u64, _: u32| {
            let end = from + to as usize;
            if end > fresh {
                self.tell(pattern, window, end, hits);
            }
            Matching::Continue
        };
        self.database.scan(text, space, found).ok()
    }

    /// The needles of a pattern that stand right before `end`, by their index.
    fn tell(&self, pattern: u32, window: &[u8], end: usize, hits: &mut Vec<Hit>) {
        for i in &self.spelled[pattern as usize] {
            let needle = &self.needles[*i as usize];
            let at = end - needle.spelling.len();
            if needle.spelling.is(&window[at..end]) && (at == 0 || needle.guard.has(window[at - 1])) {
                hits.push(Hit { literal: *i, end });
            }
        }
    }
}

impl Candidates for Hyperscan {
    fn scan(&self, window: &[u8], fresh: usize, hits: &mut Vec<Hit>) {
        if fresh >= window.len() {
            return;
        }
        let before = hits.len();
        let searched = SPACES.try_with(|spaces| {
            let mut spaces = spaces.try_borrow_mut().ok()?;
            self.search(spaces.of(self)?, window, fresh, hits)
        });
        if searched.ok().flatten().is_none() {
            hits.truncate(before);
            return self.spare.scan(window, fresh, hits);
        }
        // libhs tells ends in order, as far as is known; what ends at one place in any.
        hits[before..].sort_unstable_by_key(|h| (h.end, h.literal));
        hits[before..].iter_mut().for_each(|h| h.literal = self.needles[h.literal as usize].id);
    }
}

/// The pattern of needles that have one text: in either case, unless there is one spelling only.
fn pattern_of(same: &[&Needle]) -> Result<Pattern, ::hyperscan::Error> {
    let spelling = &same[0].spelling;
    let text: String = spelling.value.iter().map(|b| format!("\\x{b:02x}")).collect();
    let one = spelling.mask.iter().all(|m| *m == 0xff) && same.iter().all(|n| n.spelling == *spelling);
    Pattern::with_flags(text, if one { PatternFlags::empty() } else { PatternFlags::CASELESS })
}

/// Scratch spaces that a thread keeps. A daemon has some profiles, each twice while rules are being exchanged; more of
/// them in turn on one thread would allocate at each push. It bounds what rule sets leave behind that are gone.
const MAX_SPACES: usize = 16;

thread_local! {
    static SPACES: RefCell<Spaces> = const { RefCell::new(Spaces(Vec::new())) };
}

/// Scratch spaces with the numbers of their databases, the last used last.
struct Spaces(Vec<(u64, Scratch)>);

impl Spaces {
    /// The space of a database, made if there is none; `None` if there is no memory for it.
    fn of(&mut self, h: &Hyperscan) -> Option<&Scratch> {
        match self.0.iter().rposition(|(number, _)| *number == h.number) {
            Some(at) => self.0[at..].rotate_left(1),
            None => {
                let space = h.database.alloc_scratch().ok()?;
                if self.0.len() >= MAX_SPACES {
                    self.0.remove(0);
                }
                self.0.push((h.number, space));
            }
        }
        self.0.last().map(|(_, space)| space)
    }
}
