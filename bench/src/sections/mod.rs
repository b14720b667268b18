//! What is measured, a section a file. Each takes the same context and gives rows.

pub mod backends;
pub mod latency;
pub mod loading;
pub mod peers;
pub mod scaling;
pub mod stream;
pub mod throughput;
pub mod worst;

use anyhow::Result;

use crate::corpus::Corpus;
use crate::engine::Engine;
use crate::rows::Row;

/// What every section measures with.
#[derive(Debug)]
pub struct Context {
    /// The engine with all rules.
    pub engine: Engine,
    /// The six texts.
    pub texts: Vec<Corpus>,
    /// Fewer rounds and shorter texts: for a look, not for a record.
    pub quick: bool,
    /// How many rules the peers that take rules are given.
    pub peer_rules: usize,
    /// Where compiled databases of peers are kept between runs.
    pub cache: std::path::PathBuf,
}

impl Context {
    /// `full` rounds, or a few.
    pub fn rounds(&self, full: usize) -> usize {
        if self.quick { (full / 4).max(3) } else { full }
    }

    /// A text by name.
    pub fn text(&self, name: &str) -> Result<&[u8]> {
        let text = self.texts.iter().find(|t| t.name == name);
        text.map(|t| t.bytes.as_slice()).ok_or_else(|| anyhow::anyhow!("there is no text `{name}`"))
    }
}

/// A section: its name, what it is, and how it is measured.
pub struct Section {
    /// What `--only` takes.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Measures.
    pub run: fn(&Context) -> Result<Vec<Row>>,
}

/// All sections, in the order of the table.
pub const ALL: [Section; 8] = [
    Section {
        name: throughput::NAME,
        title: "Speed of one core, all packs, and how far it is from the limits",
        run: throughput::rows,
    },
    Section { name: backends::NAME, title: "The two backends of the candidate stage", run: backends::rows },
    Section { name: latency::NAME, title: "Time of one push of 40 bytes", run: latency::rows },
    Section { name: peers::NAME, title: "Against peers, on the same bytes", run: peers::rows },
    Section { name: worst::NAME, title: "Texts made to be slow", run: worst::rows },
    Section { name: scaling::NAME, title: "Threads, rules, streams", run: scaling::rows },
    Section { name: stream::NAME, title: "One stream: growth of time and memory", run: stream::rows },
    Section { name: loading::NAME, title: "Loading the rules", run: loading::rows },
];
