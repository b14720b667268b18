//! What is let through although a rule matches: texts that a rule's author knows to be no secret.
//!
//! An entry is judged once, on the span that the rule has settled on. If it holds, the span is passed over as if the
//! rule had found it and nothing were to be done: nothing shorter is tried in its place, and no match of the same rule
//! begins inside it. That is what sets it apart from [checks](crate::checks), which choose among the spans.
//!
//! Patterns and words come from a pack, which is untrusted: each pattern becomes a small automaton, built when the pack
//! is parsed, or is refused. The text is an attacker's: time is linear in the span and the few bytes before it. An entry
//! sees no byte behind the span, so that it never delays an answer.

use std::fmt;

use aho_corasick::AhoCorasick;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::{Anchored, Input};
use regex_syntax::ParserBuilder;

/// Bound on one pattern's table, in bytes. A pack may have many: a list of a hundred patterns of one word each is
/// honest, one that needs more than this is a counted repeat that multiplies.
const MAX_TABLE: usize = 1 << 20;
/// Most patterns in an entry: all of them are run on every span of the rule.
pub const MAX_PATTERNS: usize = 256;
/// Most words in an entry. The longest public list has 1,500; with more the automaton over them is megabytes.
pub const MAX_WORDS: usize = 8192;
/// Longest text in front of the span that patterns may look at, in bytes: every stream keeps so much to look back at.
pub const MAX_BEFORE: usize = 256;

/// An entry: what is let through.
pub struct Allow {
    patterns: Vec<String>,
    words: Vec<String>,
    both: bool,
    before: usize,
    automata: Vec<dense::DFA<Vec<u32>>>,
    finder: Option<AhoCorasick>,
}

impl Allow {
    /// Builds an entry. It holds where one of `patterns` is found in the span or one of `words` stands in it (ASCII case
    /// folded); with `both`, where both are so. Patterns also see up to `before` bytes in front of the span, no further
    /// than its line; `^` and `$` are the ends of what they see.
    ///
    /// # Errors
    /// Says which pattern is wrong and why, or which bound is passed.
    pub fn new(patterns: Vec<String>, words: Vec<String>, both: bool, before: usize) -> Result<Allow, String> {
        if patterns.is_empty() && words.is_empty() {
            return Err("an entry of `allow` has neither patterns nor words: it would let nothing through".into());
        }
        if both && (patterns.is_empty() || words.is_empty()) {
            return Err("an entry of `allow` with `both` needs patterns and words".into());
        }
        if patterns.len() > MAX_PATTERNS || words.len() > MAX_WORDS || before > MAX_BEFORE {
            return Err(format!(
                "an entry of `allow` has at most {MAX_PATTERNS} patterns, {MAX_WORDS} words and {MAX_BEFORE} bytes before"
            ));
        }
        if words.iter().any(String::is_empty) {
            return Err("an empty word in `allow` stands in every text: it would let everything through".into());
        }
        let automata = patterns.iter().map(|p| automaton(p)).collect::<Result<_, _>>()?;
        let finder = if words.is_empty() {
            None
        } else {
            let built = AhoCorasick::builder().ascii_case_insensitive(true).build(&words);
            Some(built.map_err(|_| "the words of `allow` are too many to look for".to_owned())?)
        };
        Ok(Allow { patterns, words, both, before, automata, finder })
    }

    /// Bytes in front of a span that it needs: those its patterns see, and one more, which may end the line before.
    pub fn before(&self) -> usize {
        if self.before == 0 { 0 } else { self.before + 1 }
    }

    /// Whether a span is let through. `text` ends with the span, which begins at `start`; in front of it stand at least
    /// [`Self::before`] bytes, or all there are.
    pub fn holds(&self, text: &[u8], start: usize) -> bool {
        let words = || self.finder.as_ref().is_some_and(|f| f.is_match(&text[start..]));
        if self.both { self.pattern_holds(text, start) && words() } else { words() || self.pattern_holds(text, start) }
    }

    fn pattern_holds(&self, text: &[u8], start: usize) -> bool {
        let front = &text[start - self.before().min(start)..start];
        let line = front.iter().rposition(|b| *b == b'\n').map(|at| start - front.len() + at + 1);
        let input = match line {
            Some(at) => Input::new(&text[at..]),
            // Inside of a line: the first byte that is seen is not where `^` holds.
            None if self.before > 0 && front.len() > self.before => Input::new(text).range(start - self.before..),
            None => Input::new(&text[start - front.len()..]),
        };
        let input = input.anchored(Anchored::No).earliest(true);
        // No byte is set to stop a search, so it cannot fail.
        self.automata.iter().any(|a| a.try_search_fwd(&input).is_ok_and(|found| found.is_some()))
    }
}

impl fmt::Debug for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allow")
            .field("patterns", &self.patterns)
            .field("words", &self.words)
            .field("both", &self.both)
            .field("before", &self.before)
            .finish()
    }
}

impl fmt::Display for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p, w) = (self.patterns.len(), self.words.len());
        match (p, w, self.both) {
            (p, 0, _) => write!(f, "{p} pattern(s)")?,
            (0, w, _) => write!(f, "{w} word(s)")?,
            (p, w, true) => write!(f, "{p} pattern(s) together with {w} word(s)")?,
            (p, w, false) => write!(f, "{p} pattern(s) or {w} word(s)")?,
        }
        if self.before > 0 { write!(f, ", {} bytes before the span too", self.before) } else { Ok(()) }
    }
}

/// A pattern over bytes; it is found anywhere in a text.
fn automaton(pattern: &str) -> Result<dense::DFA<Vec<u32>>, String> {
    let explodes = || format!("allow pattern `{pattern}`: its automaton explodes; shorten its repeats");
    let hir =
        ParserBuilder::new().utf8(false).unicode(false).nest_limit(64).build().parse(pattern).map_err(|e| {
            format!("allow pattern `{pattern}`: {}", e.to_string().lines().last().unwrap_or("bad").trim())
        })?;
    let nfa = thompson::Compiler::new()
        .configure(
            thompson::Config::new()
                .utf8(false)
                .which_captures(thompson::WhichCaptures::None)
                .nfa_size_limit(Some(MAX_TABLE)),
        )
        .build_from_hir(&hir)
        .map_err(|_| explodes())?;
    let config = dense::Config::new()
        .start_kind(StartKind::Unanchored)
        .accelerate(false)
        .dfa_size_limit(Some(MAX_TABLE))
        .determinize_size_limit(Some(MAX_TABLE * 4));
    dense::Builder::new().configure(config).build_from_nfa(&nfa).map_err(|_| explodes())
}
