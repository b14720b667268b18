//! A folder in which nothing is to be found: every finding is a false alarm, told per megabyte and category.
//!
//! Files are read in blocks and may be of any size. What is *not* counted: that a file ends early (files of a corpus are
//! often pieces of files), and what a category holds by its nature (see [`super::excuse`]).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use forebay_scan::{Action, Family, Finding, RuleSet, Scratch, StreamFilter, TokenKey};
use serde::Serialize;

use super::corpus::{Corpus, Member};
use super::excuse;
use super::judge::Judge;
use crate::exit;
use crate::mask::visible_path;
use crate::once::Findings;

/// Bytes read at once.
const BLOCK: usize = 1 << 20;

/// What the folder came to.
#[derive(Debug)]
pub(crate) struct Benign {
    pub(crate) categories: BTreeMap<String, Category>,
    pub(crate) total: Category,
    /// BLAKE3 of the files' names and bytes, in order.
    pub(crate) data: [u8; 32],
    pub(crate) binary: u64,
}

/// Counts of one category.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Category {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// By family; those without a finding are not named.
    pub(crate) findings: BTreeMap<Family, u64>,
    /// Findings whose action changes bytes.
    pub(crate) redactions: BTreeMap<Family, u64>,
    /// Files with a finding.
    pub(crate) files_hit: BTreeMap<Family, u64>,
    /// Findings that the category excuses; in none of the above.
    pub(crate) excused: u64,
    /// Files that the report calls incomplete.
    pub(crate) incomplete: u64,
}

impl Category {
    fn add(&mut self, file: &Category) {
        self.files += file.files;
        self.bytes += file.bytes;
        for (sum, part) in [(&mut self.findings, &file.findings), (&mut self.redactions, &file.redactions)] {
            for (family, n) in part {
                *sum.entry(*family).or_default() += n;
            }
        }
        for family in file.findings.keys() {
            *self.files_hit.entry(*family).or_default() += 1;
        }
        self.excused += file.excused;
        self.incomplete += file.incomplete;
    }

    /// `n` per 1,000,000 bytes of the category, to two places.
    pub(crate) fn per_mb(&self, n: u64) -> f64 {
        if self.bytes == 0 { 0.0 } else { (n as f64 / self.bytes as f64 * 1e8).round() / 1e2 }
    }
}

/// Reads every file of the folder. `actions` are those of the profile, by rule.
pub(crate) fn measure(rules: &Arc<RuleSet>, actions: &[Action], folder: &Path) -> anyhow::Result<Benign> {
    let corpus = Corpus::of(folder)?;
    let mut reader = Reader { rules, actions, judge: Judge::new(rules), scratch: Scratch::default() };
    let mut out =
        Benign { categories: BTreeMap::new(), total: Category::default(), data: [0; 32], binary: corpus.binary };
    let mut hash = blake3::Hasher::new();
    let mut failed = 0;
    for member in &corpus.members {
        hash.update(member.name.as_bytes());
        hash.update(&[0]);
        match reader.file(&folder.join(&member.name), member, &mut hash) {
            Ok(counts) => {
                out.categories.entry(member.category.clone()).or_default().add(&counts);
                out.total.add(&counts);
            }
            Err(e) => {
                failed += 1;
                exit::say(format_args!("forebay: {}: {e}", visible_path(&folder.join(&member.name))));
            }
        }
    }
    if failed > 0 {
        bail!("{} could not be read, so the numbers would be wrong; mend or remove them", exit::count(failed, "file"));
    }
    if out.total.bytes == 0 {
        bail!("there is no byte in {}, so there is nothing to measure", visible_path(folder));
    }
    out.data = *hash.finalize().as_bytes();
    Ok(out)
}

struct Reader<'a> {
    rules: &'a Arc<RuleSet>,
    actions: &'a [Action],
    judge: Judge<'a>,
    scratch: Scratch,
}

/// A finding whose file may end where it does.
struct Pending {
    finding: Finding,
    excused: bool,
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, member: &Member, hash: &mut blake3::Hasher) -> io::Result<Category> {
        let mut input = File::open(path)?;
        let mut counts = Category { files: 1, ..Category::default() };
        // Nothing that is spliced in is kept, so any key will do. No rule blocks here, so no push fails.
        let mut filter = StreamFilter::new(self.rules.clone(), TokenKey::new([0; 32]));
        let mut found = Findings::default();
        let mut window = Window::default();
        let mut pending: Vec<Pending> = Vec::new();
        let mut block = vec![0; BLOCK];
        loop {
            let n = match input.read(&mut block) {
                Ok(0) => break,
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            hash.update(&block[..n]);
            // There is more behind what the last block found, so nothing of it was at the end.
            for p in pending.drain(..) {
                self.count(&mut counts, &p, None);
            }
            window.add(&block[..n]);
            let _ = filter.push(&block[..n], &mut self.scratch, &mut found);
            pending.extend(found.0.drain(..).map(|finding| window.pending(finding, &member.category)));
        }
        let length = filter.received();
        counts.bytes = length;
        let report = filter.finish(&mut self.scratch, &mut found);
        pending.extend(found.0.drain(..).map(|finding| window.pending(finding, &member.category)));
        for p in pending {
            self.count(&mut counts, &p, Some(length));
        }
        counts.incomplete = u64::from(!report.complete);
        Ok(counts)
    }

    /// `length`: of the file, if it is known to end here.
    fn count(&self, counts: &mut Category, p: &Pending, length: Option<u64>) {
        let Some(family) = self.judge.family(&p.finding) else { return };
        if length.is_some_and(|n| self.judge.is_about_the_end(&p.finding, n)) {
            return;
        }
        if p.excused {
            counts.excused += 1;
            return;
        }
        *counts.findings.entry(family).or_default() += 1;
        if self.actions.get(p.finding.rule.0 as usize).is_some_and(|a| a.acts()) {
            *counts.redactions.entry(family).or_default() += 1;
        }
    }
}

/// The last bytes read, to look at what was found.
#[derive(Default)]
struct Window {
    bytes: Vec<u8>,
    /// Offset of the first of them in the file.
    from: u64,
}

impl Window {
    /// Bytes kept of what was read before the last block. What can be excused is shorter.
    const KEPT: usize = 4 << 10;

    fn add(&mut self, block: &[u8]) {
        let gone = self.bytes.len().saturating_sub(Self::KEPT);
        self.bytes.drain(..gone);
        self.from += gone as u64;
        self.bytes.extend_from_slice(block);
    }

    fn pending(&self, finding: Finding, category: &str) -> Pending {
        let at = |offset: u64| offset.checked_sub(self.from).and_then(|o| usize::try_from(o).ok());
        let text = at(finding.span.start).zip(at(finding.span.end)).and_then(|(s, e)| self.bytes.get(s..e));
        let excused = text.is_some_and(|t| excuse::holds(category, t));
        Pending { finding, excused }
    }
}
