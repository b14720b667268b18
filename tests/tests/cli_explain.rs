//! `forebay rules explain` tells what the engine does with a rule.

mod cli_house;

use cli_house::{House, json_lines, output};
use serde_json::Value;

fn explain(house: &House, args: &[&str]) -> Value {
    let mut c = house.forebay();
    c.args(["rules", "explain", "--format", "json"]).args(args);
    let out = output(c, b"");
    assert_eq!(out.code, 0, "{}", out.err);
    serde_json::from_str(out.text()).unwrap()
}

const PACK: &str = r#"
[pack]
name = "p"

[[rule]]
id = "begins"
family = "secret"
title = "t"
severity = "low"
pattern = '[^a-z](?P<span>zq_[a-z0-9]{20})'

[[rule]]
id = "keyed"
family = "secret"
title = "t"
severity = "low"
pattern = '(?i)zebra[ =]{1,3}(?P<span>[a-z0-9]{20})'

[[rule]]
id = "inside"
family = "secret"
title = "t"
severity = "low"
pattern = '[^a-z](?P<span>[a-z]{1,20}@zq[.]net)'

[[rule]]
id = "number"
family = "pii"
title = "t"
severity = "low"
pattern = '[^0-9](?P<span>[0-9]{9})(?:[^0-9]|$)'

[[rule]]
id = "slow"
family = "pii"
title = "t"
severity = "low"
pattern = '(?P<span>[A-Za-z0-9]{9})'
"#;

#[test]
fn how_a_rule_is_looked_for_and_what_it_holds() {
    let house = House::new();
    house.write("p.toml", PACK);
    let engine = |rule: &str| explain(&house, &[rule, "--pack", "p.toml"])["engine"].clone();

    let e = engine("secret.begins");
    assert_eq!((&e["candidate"], &e["longest_span"]), (&Value::from("literals"), &Value::from(23)));
    assert_eq!(e["literals"], serde_json::json!(["zq_"]));
    let e = engine("secret.keyed");
    assert_eq!(e["candidate"], "keywords");
    assert_eq!(e["literals"], serde_json::json!(["zebra"]));
    assert!(e["holds"].as_str().unwrap().contains("once its keyword was seen"), "{e}");
    let e = engine("secret.inside");
    assert_eq!(e["candidate"], "inner");
    assert!(e["literals"][0].as_str().unwrap().starts_with('@'), "{e}");
    let e = engine("pii.number");
    assert_eq!((&e["candidate"], &e["literals"]), (&Value::from("class"), &serde_json::json!([])));
    for a in e["automata"].as_array().unwrap() {
        assert!(a["states"].as_u64().unwrap() > 1 && a["bytes"].as_u64().unwrap() > 1, "{a}");
    }
    assert!(e["microseconds_per_megabyte"].is_u64());
}

#[test]
fn a_refused_rule_says_why() {
    let house = House::new();
    house.write("p.toml", PACK);
    let mut c = house.forebay();
    c.args(["rules", "explain", "slow", "--pack", "p.toml"]);
    let out = output(c, b"");
    assert_eq!(out.code, 2);
    assert!(out.err.contains("p.toml:") && out.err.contains("too slow to look for"), "{}", out.err);
}

#[test]
fn trackers_and_exact_values_have_an_engine_too() {
    let house = House::new();
    house.write("a/.env", &format!("TOKEN={}\n", house.value(1)));
    house.write("b/.env", &format!("TOKEN={}\n", house.value(2)));
    for rule in ["elision.elision-en", "truncation.open-structure", "injection.tag-characters"] {
        let e = &explain(&house, &[rule])["engine"];
        assert_eq!(e["candidate"], "tracker", "{rule}");
        assert!(e["stops_at"].as_str().is_some_and(|s| s.len() > 20), "{e}");
        assert!(e["microseconds_per_megabyte"].is_u64() && e["longest_span"].is_null(), "{e}");
    }
    let files = ["--secrets-file", "a/.env", "--secrets-file", "b/.env"];
    let told = explain(&house, &[&["secret.exact.b-env.TOKEN"], &files[..]].concat());
    assert_eq!((&told["kind"], &told["engine"]["candidate"]), (&"exact".into(), &"exact".into()));
    assert!(!told.to_string().contains(&house.value(2)), "{told}");
}

#[test]
fn a_class_rule_says_its_class_and_literals_are_readable() {
    let house = House::new();
    let more = "\n[[rule]]\nid = \"cn\"\nfamily = \"pii\"\ntitle = \"t\"\nseverity = \"low\"\n\
        pattern = '(?P<span>驾驶证号\\n[0-9]{8})'\n";
    house.write("p.toml", &format!("{PACK}{more}"));
    let e = &explain(&house, &["pii.number", "--pack", "p.toml"])["engine"];
    assert_eq!((&e["class"][0], &e["class"][1], &e["class"][8]), (&"[^0-9]".into(), &"[0-9]".into(), &"[0-9]".into()));
    let mut c = house.forebay();
    c.args(["rules", "explain", "pii.number", "--pack", "p.toml"]);
    let out = output(c, b"");
    assert!(out.text().contains("where its first bytes fit: [^0-9], 8 × [0-9]"), "{}", out.text());
    assert!(out.text().contains(" ms/MB, alone\n  (measured on 1 MB made up of source code"), "{}", out.text());
    let e = &explain(&house, &["pii.cn", "--pack", "p.toml"])["engine"];
    let literal = e["literals"][0].as_str().expect("a literal");
    assert!("驾驶证号\\n".starts_with(literal.split("\\x").next().expect("a beginning")), "{literal}");
    assert!(literal.starts_with('驾'), "{literal}");
}

#[test]
fn the_profile_that_is_asked_for_and_names_that_are_near() {
    let house = House::new();
    let told = explain(&house, &["secret.test-key", "--profile", "block.toml"]);
    assert_eq!(told["actions"]["test-block"], "block");
    house.write("only.toml", "name = 'only'\npacks = ['secret']\n");
    for (args, told) in [
        (&["pii.ipv5"][..], "near it: pii.ipv4"),
        (&["ipv5"], "near it: pii.ipv4"),
        (&["test-kye", "--profile", "block.toml"], "near it: secret.test-key"),
        (&["zzzzzzzzzzzz"], "in profile tool-output; `forebay rules list` shows them all"),
        (&["pii.ipv4", "--profile", "only.toml"], "of the pack `pii`, which this profile leaves out"),
    ] {
        let mut c = house.forebay();
        c.args(["rules", "explain"]).args(args);
        let out = output(c, b"");
        assert_eq!(out.code, 2, "{args:?}");
        assert!(out.err.contains(told), "{args:?}: {}", out.err);
    }
}

#[test]
fn a_dear_rule_is_told_with_what_to_do() {
    let house = House::new();
    let rule = |id: &str, pattern: &str| {
        format!("[[rule]]\nid = '{id}'\nfamily = 'pii'\ntitle = 't'\nseverity = 'low'\npattern = '{pattern}'\n")
    };
    let rules = [
        ("digits", "[^0-9](?P<span>[0-9]{4})(?:[^0-9]|$)"),
        ("the", "(?P<span>the [a-z]{8}!!)"),
        ("large", "(?P<span>zqx[a-z]{1,200}b[a-z]{6}!)"),
        ("cheap", "(?P<span>zqxok_[0-9]{8})"),
    ];
    let rules: String = rules.iter().map(|(id, pattern)| rule(id, pattern)).collect();
    house.write("d.toml", &format!("[pack]\nname = 'd'\n{rules}"));
    let mut c = house.forebay();
    c.args(["rules", "test", "d.toml", "--format", "json"]);
    let out = output(c, b"");
    assert_eq!(out.code, 0, "{}{}", out.text(), out.err);
    let dear: Vec<Value> = json_lines(out.text()).into_iter().filter(|l| l["warning"] == "cost").collect();
    let told = |i: usize, rule: &str, what: &str, mend: &str| {
        let why = dear[i]["why"].as_str().expect("a reason");
        assert_eq!(dear[i]["rule"], rule);
        assert!(why.starts_with(what) && why.contains(mend), "{why}");
    };
    told(0, "pii.digits", "slow candidate: ", "put a keyword in front");
    told(1, "pii.the", "common literal: `the `", "a longer or rarer text");
    told(2, "pii.large", "huge automaton: ", "shorten counted repeats");
    assert_eq!(dear.len(), 3, "{dear:?}");
    let told = explain(&house, &["pii.the", "--pack", "d.toml"]);
    assert_eq!(told["engine"]["warnings"][0], dear[1]["why"]);
    assert_eq!(explain(&house, &["pii.cheap", "--pack", "d.toml"])["engine"]["warnings"], serde_json::json!([]));
}
