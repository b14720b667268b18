//! The engine as it is measured: built-in packs under `tool-output`, a stream pushed to its end, nothing kept.

use std::collections::HashSet;
use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use forebay_scan::{Backend, Finding, Pack, Profile, RuleSet, RuleSpec, Scratch, Sink, StreamFilter, TokenKey, What};

use crate::rounds::{CpuTime, Sample};

/// The profile that everything is measured with: two families are replaced, three are reported.
pub const PROFILE: &str = "tool-output";

/// Counts what is released, so that nothing is optimised away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Bytes released.
    pub bytes: usize,
    /// Findings told.
    pub findings: usize,
}

impl Sink for Count {
    fn release(&mut self, bytes: &[u8]) {
        self.bytes += black_box(bytes).len();
    }

    fn finding(&mut self, finding: &Finding) {
        black_box(finding);
        self.findings += 1;
    }
}

/// All built-in rules that are on, as written, and the set they compile to.
#[derive(Debug)]
pub struct Engine {
    /// Compiled, every automaton built.
    pub rules: Arc<RuleSet>,
    /// Its rules as written.
    pub specs: Vec<RuleSpec>,
}

impl Engine {
    /// Every built-in rule that is on.
    pub fn all() -> Result<Engine> {
        Self::of(packs()?.into_iter().flat_map(|p| p.rules).collect())
    }

    /// `n` of this engine's rules that have a pattern, evenly spaced, so that each family keeps its share.
    pub fn some(&self, n: usize) -> Result<Engine> {
        let with_pattern: Vec<&RuleSpec> = self.specs.iter().filter(|s| pattern_of(s).is_some()).collect();
        let n = n.min(with_pattern.len()).max(1);
        Self::of((0..n).map(|i| with_pattern[i * with_pattern.len() / n].clone()).collect())
    }

    /// Every built-in rule that is on, with a backend of choice.
    pub fn on(&self, backend: Backend) -> Result<Engine> {
        let profile = Profile::builtin(PROFILE).context("the profile is built in")?;
        let rules = RuleSet::compile_with(&packs()?, &profile, backend);
        let rules = rules.map_err(|e| anyhow!("the built-in rules do not compile: {e}"))?;
        rules.warm();
        Ok(Engine { rules, specs: self.specs.clone() })
    }

    fn of(specs: Vec<RuleSpec>) -> Result<Engine> {
        let mut profile = Profile::builtin(PROFILE).context("the profile is built in")?;
        let names: HashSet<&str> = specs.iter().map(|s| s.name.as_str()).collect();
        profile.rules.retain(|name, _| names.contains(name.as_str()));
        let all_names = packs()?.iter().map(|p| p.rules.len()).sum::<usize>();
        let rules = if specs.len() == all_names {
            // As a program gets them.
            RuleSet::builtin(PROFILE).context("the profile is built in")?
        } else {
            RuleSet::compile(&[Pack::of("some", specs.clone())], &profile)
        };
        let rules = rules.map_err(|e| anyhow!("the built-in rules do not compile: {e}"))?;
        rules.warm();
        let on: HashSet<String> = rules.rules().map(|(_, r)| r.name.clone()).collect();
        Ok(Engine { rules, specs: specs.into_iter().filter(|s| on.contains(&s.name)).collect() })
    }

    /// A filter for a new stream.
    pub fn stream(&self) -> StreamFilter {
        StreamFilter::new(Arc::clone(&self.rules), TokenKey::new([0; 32]))
    }

    /// Pushes `text` in pieces of `size` bytes through a new stream, and ends it.
    pub fn run(&self, text: &[u8], size: usize) -> Count {
        let (mut filter, mut scratch, mut sink) = (self.stream(), Scratch::default(), Count::default());
        for piece in text.chunks(size) {
            let _ = filter.push(piece, &mut scratch, &mut sink);
        }
        filter.finish(&mut scratch, &mut sink);
        sink
    }

    /// The same with the time it takes.
    pub fn push_all(&self, text: &[u8], size: usize) -> Sample {
        let began = CpuTime::now();
        black_box(self.run(text, size));
        Sample::whole(text.len(), began.elapsed())
    }

    /// The candidate stage alone over `text` in pieces of `size` bytes.
    pub fn candidates(&self, text: &[u8], size: usize) -> Sample {
        let began = CpuTime::now();
        black_box(forebay_scan::candidate_stage(&self.rules, black_box(text), size));
        Sample::whole(text.len(), began.elapsed())
    }

    /// Name and pattern of each rule that has one: of a region its BEGIN.
    pub fn patterns(&self) -> Vec<(&str, &str)> {
        self.specs.iter().filter_map(|s| Some((s.name.as_str(), pattern_of(s)?))).collect()
    }
}

fn packs() -> Result<Vec<Pack>> {
    let sources = Pack::builtin_sources();
    let packs = sources.iter().filter_map(|(name, _)| Pack::builtin(name));
    packs.map(|p| p.map_err(|e| anyhow!("a built-in pack does not load: {e}"))).collect()
}

fn pattern_of(spec: &RuleSpec) -> Option<&str> {
    match &spec.what {
        What::Pattern(p) => Some(p),
        What::Region { begin, .. } => Some(begin),
        What::Tracker { .. } | What::Exact(_) => None,
    }
}
