//! Client of the Forebay daemon: send a stream, get back what may pass, the findings and the report.
//!
//! Two flavours over one sans-io core: [`Connection`] for tokio, [`blocking::Connection`] for threads. It is thin: it
//! knows the wire, no rules, and never decides what is in the bytes.
//!
//! What happens when the daemon fails is the caller's choice, made in [`ConnectOptions::policy`]:
//! [`FailPolicy::Closed`] turns any failure into an error and passes no byte that was not scanned;
//! [`FailPolicy::Open`] passes the rest of the stream unscanned and says so in [`Summary::unscanned`].
//!
//! A daemon that grants a ring is talked to through shared memory, and nothing else changes: [`Transport`].
//!
//! Invariants: writing never deadlocks against reading (both adapters read while they write); what the daemon can
//! make this process buffer is bounded by the windows granted to it, whoever answers on that socket.
#![forbid(unsafe_code)]

pub mod blocking;
mod connection;

mod core;
mod driver;
mod error;
mod filter;

mod ids;
mod offer;
mod options;
mod ring_side;
mod stream_state;

pub use connection::Connection;
pub use error::Error;
pub use filter::{Filter, Receiver, Sender};

pub use forebay_wire::{Action, Code, Family, Finding, Held, Reason, Report, Severity, Status, Welcome};
pub use options::{ConnectOptions, FailPolicy, OpenOptions, Transport};
pub use stream_state::{Event, Summary, Unscanned};
