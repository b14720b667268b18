//! Tests of the whole tracker.

use std::sync::Arc;

use super::json::{JsonState, json_state, json_state_in_pieces};
use super::{HEAD, Structure};
use crate::finding::Report;
use crate::trackers::{Mark, TrackerSpec};

fn run(pieces: &[&[u8]]) -> (Report, Vec<Mark>) {
    let spec: Arc<dyn TrackerSpec> = Structure::build(&[]).expect("builds");
    let (mut t, mut out, mut report, mut at) = (spec.start(), Vec::new(), Report::default(), 0);
    report.complete = true;
    for p in pieces {
        t.feed(at, p, &mut out);
        at += u64::try_from(p.len()).expect("short");
    }
    t.finish(at, &mut out, &mut report);
    (report, out)
}

fn codes(text: &str) -> Vec<String> {
    run(&[text.as_bytes()]).0.reasons.into_iter().map(|r| r.code).collect()
}

const RUST: &str = "use std::fmt;\n\n/// A thing.\npub struct Thing<'a> {\n    name: &'a str,\n}\n\nimpl Thing<'_> {\n    \
                    pub fn new() -> Self {\n        let quote = '\"';\n        let raw = r#\"a \" b\"#;\n        \
                    println!(\"{} {{\", quote);\n    }\n}\n";
const PYTHON: &str = "import os\nfrom sys import argv\n\n\nclass A:\n    \"\"\"It's a (thing.\"\"\"\n\n    def f(self):\n        \
                      return {'a': [1, 2], \"b\": 'it\\'s'}\n";
const SCRIPT: &str = "import { a } from 'a';\n\nconst re = /[/'\"(]/g;\nexport function f(x) {\n  return `a ${g(`b ${x}`)} \
                      c`;\n}\n\nconst el = (\n  <p>Don't stop</p>\n);\n";
const SQL: &str = "CREATE TABLE a (\n  id INT NOT NULL,\n  b TEXT DEFAULT 'it''s'\n);\n\nCREATE FUNCTION f() RETURNS INT AS \
                   $fn$\nBEGIN\n  RETURN '(';\nEND;\n$fn$ LANGUAGE plpgsql;\nCOPY a FROM stdin;\n1\tit's\n\\.\n";
const YAML: &str = "name: it's fine\non:\n  push:\n    branches: [main, 'a b']\nsteps:\n  - run: |\n      echo \"don't (\n  - \
                    name: \"x: y\"\n";
const MARKDOWN: &str = "# Title\n\nSome text that is long enough to be prose.\n\n````md\n```\nx (\n```\n````\n\n- \
                        [link](x)\n";
const HTML: &str = "<!DOCTYPE html>\n<html>\n<body>\n<div class=\"a\">\n<p>one\n<br>\n<script>if (a < b) { x(\"</p>\"); \
                    }</script>\n<!-- a < b -->\n</div>\n</body>\n</html>\n";
const SHELL: &str =
    "#!/bin/sh\nset -e\ncat <<EOF\nit's (\nEOF\necho \"a $(b 'c')\" # don't\ncase x in\n  a) ;;\nesac\n";
const PEM: &str = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ29uc3RydWN0ZWQ\nAAAAAAAAAAAAAAAAAAAAAA==\n-----END \
                   CERTIFICATE-----\n";
const JSON: &str = "{\"a\": [1, -2.5e3, true, null, \"x\\u00e9\\\"y\"], \"b\": {}}\n";

const WHOLE: [&str; 10] = [RUST, PYTHON, SCRIPT, SQL, YAML, MARKDOWN, HTML, SHELL, PEM, JSON];

#[test]
fn whole_texts_are_complete() {
    for text in WHOLE {
        assert_eq!(codes(text), [""; 0], "{text}");
    }
}

/// Cuts a text behind the first occurrence of `behind`.
fn cut<'a>(text: &'a str, behind: &str) -> &'a str {
    &text[..text.find(behind).expect("is there") + behind.len()]
}

#[test]
fn cuts_are_seen() {
    for (text, behind, code) in [
        (RUST, "println!(\"{", "open-string"),
        (RUST, "let quote =", "open-bracket"),
        (RUST, "r#\"a \" b", "open-string"),
        (PYTHON, "It's a", "open-triple-quote"),
        (PYTHON, "{'a': [1", "open-bracket"),
        (PYTHON, "'it\\'", "open-string"),
        (SCRIPT, "${x", "open-bracket"),
        (SCRIPT, "`a ", "open-template"),
        (SQL, "'it''", "open-string"),
        (SQL, "RETURN '", "open-dollar-quote"),
        (SQL, "1\tit", "open-copy-data"),
        (SQL, "id INT NOT NULL,\n", "open-bracket"),
        (YAML, "[main, ", "open-bracket"),
        (YAML, "\"x: ", "open-string"),
        (MARKDOWN, "```\nx", "open-fence"),
        (HTML, "class=\"", "open-attribute"),
        (HTML, "<div", "open-tag"),
        (HTML, "<!-- a", "open-comment"),
        (HTML, "<p>one", "open-element"),
        (SHELL, "it's (\n", "open-heredoc"),
        (SHELL, "echo \"a", "open-string"),
        (PEM, "Q29uc3", "open-pem"),
        (PEM, "-----END ", "open-pem"),
        (JSON, "[1, ", "open-json-array"),
        (JSON, "\"x\\", "open-json-escape"),
        (JSON, "tr", "open-json-word"),
        (JSON, "\"x\\u00e9", "open-json-string"),
        (JSON, "{", "open-json-object"),
    ] {
        let found = codes(cut(text, behind));
        assert!(found.iter().any(|c| c == code), "{code} behind {behind:?}: {found:?}");
    }
}

#[test]
fn the_mark_stands_at_the_end() {
    let (report, marks) = run(&[b"[1, \"a"]);
    assert!(!report.complete);
    assert_eq!(report.reasons[0].at, 0);
    assert_eq!(marks, [Mark { rule: 0, span: 6..6, decided: 6 }]);
}

#[test]
fn one_line_of_code_is_not_judged() {
    for text in ["fn f() {", "x = (", "it's", "pub fn is_masked(&self) -> bool {", "don't (", "```", "match x {"] {
        let found = codes(text);
        assert!(found.is_empty() || text == "```", "{text}: {found:?}");
    }
}

#[test]
fn a_character_cut_in_half() {
    assert_eq!(run(&["naïve é".as_bytes(), &[0xe4, 0xb8]]).0.reasons[0].code, "cut-utf8");
    assert!(run(&["naïve".as_bytes(), &[0xff, b' ', 0xe4, 0xb8]]).0.complete, "not UTF-8 before");
    assert!(run(&[&[0xe4], &[0xb8], &[0xad]]).0.complete);
}

#[test]
fn every_cut_gives_the_same_report() {
    let mut texts: Vec<String> = WHOLE.iter().map(|t| (*t).to_owned()).collect();
    texts.extend(WHOLE.iter().map(|t| {
        let mut n = t.len() * 2 / 3;
        while !t.is_char_boundary(n) {
            n -= 1;
        }
        t[..n].to_owned()
    }));
    for text in texts {
        let bytes = text.as_bytes();
        let whole = run(&[bytes]);
        for i in 0..=bytes.len() {
            assert_eq!(run(&[&bytes[..i], &bytes[i..]]), whole, "cut at {i} of {text:?}");
        }
        for n in 1..6 {
            assert_eq!(run(&bytes.chunks(n).collect::<Vec<_>>()), whole, "pieces of {n} of {text:?}");
        }
    }
}

#[test]
fn pieces_around_the_guess() {
    // JSON that ends to be JSON, and languages that are guessed, just before and behind the bound.
    for (head, tail) in [("[1, ", "x]"), ("# Title\n\n", "```\nopen\n"), ("use a::b;\n", "fn f() {\n    let x = \"")] {
        for pad in HEAD - 12..HEAD + 4 {
            let mut text = head.to_owned();
            text.push_str(&" ".repeat(pad - head.len()));
            text.push('\n');
            text.push_str(tail);
            let whole = run(&[text.as_bytes()]);
            for n in [1, 7, 1000, HEAD, HEAD + 1] {
                assert_eq!(run(&text.as_bytes().chunks(n).collect::<Vec<_>>()), whole, "{head:?} {pad} {n}");
            }
        }
    }
}

/// Texts over an alphabet of tokens, from a seed.
fn soup(tokens: &[&str], seed: u64, n: usize) -> String {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            tokens[usize::try_from(state >> 33).expect("small") % tokens.len()]
        })
        .collect()
}

#[test]
fn soup_does_no_harm() {
    let tokens = [
        "\"",
        "'",
        "`",
        "${",
        "}",
        "{",
        "(",
        ")",
        "[",
        "]",
        "\n",
        "\\",
        "/",
        "*",
        "//",
        "/*",
        "*/",
        "#",
        "--",
        "$$",
        "$a$",
        "r#\"",
        "\"#",
        "\"\"\"",
        "'''",
        "<<EOF",
        "EOF",
        "<",
        ">",
        "<!--",
        "-->",
        "</",
        "a",
        "=",
        ": ",
        "- ",
        "|",
        "~~~",
        "```",
        "-----BEGIN A-----",
        "é",
        " ",
    ];
    for (i, head) in WHOLE.iter().enumerate() {
        for seed in 0..60u64 {
            let text = format!("{head}{}", soup(&tokens, seed + 1000 * u64::try_from(i).expect("small"), 60));
            let whole = run(&[text.as_bytes()]);
            assert_eq!(run(&text.as_bytes().chunks(1).collect::<Vec<_>>()), whole, "{text:?}");
        }
    }
}

#[test]
fn memory_is_bounded() {
    for unit in ["[", "{\"a\":", "\"", "<a>", "<a", "((((", "- [", "$a", "<<A\n", "'", "`${"] {
        for head in [RUST, SCRIPT, SQL, YAML, HTML, SHELL, ""] {
            let spec: Arc<dyn TrackerSpec> = Structure::build(&[]).expect("builds");
            let mut t = spec.start();
            let mut out = Vec::new();
            t.feed(0, head.as_bytes(), &mut out);
            let mut at = u64::try_from(head.len()).expect("short");
            let piece = unit.repeat(500);
            for _ in 0..60 {
                t.feed(at, piece.as_bytes(), &mut out);
                at += u64::try_from(piece.len()).expect("short");
            }
            assert!(t.memory() < 32 << 10, "{unit:?} behind {head:?}: {}", t.memory());
        }
    }
}

#[test]
fn json_agrees_with_serde_json() {
    let tokens = [
        "{", "}", "[", "]", ",", ":", "\"a\"", "\"", "1", "-", "0", ".5", "e", "true", "nul", "l", "\\n", " ",
        "\\u00e9",
    ];
    let mut seen = [0u32; 3];
    for seed in 0..40_000u64 {
        let text = soup(&tokens, seed, 1 + usize::try_from(seed % 9).expect("small"));
        agree(&text, &mut seen);
    }
    let whole = JSON.trim_end();
    for i in 1..whole.len() {
        if whole.is_char_boundary(i) {
            agree(&whole[..i], &mut seen);
        }
    }
    assert!(seen.iter().all(|n| *n > 100), "{seen:?}");
}

fn agree(text: &str, seen: &mut [u32; 3]) {
    let bytes = text.as_bytes();
    let ours = json_state(bytes);
    let parses = |t: &str| serde_json::from_str::<serde::de::IgnoredAny>(t);
    match (ours, parses(text)) {
        (JsonState::Complete, Ok(_)) => seen[0] += 1,
        (JsonState::Incomplete, Err(e)) if e.is_eof() => seen[1] += 1,
        // `-`, `1.` and `1e` have a continuation, which serde_json does not count as the end of the input.
        (JsonState::Incomplete, Err(_)) if parses(&format!("{text}0")).map_or_else(|e| e.is_eof(), |_| true) => {}
        (JsonState::Invalid, Err(e)) if !e.is_eof() => seen[2] += 1,
        (_, theirs) => panic!("{text:?}: {ours:?}, serde_json says {theirs:?}"),
    }
    for i in 0..=bytes.len() {
        assert_eq!(json_state_in_pieces([&bytes[..i], &bytes[i..]]), ours, "{text:?} cut at {i}");
    }
}
