//! The candidate stage: which places of the input are worth a closer look.
//!
//! One trait, so that a faster backend can take its place: bytes in, hits out. A backend keeps nothing per stream: it
//! may read back into the history that the window begins with, and tells each needle when its last byte is fresh, so
//! a literal cut in half by pushes is found when the rest comes.
//!
//! Two backends give the same hits in the same order: `portable`, and behind a feature `hyperscan`, which needs libhs.

#[cfg(feature = "hyperscan")]
mod hyperscan;
mod portable;
#[cfg(test)]
mod tests;

pub(crate) use portable::Portable;

use crate::error::LoadError;
use crate::shape::ByteSet;

/// What searches for the literals of a rule set. It changes how fast a filter is, never what it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// This crate's own, on any machine.
    Portable,
    /// libhs: Hyperscan on x86-64, Vectorscan elsewhere. Only in builds with the feature `hyperscan`.
    Hyperscan,
}

impl Default for Backend {
    /// [`Backend::Portable`], unless the crate was built with the feature `hyperscan-default`.
    fn default() -> Self {
        if cfg!(feature = "hyperscan-default") { Backend::Hyperscan } else { Backend::Portable }
    }
}

impl Backend {
    /// All there are, whether or not this build has them.
    pub const ALL: [Backend; 2] = [Backend::Portable, Backend::Hyperscan];

    /// Whether this build has it.
    pub const fn is_built_in(self) -> bool {
        match self {
            Backend::Portable => true,
            Backend::Hyperscan => cfg!(feature = "hyperscan"),
        }
    }

    /// Prepares needles. `place` is what an error names.
    pub(crate) fn prepare(self, mut needles: Vec<Needle>, place: &str) -> Result<Box<dyn Candidates>, LoadError> {
        needles.retain(|n| n.spelling.len() > 0);
        match self {
            Backend::Portable => Ok(Box::new(Portable::new(needles))),
            Backend::Hyperscan => hyperscan(needles, place),
        }
    }
}

#[cfg(feature = "hyperscan")]
fn hyperscan(needles: Vec<Needle>, place: &str) -> Result<Box<dyn Candidates>, LoadError> {
    if needles.is_empty() {
        // libhs makes no database of nothing.
        return Ok(Box::new(Portable::new(needles)));
    }
    let compiled = hyperscan::Hyperscan::new(needles).map_err(|e| {
        LoadError::at(
            place,
            format!("Hyperscan cannot search for the rules' literals: {e}"),
            "use the portable backend: build without the feature `hyperscan`, or ask for `Backend::Portable`",
        )
    })?;
    Ok(Box::new(compiled))
}

#[cfg(not(feature = "hyperscan"))]
fn hyperscan(_: Vec<Needle>, place: &str) -> Result<Box<dyn Candidates>, LoadError> {
    Err(LoadError::at(
        place,
        "the Hyperscan backend is not in this build".into(),
        "build with the feature `hyperscan` of forebay-scan (it needs libhs), or ask for `Backend::Portable`",
    ))
}

/// A needle that ends at `end` bytes into the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) literal: u32,
    pub(crate) end: usize,
}

/// Finds needles.
pub(crate) trait Candidates: Send + Sync + std::fmt::Debug {
    /// Finds the needles whose last byte stands at `fresh` or behind, overlapping ones too. In order of their end; of
    /// one end, those of which the portable backend knows more bytes first ([`Portable::known`]), then by id.
    fn scan(&self, window: &[u8], fresh: usize, hits: &mut Vec<Hit>);
}

/// A literal as it may be spelled, and what may stand before it.
#[derive(Clone, Debug)]
pub(crate) struct Needle {
    pub(crate) spelling: Spelling,
    /// At the beginning of the window nothing is asked.
    pub(crate) guard: ByteSet,
    /// What hits call it.
    pub(crate) id: u32,
}

/// Text in which each letter has one case, or any.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Spelling {
    /// With the bits that may differ cleared.
    value: Vec<u8>,
    /// The bits that count: all, or all but that of the case.
    mask: Vec<u8>,
}

impl Spelling {
    /// Any case.
    pub(crate) fn any_case(text: &[u8]) -> Spelling {
        Spelling::of(text, |_| (true, true))
    }

    /// The cases that `places` have: what can stand at each byte of the text.
    pub(crate) fn cased<'a>(text: &[u8], places: impl Fn(usize) -> Option<&'a ByteSet>) -> Spelling {
        Spelling::of(text, |i| {
            places(i).map_or((true, true), |set| {
                (set.has(text[i].to_ascii_lowercase()), set.has(text[i].to_ascii_uppercase()))
            })
        })
    }

    fn of(text: &[u8], cases: impl Fn(usize) -> (bool, bool)) -> Spelling {
        let letter = |(i, b): (usize, &u8)| match (b.is_ascii_alphabetic(), cases(i)) {
            (true, (true, true)) => (b & !CASE, !CASE),
            (true, (false, true)) => (b.to_ascii_uppercase(), 0xff),
            (true, _) => (b.to_ascii_lowercase(), 0xff),
            (false, _) => (*b, 0xff),
        };
        let (value, mask) = text.iter().enumerate().map(letter).unzip();
        Spelling { value, mask }
    }

    /// With a first letter that must be a capital.
    pub(crate) fn capitalized(text: &[u8]) -> Spelling {
        Spelling::of(text, |i| (i != 0, true))
    }

    pub(crate) fn len(&self) -> usize {
        self.value.len()
    }

    /// Whether `text`, which is as long, is spelled so.
    fn is(&self, text: &[u8]) -> bool {
        self.value.iter().zip(&self.mask).zip(text).all(|((v, m), b)| b & m == *v)
    }
}

/// The bit in which the cases of a letter differ.
const CASE: u8 = 0x20;
