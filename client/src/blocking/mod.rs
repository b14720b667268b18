//! The client for threads: one connection, one stream at a time, no runtime.
//!
//! ```no_run
//! use forebay_client::blocking::{Connection, FilterWriter};
//! use std::io::Write;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let connection = Connection::connect("/run/forebay/forebay.sock", Default::default())?;
//! let mut writer = FilterWriter::new(connection.into_stream("tool-output")?, std::io::stdout());
//! writer.write_all(b"some tool's output")?;
//! let (summary, findings) = writer.finish()?;
//! eprintln!("{summary:?} {findings:?}");
//! # Ok(())
//! # }
//! ```
//!
//! The socket is non-blocking inside, and every call polls for both directions: while bytes wait to be written,
//! whatever the daemon sends is read. Writing a stream of any size without reading in between therefore cannot
//! deadlock; what is read meanwhile goes to the caller's [`Sink`].

mod adapters;
mod connection;
mod stream;

pub use adapters::{FilterReader, FilterWriter};
pub use connection::Connection;
pub use stream::{Sink, Stream};
