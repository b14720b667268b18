//! What systemd passes at the start: listening sockets, by name, and what an earlier process of this service left.
//!
//! The names come from `FileDescriptorName=` of the socket units. A socket with any other name than those here is the one
//! that clients connect to: a unit that names nothing works.

use std::io;

use crate::keys::{KeyRing, STORED};
use crate::listener::Listener;

/// Name of the socket that metrics are read from.
const METRICS: &str = "metrics";

/// Everything that was passed.
#[derive(Default)]
pub struct Passed {
    /// Where clients connect.
    pub clients: Option<Listener>,
    /// Where metrics are read.
    pub metrics: Option<Listener>,
    /// The secret of session tokens, as the process before this one had it.
    pub keys: Option<KeyRing>,
}

impl Passed {
    /// Takes what the environment names (`LISTEN_FDS`, `LISTEN_FDNAMES`). Call it once.
    ///
    /// # Errors
    /// Something that is no listening Unix stream socket, or two for one purpose.
    pub fn take() -> io::Result<Passed> {
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':');
        let mut fds = listenfd::ListenFd::from_env();
        let mut passed = Passed::default();
        for i in 0..fds.len() {
            let name = names.next().unwrap_or_default();
            if name == STORED {
                if let Some(memory) = fds.take_raw_fd(i)? {
                    // Without it sessions get new tokens, as after any start.
                    match KeyRing::from_stored(memory) {
                        Ok(keys) => passed.keys = Some(keys),
                        Err(e) => tracing::warn!(error = %e, "the stored key of session tokens cannot be read"),
                    }
                }
                continue;
            }
            let (place, unit) = match name {
                METRICS => (&mut passed.metrics, "forebayd-metrics.socket"),
                _ => (&mut passed.clients, "forebayd.socket"),
            };
            let Some(socket) = fds.take_unix_listener(i)? else { continue };
            if place.replace(Listener::passed(socket)).is_some() {
                return Err(io::Error::other(format!("systemd passed two; keep one ListenStream= in {unit}")));
            }
        }
        Ok(passed)
    }
}
