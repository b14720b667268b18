//! A daemon inside the test's process, on a socket of its own; and a raw peer that may send anything.
//!
//! The daemon is the real [`forebayd::Server`] on a real Unix socket, with its own runtime in its own thread. It is
//! *not* the binary: signals, arguments and exit codes are tested beside it.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use forebay_scan::RuleSet;
use forebay_wire::{ErrorFrame, Frame, Hello, Status, StreamId};
use forebayd::audit::Audit;
use forebayd::listener::Listener;
use forebayd::metrics::Endpoint;
use forebayd::{Config, ServedProfiles, Server, Service, Shared};
use tokio::sync::oneshot;

/// How long a test waits for anything before it gives up.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The tests' own profiles, with rules that no built-in pack can change: `house` replaces, `house-strict` blocks.
pub const HOUSE: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/data/house.toml"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/data/house-strict.toml"),
];

/// The house's rules and the built-in personal data: compiles in a moment even unoptimised.
pub const HOUSE_PII: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/house-pii.toml");

/// The rules of a profile, for the same work in the test's own process: one of the house, or a built-in one.
pub fn rules(profile: &str) -> anyhow::Result<Arc<RuleSet>> {
    if let Some(built_in) = RuleSet::builtin(profile) {
        return Ok(built_in?);
    }
    let mut entries = HOUSE.map(str::to_owned).to_vec();
    if profile == "house-pii" {
        entries.push(HOUSE_PII.to_owned());
    }
    let all = ServedProfiles::load(&entries, Path::new(".")).map_err(|e| anyhow::anyhow!(e))?;
    let one = all.get(profile).ok_or_else(|| anyhow::anyhow!("no profile {profile}"))?;
    Ok(Arc::clone(&one.rules))
}

fn config() -> Config {
    let mut config = Config::default();
    config.timeouts.grace = Duration::from_secs(2);
    config.profiles = HOUSE.map(str::to_owned).to_vec();
    config
}

/// A running daemon. Dropped, it drains and is gone.
pub struct TestDaemon {
    path: PathBuf,
    shared: Arc<Shared>,
    runtime: tokio::runtime::Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl TestDaemon {
    /// A daemon with the default limits and the tests' own profiles. Built-in ones take long to compile unoptimised: name them in
    /// [`TestDaemon::with`] where they matter.
    pub fn start() -> anyhow::Result<TestDaemon> {
        Self::with(|_| {})
    }

    /// A daemon whose config the test changes first.
    pub fn with(change: impl FnOnce(&mut Config)) -> anyhow::Result<TestDaemon> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("forebay-test-{}-{serial}.sock", std::process::id()));
        let mut config = config();
        change(&mut config);
        let profiles = ServedProfiles::load(&config.profiles, &config.base).map_err(|e| anyhow::anyhow!(e))?;
        let listener = Listener::bind(&path, config.socket_mode)?;
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let (audit, audit_thread) = Audit::open(&config.audit).map_err(|e| anyhow::anyhow!(e))?;
        let service = Service { audit, ..Service::default() };
        let server = Server::new(config, profiles, listener, service)?;
        let shared = server.shared();
        let metrics = Endpoint::open(&shared.config.metrics, None).map_err(|e| anyhow::anyhow!(e))?;
        runtime.spawn(metrics.serve(Arc::clone(&shared)));
        let handle = runtime.handle().clone();
        let thread = std::thread::spawn(move || {
            let shared = server.shared();
            let served = runtime.block_on(server.run(async {
                let _ = stopped.await;
            }));
            shared.audit.stop();
            drop(audit_thread);
            served
        });
        Ok(TestDaemon { path, shared, runtime: handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it knows of itself.
    pub fn status(&self) -> Status {
        self.shared.status()
    }

    /// What SIGHUP does, with this config; waits for it.
    pub fn reload(&self, config: &Path) -> Result<(), String> {
        self.runtime.block_on(self.shared.reload(Some(config)))
    }

    /// Begins to drain, without waiting.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Drains and waits for the end.
    pub fn join(&mut self) -> anyhow::Result<()> {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().map_err(|_| anyhow::anyhow!("the daemon panicked"))??;
        }
        Ok(())
    }

    /// Waits until `done` holds of the status.
    pub fn wait(&self, done: impl Fn(&Status) -> bool) -> anyhow::Result<Status> {
        let start = Instant::now();
        loop {
            let status = self.status();
            if done(&status) {
                return Ok(status);
            }
            anyhow::ensure!(start.elapsed() < PATIENCE, "the daemon's state stayed {status:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for TestDaemon {
    fn drop(&mut self) {
        let _ = self.join();
    }
}

/// A peer that speaks frames, or whatever else the test wants.
pub struct RawPeer {
    /// The socket.
    pub socket: UnixStream,
    input: BytesMut,
}

impl RawPeer {
    /// Connects and says nothing.
    pub fn connect(daemon: &TestDaemon) -> anyhow::Result<RawPeer> {
        let socket = UnixStream::connect(daemon.path())?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(RawPeer { socket, input: BytesMut::new() })
    }

    /// Connects and shakes hands.
    pub fn greeted(daemon: &TestDaemon) -> anyhow::Result<RawPeer> {
        let mut peer = RawPeer::connect(daemon)?;
        peer.send(&Frame::Hello(Hello::new("raw")))?;
        match peer.next()? {
            Some(Frame::Welcome(_)) => Ok(peer),
            other => anyhow::bail!("no Welcome but {other:?}"),
        }
    }

    /// Connects, shakes hands and opens stream 1 with a profile and an output window.
    pub fn opened(daemon: &TestDaemon, profile: &str, window: u32) -> anyhow::Result<(RawPeer, StreamId)> {
        let mut peer = RawPeer::greeted(daemon)?;
        let stream = StreamId::FIRST;
        peer.open(stream, profile, window)?;
        Ok((peer, stream))
    }

    /// A second handle that reads while this one writes.
    pub fn reader(&self) -> anyhow::Result<RawPeer> {
        Ok(RawPeer { socket: self.socket.try_clone()?, input: BytesMut::new() })
    }

    /// Opens a stream.
    pub fn open(&mut self, stream: StreamId, profile: &str, window: u32) -> anyhow::Result<()> {
        let profile = profile.to_owned();
        self.send(&Frame::Open(forebay_wire::Open { stream, window, profile, session: bytes::Bytes::new() }))
    }

    /// Sends a frame.
    pub fn send(&mut self, frame: &Frame) -> anyhow::Result<()> {
        let mut bytes = BytesMut::new();
        forebay_wire::encode(frame, &mut bytes)?;
        Ok(self.socket.write_all(&bytes)?)
    }

    /// Sends bytes. A daemon that has closed already is no error: the test looks at what it said.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let _ = self.socket.write_all(bytes);
    }

    /// The next frame; `None` at the end of the connection.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> anyhow::Result<Option<Frame>> {
        loop {
            if let Some(frame) = forebay_wire::decode(&mut self.input)? {
                return Ok(Some(frame));
            }
            let mut chunk = [0; 16 << 10];
            match self.socket.read(&mut chunk) {
                Ok(0) => return Ok(None),
                Ok(n) => self.input.extend_from_slice(&chunk[..n]),
                // Closed with bytes of ours unread: also an end.
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => return Ok(None),
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Reads until the connection's last words and its end: the Error frame for the connection.
    pub fn last_words(&mut self) -> anyhow::Result<ErrorFrame> {
        let mut last = None;
        while let Some(frame) = self.next()? {
            if let Frame::Error(e) = frame
                && e.stream.is_none()
            {
                last = Some(e);
            }
        }
        last.ok_or_else(|| anyhow::anyhow!("the connection ended without a typed error"))
    }
}
