//! From a pattern's text to its three parts, with their bounds.
//!
//! Every automaton of a rule is built from these parts: nothing else looks at pattern text. The attacker here is the
//! author of a rule file: an unbounded or exploding pattern is refused, with the reason.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

use crate::pack::What;

/// Longest span, in bytes. 8 KiB holds a three-part JWT with a large claim set; what is longer is a region.
pub const MAX_SPAN: usize = 8192;
/// Longest context before (PRE) and behind (POST) a span, in bytes. More would let a rule that only looks make every
/// stream keep more released text than a stream may cost while idle.
pub const MAX_CONTEXT: usize = 512;

/// PRE, BODY and POST of a pattern.
#[derive(Clone, Debug)]
pub struct Parts {
    /// What must stand before the span.
    pub pre: Hir,
    /// The span itself.
    pub body: Hir,
    /// What must stand behind the span.
    pub post: Hir,
}

/// Parses a pattern into HIR: bytes, ASCII classes, `^`/`$` at lines.
pub fn parse(pattern: &str) -> Result<Hir, String> {
    ParserBuilder::new()
        .utf8(false)
        .unicode(false)
        .multi_line(true)
        .nest_limit(64)
        .build()
        .parse(pattern)
        .map_err(|e| told(&e))
}

/// What the parser says, with the place: the character, counted from 1 with fragments put in, and what stands there.
fn told(e: &regex_syntax::Error) -> String {
    let (text, at, what) = match e {
        regex_syntax::Error::Parse(e) => (e.pattern(), e.span().start.offset, e.kind().to_string()),
        regex_syntax::Error::Translate(e) => (e.pattern(), e.span().start.offset, e.kind().to_string()),
        // The enum may grow.
        e => return e.to_string().lines().last().unwrap_or("bad pattern").trim_start_matches("error: ").to_owned(),
    };
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, ""));
    let seen: String = behind.chars().take(16).collect();
    let place = before.chars().count() + 1;
    if seen.is_empty() { format!("at its end: {what}") } else { format!("at character {place}, `{seen}`: {what}") }
}

impl Parts {
    /// Splits a pattern at its `span` group and checks the bounds.
    pub fn of(pattern: &str) -> Result<Parts, String> {
        let parts = Self::split(parse(pattern)?)?;
        bounded(&parts.pre, "what stands before the span", MAX_CONTEXT)?;
        bounded(&parts.body, "the span", MAX_SPAN)?;
        bounded(&parts.post, "what stands behind the span", MAX_CONTEXT)?;
        if parts.body.properties().minimum_len().unwrap_or(0) == 0 {
            return Err("the span can be empty; it must match at least one byte".into());
        }
        Ok(parts)
    }

    fn split(hir: Hir) -> Result<Parts, String> {
        let whole = |body| Parts { pre: Hir::empty(), body, post: Hir::empty() };
        let at = match hir.kind() {
            HirKind::Concat(items) => items.iter().position(is_span),
            _ => is_span(&hir).then_some(0),
        };
        let Some(at) = at else {
            return match has_span(&hir) {
                true => Err("the group `span` must stand at the top level, outside alternations and repeats".into()),
                false => Ok(whole(hir)),
            };
        };
        let mut items = match hir.into_kind() {
            HirKind::Concat(items) => items,
            HirKind::Capture(c) => return Ok(whole(*c.sub)),
            _ => unreachable!("is_span looked"),
        };
        let post = Hir::concat(items.split_off(at + 1));
        let Some(HirKind::Capture(c)) = items.pop().map(Hir::into_kind) else { unreachable!("is_span looked") };
        Ok(Parts { pre: Hir::concat(items), body: *c.sub, post })
    }
}

fn is_span(h: &Hir) -> bool {
    matches!(h.kind(), HirKind::Capture(c) if c.name.as_deref() == Some("span"))
}

fn has_span(h: &Hir) -> bool {
    if is_span(h) {
        return true;
    }
    match h.kind() {
        HirKind::Capture(c) => has_span(&c.sub),
        HirKind::Repetition(r) => has_span(&r.sub),
        HirKind::Concat(v) | HirKind::Alternation(v) => v.iter().any(has_span),
        _ => false,
    }
}

/// Refuses what has no bound, or a bound beyond `most`.
pub fn bounded(h: &Hir, what: &str, most: usize) -> Result<(), String> {
    match h.properties().maximum_len() {
        Some(n) if n <= most => Ok(()),
        Some(n) => Err(format!("{what} can be {n} bytes long, more than {most}: shorten its repeats")),
        None if h.properties().minimum_len().is_none() => Err(format!("{what} can never match")),
        None => Err(format!(
            "{what} has no longest match, so a stream could be held for ever: give `*`, `+` and `{{n,}}` an upper \
             bound, as in `{{1,64}}`{}",
            // A region's parts go through here too, and have no other way out.
            if what == "the span" { OR_REGION } else { "" }
        )),
    }
}

/// What a pattern without a bound can be instead.
const OR_REGION: &str = "; or write it as `region = { begin, inside, end }`";

/// An error about a rule's pattern, in the words of how the rule is written: of a region, only `begin` is planned as a
/// pattern, and what follows it needs no bound because it is never held.
pub(crate) fn told_of(what: &What, error: String) -> String {
    if !matches!(what, What::Region { .. }) {
        return error;
    }
    match error.strip_suffix(OR_REGION) {
        Some(unbounded) => format!(
            "the region's `begin`: {unbounded}; what may be of any length goes into `inside`, one unit of it, which is \
             repeated until `end` or something else comes"
        ),
        None => format!("the region's `begin`: {error}"),
    }
}
