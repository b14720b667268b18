//! Forebay against each peer on the same bytes in the same round.
//!
//! The peers that take rules are given the same ones as Forebay; the peers that come with their own (fewer) are
//! compared with Forebay carrying all of its rules.

use anyhow::Result;

use super::Context;
use crate::rows::Row;

/// The section's name.
pub const NAME: &str = "peers";

/// Measures those that were built in.
pub fn rows(c: &Context) -> Result<Vec<Row>> {
    let _ = c;
    let mut rows = Vec::new();
    #[cfg(any(feature = "peers", feature = "hyperscan"))]
    rows.extend(built_in::rows(c)?);
    for (feature, missing) in [("peers", cfg!(not(feature = "peers"))), ("hyperscan", cfg!(not(feature = "hyperscan")))]
    {
        if missing {
            let row = Row::new(NAME, format!("feature `{feature}`"), f64::NAN, "");
            rows.push(row.note(format!("not built in: build with --features {feature}")));
        }
    }
    Ok(rows)
}

#[cfg(any(feature = "peers", feature = "hyperscan"))]
mod built_in {
    #[cfg(feature = "peers")]
    use std::time::Duration;

    use anyhow::Result;

    use super::super::Context;
    use super::NAME;
    #[cfg(feature = "hyperscan")]
    use crate::corpus::worst;
    use crate::engine::Engine;
    use crate::peers;
    use crate::rounds::{Case, Series, interleave, part};
    use crate::rows::{Asked, Row};

    /// A run of a peer is stopped here: one that grows with the square of its input would never end.
    #[cfg(feature = "peers")]
    const DEADLINE: Duration = Duration::from_millis(1500);

    /// Bytes of a push where the size of pushes is not the question.
    const PIECE: usize = 16 << 10;
    /// Literals are cut to this: what follows is left to verification, as in Forebay's own candidate stage.
    #[cfg(feature = "hyperscan")]
    const LITERAL: usize = 12;

    /// Shorter ones stand everywhere: no candidate stage would look for them.
    #[cfg(feature = "hyperscan")]
    const SHORTEST: usize = 4;

    pub(super) fn rows(c: &Context) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let all = c.engine.patterns().len();
        let same = c.engine.some(c.peer_rules.min(all))?;
        #[cfg(feature = "hyperscan")]
        rows.extend(hyperscan(c, &same)?);
        #[cfg(feature = "peers")]
        rows.extend(regex(c, &same)?);
        #[cfg(feature = "peers")]
        rows.extend(streams(c)?);
        Ok(rows)
    }

    /// A row for a peer on one text: how many times faster Forebay is, and how fast the two are.
    fn row(text: &'static str, name: &str, forebay: &Series, peer: &Series, at_least: f64, note: &str) -> Row {
        let cut = if peer.cut_short { ", stopped before its end" } else { "" };
        Row::new(NAME, format!("{text}: times as fast as {name}"), forebay.times(peer), "×")
            .speed(name, text, peer.median())
            .best(forebay.times_at_best(peer))
            .asked(Asked::AtLeast(at_least))
            .note(format!("{:.1} and {:.2} MB/s{cut}{note}", forebay.median(), peer.median()))
    }

    #[cfg(feature = "hyperscan")]
    fn hyperscan(c: &Context, same: &Engine) -> Result<Vec<Row>> {
        let patterns = same.patterns();
        let database = peers::hyperscan::Database::of(&patterns, &c.cache)?;
        let compiled =
            database.compiled_in.map_or("read from disk".into(), |t| format!("compiled in {:.0} s", t.as_secs_f64()));
        let mut rows = vec![
            Row::new(NAME, "Hyperscan: rules refused", database.refused as f64, "rules")
                .note(format!("of {}; the database was {compiled}", patterns.len())),
        ];
        let mut literals = worst::literals_of(&same.specs);
        literals.iter_mut().for_each(|l| l.truncate(LITERAL));
        literals.retain(|l| l.len() >= SHORTEST);
        literals.sort();
        literals.dedup();
        let literals = peers::hyperscan::Database::of_literals(&literals)?;
        for text in &c.texts {
            let bytes = 2 << 20;
            let mut cases = vec![
                Case::new("forebay", |round| same.push_all(part(&text.bytes, bytes, round), PIECE)),
                Case::new("hyperscan", |round| database.scan(part(&text.bytes, bytes, round))),
                Case::new("literals", |round| literals.scan_in(part(&text.bytes, bytes, round), PIECE)),
            ];
            let s = interleave(&mut cases, c.rounds(9));
            let limit = Row::new(
                NAME,
                format!("{}: share of Hyperscan over the rules' literals", text.name),
                s[0].times(&s[2]),
                "",
            );
            let limit = limit.speed("Hyperscan, literals only", text.name, s[2].median());
            rows.push(limit.note(format!("{:.0} MB/s, {} literals", s[2].median(), literals.taken)));
            let note = format!("; {} rules", database.taken);
            rows.push(row(text.name, "Hyperscan, one database", &s[0], &s[1], 3.0, &note));
        }
        Ok(rows)
    }

    #[cfg(feature = "peers")]
    fn regex(c: &Context, same: &Engine) -> Result<Vec<Row>> {
        let patterns = same.patterns();
        let rules = peers::regex::Rules::of(&patterns);
        let mut rows = vec![
            Row::new(NAME, "regex: rules refused", rules.refused as f64, "rules")
                .note(format!("of {}", patterns.len())),
        ];
        for text in &c.texts {
            let bytes = 64 << 10;
            let mut cases = vec![
                Case::new("forebay", |round| same.push_all(part(&text.bytes, bytes, round), PIECE)),
                Case::new("set", |round| rules.scan_set(part(&text.bytes, bytes, round))),
                Case::new("each", |round| rules.scan_each(part(&text.bytes, bytes, round))),
            ];
            let s = interleave(&mut cases, c.rounds(5).min(5));
            for (name, peer) in [("regex, one RegexSet", &s[1]), ("regex, one Regex a rule", &s[2])] {
                rows.push(row(text.name, name, &s[0], peer, 20.0, ""));
            }
        }
        Ok(rows)
    }

    #[cfg(feature = "peers")]
    fn streams(c: &Context) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for size in [64, 1024] {
            for text in &c.texts {
                let bytes = if c.quick { 64 << 10 } else { 256 << 10 };
                let whole = String::from_utf8_lossy(&text.bytes[..bytes.min(text.bytes.len())]).into_owned();
                let pieces = peers::pieces(&whole, size);
                let mut cases = vec![
                    Case::new("forebay", |_| c.engine.push_all(whole.as_bytes(), size)),
                    Case::new("cerberust", |_| peers::cerberust::push_all(&pieces, DEADLINE)),
                    Case::new("redact-secret", |_| peers::redact_secret::push_all(&pieces, DEADLINE)),
                ];
                let s = interleave(&mut cases, c.rounds(5).min(5));
                for (name, peer) in [("cerberust", &s[1]), ("redact-secret", &s[2])] {
                    rows.push(row(text.name, &format!("{name}, pushes of {size}"), &s[0], peer, 10.0, ""));
                }
            }
        }
        Ok(rows)
    }
}
