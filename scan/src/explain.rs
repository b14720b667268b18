//! What the engine does with one rule, for the people who write rules: how it is looked for, what it runs, what it holds.
//!
//! Made by the same planning as a rule set, from the rule alone: in a set, class rules share automata, and
//! what is said here of one of them is its part.

use crate::dfa::{LazyDfa, Recipe};
use crate::finding::Action;
use crate::pack::RuleSpec;
use crate::plan::{self, Anchor, Key};
use crate::ruleset::wanted;

/// How a rule is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// It begins with one of these literals, case folded.
    Literals(Vec<String>),
    /// One of these literals, case folded, stands in its keyword; the span is looked for behind it.
    Keywords(Vec<String>),
    /// One of these literals, case folded, stands inside the span.
    Inner(Vec<String>),
    /// It is tried wherever its first bytes fit, together with rules that look alike.
    Class,
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
    /// Longest span in bytes; for a region, of its beginning.
    pub longest: usize,
    /// Which bytes are held, and from when on.
    pub holds: &'static str,
}

/// Explains a rule under an action. `None` for what is not found by a pattern; an error if the engine would refuse the
/// rule, with the reason.
pub fn explain(rule: &RuleSpec, action: Action) -> Result<Option<Explanation>, String> {
    let Some((pattern, want)) = wanted(rule, action) else { return Ok(None) };
    let Some(plan) = plan::all(&[(pattern, want)]).pop().transpose()? else { return Ok(None) };
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
    let text = |l: Vec<Vec<u8>>| l.iter().map(|l| l.escape_ascii().to_string()).collect();
    let candidate = match plan.anchor {
        Anchor::Literal(l) if plan.key.is_some() => Candidate::Keywords(text(l)),
        Anchor::Literal(l) => Candidate::Literals(text(l)),
        Anchor::Inner { literals, .. } => Candidate::Inner(text(literals)),
        Anchor::Class => Candidate::Class,
    };
    Ok(Some(Explanation { candidate, automata, longest: plan.max_span, holds }))
}
