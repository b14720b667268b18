//! The rules by which `forebay eval` scores labelled lines: each has a case here, worked out by hand, that fails without it.

mod cli_house;

use cli_house::labelled::{ACME, clean, hit, labelled_house as house, row, scored, with, written};
use cli_house::{House, output};
use serde_json::{Value, json};

/// `[hits, found, covered, labelled]` of the strict set of secrets.
fn hits(house: &House, lines: &[Value]) -> Value {
    let s = &row(&scored(house, lines, &[]), 0, "secret")["strict"];
    json!([s["hits"], s["found"], s["covered"], s["labelled"]])
}

/// `[clean, false_positives, any]` of the same.
fn alarms(house: &House, lines: &[Value]) -> Value {
    let s = &row(&scored(house, lines, &[]), 0, "secret")["strict"];
    json!([s["clean"], s["false_positives"], s["any"]])
}

#[test]
fn a_span_is_found_by_one_byte_and_covered_by_all() {
    let house = house();
    let key = house.value(1); // At 2..31 below: fkey_, 24 letters or digits.
    assert_eq!(key.len(), 29);
    let text = format!("k {key} end");
    for (spans, expected) in [
        (json!([[2, 31]]), json!([1, 1, 1, 1])),
        (json!([[5, 9]]), json!([1, 1, 1, 1])),
        (json!([[0, 3]]), json!([1, 1, 0, 1])),   // one byte of it
        (json!([[30, 35]]), json!([1, 1, 0, 1])), // the last byte
        (json!([[0, 2]]), json!([1, 0, 0, 0])),   // touching is not overlapping
        (json!([[31, 35]]), json!([1, 0, 0, 0])),
        (Value::Null, json!([1, 1, 1, 1])),                // somewhere
        (json!([[2, 31], [31, 35]]), json!([1, 0, 0, 0])), // every span must be found
    ] {
        assert_eq!(hits(&house, &[hit(&text, spans.clone())]), expected, "{spans}");
    }
    let report = scored(&house, &[hit(&text, json!([[2, 31], [31, 35]]))], &[]);
    assert_eq!(row(&report, 0, "secret")["strict"]["span_recall"], 0.5);
    // A place that is not known: nothing of the family, then something of another one.
    assert_eq!(hits(&house, &[hit("nothing", Value::Null), hit("host 10.1.2.3 up", Value::Null)]), json!([2, 0, 0, 0]));
    // Offsets are bytes: each of these characters has three.
    let text = format!("密钥 {key}");
    assert_eq!(hits(&house, &[hit(&text, json!([[7, 36]]))]), json!([1, 1, 1, 1]));
    // Two findings side by side cover what neither does alone.
    assert_eq!(hits(&house, &[hit("-halfAhalfB-", json!([[1, 11]]))]), json!([1, 1, 1, 0]));
    assert_eq!(hits(&house, &[hit("-halfA-halfB-", json!([[1, 12]]))]), json!([1, 1, 0, 0]), "nothing has the dash");
}

#[test]
fn a_finding_names_its_line_by_kind_vendor_other_name_or_rule() {
    let house = house();
    let text = format!("k {ACME} end");
    let named = |kind: &str, vendor: &str, rule: &str| {
        let line = json!({"family": "secret", "kind": kind, "vendor": vendor, "rule": rule, "text": text, "expect": "hit",
            "spans": [[2, 15]]});
        hits(&house, &[line])[3] == 1
    };
    assert!(named("acme-token", "", ""));
    assert!(named("other", "acme", ""));
    assert!(named("other", "ACME", ""));
    assert!(named("ac-me", "", ""), "divided otherwise");
    assert!(!named("cme-token", "", ""), "words, not letters");
    assert!(!named("acme-key", "", ""));
    assert!(!named("other", "", "acme-token"), "not the full name of the rule");
    let somewhere = with(hit(&text, Value::Null), "kind", json!("other"));
    assert_eq!(hits(&house, &[somewhere]), json!([1, 1, 1, 0]));
    assert!(named("other", "", "secret.acme-token"));
    assert!(named("other", "", "origin:secret.acme-token"));
    let address = json!({"family": "pii", "kind": "ip-address", "text": "host 10.1.2.3 up", "expect": "hit",
        "spans": [[5, 13]]});
    let report = scored(&house, &[address.clone(), with(address, "kind", json!("mac-address"))], &[]);
    assert_eq!(row(&report, 0, "pii")["strict"]["labelled"], 1, "ipv4 is another name of ip-address");
    assert_eq!(row(&report, 0, "pii")["strict"]["found"], 2);
    for (kind, named) in [("cn-phone", 1), ("cn-phonebook", 0)] {
        let call =
            json!({"family": "secret", "kind": kind, "text": "dial:wxyzwxyz", "expect": "hit", "spans": [[0, 13]]});
        let report = scored(&house, &[call], &[]);
        assert_eq!(row(&report, 0, "secret")["strict"]["labelled"], named, "mobile is what a phone is called: {kind}");
    }
}

#[test]
fn a_clean_line_forbids_its_kind_or_its_family() {
    let house = house();
    let (key, other) = (house.value(1), format!("k {ACME}"));
    assert_eq!(alarms(&house, &[clean("nothing", "all")]), json!([1, 0, 0]));
    assert_eq!(alarms(&house, &[clean(&key, "kind")]), json!([1, 1, 1]));
    assert_eq!(alarms(&house, &[clean(&other, "kind")]), json!([1, 0, 1]), "another kind may be right");
    assert_eq!(alarms(&house, &[with(clean(&other, "kind"), "vendor", json!("acme"))]), json!([1, 1, 1]));
    assert_eq!(alarms(&house, &[clean(&other, "all")]), json!([1, 1, 1]));
    let report = scored(&house, &[clean("host 10.1.2.3 up", "all"), clean("host 10.1.2.3 up", "kind")], &[]);
    let secret = row(&report, 0, "secret");
    assert_eq!((&secret["strict"]["any"], &secret["strict"]["false_positives"]), (&json!(0), &json!(0)));
    assert_eq!((&secret["all_scope"], &secret["all_scope_any_family"]), (&json!(1), &json!(1)));
    let report = scored(&house, &[clean(&other, "all"), clean("nothing", "all")], &[]);
    let secret = row(&report, 0, "secret");
    assert_eq!((&secret["all_scope"], &secret["all_scope_any_family"]), (&json!(2), &json!(1)));
    // `kind` is what is meant when nothing is said.
    let mut silent = clean(&other, "kind");
    silent.as_object_mut().expect("an object").remove("clean_scope");
    assert_eq!(alarms(&house, &[silent]), json!([1, 0, 1]));
}

#[test]
fn flags_and_tiers_say_which_set() {
    let house = house();
    let found = hit(&format!("k {}", house.value(1)), json!([[2, 31]]));
    let missed = hit("nothing here", json!([[0, 7]]));
    let alarm = clean(&house.value(2), "all");
    for flag in ["weak", "hard", "ambiguous", "placeholder_like"] {
        let flagged = |l: &Value| with(l.clone(), flag, json!(true));
        let report = scored(&house, &[found.clone(), flagged(&missed), flagged(&alarm)], &[]);
        let secret = row(&report, 0, "secret");
        assert_eq!((&secret["strict"]["recall"], &secret["strict"]["clean"]), (&json!(1.0), &json!(0)), "{flag}");
        assert_eq!((&secret["full"]["recall"], &secret["full"]["false_positives"]), (&json!(0.5), &json!(1)), "{flag}");
        assert_eq!(hits(&house, &[with(missed.clone(), flag, json!(false))]), json!([1, 0, 0, 0]), "{flag} is not set");
    }
    for (tier, strict) in [("generic", 1), ("identifier", 1), ("prefix", 2), ("context", 2)] {
        let report = scored(&house, &[found.clone(), with(missed.clone(), "tier", json!(tier))], &[]);
        let secret = row(&report, 0, "secret");
        assert_eq!((&secret["strict"]["hits"], &secret["full"]["hits"]), (&json!(strict), &json!(2)), "{tier}");
    }
    let contested = |l: &Value| with(l.clone(), "contested", json!(true));
    let report = scored(&house, &[found, contested(&missed), contested(&alarm)], &["--misses", "9", "--full"]);
    let secret = row(&report, 0, "secret");
    assert_eq!(
        (&secret["full"]["hits"], &secret["full"]["clean"], &secret["contested"]),
        (&json!(1), &json!(0), &json!(2))
    );
    assert_eq!(report["labelled"]["contested"], 2);
    assert_eq!(report["labelled"]["missed"], json!([]));
    assert_eq!(report["labelled"]["false_positives"], json!([]));
}

#[test]
fn precision_is_found_of_found_and_false_positives() {
    let house = house();
    let found = hit(&house.value(1), Value::Null);
    let lines = [
        found.clone(),
        found.clone(),
        found,
        hit("nothing", Value::Null),
        clean(&house.value(2), "all"),
        clean(ACME, "kind"), // a finding, and no false positive
    ];
    let strict = &row(&scored(&house, &lines, &[]), 0, "secret")["strict"];
    assert_eq!((&strict["recall"], &strict["precision"]), (&json!(0.75), &json!(0.75)));
    assert_eq!(strict["false_positive_share"], 0.5);
    // Of nothing there is no share.
    let strict = &row(&scored(&house, &[clean("-", "all")], &[]), 0, "secret")["strict"];
    assert!(strict["recall"].is_null() && strict["precision"].is_null());
}

#[test]
fn ends_are_judged_by_the_report_on_cut_and_whole_lines_only() {
    let house = house();
    let line = |kind: &str, text: &str, expect: &str| json!({"family": "truncation", "kind": kind, "text": text, "expect": expect, "clean_scope": "all"});
    let (open, whole) = (r#"{"a": [1, "b"#, r#"{"a": [1, "b"]}"#);
    let lines = [
        line("cut-json", open, "hit"),
        line("cut-json", whole, "hit"),
        line("whole-json", whole, "clean"),
        line("whole-json", whole, "clean"),
        line("whole-json", open, "clean"),
    ];
    let report = scored(&house, &lines, &[]);
    let strict = &row(&report, 0, "truncation")["strict"];
    assert_eq!((&strict["hits"], &strict["found"], &strict["labelled"]), (&json!(2), &json!(1), &json!(1)));
    assert_eq!((&strict["clean"], &strict["false_positives"]), (&json!(3), &json!(1)));
    assert_eq!(report["labelled"]["ends"], json!({"cut": 2, "cut_found": 1, "whole": 3, "whole_called_cut": 1}));
    // The report says it, also where no finding of the family does.
    let report = scored(&house, &[line("whole-text", "a [gap] b", "clean")], &[]);
    assert_eq!(row(&report, 0, "truncation")["strict"]["any"], 1);
    // Elsewhere a text may end early, and a finding that says so is not looked at; a mark in it is.
    let count = |text: &str| {
        row(&scored(&house, &[line("word", text, "clean")], &[]), 0, "truncation")["strict"]["any"].clone()
    };
    assert_eq!(count(open), 0);
    assert_eq!(count("what [[cut]]"), 0, "a rule about the end, at the end");
    assert_eq!(count("what [[cut]] more"), 1, "the same, not at the end");
    assert_eq!(count("fkey_not{}"), 1, "a rule about a mark, at the end");
    let report = scored(&house, &[line("word", open, "clean")], &[]);
    assert_eq!(report["labelled"].get("ends"), None, "no line is about ends");
}

#[test]
fn tables_by_kind_vendor_tier_and_source() {
    let house = house();
    let key = hit(&house.value(1), Value::Null);
    let key = with(with(key, "vendor", json!("acme")), "tier", json!("prefix"));
    let missed = with(with(hit("-", Value::Null), "kind", json!("other")), "rule", json!("packs:other"));
    let pii = json!({"family": "pii", "kind": "ip-address", "text": "-", "expect": "hit", "vendor": "acme",
        "source": "a sentence that is much longer than forty-eight characters: and so on"});
    let report = scored(&house, &[key, missed, pii], &["--by", "kind,vendor,tier,source"]);
    let recall = |table, name| row(&report, table, name)["strict"]["recall"].clone();
    let by: Vec<_> = (0..4).map(|i| report["labelled"]["tables"][i]["by"].clone()).collect();
    assert_eq!(by, ["kind", "vendor", "tier", "source"]);
    assert_eq!(
        (recall(0, "secret/test-key"), recall(0, "secret/other"), recall(0, "pii/ip-address")),
        (json!(1.0), json!(0.0), json!(0.0))
    );
    assert_eq!((recall(1, "acme"), recall(1, "?")), (json!(1.0), json!(0.0)));
    assert_eq!((recall(2, "prefix"), recall(2, "?")), (json!(1.0), json!(0.0)));
    assert_eq!(
        (recall(3, "secret/packs"), recall(3, "pii/a sentence that is much longer than forty-eight ")),
        (json!(0.0), json!(0.0))
    );
    let outside: Vec<_> = (0..4).map(|i| report["labelled"]["tables"][i]["outside"].clone()).collect();
    assert_eq!(outside, [0, 1, 1, 0], "lines of other families have no vendor and no tier");
}

#[test]
fn a_rule_that_blocks_hides_nothing_behind_it() {
    let house = house();
    house.write("two.jsonl", &written(&[hit(&format!("{ACME} {ACME}"), json!([[0, 13], [14, 27]]))]));
    let report = |profile: &str| -> Value {
        let mut c = house.forebay();
        c.args(["eval", "--profile", profile, "two.jsonl", "--format", "json"]);
        serde_json::from_slice(&output(c, b"").out).expect("one JSON object")
    };
    let (block, replace) = (report("block.toml"), report("replace.toml"));
    assert_eq!(row(&block, 0, "secret")["strict"]["found"], 1);
    assert_eq!(row(&replace, 0, "secret")["strict"]["found"], 1);
    assert_ne!(block["fingerprint"], replace["fingerprint"], "the set that the profile means is told");
    assert_eq!((&block["profile"], &block["rules"]), (&json!("test-block"), &json!(10)));
}
