//! What the engine does with one rule, for the people who write rules: how it is looked for, what it runs, what it holds.
//!
//! Made by the same planning as a rule set, from the rule alone: in a set, class rules share automata, and
//! what is said here of one of them is its part. It is *not* a measurement: what a rule costs depends on the text, so
//! [`Explanation::candidates_in`] counts in one that is given.

use aho_corasick::AhoCorasick;

use crate::dfa::{LazyDfa, Recipe};
use crate::exact::ExactSpec;
use crate::finding::Action;
use crate::pack::{RuleSpec, What};
use crate::pattern;
use crate::plan::{self, Anchor, Key, Plan, Want};
use crate::ruleset::wanted;
use crate::shape::ByteSet;

/// How a rule is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// It begins with one of these literals, case folded.
    Literals(Vec<String>),
    /// One of these literals, case folded, stands in its keyword; the span is looked for behind it.
    Keywords(Vec<String>),
    /// One of these literals, case folded, stands inside the span.
    Inner(Vec<String>),
    /// It is tried wherever its first bytes fit, together with rules that look alike: what can stand at each of the
    /// first places, the one before the span first. `[0-9]`, `[^a-z]` or `any byte`.
    Class(Vec<String>),
    /// None: a tracker of this name reads along, and stops at what is said.
    Tracker(String, &'static str),
    /// None: an automaton of all exact values of a rule set reads along. One of this value alone takes so many bytes.
    Exact(usize),
}

/// An automaton of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automaton {
    /// What it reads.
    pub reads: &'static str,
    /// How many states it has.
    pub states: usize,
    /// Its table, in bytes.
    pub bytes: usize,
}

/// What the engine does with a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What gives the rule away.
    pub candidate: Candidate,
    /// What is run, in the order in which it is run.
    pub automata: Vec<Automaton>,
    /// Longest span in bytes; for a region, of its beginning. `None` of what is no pattern.
    pub longest: Option<usize>,
    /// Which bytes are held, and from when on.
    pub holds: &'static str,
    /// It is looked for only where one of its nearby words stands.
    pub gated: bool,
    finder: Finder,
}

/// How candidates are told from other places of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Finder {
    /// One of these ends there, case folded.
    Literals(Vec<Vec<u8>>),
    /// These sets of bytes follow each other there.
    Shape(Vec<ByteSet>),
    /// There are no candidates.
    Nothing,
}

impl Explanation {
    /// How many places of a text look like the rule to the first stage of the engine; `None` if it looks for no
    /// candidates. Words near the place are not asked for.
    pub fn candidates_in(&self, text: &[u8]) -> Option<usize> {
        match &self.finder {
            Finder::Literals(literals) => {
                let all = AhoCorasick::builder().ascii_case_insensitive(true).build(literals).ok()?;
                Some(all.find_overlapping_iter(text).count())
            }
            Finder::Shape(places) => {
                let fits = |w: &&[u8]| w.iter().zip(places).all(|(b, set)| set.has(*b));
                Some(text.windows(places.len().max(1)).filter(fits).count())
            }
            Finder::Nothing => None,
        }
    }
}

/// Explains a rule under an action.
///
/// # Errors
/// The engine would refuse the rule; the reason, and for most what to do.
pub fn explain(rule: &RuleSpec, action: Action) -> Result<Explanation, String> {
    if let Some((pattern, want)) = wanted(rule, action) {
        let planned = plan::all(&[(pattern, want)]).pop().unwrap_or_else(|| Err("it has no plan".to_owned()));
        return planned.and_then(|plan| of_plan(plan, want)).map_err(|e| pattern::told_of(&rule.what, e));
    }
    let candidate = match &rule.what {
        What::Exact(bytes) => Candidate::Exact(ExactSpec::build(std::slice::from_ref(bytes))?.bytes()),
        What::Tracker { name, .. } => Candidate::Tracker(name.clone(), stops_at(name)),
        What::Pattern(_) | What::Region { .. } => return Err("it has no plan".to_owned()),
    };
    let holds = match &candidate {
        _ if !action.acts() => "nothing: the rule only reports",
        Candidate::Exact(_) => "the longest end of what came that may still become one of its spellings",
        Candidate::Tracker(name, _) if name == "structure" => "nothing: what it finds is a place, at the end",
        _ => "from the start of what may still become one of its findings",
    };
    let (automata, finder) = (Vec::new(), Finder::Nothing);
    Ok(Explanation { candidate, automata, longest: None, holds, gated: false, finder })
}

/// What a tracker looks at more closely than at other bytes.
fn stops_at(tracker: &str) -> &'static str {
    match tracker {
        "comment-elision" => "lines in which a comment can begin, or two dots in a row stand; a comment is read whole",
        "hidden-text" => "escapes and characters that are no plain text: invisible ones, marks, look-alikes",
        "structure" => "quotes, brackets, fences and tags; what is open is told at the end of the stream, not before",
        _ => "what it is made for",
    }
}

fn of_plan(plan: Plan, want: Want) -> Result<Explanation, String> {
    let mut recipes = Vec::new();
    match &plan.key {
        Some(Key::Whole(pre)) => recipes.push(("what stands before the span", Recipe::of(pre.clone()))),
        Some(Key::Gap { gap, .. }) => recipes.push(("what stands between keyword and span", Recipe::of(gap.clone()))),
        None => {}
    }
    if let Anchor::Inner { head, .. } = &plan.anchor {
        recipes.push(("the span's head, backwards from the literal", Recipe::reversed(head.clone())));
    }
    let forward = Recipe::with_body(plan.forward.clone(), plan.body.clone());
    recipes.push(("the span and what stands behind it", forward));
    if let Some(held) = plan.held.as_ref().filter(|_| want.acts) {
        let held = Recipe::reversed(held.prefixes.clone());
        recipes.push(("what may become a span, backwards from a push's end", held));
    }
    let built = |(reads, recipe): (&'static str, Recipe)| {
        let dfa = LazyDfa::shared(recipe.key(), recipe);
        dfa.build()?;
        Ok(Automaton { reads, states: dfa.states(), bytes: dfa.bytes() })
    };
    let automata = recipes.into_iter().map(built).collect::<Result<Vec<Automaton>, String>>()?;
    let holds = match (&plan.anchor, &plan.key) {
        _ if !want.acts => "nothing: the rule only reports",
        (_, Some(_)) => "from the span's start, once its keyword was seen, while it can still match",
        (Anchor::Literal(_), _) => "what may become its literal, then from the span's start while it can still match",
        (Anchor::Inner { .. }, _) => {
            "what may be the head of its literal, then from the span's start while it can match"
        }
        (Anchor::Class, _) => "from the span's start while it can still match",
    };
    let text = |l: &Vec<Vec<u8>>| l.iter().map(|l| readable(l)).collect();
    let candidate = match &plan.anchor {
        Anchor::Literal(l) if plan.key.is_some() => Candidate::Keywords(text(l)),
        Anchor::Literal(l) => Candidate::Literals(text(l)),
        Anchor::Inner { literals, .. } => Candidate::Inner(text(literals)),
        Anchor::Class => Candidate::Class(plan.shape.iter().map(class).collect()),
    };
    let finder = match plan.anchor {
        Anchor::Literal(literals) | Anchor::Inner { literals, .. } => Finder::Literals(literals),
        Anchor::Class => Finder::Shape(plan.shape),
    };
    Ok(Explanation { candidate, automata, longest: Some(plan.max_span), holds, gated: want.gated, finder })
}

/// Bytes as people read them: text as it is, escapes for what is none, does not show, or is a backslash.
fn readable(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\'' => out.push(c),
                c => out.extend(c.escape_debug()),
            }
        }
        chunk.invalid().iter().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
    }
    out
}

/// A set of bytes as a class of an expression.
fn class(set: &ByteSet) -> String {
    let inside = set.count();
    if inside == 256 {
        return "any byte".to_owned();
    }
    let negated = inside > 128;
    let (mut out, mut from) = (String::from(if negated { "[^" } else { "[" }), None);
    for b in 0..=256u16 {
        let has = u8::try_from(b).is_ok_and(|b| set.has(b) != negated);
        match (has, from) {
            (true, None) => from = Some(b),
            (false, Some(first)) => {
                let last = b - 1;
                out.push_str(&byte(first));
                if last > first + 1 {
                    out.push('-');
                }
                if last > first {
                    out.push_str(&byte(last));
                }
                from = None;
            }
            _ => {}
        }
    }
    out.push(']');
    out
}

/// One byte of a class.
fn byte(b: u16) -> String {
    match u8::try_from(b) {
        Ok(b @ (b'-' | b']' | b'[' | b'^')) => format!("\\{}", char::from(b)),
        Ok(b) => b.escape_ascii().to_string(),
        Err(_) => String::new(),
    }
}
