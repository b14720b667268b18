//! The `regex` crate over the same rules, in the two ways that it offers: a `RegexSet`, which says which rules match
//! somewhere in the text, and one `Regex` a rule, which says where.

use std::hint::black_box;
use std::time::Duration;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use crate::rounds::{CpuTime, Sample};

/// Room for the set's automata: enough that the lazy one is not thrown away all the time.
const SET_CACHE: usize = 256 << 20;

/// Compiled rules.
pub struct Rules {
    set: Option<RegexSet>,
    each: Vec<Regex>,
    /// Rules that it refused.
    pub refused: usize,
}

impl Rules {
    /// Compiles `patterns`, as the packs mean them: bytes, no Unicode, `^` and `$` at lines.
    pub fn of(patterns: &[(&str, &str)]) -> Rules {
        let mut each = Vec::new();
        let mut taken = Vec::new();
        for (_, text) in patterns {
            let rule = RegexBuilder::new(text).unicode(false).multi_line(true).size_limit(64 << 20).build();
            if let Ok(rule) = rule {
                each.push(rule);
                taken.push(*text);
            }
        }
        let set = RegexSetBuilder::new(&taken)
            .unicode(false)
            .multi_line(true)
            .size_limit(4 << 30)
            .dfa_size_limit(SET_CACHE)
            .build()
            .ok();
        Rules { refused: patterns.len() - each.len(), set, each }
    }

    /// Which rules match, by the set.
    pub fn scan_set(&self, text: &[u8]) -> Sample {
        let Some(set) = &self.set else { return Sample { bytes: 0, time: Duration::ZERO, cut_short: true } };
        let began = CpuTime::now();
        black_box(set.matches(black_box(text)).iter().count());
        Sample::whole(text.len(), began.elapsed())
    }

    /// Every match, rule by rule.
    pub fn scan_each(&self, text: &[u8]) -> Sample {
        let began = CpuTime::now();
        black_box(self.each.iter().map(|r| r.find_iter(black_box(text)).count()).sum::<usize>());
        Sample::whole(text.len(), began.elapsed())
    }
}
