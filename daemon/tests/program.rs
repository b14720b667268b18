//! The program: arguments, exit codes, signals, and what systemd passes and is told.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_forebayd");

/// A folder of its own, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> std::io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("forebayd-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path)?;
        Ok(Folder(path))
    }

    /// A config whose one profile, `own`, has a single rule: the built-in ones take long to compile unoptimised.
    fn config(&self, more: &str) -> std::io::Result<PathBuf> {
        self.file("own.toml", "name = \"own\"\npacks = []\npack_files = [\"pack.toml\"]\n")?;
        self.file(
            "pack.toml",
            "[pack]\nname = \"own\"\n[[rule]]\nid = \"ticket\"\nfamily = \"pii\"\ntitle = \"Ticket\"\n\
             pattern = '(?P<span>TICKET-[0-9]{4,12})'\nseverity = \"low\"\n\
             match = [\"see TICKET-12345\"]\nno_match = [\"see TICKET-1\"]\n",
        )?;
        self.file("own-config.toml", &format!("profiles = [\"own.toml\"]\n{more}"))
    }

    fn file(&self, name: &str, text: &str) -> std::io::Result<PathBuf> {
        let path = self.0.join(name);
        fs::write(&path, text)?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A child that does not outlive its test.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn check(config: &PathBuf) -> std::io::Result<(Output, String)> {
    let output = Command::new(PROGRAM).arg("check").arg(config).output()?;
    let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned();
    Ok((output, text))
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn check_says_fine_or_where_and_what() -> std::io::Result<()> {
    let folder = Folder::new("check")?;
    let good = folder.config("socket = \"/tmp/x.sock\"\n")?;
    let (output, text) = check(&good)?;
    assert!(output.status.success() && text.contains("profile own: 1 rules"), "{text}");

    let bad = folder.file("bad.toml", "socket = \"/tmp/x.sock\"\n[limits]\nstreems = 3\n")?;
    let (output, text) = check(&bad)?;
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("bad.toml:3: unknown field `streems`"), "{text}");

    let profile = folder.file("profile.toml", "profiles = [\"toll-output\"]\n")?;
    let (output, text) = check(&profile)?;
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text.contains("profile.toml:1: there is no built-in profile `toll-output`; use one of tool-output"),
        "{text}"
    );

    let (output, text) = check(&folder.0.join("missing.toml"))?;
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("missing.toml") && text.contains("mend the path"), "{text}");
    Ok(())
}

#[test]
fn help_has_an_example_and_its_config_is_right() -> std::io::Result<()> {
    let output = Command::new(PROGRAM).arg("--help").output()?;
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && help.contains("forebayd --socket /tmp/forebay.sock"), "{help}");
    let config: Vec<&str> = help
        .lines()
        .skip_while(|l| !l.starts_with("The config file"))
        .skip(1)
        .take_while(|l| !l.trim().is_empty())
        .collect();
    let folder = Folder::new("help")?;
    // Its profiles are the built-in ones, compiled by other tests; here it is the keys that count.
    let text = config.join("\n");
    assert!(text.contains("profiles = [\"tool-output\""), "{text}");
    let keys: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with("profiles")).collect();
    let file = folder.config(&keys.join("\n"))?;
    let (output, text) = check(&file)?;
    assert!(output.status.success(), "{text}");
    Ok(())
}

#[test]
fn no_socket_is_an_error_with_its_mend() -> std::io::Result<()> {
    let folder = Folder::new("none")?;
    let config = folder.config("")?;
    let output = Command::new(PROGRAM).arg("--config").arg(&config).env_remove("LISTEN_FDS").output()?;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("give --socket PATH"));
    Ok(())
}

#[test]
fn ready_is_told_sigterm_drains_and_the_socket_file_goes() -> std::io::Result<()> {
    let folder = Folder::new("ready")?;
    let told = UnixDatagram::bind(folder.0.join("notify"))?;
    told.set_read_timeout(Some(Duration::from_secs(20)))?;
    let socket = folder.0.join("s.sock");
    let config = folder.config("[timeouts]\ngrace = \"10s\"\n[log]\nformat = \"json\"\nlevel = \"trace\"\n")?;
    let child = Command::new(PROGRAM)
        .arg("--config")
        .arg(&config)
        .arg("--socket")
        .arg(&socket)
        .env("NOTIFY_SOCKET", folder.0.join("notify"))
        .stderr(Stdio::piped())
        .spawn()?;
    let mut daemon = Daemon(child);
    // What it gives away to be kept comes first.
    let mut message = [0; 200];
    let n = told.recv(&mut message)?;
    assert_eq!(&message[..n], b"FDSTORE=1\nFDNAME=session-keys\n");
    let n = told.recv(&mut message)?;
    assert_eq!(&message[..n], b"READY=1\n");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&socket)?.permissions());
    assert_eq!(mode & 0o777, 0o600);

    // A second daemon does not take the socket away.
    let second = Command::new(PROGRAM).arg("--config").arg(&config).arg("--socket").arg(&socket).output()?;
    assert_eq!(second.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another daemon listens there"));

    let mut broken = UnixStream::connect(&socket)?;
    broken.write_all(b"GET / HTTP/1.1\r\n\r\n")?;
    broken.read_to_end(&mut Vec::new())?;

    let mut whole = UnixStream::connect(&socket)?;
    let stream = forebay_wire::StreamId::FIRST;
    let open =
        forebay_wire::Open { stream, window: 9000, profile: "own".to_owned(), session: b"secret-name"[..].into() };
    let mut bytes = bytes::BytesMut::new();
    for frame in [
        forebay_wire::Frame::Hello(forebay_wire::Hello::new("log-test")),
        forebay_wire::Frame::Open(open),
        forebay_wire::Frame::Data { stream, bytes: b"xyzzy and more of the text"[..].into() },
        forebay_wire::Frame::Finish(stream),
        // Not allowed any more: the connection ends, and that is logged.
        forebay_wire::Frame::Hello(forebay_wire::Hello::new("log-test")),
    ] {
        forebay_wire::encode(&frame, &mut bytes).map_err(std::io::Error::other)?;
    }
    whole.write_all(&bytes)?;
    whole.read_to_end(&mut Vec::new())?;

    let pid = daemon.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status()?.success());
    let n = told.recv(&mut message)?;
    assert_eq!(&message[..n], b"STOPPING=1\n");
    assert_eq!(daemon.0.wait()?.code(), Some(0));
    assert!(!socket.exists());
    let mut log = String::new();
    if let Some(stderr) = &mut daemon.0.stderr {
        stderr.read_to_string(&mut log)?;
    }
    assert!(log.lines().all(|l| l.starts_with('{') && l.ends_with('}')), "{log}");
    assert!(log.contains("\"code\":\"handshake-expected\"") && log.contains("\"code\":\"unexpected-frame\""), "{log}");
    // Everything is logged at this level, and neither text nor session is in it.
    assert!(log.contains("log-test") && !log.contains("xyzzy") && !log.contains("secret-name"), "{log}");
    Ok(())
}

#[test]
fn a_socket_file_left_by_a_killed_daemon_is_replaced_and_another_file_is_not() -> std::io::Result<()> {
    let folder = Folder::new("stale")?;
    let socket = folder.0.join("s.sock");
    let config = folder.config("")?;
    let command = |socket: &PathBuf| {
        let mut command = Command::new(PROGRAM);
        command.arg("--config").arg(&config).arg("--socket").arg(socket);
        command
    };
    let start = || command(&socket).stderr(Stdio::null()).spawn().map(Daemon);
    let mut first = start()?;
    wait_for("listening", || UnixStream::connect(&socket).is_ok());
    first.0.kill()?;
    first.0.wait()?;
    assert!(socket.exists());
    let _second = start()?;
    wait_for("listening again", || UnixStream::connect(&socket).is_ok());

    let file = folder.file("precious", "text")?;
    let output = command(&file).output()?;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("it is not a socket"));
    assert_eq!(fs::read_to_string(&file)?, "text");
    Ok(())
}

#[test]
fn a_socket_passed_by_systemd_is_used() -> std::io::Result<()> {
    let folder = Folder::new("systemd")?;
    let socket = folder.0.join("s.sock");
    let listener = UnixListener::bind(&socket)?;
    // What systemd does: the socket as descriptor 3, and the environment names it and the process.
    let child = Command::new("bash")
        .args(["-c", "exec 3<&0 0</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" --config \"$1\""])
        .arg(PROGRAM)
        .arg(folder.config("")?)
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(listener)))
        .stderr(Stdio::null())
        .spawn()?;
    let mut daemon = Daemon(child);
    let mut peer = UnixStream::connect(&socket)?;
    peer.write_all(b"\x16\0\0\0\x01\0\0\0\0\0\0\0FBAY\x01\0\x01\0\0\0\0\0\x09example/1")?;
    let mut head = [0; 12];
    peer.read_exact(&mut head)?;
    assert_eq!(head[4], 2, "no Welcome: {head:?}");
    drop(peer);
    assert!(Command::new("kill").args(["-INT", &daemon.0.id().to_string()]).status()?.success());
    assert_eq!(daemon.0.wait()?.code(), Some(0));
    // The file belongs to systemd.
    assert!(socket.exists());
    Ok(())
}

#[test]
fn sighup_reloads_systemd_is_told_and_a_broken_config_changes_nothing() -> std::io::Result<()> {
    let folder = Folder::new("hangup")?;
    let told = UnixDatagram::bind(folder.0.join("notify"))?;
    told.set_read_timeout(Some(Duration::from_secs(60)))?;
    let message = || -> std::io::Result<String> {
        let mut bytes = [0; 2000];
        let n = told.recv(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes[..n]).into_owned())
    };
    let child = Command::new(PROGRAM)
        .arg("--config")
        .arg(folder.config("")?)
        .arg("--socket")
        .arg(folder.0.join("s.sock"))
        .env("NOTIFY_SOCKET", folder.0.join("notify"))
        .stderr(Stdio::piped())
        .spawn()?;
    let mut daemon = Daemon(child);
    let pid = daemon.0.id().to_string();
    let hang_up = || Command::new("kill").args(["-HUP", &pid]).status();
    assert_eq!(message()?, "FDSTORE=1\nFDNAME=session-keys\n");
    assert_eq!(message()?, "READY=1\n");

    folder.file(
        "own.toml",
        "name = \"own\"\npacks = []\npack_files = [\"pack.toml\"]\n[[exact]]\nfile = \"app.env\"\n",
    )?;
    folder.file("app.env", &format!("PIN=4711\nKEY={}-9981-Lk\n", "qzw"))?;
    assert!(hang_up()?.success());
    let reloading = message()?;
    let time =
        reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").map(str::trim_end).and_then(|t| t.parse::<u64>().ok());
    assert!(time.is_some_and(|t| t > 0), "{reloading}");
    assert_eq!(message()?, "READY=1\nSTATUS=reloaded\n");

    folder.file(
        "own.toml",
        "name = \"own\"\npacks = []\npack_files = [\"pack.toml\"]\n[rule]\n\"pii.none\" = \"flag\"\n",
    )?;
    assert!(hang_up()?.success());
    assert!(message()?.starts_with("RELOADING=1\n"));
    let failed = message()?;
    assert!(failed.starts_with("READY=1\nSTATUS=not reloaded, the old rules stay in force: "), "{failed}");
    assert!(failed.contains("own.toml:5: the profile sets an action for `pii.none`"), "{failed}");

    assert!(Command::new("kill").args(["-TERM", &pid]).status()?.success());
    assert_eq!(daemon.0.wait()?.code(), Some(0));
    let mut log = String::new();
    if let Some(stderr) = &mut daemon.0.stderr {
        stderr.read_to_string(&mut log)?;
    }
    assert!(log.contains("reloaded: streams that open from now on have the new rules"), "{log}");
    assert!(log.contains("not reloaded: the rules in force stay; mend this, then reload again"), "{log}");
    assert!(log.contains("app.env:1: the value of PIN is shorter than `min_length`"), "{log}");
    assert!(!log.contains("4711") && !log.contains("qzw"), "{log}");
    Ok(())
}
