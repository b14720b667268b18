//! The daemon's sandbox, seen from outside: it says what is in force, it still does all of its work, and what its config
//! did not name is closed to it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use forebay_client::ConnectOptions;
use forebay_client::blocking::{Connection, FilterWriter};
use forebay_tests::bin_path::bin_path;
use forebay_tests::daemon::PATIENCE;
use forebay_wire::Status;

struct Daemon {
    child: Child,
    folder: tempfile::TempDir,
}

const PACK: &str = "[pack]\nname = \"own\"\n[[rule]]\nid = \"mark\"\nfamily = \"pii\"\ntitle = \"Mark\"\n\
     pattern = '(?P<span>alpha-[0-9]{4})'\nseverity = \"low\"\nmatch = [\"alpha-1234\"]\nno_match = [\"alpha\"]\n";

impl Daemon {
    /// A daemon with rule cache, audit log and metrics, in a folder of its own; `more` is the end of its config.
    fn start(more: &str) -> Daemon {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("own.toml", "name = \"own\"\npacks = []\npack_files = [\"pack.toml\"]\n");
        write("pack.toml", PACK);
        let metrics = folder.path().join("m.sock");
        let config = format!(
            "profiles = [\"own.toml\"]\ncache_dir = \"cache\"\n[audit]\ndir = \"audit\"\nmax_file_bytes = 4096\n\
             keep_files = 2\n[metrics]\nsocket = {metrics:?}\n{more}"
        );
        write("forebayd.toml", &config);
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let child = Command::new(bin_path("forebayd"))
            .arg("--config")
            .arg(folder.path().join("forebayd.toml"))
            .arg("--socket")
            .arg(folder.path().join("s.sock"))
            .stderr(Stdio::from(log))
            .spawn()
            .unwrap();
        let daemon = Daemon { child, folder };
        daemon.wait("the daemon answers", || {
            Connection::connect(daemon.path("s.sock"), ConnectOptions::default()).is_ok()
        });
        daemon
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn wait(&self, what: &str, mut done: impl FnMut() -> bool) {
        let start = Instant::now();
        while !done() {
            let log = std::fs::read_to_string(self.path("log")).unwrap_or_default();
            assert!(start.elapsed() < 2 * PATIENCE, "{what} did not happen\n{log}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    fn status(&self) -> Status {
        Connection::connect(self.path("s.sock"), ConnectOptions::default()).unwrap().status().unwrap()
    }

    fn fact(&self, name: &str) -> String {
        let facts = self.status().facts;
        facts.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone()).unwrap_or_default()
    }

    /// Sends SIGHUP and waits until it is done, one way or the other.
    fn reload(&self) -> String {
        let n = |s: &Status| s.counter("reloads_total") + s.counter("reloads_failed_total");
        let before = n(&self.status());
        self.signal("-HUP");
        self.wait("the reload", || n(&self.status()) > before);
        self.status().reload_error
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
    }

    fn filtered(&self, text: &[u8]) -> String {
        let stream = Connection::connect(self.path("s.sock"), ConnectOptions::default()).unwrap().into_stream("own");
        let mut out = Vec::new();
        let mut writer = FilterWriter::new(stream.unwrap(), &mut out);
        writer.write_all(text).unwrap();
        writer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line of `/proc/PID/status`.
fn kernel_says(pid: u32, field: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|l| l.strip_prefix(field)).map(|v| v.trim().to_owned())
}

/// Whether this kernel has Landlock: the sandbox must then be in force, and not only say that it is not.
fn landlock() -> bool {
    std::fs::read_to_string("/proc/kallsyms").is_ok_and(|s| s.contains("__do_sys_landlock_create_ruleset"))
        || std::fs::read_to_string("/sys/kernel/security/lsm").is_ok_and(|s| s.contains("landlock"))
}

#[test]
fn what_is_in_force_is_told_and_the_daemon_does_all_of_its_work() {
    let mut daemon = Daemon::start("");
    let told = daemon.fact("sandbox");
    assert!(told.contains("seccomp (") && told.contains("calls)"), "{told}");
    assert!(!landlock() || told.contains("landlock whole"), "{told}");
    assert_eq!(kernel_says(daemon.child.id(), "Seccomp:").as_deref(), Some("2"));
    assert_eq!(kernel_says(daemon.child.id(), "NoNewPrivs:").as_deref(), Some("1"));
    // Every thread, not only the first.
    for thread in std::fs::read_dir(format!("/proc/{}/task", daemon.child.id())).unwrap() {
        let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        assert!(status.lines().any(|l| l == "Seccomp:\t2"), "a thread is not confined:\n{status}");
    }

    // Serves.
    assert!(daemon.filtered(b"an alpha-1234 here").starts_with("an FBY_MARK_"));
    // Reloads, also what was replaced by rename, as editors do; and keeps what it compiled.
    std::fs::write(daemon.path("pack.new"), PACK.replace("alpha", "beta")).unwrap();
    std::fs::rename(daemon.path("pack.new"), daemon.path("pack.toml")).unwrap();
    assert_eq!(daemon.reload(), "");
    assert!(daemon.filtered(b"alpha-1234 and beta-1234").starts_with("alpha-1234 and FBY_MARK_"));
    assert_eq!(std::fs::read_dir(daemon.path("cache")).unwrap().count(), 1, "the rule cache");
    // Puts audit files aside and removes old ones.
    for _ in 0..30 {
        daemon.filtered(&b"beta-1234 and ".repeat(30));
    }
    daemon
        .wait("audit files are put aside", || forebayd::audit::read::files(&daemon.path("audit")).unwrap().len() == 3);
    // Tells its metrics, those of the process too.
    let top = Command::new(bin_path("forebay"))
        .args(["top", "--format", "json", "--metrics-socket"])
        .arg(daemon.path("m.sock"))
        .output()
        .unwrap();
    let top: serde_json::Value = serde_json::from_slice(&top.stdout).unwrap();
    assert!(top["resident_bytes"].as_f64().unwrap() > 1e6 && top["rules_generation"] == 2.0, "{top}");
    assert!(top["findings"].as_array().unwrap().iter().any(|f| f["total"].as_f64() > Some(900.0)), "{top}");
    // Ends, and takes its sockets along.
    daemon.signal("-TERM");
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
    assert!(!daemon.path("s.sock").exists() && !daemon.path("m.sock").exists());
    forebayd::audit::read::check(&daemon.path("audit"), None).unwrap();
}

#[test]
fn a_folder_that_the_config_did_not_name_is_closed_and_the_mend_works() {
    if !landlock() {
        // Said aloud: on such a kernel nothing of this is promised.
        eprintln!("this kernel has no Landlock: not tested");
        return;
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let pack = elsewhere.path().join("pack.toml");
    std::fs::write(&pack, PACK).unwrap();
    let profile = format!("name = \"own\"\npacks = []\npack_files = [{pack:?}]\n");

    let daemon = Daemon::start("");
    std::fs::write(daemon.path("own.toml"), &profile).unwrap();
    let told = daemon.reload();
    assert!(told.contains("own.toml:3") && told.contains("[sandbox] read"), "{told}");
    assert!(daemon.filtered(b"an alpha-1234 here").starts_with("an FBY_MARK_"), "the old rules stay");
    drop(daemon);

    let daemon = Daemon::start(&format!("[sandbox]\nread = [{:?}]\n", elsewhere.path()));
    std::fs::write(daemon.path("own.toml"), &profile).unwrap();
    assert_eq!(daemon.reload(), "");
    drop(daemon);

    let daemon = Daemon::start("[sandbox]\nmode = \"off\"\n");
    assert_eq!(daemon.fact("sandbox"), "off, by the config");
    std::fs::write(daemon.path("own.toml"), &profile).unwrap();
    assert_eq!(daemon.reload(), "");
    assert_eq!(kernel_says(daemon.child.id(), "Seccomp:").as_deref(), Some("0"));
}

#[test]
fn top_without_a_terminal_prints_one_look_or_the_mend() {
    let daemon = Daemon::start("");
    daemon.filtered(b"an alpha-1234 here");
    let top = |socket: &Path| {
        let out = Command::new(bin_path("forebay")).args(["top", "--metrics-socket"]).arg(socket).output().unwrap();
        let text = String::from_utf8_lossy(&[&out.stdout[..], &out.stderr[..]].concat()).into_owned();
        (out.status.code(), text)
    };
    let (code, text) = top(&daemon.path("m.sock"));
    assert!(code == Some(0) && text.contains("forebayd 0.") && text.contains("finding  pii"), "{text}");
    assert!(text.contains("audit    ") && text.contains("rules generation 1"), "{text}");
    let (code, text) = top(&daemon.path("none.sock"));
    assert!(code == Some(4) && text.contains("--metrics-socket") && text.contains("forebay status"), "{text}");
    let (code, text) = top(&daemon.path("s.sock"));
    assert!(code == Some(4), "{text}");
}
