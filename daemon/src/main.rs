//! `forebayd`: the daemon's command line.
#![forbid(unsafe_code)]

mod generate;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::{CommandFactory, Parser, Subcommand};
use forebayd::listener::Listener;
use forebayd::{Config, ServedProfiles, Server, Shared, logging};
use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Filters streams for the agents of this host, over a Unix socket.
#[derive(Parser)]
#[command(name = "forebayd", version, after_help = EXAMPLE, args_conflicts_with_subcommands = true)]
struct Args {
    /// Config file (TOML). Without it, the defaults shown below.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Socket to listen on; comes before the config's. Under systemd the socket that it passes comes first.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Reads a config and compiles its profiles: exit 0 if the daemon could start with it, 2 with file and line if not.
    Check {
        /// The config file.
        config: PathBuf,
    },
    /// Writes the man pages into a folder.
    #[command(hide = true)]
    Man {
        /// An existing folder.
        folder: PathBuf,
    },
    /// Prints the completions of a shell.
    #[command(hide = true)]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

const EXAMPLE: &str = r#"Example:
  forebayd --socket /tmp/forebay.sock
  forebayd check /etc/forebay/forebayd.toml && forebayd --config /etc/forebay/forebayd.toml

The config file, with its defaults:
  socket = "/run/forebay/forebay.sock"  # no default; leave it out when systemd passes the socket
  socket_mode = "0600"
  profiles = ["tool-output", "model-output", "tool-input", "prompt"]  # or paths of profile files
  cache_dir = ""                        # for compiled rules; default: CacheDirectory= of systemd
  [limits]
  connections = 1024
  connections_per_uid = 256
  streams = 65536
  streams_per_uid = 16384
  streams_per_connection = 16384
  buffered_bytes = 268435456            # waiting for slow readers, and the memory of rings
  buffered_bytes_per_uid = 67108864
  rings = 512                           # shared-memory rings; 0: none, everything goes over the socket
  rings_per_uid = 128
  ring_bytes = 131072                   # in each direction: a power of two, 65536 to 1048576
  descriptors = 2048                    # one a connection, two a ring that is on its way to its client
  descriptors_per_uid = 512
  stream_window = 65536                 # bytes
  connection_window = 262144            # bytes
  [timeouts]                            # "500ms", "5s", "10m", "1h"
  handshake = "5s"
  idle = "1h"
  stall = "5m"
  grace = "30s"
  [log]
  level = "info"                        # error, warn, info, debug, trace
  format = "text"                       # or "json"

SIGTERM and SIGINT drain: no new streams, open ones may finish for the grace time.
SIGHUP reads the config's profiles again, with their packs and files of secrets: streams that are open keep their rules,
new ones have the new rules. If anything is wrong the old rules stay in force; the log and `forebay status` say why."#;

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.command {
        Some(Command::Check { config }) => check(config),
        Some(Command::Man { folder }) => generate::man(Args::command(), folder),
        Some(Command::Completions { shell }) => generate::completions(Args::command(), *shell),
        None => serve(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("forebayd: {e:#}");
            ExitCode::from(2)
        }
    }
}

fn check(path: &Path) -> anyhow::Result<()> {
    let config = Config::load(path)?;
    let profiles = load_profiles(&config)?;
    profiles.warnings().iter().for_each(|w| eprintln!("forebayd: warning: {w}"));
    for p in profiles.iter() {
        println!("profile {}: {} rules", p.name, p.rules.rules().len());
    }
    println!("{} is fine", path.display());
    Ok(())
}

fn serve(args: &Args) -> anyhow::Result<()> {
    let config = match &args.config {
        Some(path) => Config::load(path)?,
        None => Config::default(),
    };
    logging::install(&config.log)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the runtime did not start")?;
    // Both before the rules are compiled: a signal meanwhile is not lost, and who connects waits for an answer instead
    // of finding nobody.
    let (shutdown, hangup) = runtime
        .block_on(async { Ok::<_, std::io::Error>((shutdown_signal()?, signal(SignalKind::hangup())?)) })
        .context("signals cannot be handled")?;
    let listener = listen(args.socket.as_ref().or(config.socket.as_ref()), config.socket_mode)?;
    tracing::info!(profiles = config.profiles.len(), "compiling the rules");
    let profiles = load_profiles(&config)?;
    profiles.warn();
    profiles.warm_in_background();
    runtime.block_on(async {
        let server = Server::new(config, profiles, listener).context("the kernel gave no random bytes")?;
        tell_systemd(&[NotifyState::Ready]);
        tokio::spawn(reload_at(hangup, server.shared(), args.config.clone()));
        tracing::info!(version = forebayd::VERSION, "ready");
        server.run(shutdown).await.context("the socket cannot be served")?;
        tracing::info!("stopped");
        Ok(())
    })
}

fn load_profiles(config: &Config) -> anyhow::Result<ServedProfiles> {
    ServedProfiles::of(config).map_err(|e| anyhow::anyhow!(e))
}

fn listen(socket: Option<&PathBuf>, mode: u32) -> anyhow::Result<Listener> {
    if let Some(passed) = Listener::from_systemd().context("the socket that systemd passed cannot be used")? {
        return Ok(passed);
    }
    let path = socket.context("no socket: give --socket PATH, set `socket` in the config, or start by systemd")?;
    Listener::bind(path, mode).with_context(|| format!("cannot listen on {}", path.display()))
}

/// Completes at the first SIGTERM or SIGINT. Both are caught from the moment this returns.
fn shutdown_signal() -> std::io::Result<impl Future<Output = ()>> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        tell_systemd(&[NotifyState::Stopping]);
    })
}

/// Reloads at each SIGHUP; those that come meanwhile are one more. systemd is told what is in force.
async fn reload_at(mut hangup: Signal, shared: Arc<Shared>, config: Option<PathBuf>) {
    while hangup.recv().await.is_some() {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => tell_systemd(&[NotifyState::Reloading, now]),
            Err(e) => tracing::warn!(error = %e, "the kernel tells no time; systemd was not told of the reload"),
        }
        let status = match shared.reload(config.as_deref()).await {
            Ok(()) => "reloaded".to_owned(),
            Err(e) => format!("not reloaded, the old rules stay in force: {}", e.replace('\n', " ")),
        };
        tell_systemd(&[NotifyState::Ready, NotifyState::Status(&status)]);
    }
}

/// Without systemd there is nobody to tell, and that is no fault.
fn tell_systemd(state: &[NotifyState<'_>]) {
    if let Err(e) = sd_notify::notify(state) {
        tracing::warn!(error = %e, "systemd was not told");
    }
}
