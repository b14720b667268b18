//! Files of secrets, as a user meets them: named by a profile or `--secrets-file`, read, warned about, refused.

mod cli_house;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cli_house::{House, Output, json_lines, output};

/// Twelve bytes that look like nothing, different for each `n`. Put together at run time.
fn secret(n: u8) -> String {
    (0..12).map(|i| char::from(b"q7Zk2mWx9Rb4"[i] ^ if i == 5 { n & 15 } else { 0 })).collect()
}

fn private(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

fn write(house: &House, name: &str, text: &str) {
    private(&house.write(name, text));
}

fn filter(house: &House, args: &[&str], input: &str) -> Output {
    let mut c = house.forebay();
    c.arg("filter").args(args);
    output(c, input.as_bytes())
}

fn profile(house: &House, exact: &str) {
    house.write("p.toml", &format!("name = \"p\"\npacks = []\n{exact}"));
}

#[test]
fn an_environment_file_by_option_and_by_profile() {
    let house = House::new();
    let (a, b) = (secret(1), secret(2));
    write(&house, "app.env", &format!("# comment\nPORT=8080\nexport API_KEY={a}\nDB='{b}'\nPATH=/a/b/c/d/e/f/9\n"));
    profile(&house, "[[exact]]\nfile = \"app.env\"\n");
    house.write("none.toml", "name = \"none\"\npacks = []\n");
    let text = format!("x {a} y {b} z /a/b/c/d/e/f/9\n");
    for args in [&["--profile", "p.toml"][..], &["--profile", "none.toml", "--secrets-file", "app.env"]] {
        let got = filter(&house, &[args, &["--findings", "json"]].concat(), &text);
        assert_eq!(got.code, 0, "{}", got.err);
        let passed = got.text();
        assert!(passed.starts_with("x FBY_APIKEY_") && passed.contains(" y FBY_DB_"), "{passed}");
        assert!(passed.ends_with(" z /a/b/c/d/e/f/9\n") && !passed.contains(&a) && !passed.contains(&b), "{passed}");
        let findings: Vec<&str> = got.err.lines().filter(|l| l.starts_with('{')).collect();
        let rules: Vec<String> =
            json_lines(&findings.join("\n")).iter().map(|f| f["rule"].as_str().unwrap().to_owned()).collect();
        assert_eq!(rules, ["secret.exact.app-env.API_KEY", "secret.exact.app-env.DB"]);
        // A port is no secret, and is not worth silence either.
        let warning = "app.env:2: the value of PORT is shorter than `min_length` and is not looked for; ";
        assert!(got.err.contains(warning), "{}", got.err);
        assert!(!got.err.contains("PATH"), "{}", got.err);
    }
}

#[test]
fn a_whole_file_a_credential_and_json() {
    let house = House::new();
    let key = "-----BEGIN X-----\nabcDEF123+/=\nzzz999\n-----END X-----";
    write(&house, "tls.key", &format!("{key}\n"));
    write(&house, "pass", &secret(3));
    write(
        &house,
        "v.json",
        &serde_json::json!({"db": {"password": secret(4), "port": 5432}, "l": [secret(5)]}).to_string(),
    );
    profile(
        &house,
        "[[exact]]\nfile = \"tls.key\"\nformat = \"value\"\n[[exact]]\ncredential = \"pass\"\n[[exact]]\nfile = \"v.json\"\n\
         format = \"json\"\nlabel = \"vault\"\n",
    );
    let json = serde_json::json!({"t": key}).to_string();
    let text = format!("{key}\r\n{json} {} {} {}", secret(3), secret(4), secret(5));
    let mut c = house.forebay();
    c.env("CREDENTIALS_DIRECTORY", house.folder()).args(["filter", "--profile", "p.toml", "--findings", "json"]);
    let got = output(c, text.as_bytes());
    assert_eq!(got.code, 0, "{}", got.err);
    let port = "v.json:1: the value of db.port is shorter than `min_length` and is not looked for; ";
    assert!(got.err.contains(port), "{}", got.err);
    let findings: Vec<&str> = got.err.lines().filter(|l| l.starts_with('{')).collect();
    let rules: Vec<String> = json_lines(&findings.join("\n"))
        .iter()
        .map(|f| f["rule"].as_str().unwrap().trim_start_matches("secret.exact.").to_owned())
        .collect();
    assert_eq!(rules, ["tls-key", "tls-key", "pass", "vault.db.password", "vault.l.0"]);
    assert!(got.text().starts_with("FBY_TLSKEY_"), "{}", got.text());
    // Without systemd there is no credential, and nothing starts.
    let mut c = house.forebay();
    c.env_remove("CREDENTIALS_DIRECTORY").args(["filter", "--profile", "p.toml"]);
    let got = output(c, b"x");
    assert_eq!((got.code, got.out.len()), (2, 0));
    assert!(
        got.err.contains("p.toml:6: there is no credential `pass`") && got.err.contains("LoadCredential=pass:"),
        "{}",
        got.err
    );
}

#[test]
fn ignore_keep_and_min_length() {
    let house = House::new();
    write(&house, "e.env", &format!("A={}\nMODE=production\nPIN=48201\nSHORT=x9-Lq\n", secret(1)));
    profile(&house, "[[exact]]\nfile = \"e.env\"\nmin_length = 5\nignore = [\"A\"]\nkeep = [\"PIN\", \"MODE\"]\n");
    let got = filter(&house, &["--profile", "p.toml"], &format!("{} production 48201 x9-Lq", secret(1)));
    let passed = got.text();
    assert!(passed.starts_with(&format!("{} FBY_MODE_", secret(1))), "{passed}");
    assert!(passed.contains(" FBY_PIN_") && passed.contains(" FBY_SHORT_"), "{passed}");
    assert_eq!(got.err, "");
}

/// What is refused, with the place that the message begins with and the mend that it names.
#[test]
fn what_cannot_be_used_is_refused_with_its_place_and_mend() {
    let house = House::new();
    let hidden = secret(7);
    write(&house, "ok.env", &format!("A={hidden}\n"));
    write(&house, "bad.env", &format!("A={hidden}\n\n{hidden}\n"));
    write(&house, "open.env", &format!("A=\"{hidden}\n"));
    write(&house, "bad.json", &format!("{{\"a\": \"{hidden}\",\n x}}"));
    write(&house, "list.json", "[]");
    write(&house, "word", "production\n");
    write(&house, "huge", &hidden.repeat(100_000));
    write(&house, "pin", "123");
    write(&house, "long", &hidden.repeat(400));
    write(&house, "long.env", &format!("A={hidden}\nCHAIN={}\n", hidden.repeat(400)));
    write(&house, "deep.json", &format!("{{\"a\": {}\"{hidden}\"{}}}", "[".repeat(64), "]".repeat(64)));
    write(&house, "clash.json", &serde_json::json!({"a-b": hidden, "a b": secret(8)}).to_string());
    let many: String = (0..10_001).map(|i| format!("K{i}=v{hidden}{i}\n")).collect();
    write(&house, "many.env", &many);
    for (exact, place, mend) in [
        ("file = \"none.env\"", "p.toml:3: ", "mend the path"),
        ("file = \"/dev\"", "p.toml:3: ", "is not a regular file"),
        ("file = \"/dev/zero\"", "p.toml:3: ", "is not a regular file"),
        ("file = \"huge\"", "p.toml:3: ", "is larger than 1048576 bytes"),
        ("file = \"bad.env\"", "bad.env:3: ", "mend it, make it a comment"),
        ("file = \"open.env\"", "open.env:1: ", "close it"),
        ("file = \"bad.json\"\nformat = \"json\"", "bad.json:2: ", "mend it there"),
        ("file = \"list.json\"\nformat = \"json\"", "list.json:1: ", "write {\"key\": \"value\"}"),
        ("file = \"word\"\nformat = \"value\"", "word:1: ", "write keep = [\"word\"] into the entry"),
        ("file = \"pin\"\nformat = \"value\"\nkeep = [\"pin\"]", "pin:1: ", "put a value of 4 bytes or more there"),
        (
            "file = \"long\"\nformat = \"value\"",
            "long:1: ",
            "to a file of its own and name that, or take the entry out",
        ),
        ("file = \"long.env\"", "long.env:2: ", "and put `CHAIN` into `ignore`"),
        ("file = \"deep.json\"\nformat = \"json\"", "deep.json:1: ", "write it flatter"),
        ("file = \"clash.json\"\nformat = \"json\"", "clash.json:1: ", "is made twice"),
        ("file = \"many.env\"", "many.env:10001: ", "more than 10000 exact values"),
        ("file = \"ok.env\"\nmin_length = 3", "p.toml:3: ", "use 4 or more"),
        ("file = \"ok.env\"\nformat = \"yaml\"", "p.toml:5: ", "unknown variant `yaml`"),
        ("credential = \"../x\"", "p.toml:3: ", "credential = \"name\""),
        ("label = \"x\"", "p.toml:3: ", "file = \"/path\""),
        ("file = \"ok.env\"\n[[exact]]\nfile = \"ok.env\"", "p.toml:5: ", "a `label` of its own"),
        ("file = \"ok.env\"\n[rule]\n\"secret.exact.ok-env.B\" = \"flag\"", "p.toml:6: ", "forebay rules list"),
    ] {
        profile(&house, &format!("[[exact]]\n{exact}\n"));
        let got = filter(&house, &["--profile", "p.toml"], &hidden);
        assert_eq!((got.code, got.out.len()), (2, 0), "{exact}: {}", got.err);
        let message = got.err.lines().last().unwrap();
        assert!(message.starts_with(&format!("error: {place}")) && message.contains(mend), "{exact}: {message}");
        assert!(!got.err.contains(&hidden[..6]), "{exact}: {}", got.err);
    }
}

#[test]
fn warnings_name_key_and_mend_and_never_the_value() {
    let house = House::new();
    let path = house.write("w.env", &format!("A={}\nHOST=localhost\nBAR=------------\nIP=127.0.0.1:8080\n", secret(1)));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    profile(&house, "[[exact]]\nfile = \"w.env\"\nignore = [\"TYPO\"]\n");
    let got = filter(&house, &["--profile", "p.toml"], "localhost");
    assert_eq!((got.code, got.text()), (0, "localhost"));
    let lines: Vec<&str> = got.err.lines().collect();
    for (line, parts) in [
        (0, ["w.env: every user of this host can read this file", "chmod o-rw"]),
        (1, ["p.toml:3: ", "has no key `TYPO`; mend the name"]),
        (2, ["w.env:2: the value of HOST is an ordinary word", "put `HOST` into `keep`"]),
        (3, ["w.env:3: the value of BAR ", "`ignore`"]),
        (4, ["w.env:4: the value of IP is made of digits only", "`ignore`"]),
    ] {
        let found =
            lines.get(line).is_some_and(|l| l.starts_with("forebay: warning: ") && parts.iter().all(|p| l.contains(p)));
        assert!(found, "line {line}: {}", got.err);
    }
    assert_eq!(lines.len(), 5, "{}", got.err);
    assert!(!got.err.contains("localhost") && !got.err.contains("127.0"), "{}", got.err);
}

/// Numbers, keys that come twice, empty values and readings of one value: what is taken, and what is told.
#[test]
fn nothing_of_a_json_file_is_dropped_without_a_word() {
    let house = House::new();
    let account = "4096".repeat(3) + "7351";
    let text = format!(
        "{{\"account\": {account},\n\"key\": \"{}\",\n\"key\": \"{}\",\n\"void\": \"\", \"on\": true, \"gone\": null,\n\"pin\": 48201,\n\
         \"twice\": \"short\", \"twice\": \"{}\"}}",
        secret(1),
        secret(2),
        secret(3)
    );
    write(&house, "v.json", &text);
    profile(&house, "[[exact]]\nfile = \"v.json\"\nformat = \"json\"\n");
    let got = filter(&house, &["--profile", "p.toml"], &format!("{account} {} {} {}", secret(1), secret(2), secret(3)));
    let kinds: Vec<&str> = got.text().split(' ').map(|t| t.rsplit_once('_').unwrap().0).collect();
    assert_eq!(kinds, ["FBY_ACCOUNT", "FBY_KEY", "FBY_KEY", "FBY_TWICE"], "{}", got.err);
    for told in [
        "v.json: these keys are empty, nothing is looked for: void; ",
        "v.json:5: the value of pin is shorter than `min_length` and is not looked for; lower `min_length` (8), or put",
        "v.json:6: twice can be read in more than one way (quotes, comments, or it comes twice): one reading is shorter",
    ] {
        assert!(got.err.contains(told), "{told}: {}", got.err);
    }
    assert_eq!(got.err.lines().count(), 3, "{}", got.err);
    assert!(!got.err.contains("48201") && !got.err.contains("short "), "{}", got.err);
}

/// A key with an empty value does not hide another line's value, nor does an empty quote what stands behind it.
#[test]
fn an_empty_reading_hides_no_other() {
    let house = House::new();
    write(&house, "e.env", &format!("A=\nA={}\nB=\"\"{}\nC=\n", secret(1), secret(2)));
    profile(&house, "[[exact]]\nfile = \"e.env\"\n");
    let got = filter(&house, &["--profile", "p.toml"], &format!("{} {}", secret(1), secret(2)));
    assert!(got.text().starts_with("FBY_A_") && got.text().contains(" FBY_B_"), "{}", got.text());
    assert_eq!(got.err.lines().count(), 1, "{}", got.err);
    assert!(got.err.contains("these keys are empty, nothing is looked for: C; "), "{}", got.err);
}

/// Settings with the shape of an address, a region or a word with a number are left out, told, and taken when kept.
#[test]
fn ordinary_settings_pass_unless_they_are_kept() {
    let house = House::new();
    let settings = [
        ("REGION", "eu-west-1"),
        ("URL", "http://localhost:8080"),
        ("PASS", "changeme123"),
        ("ENV", "production"),
        ("DB", "db.internal.example:5432"),
        ("DIR", "/var/lib/app/data"),
        ("MAIL_FROM", "robot@mail.example"),
    ];
    let file: String = settings.iter().map(|(k, v)| format!("{k}={v}\n")).collect();
    let text: String = settings.iter().map(|(_, v)| format!("{v} ")).collect();
    write(&house, "s.env", &format!("{file}KEY={}\n", secret(4)));
    profile(&house, "[[exact]]\nfile = \"s.env\"\n");
    let got = filter(&house, &["--profile", "p.toml"], &text);
    assert_eq!(got.text(), text);
    for (i, (key, value)) in settings.iter().enumerate() {
        let told = format!("s.env:{}: the value of {key} is ", i + 1);
        let mend = format!("put `{key}` into `keep` to look for it all the same");
        let told = got.err.lines().any(|l| l.contains(&told) && l.contains(&mend));
        assert!(told && !got.err.contains(value), "{key}: {}", got.err);
    }
    let keys: Vec<&str> = settings.iter().map(|(k, _)| *k).collect();
    profile(&house, &format!("[[exact]]\nfile = \"s.env\"\nkeep = {keys:?}\n"));
    let got = filter(&house, &["--profile", "p.toml"], &text);
    assert!(got.text().split_whitespace().all(|t| t.starts_with("FBY_")), "{}", got.text());
    assert_eq!(got.err, "");
}

#[test]
fn spellings_too_long_to_be_looked_for_are_told() {
    let house = House::new();
    write(&house, "l.env", &format!("LONG='{}{}'\n", secret(5), "=".repeat(3000)));
    profile(&house, "[[exact]]\nfile = \"l.env\"\n");
    let got = filter(&house, &["--profile", "p.toml"], "x");
    assert_eq!(got.code, 0, "{}", got.err);
    assert!(got.err.contains("l.env:1: the value of LONG is so long that it is not looked for "), "{}", got.err);
    assert!(got.err.contains("in URLs") && !got.err.contains("===") && !got.err.contains(&secret(5)), "{}", got.err);
}

#[test]
fn rules_list_and_scan_show_names_only() {
    let house = House::new();
    write(&house, "s.env", &format!("TOKEN_A={}\n", secret(9)));
    house.write("none.toml", "name = \"none\"\npacks = []\n");
    let mut c = house.forebay();
    c.args(["rules", "list", "--format", "json", "--profile", "none.toml", "--secrets-file", "s.env"]);
    let listed = output(c, b"");
    assert!(
        listed.text().contains("secret.exact.s-env.TOKEN_A") && !listed.text().contains(&secret(9)),
        "{}",
        listed.text()
    );
    house.write("src/a.txt", &format!("let a = \"{}\";\n", secret(9)));
    let mut c = house.forebay();
    c.args(["scan", "--profile", "none.toml", "--secrets-file", "s.env", "src"]);
    let scanned = output(c, b"");
    assert_eq!(scanned.code, 1, "{}", scanned.err);
    assert!(
        scanned.text().contains("secret.exact.s-env.TOKEN_A") && !scanned.text().contains(&secret(9)),
        "{}",
        scanned.text()
    );
    let mut c = house.forebay();
    c.args(["filter", "--via", "socket", "--socket", "x.sock", "--secrets-file", "s.env"]);
    let refused = output(c, b"");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("`--secrets-file` would do nothing: the daemon knows the files"), "{}", refused.err);
}
