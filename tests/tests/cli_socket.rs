//! `forebay filter --via socket|ring|auto`, `status` and the `forebayd` binary together, as a host runs them.

mod cli_house;

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cli_house::{House, Output, json_lines, output};
use forebay_tests::bin_path::bin_path;

/// `forebayd` with the house's profiles; killed when dropped.
struct Daemon {
    child: Child,
    socket: PathBuf,
}

impl Daemon {
    fn start(house: &House) -> Daemon {
        Daemon::start_with(house, "")
    }

    fn start_with(house: &House, more: &str) -> Daemon {
        let socket = house.path("f.sock");
        let config = house.write(
            "forebayd.toml",
            &format!(
                "socket = {socket:?}\nprofiles = [\"replace.toml\", \"block.toml\"]\n[timeouts]\ngrace = \"2s\"\n{more}"
            ),
        );
        let child = Command::new(bin_path("forebayd"))
            .arg("--config")
            .arg(config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("forebayd starts");
        let began = Instant::now();
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(began.elapsed() < Duration::from_secs(30), "forebayd does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Daemon { child, socket }
    }

    fn forebay(&self, house: &House, args: &[&str], input: &[u8]) -> Output {
        let mut c = house.forebay();
        c.args(args).env("FOREBAY_SOCKET", &self.socket);
        output(c, input)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill(); // It may have ended by itself.
        let _ = self.child.wait();
    }
}

const SOCKET: [&str; 5] = ["filter", "--via", "socket", "--profile", "test-replace"];

#[test]
fn the_daemon_finds_what_the_command_line_finds() {
    let house = House::new();
    let daemon = Daemon::start(&house);
    let mut text = String::new();
    for i in 0..300 {
        text.push_str(&format!("{i} 多 {} fkey_not{{}} {}\n", house.value(i), "x".repeat(i * 7 % 400)));
    }
    let local = output(house.filter(&["--findings", "json", "--report"]), text.as_bytes());
    for (via, cut) in [
        ("socket", "70000"),
        ("socket", "1000"),
        ("socket", "random:5"),
        ("ring", "70000"),
        ("ring", "random:6"),
        ("auto", "random:7"),
    ] {
        let args = [
            &["filter", "--via", via, "--profile", "test-replace"],
            &["--findings", "json", "--report", "--session", "s", "--chunk", cut][..],
        ]
        .concat();
        let remote = daemon.forebay(&house, &args, text.as_bytes());
        assert_eq!(remote.code, 0, "{}", remote.err);
        assert_eq!(json_lines(&remote.err), json_lines(&local.err), "--via {via} --chunk {cut}");
        assert_eq!(remote.out.len(), local.out.len(), "tokens differ by key only");
        assert!(!remote.text().contains(&house.value(7)));
    }
}

#[test]
fn a_daemon_that_grants_no_ring_says_how_to_get_one() {
    let house = House::new();
    let daemon = Daemon::start_with(&house, "[limits]\nrings = 0\n");
    let filter = |via| daemon.forebay(&house, &["filter", "--via", via, "--profile", "test-replace"], b"text");
    let refused = filter("ring");
    assert_eq!(refused.code, 4, "{}", refused.err);
    assert!(refused.err.contains("limits.rings"), "{}", refused.err);
    assert_eq!(filter("auto").text(), "text");
}

#[test]
fn one_session_one_token() {
    let house = House::new();
    let daemon = Daemon::start(&house);
    let run = |session: &str| {
        let args = [&SOCKET[..], &["--session", session]].concat();
        daemon.forebay(&house, &args, house.value(1).as_bytes()).out
    };
    assert_eq!(run("a"), run("a"));
    assert_ne!(run("a"), run("b"));
}

#[test]
fn blocked_through_the_socket() {
    let house = House::new();
    let daemon = Daemon::start(&house);
    let text = format!("safe {} unsafe", house.value(4));
    let args = ["filter", "--via", "socket", "--profile", "test-block", "--findings", "json"];
    let out = daemon.forebay(&house, &args, text.as_bytes());
    assert_eq!((out.code, out.text()), (3, "safe "), "{}", out.err);
    assert!(out.err.contains("blocked") && out.err.contains("byte 5"), "{}", out.err);
}

#[test]
fn stats_through_the_socket_tell_the_hold() {
    let house = House::new();
    let daemon = Daemon::start(&house);
    let text = format!("a {} b", house.value(3));
    let args = [&SOCKET[..], &["--stats", "--chunk", "4"]].concat();
    let remote = json_lines(&daemon.forebay(&house, &args, text.as_bytes()).err);
    let local = json_lines(&output(house.filter(&["--stats", "--chunk", "4"]), text.as_bytes()).err);
    for key in ["bytes_in", "bytes_out", "pushes", "held_mean", "held_max", "held_p99", "findings"] {
        assert_eq!(remote[0][key], local[0][key], "{key}");
    }
}

#[test]
fn status_shows_profiles_and_counts() {
    let house = House::new();
    let daemon = Daemon::start(&house);
    daemon.forebay(&house, &SOCKET, b"something");
    let out = daemon.forebay(&house, &["status", "--format", "json"], b"");
    let status = &json_lines(out.text())[0];
    assert_eq!(status["profiles"][0]["name"], "test-replace");
    assert_eq!(status["profiles"][0]["rules"], 2);
    assert!(status["counters"].as_object().is_some_and(|c| c.values().any(|v| v.as_u64() > Some(0))), "{status}");
    let out = daemon.forebay(&house, &["status"], b"");
    assert!(out.text().contains("test-replace") && out.text().contains("up 0h"), "{}", out.text());
}

#[test]
fn mistakes_name_the_mend() {
    let house = House::new();
    let nobody = output(
        {
            let mut c = house.forebay();
            c.args(["status", "--socket"]).arg(house.path("nobody.sock"));
            c
        },
        b"",
    );
    assert_eq!(nobody.code, 4);
    assert!(nobody.err.contains("nobody.sock") && nobody.err.contains("start forebayd"), "{}", nobody.err);

    let daemon = Daemon::start(&house);
    let out = daemon.forebay(&house, &["filter", "--via", "socket", "--profile", "replace.toml"], b"");
    assert_eq!(out.code, 2);
    assert!(out.err.contains("the daemon serves"), "{}", out.err);
    let out = daemon.forebay(&house, &["filter", "--via", "socket", "--profile", "no-such"], b"x");
    assert_eq!(out.code, 2, "{}", out.err);
    assert!(out.err.contains("no profile `no-such`") && out.err.contains("test-replace"), "{}", out.err);
}

#[test]
fn a_daemon_that_dies_passes_nothing_unscanned() {
    use std::io::{Read, Write};
    let house = House::new();
    let mut daemon = Daemon::start(&house);
    let mut c = house.forebay();
    c.args(SOCKET).env("FOREBAY_SOCKET", &daemon.socket);
    let mut child = c.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut input = child.stdin.take().expect("piped");
    let mut passed = child.stdout.take().expect("piped");
    input.write_all(b"first ").expect("written");
    let mut first = [0; 6];
    passed.read_exact(&mut first).expect("passes");
    daemon.child.kill().expect("killed");
    daemon.child.wait().expect("gone");
    let _ = input.write_all(house.value(1).as_bytes()); // The filter may have ended already.
    drop(input);
    let mut rest = Vec::new();
    passed.read_to_end(&mut rest).expect("read");
    let done = child.wait_with_output().expect("ends");
    assert_eq!(String::from_utf8_lossy(&rest), "");
    assert_eq!(done.status.code(), Some(4), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn sigterm_ends_the_daemon_cleanly() {
    let house = House::new();
    let mut daemon = Daemon::start(&house);
    let killed = Command::new("kill").arg("-TERM").arg(daemon.child.id().to_string()).status().expect("kill runs");
    assert!(killed.success());
    let status = daemon.child.wait().expect("ends");
    assert_eq!((status.code(), status.signal()), (Some(0), None));
    assert!(!daemon.socket.exists(), "the socket file is gone");
}

#[test]
fn the_demo_ends_by_itself_and_shows_no_planted_value() {
    let house = House::new();
    let mut c = house.forebay();
    c.arg("demo");
    let began = Instant::now();
    let out = output(c, b"");
    assert_eq!(out.code, 0, "{}\n{}", out.text(), out.err);
    assert!(began.elapsed() < Duration::from_secs(120), "it pauses although nobody watches, or hangs");
    assert!(out.text().contains("10 planted values, none of them passed."), "{}", out.text());
    assert!(!out.text().contains('\u{1b}'), "no colour in a pipe");
    // What the demo printed, tokens included, must look clean to the rules themselves: secrets and personal data.
    let mut c = house.forebay();
    c.args(["scan", "--format", "json", "-"]);
    for file in json_lines(output(c, &out.out).text()) {
        for f in file["findings"].as_array().expect("a list") {
            assert!(f["family"] != "secret" && f["family"] != "pii", "{f}");
        }
    }
}
