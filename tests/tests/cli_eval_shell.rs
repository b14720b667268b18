//! `forebay eval` as a shell sees it: what it reads, how it ends, and what each format shows.

mod cli_house;

use std::process::Stdio;

use cli_house::labelled::{clean, eval, hit, labelled_house as house, row, scored, with, written};
use cli_house::output;
use serde_json::{Value, json};

#[test]
fn bad_lines_are_named_with_the_mend_and_nothing_is_scored() {
    let house = house();
    let good = hit("-", Value::Null);
    for (bad, place, mend) in [
        ("no json".to_owned(), "column 1: ", "a line must be {\"id\""),
        ("[1]".to_owned(), "column 1: ", "jq -c '.[]'"),
        ("{\"kind\": \"x\",".to_owned(), "column 13: ", "jq -c ."),
        ("{\"kind\": \"x\"}".to_owned(), "column 13: ", "missing field `family`"),
        (with(good.clone(), "expect", json!("maybe")).to_string(), "column ", "expected `hit` or `clean`"),
        (with(good.clone(), "family", json!("secrets")).to_string(), "column ", "`pii`, `secret`, `elision`"),
        (with(good.clone(), "clean_scope", json!("none")).to_string(), "column ", "expected `kind` or `all`"),
        (with(good.clone(), "weak", json!("yes")).to_string(), "column ", "expected a boolean"),
        (with(good.clone(), "spans", json!([[0, 2]])).to_string(), "", "span 1 is [0, 2] in a text of 1 bytes"),
        (with(good.clone(), "spans", json!([[0, 1], [1, 1]])).to_string(), "", "span 2 is [1, 1]"),
        (with(good.clone(), "spans", json!([[0, u64::MAX]])).to_string(), "", "counted in UTF-8 bytes"),
        (with(good.clone(), "spans", json!([])).to_string(), "", "or null if the place is not known"),
        (with(good.clone(), "kind", json!("")).to_string(), "", "`kind` is empty"),
        (with(good.clone(), "kind", json!("k".repeat(257))).to_string(), "", "`kind` is longer than 256 bytes"),
    ] {
        house.write("bad.jsonl", &format!("{good}\n\n{bad}\n{good}\n"));
        let out = eval(&house, &["bad.jsonl"]);
        assert_eq!((out.code, out.text()), (2, ""), "{bad}");
        assert!(out.err.contains(&format!("bad.jsonl:3: {place}")) && out.err.contains(mend), "{bad}: {}", out.err);
        assert!(out.err.contains("1 bad line; nothing was scored"), "{}", out.err);
    }
}

#[test]
fn up_to_ten_bad_lines_are_named_in_all_files_together() {
    let house = house();
    house.write("a.jsonl", &"x\n".repeat(4));
    house.write("b.jsonl", &"x\n".repeat(40));
    let out = eval(&house, &["a.jsonl", "b.jsonl"]);
    assert_eq!(out.code, 2);
    let named = |file: &str| out.err.lines().filter(|l| l.contains(&format!("{file}.jsonl:"))).count();
    assert_eq!((named("a"), named("b")), (4, 6), "{}", out.err);
    assert!(out.err.contains("10 bad lines; stopped there, nothing was scored"), "{}", out.err);
}

#[test]
fn a_line_without_end_is_refused_and_the_next_is_read() {
    let house = house();
    let long = "a".repeat(17 << 20);
    house.write("long.jsonl", &format!("{}\nx\n", hit(&long, Value::Null)));
    let out = eval(&house, &["long.jsonl"]);
    assert_eq!(out.code, 2);
    assert!(out.err.contains("long.jsonl:1: longer than 16777216 bytes; cut its text into pieces"), "{}", out.err);
    assert!(out.err.contains("long.jsonl:2: column 1"), "{}", out.err);
}

#[test]
fn a_file_of_names_without_end_is_refused() {
    let house = house();
    let line = |n: usize| with(hit("-", Value::Null), "kind", json!(format!("k{n}")));
    house.write("names.jsonl", &written(&(0..=100_000).map(line).collect::<Vec<_>>()));
    let out = eval(&house, &["names.jsonl", "--by", "kind"]);
    assert_eq!((out.code, out.text()), (2, ""));
    assert!(out.err.contains("more than 100000 groups by kind; group by something that lines share"), "{}", out.err);
    assert_eq!(eval(&house, &["names.jsonl"]).code, 0);
}

#[test]
fn files_folders_and_standard_input() {
    let house = house();
    let line = hit(&house.value(1), Value::Null);
    house.write("set/b.jsonl", &format!("\u{feff}{line}\n\n{line}"));
    house.write("set/a.jsonl", &format!("{line}\r\n"));
    house.write("set/other.txt", "not JSON");
    let out = eval(&house, &["set", "--format", "json"]);
    let report: Value = serde_json::from_slice(&out.out).expect("one JSON object");
    assert_eq!((&report["labelled"]["files"], &report["labelled"]["lines"]), (&json!(2), &json!(3)));
    let mut c = house.forebay();
    c.args(["eval", "--profile", "replace.toml", "-", "--format", "json"]);
    let piped: Value = serde_json::from_slice(&output(c, format!("{line}\n").as_bytes()).out).expect("one JSON object");
    assert_eq!(row(&piped, 0, "secret")["strict"]["found"], 1);
    assert_ne!(piped["labelled"]["data"], report["labelled"]["data"], "other data, other hash");

    house.write("empty.jsonl", "\n");
    std::fs::create_dir(house.path("none")).expect("made");
    for (args, says) in [
        (&["no-such.jsonl"][..], "cannot open no-such.jsonl"),
        (&["none"], "there is no file *.jsonl in none"),
        (&["empty.jsonl"], "there is nothing to score"),
        (&[], "name a labelled FILE, or a folder of harmless files with `--benign DIR`"),
        (&["set", "--by", "tier,tier"], "name each table once"),
        (&["set", "--by", "tier,family", "--only", "x"], "give one word to `--by`"),
        (&["set", "--only", "secrets"], "there is no row `secrets` by family; there are: secret"),
        (&["--benign", "set", "--full"], "<FILE>"),
        (&["set", "--max-findings", "1"], "--benign"),
        (&["set", "--min-recall", "95"], "95 % is 0.95"),
        (&["set", "--min-recall", "NaN"], "a share from 0 to 1"),
        (&["--benign", "no-such"], "no-such is no folder"),
        (&["--benign", "none"], "there is nothing to measure"),
    ] {
        let out = eval(&house, args);
        assert_eq!(out.code, 2, "{args:?}");
        assert!(out.err.contains(says), "{args:?}: {}", out.err);
    }
}

#[test]
fn thresholds_end_with_one_and_say_which_row() {
    let house = house();
    let tier = |line: Value, tier: &str| with(line, "tier", json!(tier));
    let found = hit(&house.value(1), Value::Null);
    house.write(
        "t.jsonl",
        &written(&[
            tier(found.clone(), "prefix"),
            tier(found.clone(), "context"),
            tier(hit("-", Value::Null), "context"),
            tier(with(hit("-", Value::Null), "weak", json!(true)), "prefix"),
            tier(with(clean(&house.value(2), "all"), "kind", json!("x")), "prefix"),
            tier(hit("-", Value::Null), "generic"),
        ]),
    );
    let run = |args: &[&str]| {
        let out = eval(&house, &[&["t.jsonl", "--by", "tier"], args].concat());
        (out.code, out.err)
    };
    assert_eq!(run(&["--min-recall", "0.5"]).0, 0);
    let (code, err) = run(&["--min-recall", "0.51"]);
    assert_eq!(code, 1);
    assert_eq!(err, "forebay: context: recall 0.5000 in the strict set is below 0.51\n");
    assert_eq!(run(&["--min-recall", "1", "--only", "prefix"]).0, 0);
    assert_eq!(run(&["--min-precision", "0.5"]).0, 0);
    let (code, err) = run(&["--min-precision", "0.6", "--only", "prefix"]);
    assert_eq!((code, err.as_str()), (1, "forebay: prefix: precision 0.5000 in the strict set is below 0.6\n"));
    let (code, err) = run(&["--min-recall", "0.6", "--only", "prefix", "--full"]);
    assert_eq!((code, err.as_str()), (1, "forebay: prefix: recall 0.5000 in the full set is below 0.6\n"));
    // No strict line is of that tier: nothing would ever be below.
    let (code, err) = run(&["--min-recall", "0.6", "--only", "generic"]);
    assert_eq!(code, 2);
    assert!(err.contains("`--min-recall` has no row to look at"), "{err}");
}

#[test]
fn missed_lines_and_false_alarms_are_listed_by_place() {
    let house = house();
    let named = |line: Value, id: Value| with(line, "id", id);
    let lines = [
        named(hit("nothing", Value::Null), json!("m-1")),
        named(hit(&house.value(1), Value::Null), json!("found")),
        named(clean(&house.value(2), "all"), json!(7)),
        named(hit("nothing", Value::Null), json!("m-2")),
        named(with(hit("nothing", Value::Null), "weak", json!(true)), json!("weak")),
    ];
    let list = |args: &[&str], what: &str| scored(&house, &lines, args)["labelled"][what].clone();
    let place = |line: u64, id: &str| json!({"file": "lines.jsonl", "line": line, "id": id, "kind": "test-key"});
    assert_eq!(list(&[], "missed"), json!([]));
    assert_eq!(list(&["--misses", "1"], "missed"), json!([place(1, "m-1")]));
    assert_eq!(list(&["--misses", "9"], "missed"), json!([place(1, "m-1"), place(4, "m-2")]));
    assert_eq!(
        list(&["--misses", "9", "--full"], "missed"),
        json!([place(1, "m-1"), place(4, "m-2"), place(5, "weak")])
    );
    assert_eq!(list(&["--misses", "9"], "false_positives"), json!([place(3, "7")]));
    let out = eval(&house, &["lines.jsonl", "--misses", "9"]);
    assert!(out.text().contains("first 2 missed\n  lines.jsonl:1: m-1 test-key\n"), "{}", out.text());
}

#[test]
fn no_format_shows_a_text_or_obeys_a_name() {
    let house = house();
    let hostile = "<script>alert(1)</script>|\u{1b}[2J\u{202e}\n# x";
    let key = house.value(3);
    let line = with(hit(&format!("k {key} z"), json!([[0, 1]])), "kind", json!(hostile));
    house.write(
        "lines.jsonl",
        &written(&[with(line, "id", json!(hostile)), with(clean(&key, "all"), "id", json!(hostile))]),
    );
    house.write("corpus/<b>&/x.txt", &format!("{key}\n"));
    for format in ["text", "json", "html", "markdown"] {
        let args = ["lines.jsonl", "--by", "kind", "--misses", "9", "--full", "--benign", "corpus", "--format", format];
        let out = eval(&house, &args);
        assert_eq!(out.code, 0, "{}", out.err);
        let page = out.text();
        assert!(!page.contains(&key) && !page.contains(&key[5..15]), "{format} shows what was found");
        assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}') || format == "json", "{format}");
        assert!(!page.contains("<script") || !matches!(format, "html" | "markdown"), "{format}");
        assert!(!page.contains("<b>&") || !matches!(format, "html" | "markdown"), "{format}");
        assert!(!page.contains("\n# x"), "{format}: a name cannot begin a line");
    }
}

#[test]
fn the_page_needs_nothing_from_elsewhere_and_draws_what_the_table_says() {
    let house = house();
    house.write("lines.jsonl", &written(&[hit(&house.value(1), Value::Null), hit("-", Value::Null)]));
    house.write("corpus/logs/x", "host 10.1.2.3 up\n");
    let out = eval(&house, &["lines.jsonl", "--benign", "corpus", "--format", "html"]);
    let page = out.text();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for outside in ["http:", "https:", "src=", "href=", "@import", "url(", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("prefers-color-scheme: dark"));
    assert_eq!(page.matches("<svg").count(), 2, "labelled lines and harmless files");
    // Recall of 0.5 is half as long as precision of 1.
    assert!(page.contains("class=\"recall\" x=\"190\" y=\"37\" width=\"235.0\""), "{page}");
    assert!(page.contains("class=\"precision\" x=\"190\" y=\"49\" width=\"470.0\""), "{page}");
    assert!(page.contains("<th scope=\"row\">secret</th><td>2</td><td>50.00 %</td>"), "{page}");
}

#[test]
fn a_reader_that_leaves_and_a_full_disk() {
    let house = house();
    house.write("lines.jsonl", &written(&[hit("-", Value::Null)]));
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let mut c = house.forebay();
    c.args(["eval", "--profile", "replace.toml", "lines.jsonl"]).stdout(full).stderr(Stdio::piped());
    let done = c.output().expect("starts");
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("cannot write standard output"));
}

#[test]
fn the_same_data_makes_the_same_page() {
    let house = house();
    let line = hit(&house.value(1), Value::Null);
    house.write("one/l.jsonl", &format!("{line}\n"));
    house.write("two/l.jsonl", &format!("{line}\n"));
    let page = |folder: &str| eval(&house, &[folder, "--format", "markdown"]).text().to_owned();
    assert_eq!(page("one"), page("two"), "no date and no path of the data");
    assert!(page("one").contains("| secret | 1 | 100.00 % |"), "{}", page("one"));
    house.write("two/l.jsonl", &format!("{line}\n\n"));
    assert_ne!(page("one"), page("two"), "the hash of the data is in it");
}

#[test]
fn what_is_odd_about_lines_is_told_once() {
    let house = house();
    let line = |n: u64| {
        let line = with(clean("-", "kind"), "id", json!(n));
        with(with(line, "licence", json!("x")), "span", json!([]))
    };
    let tier = with(hit("-", Value::Null), "tier", json!("prefx"));
    let spans = with(clean("-", "all"), "spans", json!([[0, 1]]));
    // Nothing is odd about a tier of another family, or about `spans` that say nothing.
    let fine = with(with(hit("-", Value::Null), "family", json!("pii")), "tier", json!("x"));
    let fine = [fine, with(clean("-", "all"), "spans", Value::Null)];
    let lines = [&[line(1), line(2), tier.clone(), tier, spans.clone(), spans], &fine[..]].concat();
    house.write("odd.jsonl", &written(&lines));
    let out = eval(&house, &["odd.jsonl"]);
    assert_eq!(out.code, 0, "{}", out.err);
    let told: Vec<&str> = out.err.lines().filter(|l| l.contains("warning: odd.jsonl")).collect();
    for (line, told_there) in [
        ("odd.jsonl:1: the field `licence` is not known", ""),
        ("odd.jsonl:1: the field `span` is not known", "is `spans` meant?"),
        ("odd.jsonl:3: the tier `prefx` is none of prefix, context, generic, identifier", "strict set"),
        ("odd.jsonl:5: a clean line has `spans`", "they are ignored"),
    ] {
        assert!(told.iter().any(|l| l.contains(line) && l.contains(told_there)), "{line}: {}", out.err);
    }
    assert_eq!(told.len(), 4, "{}", out.err);
    // A field of its own in every line fills no terminal.
    let many: Vec<Value> = (0..40).map(|n| with(clean("-", "kind"), &format!("own-{n}"), json!(1))).collect();
    house.write("many.jsonl", &written(&many));
    let out = eval(&house, &["many.jsonl"]);
    assert_eq!(out.err.lines().filter(|l| l.contains("many.jsonl")).count(), 20, "{}", out.err);
    assert_eq!(out.err.matches("there are more such things").count(), 1, "{}", out.err);
}

#[test]
fn tables_explain_rows_without_a_name_and_rules_that_are_off() {
    let house = house();
    let key = format!("k {} end", house.value(1));
    let lines = [hit(&key, json!([[2, 31]])), with(hit(&key, Value::Null), "kind", json!("a-collection"))];
    house.write("l.jsonl", &written(&lines));
    let out = eval(&house, &["l.jsonl", "--by", "source,vendor,family"]);
    assert_eq!(out.code, 0, "{}", out.err);
    for told in ["the row `secret/`, with nothing behind", "the row `?`: lines of secrets without a `vendor`"] {
        assert_eq!(out.text().matches(told).count(), 1, "{}", out.text());
    }
    // One of the two lines was named rightly; where none can be, that is said.
    assert!(!out.text().contains("*named* is 0 %"), "{}", out.text());
    house.write("l.jsonl", &written(&lines[1..]));
    for format in ["text", "markdown", "html"] {
        let out = eval(&house, &["l.jsonl", "--format", format]);
        assert!(out.text().contains("*named* is 0 % for secret: the kinds of these lines"), "{}", out.text());
    }
    let rules = |out: &str| out.lines().next().unwrap_or_default().to_owned();
    let all = rules(eval(&house, &["l.jsonl"]).text());
    assert!(!all.contains(" of "), "{all}");
    let off = std::fs::read_to_string(house.path("replace.toml")).expect("a profile");
    house.write("replace.toml", &format!("{off}\n[rule]\n\"secret.half\" = \"allow\"\n"));
    let out = eval(&house, &["l.jsonl"]);
    assert!(
        rules(out.text()).contains(" of ") && out.text().contains("off by the profile: secret.half"),
        "{}",
        out.text()
    );
    let report = scored(&house, &lines, &[]);
    let known = report["known_rules"].as_u64().expect("a number");
    assert_eq!((&report["rules"], &report["off"]["by_profile"]), (&json!(known - 1), &json!(["secret.half"])));
}
