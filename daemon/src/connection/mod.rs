//! One connection: the protocol's state machine, and the task that feeds it.
//!
//! - [`core`] is sans-io: frames in, frames out, `now` as an argument; [`handshake`] is how it begins.
//! - [`output`] encodes what a filter releases straight into the connection's write buffer, within the credit.
//! - [`stream`] is the state of one stream.
//! - [`work`] is what the core does for one stream at a time.
//! - [`task`] moves bytes between the socket and the core.
//! - [`grant`] gives a client a ring, [`on_ring`] moves bytes between that and the core.

mod core;
mod grant;
mod handshake;
mod on_ring;
mod output;
mod stream;
mod task;
mod work;

pub(crate) use task::{Drain, serve};
