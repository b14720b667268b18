//! Looks into one file: what was found, where, and what may be shown of it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use forebay_scan::{Action, Family, Finding, Report, RuleSet, Scratch, Severity, Sink, StreamFilter, TokenKey};

use super::place::{Cursor, Place};
use crate::load::Loaded;
use crate::mask::{Excerpt, Hidden, is_sensitive};

/// A file up to this size is kept in memory while it is scanned, so that the excerpt is cut from the very bytes that
/// were judged. What is longer is scanned as it streams, and its findings have offsets only.
const MOST_KEPT: u64 = 64 << 20;
/// Bytes read at once of what is longer.
const BLOCK: usize = 1 << 20;
/// A NUL byte this near the start makes a file binary, as in git and grep.
const BINARY_WITHIN: usize = 8 << 10;
/// Most findings that are kept of one file; the rest is counted. A file made of nothing but addresses must not fill
/// the memory.
const MOST_FINDINGS: usize = 10_000;

/// The rules to look with, and what the profile would do.
pub(crate) struct Inspector {
    rules: Arc<RuleSet>,
    actions: Vec<Action>,
    binary_too: bool,
}

/// What became of one file.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It was read to its end.
    Scanned(Box<Scanned>),
    /// It has NUL bytes; not looked into.
    Binary,
    /// It could not be read.
    Failed(io::Error),
}

#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) bytes: u64,
    /// By offset.
    pub(crate) found: Vec<Found>,
    /// Findings beyond the bound.
    pub(crate) more: u64,
    pub(crate) report: Report,
}

/// One finding with all that is printed of it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) rule: u32,
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) family: Family,
    pub(crate) severity: Severity,
    pub(crate) action: Action,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Where it begins and ends; `None` in a file too long to keep.
    pub(crate) places: Option<(Place, Place)>,
    pub(crate) excerpt: Option<Excerpt>,
}

impl Inspector {
    pub(crate) fn new(loaded: &Loaded, binary_too: bool) -> anyhow::Result<Self> {
        let (rules, actions) = loaded.compile_to_look()?;
        Ok(Inspector { rules, actions, binary_too })
    }

    pub(crate) fn rules(&self) -> &RuleSet {
        &self.rules
    }

    pub(crate) fn file(&self, path: &Path, scratch: &mut Scratch) -> Verdict {
        match File::open(path) {
            Ok(f) => self.stream(f, scratch),
            Err(e) => Verdict::Failed(e),
        }
    }

    pub(crate) fn stream(&self, input: impl Read, scratch: &mut Scratch) -> Verdict {
        self.look(input, scratch).unwrap_or_else(Verdict::Failed)
    }

    fn look(&self, mut input: impl Read, scratch: &mut Scratch) -> io::Result<Verdict> {
        let mut kept = Vec::new();
        input.by_ref().take(BINARY_WITHIN as u64).read_to_end(&mut kept)?;
        if !self.binary_too && memchr::memchr(0, &kept).is_some() {
            return Ok(Verdict::Binary);
        }
        input.by_ref().take(MOST_KEPT - kept.len() as u64).read_to_end(&mut kept)?;

        let mut sink = Bounded::default();
        // Spliced text is thrown away, so any key will do. No rule blocks here, so no push fails.
        let mut filter = StreamFilter::new(self.rules.clone(), TokenKey::new([0; 32]));
        let _ = filter.push(&kept, scratch, &mut sink);
        let mut whole = true;
        if kept.len() as u64 == MOST_KEPT {
            let mut block = vec![0; BLOCK];
            loop {
                let n = match input.read(&mut block) {
                    Ok(0) => break,
                    Ok(n) => n,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    Err(e) => return Err(e),
                };
                whole = false;
                let _ = filter.push(&block[..n], scratch, &mut sink);
            }
        }
        let bytes = filter.received();
        let report = filter.finish(scratch, &mut sink);
        let found = self.describe(&sink, whole.then_some(&kept[..]));
        Ok(Verdict::Scanned(Box::new(Scanned { bytes, found, more: sink.more, report })))
    }

    fn describe(&self, sink: &Bounded, text: Option<&[u8]>) -> Vec<Found> {
        let mut findings = sink.findings.clone();
        findings.sort_by_key(|f| (f.span.start, f.span.end));
        let sensitive = |f: &&Finding| self.rules.rule(f.rule).is_none_or(|r| is_sensitive(r.family));
        // From the first finding that was only counted on, nothing is known to be harmless.
        let unknown = sink.dropped_from.map(|at| usize::try_from(at).unwrap_or(usize::MAX)..usize::MAX);
        let hidden = Hidden::new(findings.iter().filter(sensitive).map(span).chain(unknown));
        let mut cursor = text.map(Cursor::new);
        findings
            .iter()
            .filter_map(|f| {
                let rule = self.rules.rule(f.rule)?;
                let places = cursor.as_mut().zip(text).map(|(c, text)| {
                    let start = c.advance(span(f).start);
                    // Spans can overlap, so ends can fall: each end is walked to from its own start.
                    (start, start.walk(&text[span(f).start.min(text.len())..span(f).end.min(text.len())]))
                });
                Some(Found {
                    rule: f.rule.0,
                    name: rule.name.clone(),
                    title: rule.title.clone(),
                    family: rule.family,
                    severity: rule.severity,
                    action: self.actions.get(f.rule.0 as usize).copied().unwrap_or(f.action),
                    start: f.span.start,
                    end: f.span.end,
                    places,
                    excerpt: text.map(|text| hidden.excerpt(text, span(f))),
                })
            })
            .collect()
    }
}

/// The span as indexes; only used with texts that are in memory.
fn span(f: &Finding) -> std::ops::Range<usize> {
    let index = |o: u64| usize::try_from(o).unwrap_or(usize::MAX);
    index(f.span.start)..index(f.span.end)
}

#[derive(Default)]
struct Bounded {
    findings: Vec<Finding>,
    more: u64,
    /// The earliest start of a finding that was only counted.
    dropped_from: Option<u64>,
}

impl Sink for Bounded {
    fn release(&mut self, _: &[u8]) {}

    fn finding(&mut self, finding: &Finding) {
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(finding.clone());
        } else {
            self.more += 1;
            let at = finding.span.start;
            self.dropped_from = Some(self.dropped_from.map_or(at, |d| d.min(at)));
        }
    }
}
