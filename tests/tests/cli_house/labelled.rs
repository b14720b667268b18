//! A house with rules for scoring, and labelled lines to score. Answers are worked out by hand in the tests.

use serde_json::{Value, json};

use super::{House, Output, output};

/// Beside the house's `secret.test-key` (28 bytes: `fkey_` and 24 more) and the mark `truncation.test-mark`.
const PACK: &str = r#"
[pack]
name = "more"

[[rule]]
id = "acme-token"
family = "secret"
title = "Acme token"
pattern = '(?:^|[^A-Za-z0-9_])(?P<span>acme:[a-z]{8})(?:[^A-Za-z0-9]|$)'
severity = "high"

[[rule]]
id = "mobile-line"
family = "secret"
title = "A number to dial"
pattern = '(?P<span>dial:[a-z]{8})'
severity = "low"

[[rule]]
id = "half"
family = "secret"
title = "One half"
pattern = '(?P<span>half[AB])'
severity = "low"

[[rule]]
id = "ipv4"
family = "pii"
title = "Address"
pattern = '(?:^|[^0-9.])(?P<span>[0-9]{1,3}(?:\.[0-9]{1,3}){3})(?:[^0-9.]|$)'
checks = ["ipv4"]
severity = "low"

[[rule]]
id = "long-number"
family = "pii"
title = "Long number"
pattern = '(?:^|[^0-9])(?P<span>[0-9]{16})(?:[^0-9]|$)'
severity = "low"

[[rule]]
id = "gap"
family = "elision"
title = "Something left out"
pattern = '(?P<span>\[gap\])'
severity = "low"

[[rule]]
id = "open-structure"
family = "truncation"
title = "Open at the end"
tracker = "structure"
token = "TRUNCATED"
severity = "medium"

[[rule]]
id = "cut-mark"
family = "truncation"
title = "A mark that is about the end"
pattern = '(?P<span>\[\[cut\]\])'
severity = "low"
"#;

/// What `secret.acme-token` finds, 13 bytes.
pub(crate) const ACME: &str = "acme:wxyzwxyz";

pub(crate) fn labelled_house() -> House {
    let house = House::new();
    house.write("more.toml", PACK);
    for (name, action) in [("replace", "replace"), ("block", "block"), ("flag", "flag")] {
        house.write(
            &format!("{name}.toml"),
            &format!(
                "name = \"test-{name}\"\npacks = []\npack_files = [\"pack.toml\", \"more.toml\"]\n\
                 [family]\nsecret = \"{action}\"\npii = \"{action}\"\n"
            ),
        );
    }
    house
}

pub(crate) fn eval(house: &House, args: &[&str]) -> Output {
    let mut c = house.forebay();
    c.args(["eval", "--profile", "replace.toml"]).args(args);
    output(c, b"")
}

/// The report of one file with these lines.
pub(crate) fn scored(house: &House, lines: &[Value], args: &[&str]) -> Value {
    house.write("lines.jsonl", &written(lines));
    let out = eval(house, &[&["lines.jsonl", "--format", "json"], args].concat());
    assert_eq!(out.code, 0, "{}", out.err);
    serde_json::from_slice(&out.out).expect("one JSON object")
}

pub(crate) fn written(lines: &[Value]) -> String {
    lines.iter().map(|l| format!("{l}\n")).collect()
}

/// A table's row; null if it has none of that name.
pub(crate) fn row(report: &Value, table: usize, name: &str) -> Value {
    let rows = report["labelled"]["tables"][table]["rows"].as_array().expect("rows");
    rows.iter().find(|r| r["name"] == name).cloned().unwrap_or(Value::Null)
}

pub(crate) fn hit(text: &str, spans: Value) -> Value {
    json!({"family": "secret", "kind": "test-key", "text": text, "expect": "hit", "spans": spans})
}

pub(crate) fn clean(text: &str, scope: &str) -> Value {
    json!({"family": "secret", "kind": "test-key", "text": text, "expect": "clean", "clean_scope": scope})
}

pub(crate) fn with(mut line: Value, field: &str, value: Value) -> Value {
    line[field] = value;
    line
}
