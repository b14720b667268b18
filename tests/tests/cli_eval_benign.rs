//! `forebay eval --benign`: categories, rates and what is not counted, worked out by hand.

mod cli_house;

use cli_house::labelled::{eval, labelled_house as house};
use cli_house::output;
use serde_json::{Value, json};

#[test]
fn harmless_files_by_folder_end_of_name_or_manifest() {
    let house = house();
    let address = "host 10.1.2.3 up\n"; // 17 bytes
    house.write("c/logs/deep/a.txt", &address.repeat(2));
    house.write("c/logs/b.txt", &"x".repeat(66)); // 100 bytes in logs
    house.write("c/README.md", &"x".repeat(50));
    house.write("c/main.RS", address);
    house.write("c/what", "x");
    house.write("c/binary", "\u{0}10.1.2.3");
    house.write("c/.git/config", address);
    let measured = |args: &[&str]| -> Value {
        let out = eval(&house, &[&["--benign", "c", "--format", "json"], args].concat());
        assert_eq!(out.code, 0, "{}", out.err);
        serde_json::from_slice::<Value>(&out.out).expect("one JSON object")["benign"].clone()
    };
    let names = |b: &Value| -> Vec<String> {
        b["categories"]
            .as_array()
            .expect("there")
            .iter()
            .map(|c| c["name"].as_str().expect("text").to_owned())
            .collect()
    };
    let b = measured(&[]);
    assert_eq!(names(&b), ["logs", "markdown", "other", "source"]);
    let logs = &b["categories"][0];
    assert_eq!((&logs["files"], &logs["bytes"], &logs["findings"]), (&json!(2), &json!(100), &json!({"pii": 2})));
    assert_eq!(logs["findings_per_mb"], json!({"pii": 20_000.0}), "2 in 100 bytes");
    assert_eq!((&logs["redactions"], &logs["files_hit"]), (&json!({"pii": 2}), &json!({"pii": 1})));
    assert_eq!(
        (&b["total"]["files"], &b["total"]["bytes"], &b["binary_files_left_out"]),
        (&json!(5), &json!(168), &json!(1))
    );
    assert_eq!(b["total"]["all_findings_per_mb"], 17_857.14, "3 in 168 bytes");

    // A profile that only reports redacts nothing.
    let mut c = house.forebay();
    c.args(["eval", "--benign", "c", "--profile", "flag.toml", "--format", "json", "--max-redactions", "0"]);
    let out = output(c, b"");
    assert_eq!(out.code, 0);
    let flagged: Value = serde_json::from_slice(&out.out).expect("one JSON object");
    assert_eq!(flagged["benign"]["total"]["redactions"], json!({}));
    assert_eq!(flagged["benign"]["total"]["findings"], json!({"pii": 3}));
    let out = eval(&house, &["--benign", "c", "--max-redactions", "17857.13"]);
    assert_eq!(out.code, 1);
    assert!(out.err.contains("17857.14 redactions per MB of harmless files are more than 17857.13"), "{}", out.err);
    assert_eq!(eval(&house, &["--benign", "c", "--max-findings", "17857.14"]).code, 0);

    house.write(
        "c/manifest.jsonl",
        "{\"file\":\"logs/deep/a.txt\",\"category\":\"x\",\"more\":1}\n{\"file\":\"what\",\"category\":\"y\"}\n",
    );
    assert_eq!(names(&measured(&[])), ["x", "y"]);
    std::os::unix::fs::symlink(house.path("pack.toml"), house.path("c/out")).expect("made");
    for (line, says) in [
        ("{\"file\":\"../pack.toml\",\"category\":\"x\"}", "does not leave it"),
        ("{\"file\":\"/etc/hostname\",\"category\":\"x\"}", "does not leave it"),
        ("{\"file\":\"\",\"category\":\"x\"}", "does not leave it"),
        ("{\"file\":\"out\",\"category\":\"x\"}", "does not leave it"),
        ("{\"file\":\"logs\",\"category\":\"x\"}", "the path of a file"),
        ("{\"file\":\"what\"}", "missing field `category`"),
        ("{\"file\":\"gone\",\"category\":\"x\"}", "1 file could not be read"),
    ] {
        house.write("c/manifest.jsonl", &format!("{line}\n"));
        let out = eval(&house, &["--benign", "c"]);
        assert_eq!(out.code, 2, "{line}");
        assert!(out.err.contains(says), "{line}: {}", out.err);
    }
}

#[test]
fn what_a_category_holds_by_its_nature_is_excused() {
    let house = house();
    // Put together here: the first passes the check of a card, the second does not.
    let (card, number) = (format!("4{}2", "0".repeat(14)), format!("4{}3", "0".repeat(14)));
    for (category, text, excused) in [
        ("csv", "a,10.1.2.3,b", 1),
        ("svg", "a,10.1.2.3,b", 1),
        ("lockfile", "a,10.1.2.3,b", 1),
        ("logs", "a,10.1.2.3,b", 0),
        ("csv", &format!("a,{card},b"), 0),
        ("generated-log", &format!("a,{card},b"), 1),
        ("generated-log", &format!("a,{number},b"), 0),
        ("generated-log", "a,10.1.2.3,b", 0),
        ("logs", &format!("a,{card},b"), 0),
    ] {
        let house_of = format!("c-{category}-{excused}-{}", text.len());
        house.write(&format!("{house_of}/{category}/f"), text);
        let out = eval(&house, &["--benign", &house_of, "--format", "json"]);
        let b: Value = serde_json::from_slice(&out.out).expect("one JSON object");
        let total = &b["benign"]["total"];
        assert_eq!(total["excused"], excused, "{category} {text}");
        let left = if excused == 1 { json!({}) } else { json!({"pii": 1}) };
        assert_eq!((&total["findings"], &total["redactions"]), (&left, &left), "{category} {text}");
    }
}

#[test]
fn a_file_of_many_blocks_is_judged_as_one() {
    let house = house();
    let block = 1 << 20;
    let pad = |n: usize| "x\n".repeat(n / 2);
    // A mark about the end stands at the end of the first block, with more behind it; an address crosses the next one.
    let mut text = pad(block - 8) + "-[[cut]]";
    assert_eq!(text.len(), block);
    text += &pad(block - 10);
    text += "host 10.1.2.3 up\n";
    text += &pad(block);
    house.write("c/csv/big", &text);
    house.write("c/logs/end", "what [[cut]]");
    house.write("c/json/open", r#"{"a": [1, "b"#);
    let out = eval(&house, &["--benign", "c", "--format", "json"]);
    let b: Value = serde_json::from_slice(&out.out).expect("one JSON object");
    let category = |i: usize| &b["benign"]["categories"][i];
    assert_eq!((&category(0)["bytes"], &category(0)["name"]), (&json!(text.len()), &json!("csv")));
    assert_eq!(category(0)["findings"], json!({"truncation": 1}), "it is not at the end of the file");
    assert_eq!(category(0)["excused"], 1, "found over two blocks");
    assert_eq!((&category(1)["findings"], &category(1)["incomplete"]), (&json!({}), &json!(1)), "ends are told apart");
    assert_eq!((&category(2)["findings"], &category(2)["incomplete"]), (&json!({}), &json!(1)));
}
