//! Which language a text is in, from its first bytes, with no file name to go by.
//!
//! Each line votes for what it looks like. A guess needs votes from several lines and a clear lead; else the text is
//! unknown, and nothing is said about its brackets and quotes. A wrong guess costs a false alarm, no guess costs only
//! a miss.

use super::dialect::{self, Dialect};
use super::votes::{self, Line, contains};

/// What the text is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Unknown,
    Markdown,
    Yaml,
    Html,
    Xml,
    Code(Dialect),
}

/// Votes, in the order of [`Votes::best`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lang {
    Markdown,
    Yaml,
    Html,
    Sql,
    Python,
    Script,
    Rust,
    C,
    Go,
    Shell,
    Toml,
    Css,
    /// Languages that this module knows only to leave alone: Ruby, Perl, PHP, Lua, Lisp, TeX, make files.
    Other,
}

const LANGS: usize = 13;

/// Fewest votes for a guess: three telling lines, or two and a few hints.
const ENOUGH: u32 = 6;

/// Guesses from the first bytes. `whole`: the text ends there.
pub(super) fn guess(head: &[u8], whole: bool) -> Kind {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let start = text.trim_ascii_start();
    if start.starts_with(b"<?php") {
        return Kind::Unknown;
    }
    let lower: Vec<u8> = start.iter().take(64).map(u8::to_ascii_lowercase).collect();
    let begins = |p: &[u8]| lower.starts_with(p);
    if begins(b"<!doctype html") || begins(b"<html") {
        return Kind::Html;
    }
    if begins(b"<?xml") || begins(b"<svg") {
        return Kind::Xml;
    }
    let mut votes = Votes::default();
    if let Some(line) = start.strip_prefix(b"#!") {
        let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
        let has = |w: &[u8]| contains(line, w);
        let lang = match () {
            () if has(b"python") => Lang::Python,
            () if has(b"node") || has(b"bun") || has(b"deno") => Lang::Script,
            () if has(b"sh") => Lang::Shell,
            () if line.starts_with(b"[") => Lang::Rust,
            () => Lang::Other,
        };
        votes.add(lang, 12);
    }
    let mut lines = text.split(|b| *b == b'\n').peekable();
    let mut state = Lines::default();
    while let Some(line) = lines.next() {
        if lines.peek().is_none() && !whole {
            break; // cut by the bound, not by its author
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        state.vote(line, &mut votes);
    }
    if state.lines < 2 {
        return Kind::Unknown;
    }
    votes.best()
}

#[derive(Debug, Default)]
struct Votes([u32; LANGS]);

impl Votes {
    fn add(&mut self, lang: Lang, n: u32) {
        self.0[lang as usize] += n;
    }

    fn best(&self) -> Kind {
        let mut order: Vec<usize> = (0..LANGS).collect();
        order.sort_by_key(|i| std::cmp::Reverse(self.0[*i]));
        let (first, second) = (self.0[order[0]], self.0[order[1]]);
        // A lead by half again, since languages share much of their look.
        if first < ENOUGH || first * 2 < second * 3 {
            return Kind::Unknown;
        }
        match order[0] {
            0 => Kind::Markdown,
            1 => Kind::Yaml,
            2 => Kind::Html,
            3 => Kind::Code(dialect::SQL),
            4 => Kind::Code(dialect::PYTHON),
            5 => Kind::Code(dialect::SCRIPT),
            6 => Kind::Code(dialect::RUST),
            7 => Kind::Code(dialect::C),
            8 => Kind::Code(dialect::GO),
            9 => Kind::Code(dialect::SHELL),
            10 => Kind::Code(dialect::TOML),
            11 => Kind::Code(dialect::CSS),
            _ => Kind::Unknown,
        }
    }
}

/// Most hints that count. They are what several languages write, and a long file has many of them.
const MAX_HINTS: u32 = 6;

/// What the lines above say about the next one.
#[derive(Debug, Default)]
struct Lines {
    lines: u32,
    hints: u32,
    /// In a Markdown fence: its lines are in some other language.
    fence: bool,
    /// In a block comment.
    comment: bool,
    /// In a docstring.
    doc: bool,
}

impl Lines {
    fn vote(&mut self, line: &[u8], v: &mut Votes) {
        let indented = line.first().is_some_and(|b| *b == b' ' || *b == b'\t');
        let l = Line { text: line.trim_ascii(), indented };
        if l.text.is_empty() {
            return;
        }
        self.lines += 1;
        if self.skips(&l, v) {
            return;
        }
        if l.begins(&["//"]) && !l.begins(&["///", "//!"]) {
            self.hint(v, &[Lang::Script, Lang::C, Lang::Rust, Lang::Go]);
            return;
        }
        if votes::braces(&l) {
            self.hint(v, &[Lang::Script, Lang::C, Lang::Rust, Lang::Go]);
        }
        if l.begins(&["# "]) && !indented {
            self.hint(v, &[Lang::Markdown, Lang::Python, Lang::Yaml, Lang::Shell, Lang::Toml]);
        }
        let seen = v.0[Lang::Sql as usize] > 3;
        v.add(Lang::Python, votes::python(&l));
        v.add(Lang::Rust, votes::rust(&l));
        v.add(Lang::Script, votes::script(&l));
        v.add(Lang::C, votes::c(&l));
        v.add(Lang::Go, votes::go(&l));
        v.add(Lang::Sql, votes::sql(&l, seen));
        v.add(Lang::Yaml, if l.text == b"---" && self.lines == 1 { 2 } else { votes::yaml(&l) });
        v.add(Lang::Shell, votes::shell(&l));
        v.add(Lang::Toml, votes::toml(&l));
        v.add(Lang::Css, votes::css(&l));
        v.add(Lang::Html, votes::html(&l));
        v.add(Lang::Markdown, votes::markdown(&l));
        let recipe = line.starts_with(b"\t@") || line.starts_with(b"\t$(");
        v.add(Lang::Other, if recipe { 4 } else { votes::other(&l) });
    }

    /// Whether the line belongs to a comment, a docstring or a fence, and so does not vote.
    fn skips(&mut self, l: &Line<'_>, v: &mut Votes) -> bool {
        if self.comment {
            self.comment = !l.has("*/");
            return true;
        }
        let triple = l.has("\"\"\"") && memchr::memmem::find_iter(l.text, b"\"\"\"").count() % 2 == 1;
        if self.doc || triple && !self.fence {
            if !self.doc {
                v.add(Lang::Python, 3);
            }
            self.doc ^= triple;
            return true;
        }
        if l.begins(&["```"]) {
            self.fence = !self.fence;
            v.add(Lang::Markdown, 5);
            return true;
        }
        if !self.fence && l.begins(&["/*"]) {
            self.comment = !l.has("*/");
            self.hint(v, &[Lang::Script, Lang::C, Lang::Css, Lang::Go, Lang::Rust]);
            return true;
        }
        self.fence
    }

    /// A line that several languages write.
    fn hint(&mut self, v: &mut Votes, langs: &[Lang]) {
        if self.hints < MAX_HINTS {
            self.hints += 1;
            for l in langs {
                v.add(*l, 1);
            }
        }
    }
}
