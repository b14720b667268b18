//! How one rule is found: which literal or byte class gives it away, and which automata settle it.
//!
//! Everything is derived from the pattern's HIR; there is no second description of a rule beside it. Three ways:
//!
//! - **literal**: the rule's text, behind an optional guard byte, begins with one of a few literals. A hit gives the
//!   start; the rule's automaton runs forward from there. When PRE is longer than a guard (a *keyed* rule:
//!   `password = …`), the literals are those of PRE, PRE's automaton runs first, and spans begin where it accepts.
//! - **inner**: a literal stands inside BODY (`@`, `://`) behind a bounded head. A hit runs the head backwards.
//! - **class**: BODY begins with a narrow byte class behind a guard (digits, capitals). Rules of this kind share one
//!   automaton per bucket, tried at every place where guard and first byte fit.
//!
//! A rule that fits none is refused as too slow, with the reason.
//!
//! *Guard*: one byte of context in front. Every forward automaton consumes it first, so that it has a single start
//! state; where a rule has no guard, any byte does. A stream begins as if a line feed stood before it.

use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, HirKind};
use regex_syntax::utf8::Utf8Sequences;
use serde::{Deserialize, Serialize};

use crate::classes;
use crate::expr::{self, Expr};
use crate::literals;
use crate::parallel;
use crate::pattern::{self, Parts};
use crate::shape::{ByteSet, Shape};

/// A rule whose matches can overlap themselves more often than this is refused: an adversary would make every byte
/// cost that many automaton steps.
const MAX_OVERLAP: usize = 512;
/// Longest head in front of an inner literal, in bytes: it is re-read at every hit of the literal.
const MAX_HEAD: usize = 256;
/// A class rule may begin with at most this many different bytes: letters and digits together would try it at every
/// word of a text.
const MAX_FIRST: usize = 40;

/// Most words of a keyed rule that are looked for whole.
const MAX_WORDS: usize = 16;
/// How many bytes behind a literal are looked at.
pub(crate) const BEHIND: usize = 6;

/// What gives a rule away.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Anchor {
    /// Text (PRE's or BODY's, behind the guard) begins with one of these, ASCII case folded.
    Literal(Vec<Vec<u8>>),
    /// One of these, case folded, stands in BODY behind `head`.
    Inner {
        /// The literals.
        literals: Vec<Vec<u8>>,
        /// Guard and head, in reading order.
        head: Expr,
        /// Longest of them, in bytes.
        longest: usize,
    },
    /// BODY begins with a narrow class.
    Class,
}

/// What stands before the span of a keyed rule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Key {
    /// Guard and PRE, run from the guard on.
    Whole(Expr),
    /// PRE is one of a few words in any case, then a gap: the literal stage has seen the word, so only the gap is run,
    /// from the word's last byte on. Many rules share a gap, and then its automaton.
    Gap {
        /// What the guard byte may be.
        guard: ByteSet,
        /// One byte of context, then the gap.
        gap: Expr,
    },
}

/// What holds bytes before the literal of an acting rule is seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Held {
    /// Guard, and every prefix that is not yet a literal: of the literals as the pattern spells them, or of head and
    /// literal.
    pub(crate) prefixes: Expr,
    /// Longest of them, in bytes.
    pub(crate) longest: usize,
}

/// What a rule asks of its plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    /// It acts: literals of one length, so that it never holds a byte for order's sake.
    pub(crate) acts: bool,
    /// A nearby word must stand before it: it is looked for only where one does.
    pub(crate) gated: bool,
    /// It must be found by a literal that it begins with.
    pub(crate) literal: bool,
}

/// A rule, taken apart for the engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// How it is found.
    pub(crate) anchor: Anchor,
    /// For keyed rules.
    pub(crate) key: Option<Key>,
    /// Guard (or any byte, if keyed), BODY and POST.
    pub(crate) forward: Expr,
    /// The same without POST, to tell where a span ends; `None` if POST is empty.
    pub(crate) body: Option<Expr>,
    /// POST, after one byte of context; `None` if empty.
    pub(crate) post: Option<Expr>,
    /// Shortest BODY in bytes.
    pub(crate) least: usize,
    /// Longest BODY in bytes.
    pub(crate) max_span: usize,
    /// For acting rules without key that a literal gives away.
    pub(crate) held: Option<Held>,
    /// What can stand at the first places, from the guard on, PRE too; as many as anything looks at.
    pub(crate) shape: Vec<ByteSet>,
}

/// Plans rules, on all processors if there are many.
pub(crate) fn all(rules: &[(&str, Want)]) -> Vec<Result<Plan, String>> {
    parallel::map(rules, |(pattern, want)| Plan::of(pattern, *want))
}

/// A pattern's parts and what is derived of them while planning.
struct Draft {
    parts: Parts,
    /// Longest BODY and POST, in bytes.
    length: usize,
    held: Option<Held>,
}

impl Plan {
    /// Plans a pattern rule.
    fn of(pattern: &str, want: Want) -> Result<Plan, String> {
        let parts = Parts::of(pattern)?;
        let most = |h: &Hir| h.properties().maximum_len().unwrap_or(0);
        let max_span = parts.body.properties().maximum_len().unwrap_or(pattern::MAX_SPAN);
        let least = parts.body.properties().minimum_len().unwrap_or(0);
        let mut draft = Draft { length: max_span + most(&parts.post), parts, held: None };
        let (anchor, key, front, rest) = match Context::of(&draft.parts.pre)? {
            Context::Keyed { guard, rest } => {
                let (literals, key) = draft.keyed(&guard, &rest)?;
                (Anchor::Literal(literals), Some(key), guard, rest)
            }
            Context::Guard(guard) => (draft.unkeyed(&guard, want)?, None, guard, Hir::empty()),
        };
        let Parts { body, post, .. } = draft.parts;
        let places = match &anchor {
            Anchor::Literal(l) => 1 + l.iter().map(Vec::len).max().unwrap_or(0) + BEHIND,
            Anchor::Inner { .. } => 0,
            Anchor::Class => 1 + classes::PLACES,
        };
        let shape = Shape::of(&[&front, &rest, &body, &post], places);
        let front = if key.is_some() { any_byte() } else { front };
        let has_post = !matches!(post.kind(), HirKind::Empty);
        let (forward, span) = if matches!(anchor, Anchor::Class) {
            // Their automata are built at once.
            let span = has_post.then(|| Expr::with_tree(concat([front.clone(), body.clone()])));
            (Expr::with_tree(concat([front, body, post.clone()])), span)
        } else {
            let (front, body) = (expr::text(&front), expr::text(&body));
            let span = has_post.then(|| Expr::joined(&[&front, &body]));
            let post = if has_post { expr::text(&post) } else { String::new() };
            (Expr::joined(&[&front, &body, &post]), span)
        };
        Ok(Plan {
            anchor,
            key,
            forward,
            body: span,
            post: has_post.then(|| Expr::of(&concat([any_byte(), post]))),
            least,
            max_span,
            held: draft.held,
            shape,
        })
    }

    /// Whether it is what a planner makes: every number within the bounds that the engine counts on. What the
    /// expressions say is not looked at: any text is safe.
    pub(crate) fn is_sound(&self) -> bool {
        let (literals, longest) = match &self.anchor {
            Anchor::Literal(l) => (Some(l), literals::MAX_WORD),
            Anchor::Inner { literals, .. } => (Some(literals), literals::MAX_LITERAL),
            Anchor::Class => (None, 0),
        };
        let longest = if self.key.is_some() { longest } else { longest.min(literals::MAX_LITERAL) };
        let fit = |l: &Vec<u8>| (1..=longest).contains(&l.len()) && !l.iter().any(u8::is_ascii_uppercase);
        let head = if let Anchor::Inner { longest, .. } = &self.anchor { *longest } else { 0 };
        literals.is_none_or(|l| (1..=literals::MOST).contains(&l.len()) && l.iter().all(fit))
            && (self.key.is_none() || matches!(self.anchor, Anchor::Literal(_)) && self.held.is_none())
            && (1..=self.max_span).contains(&self.least)
            && self.max_span <= pattern::MAX_SPAN
            && head <= 1 + MAX_HEAD
            && self.held.as_ref().is_none_or(|h| h.longest <= 1 + pattern::MAX_SPAN)
            && self.shape.len() <= 1 + literals::MAX_WORD + BEHIND
    }
}

impl Draft {
    fn keyed(&self, guard: &Hir, rest: &Hir) -> Result<(Vec<Vec<u8>>, Key), String> {
        let (literals, key) = match words_and_gap(rest) {
            Some((words, gap)) if !has_look(guard) => {
                (words, Key::Gap { guard: all_bytes(guard), gap: Expr::of(&concat([any_byte(), gap])) })
            }
            _ => {
                let mut literals = literals::prefixes(&[rest]).filter(|l| usable(l, 2)).ok_or(
                    "what stands before the span must begin (after an optional guard byte) with literal words of two \
                     bytes or more, or be a single guard byte: nothing else can be looked for quickly",
                )?;
                literals::trim(&mut literals);
                (literals, Key::Whole(Expr::joined(&[&expr::text(guard), &expr::text(rest)])))
            }
        };
        let pre = rest.properties();
        let (most, least) = (pre.maximum_len().unwrap_or(0), pre.minimum_len().unwrap_or(0));
        let key_len = shortest(&literals);
        overlap(most, key_len, "what stands before the span")?;
        // A keyword can open a span at each place its gap may end; keywords repeat every `key_len` bytes.
        let density = (most - least + 1).div_ceil(key_len);
        overlap(self.length * density.min(key_len) / key_len.max(1), 1, "the span")?;
        Ok((literals, key))
    }

    fn unkeyed(&mut self, guard: &Hir, want: Want) -> Result<Anchor, String> {
        let (length, body) = (self.length, &self.parts.body);
        let narrow = first_bytes(body).is_some_and(|f| f.count() <= MAX_FIRST) && !want.literal;
        let mut begins = literals::prefixes(&[body]).filter(|l| usable(l, 2));
        if want.acts {
            begins.iter_mut().for_each(literals::level);
        } else {
            begins.iter_mut().for_each(literals::trim);
        }
        let holds = inner(body).filter(|_| !want.literal);
        // The rarest way wins; a class run costs what a two-letter literal costs, and next to nothing behind a gate.
        let costs = [
            begins.as_ref().map(|l| literals::frequency(l)),
            holds.as_ref().map(|(l, _)| literals::frequency(l) * 2.0),
            (narrow || want.gated).then_some(if want.gated { 1e-7 } else { 0.002 }),
        ];
        let best = costs.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let held = |budget: usize| {
            want.acts.then(|| {
                let prefixes = concat([guard.clone(), prefixes(body, budget)]);
                Held { longest: prefixes.properties().maximum_len().unwrap_or(0), prefixes: Expr::with_tree(prefixes) }
            })
        };
        if let Some(l) = begins.filter(|_| costs[0] == Some(best)) {
            if !excludes(guard, body) {
                overlap(length, shortest(&l), "the span")?;
            }
            let most = l.iter().map(Vec::len).max().unwrap_or(1);
            self.held = held(most - 1);
            return Ok(Anchor::Literal(l));
        }
        if let Some((literals, head)) = holds.filter(|_| costs[1] == Some(best)) {
            // With a guard that the head cannot contain, a literal has one head; else any length of it may be one.
            let step = if excludes(guard, &head) { shortest(&literals).max(2) } else { 1 };
            overlap(length, step, "the span")?;
            let most = literals.iter().map(Vec::len).max().unwrap_or(1);
            let head_len = head.properties().maximum_len().unwrap_or(MAX_HEAD);
            self.held = held(head_len + most - 1);
            let head = concat([guard.clone(), head]);
            let longest = head.properties().maximum_len().unwrap_or(0);
            return Ok(Anchor::Inner { head: Expr::of(&head), longest, literals });
        }
        if !narrow && !want.gated {
            return Err(format!(
                "the rule is too slow to look for: it has no literal to begin with or to contain, and begins with more \
                 than {MAX_FIRST} different bytes; give it a keyword in front or a narrower first byte"
            ));
        }
        overlap(length, 2, "the span")?;
        Ok(Anchor::Class)
    }
}

fn overlap(length: usize, step: usize, what: &str) -> Result<(), String> {
    if length / step.max(1) > MAX_OVERLAP {
        return Err(format!(
            "{what} can be {length} bytes long and can begin again every {step} bytes: put a guard in front of it, \
             a class of bytes that the span cannot contain"
        ));
    }
    Ok(())
}

/// Whether literals are long enough and few enough to be looked for. A single byte only if it is rare in any text.
fn usable(literals: &[Vec<u8>], least: usize) -> bool {
    !literals.is_empty() && literals.len() <= literals::MOST && literals.iter().all(|l| l.len() >= least || l == b"@")
}

fn shortest(literals: &[Vec<u8>]) -> usize {
    literals.iter().map(Vec::len).min().unwrap_or(1)
}

/// The words that PRE begins with and what follows them, if they are spelled in any case: then the literal stage, which
/// folds case, has looked at all of them. `new[_ -]?relic` begins with four.
fn words_and_gap(rest: &Hir) -> Option<(Vec<Vec<u8>>, Hir)> {
    let HirKind::Concat(items) = rest.kind() else { return None };
    let mut words = vec![Vec::new()];
    let mut best = None;
    for (i, item) in items.iter().enumerate() {
        let Some(choices) = spellings(item) else { break };
        words = literals::joined(&words, &choices);
        if words.len() > MAX_WORDS || words.iter().any(|w| w.len() > literals::MAX_WORD) {
            break;
        }
        // What follows a word is read from its end on: no word may end inside another.
        if shortest(&words) >= 3 && literals::are_apart(&words) {
            best = Some((words.clone(), i + 1));
        }
    }
    best.map(|(words, n)| (words, Hir::concat(items[n..].to_vec())))
}

/// How a part of a word may be spelled, case folded; `None` if that is not a short list, or if only one case will do.
fn spellings(h: &Hir) -> Option<Vec<Vec<u8>>> {
    if let Some(b) = literals::folded(h) {
        return Some(vec![vec![b]]);
    }
    let all = |items: &[Hir]| items.iter().map(spellings).collect::<Option<Vec<_>>>();
    match h.kind() {
        HirKind::Literal(l) => (!l.0.iter().any(u8::is_ascii_alphabetic)).then(|| vec![l.0.to_vec()]),
        HirKind::Class(_) => {
            let set = (h.properties().maximum_len() == Some(1)).then(|| all_bytes(h))?;
            let few = set.count() <= MAX_WORDS && !(0..=255u8).any(|b| b.is_ascii_alphabetic() && set.has(b));
            few.then(|| (0..=255u8).filter(|b| set.has(*b)).map(|b| vec![b]).collect())
        }
        HirKind::Repetition(r) if r.max == Some(1) => {
            let mut choices = spellings(&r.sub)?;
            choices.extend((r.min == 0).then(Vec::new));
            Some(choices)
        }
        HirKind::Capture(c) => spellings(&c.sub),
        HirKind::Concat(items) => {
            let parts = all(items)?;
            let few = parts.iter().try_fold(1usize, |n, p| n.checked_mul(p.len())).is_some_and(|n| n <= MAX_WORDS);
            few.then(|| parts.iter().fold(vec![Vec::new()], |words, p| literals::joined(&words, p)))
        }
        HirKind::Alternation(items) => all(items).map(|parts| parts.concat()),
        HirKind::Empty => Some(vec![Vec::new()]),
        HirKind::Repetition(_) | HirKind::Look(_) => None,
    }
}

/// A literal inside BODY behind a bounded head that cannot contain it.
fn inner(body: &Hir) -> Option<(Vec<Vec<u8>>, Hir)> {
    let HirKind::Concat(items) = body.kind() else { return None };
    let mut best: Option<(usize, Vec<Vec<u8>>, usize)> = None;
    let (mut bytes, mut least, mut most) = (ByteSet::default(), 0, 0);
    let tail: Vec<&Hir> = items.iter().collect();
    for i in 1..items.len() {
        let before = &items[i - 1];
        bytes.union(&all_bytes(before));
        least += before.properties().minimum_len().unwrap_or(0);
        most += before.properties().maximum_len().unwrap_or(MAX_HEAD + 1);
        if most > MAX_HEAD || least == 0 {
            break;
        }
        let Some(literals) = literals::prefixes(&tail[i..]) else { continue };
        // So that no head can reach over an earlier hit: starts come in the order in which literals come.
        let apart = literals.iter().all(|l| l.first().is_some_and(|b| !bytes.has_folded(*b)));
        if !usable(&literals, 2) || !apart {
            continue;
        }
        let score = if literals.len() == 1 && literals[0] == b"@" { 3 } else { shortest(&literals) };
        if best.as_ref().is_none_or(|(s, ..)| score > *s) {
            best = Some((score, literals, i));
        }
    }
    best.map(|(_, l, i)| (l, Hir::concat(items[..i].to_vec())))
}

/// What PRE is.
enum Context {
    /// Exactly one byte, in which looks may hide.
    Guard(Hir),
    /// More: a guard byte, then the rest.
    Keyed { guard: Hir, rest: Hir },
}

impl Context {
    fn of(pre: &Hir) -> Result<Context, String> {
        if pre.properties().maximum_len() <= Some(1) {
            return Ok(Context::Guard(one_byte(pre)?));
        }
        let items = match pre.kind() {
            HirKind::Concat(items) => items.clone(),
            _ => vec![pre.clone()],
        };
        let mut split = 0;
        let mut total = 0;
        for (i, item) in items.iter().enumerate() {
            let Some(n) = item.properties().maximum_len() else { break };
            total += n;
            if total > 1 || matches!(item.kind(), HirKind::Literal(_)) || literals::folded(item).is_some() {
                break;
            }
            split = i + 1;
        }
        let guard = one_byte(&Hir::concat(items[..split].to_vec()))?;
        Ok(Context::Keyed { guard, rest: Hir::concat(items[split..].to_vec()) })
    }
}

/// Makes an expression of at most one byte consume exactly one: where it would consume none, any byte stands there.
fn one_byte(h: &Hir) -> Result<Hir, String> {
    let (least, most) = (h.properties().minimum_len().unwrap_or(0), h.properties().maximum_len().unwrap_or(0));
    if most == 0 {
        return Ok(concat([any_byte(), h.clone()]));
    }
    if least == 1 {
        return Ok(h.clone());
    }
    match h.kind() {
        HirKind::Capture(c) => one_byte(&c.sub),
        HirKind::Repetition(r) => Ok(Hir::alternation(vec![any_byte(), one_byte(&r.sub)?])),
        HirKind::Alternation(items) => {
            Ok(Hir::alternation(items.iter().map(one_byte).collect::<Result<Vec<_>, String>>()?))
        }
        HirKind::Concat(items) => {
            let at = items.iter().position(|i| i.properties().maximum_len() != Some(0)).unwrap_or(0);
            if at != 0 {
                return Err("an assertion in front of an optional guard byte is not supported: put it behind".into());
            }
            let mut out = vec![one_byte(&items[0])?];
            out.extend_from_slice(&items[1..]);
            Ok(Hir::concat(out))
        }
        _ => Err("the guard in front of the span is too complicated: write it as `(?:^|[^…])`".into()),
    }
}

/// Every prefix of `h`, the empty one included, of at most about `budget` bytes.
fn prefixes(h: &Hir, budget: usize) -> Hir {
    if budget == 0 {
        return Hir::empty();
    }
    match h.kind() {
        HirKind::Empty | HirKind::Look(_) => Hir::empty(),
        HirKind::Literal(l) => {
            let mut out = Hir::empty();
            for b in l.0[..l.0.len().min(budget)].iter().rev() {
                out = optional(concat([Hir::literal([*b]), out]));
            }
            out
        }
        HirKind::Class(c) => match c.maximum_len() {
            Some(1) => optional(h.clone()),
            Some(_) => cut_characters(c, budget),
            None => Hir::empty(),
        },
        HirKind::Capture(c) => prefixes(&c.sub, budget),
        HirKind::Alternation(items) => Hir::alternation(items.iter().map(|i| prefixes(i, budget)).collect()),
        HirKind::Repetition(r) => {
            let least = r.sub.properties().minimum_len().unwrap_or(0).max(1);
            let most = r.max.unwrap_or(u32::MAX).min(budget.div_ceil(least) as u32);
            if most == 0 {
                return Hir::empty();
            }
            let first = prefixes(&r.sub, budget);
            if r.sub.properties().maximum_len() == Some(1) && least == 1 {
                return repeat((*r.sub).clone(), 0, most);
            }
            concat([repeat((*r.sub).clone(), 0, most - 1), first])
        }
        HirKind::Concat(items) => {
            let mut out = Hir::empty();
            let mut starts = Vec::new();
            let mut used = 0;
            for i in items {
                starts.push(used);
                used += i.properties().minimum_len().unwrap_or(0);
            }
            for (i, used) in items.iter().zip(starts).rev() {
                if used >= budget && used > 0 {
                    continue;
                }
                let here = prefixes(i, budget - used);
                out = Hir::alternation(vec![here, concat([i.clone(), out])]);
            }
            out
        }
    }
}

/// Every prefix of the characters of a class in UTF-8: a push may end inside one.
fn cut_characters(c: &Class, budget: usize) -> Hir {
    let Class::Unicode(c) = c else { return Hir::empty() };
    let mut out = vec![Hir::empty()];
    for sequence in c.ranges().iter().flat_map(|r| Utf8Sequences::new(r.start(), r.end())) {
        let mut prefix = Hir::empty();
        for r in sequence.as_slice().iter().take(budget).rev() {
            let byte = Hir::class(Class::Bytes(ClassBytes::new([ClassBytesRange::new(r.start, r.end)])));
            prefix = optional(concat([byte, prefix]));
        }
        out.push(prefix);
    }
    Hir::alternation(out)
}

fn optional(h: Hir) -> Hir {
    repeat(h, 0, 1)
}

fn repeat(sub: Hir, min: u32, max: u32) -> Hir {
    Hir::repetition(regex_syntax::hir::Repetition { min, max: Some(max), greedy: true, sub: Box::new(sub) })
}

pub(crate) fn concat<const N: usize>(items: [Hir; N]) -> Hir {
    Hir::concat(items.to_vec())
}

/// Any byte at all.
pub(crate) fn any_byte() -> Hir {
    Hir::class(Class::Bytes(ClassBytes::new([ClassBytesRange::new(0, 255)])))
}

/// The bytes a match can begin with; `None` if it can be empty.
fn first_bytes(h: &Hir) -> Option<ByteSet> {
    let mut out = ByteSet::default();
    match h.kind() {
        HirKind::Empty | HirKind::Look(_) => return None,
        HirKind::Literal(l) => out.add(*l.0.first()?),
        HirKind::Class(_) => out = class_firsts(h),
        HirKind::Capture(c) => return first_bytes(&c.sub),
        HirKind::Repetition(r) if r.min > 0 => return first_bytes(&r.sub),
        HirKind::Repetition(_) => return None,
        HirKind::Alternation(items) => {
            for i in items {
                out.union(&first_bytes(i)?);
            }
        }
        HirKind::Concat(items) => {
            for i in items {
                match first_bytes(i) {
                    Some(f) => {
                        out.union(&f);
                        return Some(out);
                    }
                    None => out.union(&optional_firsts(i)),
                }
            }
            return None;
        }
    }
    Some(out)
}

fn optional_firsts(h: &Hir) -> ByteSet {
    match h.kind() {
        HirKind::Empty | HirKind::Look(_) => ByteSet::default(),
        HirKind::Repetition(r) => first_bytes(&r.sub).unwrap_or_else(|| optional_firsts(&r.sub)),
        HirKind::Capture(c) => optional_firsts(&c.sub),
        HirKind::Alternation(items) | HirKind::Concat(items) => {
            let mut out = ByteSet::default();
            for i in items {
                out.union(&first_bytes(i).unwrap_or_else(|| optional_firsts(i)));
            }
            out
        }
        HirKind::Literal(_) | HirKind::Class(_) => first_bytes(h).unwrap_or_default(),
    }
}

fn class_firsts(h: &Hir) -> ByteSet {
    let mut out = ByteSet::default();
    match h.kind() {
        HirKind::Class(Class::Bytes(c)) => c.ranges().iter().for_each(|r| out.add_range(r.start(), r.end())),
        HirKind::Class(Class::Unicode(c)) => {
            for r in c.ranges() {
                if u32::from(r.end()) - u32::from(r.start()) > 4096 {
                    return ByteSet::full();
                }
                for ch in r.start()..=r.end() {
                    out.add(ch.encode_utf8(&mut [0; 4]).as_bytes()[0]);
                }
            }
        }
        _ => {}
    }
    out
}

/// Every byte that can stand anywhere in a match.
fn all_bytes(h: &Hir) -> ByteSet {
    let mut out = ByteSet::default();
    match h.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(l) => l.0.iter().for_each(|b| out.add(*b)),
        HirKind::Class(Class::Bytes(_)) => out = class_firsts(h),
        HirKind::Class(Class::Unicode(_)) => {
            out = class_firsts(h);
            out.add_range(0x80, 0xff);
        }
        HirKind::Capture(c) => return all_bytes(&c.sub),
        HirKind::Repetition(r) => return all_bytes(&r.sub),
        HirKind::Alternation(items) | HirKind::Concat(items) => items.iter().for_each(|i| out.union(&all_bytes(i))),
    }
    out
}

/// Whether no byte of `body` but its last could be the guard of another match: matches cannot overlap themselves.
fn excludes(guard: &Hir, body: &Hir) -> bool {
    !matches!(guard.kind(), HirKind::Concat(_)) && !has_look(guard) && !all_bytes(guard).meets(&all_bytes(body))
}

fn has_look(h: &Hir) -> bool {
    !h.properties().look_set().is_empty()
}
