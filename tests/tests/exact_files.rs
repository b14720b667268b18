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
    let rules: Vec<String> = json_lines(&got.err)
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
    write(&house, "long", &hidden.repeat(400));
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
        ("file = \"word\"\nformat = \"value\"", "word:1: ", "put a longer value there"),
        ("file = \"long\"\nformat = \"value\"", "long:1: ", "longer than 4096 bytes"),
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
