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

#[test]
fn an_error_in_a_pattern_has_its_place_and_a_mend_that_can_be_done() {
    let house = House::new();
    for (pattern, told) in [
        ("(?P<span>foo(bar)", "at character 1, `(?P<span>foo(bar`: unclosed group"),
        ("(?P<span>zzé*(?=x))", "at character 14, `(?=x))`: look-around"),
    ] {
        house.write("p.toml", &pack(&[rule("broken", pattern, "")]));
        let out = run(&house, &["list", "--pack", "p.toml"]);
        assert_eq!(out.code, 2);
        assert!(
            out.err.contains(told) && !out.err.contains("error: at") && !out.err.contains("rules explain"),
            "{}",
            out.err
        );
        assert_eq!(out.err.matches("error:").count(), 1, "{}", out.err);
    }
    let region = "region = { begin = '(?P<span>zzfoo)', inside = '[a-z]+', end = 'x' }";
    house.write("p.toml", &pack(&[rule("r", GOOD, region).replace(&format!("pattern = '{GOOD}'\n"), "")]));
    let out = run(&house, &["list", "--pack", "p.toml"]);
    assert_eq!(out.code, 2);
    assert!(out.err.contains("no longest match") && !out.err.contains("region = {"), "{}", out.err);
}

#[test]
fn what_an_option_cannot_say_is_said_as_the_line_of_a_profile() {
    let house = House::new();
    house.write("s.env", "A_WORD=x7q2p\nLONG_ENOUGH=qk7Zp0vWm2sLd9Xe\n");
    let out = run(&house, &["list", "--secrets-file", "s.env"]);
    assert_eq!(out.code, 0, "{}", out.err);
    let line = "exact = [{ file = \"s.env\", min_length = 4 }]";
    assert!(out.err.contains(line), "{}", out.err);
    // The line does what it says.
    house.write("h.toml", &format!("name = 'h'\nbase = 'tool-output'\n{line}\n"));
    let out = run(&house, &["list", "--profile", "h.toml"]);
    assert_eq!(out.code, 0, "{}", out.err);
    assert!(
        out.text().contains("exact.s-env.A_WORD") && !out.err.contains("A_WORD"),
        "{}{}",
        out.err,
        out.text().len()
    );
}

#[test]
fn an_import_says_what_it_got_and_where_it_cannot_write() {
    let house = House::new();
    house.write("pack-of-ours.toml", &pack(&[rule("fine", GOOD, "")]));
    let out = run(&house, &["import", "gitleaks", "pack-of-ours.toml"]);
    assert_eq!(out.code, 2);
    assert!(out.err.contains("no [[rules]]: is this a gitleaks configuration?"), "{}", out.err);

    house.write("g.toml", "[[rules]]\nid='two'\nregex='''(?:left=(L[0-9]{10})|right=(R[0-9]{10}))'''\n");
    let out = run(&house, &["import", "gitleaks", "g.toml", "--out", "nodir/x.toml"]);
    assert_eq!(out.code, 2);
    assert!(out.err.contains("nodir/x.toml") && !out.err.contains(".tmp"), "{}", out.err);
    let out = run(&house, &["import", "gitleaks", "g.toml", "--format", "json"]);
    assert_eq!(out.code, 0, "{}", out.err);
    let report = json_lines(&out.err);
    let rules = out.text().matches("[[rule]]").count();
    assert!(rules > 1, "{}", out.text());
    assert_eq!((&report[0]["becomes"], &report[1]["written"]), (&rules.into(), &rules.into()), "{}", out.err);
}

#[test]
fn an_unknown_format_to_import_and_an_unknown_command_say_what_there_is() {
    let house = House::new();
    for args in [&["import", "trufflehog", "x.yaml"][..], &["import", "/dev/null"]] {
        let out = run(&house, args);
        assert_eq!(out.code, 2);
        let told = format!("`{}` is no format that can be imported; there is: gitleaks", args[1]);
        assert!(out.err.contains(&told), "{}", out.err);
    }
    let out = run(&house, &["frobnicate"]);
    assert_eq!(out.code, 2);
    assert!(out.err.contains("use one of list, test, explain, import"), "{}", out.err);
    let out = run(&house, &["import", "gitleaks", "/dev/null"]);
    assert_eq!(out.code, 2);
    assert!(out.err.contains("no [[rules]]: is this a gitleaks configuration?"), "{}", out.err);
}

#[test]
fn a_region_and_a_missing_key_are_told_with_what_to_write() {
    let house = House::new();
    let refused = |text: String| {
        house.write("p.toml", &text);
        let out = run(&house, &["list", "--pack", "p.toml"]);
        assert_eq!(out.code, 2, "{text}");
        out.err
    };
    let region = |begin: &str| {
        let region = format!("region = {{ begin = '{begin}', inside = '[a-z]', end = 'x' }}");
        pack(&[rule("r", GOOD, &region).replace(&format!("pattern = '{GOOD}'\n"), "")])
    };
    let unbounded = refused(region("(?P<span>zzfoo[a-z]+)"));
    assert!(unbounded.contains("the region's `begin`: the span has no longest match"), "{unbounded}");
    assert!(unbounded.contains("goes into `inside`") && !unbounded.contains("region = {"), "{unbounded}");
    for (bad, told) in [
        (region("zzfoo").replace(", end = 'x'", ""), "missing field `end`; add `end`: a region is `region = { begin ="),
        (
            pack(&[rule("r", GOOD, "").replace("severity = 'low'\n", "")]),
            "missing field `severity`; add `severity = \"…\"`, one of info, low, medium, high, critical",
        ),
        (
            pack(&[rule("r", GOOD, "").replace("family = 'pii'\n", "")]),
            "missing field `family`; add `family = \"…\"`, one of pii, secret, elision, truncation, injection",
        ),
        (
            pack(&[rule("r", GOOD, "").replace("'low'", "'huge'")]),
            "unknown variant `huge`, expected one of `info`, `low`, `medium`, `high`, `critical`",
        ),
        (
            pack(&[rule("r", GOOD, "action = 'redact'")]),
            "unknown variant `redact`, expected one of `allow`, `flag`, `mask`, `replace`, `block`",
        ),
    ] {
        let err = refused(bad);
        assert!(err.starts_with("error: p.toml:") && err.contains(told), "{err}");
    }
}

#[test]
fn files_of_secrets_of_one_name_have_labels_of_their_own() {
    let house = House::new();
    for (file, n) in [("a/.env", 'a'), ("b/.env", 'b'), ("c/b/.env", 'c'), ("c/b-env", 'd')] {
        house.write(file, &format!("TOKEN=qk7Zp0vWm2sLd9X{n}\n"));
    }
    let labels = |args: &[&str]| {
        let files: Vec<&str> = args.iter().flat_map(|f| ["--secrets-file", f]).collect();
        let out = run(&house, &[&["list", "--format", "json", "--family", "secret"], &files[..]].concat());
        assert_eq!(out.code, 0, "{}", out.err);
        let names: Vec<String> =
            json_lines(out.text()).iter().map(|r| r["rule"].as_str().expect("a name").to_owned()).collect();
        let labels = names.iter().filter_map(|n| n.strip_prefix("secret.exact.")?.strip_suffix(".TOKEN"));
        labels.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(labels(&["a/.env"]), ["env"]);
    assert_eq!(labels(&["a/.env", "b/.env"]), ["a-env", "b-env"]);
    // The same file in two spellings is one file.
    assert_eq!(labels(&["a/.env", "./a/../a/.env"]), ["env"]);
    let all = labels(&["b/.env", "c/b/.env", "c/b-env"]);
    assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 3, "{all:?}");
    // One that a profile names keeps its label.
    house.write("h.toml", "name = 'h'\nexact = [{ file = 'a/.env' }]\n");
    let out = run(&house, &["list", "--profile", "h.toml", "--secrets-file", "b/.env"]);
    assert_eq!(out.code, 0, "{}", out.err);
    assert!(out.text().contains("exact.env.TOKEN") && out.text().contains("exact.b-env.TOKEN"), "{}", out.err);
}

#[test]
fn a_file_given_by_option_that_cannot_be_read_has_a_mend_without_a_profile() {
    let house = House::new();
    house.write("words.env", "no assignment\n");
    house.write("bad.json", "{\"a\" x");
    house.write("h.toml", "name = 'h'\nexact = [{ file = 'words.env' }]\n");
    let refused = |args: &[&str]| {
        let out = run(&house, &[&["list"], args].concat());
        assert_eq!(out.code, 2);
        out.err
    };
    let err = refused(&["--secrets-file", "words.env"]);
    assert!(
        err.contains("words.env:1: the line is no KEY=value") && err.contains("a name that ends in .json"),
        "{err}"
    );
    assert!(err.contains("exact = [{ file = \"words.env\", format = \"value\" }]"), "{err}");
    let err = refused(&["--secrets-file", "bad.json"]);
    assert!(err.contains("bad.json:1: it is no JSON") && err.contains("a name that does not end in .json"), "{err}");
    // A profile has the key.
    let err = refused(&["--profile", "h.toml"]);
    assert!(err.contains("or set `format`") && !err.contains("ends in .json"), "{err}");
}
