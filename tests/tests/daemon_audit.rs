//! The audit log: what is in it and what never is, that a change is told, and what happens when it cannot be written.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use forebay_client::ConnectOptions;
use forebay_client::blocking::{Connection, FilterWriter};
use forebay_tests::bin_path::bin_path;
use forebay_tests::daemon::{HOUSE, PATIENCE, TestDaemon};
use forebayd::audit::{AuditConfig, OnFailure, read};
use serde_json::Value;

fn daemon(dir: &Path, change: impl FnOnce(&mut AuditConfig)) -> TestDaemon {
    let started = TestDaemon::with(|c| {
        c.audit.dir = Some(dir.to_owned());
        change(&mut c.audit);
    });
    started.unwrap()
}

fn filter(path: &Path, profile: &str, text: &[u8]) -> Result<Vec<u8>, String> {
    let connection = Connection::connect(path, ConnectOptions::default()).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    let mut writer = FilterWriter::new(connection.into_stream(profile).map_err(|e| e.to_string())?, &mut out);
    for piece in text.chunks(1000) {
        writer.write_all(piece).map_err(|e| e.to_string())?;
    }
    let (summary, _) = writer.finish().map_err(|e| e.to_string())?;
    match summary.report.and_then(|r| r.blocked_at) {
        Some(at) => Err(format!("blocked at {at}")),
        None => Ok(out),
    }
}

/// The lines of a log, checked by this test's own reading of what the README says of the chain.
fn lines(dir: &Path) -> Vec<Value> {
    let mut all = Vec::new();
    let mut before = "0".repeat(64);
    for file in read::files(dir).unwrap() {
        let text = std::fs::read_to_string(file).unwrap();
        for line in text.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            if !all.is_empty() || value["seq"] == 1 {
                assert_eq!(value["prev"], before.as_str(), "{line}");
            }
            before = blake3::hash(line.as_bytes()).to_hex().to_string();
            all.push(value);
        }
    }
    all
}

fn of(lines: &[Value], event: &str) -> Vec<Value> {
    lines.iter().filter(|l| l["event"] == event).cloned().collect()
}

fn forebay(args: &[&str], dir: &Path) -> (Option<i32>, String) {
    let out = Command::new(bin_path("forebay")).arg("audit").args(args).arg("--dir").arg(dir).output().unwrap();
    (out.status.code(), both(&out))
}

fn both(out: &Output) -> String {
    String::from_utf8_lossy(&[&out.stdout[..], &out.stderr[..]].concat()).into_owned()
}

#[test]
fn a_finding_is_on_record_and_its_value_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("audit");
    let mut running = daemon(&dir, |_| {});
    let text = b"one TICKET-12345 two TICKET-12345 three TICKET-99999 latch_abcdefgh1 <cut here>\n";
    filter(running.path(), "house", text).unwrap();
    assert!(filter(running.path(), "house-strict", b"and latch_abcdefgh1 again").is_err());
    running.join().unwrap();

    let all = lines(&dir);
    assert_eq!(all[0]["event"], "start");
    assert_eq!(all[0]["found"], "nothing");
    assert_eq!(all.last().unwrap()["event"], "stop");
    let findings = of(&all, "finding");
    let seen: Vec<(&str, u64, u64, &str)> = findings
        .iter()
        .map(|f| {
            let number = |k: &str| f[k].as_u64().unwrap();
            (f["action"].as_str().unwrap(), number("start"), number("end"), f["family"].as_str().unwrap())
        })
        .collect();
    let expected = [
        ("replace", 4, 16, "pii"),
        ("replace", 21, 33, "pii"),
        ("replace", 40, 52, "pii"),
        ("replace", 53, 68, "secret"),
        ("flag", 69, 79, "truncation"),
        ("block", 4, 19, "secret"),
    ];
    assert_eq!(seen, expected);
    let value = |i: usize| findings[i]["value"].as_str().map(str::to_owned);
    assert!(value(0).is_some_and(|v| v.len() == 16) && value(0) == value(1));
    assert_ne!(value(0), value(2));
    // Another profile and stream, the same value.
    assert!(value(3).is_some() && value(3) == value(5));
    assert_eq!(findings[0]["uid"].as_u64(), Some(u64::from(own_uid())));
    assert_eq!(findings[0]["pid"].as_u64(), Some(u64::from(std::process::id())));
    assert_eq!(findings[0]["profile"], "house");
    let streams = of(&all, "stream");
    assert_eq!((streams[0]["result"].as_str(), streams[0]["findings"].as_u64()), (Some("not-whole"), Some(5)));
    assert_eq!((streams[1]["result"].as_str(), streams[1]["at"].as_u64()), (Some("blocked"), Some(4)));

    for file in std::fs::read_dir(&dir).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("TICKET") && !text.contains("latch_"), "a value is on record");
    }
    let (code, said) = forebay(&["verify"], &dir);
    assert!(code == Some(0) && said.contains("the chain holds"), "{said}");
    let (code, said) = forebay(&["show", "--event", "finding", "--value", &value(0).unwrap()], &dir);
    assert!(code == Some(0) && said.lines().count() == 2 && said.contains("replace"), "{said}");
    let (code, said) = forebay(&["tail", "-n", "1", "--format", "json"], &dir);
    assert!(code == Some(0) && said.contains("\"event\":\"stop\"") && said.lines().count() == 1, "{said}");

    // Another process, the same key: the same value still looks the same, and the chain goes on.
    let mut again = daemon(&dir, |_| {});
    filter(again.path(), "house", b"x TICKET-12345 y").unwrap();
    again.join().unwrap();
    let all = lines(&dir);
    assert_eq!(of(&all, "start")[1]["found"], "stopped");
    assert_eq!(of(&all, "finding")[6]["value"].as_str().map(str::to_owned), value(0));
}

fn own_uid() -> u32 {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap())
}

#[test]
fn a_change_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("audit");
    let mut running = daemon(&dir, |_| {});
    filter(running.path(), "house", &b"TICKET-12345 and ".repeat(9)).unwrap();
    running.join().unwrap();
    let file = dir.join("audit.jsonl");
    let whole = std::fs::read_to_string(&file).unwrap();
    let hash = read::check(&dir, None).unwrap().hash;
    let list: Vec<&str> = whole.lines().collect();
    let put = |lines: &[&str]| std::fs::write(&file, lines.join("\n") + "\n").unwrap();

    let changed = list[3].replace("\"replace\"", "\"flag\"");
    put(&[&list[..3], &[changed.as_str()], &list[4..]].concat());
    let (code, said) = forebay(&["verify"], &dir);
    assert!(code == Some(1) && said.contains("audit.jsonl:5: its `prev` is not the hash"), "{said}");

    put(&[&list[..3], &list[4..]].concat());
    let (code, said) = forebay(&["verify", "--format", "json"], &dir);
    assert!(code == Some(1) && said.contains("\"line\":4") && said.contains("lines are missing"), "{said}");

    put(&[&list[..4], &list[3..]].concat());
    let (code, said) = forebay(&["verify"], &dir);
    assert!(code == Some(1) && said.contains("audit.jsonl:5: line number 4 follows 4"), "{said}");

    // The end cut off whole: only who kept the hash can tell.
    put(&list[..5]);
    assert_eq!(forebay(&["verify"], &dir).0, Some(0));
    let (code, said) = forebay(&["verify", "--expect", &hash], &dir);
    assert!(code == Some(1) && said.contains("NOT FOUND"), "{said}");
    std::fs::write(&file, &whole).unwrap();
    assert_eq!(forebay(&["verify", "--expect", &hash], &dir).0, Some(0));

    // A daemon does not go on from a chain that is broken in the middle, and what it found is kept.
    put(&[&list[..3], &[changed.as_str()], &list[4..]].concat());
    daemon(&dir, |_| {}).join().unwrap();
    assert_eq!(lines(&dir)[0]["found"], "broken");
    let aside = std::fs::read_dir(&dir)
        .unwrap()
        .filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().starts_with("audit-broken-"));
    assert_eq!(aside.count(), 1);
    // It is told until somebody looked at it.
    let (code, said) = forebay(&["verify"], &dir);
    assert!(code == Some(1) && said.contains("audit-broken-") && said.contains("move it away"), "{said}");

    // Nor does it take the last line, which shows that the one before it was changed, for one that was cut off.
    let second = folder.path().join("second");
    std::fs::create_dir(&second).unwrap();
    let last = list.len() - 2;
    let changed = list[last].replacen("\"seq\"", "\"seq\" ", 1);
    std::fs::write(
        second.join("audit.jsonl"),
        [&list[..last], &[changed.as_str(), list[last + 1]]].concat().join("\n") + "\n",
    )
    .unwrap();
    daemon(&second, |_| {}).join().unwrap();
    assert_eq!(lines(&second)[0]["found"], "broken");
    assert_eq!(forebay(&["verify"], &second).0, Some(1));

    let (code, said) = forebay(&["verify"], &folder.path().join("nowhere"));
    assert!(code == Some(2) && said.contains("give --dir"), "{said}");
}

#[test]
fn files_are_put_aside_and_the_chain_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("audit");
    let mut running = daemon(&dir, |c| (c.max_file_bytes, c.keep_files, c.findings_per_stream) = (8192, 3, 30));
    for _ in 0..20 {
        filter(running.path(), "house", &b"TICKET-12345 and ".repeat(40)).unwrap();
        // What is in one batch stays in one file: give the writer time.
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    running.join().unwrap();
    let files = read::files(&dir).unwrap();
    assert_eq!(files.len(), 4, "three put aside and one that is written: {files:?}");
    let summary = read::check(&dir, None).unwrap();
    assert!(summary.first > 1 && summary.lines > 30, "{summary:?}");
    let all = lines(&dir);
    assert!(!of(&all, "rotate").is_empty());
    for stream in of(&all, "stream") {
        assert_eq!((stream["findings"].as_u64(), stream["unlisted"].as_u64()), (Some(40), Some(10)));
    }
    let (code, said) = forebay(&["verify"], &dir);
    assert!(code == Some(0) && said.contains("are gone: older files were removed"), "{said}");
    // Goes on in the file that is there.
    daemon(&dir, |_| {}).join().unwrap();
    assert_eq!(read::check(&dir, None).unwrap().last, summary.last + 2);
}

/// The program, so that it can be killed.
struct Program {
    child: Child,
    folder: PathBuf,
    socket: PathBuf,
}

impl Program {
    fn start(folder: &Path, audit: &str, before: &str) -> Program {
        let config = folder.join("forebayd.toml");
        let profiles = HOUSE.map(|p| format!("{p:?}")).join(", ");
        std::fs::write(&config, format!("profiles = [{profiles}]\n[audit]\ndir = \"audit\"\n{audit}")).unwrap();
        let socket = folder.join("s.sock");
        let daemon = bin_path("forebayd");
        let log = std::fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
        let script = format!("{before} exec \"$0\" \"$@\"");
        let child = Command::new("sh")
            .args(["-c", &script])
            .arg(daemon)
            .arg("--config")
            .arg(&config)
            .arg("--socket")
            .arg(&socket)
            .stderr(Stdio::from(log))
            .spawn()
            .unwrap();
        let program = Program { child, folder: folder.to_owned(), socket };
        program.wait("the daemon answers", || Connection::connect(&program.socket, ConnectOptions::default()).is_ok());
        program
    }

    fn wait(&self, what: &str, mut done: impl FnMut() -> bool) {
        let start = Instant::now();
        while !done() {
            let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(start.elapsed() < 3 * PATIENCE, "{what} did not happen\n{log}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    fn counter(&self, name: &str) -> u64 {
        let mut connection = Connection::connect(&self.socket, ConnectOptions::default()).unwrap();
        connection.status().unwrap().counter(name)
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_a_killed_daemon_leaves_is_repaired_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("audit");
    let file = dir.join("audit.jsonl");
    let mut last_before = 0;
    for round in 0..4u64 {
        let program = Program::start(
            folder.path(),
            "max_file_bytes = 300000\nkeep_files = 1000\nfindings_per_stream = 100000\n",
            "",
        );
        let found = |all: &[Value]| of(all, "start").last().unwrap()["found"].as_str().unwrap().to_owned();
        program.wait("the start is on record", || of(&lines(&dir), "start").len() as u64 == round + 1);
        let all = lines(&dir);
        // Rounds before this one left: nothing, a killed daemon, a torn line that this test wrote, zeros of a power cut.
        match round {
            0 => assert_eq!(found(&all), "nothing"),
            1 => assert!(["killed", "torn"].contains(&found(&all).as_str()), "{}", found(&all)),
            _ => {
                assert_eq!(found(&all), "torn");
                let cut = of(&all, "start").last().unwrap()["cut_bytes"].as_u64().unwrap();
                assert!(cut >= 20, "{cut} bytes were cut off");
                let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
                assert!(log.contains("the audit log's last line was not whole, and was cut off"), "{log}");
            }
        }
        assert!(read::check(&dir, None).unwrap().last > last_before);
        let socket = program.socket.clone();
        let load =
            std::thread::spawn(move || while filter(&socket, "house", &b"TICKET-12345 and ".repeat(200)).is_ok() {});
        program.wait("findings are on record", || program.counter("audit_records_total") > 3000);
        program.kill();
        load.join().unwrap();
        let summary = read::check(&dir, None).unwrap();
        last_before = summary.last;
        let mut tail = std::fs::File::options().append(true).open(&file).unwrap();
        match round {
            1 => tail.write_all(b"{\"seq\":12,\"time\":\"20").unwrap(),
            2 => tail.write_all(&[0; 4096]).unwrap(),
            _ => {}
        }
    }
    assert!(read::files(&dir).unwrap().len() > 1, "the log was put aside under load");
}

#[test]
fn two_daemons_do_not_write_one_log() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("audit");
    let _first = daemon(&dir, |_| {});
    let second = TestDaemon::with(|c| c.audit.dir = Some(dir.clone()));
    let told = second.err().map(|e| e.to_string()).unwrap_or_default();
    assert!(told.contains("another daemon writes the audit log") && told.contains("a folder of its own"), "{told}");
}

/// A disk that takes no more than 64 KiB a file, until it is told to.
const FULL: &str = "trap '' XFSZ; prlimit --pid $$ --fsize=65536:unlimited;";

#[test]
fn a_full_disk_loses_records_and_says_how_many() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("audit");
    let program = Program::start(folder.path(), "findings_per_stream = 100000\n", FULL);
    let text = b"TICKET-12345 and ".repeat(60_000);
    let out = filter(&program.socket, "house", &text).unwrap();
    assert!(!String::from_utf8_lossy(&out).contains("TICKET-12345"), "a degraded daemon still filters");
    program.wait("losses are counted", || program.counter("audit_lost_records_total") > 0);
    assert!(std::fs::read_to_string(folder.path().join("log")).unwrap().contains("make room on the disk"));
    read::check(&dir, None).unwrap();

    let pid = program.child.id().to_string();
    assert!(Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status().unwrap().success());
    program.wait("the log goes on", || read::check(&dir, None).is_ok_and(|s| s.lines > 32_000));
    program.stop();
    let all = lines(&dir);
    let lost: u64 = of(&all, "lost").iter().map(|l| l["records"].as_u64().unwrap()).sum();
    let findings = of(&all, "finding").len() as u64;
    let streams = of(&all, "stream").len() as u64;
    // Every record is there or in the number; one of the lost may be the stream's end.
    assert_eq!(findings + streams + lost, 60_000 + 1);
    assert!(lost > 0 && findings > 32_000, "{lost} lost, {findings} kept");
}

#[test]
fn fail_closed_lets_no_stream_pass_unrecorded() {
    let folder = tempfile::tempdir().unwrap();
    let more = "findings_per_stream = 100000\non_failure = \"fail-closed\"\n";
    let program = Program::start(folder.path(), more, FULL);
    let told = filter(&program.socket, "house", &b"TICKET-12345 and ".repeat(60_000)).unwrap_err();
    assert!(told.contains("audit log cannot be written") && told.contains("make room"), "{told}");
    // And no other opens.
    let told = filter(&program.socket, "house", b"plain text").unwrap_err();
    assert!(told.contains("audit log cannot be written"), "{told}");
    let pid = program.child.id().to_string();
    assert!(Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status().unwrap().success());
    program.wait("streams open again", || filter(&program.socket, "house", b"plain text").is_ok());
    program.stop();
    read::check(&folder.path().join("audit"), None).unwrap();
}

/// The policy does not change what is in the log of a daemon that ends as it should.
#[test]
fn every_fsync_policy_keeps_every_line() {
    for fsync in ["always", "interval", "never"] {
        let folder = tempfile::tempdir().unwrap();
        let program = Program::start(folder.path(), &format!("fsync = \"{fsync}\"\n"), "");
        filter(&program.socket, "house", &b"TICKET-12345 and ".repeat(500)).unwrap();
        program.stop();
        let all = lines(&folder.path().join("audit"));
        assert_eq!(of(&all, "finding").len(), 500, "{fsync}");
        assert_eq!(all.last().unwrap()["event"], "stop");
    }
}

#[test]
fn the_end_of_a_stream_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("audit");
    let mut running = daemon(&dir, |c| c.on_failure = OnFailure::FailClosed);
    let connection = Connection::connect(running.path(), ConnectOptions::default()).unwrap();
    let mut stream = FilterWriter::new(connection.into_stream("house").unwrap(), Vec::new());
    stream.write_all(b"half a text").and_then(|()| stream.flush()).unwrap();
    drop(stream);
    running.wait(|s| s.connections == 0).unwrap();
    running.join().unwrap();
    let streams = of(&lines(&dir), "stream");
    assert_eq!(streams[0]["result"], "left");
}
