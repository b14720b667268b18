//! Where a form may begin, for the cost of one look every few bytes.
//!
//! A filter, *not* a search: it may name a place where nothing begins, and never passes over one where something does.
//! One bit for each four bytes that stand near the beginning of a form. Every form is at least `step + 3` symbols long,
//! so one of every `step` places of a text shows its first bytes.

use std::collections::{HashMap, HashSet};

use super::automaton::{Lead, Pattern};

/// The filter.
pub(super) struct Grams {
    bits: Box<[u64]>,
    shift: u32,
    step: usize,
}

/// Bytes that are looked at together.
const GRAM: usize = 4;

/// Most places of a text between two looks. More would save little, and each costs another four bytes a form.
const MOST_STEP: usize = 8;

impl Grams {
    /// `spell` has the bytes that a symbol may be written as.
    pub(super) fn new(patterns: &[Pattern], spell: &[Vec<u8>]) -> Grams {
        let least = patterns.iter().map(Pattern::len).min().unwrap_or(GRAM);
        let step = least.saturating_sub(GRAM - 1).clamp(1, MOST_STEP);
        let mut all = HashSet::new();
        let mut leads: HashMap<Lead, Vec<u8>> = HashMap::new();
        for p in patterns {
            let lead = leads
                .entry(p.lead)
                .or_insert_with(|| p.lead.symbols().flat_map(|s| spell[usize::from(s)].iter().copied()).collect());
            let text = p.text.iter().map(|s| spell[usize::from(*s)].as_slice());
            let places: Vec<&[u8]> =
                Some(lead.as_slice()).filter(|l| !l.is_empty()).into_iter().chain(text).take(GRAM - 1 + step).collect();
            for gram in places.windows(GRAM) {
                product(gram, 0, &mut |g| {
                    all.insert(g);
                });
            }
        }
        // One bit in 32 or fewer is set, unless there are very many: a wrong guess costs ten looks.
        let log = (all.len() * 32).next_power_of_two().trailing_zeros().clamp(12, 23);
        let mut grams = Grams { bits: vec![0; 1 << (log - 6)].into(), shift: 32 - log, step };
        for g in all {
            let at = grams.slot(g);
            grams.bits[at >> 6] |= 1 << (at & 63);
        }
        grams
    }

    #[inline]
    fn slot(&self, gram: u32) -> usize {
        (gram.wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }

    /// The first place at or behind `from` at which a form may begin: no earlier one can. The last few bytes cannot be
    /// looked at; `false` if the place is the first of those.
    #[inline]
    pub(super) fn skip(&self, bytes: &[u8], from: usize) -> (usize, bool) {
        let mut at = from;
        let mut seen = false;
        while let Some(gram) = bytes.get(at..).and_then(|b| b.first_chunk::<GRAM>()) {
            let slot = self.slot(u32::from_le_bytes(*gram));
            seen = self.bits[slot >> 6] >> (slot & 63) & 1 != 0;
            if seen {
                break;
            }
            at += self.step;
        }
        // What begins up to `step - 1` bytes before a gram shows in it.
        ((at.saturating_sub(self.step - 1)).max(from).min(bytes.len()), seen)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bits.len() * 8
    }
}

fn product(places: &[&[u8]], gram: u32, out: &mut impl FnMut(u32)) {
    let Some((last, rest)) = places.split_last() else { return out(gram) };
    // Little endian: the first byte lowest.
    last.iter().for_each(|b| product(rest, gram << 8 | u32::from(*b), out));
}
