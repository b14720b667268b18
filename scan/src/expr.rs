//! An expression that waits to become an automaton.
//!
//! As text, because most of them wait for ever: two thousand rules as trees would be tens of megabytes, and text can be
//! hashed, compared and stored. It parses to a tree that means the same.
//!
//! Its authors are the planner and whoever wrote a cache file: text that does not parse is an error, never a panic.

use std::fmt::Write as _;
use std::sync::Arc;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};
use serde::{Deserialize, Serialize};

/// How deep groups may stand in one another: every prefix of a long sequence nests once an item. The compiler of
/// automata recurses, so that a forged text must not choose the depth of its stack.
const MAX_NEST: u32 = 2000;

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Expr {
    text: String,
    /// The tree, if it is needed soon.
    #[serde(skip)]
    tree: Option<Arc<Hir>>,
}

impl Expr {
    pub(crate) fn of(tree: &Hir) -> Expr {
        Expr { text: text(tree), tree: None }
    }

    /// Keeps the tree too: for what is built at once.
    pub(crate) fn with_tree(tree: Hir) -> Expr {
        Expr { text: text(&tree), tree: Some(Arc::new(tree)) }
    }

    /// One behind the other. Each must be the text of a tree.
    pub(crate) fn joined(texts: &[&str]) -> Expr {
        Expr { text: texts.concat(), tree: None }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn tree(&self) -> Result<Arc<Hir>, String> {
        match &self.tree {
            Some(tree) => Ok(Arc::clone(tree)),
            None => ParserBuilder::new()
                .utf8(false)
                .nest_limit(MAX_NEST)
                .build()
                .parse(&self.text)
                .map(Arc::new)
                .map_err(|_| "its expression is nested too deeply; split the rule in two".to_owned()),
        }
    }
}

/// The text of a tree. The library prints `(?:x{3})?` as `x{3}?`, which reads as something else, so what has parts is
/// printed here, each part in a group.
pub(crate) fn text(tree: &Hir) -> String {
    let mut out = String::new();
    print(tree, &mut out);
    out
}

fn print(tree: &Hir, out: &mut String) {
    let mut group = |items: &[Hir], between: &str| {
        out.push_str("(?:");
        for (i, item) in items.iter().enumerate() {
            out.push_str(if i == 0 { "" } else { between });
            print(item, out);
        }
        out.push(')');
    };
    match tree.kind() {
        HirKind::Concat(items) => group(items, ""),
        HirKind::Alternation(items) => group(items, "|"),
        HirKind::Capture(c) => group(std::slice::from_ref(&c.sub), ""),
        HirKind::Repetition(r) => {
            group(std::slice::from_ref(&r.sub), "");
            match r.max {
                Some(max) => drop(write!(out, "{{{},{max}}}", r.min)),
                None => drop(write!(out, "{{{},}}", r.min)),
            }
        }
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => drop(write!(out, "{tree}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Expr, text};

    /// What a tree prints means what the tree means: it parses to the same tree.
    #[test]
    fn texts_parse_to_their_trees() {
        for pattern in [
            "(?:a{40})?b",
            "(?:[a-z]{2,3}?)*?c",
            "(?:(?:ab){2}){3}",
            "(?:a|b{2}|)+",
            r"(?-u:\xff\xfe)a\b(?u:[日é]{2})",
            "(?m:^a$)|x",
            r"\.\*\{2\}",
            "a??",
        ] {
            let tree = regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern).unwrap();
            let again = Expr::of(&tree).tree().unwrap();
            assert_eq!(text(&again), text(&tree), "{pattern}");
            let plain = |h: &regex_syntax::hir::Hir| h.properties().clone();
            assert_eq!(plain(&again).minimum_len(), plain(&tree).minimum_len(), "{pattern}");
            assert_eq!(plain(&again).maximum_len(), plain(&tree).maximum_len(), "{pattern}");
        }
    }
}
