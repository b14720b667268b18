//! `forebay rules explain` tells what the engine does with a rule.

mod cli_house;

use cli_house::{House, output};
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
