//! Restarts as systemd does them: the socket stays, and with it who is connecting; the key of session tokens stays; a
//! stream that the end cuts short is told so and has lost nothing that was not told.

use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use forebay_client::blocking::{Connection, FilterWriter};
use forebay_client::{ConnectOptions, OpenOptions};
use forebay_tests::bin_path::bin_path;
use forebay_tests::daemon::{HOUSE, PATIENCE};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};

/// What systemd is to a service: it holds the socket and the descriptor store, and hears what it is told.
struct Manager {
    folder: tempfile::TempDir,
    listener: UnixListener,
    told: UnixDatagram,
    kept: Option<OwnedFd>,
}

impl Manager {
    fn new(more: &str) -> Manager {
        let folder = tempfile::tempdir().unwrap();
        let told = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        told.set_read_timeout(Some(3 * PATIENCE)).unwrap();
        let profiles = HOUSE.map(|p| format!("{p:?}")).join(", ");
        std::fs::write(folder.path().join("forebayd.toml"), format!("profiles = [{profiles}]\n{more}")).unwrap();
        let listener = UnixListener::bind(folder.path().join("s.sock")).unwrap();
        Manager { folder, listener, told, kept: None }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s.sock")
    }

    /// Starts the service with the socket and what it stored, and waits until it is ready.
    fn start(&mut self) -> Service {
        let kept = self.kept.as_ref().map(|k| k.try_clone().unwrap());
        let (script, fds, names) = match &kept {
            Some(_) => ("exec 3<&0 4>&1 0</dev/null 1>/dev/null;", 2, "forebayd.socket:session-keys"),
            None => ("exec 3<&0 0</dev/null;", 1, "forebayd.socket"),
        };
        let script =
            format!("{script} LISTEN_PID=$$ LISTEN_FDS={fds} LISTEN_FDNAMES={names} exec \"$0\" --config \"$1\"");
        let mut command = Command::new("bash");
        command
            .args(["-c", &script])
            .arg(bin_path("forebayd"))
            .arg(self.folder.path().join("forebayd.toml"))
            .env("NOTIFY_SOCKET", self.folder.path().join("notify"))
            .env("WATCHDOG_USEC", "900000")
            .stdin(Stdio::from(OwnedFd::from(self.listener.try_clone().unwrap())))
            .stdout(kept.map_or_else(Stdio::null, Stdio::from))
            .stderr(Stdio::null());
        let service = Service(command.spawn().unwrap());
        while self.hear() != "READY=1\n" {}
        service
    }

    /// The next message. A descriptor that comes along is kept.
    fn hear(&mut self) -> String {
        let mut bytes = [0; 4000];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut buffers = [std::io::IoSliceMut::new(&mut bytes)];
        let got = rustix::net::recvmsg(self.told.as_fd(), &mut buffers, &mut control, RecvFlags::empty()).unwrap();
        let mut fds: Vec<OwnedFd> = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                fds.extend(rights);
            }
        }
        let text = String::from_utf8_lossy(&bytes[..got.bytes]).into_owned();
        if text == "FDSTORE=1\nFDNAME=session-keys\n" {
            assert_eq!(fds.len(), 1, "a descriptor comes with {text}");
            self.kept = fds.pop();
        } else {
            assert!(fds.is_empty(), "a descriptor with {text}");
        }
        text
    }
}

struct Service(Child);

impl Service {
    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap().success());
    }

    fn ended(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn connect(socket: &Path) -> Connection {
    Connection::connect(socket, ConnectOptions::default()).unwrap()
}

/// The token that a session has for a value.
fn token(socket: &Path) -> String {
    let stream = connect(socket).into_stream(OpenOptions::new("house").session("run-1")).unwrap();
    let mut out = Vec::new();
    let mut writer = FilterWriter::new(stream, &mut out);
    writer.write_all(b"see TICKET-12345 there").unwrap();
    writer.finish().unwrap();
    let out = String::from_utf8(out).unwrap();
    assert!(out.starts_with("see FBY_") && out.ends_with(" there"), "{out}");
    out
}

#[test]
fn after_kill_9_the_socket_is_there_and_sessions_keep_their_tokens() {
    let mut manager = Manager::new("");
    let mut service = manager.start();
    while manager.kept.is_none() {
        manager.hear();
    }
    let before = token(&manager.socket());

    // A stream in full flow.
    let text = b"one TICKET-12345 two <cut here> and more text that goes on\n".repeat(20_000);
    let socket = manager.socket();
    let stream = connect(&socket).into_stream(OpenOptions::new("house").session("run-1")).unwrap();
    let flow = std::thread::spawn(move || {
        let mut writer = FilterWriter::new(stream, Vec::new());
        let failed = loop {
            if let Err(e) = writer.write_all(&text).and_then(|()| writer.flush()) {
                break e.to_string();
            }
        };
        (std::mem::take(writer.get_mut()), failed)
    });
    std::thread::sleep(Duration::from_millis(300));
    service.signal("-KILL");
    service.ended();
    let (got, failed) = flow.join().unwrap();
    assert!(failed.contains("closed the connection") || failed.contains("broke"), "{failed}");
    // What came is the beginning of what the whole would be, and no byte of a value is in it.
    let whole = String::from_utf8(got).unwrap();
    let piece = before.replace("see ", "one ").replace(" there", " two <cut here> and more text that goes on\n");
    assert!(whole.len() > piece.len(), "only {} bytes came", whole.len());
    let expected = piece.repeat(whole.len() / piece.len() + 1);
    assert!(expected.starts_with(&whole), "the output is not the beginning of the right one");

    // Nobody serves, and connecting is no error: who connects now is served by the next process.
    let socket = manager.socket();
    let waiting = std::thread::spawn(move || token(&socket));
    std::thread::sleep(Duration::from_millis(100));
    let _service = manager.start();
    assert_eq!(waiting.join().unwrap(), before, "a session goes on with the same tokens");

    // Without what was stored they are others: it was the store.
    manager.kept = None;
    drop(_service);
    let _service = manager.start();
    assert_ne!(token(&manager.socket()), before);
}

#[test]
fn a_planned_restart_tells_open_streams_and_loses_nobody() {
    let mut manager = Manager::new("[timeouts]\ngrace = \"1s\"\n");
    let mut service = manager.start();
    let mut stays = FilterWriter::new(connect(&manager.socket()).into_stream("house").unwrap(), Vec::new());
    stays.write_all(b"a long one TICK").and_then(|()| stays.flush()).unwrap();
    let mut ends = FilterWriter::new(connect(&manager.socket()).into_stream("house").unwrap(), Vec::new());
    ends.write_all(b"a short one ").and_then(|()| ends.flush()).unwrap();

    service.signal("-TERM");
    while manager.hear() != "STOPPING=1\n" {}
    // In flight: may finish.
    ends.write_all(b"that ends").unwrap();
    assert_eq!(ends.get_mut().as_slice(), b"a short one ");
    let (summary, _) = ends.finish().unwrap();
    assert!(summary.report.is_some_and(|r| r.complete));
    // Connects while the old process drains: served by the new one.
    let socket = manager.socket();
    let waiting = std::thread::spawn(move || token(&socket));
    assert_eq!(service.ended(), Some(0));
    let _service = manager.start();
    assert!(waiting.join().unwrap().starts_with("see FBY_"));
    // Stayed beyond the grace time: told so, with what to do, and nothing that was held came out.
    let told = stays.write_all(b"ET-12345 and").and_then(|()| stays.flush()).unwrap_err().to_string();
    assert!(told.contains("draining") || told.contains("broke"), "{told}");
    assert_eq!(stays.get_mut().as_slice(), b"a long one ");
}

#[test]
fn the_watchdog_is_fed() {
    let mut manager = Manager::new("");
    let _service = manager.start();
    let began = Instant::now();
    let mut fed = 0;
    while fed < 4 {
        fed += u32::from(manager.hear() == "WATCHDOG=1\n");
        assert!(began.elapsed() < PATIENCE, "fed {fed} times only");
    }
    // Every third of 900 ms, so four times are not done at once.
    assert!(began.elapsed() > Duration::from_millis(500));
}
