//! Options of connections and streams.

use std::time::Duration;

/// What happens to a stream when the daemon fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailPolicy {
    /// Any failure is an error; no byte passes that was not scanned.
    #[default]
    Closed,
    /// After a failure the rest of the stream passes unscanned, from the last byte that the daemon has accounted for;
    /// none is lost, none passes twice, and [`crate::Summary::unscanned`] says from where on. A verdict (a blocked
    /// stream) is not a failure.
    Open,
}

/// How the frames of a connection travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Through shared memory if the daemon grants it, else over the socket.
    #[default]
    Auto,
    /// Over the socket.
    Socket,
    /// Through shared memory, or not at all: [`crate::Error::NoRing`] where none is to be had.
    Ring,
}

/// Options of a connection.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// What happens when the daemon fails.
    pub policy: FailPolicy,
    /// How long the daemon may be silent while something is expected of it.
    pub timeout: Duration,
    /// How frames travel. The answers are the same.
    pub transport: Transport,
    /// This client's name, for the daemon's log.
    pub client: String,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        ConnectOptions {
            policy: FailPolicy::Closed,
            timeout: Duration::from_secs(30),
            transport: Transport::Auto,
            client: concat!("forebay-client/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl ConnectOptions {
    /// The default options with another fail policy.
    pub fn with_policy(policy: FailPolicy) -> Self {
        ConnectOptions { policy, ..ConnectOptions::default() }
    }
}

/// Options of a stream. `"tool-output".into()` asks for a profile and leaves the rest at its default.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The profile.
    pub profile: String,
    /// The session; streams of one session give the same value the same token. Empty: a key of its own.
    /// At most 80 bytes.
    pub session: Vec<u8>,
    /// How many bytes of output may wait here until they are taken; at least 512.
    pub window: u32,
}

/// Default output window, in bytes: as large as the daemon's default for input.
const WINDOW: u32 = 64 << 10;

impl OpenOptions {
    /// A stream of a profile.
    pub fn new(profile: impl Into<String>) -> Self {
        OpenOptions { profile: profile.into(), session: Vec::new(), window: WINDOW }
    }

    /// The same with a session.
    #[must_use]
    pub fn session(mut self, session: impl Into<Vec<u8>>) -> Self {
        self.session = session.into();
        self
    }
}

impl From<&str> for OpenOptions {
    fn from(profile: &str) -> Self {
        OpenOptions::new(profile)
    }
}

impl From<String> for OpenOptions {
    fn from(profile: String) -> Self {
        OpenOptions::new(profile)
    }
}
