//! `forebayd`: the daemon's command line.
#![forbid(unsafe_code)]

mod generate;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{CommandFactory, Parser, Subcommand};
use forebayd::audit::Audit;
use forebayd::listener::Listener;
use forebayd::metrics::Endpoint;
use forebayd::sandbox::Sandbox;
use forebayd::{Config, KeyRing, Passed, ServedProfiles, Server, Service, Shared, logging};
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
  rings = 512                           # shared-memory rings; 0: all goes over the socket
  rings_per_uid = 128
  ring_bytes = 131072                   # in each direction: a power of two, 65536 to 1048576
  descriptors = 2048                    # one a connection, two a ring on its way to a client
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
  [audit]                               # JSON lines of findings: `forebay audit --help`
  dir = ""                              # none unless set; default: LogsDirectory= of systemd
  fsync = "interval"                    # or "always", "never"
  fsync_interval = "1s"
  max_file_bytes = 67108864
  keep_files = 16
  on_failure = "degrade"                # losses are counted; "fail-closed": no stream unrecorded
  findings_per_stream = 1000            # more are counted
  key_file = ""                         # of value fingerprints; default: fingerprint.key in dir
  [sandbox]
  mode = "auto"                         # as far as the kernel can; "required": or no start; "off"
  read = []                             # more folders that a reload may read
  [metrics]                             # Prometheus text over HTTP
  socket = ""                           # default: that of forebayd-metrics.socket, or none
  socket_mode = "0600"
  listen = ""                           # loopback, for any user of this host: "127.0.0.1:9464"

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
    let passed = Passed::take().context("what systemd passed cannot be used")?;
    // Before anybody can know of the socket: a signal meanwhile is not lost. They are heard by the runtime that runs later.
    let early = tokio::runtime::Builder::new_current_thread().enable_all().build().context("no runtime for signals")?;
    let (shutdown, hangup) = early
        .block_on(async { Ok::<_, std::io::Error>((shutdown_signal()?, signal(SignalKind::hangup())?)) })
        .context("signals cannot be handled")?;
    // What takes the right to open sockets comes before the sandbox, and the sandbox before the first thread.
    let listener = listen(passed.clients, args.socket.as_ref().or(config.socket.as_ref()), config.socket_mode)?;
    let metrics = Endpoint::open(&config.metrics, passed.metrics).map_err(anyhow::Error::msg)?;
    let sockets: Vec<PathBuf> = listener.path().into_iter().chain(metrics.path()).map(Path::to_owned).collect();
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let sandbox = Sandbox::enter(&config, &sockets).map_err(anyhow::Error::msg)?;
    tracing::info!(sandbox = %sandbox.told, "confined");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .context("the runtime did not start")?;
    drop(early);
    // Given away once: systemd keeps it over every restart.
    let keys = match passed.keys {
        Some(kept) => kept,
        None => {
            let fresh = KeyRing::from_kernel().context("the kernel gave no random bytes")?;
            if let Err(e) = fresh.store() {
                tracing::warn!(error = %e, "systemd does not keep the key of session tokens; a restart changes tokens");
            }
            fresh
        }
    };
    // A log that cannot be written is told at once. Its thread is joined after everything else.
    let (audit, _audit_thread) = Audit::open(&config.audit).map_err(anyhow::Error::msg)?;
    tracing::info!(profiles = config.profiles.len(), "compiling the rules");
    let profiles = load_profiles(&config)?;
    profiles.warn();
    profiles.warm_in_background();
    let service = Service { audit, sandbox, metrics: metrics.places(), keys: Some(keys) };
    runtime.block_on(async {
        let server = Server::new(config, profiles, listener, service).context("the kernel gave no random bytes")?;
        tell_systemd(&[NotifyState::Ready]);
        tokio::spawn(reload_at(hangup, server.shared(), args.config.clone()));
        tokio::spawn(feed_watchdog());
        tokio::spawn(serve_metrics(metrics, server.shared()));
        tracing::info!(version = forebayd::VERSION, "ready");
        let shared = server.shared();
        let served = server.run(shutdown).await;
        shared.audit.stop();
        served.context("the socket cannot be served")?;
        tracing::info!("stopped");
        Ok(())
    })
}

fn load_profiles(config: &Config) -> anyhow::Result<ServedProfiles> {
    ServedProfiles::of(config).map_err(|e| anyhow::anyhow!(e))
}

/// Tells systemd that the runtime still runs tasks, if it asks (`WatchdogSec=`).
async fn feed_watchdog() {
    let Some(patience) = sd_notify::watchdog_enabled() else { return };
    let mut tick = tokio::time::interval((patience / 3).max(Duration::from_millis(10)));
    loop {
        tick.tick().await;
        // Through the scheduler, so that a runtime whose workers are all stuck says nothing.
        if tokio::spawn(async {}).await.is_ok() {
            tell_systemd(&[NotifyState::Watchdog]);
        }
    }
}

/// Metrics are not worth the daemon: without them it filters on.
async fn serve_metrics(endpoint: Endpoint, shared: Arc<Shared>) {
    if let Err(e) = endpoint.serve(shared).await {
        tracing::error!(error = %e, "metrics are not served");
    }
}

fn listen(passed: Option<Listener>, socket: Option<&PathBuf>, mode: u32) -> anyhow::Result<Listener> {
    if let Some(passed) = passed {
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
