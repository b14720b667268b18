//! Hyperscan: one block-mode database of the same rules, scanned over the whole input in one call.
//!
//! Without start-of-match, which would halve its speed; so it could not replace anything, and it neither checks nor
//! arbitrates what it reports. Compiling thousands of rules takes minutes, so the database is kept on disk by the hash
//! of its patterns and of the library's version.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hyperscan::prelude::*;
use hyperscan::{Block, CompileFlags, Serialized};

use crate::rounds::{CpuTime, Sample};

/// A compiled database.
pub struct Database {
    database: BlockDatabase,
    scratch: Scratch,
    /// Rules that it took.
    pub taken: usize,
    /// Rules that it refused.
    pub refused: usize,
    /// How long compiling took; `None` if it came from disk.
    pub compiled_in: Option<Duration>,
}

impl Database {
    /// Compiles `patterns`, or reads what an earlier run has left in `cache`.
    pub fn of(patterns: &[(&str, &str)], cache: &Path) -> Result<Database> {
        let mut taken = Vec::new();
        for (_, text) in patterns {
            // `^` and `$` match at lines, as in packs.
            let pattern = Pattern::with_flags(*text, CompileFlags::MULTILINE);
            taken.extend(pattern.ok().filter(|p| p.info().is_ok()));
        }
        for (id, pattern) in taken.iter_mut().enumerate() {
            pattern.id = Some(id);
        }
        let count = taken.len();
        let mut hash = blake3::Hasher::new();
        hash.update(hyperscan::version_str().to_bytes());
        taken.iter().for_each(|p| {
            hash.update(p.expression.as_bytes());
            hash.update(b"\n");
        });
        let file = cache.join(format!("hyperscan-{}.db", &hash.finalize().to_hex()[..16]));
        let known = std::fs::read(&file).ok().and_then(|bytes| bytes.deserialize::<Block>().ok());
        let (database, compiled_in) = match known {
            Some(database) => (database, None),
            None => {
                let began = Instant::now();
                let database: BlockDatabase =
                    Patterns(taken).build().context("Hyperscan refuses the rules together")?;
                let took = began.elapsed();
                if let Ok(bytes) = database.serialize() {
                    let written = std::fs::create_dir_all(cache).and_then(|()| std::fs::write(&file, &bytes[..]));
                    written.with_context(|| format!("cannot keep the database in {}", file.display()))?;
                }
                (database, Some(took))
            }
        };
        let scratch = database.alloc_scratch().context("Hyperscan gives no scratch space")?;
        Ok(Database { database, scratch, taken: count, refused: patterns.len() - count, compiled_in })
    }

    /// A database of literals in either case, one a rule: what the fastest known candidate stage would be.
    pub fn of_literals(literals: &[Vec<u8>]) -> Result<Database> {
        let mut patterns = Vec::new();
        for (id, literal) in literals.iter().enumerate() {
            let text: String = literal.iter().map(|b| format!("\\x{b:02x}")).collect();
            let mut pattern = Pattern::with_flags(text, CompileFlags::CASELESS).context("a literal is no pattern")?;
            pattern.id = Some(id);
            patterns.push(pattern);
        }
        let database: BlockDatabase = Patterns(patterns).build().context("Hyperscan refuses the literals")?;
        let scratch = database.alloc_scratch().context("Hyperscan gives no scratch space")?;
        Ok(Database { database, scratch, taken: literals.len(), refused: 0, compiled_in: None })
    }

    /// Scans `text` in calls of `size` bytes.
    pub fn scan_in(&self, text: &[u8], size: usize) -> Sample {
        let began = CpuTime::now();
        let cut_short = text.chunks(size).any(|piece| self.scan(piece).cut_short);
        Sample { bytes: text.len(), time: began.elapsed(), cut_short }
    }

    /// Scans `text` in one call.
    pub fn scan(&self, text: &[u8]) -> Sample {
        let mut matches = 0usize;
        let began = CpuTime::now();
        let done = self.database.scan(text, &self.scratch, |_, _, _, _| {
            matches += 1;
            Matching::Continue
        });
        let time = began.elapsed();
        black_box(matches);
        Sample { bytes: text.len(), time, cut_short: done.is_err() }
    }
}
