//! The demo's daemon: `forebayd`'s own server, on a socket in a temporary folder, in a thread of this process.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use anyhow::{Context, anyhow};
use forebayd::listener::Listener;
use forebayd::{Config, ServedProfiles, Server};
use tokio::sync::oneshot;

use super::script;

pub(crate) struct Host {
    socket: PathBuf,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<anyhow::Result<()>>,
    /// Removed with the socket when the host is dropped.
    _folder: tempfile::TempDir,
}

impl Host {
    /// Starts it; clients can connect when this returns.
    pub(crate) fn start() -> anyhow::Result<Host> {
        let folder = tempfile::Builder::new().prefix("forebay-demo-").tempdir().context("no temporary folder")?;
        let socket = folder.path().join("forebay.sock");
        let config = Config { profiles: script::PROFILES.map(str::to_owned).to_vec(), ..Config::default() };
        let profiles = ServedProfiles::load(&config.profiles, &config.base).map_err(|e| anyhow!(e))?;
        let listener = Listener::bind(&socket, config.socket_mode)
            .with_context(|| format!("the demo's daemon cannot listen on {}", socket.display()))?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("forebayd".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(async {
                    let server = Server::new(config, profiles, listener, forebayd::Service::default())?;
                    // A demo that ended early dropped its end: stop then, too.
                    let shutdown = async { stopped.await.unwrap_or(()) };
                    server.run(shutdown).await?;
                    Ok(())
                })
            })
            .context("the demo's daemon cannot be started")?;
        Ok(Host { socket, stop, thread, _folder: folder })
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Drains it and waits for its end.
    pub(crate) fn stop(self) -> anyhow::Result<()> {
        let _ = self.stop.send(()); // It may have ended by itself; its result says why.
        self.thread.join().map_err(|_| anyhow!("the demo's daemon panicked: this is a bug, please report it"))?
    }
}
