//! The six texts that everything is measured on: generated, reproducible, of the kinds that agents stream.
//!
//! Each comes from a grammar in `corpora/` and a fixed seed, so every machine measures the same bytes; the BLAKE3 of
//! each text stands in the results. Words fall as in language (the first of a list often, the last seldom). None holds
//! a secret or anybody's data: addresses are documentation ranges, mail is `example.com`, keys are nowhere.

pub mod grammar;
pub mod sequence;
pub mod worst;

use grammar::Grammar;

/// Bytes of each text in a full run.
pub const FULL: usize = 8 << 20;

/// A text.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// Its name in tables and results.
    pub name: &'static str,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Corpus {
    /// BLAKE3 of the bytes, in hex.
    pub fn hash(&self) -> String {
        blake3::hash(&self.bytes).to_hex().to_string()
    }
}

/// The names of the texts, in the order of tables.
pub const NAMES: [&str; 6] = ["source", "json-logs", "prose", "chinese", "base64", "chat"];

/// All six texts, of about `bytes` each (cut at a whole character).
pub fn all(bytes: usize) -> Result<Vec<Corpus>, String> {
    NAMES.iter().map(|name| named(name, bytes)).collect()
}

/// One of the texts.
pub fn named(name: &str, bytes: usize) -> Result<Corpus, String> {
    let (name, seed, grammar) = match name {
        "source" => ("source", 11, include_str!("../../corpora/source.txt")),
        "json-logs" => ("json-logs", 12, include_str!("../../corpora/logs.txt")),
        "prose" => ("prose", 13, include_str!("../../corpora/prose.txt")),
        "chinese" => ("chinese", 14, include_str!("../../corpora/chinese.txt")),
        "base64" => ("base64", 15, include_str!("../../corpora/base64.txt")),
        "chat" => ("chat", 16, include_str!("../../corpora/chat.txt")),
        other => return Err(format!("there is no text `{other}`; there are {}", NAMES.join(", "))),
    };
    let bytes = Grammar::parse(grammar).and_then(|g| g.text(seed, bytes)).map_err(|e| format!("text {name}: {e}"))?;
    Ok(Corpus { name, bytes })
}
