//! A `forebayd` of its own, and the client's ways to it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use forebay_client::blocking::{Connection, Sink, Stream};
use forebay_client::{ConnectOptions, Finding, Transport};
use forebay_scan::{Pack, Profile, RuleSet};

use super::{PIECE, Way};

const PACK: &str = "[pack]\nname = \"trivial\"\n\n[[rule]]\nid = \"word\"\nfamily = \"truncation\"\ntitle = \"A word\"\n\
                    pattern = '(?P<span><<never written>>)'\nseverity = \"low\"\n";

const PROFILE: &str = "name = \"trivial\"\nbase = \"tool-output\"\npacks = []\npack_files = [\"trivial-pack.toml\"]\n";

/// The one rule, compiled.
///
/// # Errors
/// It does not compile.
pub fn trivial_rules() -> Result<Arc<RuleSet>> {
    let pack = Pack::parse(PACK, "trivial-pack.toml").map_err(|e| anyhow::anyhow!("{e}"))?;
    let profile = Profile::builtin(super::report::ALL_PACKS).context("the profile is built in")?;
    RuleSet::compile(&[pack], &profile).map_err(|e| anyhow::anyhow!("{e}"))
}

/// A running daemon; killed when dropped.
pub struct Daemon {
    child: Child,
    folder: PathBuf,
}

impl Daemon {
    /// Starts `program` in a folder of its own, on whatever processors this thread may use.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(program: &Path) -> Result<Daemon> {
        let folder = std::env::temp_dir().join(format!("forebay-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("trivial-pack.toml"), PACK)?;
        std::fs::write(folder.join("trivial.toml"), PROFILE)?;
        let config = folder.join("forebayd.toml");
        std::fs::write(&config, format!("profiles = [{:?}, \"trivial.toml\"]\n", super::report::ALL_PACKS))?;
        let child = Command::new(program)
            .arg("--config")
            .arg(&config)
            .arg("--socket")
            .arg(folder.join("forebay.sock"))
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{} does not start", program.display()))?;
        let daemon = Daemon { child, folder };
        let began = Instant::now();
        while daemon.connect(Transport::Socket).is_err() {
            ensure!(began.elapsed() < Duration::from_secs(120), "the daemon does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(daemon)
    }

    fn connect(&self, transport: Transport) -> Result<Connection> {
        let options = ConnectOptions { transport, timeout: Duration::from_secs(120), ..ConnectOptions::default() };
        Ok(Connection::connect(self.folder.join("forebay.sock"), options)?)
    }

    /// A way to this daemon, with a stream open.
    ///
    /// # Errors
    /// It is gone, or grants no ring.
    pub fn way(&self, transport: Transport, profile: &'static str) -> Result<Box<dyn Way>> {
        let stream = self.connect(transport)?.into_stream(profile)?;
        Ok(Box::new(Client { stream: Some(stream), profile }))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill(); // It may have ended by itself.
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

struct Client {
    /// `None` only after an error.
    stream: Option<Stream<Connection>>,
    profile: &'static str,
}

#[derive(Default)]
struct Count(usize);

impl Sink for Count {
    fn released(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0 += std::hint::black_box(bytes).len();
        Ok(())
    }

    fn finding(&mut self, finding: Finding) {
        std::hint::black_box(finding);
    }
}

impl Way for Client {
    fn trip(&mut self, bytes: &[u8]) -> Result<()> {
        let stream = self.stream.as_mut().context("no stream")?;
        let mut out = Count::default();
        stream.exchange(bytes, &mut out)?;
        Ok(())
    }

    fn through(&mut self, text: &[u8]) -> Result<()> {
        let mut stream = self.stream.take().context("no stream")?;
        let mut out = Count::default();
        for piece in text.chunks(PIECE) {
            stream.push(piece, &mut out)?;
        }
        stream.finish(&mut out)?;
        let connection = stream.into_connection().context("no connection")?;
        self.stream = Some(connection.into_stream(self.profile)?);
        Ok(())
    }
}
