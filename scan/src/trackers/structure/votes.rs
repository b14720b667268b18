//! What a line looks like, language by language. One function a language; each gives the strongest vote that fits.

/// A line without its blanks.
pub(super) struct Line<'a> {
    pub(super) text: &'a [u8],
    /// It had blanks before it.
    pub(super) indented: bool,
}

impl Line<'_> {
    pub(super) fn begins(&self, words: &[&str]) -> bool {
        words.iter().any(|w| self.text.starts_with(w.as_bytes()))
    }

    fn ends(&self, words: &[&str]) -> bool {
        words.iter().any(|w| self.text.ends_with(w.as_bytes()))
    }

    pub(super) fn has(&self, word: &str) -> bool {
        contains(self.text, word.as_bytes())
    }

    fn has_any(&self, words: &[&str]) -> bool {
        words.iter().any(|w| self.has(w))
    }

    fn is(&self, words: &[&str]) -> bool {
        words.iter().any(|w| self.text == w.as_bytes())
    }

    /// Whether it begins with one of the words, which are in capitals, in any case.
    fn begins_caseless(&self, words: &[&str]) -> bool {
        words.iter().any(|w| self.text.get(..w.len()).is_some_and(|t| t.eq_ignore_ascii_case(w.as_bytes())))
    }

    fn semicolon(&self) -> bool {
        self.text.ends_with(b";")
    }

    fn colon(&self) -> bool {
        self.text.ends_with(b":")
    }
}

/// Lines are short: a search without preparation is the fastest.
pub(super) fn contains(text: &[u8], word: &[u8]) -> bool {
    word.first().is_some_and(|b| memchr::memchr_iter(*b, text).any(|i| text[i..].starts_with(word)))
}

/// The strongest vote whose condition holds.
fn strongest(votes: &[(u32, bool)]) -> u32 {
    votes.iter().filter(|(_, fits)| *fits).map(|(n, _)| *n).max().unwrap_or(0)
}

pub(super) fn python(l: &Line<'_>) -> u32 {
    let block = ["if ", "elif ", "else:", "for ", "while ", "try:", "except", "with ", "finally:"];
    let plain_import = !l.has_any(&["\"", "'", "{", " from "]);
    strongest(&[
        (5, l.begins(&["def ", "async def ", "class "]) && l.colon()),
        (5, l.begins(&["from "]) && l.has(" import ") && !l.semicolon()),
        (4, l.begins(&block) && l.colon()),
        (3, l.begins(&["\"\"\"", "r\"\"\"", "'''"])),
        (2, l.begins(&["import "]) && !l.semicolon() && plain_import),
        (2, l.begins(&["self.", "return self", "raise ", "print(", "def ", "__all__", "assert "]) && !l.semicolon()),
    ])
}

pub(super) fn rust(l: &Line<'_>) -> u32 {
    let items = [
        "#[",
        "#![",
        "pub fn ",
        "pub struct ",
        "pub enum ",
        "pub mod ",
        "pub trait ",
        "pub use ",
        "pub const ",
        "pub type ",
        "pub(crate)",
        "pub(super)",
        "impl ",
        "impl<",
        "macro_rules!",
        "extern crate ",
        "let mut ",
        "unsafe impl",
    ];
    strongest(&[
        (4, l.begins(&["use "]) && l.has("::")),
        (4, l.begins(&items)),
        (3, l.begins(&["fn "]) && l.has("(")),
        (3, l.begins(&["mod ", "use "]) && l.semicolon()),
        (3, l.has_any(&["-> Result<", "-> Option<", "&mut self", "&self"])),
        (3, l.begins(&["match ", "assert_eq!(", "assert!(", "println!("])),
        (2, l.begins(&["///", "//!"])),
        (1, l.begins(&["let "]) && l.semicolon()),
    ])
}

pub(super) fn script(l: &Line<'_>) -> u32 {
    let modules = [
        "import {",
        "import * as ",
        "import type ",
        "export ",
        "module.exports",
        "exports.",
        "'use strict'",
        "\"use strict\"",
        "'use client'",
        "\"use client\"",
    ];
    strongest(&[
        (5, l.begins(&modules)),
        (5, l.begins(&["import "]) && l.has_any(&[" from '", " from \""])),
        (5, l.begins(&["import '", "import \""]) && l.semicolon()),
        (5, l.has_any(&["require('", "require(\""])),
        (4, l.begins(&["} from '", "} from \""])),
        (3, l.begins(&["function ", "async function ", "describe(", "it(", "test("]) && l.has("(")),
        (3, l.begins(&["var "]) && l.semicolon()),
        (3, l.has(" => ") && !l.has("match ") && !l.indented),
        (3, l.ends(&["=> {"]) || l.has_any(&[" === ", " !== "])),
        (3, l.begins(&["const "]) && l.has(" = ") && !l.has_any(&["const char", ": &"])),
        (3, l.begins(&["interface ", "declare ", "readonly "])),
        (3, l.begins(&["type "]) && l.has(" = ")),
        (1, l.begins(&["let "]) && l.semicolon()),
    ])
}

/// C, C++, Java, C#, Kotlin.
pub(super) fn c(l: &Line<'_>) -> u32 {
    let directives = ["#include", "#ifndef ", "#ifdef ", "#define ", "#pragma ", "#endif", "#if "];
    let statements = ["package ", "import java", "import android", "import org.", "import com.", "using "];
    let types = [
        "static ",
        "struct ",
        "enum ",
        "int ",
        "void ",
        "char ",
        "bool ",
        "float ",
        "double ",
        "unsigned ",
        "size_t ",
        "const char ",
        "inline ",
        "extern ",
        "uint8_t ",
        "uint32_t ",
        "long ",
        "std::",
        "auto ",
    ];
    strongest(&[
        (5, l.begins(&directives)),
        (4, l.begins(&statements) && l.semicolon()),
        (4, l.begins(&["namespace ", "typedef ", "template <", "template<", "extern \"C\"", "@Override"])),
        (
            4,
            l.begins(&["public ", "private ", "protected ", "public:", "private:"])
                && l.ends(&["{", ";", ":", ",", ")"]),
        ),
        (3, l.begins(&types) && l.ends(&["{", ";", "(", ")", ","]) && !l.has(" = require")),
    ])
}

pub(super) fn go(l: &Line<'_>) -> u32 {
    strongest(&[
        (4, l.begins(&["package "]) && !l.semicolon() && l.text.len() < 60),
        (4, l.begins(&["func "]) && l.has("(")),
        (4, l.begins(&["import (", "if err != nil", "defer ", "go func"])),
        (4, l.has(" := ") && !l.semicolon()),
        (4, l.begins(&["type "]) && l.ends(&["struct {", "interface {"])),
    ])
}

/// Lines of statements; rows and clauses count once some were `seen`.
pub(super) fn sql(l: &Line<'_>, seen: bool) -> u32 {
    let statements = [
        "CREATE TABLE",
        "CREATE INDEX",
        "CREATE UNIQUE",
        "CREATE VIEW",
        "CREATE OR REPLACE",
        "CREATE FUNCTION",
        "CREATE TYPE",
        "CREATE SCHEMA",
        "CREATE EXTENSION",
        "CREATE TRIGGER",
        "CREATE TEMP",
        "CREATE DATABASE",
        "CREATE SEQUENCE",
        "INSERT INTO",
        "ALTER TABLE",
        "DROP TABLE",
        "DROP INDEX",
        "DELETE FROM",
        "PRAGMA ",
    ];
    let clauses = [
        "SELECT ",
        "GRANT ",
        "COMMENT ON",
        "BEGIN;",
        "COMMIT;",
        "PRIMARY KEY",
        "FOREIGN KEY",
        "VALUES",
        "LEFT JOIN",
        "INNER JOIN",
        "GROUP BY",
        "ORDER BY",
        "SET CLIENT_",
        "LANGUAGE ",
    ];
    strongest(&[
        (6, l.begins_caseless(&statements) || l.begins(&["CREATE ", "ALTER ", "DROP ", "REVOKE "])),
        (4, l.begins_caseless(&clauses)),
        (4, l.has_any(&[" NOT NULL", " VARCHAR(", " PRIMARY KEY", " REFERENCES "])),
        (2, l.begins(&["--"]) && !l.begins(&["---"])),
        (2, seen && l.begins_caseless(&["FROM ", "WHERE ", "AND ", "UPDATE "])),
        (2, seen && l.begins(&["("]) && l.ends(&["),", ");"])),
    ])
}

pub(super) fn yaml(l: &Line<'_>) -> u32 {
    let Some(n) = yaml_key(l.text) else { return u32::from(l.begins(&["- "])) };
    let value = l.text[n..].trim_ascii();
    let flow = value.starts_with(b"{") || value.starts_with(b"[");
    if (l.semicolon() || l.ends(&[",", "{", "("])) && !flow {
        return 0;
    }
    let block = matches!(value, b"|" | b">" | b"|-" | b">-" | b"|+");
    1 + u32::from(l.indented || l.begins(&["- "])) + if block { 3 } else { 0 }
}

/// `key:` or `key: value`, possibly behind `- `: the length up to and with the colon.
fn yaml_key(t: &[u8]) -> Option<usize> {
    let dash = if t.starts_with(b"- ") { 2 } else { 0 };
    let key = t[dash..]
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'/' | b'"' | b'\'' | b'$'))
        .count();
    let at = dash + key;
    (key > 0 && t.get(at) == Some(&b':') && t.get(at + 1).is_none_or(|b| *b == b' ')).then_some(at + 1)
}

pub(super) fn shell(l: &Line<'_>) -> u32 {
    let script = l.has("=>") || l.semicolon() || l.has(" from ");
    let exports = [
        "export {",
        "export *",
        "export default",
        "export const",
        "export type",
        "export interface",
        "export function",
        "export class",
        "export async",
    ];
    let words = ["set -e", "set -u", "set -o", "export ", "local ", "echo ", "function "];
    strongest(&[
        (3, l.begins(&words) && !script && !l.begins(&exports)),
        (3, l.is(&["fi", "done", "then", "else", "esac", "do"])),
        (3, l.ends(&["; then", "; do", ";;"])),
        (3, l.begins(&["if [", "elif [", "while [", "case "]) && l.ends(&["]", "then", "do", " in"])),
        (1, l.has_any(&["$(", "\"$"]) || l.has("${") && !l.has("`")),
    ])
}

pub(super) fn toml(l: &Line<'_>) -> u32 {
    let t = l.text;
    let name =
        |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'[' | b']' | b'.' | b'-' | b'_' | b'"' | b'\'' | b' ');
    strongest(&[
        (3, t.len() > 2 && t.starts_with(b"[") && t.ends_with(b"]") && t.iter().all(name)),
        (2, !l.indented && !l.semicolon() && toml_pair(t)),
    ])
}

/// `key = value` with a value that TOML writes.
fn toml_pair(t: &[u8]) -> bool {
    let key = t.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'"')).count();
    let Some(value) = t[key..].strip_prefix(b" = ") else { return false };
    let literal = value.first().is_some_and(|b| matches!(b, b'"' | b'[' | b'{' | b'\'') || b.is_ascii_digit());
    key > 0 && (literal || value == b"true" || value == b"false")
}

pub(super) fn css(l: &Line<'_>) -> u32 {
    let selector = l.begins(&[".", "#", "*", "body", "a:", "a ", "h1", "ul", "table"]) && l.ends(&["{", ","]);
    strongest(&[
        (3, l.begins(&["@media", "@import", "@font-face", "@keyframes", ":root", "@charset"])),
        (3, selector && !l.has_any(&["(", "="])),
        (3, l.semicolon() && css_pair(l.text)),
    ])
}

/// `property: value;`
fn css_pair(t: &[u8]) -> bool {
    let name = t.iter().take_while(|b| b.is_ascii_lowercase() || **b == b'-').count();
    name > 1 && t.get(name) == Some(&b':') && !t.contains(&b'"')
}

pub(super) fn html(l: &Line<'_>) -> u32 {
    let tag = l.text.get(1).is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'/' | b'!'));
    strongest(&[(2, l.begins(&["<"]) && tag)])
}

pub(super) fn markdown(l: &Line<'_>) -> u32 {
    strongest(&[
        (4, l.begins(&["## ", "### ", "#### ", "![", "[!["])),
        (3, l.has("](")),
        (2, l.begins(&["|"]) && l.ends(&["|"]) && l.text.len() > 4),
        (2, l.has("**") && !l.has("**/") && !l.semicolon()),
        (1, l.begins(&["- ", "* ", "1. ", "2. ", "> "])),
        (1, prose(l.text)),
    ])
}

/// Several words, no code.
fn prose(t: &[u8]) -> bool {
    let words = t.iter().filter(|b| **b == b' ').count();
    words >= 5
        && t.first().is_some_and(u8::is_ascii_alphabetic)
        && !t.iter().any(|b| matches!(b, b'{' | b'}' | b';' | b'=' | b'<' | b'\\' | b'|'))
        && t.last().is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b',' | b':' | b')' | b'!' | b'?'))
}

/// Languages that are only known to be left alone: Ruby, Perl, PHP, Lua, Lisp, TeX, make files.
pub(super) fn other(l: &Line<'_>) -> u32 {
    let words = [
        "require '",
        "attr_",
        "use strict;",
        "my $",
        "our $",
        "our @",
        "sub ",
        "=head",
        "=pod",
        "=item",
        "=cut",
        "=over",
        "$",
        "package require",
        "local function",
        "(defun",
        "(define",
        "\\documentclass",
        "\\begin{",
        "\\section",
        ".PHONY",
        "<?php",
        "elsif",
        "@@",
    ];
    strongest(&[(4, l.begins(&words) && !l.has(" := ")), (4, l.is(&["end"]))])
}

/// A line that several languages with braces write.
pub(super) fn braces(l: &Line<'_>) -> bool {
    l.semicolon() || l.ends(&["{", "}", "});", "})", "},"])
}
