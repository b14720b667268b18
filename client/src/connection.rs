//! A connection for tokio: many streams at once.

use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;

use forebay_wire::{Status, Welcome};
use tokio::net::UnixStream;

use crate::core::Core;
use crate::driver::{Shared, drive};
use crate::error::Error;
use crate::filter::Filter;
use crate::options::{ConnectOptions, FailPolicy, OpenOptions};

/// A connection to the daemon. Cheap to clone; it ends when the last clone and the last stream are gone.
///
/// ```no_run
/// use forebay_client::{ConnectOptions, Connection};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let connection = Connection::connect("/run/forebay/forebay.sock", ConnectOptions::default()).await?;
/// let (mut sender, mut receiver) = connection.open("tool-output")?.split();
/// let write = async {
///     sender.write_all(b"some tool's output").await?;
///     sender.shutdown().await
/// };
/// let mut clean = Vec::new();
/// let (written, read) = tokio::join!(write, receiver.read_to_end(&mut clean));
/// written?;
/// read?;
/// let findings = receiver.take_findings();
/// println!("{:?} {findings:?}", receiver.summary());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Connection {
    handle: Arc<Handle>,
}

/// Keeps the driver alive.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.abandon();
    }
}

impl Connection {
    /// Connects and shakes hands. Under [`FailPolicy::Open`] a daemon that cannot be reached is no error: streams of
    /// the connection then pass everything and their summaries say why.
    pub async fn connect(path: impl AsRef<Path>, options: ConnectOptions) -> Result<Connection, Error> {
        let path = path.as_ref();
        let core = Core::new(&options)?;
        let shared = Shared::new(core);
        match UnixStream::connect(path).await {
            Ok(socket) => {
                tokio::spawn(drive(socket, Arc::clone(&shared), options.clone()));
            }
            Err(e) => shared.lock().core.fail(Error::Connect { path: path.to_owned(), source: Arc::new(e) }),
        }
        let connection = Connection { handle: Arc::new(Handle { shared }) };
        let outcome = poll_fn(|cx| {
            let mut state = connection.handle.shared.lock();
            if state.core.connected() || state.core.failure().is_some() {
                return Poll::Ready(state.core.failure().cloned());
            }
            state.await_connection(cx.waker());
            Poll::Pending
        });
        match outcome.await {
            Some(e) if options.policy == FailPolicy::Closed => Err(e),
            _ => Ok(connection),
        }
    }

    /// What the daemon said of itself; `None` if it could not be reached (only under [`FailPolicy::Open`]).
    pub fn welcome(&self) -> Option<Welcome> {
        self.handle.shared.lock().core.welcome().cloned()
    }

    /// Whether frames go through shared memory. Under [`crate::Transport::Auto`] that may begin a little after connecting.
    pub fn uses_ring(&self) -> bool {
        self.handle.shared.lock().core.uses_ring()
    }

    /// Whether the daemon is shutting down: open the next stream on another connection.
    pub fn draining(&self) -> bool {
        self.handle.shared.lock().core.draining()
    }

    /// Opens a stream. An unknown profile or a full daemon shows at the first read.
    pub fn open(&self, options: impl Into<OpenOptions>) -> Result<Filter, Error> {
        let id = self.handle.shared.lock().core.open(options.into())?;
        self.handle.shared.notify();
        Ok(Filter::new(Arc::clone(&self.handle), id))
    }

    /// Asks for the daemon's state.
    pub async fn status(&self) -> Result<Status, Error> {
        self.handle.shared.lock().core.request_status()?;
        self.handle.shared.notify();
        poll_fn(|cx| {
            let mut state = self.handle.shared.lock();
            if let Some(status) = state.core.take_status() {
                return Poll::Ready(Ok(status));
            }
            if let Some(e) = state.core.failure() {
                return Poll::Ready(Err(e.clone()));
            }
            state.await_connection(cx.waker());
            Poll::Pending
        })
        .await
    }
}
