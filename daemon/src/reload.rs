//! Hot swap: profiles, packs and files of exact values are read again, compiled beside the running streams, and put in
//! force at once.
//!
//! A stream keeps the rules it began with to its end; one that opens after the swap has the new ones. A configuration
//! that cannot be used changes nothing: the rules in force stay, and the reason is logged and shown by `forebay status`
//! until a reload succeeds. It is *not* a second way to configure: what is fixed at the start (socket, limits,
//! timeouts, logs) stays as it was, and is named if it changed.
//!
//! Invariants: no lock is held while rules are compiled; one reload at a time, so that memory holds at most two
//! generations besides those that open streams keep. The attacker: nobody who may not signal the daemon.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use crate::config::Config;
use crate::profiles::ServedProfiles;
use crate::server::{Shared, printable};

/// The rules in force, and how they came to be.
pub(crate) struct InForce {
    generation: ArcSwap<Generation>,
    /// Why the last reload changed nothing.
    error: Mutex<Option<String>>,
    /// Held by the reload that runs.
    turn: tokio::sync::Mutex<()>,
}

struct Generation {
    profiles: Arc<ServedProfiles>,
    since: Instant,
}

impl InForce {
    pub(crate) fn new(profiles: ServedProfiles) -> Self {
        InForce {
            generation: ArcSwap::from_pointee(Generation { profiles: Arc::new(profiles), since: Instant::now() }),
            error: Mutex::new(None),
            turn: tokio::sync::Mutex::new(()),
        }
    }

    /// The profiles for streams that open now.
    pub(crate) fn profiles(&self) -> Arc<ServedProfiles> {
        Arc::clone(&self.generation.load().profiles)
    }

    /// How long they have been in force.
    pub(crate) fn age(&self) -> Duration {
        self.generation.load().since.elapsed()
    }

    /// Why the last reload changed nothing; empty if there is no such.
    pub(crate) fn error(&self) -> String {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }

    fn told(&self, error: Option<String>) {
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }
}

impl Shared {
    /// Reads the config again with all that it names, compiles it on a thread of its own and puts it in force. Without a
    /// path the defaults are the config.
    ///
    /// # Errors
    /// One line with place and mend; the rules in force are the old ones then.
    pub async fn reload(self: &Arc<Self>, config: Option<&Path>) -> Result<(), String> {
        let _turn = self.in_force.turn.lock().await;
        let path: Option<PathBuf> = config.map(Path::to_owned);
        let shared = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || shared.load_again(path.as_deref())).await;
        let done = done.map(|d| d.map_err(|e| self.sandbox.explain(e)));
        match done.unwrap_or_else(|e| Err(format!("the reload did not end well: {e}; restart the daemon"))) {
            Ok(profiles) => {
                self.audit.reload(Ok(profiles.fingerprint()));
                let rules: usize = profiles.iter().map(|p| p.rules.rules().len()).sum();
                self.in_force
                    .generation
                    .store(Arc::new(Generation { profiles: Arc::new(profiles), since: Instant::now() }));
                self.in_force.told(None);
                self.counters.reloads.add(1);
                tracing::info!(rules, "reloaded: streams that open from now on have the new rules");
                Ok(())
            }
            Err(e) => {
                self.counters.reloads_failed.add(1);
                tracing::error!(error = %e, "not reloaded: the rules in force stay; mend this, then reload again");
                self.audit.reload(Err(printable(&e, forebay_wire::MAX_MESSAGE)));
                self.in_force.told(Some(printable(&e, forebay_wire::MAX_MESSAGE)));
                Err(e)
            }
        }
    }

    /// The slow part.
    fn load_again(&self, path: Option<&Path>) -> Result<ServedProfiles, String> {
        let config = match path {
            Some(path) => Config::load(path).map_err(|e| e.to_string())?,
            None => {
                Config { profiles: self.config.profiles.clone(), base: self.config.base.clone(), ..Config::default() }
            }
        };
        let profiles = ServedProfiles::of(&config)?;
        profiles.warn();
        if path.is_some() && !config.same_process(&self.config) {
            tracing::warn!(
                "socket, limits, timeouts, log, metrics, audit or sandbox of the config have changed; they wait for a restart"
            );
        }
        // Nobody waits for it, and no stream pays for an automaton later.
        profiles.iter().for_each(|p| p.rules.warm());
        Ok(profiles)
    }
}
