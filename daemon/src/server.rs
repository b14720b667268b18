//! The accept loop, and what all connections share.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use forebay_wire::{Code, ErrorFrame, Frame, ProfileStatus, Status};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::audit::Audit;
use crate::config::Config;
use crate::connection::{self, Drain};
use crate::keys::KeyRing;
use crate::listener::Listener;
use crate::logging::LogGate;
use crate::metrics::Counters;
use crate::profiles::ServedProfiles;
use crate::quota::Quotas;
use crate::reload::InForce;
use crate::sandbox::Sandbox;

/// What all connections share. Everything in it is immutable or atomic, but for the quotas' short lock.
pub struct Shared {
    /// The config.
    pub config: Config,
    /// Charges by user.
    pub quotas: Arc<Quotas>,
    /// What happened.
    pub counters: Counters,
    /// The audit log.
    pub audit: Audit,
    /// What the daemon has taken away from itself.
    pub sandbox: Sandbox,
    /// Where metrics are served, for people.
    metrics: Vec<String>,
    /// The rule sets.
    pub(crate) in_force: InForce,
    pub(crate) keys: KeyRing,
    pub(crate) gate: LogGate,
    started: Instant,
    serial: AtomicU64,
}

impl Shared {
    /// A number that no earlier call returned.
    pub(crate) fn serial(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }

    /// Time since the start.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The state that the Status frame shows.
    pub fn status(&self) -> Status {
        let (connections, streams) = self.quotas.open();
        let in_force = self.in_force.profiles();
        let profiles = in_force.iter().map(|p| ProfileStatus {
            name: p.name.clone(),
            rules: p.rules.rules().len().try_into().unwrap_or(u32::MAX),
            fingerprint: p.rules.fingerprint(),
        });
        Status {
            daemon: crate::VERSION.to_owned(),
            uptime_ms: self.uptime().as_millis().try_into().unwrap_or(u64::MAX),
            connections: connections.try_into().unwrap_or(u32::MAX),
            streams: streams.try_into().unwrap_or(u32::MAX),
            profiles: profiles.collect(),
            counters: self.all_counters(),
            rules_age_ms: self.in_force.age().as_millis().try_into().unwrap_or(u64::MAX),
            reload_error: self.in_force.error(),
            facts: self.facts(),
        }
    }

    fn all_counters(&self) -> Vec<(String, u64)> {
        let mut all = self.counters.snapshot();
        if let Some(n) = self.audit.numbers() {
            all.push(("audit_records_total".to_owned(), n.written));
            all.push(("audit_lost_records_total".to_owned(), n.lost));
        }
        all
    }

    fn facts(&self) -> Vec<(String, String)> {
        let or_nothing = |text: &str, nothing: &str| if text.is_empty() { nothing.to_owned() } else { text.to_owned() };
        let told = [
            ("sandbox", or_nothing(&self.sandbox.told, "none: not started as a program")),
            ("audit", self.audit.describe()),
            ("metrics", or_nothing(&self.metrics.join(" "), "off")),
        ];
        told.into_iter().map(|(name, text)| (name.to_owned(), printable(&text, LONGEST_FACT))).collect()
    }
}

/// What a daemon that runs as a service has beside its streams. The default is nothing of it.
#[derive(Default)]
pub struct Service {
    /// The audit log, opened.
    pub audit: Audit,
    /// What is in force.
    pub sandbox: Sandbox,
    /// Where metrics are served, for people.
    pub metrics: Vec<String>,
    /// The secret of session tokens; `None`: a fresh one.
    pub keys: Option<KeyRing>,
}

/// A daemon that is ready to accept.
pub struct Server {
    shared: Arc<Shared>,
    listener: Listener,
}

impl Server {
    /// A server on a listening socket. `profiles` are the config's, loaded.
    pub fn new(config: Config, profiles: ServedProfiles, listener: Listener, service: Service) -> io::Result<Server> {
        let shared = Shared {
            quotas: Quotas::new(&config.limits),
            config,
            audit: service.audit,
            sandbox: service.sandbox,
            metrics: service.metrics,
            in_force: InForce::new(profiles),
            counters: Counters::default(),
            keys: service.keys.map_or_else(KeyRing::from_kernel, Ok)?,
            gate: LogGate::new(),
            started: Instant::now(),
            serial: AtomicU64::new(1),
        };
        Ok(Server { shared: Arc::new(shared), listener })
    }

    /// What the connections share; for status and tests.
    pub fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Serves until `shutdown` completes, then drains: no new connections, Goaway on the open ones, streams in
    /// flight may finish for the grace time.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let socket = self.listener.for_runtime()?;
        let (drain, drains) = watch::channel(Drain::No);
        let mut tasks = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                // Finished tasks are taken out as they end: the set must not grow with every connection ever made.
                Some(_) = tasks.join_next() => {}
                accepted = socket.accept() => match accepted {
                    Ok((stream, _)) => self.admit(stream, &drains, &mut tasks),
                    Err(e) => {
                        // Out of descriptors, most likely. Waiting is all that helps; a busy loop would not.
                        tracing::warn!(error = %e, "accept failed; raise LimitNOFILE if this repeats");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
            }
        }
        // From here on connecting fails at once, instead of waiting in the backlog of a daemon that is leaving.
        drop(socket);
        drop(self.listener);
        tracing::info!(connections = tasks.len(), "draining");
        let _ = drain.send(Drain::Finish);
        let grace = self.shared.config.timeouts.grace;
        if tokio::time::timeout(grace, join_all(&mut tasks)).await.is_err() {
            tracing::warn!(connections = tasks.len(), "grace time is over; closing what is left");
            let _ = drain.send(Drain::Close);
            let _ = tokio::time::timeout(LAST_WORDS, join_all(&mut tasks)).await;
        }
        tasks.shutdown().await;
        Ok(())
    }

    fn admit(&self, stream: UnixStream, drains: &watch::Receiver<Drain>, tasks: &mut JoinSet<()>) {
        self.shared.counters.connections_accepted.add(1);
        let peer = match stream.peer_cred() {
            Ok(peer) => peer,
            Err(e) => {
                tracing::warn!(error = %e, "a peer without credentials was refused");
                return;
            }
        };
        match self.shared.quotas.connect(peer.uid()) {
            Ok(account) => {
                let pid = peer.pid().unwrap_or(0);
                tasks.spawn(connection::serve(stream, Arc::clone(&self.shared), account, pid, drains.clone()));
            }
            Err(refusal) => {
                self.shared.counters.error(Code::ConnectionLimit);
                if self.shared.gate.pass() {
                    tracing::warn!(uid = peer.uid(), %refusal, "connection refused");
                } else {
                    self.shared.counters.log_lines_suppressed.add(1);
                }
                refuse(&stream, &refusal.to_string());
            }
        }
    }
}

/// Says why, as far as the empty send buffer of a new socket lets us, without waiting for anybody.
fn refuse(stream: &UnixStream, why: &str) {
    let mut bytes = BytesMut::new();
    let frame = ErrorFrame { stream: None, code: Code::ConnectionLimit, message: why.to_owned() };
    if forebay_wire::encode(&Frame::Error(frame), &mut bytes).is_ok() {
        let _ = stream.try_write(&bytes);
    }
}

/// Longest fact of a Status, in bytes: with four of them it fits one frame.
const LONGEST_FACT: usize = 200;

/// A text as a frame may have it: one line, no control characters, at most `max` bytes.
pub(crate) fn printable(text: &str, max: usize) -> String {
    let mut out = String::new();
    for c in text.chars().map(|c| if c.is_control() { ' ' } else { c }) {
        if out.len() + c.len_utf8() > max {
            break;
        }
        out.push(c);
    }
    out
}

/// How long connections that are closed may take to say why. More than a client that does not read is given, and enough
/// for ten thousand of them on a busy host; less than systemd waits for the daemon's end.
const LAST_WORDS: Duration = Duration::from_secs(5);

async fn join_all(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}
