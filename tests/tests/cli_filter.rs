//! `forebay filter` as a shell sees it: streams, exit codes, what goes where.

mod cli_house;

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cli_house::{House, json_lines, output};

#[test]
fn values_are_replaced_and_everything_else_passes() {
    let house = House::new();
    let text = format!("before {} after\n\u{0}\u{7f} 多\n", house.value(1));
    let out = output(house.filter(&["--findings", "json"]), text.as_bytes());
    assert_eq!(out.code, 0, "{}", out.err);
    let seen = String::from_utf8(out.out).expect("UTF-8 in, UTF-8 out");
    assert!(seen.starts_with("before ") && seen.ends_with(" after\n\u{0}\u{7f} 多\n"), "{seen}");
    assert!(!seen.contains(&house.value(1)));
    let found = json_lines(&out.err);
    assert_eq!(found.len(), 1, "{}", out.err);
    let keys: Vec<&String> = found[0].as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["action", "end", "family", "rule", "severity", "start"]);
    assert_eq!(found[0]["rule"], "secret.test-key");
    assert_eq!(found[0]["start"], 7);
    assert_eq!(found[0]["end"], 7 + house.value(1).len());
    assert!(!out.err.contains(&house.value(1)), "findings never carry the text");
}

#[test]
fn invalid_utf8_passes_unchanged() {
    let house = House::new();
    let bytes: Vec<u8> = (0..=255).rev().cycle().take(10_000).collect();
    let out = output(house.filter(&[]), &bytes);
    assert_eq!((out.code, out.out), (0, bytes));
}

#[test]
fn the_answer_does_not_depend_on_the_cut() {
    let house = House::new();
    let mut text = String::new();
    for i in 0..40 {
        text.push_str(&format!("line {i} {} and fkey_not{{}}\n", house.value(i)));
    }
    let whole = output(house.filter(&["--findings", "json", "--report"]), text.as_bytes());
    assert_eq!(json_lines(&whole.err).len(), 40 + 40 + 1);
    for cut in ["1", "2", "3", "7", "random:1", "random:2", "random:99"] {
        let other = output(house.filter(&["--findings", "json", "--report", "--chunk", cut]), text.as_bytes());
        assert_eq!((&whole.out, &whole.err, whole.code), (&other.out, &other.err, other.code), "--chunk {cut}");
    }
}

#[test]
fn stats_are_the_last_line_and_add_up() {
    let house = House::new();
    let text = format!("a {} b", house.value(3));
    let out = output(house.filter(&["--findings", "json", "--stats", "--chunk", "4"]), text.as_bytes());
    let lines = json_lines(&out.err);
    let stats = lines.last().expect("a line");
    assert_eq!(stats["bytes_in"], text.len());
    assert_eq!(stats["bytes_out"], out.out.len());
    assert_eq!(stats["pushes"], text.len().div_ceil(4));
    assert_eq!(stats["findings"], 1);
    assert!(stats["held_max"].as_u64() > Some(4), "the value was held while it could still become one: {stats}");
    for key in ["held_mean", "held_p99", "push_ns_p50", "push_ns_p99", "mb_per_s"] {
        assert!(stats[key].is_number(), "{key}: {stats}");
    }
}

#[test]
fn a_blocked_stream_has_its_own_code_and_passes_nothing_more() {
    let house = House::new();
    let text = format!("safe {} unsafe", house.value(4));
    let out = output(house.filter_with("block", &[]), text.as_bytes());
    assert_eq!(out.code, 3);
    assert_eq!(out.out, b"safe ");
    assert!(out.err.contains("blocked") && out.err.contains("byte 5"), "{}", out.err);
    assert!(!out.err.contains(&house.value(4)));
}

#[test]
fn what_is_released_is_flushed_before_more_input_comes() {
    let house = House::new();
    let mut child = house.filter(&[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let mut input = child.stdin.take().expect("piped");
    let mut output = child.stdout.take().expect("piped");
    input.write_all(b"prompt> ").expect("written");
    let mut seen = [0; 8];
    output.read_exact(&mut seen).expect("comes although no line end and no end of input came");
    assert_eq!(&seen, b"prompt> ");
    drop(input);
    assert!(child.wait().expect("ends").success());
}

#[test]
fn a_reader_that_leaves_ends_the_filter() {
    let house = House::new();
    let mut child =
        house.filter(&[]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    drop(child.stdout.take());
    let mut input = child.stdin.take().expect("piped");
    let began = Instant::now();
    while input.write_all(&[b'x'; 4096]).is_ok() {
        assert!(began.elapsed() < Duration::from_secs(60), "it goes on reading for nobody");
    }
    drop(input);
    let done = child.wait_with_output().expect("ends");
    assert_eq!(done.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
}

#[test]
fn the_same_value_gives_the_same_token_under_one_key() {
    let house = House::new();
    let text = format!("{} {}\n", house.value(5), house.value(5));
    let first = output(house.filter(&[]), text.as_bytes());
    let again = output(house.filter(&[]), text.as_bytes());
    assert_eq!(first.out, again.out, "the key file is kept");
    let seen = String::from_utf8(first.out).expect("UTF-8");
    let (a, b) = seen.trim_end().split_once(' ').expect("two tokens");
    assert_eq!(a, b);
    let mut other = house.filter(&["--key-file"]);
    other.arg(house.path("other.key"));
    assert_ne!(output(other, text.as_bytes()).out, again.out);
}

#[test]
fn mistakes_say_what_to_do() {
    let house = House::new();
    let cases: [(&[&str], &str); 5] = [
        (&["--profile", "no-such"], "use one of tool-output, model-output, tool-input, prompt"),
        (&["--profile", "/no/such.toml"], "/no/such.toml: cannot be read"),
        (&["--chunk", "0"], "random:SEED"),
        (&["--chunk", "random:x"], "random:7"),
        (&["--via", "pigeon"], "possible values"),
    ];
    for (args, want) in cases {
        let mut command = Command::new(forebay_tests::bin_path::bin_path("forebay"));
        command.arg("filter").args(args).env("XDG_STATE_HOME", house.path("state"));
        let out = output(command, b"");
        assert_eq!(out.code, 2, "{args:?}");
        assert!(out.err.contains(want), "{args:?}: {}", out.err);
    }
}

#[test]
fn mistakes_in_a_pack_name_its_line() {
    let house = House::new();
    house.write("bad.toml", "[pack]\nname = \"bad\"\n\n[[rule]]\nid = \"x\"\nfamily = \"secret\"\nbogus = 1\n");
    house.write("bad-profile.toml", "name = \"bad\"\npacks = []\npack_files = [\"bad.toml\"]\n");
    let mut command = Command::new(forebay_tests::bin_path::bin_path("forebay"));
    command.args(["filter", "--profile"]).arg(house.path("bad-profile.toml"));
    let out = output(command, b"");
    assert_eq!(out.code, 2);
    assert!(out.err.contains("bad.toml:7") && out.err.contains("bogus"), "{}", out.err);
}

#[test]
fn an_option_that_would_do_nothing_is_refused() {
    let house = House::new();
    for (args, option, other) in [
        (&["--session", "s"][..], "--session", "--via auto"),
        (&["--socket", "f.sock"], "--socket", "--via auto"),
        (&["--via", "socket", "--key-file", "k"], "--key-file", "--via local"),
    ] {
        let out = output(house.filter(args), b"");
        assert_eq!(out.code, 2, "{args:?}");
        assert!(out.err.contains(&format!("`{option}` would do nothing")) && out.err.contains(other), "{}", out.err);
    }
    // Set for other runs, not asked for in this one.
    let mut c = house.filter(&[]);
    c.env("FOREBAY_SOCKET", "f.sock");
    assert_eq!(output(c, b"").code, 0);
}
