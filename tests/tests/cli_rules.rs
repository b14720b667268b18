//! `forebay rules test` and `rules list` with packs of one's own: what no stream could use must not look usable.

mod cli_house;

use cli_house::{House, Output, json_lines, output};

fn run(house: &House, args: &[&str]) -> Output {
    let mut c = house.forebay();
    c.arg("rules").args(args);
    output(c, b"")
}

/// A rule of a pack. `more` is further lines.
fn rule(id: &str, pattern: &str, more: &str) -> String {
    format!("[[rule]]\nid = '{id}'\nfamily = 'pii'\ntitle = 't'\nseverity = 'low'\npattern = '{pattern}'\n{more}\n")
}

fn pack(rules: &[String]) -> String {
    format!("[pack]\nname = 'own'\n{}", rules.concat())
}

const GOOD: &str = "(?P<span>zzok_[0-9]{8})";

#[test]
fn a_rule_without_examples_is_compiled_and_told() {
    let house = House::new();
    house.write("p.toml", &pack(&[rule("fine", GOOD, "no_match = ['zzok_1']")]));
    let out = run(&house, &["test", "p.toml"]);
    assert_eq!(out.code, 0, "{}", out.err);
    assert!(out.text().contains("pii.fine has no example"), "{}", out.text());
    assert!(out.text().ends_with("1 rule, 1 example, 0 wrong, 1 rule without a `match` example\n"), "{}", out.text());

    for broken in ["(?P<span>foo(bar)", "(?P<span>[a-z]+)", "(?P<span>zzfoo(?=x))", "(?P<span>zz?)?", "(?P<span>.{9}x)"]
    {
        house.write("p.toml", &pack(&[rule("broken", broken, ""), rule("fine", GOOD, "match = ['zzok_12345678']")]));
        let out = run(&house, &["test", "p.toml", "--format", "json"]);
        assert_eq!(out.code, 2, "{broken}: {}", out.text());
        let lines = json_lines(out.text());
        assert_eq!((&lines[0]["rule"], &lines[0]["wrong"]), (&"pii.broken".into(), &"refused".into()), "{broken}");
        assert!(lines[0]["why"].as_str().is_some_and(|w| w.len() > 20), "{broken}: {}", lines[0]);
        // The rules behind it are tried all the same.
        assert_eq!(
            (&lines[1]["rules"], &lines[1]["examples"], &lines[1]["refused"]),
            (&2.into(), &1.into(), &1.into())
        );
    }
}

#[test]
fn the_name_of_another_rule_is_refused() {
    let house = House::new();
    house.write("p.toml", &pack(&[rule("ipv4", GOOD, "match = ['zzok_12345678']")]));
    let out = run(&house, &["test", "p.toml"]);
    assert_eq!(out.code, 2);
    assert!(out.text().contains("pii.ipv4") && out.text().contains("packs/pii.toml:"), "{}", out.text());
    house.write("p.toml", &pack(&[rule("fine", GOOD, "match = ['zzok_12345678']")]));
    house.write("q.toml", &pack(&[rule("fine", GOOD, "match = ['zzok_12345678']")]));
    let out = run(&house, &["test", "p.toml", "q.toml"]);
    assert_eq!(out.code, 2);
    assert!(out.text().contains("in p.toml:"), "{}", out.text());
    // The built-in packs themselves, as a file that is being worked on.
    let truncation = forebay_tests::builtin::root().join("packs/truncation.toml");
    let out = run(&house, &["test", truncation.to_str().expect("UTF-8")]);
    assert_eq!(out.code, 0, "{}{}", out.text(), out.err);
}

#[test]
fn a_list_refuses_what_a_stream_would_refuse() {
    let house = House::new();
    house.write("fine.toml", &pack(&[rule("fine", GOOD, "")]));
    house.write("broken.toml", &pack(&[rule("broken", "(?P<span>[a-z]+)", "")]));
    house.write("broken-profile.toml", "name = 'h'\nbase = 'tool-output'\npack_files = ['broken.toml']\n");
    let out = run(&house, &["list", "--pack", "fine.toml"]);
    assert_eq!(out.code, 0, "{}", out.err);
    assert!(out.text().contains("pii.fine "));
    for args in [["list", "--pack", "broken.toml"], ["list", "--profile", "broken-profile.toml"]] {
        let listed = run(&house, &args);
        let mut c = house.forebay();
        c.arg("filter").args(&args[1..]);
        let filtered = output(c, b"");
        assert_eq!((listed.code, filtered.code), (2, 2));
        assert_eq!((listed.text(), &listed.err), ("", &filtered.err));
    }
}
