//! What must come out, said from the spans alone: the whole text at once, nothing known of pushes.
//!
//! The engine's splicer works forwards, span by span, with a horizon. This one takes the final set of spans, merges
//! what overlaps, picks each label by sorting, and writes the output. It shares no code with the engine. It knows
//! neither regions that never end nor splices longer than the engine's bound: give it texts without them.

use std::sync::Arc;

use forebay_scan::{Action, Finding, RuleId, RuleSet};

/// A piece of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Input bytes, unchanged.
    Same(Vec<u8>),
    /// A token with this label.
    Token(String),
    /// Stars.
    Masked(Vec<u8>),
}

/// A span of an acting rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acting {
    /// Start in bytes.
    pub start: usize,
    /// End in bytes.
    pub end: usize,
    /// The rule.
    pub rule: RuleId,
}

/// The spans of acting rules among findings.
pub fn acting(findings: &[Finding]) -> Vec<Acting> {
    findings
        .iter()
        .filter(|f| f.action.acts() && !f.span.is_empty())
        .map(|f| Acting { start: f.span.start as usize, end: f.span.end as usize, rule: f.rule })
        .collect()
}

/// The output, in pieces; ends early where a blocking splice begins. `regions` are the rules that are regions.
pub fn pieces(rules: &Arc<RuleSet>, regions: &[RuleId], text: &[u8], mut spans: Vec<Acting>) -> Vec<Piece> {
    spans.sort_by_key(|s| (s.start, s.end));
    let length = |s: &Acting| if regions.contains(&s.rule) { usize::MAX } else { s.end - s.start };
    let mut out = Vec::new();
    let mut at = 0;
    let mut i = 0;
    while i < spans.len() {
        let (start, mut end) = (spans[i].start, spans[i].end);
        let first = i;
        while i < spans.len() && spans[i].start < end {
            end = end.max(spans[i].end);
            i += 1;
        }
        out.push(Piece::Same(text[at..start].to_vec()));
        let winner = spans[first..i]
            .iter()
            .max_by_key(|s| {
                let info = rules.rule(s.rule).expect("a rule of the set");
                let strength = [Action::Mask, Action::Replace, Action::Block].iter().position(|a| *a == info.action);
                (strength, info.priority, usize::MAX - s.start, length(s), u32::MAX - s.rule.0)
            })
            .expect("not empty");
        let info = rules.rule(winner.rule).expect("a rule of the set");
        match info.action {
            Action::Block => return merged(out),
            // What has no bound is not kept, so there is nothing to mask.
            Action::Mask if !spans[first..i].iter().any(|s| regions.contains(&s.rule)) => {
                out.push(Piece::Masked(mask(&text[start..end])));
            }
            _ => out.push(Piece::Token(info.token.clone())),
        }
        at = end;
    }
    out.push(Piece::Same(text[at..].to_vec()));
    merged(out)
}

fn merged(pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.into_iter().filter(|p| !matches!(p, Piece::Same(b) if b.is_empty())).collect()
}

/// Stars for letters, digits and characters beyond ASCII, but for the last four of them if there are more than eight.
fn mask(value: &[u8]) -> Vec<u8> {
    let hides = |b: u8| b.is_ascii_alphanumeric() || b >= 0x80;
    let opens = |b: u8| hides(b) && b & 0xc0 != 0x80;
    let characters = value.iter().filter(|b| opens(**b)).count();
    let stars = if characters > 8 { characters - 4 } else { characters };
    let mut out = Vec::new();
    let mut at = 0;
    for b in value.iter().copied() {
        at += usize::from(opens(b));
        match (hides(b) && at <= stars, opens(b)) {
            (false, _) => out.push(b),
            (true, true) => out.push(b'*'),
            (true, false) => {}
        }
    }
    out
}

/// Whether `output` is what `pieces` say. The error names the place.
pub fn check(output: &[u8], pieces: &[Piece]) -> Result<(), String> {
    let mut at = 0;
    for p in pieces {
        let rest = &output[at..];
        let n = match p {
            Piece::Same(b) | Piece::Masked(b) => rest.starts_with(b).then_some(b.len()),
            Piece::Token(label) => {
                let head = format!("FBY_{label}_");
                let n = head.len() + 15;
                let letters = |b: &[u8]| b.iter().all(|c| b"bcdfghjkmnpqrstv".contains(c));
                (rest.starts_with(head.as_bytes()) && rest.len() >= n && letters(&rest[head.len()..n])).then_some(n)
            }
        };
        at += n.ok_or_else(|| {
            format!("at {at}: {:?} is not {p:?}", String::from_utf8_lossy(&rest[..rest.len().min(60)]))
        })?;
    }
    if at == output.len() {
        Ok(())
    } else {
        Err(format!("at {at}: {:?} is too much", String::from_utf8_lossy(&output[at..])))
    }
}
