//! Automata of many patterns, which must be there before a rule set is used: built side by side, or taken from a cache.
//!
//! A list of patterns whose one automaton would explode is halved until it does not. The attacker is the author of a
//! rule: a pattern that explodes alone is an error that names it.

use std::sync::Arc;

use crate::dfa::{LazyDfa, Recipe};
use crate::expr::Expr;

/// What to build.
#[derive(Debug)]
pub(crate) enum Job {
    /// One automaton or several for all of a list.
    List(List),
    /// One that is there already and waits.
    Waiting([u8; 32], Arc<LazyDfa>),
}

/// Patterns that shall share automata.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) patterns: Vec<Expr>,
    /// Where BODY of each ends, if it is told.
    pub(crate) bodies: Vec<Option<Expr>>,
    pub(crate) reverse: bool,
}

/// An automaton for the next so many patterns of a list.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) patterns: usize,
    /// Patterns and marks that it names; 0 if it names none.
    pub(crate) names: usize,
    pub(crate) dfa: Arc<LazyDfa>,
}

/// A pattern that explodes alone: its place in its list.
#[derive(Clone, Debug)]
pub(crate) struct Exploded {
    pub(crate) at: usize,
    pub(crate) why: String,
}

impl Job {
    pub(crate) fn key(&self) -> [u8; 32] {
        match self {
            Job::List(list) => list.recipe(0, list.patterns.len()).key(),
            Job::Waiting(key, _) => *key,
        }
    }

    /// How long it takes, roughly.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Job::List(list) => list.recipe(0, list.patterns.len()).weight(),
            Job::Waiting(_, dfa) => dfa.weight(),
        }
    }

    /// Whether `pieces` have the form of what [`Job::run`] makes.
    pub(crate) fn fits(&self, pieces: &[Piece]) -> bool {
        let Job::List(list) = self else { return true };
        let mut at = 0;
        let fits = pieces.iter().all(|p| {
            let end = at + p.patterns;
            let fits = p.patterns > 0 && end <= list.patterns.len() && list.recipe(at, end).names() == p.names;
            at = end;
            fits
        });
        fits && at == list.patterns.len()
    }

    pub(crate) fn run(&self) -> Result<Vec<Piece>, Exploded> {
        match self {
            Job::List(list) => list.pieces(0, list.patterns.len()),
            Job::Waiting(_, dfa) => {
                dfa.build().map_err(|why| Exploded { at: 0, why })?;
                Ok(vec![Piece { patterns: 1, names: dfa.names(), dfa: Arc::clone(dfa) }])
            }
        }
    }
}

impl List {
    fn recipe(&self, from: usize, to: usize) -> Recipe {
        let patterns = self.patterns[from..to].to_vec();
        match self.reverse {
            true => Recipe::reversed_any(patterns),
            false => Recipe::any(patterns, self.bodies[from..to].iter().flatten().cloned().collect()),
        }
    }

    fn pieces(&self, from: usize, to: usize) -> Result<Vec<Piece>, Exploded> {
        let recipe = self.recipe(from, to);
        match recipe.make() {
            Ok(dfa) => Ok(vec![Piece { patterns: to - from, names: recipe.names(), dfa: Arc::new(dfa.into()) }]),
            Err(why) if to - from <= 1 => Err(Exploded { at: from, why }),
            Err(_) => {
                let half = from + (to - from) / 2;
                let mut pieces = self.pieces(from, half)?;
                pieces.extend(self.pieces(half, to)?);
                Ok(pieces)
            }
        }
    }
}
