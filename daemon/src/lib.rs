//! The Forebay daemon: puts the rooms together.
//!
//! A [`Server`] listens on a Unix stream socket, gives every connection one task, and every stream of it a
//! [`forebay_scan::StreamFilter`]. It is *not* where anything is decided: what is in the bytes is the scan crate's
//! business, how frames look is the wire crate's.
//!
//! - [`Config`] is the one TOML file; [`ServedProfiles`] are the rule sets it names, compiled.
//! - `connection` has the protocol's state machine without I/O (`core`) and the task that feeds it (`task`).
//! - [`Quotas`] charges what a peer uses to its user; [`Counters`] counts what happened.
//!
//! Invariants: no stream has a task, a timer or a buffer of its own while it is idle; whatever a client does, its
//! memory here is bounded by the windows it was granted and its user's quota; no lock is held while bytes are
//! scanned; no log line and no message contains bytes of a stream or the name of a session.
//! The attacker is any process that may connect to the socket.
#![forbid(unsafe_code)]

pub mod audit;
pub mod config;
mod connection;
pub mod exact_files;
mod keys;
pub mod listener;
pub mod load;
pub mod logging;
pub mod metrics;
mod passed;
mod profiles;
mod quota;
mod reload;
mod rule_cache;
pub mod sandbox;
mod server;

pub use config::{Config, ConfigError, Limits, Timeouts};
pub use keys::KeyRing;
pub use metrics::Counters;
pub use passed::Passed;
pub use profiles::{ServedProfile, ServedProfiles};
pub use quota::{Account, Quotas, Refusal};
pub use rule_cache::RuleCache;
pub use server::{Server, Service, Shared};

/// The daemon's version, as Welcome and Status tell it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
