//! `forebay rules import gitleaks` as a shell sees it: what a configuration's rules find, what the pack finds.
//!
//! The configuration is made up; it uses every feature of the format and every spelling in which Go's expressions differ.
//! Beside each rule stands what it means, by hand, as an expression of the `regex` crate and the number of its group.

mod cli_house;

use std::collections::BTreeMap;
use std::ops::Range;

use cli_house::{House, Output, json_lines, output};
use forebay_tests::cuts::Seed;
use forebay_tests::sample;
use regex::bytes::RegexBuilder;
use regex_syntax::ParserBuilder;

const PROFILE: &str = "name = \"imported\"\npacks = []\npack_files = [\"out.toml\"]\n[family]\nsecret = \"flag\"\n";

fn import(house: &House, config: &str, args: &[&str]) -> Output {
    house.write("gitleaks.toml", config);
    house.write("only.toml", PROFILE);
    let mut c = house.forebay();
    c.args(["rules", "import", "gitleaks", "gitleaks.toml", "--out", "out.toml", "--format", "json"]).args(args);
    output(c, b"")
}

/// What the imported pack finds in texts: for each, spans by rule.
fn found(house: &House, texts: &[String]) -> Vec<Vec<(String, Range<usize>)>> {
    let lines: Vec<String> = texts.iter().map(|t| serde_json::json!({"id": 0, "text": t}).to_string()).collect();
    let mut c = house.forebay();
    c.args(["scan", "--jsonl", "--profile", "only.toml"]);
    let out = output(c, lines.join("\n").as_bytes());
    assert_eq!(out.code, 0, "{}", out.err);
    let number = |n: &serde_json::Value| n.as_u64().expect("a number") as usize;
    let of = |f: &serde_json::Value| {
        let rule = f["rule"].as_str().expect("a name").to_owned();
        (rule, number(&f["start"])..number(&f["end"]))
    };
    json_lines(out.text()).iter().map(|l| l["findings"].as_array().expect("a list").iter().map(of).collect()).collect()
}

/// The report's line about a rule.
fn line<'a>(report: &'a [serde_json::Value], rule: &str) -> &'a serde_json::Value {
    report.iter().find(|l| l["rule"] == rule).unwrap_or_else(|| panic!("nothing is said of {rule}"))
}

/// Name, further keys, Go's expression, and what it means: expression, and the group of which the first filled one on is
/// the secret.
type Meant = (&'static str, &'static str, &'static str, &'static str, usize);

const KEYED: &str = r#"[\w.-]{0,50}?(?:WORD)(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}(VALUE)(?:[\x60'"\s;]|\\[nr]|$)"#;

const RULES: &[Meant] = &[
    ("prefix", "", r"zq7_[0-9a-z]{24}", r"zq7_[0-9a-z]{24}", 0),
    ("entropy", "entropy = 3.2", r"zq8_([a-p]{9,16})\b", r"zq8_([a-p]{9,16})\b", 1),
    (
        "scoped-flags",
        "",
        r"\b(pz9-(?i)[a-z0-9]{20})(?:[\x60'\x22\s;]|\\[nr]|$)",
        r#"\b(pz9-[a-zA-Z0-9]{20})(?:[`'"\s;]|\\[nr]|$)"#,
        1,
    ),
    ("inner-flags", "", r"(?i)\b(kk_(?-i:ab)[c-e]{20})\b", r"\b([kK]{2}_ab[c-eC-E]{20})\b", 1),
    ("posix", "", r"\b(po[[:alnum:]]{14}\.[[:xdigit:]]{20})\b", r"\b(po[0-9A-Za-z]{14}\.[0-9A-Fa-f]{20})\b", 1),
    ("braces", "", r"tmpl={{([a-z]{12})}}", r"tmpl=\{\{([a-z]{12})\}\}", 1),
    ("brackets", "", r"set=\[([^][ {]{10,20})]", r"set=\[([^\]\[ {]{10,20})\]", 1),
    ("end-of-text", "", r"\b(sha9~[\w-]{30})(?:[^\w-]|\z)", r"\b(sha9~[\w-]{30})(?:[^\w-]|\z)", 1),
    ("named-group", "", r"(?P<key>api_zz)=(?P<value>[a-z]{20})", r"(api_zz)=[a-z]{20}", 1),
    ("secret-group", "secretGroup = 2", r"(api_yy)=([a-z]{20})", r"api_yy=([a-z]{20})", 1),
    ("two-ways", "", r"ww1=([a-z]{20});|ww2:([0-9]{20});", r"ww1=([a-z]{20});|ww2:([0-9]{20});", 1),
    ("optional-group", "", r"oo=(x{4})?([0-9]{20});", r"oo=(x{4})?([0-9]{20});", 1),
    ("repeated-group", "", r"rr-([a-f0-9]{4}-){3}[a-f0-9]{4}", r"rr-(?:[a-f0-9]{4}-){3}[a-f0-9]{4}", 0),
    ("no-bound", "", r"\bnb_[A-Z0-9]{30,}\b", r"\bnb_[A-Z0-9]{30,}\b", 0),
    ("octal-and-quote", "", r"\x71\121\Q.[\E([a-z]{16})", r"qQ\.\[([a-z]{16})", 1),
    ("class-range", "", r"cr=([+--\d]{16});", r"cr=([+,\-0-9]{16});", 1),
    ("line-start", "", r"(?m)^LS=([a-z]{16})$", r"(?m:^)LS=([a-z]{16})(?m:$)", 1),
    ("text-start", "", r"^TS=([a-z]{16})", r"(?m:^)TS=([a-z]{16})", 1),
    ("letters-of-others", "", r"密钥=([a-z0-9]{16})", r"(?u:密钥)=([a-z0-9]{16})", 1),
    ("word-boundary-inside", "", r"\b(\b(wb_[a-f]{16}|wb-[0-9]{16})\b)", r"\b(wb_[a-f]{16}|wb-[0-9]{16})\b", 1),
];

fn configuration(rules: &[Meant]) -> String {
    let mut out = String::from("title = \"made up\"\n");
    for (id, keys, go, ..) in rules {
        out.push_str(&format!("[[rules]]\nid = \"{id}\"\ndescription = \"Made up\"\nregex = '''{go}'''\n{keys}\n"));
    }
    out
}

/// Draws texts from what each rule means, and asks the pack for the same secrets.
fn agree(house: &House, rules: &[Meant]) {
    const DRAWS: usize = 60;
    let mut texts = Vec::new();
    let mut wanted = Vec::new();
    for (n, (id, keys, _, meaning, group)) in rules.iter().enumerate() {
        let regex = RegexBuilder::new(meaning).unicode(false).build().expect(id);
        let hir = ParserBuilder::new().utf8(false).unicode(false).build().parse(meaning).expect(id);
        let mut seed = Seed(n as u64 + 1);
        let before = wanted.len();
        for _ in 0..DRAWS {
            let mut text = b"x = ".to_vec();
            if id.ends_with("-start") {
                text = b"one\n".to_vec();
            }
            sample::draw(&hir, &mut seed, &mut text);
            text.extend_from_slice(b"\n");
            let Some(found) = regex.captures(&text) else { continue };
            let mut groups = (*group..found.len()).filter_map(|g| found.get(g)).map(|m| m.range());
            let Some(secret) = groups.find(|g| !g.is_empty()) else { continue };
            let random = !keys.starts_with("entropy") || entropy(&text[secret.clone()]) > 3.2;
            let Ok(text) = String::from_utf8(text) else { continue };
            texts.push(text);
            wanted.push((*id, random.then_some(secret)));
        }
        let drawn = wanted[before..].iter().filter(|(_, s)| s.is_some()).count();
        assert!(drawn >= 10, "only {drawn} texts were drawn for {id}");
    }
    for ((text, (id, want)), have) in texts.iter().zip(&wanted).zip(found(house, &texts)) {
        let rule = format!("secret.gitleaks-{id}");
        let is_part = |r: &String| *r == rule || r.strip_prefix(&rule).is_some_and(|n| n.starts_with("-"));
        let have = have.into_iter().find(|(r, _)| is_part(r)).map(|(_, s)| s);
        assert_eq!(have, *want, "{id} in {text:?}");
    }
}

fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = BTreeMap::new();
    bytes.iter().for_each(|b| *counts.entry(b).or_insert(0.0) += 1.0);
    counts.values().map(|c| c / bytes.len() as f64).map(|p: f64| -p * p.log2()).sum()
}

#[test]
fn the_pack_finds_what_the_configuration_means() {
    let house = House::new();
    let out = import(&house, &configuration(RULES), &[]);
    assert_eq!(out.code, 0, "{}", out.err);
    let report = json_lines(&out.err);
    for (id, ..) in RULES {
        assert_ne!(line(&report, id)["outcome"], "refused", "{}", out.err);
    }
    let end = report.last().expect("an end");
    assert_eq!((&end["rules"], &end["taken"]), (&RULES.len().into(), &RULES.len().into()));
    agree(&house, RULES);
}

/// The shape of most public rules: a keyword, something that assigns, a value.
#[test]
fn keyed_rules_find_the_value() {
    let house = House::new();
    let (mut go, mut meanings) = (Vec::new(), Vec::new());
    for (word, value) in
        [("zorbly", "[a-z0-9_-]{32}"), ("(?-i:ZORB|[Zz]orb)ix", "zx[a-f0-9]{20}"), ("quaxo|q_axo", "[0-9]{16}")]
    {
        let text = KEYED.replace("WORD", word).replace("VALUE", value);
        go.push(format!("(?i){text}"));
        // The same without the spellings that only Go has.
        meanings.push(format!("(?i){}", text.replace(r"\x60", "`")));
    }
    let ids = ["keyed", "keyed-scoped", "keyed-two"];
    let rules: Vec<Meant> = ids
        .iter()
        .zip(go.iter().zip(&meanings))
        .map(|(id, (go, meaning))| (*id, "", &*String::leak(go.clone()), &*String::leak(meaning.clone()), 1))
        .collect();
    let out = import(&house, &configuration(&rules), &[]);
    assert_eq!(out.code, 0, "{}", out.err);
    agree(&house, &rules);
}

#[test]
fn the_pack_keeps_its_own_examples_and_alarms_no_scanner() {
    let house = House::new();
    import(&house, &configuration(RULES), &[]);
    let mut c = house.forebay();
    c.args(["rules", "test", "out.toml"]);
    let out = output(c, b"");
    assert_eq!(out.code, 0, "{}{}", out.text(), out.err);
    // Warnings of what rules cost may stand before it.
    let summary = out.text().lines().find(|l| l.contains(" examples, ")).expect("a summary").to_owned();
    let examples: usize = summary.split(' ').nth(2).and_then(|n| n.parse().ok()).expect("a count");
    assert!(examples > 2 * RULES.len(), "two texts of each rule, and some that are none: {}", out.text());
    let pack = house.path("out.toml").display().to_string();
    let mut c = house.forebay();
    c.args(["scan", "--profile", "only.toml", &pack]);
    let out = output(c, b"");
    assert_eq!(out.code, 0, "the pack's examples are in pieces: {}", out.text());
}

#[test]
fn allowlists_let_through_what_they_name() {
    let house = House::new();
    let out = import(
        &house,
        r#"
[allowlist]
paths = ['\.lock$']
regexes = ['^zq7_0+$', '''(?i)^true|false$''']
stopwords = ["SAMPLE"]

[[rules]]
id = "plain"
regex = '''zq7_([0-9a-z]{20})'''
[[rules.allowlists]]
condition = "AND"
regexes = ['''^a''']
stopwords = ["bbb"]
[[rules.allowlists]]
condition = "AND"
paths = ['x']
stopwords = ["ccc"]

[[rules]]
id = "context"
regex = '''(?i)[\w.-]{0,50}?(?:token|key)[ \t]{0,3}=[ \t]{0,3}([0-9a-z]{20})(?:[\s;]|$)'''
[[rules.allowlists]]
regexTarget = "match"
regexes = ['''(?i)public[_-]?key''']
[[rules.allowlists]]
regexTarget = "line"
regexes = ['''^import ''']

[[rules]]
id = "long"
regex = '''zq6_[a-z]{10,40}'''
"#,
        &[],
    );
    assert!(out.code <= 1, "{}", out.err);
    let value = "d7f9a2k4m1x8q5w3e6r0";
    let cases: Vec<(String, bool)> = vec![
        (format!("zq7_{value}"), true),
        (format!("zq7_{}sample", &value[..14]), false),
        (format!("zq7_{}false", &value[..15]), false),
        ("zq7_abbb4k4m1x8q5w3e6r0z".to_owned(), false),
        ("zq7_abb4k4m1x8q5w3e6r0zz".to_owned(), true),
        ("zq7_dbbb4k4m1x8q5w3e6r0z".to_owned(), true),
        ("zq7_cccb4k4m1x8q5w3e6r0z".to_owned(), true),
        (format!("key = {value}\n"), true),
        (format!("my_public_key = {value}\n"), false),
        (format!("public_key\nkey = {value}\n"), true),
        (format!("import x key = {value}\n"), false),
        // So far in front of the value that what is seen of the line begins with the word.
        (format!("xximport {} key = {value}\n", "y".repeat(256 - "import  key = ".len())), true),
        (format!("import {} key = {value}\n", "y".repeat(256 - "import  key = ".len())), false),
        (format!("important key = {value}\n"), true),
        // The match as a whole is let through: no shorter one is found in its place.
        ("zq6_abcdefghijklmsample".to_owned(), false),
        ("zq6_abcdefghijklmnopq".to_owned(), true),
    ];
    let texts: Vec<String> = cases.iter().map(|(t, _)| t.clone()).collect();
    for ((text, want), have) in cases.iter().zip(found(&house, &texts)) {
        assert_eq!(!have.is_empty(), *want, "{text:?}: {have:?}");
    }
    let err = out.err;
    assert!(err.contains("paths and commits are left out") && err.contains("asks for paths or commits too"), "{err}");
}

#[test]
fn what_cannot_be_taken_is_said_with_the_reason_and_the_mend() {
    let house = House::new();
    let out = import(
        &house,
        r#"
[[rules]]
id = "good"
regex = '''zq7_[0-9a-z]{20}'''
keywords = ["zq7_"]

[[rules]]
id = "names-only"
path = '''\.p12$'''

[[rules]]
id = "too-wide"
regex = '''[a-zA-Z0-9]{32}'''

[[rules]]
id = "explodes"
regex = '''ex_[a-z]{10,900}(?:ab|cd)[a-z]{10,900}_[a-z]{43}'''

[[rules]]
id = "look-behind"
regex = '''(?<!a)zq5_[a-z]{20}'''

[[rules]]
id = "broken"
regex = '''zq4_[a-z'''

[[rules]]
id = "part"
regex = '''zq3_[a-z]{20}'''
skipReport = true

[[rules]]
id = "composite"
regex = '''zq2_[a-z]{20}'''
[[rules.required]]
id = "part"

[[rules]]
id = "never"
regex = '''zq1_a{20}'''
entropy = 3

[[rules]]
id = "group"
regex = '''zq0_([a-z]{20})'''
secretGroup = 2

[[rules]]
id = "odd"
regex = '''zr_([a-z]{20})'''
colour = "blue"
"#,
        &[],
    );
    assert_eq!(out.code, 1, "{}", out.err);
    let report = json_lines(&out.err);
    for (rule, reason) in [
        ("names-only", "file names"),
        ("too-wide", "too slow"),
        ("explodes", "explodes"),
        ("look-behind", "look-behind"),
        ("broken", "closing"),
        ("part", "only serves other rules"),
        ("composite", "findings of other rules"),
        ("never", "no text could be drawn"),
        ("group", "`secretGroup` is 2"),
    ] {
        let line = line(&report, rule);
        assert_eq!(line["outcome"], "refused", "{line}");
        assert!(line["reasons"][0].as_str().is_some_and(|r| r.contains(reason)), "{line}");
        assert!(line["mend"].as_str().is_some_and(|m| m.len() > 10), "{line}");
        assert!(line["place"].as_str().is_some_and(|p| p.starts_with("gitleaks.toml:")), "{line}");
    }
    assert_eq!(line(&report, "names-only")["place"], "gitleaks.toml:8");
    assert!(out.err.contains("`colour` is not known"), "{}", out.err);
    let value = "d7f9a2k4m1x8q5w3e6r0";
    assert_eq!(found(&house, &[format!("zq7_{value}")])[0].len(), 1, "the others are in the pack");
}

#[test]
fn extended_files_are_merged() {
    let house = House::new();
    house.write(
        "base/base.toml",
        "[[rules]]\nid = \"one\"\nregex = '''zq7_([a-z]{20})'''\nentropy = 3.0\n\
         [[rules]]\nid = \"two\"\nregex = '''zq8_[a-z]{20}'''\n[[rules]]\nid = \"three\"\nregex = '''zq9_[a-z]{20}'''\n",
    );
    let config = "[extend]\npath = \"base/base.toml\"\ndisabledRules = [\"two\", \"nine\"]\n\
                  [[rules]]\nid = \"one\"\nentropy = 2.0\n\
                  [[allowlists]]\ntargetRules = [\"three\"]\nstopwords = [\"abc\"]\n";
    let out = import(&house, config, &[]);
    assert_eq!(out.code, 1, "a name that is not there is said: {}", out.err);
    assert!(out.err.contains("`nine`"), "{}", out.err);
    let value = "bcdefabcdefbcdefafed";
    let texts = [
        format!("zq7_{value}"),
        format!("zq8_{value}"),
        format!("zq9_{value}"),
        format!("zq9_{}", &value[..4].repeat(5)),
    ];
    let sizes: Vec<usize> = found(&house, &texts).iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 0, 0, 1]);

    let config = "[extend]\nuseDefault = true\n[[rules]]\nid = \"four\"\nregex = '''zq4_[a-z]{20}'''\n";
    let out = import(&house, config, &[]);
    assert_eq!(out.code, 1);
    assert!(out.err.contains("--default"), "{}", out.err);
    let out = import(&house, config, &["--default", "base/base.toml"]);
    assert_eq!(out.code, 0, "{}", out.err);
    assert_eq!(json_lines(&out.err).last().expect("an end")["taken"], 4);
}

#[test]
fn hostile_files_end_with_a_line_and_a_mend() {
    let house = House::new();
    let rule = |regex: &str| format!("[[rules]]\nid = \"r\"\nregex = '''{regex}'''\n");
    let errors: Vec<(String, &str)> = vec![
        ("[[rules]]\nid = \"a\"\nregex = [\n".to_owned(), "gitleaks.toml:"),
        ("\n[[rules]]\nid = 7\n".to_owned(), "gitleaks.toml:3: `id` must be a string"),
        ("[[rules]]\nregex = \"a\"\n".to_owned(), "has no `id`"),
        ("rules = 3\n".to_owned(), "gitleaks.toml:1: `rules` must be an array"),
        ("[[rules]]\nid = \"a\"\nentropy = inf\n".to_owned(), "gitleaks.toml:3: `entropy`"),
        ("[extend]\npath = \"gitleaks.toml\"\n".to_owned(), "more than 2 deep"),
        ("[extend]\npath = \"absent.toml\"\n".to_owned(), "absent.toml"),
        (
            "[[rules]]\nid = \"r\"\nregex = \"zq1\"\n[[allowlists]]\ntargetRules = [\"none\"]\nstopwords = [\"a\"]\n"
                .to_owned(),
            "no such rule",
        ),
        ("[pack]\nname = \"ours\"\n".to_owned(), "is this a gitleaks configuration?"),
        ("#".repeat(5 << 20), "larger than"),
        ((0..9000).map(|i| format!("[[rules]]\nid = \"r{i}\"\n")).collect(), "more than 8192"),
        ("a = ".to_owned() + &"[".repeat(10_000), "gitleaks.toml:1"),
    ];
    for (config, want) in errors {
        let out = import(&house, &config, &[]);
        assert_eq!(out.code, 2, "{want}: {}", out.err);
        assert!(out.err.contains(want), "{want}: {}", out.err);
    }
    for bad in [
        "(".repeat(5000) + &")".repeat(5000),
        "a".repeat(100_000),
        "((a{1000}){1000}){1000}".to_owned(),
        "zq7_a{1001}".to_owned(),
        "(a|b|c)?".repeat(200),
        r"\xff{1000}\pL{1000}".to_owned(),
        "[".to_owned(),
        "()".to_owned(),
        "(a*)*".to_owned(),
        "$^".to_owned(),
    ] {
        let out = import(&house, &rule(&bad), &[]);
        assert_eq!(out.code, 1, "{}: {}", &bad[..bad.len().min(40)], out.err);
        assert_eq!(line(&json_lines(&out.err), "r")["outcome"], "refused", "{}", out.err);
    }
    let mut bytes = rule("zq7_[a-z]{20}").into_bytes();
    bytes.extend_from_slice(b"description = \"\xff\"\n");
    std::fs::write(house.path("latin.toml"), bytes).expect("written");
    let mut c = house.forebay();
    c.args(["rules", "import", "gitleaks", "latin.toml"]);
    let out = output(c, b"");
    assert_eq!(out.code, 2);
    assert!(out.err.contains("latin.toml as UTF-8"), "{}", out.err);
    assert!(out.out.is_empty(), "no half of a pack");
}

#[test]
fn a_pack_of_the_command_line_is_used_beside_the_profile() {
    let house = House::new();
    house.write("in.toml", "[[rules]]\nid = \"Odd Name!\"\nregex = '''zq7_[0-9a-z]{20}'''\n");
    let mut c = house.forebay();
    c.args(["rules", "import", "gitleaks", "in.toml", "--prefix", "gl-"]);
    let out = output(c, b"");
    assert_eq!(out.code, 0, "{}", out.err);
    assert_eq!(out.err, "1 of 1 rule taken, 0 of them changed, as 1 rule of the pack; 0 not taken\n");
    house.write("out.toml", out.text());
    let text = format!("{} and zq7_d7f9a2k4m1x8q5w3e6r0\n", house.value(1));
    let mut c = house.forebay();
    c.args(["scan", "--profile", "replace.toml", "--pack", "out.toml", "-"]);
    let out = output(c, text.as_bytes());
    assert!(out.text().contains("secret.test-key") && out.text().contains("secret.gl-odd-name"), "{}", out.text());
    let out = output(house.filter(&["--pack", "out.toml"]), text.as_bytes());
    assert!(out.text().starts_with("FBY_") && out.text().contains("FBY_ODDNAME_"), "{}", out.text());
    let out = output(house.filter(&["--pack", "out.toml", "--via", "socket"]), text.as_bytes());
    assert_eq!(out.code, 2);
    assert!(out.err.contains("pack_files"), "{}", out.err);
}
