//! `forebay scan` and `forebay rules` as a shell sees them.

mod cli_house;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use cli_house::{House, Output, json_lines, output};
use forebay_tests::bin_path::bin_path;

fn scan(house: &House, args: &[&str]) -> Output {
    scan_input(house, args, b"")
}

fn scan_input(house: &House, args: &[&str], input: &[u8]) -> Output {
    let mut c = house.forebay();
    c.args(["scan", "--profile", "replace.toml"]).args(args);
    output(c, input)
}

#[test]
fn files_and_folders() {
    let house = House::new();
    let (a, b) = (house.value(1), house.value(2));
    house.write("src/one.txt", &format!("first line\nkey: {a}, and {b}\n"));
    house.write("src/.env", &format!("K={a}\n"));
    house.write("src/clean.txt", "nothing\n");
    house.write("src/ignored/x.txt", &format!("{a}\n"));
    house.write("src/.gitignore", "ignored/\n");
    house.write("src/.git/config", &format!("{a}\n"));
    house.write("src/binary", &format!("\u{0}{a}\n"));

    let out = scan(&house, &["src"]);
    assert_eq!(out.code, 1, "{}", out.err);
    let text = out.text();
    assert!(text.contains("src/one.txt:2:6: high secret.test-key: Test key\n    key: ***"), "{text}");
    assert!(text.contains("src/.env:1:3: "), "{text}");
    assert!(!text.contains("ignored") && !text.contains(".git/") && !text.contains("binary"), "{text}");
    assert!(!text.contains(&a) && !text.contains(&b), "values are masked, those of neighbours too");
    assert!(!text.contains('\u{1b}'), "no colour in a pipe");
    assert!(out.err.contains("3 findings in 2 files") && out.err.contains("1 binary"), "{}", out.err);

    let out = scan(&house, &["src", "--no-ignore", "-a"]);
    assert!(out.text().contains("src/ignored/x.txt:1:1") && out.text().contains("src/binary:1:2"), "{}", out.text());

    assert_eq!(scan(&house, &["src/clean.txt"]).code, 0);
    let out = scan(&house, &["src/clean.txt", "--color", "always", "src/one.txt"]);
    assert!(out.text().contains('\u{1b}'));
}

#[test]
fn standard_input_and_errors() {
    let house = House::new();
    let out = scan_input(&house, &["-"], format!("x {}", house.value(1)).as_bytes());
    assert_eq!(out.code, 1);
    assert!(out.text().starts_with("-:1:3: "), "{}", out.text());
    let out = scan(&house, &["no-such-file"]);
    assert_eq!(out.code, 2);
    assert!(out.err.contains("cannot look at no-such-file"), "{}", out.err);
}

#[test]
fn a_rule_that_blocks_hides_nothing_in_a_file() {
    let house = House::new();
    house.write("f.txt", &format!("{}\n{}\n", house.value(1), house.value(2)));
    let mut c = house.forebay();
    c.args(["scan", "--profile", "block.toml", "--format", "json", "f.txt"]);
    let out = output(c, b"");
    let file = &json_lines(out.text())[0];
    assert_eq!(file["findings"].as_array().map(Vec::len), Some(2));
    assert_eq!(file["findings"][0]["action"], "block", "the profile's action is told");
    assert_eq!(file["findings"][1]["from"], serde_json::json!({"line": 2, "column": 1}));
}

#[test]
fn sarif_has_what_the_standard_requires_and_no_text() {
    let house = House::new();
    house.write("a b/多.txt", &format!("ä {}\n", house.value(1)));
    for clean in [false, true] {
        if clean {
            house.write("a b/多.txt", "nothing");
        }
        let out = scan(&house, &["--format", "sarif", "a b"]);
        assert_eq!(out.code, i32::from(!clean));
        let sarif: serde_json::Value = serde_json::from_slice(&out.out).expect("one JSON document");
        assert_eq!(sarif["version"], "2.1.0");
        let run = &sarif["runs"][0];
        assert_eq!(run["tool"]["driver"]["name"], "forebay");
        assert_eq!(run["results"].as_array().map(Vec::len), Some(usize::from(!clean)));
        assert!(!out.text().contains(&house.value(1)));
        if !clean {
            let result = &run["results"][0];
            let rule = result["ruleIndex"].as_u64().expect("a number") as usize;
            assert_eq!(run["tool"]["driver"]["rules"][rule]["id"], result["ruleId"]);
            assert_eq!(result["level"], "error");
            let at = &result["locations"][0]["physicalLocation"];
            assert_eq!(at["artifactLocation"]["uri"], "a%20b/%E5%A4%9A.txt");
            assert_eq!(at["region"]["startLine"], 1);
            assert_eq!(at["region"]["startColumn"], 3);
            assert_eq!(at["region"]["byteOffset"], 3);
        }
    }
}

#[test]
fn json_lines_keep_order_and_answer_at_once() {
    let house = House::new();
    let mut child = house
        .forebay()
        .args(["scan", "--jsonl", "--profile", "replace.toml"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut input = child.stdin.take().expect("piped");
    let mut answers = BufReader::new(child.stdout.take().expect("piped")).lines();
    for i in 0..5 {
        let text = format!("n {i}: \u{1f600} {}", house.value(i));
        writeln!(input, "{}", serde_json::json!({"text": text, "id": [i], "ignored": true})).expect("written");
        let answer = answers.next().expect("a line before more input").expect("UTF-8");
        let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["id"], serde_json::json!([i]));
        assert_eq!(answer["findings"][0]["start"], 10, "bytes of UTF-8, not characters");
        assert_eq!(answer["findings"][0]["rule"], "secret.test-key");
        assert!(answer["report"]["complete"].is_boolean());
    }
    drop(input);
    assert!(child.wait().expect("ends").success());
}

#[test]
fn a_bad_line_is_answered_in_its_place_and_the_rest_goes_on() {
    let house = House::new();
    let text = format!("x {}", house.value(1));
    let input =
        format!("{{\"id\":1,\"text\":\"\"}}\n{{\"id\":2}}\n[]\n{}\n", serde_json::json!({"id": 4, "text": text}));
    let out = scan_input(&house, &["--jsonl"], input.as_bytes());
    assert_eq!(out.code, 2);
    let answers = json_lines(out.text());
    assert_eq!(answers.len(), 4, "one answer a line");
    assert_eq!(answers[1]["id"], 2);
    let error = answers[1]["error"].as_str().expect("a text");
    assert!(error.contains("line 2, column 8: missing field `text`; a line must be {\"id\""), "{error}");
    assert!(answers[2]["id"].is_null() && answers[2]["error"].as_str().is_some_and(|e| e.contains("jq -c '.[]'")));
    assert_eq!(answers[3]["findings"][0]["start"], 2);
    assert!(out.err.contains("line 2, column 8") && out.err.contains("line 3, column 1"), "{}", out.err);
    assert!(out.err.contains("2 lines could not be read"), "{}", out.err);
}

#[test]
fn of_many_bad_lines_ten_are_named() {
    let house = House::new();
    let out = scan_input(&house, &["--jsonl"], "no json\n".repeat(25).as_bytes());
    assert_eq!(out.code, 2);
    assert_eq!(json_lines(out.text()).len(), 25);
    assert_eq!(out.err.lines().filter(|l| l.contains("no JSON object begins here")).count(), 10, "{}", out.err);
    assert!(out.err.contains("25 lines could not be read"), "{}", out.err);
}

#[test]
fn a_byte_order_mark_is_no_error() {
    let house = House::new();
    let out = scan_input(
        &house,
        &["--jsonl"],
        "\u{feff}{\"id\":1,\"text\":\"\"}\n\u{feff}{\"id\":2,\"text\":\"\"}".as_bytes(),
    );
    assert_eq!(out.code, 0, "{}", out.err);
    assert_eq!(json_lines(out.text()).len(), 2);
}

#[test]
fn a_path_that_is_missing_does_not_keep_the_others_from_being_scanned() {
    let house = House::new();
    house.write("good.txt", &format!("k {}\n", house.value(1)));
    for paths in [["good.txt", "missing.txt"], ["missing.txt", "good.txt"]] {
        let out = scan(&house, &paths);
        assert!(out.text().starts_with("good.txt:1:3: "), "{}", out.text());
        assert!(out.err.contains("cannot look at missing.txt: "), "{}", out.err);
        assert!(out.err.contains("1 path could not be scanned"), "{}", out.err);
        assert_eq!(out.code, 2);
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let house = House::new();
    for args in [&["--help"][..], &["--version"], &["filter", "--help"], &["rules", "list"], &["completions", "zsh"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
        let done = house.forebay().args(args).stdout(full).stderr(Stdio::piped()).output().expect("starts");
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&done.stderr).contains("No space left on device"), "{args:?}: {done:?}");
    }
}

#[test]
fn rules_test_finds_wrong_examples() {
    let house = House::new();
    let mut c = house.forebay();
    c.args(["rules", "test", "pack.toml"]);
    let out = output(c, b"");
    assert_eq!((out.code, out.text()), (0, "2 rules, 4 examples, 0 wrong\n"));

    let pack = std::fs::read_to_string(house.path("pack.toml")).expect("there");
    house.write("wrong.toml", &pack.replace("{alnum*23}", "{alnum*24}"));
    let mut c = house.forebay();
    c.args(["rules", "test", "wrong.toml", "--format", "json"]);
    let out = output(c, b"");
    assert_eq!(out.code, 1);
    assert_eq!(json_lines(out.text())[0]["wrong"], "false-alarm");
    assert!(!out.text().contains(&house.value(0)[..12]), "examples are shown as written");
}

#[test]
fn built_in_rules_keep_their_examples() {
    let house = House::new();
    let mut c = house.forebay();
    c.args(["rules", "test"]);
    let out = output(c, b"");
    assert_eq!(out.code, 0, "{}", out.text());
}

#[test]
fn every_command_shows_an_example() {
    let house = House::new();
    let commands: &[&[&str]] = &[
        &["filter"],
        &["scan"],
        &["eval"],
        &["rules", "list"],
        &["rules", "test"],
        &["rules", "explain"],
        &["rules", "import"],
        &["rules", "import", "gitleaks"],
        &["status"],
        &["demo"],
        &["man"],
        &["completions"],
    ];
    for command in commands {
        let mut c: Command = house.forebay();
        c.args(*command).arg("--help");
        let out = output(c, b"");
        assert_eq!(out.code, 0);
        assert!(out.text().contains("Example"), "{command:?} has no example");
    }
}

#[test]
fn man_pages_and_completions_are_made() {
    let house = House::new();
    let folder = house.path("man");
    std::fs::create_dir(&folder).expect("made");
    let mut c = house.forebay();
    c.arg("man").arg(&folder);
    assert_eq!(output(c, b"").code, 0);
    for page in ["forebay.1", "forebay-filter.1", "forebay-scan.1", "forebay-rules-explain.1", "forebay-status.1"] {
        let text = std::fs::read_to_string(folder.join(page)).expect(page);
        assert!(text.contains("Example") || page == "forebay.1", "{page} has no example");
    }
    let main = std::fs::read_to_string(folder.join("forebay.1")).expect("there");
    assert!(main.contains("Exit codes"), "the man page has the table");
    for shell in ["bash", "zsh", "fish"] {
        let mut c = house.forebay();
        c.args(["completions", shell]);
        assert!(output(c, b"").text().contains("forebay"), "{shell}");
        let mut c = Command::new(bin_path("forebayd"));
        c.args(["completions", shell]);
        assert!(output(c, b"").text().contains("forebayd"), "{shell}");
    }
    let mut c = Command::new(bin_path("forebayd"));
    c.arg("man").arg(&folder);
    assert_eq!(output(c, b"").code, 0);
    let page = std::fs::read_to_string(folder.join("forebayd.1")).expect("the daemon's page");
    assert!(page.contains("SIGHUP") && folder.join("forebayd-check.1").is_file(), "{page}");
    let mut c = Command::new(bin_path("forebayd"));
    c.arg("man").arg(house.path("no-such-folder"));
    let out = output(c, b"");
    assert!(out.code == 2 && out.err.contains("make the folder first"), "{}", out.err);
}

#[test]
fn an_excerpt_is_cut_between_words_and_says_so() {
    let house = House::new();
    let words = "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa";
    house.write("a.txt", &format!("{words} {} {words}\n", house.value(1)));
    let mut c = house.forebay();
    c.args(["scan", "--profile", "replace.toml", "a.txt"]);
    let out = output(c, b"");
    let line = out.text().lines().nth(1).expect("an excerpt").trim();
    let (before, after) = (line.split_once('*').expect("stars").0, line.rsplit_once('*').expect("stars").1);
    let cut = |text: &str| text.split(' ').filter(|w| !w.is_empty()).all(|w| words.split(' ').any(|x| x == w));
    assert!(before.starts_with('…') && cut(before.trim_start_matches('…')), "{line}");
    assert!(after.ends_with('…') && cut(after.trim_matches('…')), "{line}");
}
