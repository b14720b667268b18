//! What can go wrong between a client and its daemon.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use forebay_wire::Code;

/// A failure. Cheap to clone: one broken connection fails all its streams with the same error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Nobody answers on the socket.
    #[error("cannot reach the daemon on {}: {source}; {}", path.display(), mend(source))]
    Connect {
        /// The socket path.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The connection broke.
    #[error("the connection to the daemon broke: {0}; see its log")]
    Io(Arc<io::Error>),
    /// The daemon closed the connection while it was needed.
    #[error("the daemon closed the connection; see its log")]
    Closed,
    /// The daemon ended the connection with a typed error.
    #[error("the daemon ended the connection: {message} ({code})")]
    Daemon {
        /// The error code.
        code: Code,
        /// The daemon's words.
        message: String,
    },
    /// The daemon ended the stream, or refused to open it, with a typed error.
    #[error("the daemon ended the stream: {message} ({code})")]
    Stream {
        /// The error code.
        code: Code,
        /// The daemon's words.
        message: String,
    },
    /// The daemon sent what the protocol does not allow.
    #[error("the daemon broke the protocol: {0}; its version may not fit this client's")]
    Protocol(String),
    /// There is no ring, and [`crate::Transport::Ring`] asks for one.
    #[error("there is no ring: {0}; or let the client choose the way")]
    NoRing(String),
    /// The daemon was silent for too long.
    #[error("the daemon did not answer for {0:?}; see whether it hangs")]
    Timeout(Duration),
    /// A rule blocked the stream. Not a failure of the daemon: no fail policy lets these bytes pass.
    #[error("the stream was blocked at byte {at}; nothing from there on is passed")]
    Blocked {
        /// Input offset of the span that a rule blocked.
        at: u64,
    },
    /// Something was asked of a stream that is over.
    #[error("the stream is over; open another one")]
    Finished,
    /// The other half of the stream was dropped before the end.
    #[error("the stream was given up before its end; finish it before dropping a half of it")]
    GivenUp,
    /// A name or session id above its bound.
    #[error("{0}")]
    Invalid(String),
    /// The caller's own reader, writer or sink failed.
    #[error("passing the stream on failed: {0}")]
    Caller(Arc<io::Error>),
}

impl Error {
    pub(crate) fn io(e: io::Error) -> Self {
        Error::Io(Arc::new(e))
    }

    pub(crate) fn caller(e: io::Error) -> Self {
        Error::Caller(Arc::new(e))
    }

    /// Whether the fail policy has a say: true for failures of daemon and connection, false for verdicts and for
    /// mistakes of the caller, which no policy turns into passed bytes.
    pub fn is_failure(&self) -> bool {
        !matches!(
            self,
            Error::Blocked { .. }
                | Error::Finished
                | Error::GivenUp
                | Error::Invalid(_)
                | Error::Caller(_)
                | Error::Stream { code: Code::UnknownProfile, .. }
        )
    }
}

impl From<Error> for io::Error {
    fn from(e: Error) -> Self {
        let kind = match &e {
            Error::Connect { source, .. } => source.kind(),
            Error::Io(source) | Error::Caller(source) => source.kind(),
            Error::Closed => io::ErrorKind::UnexpectedEof,
            Error::Timeout(_) => io::ErrorKind::TimedOut,
            Error::Blocked { .. } => io::ErrorKind::PermissionDenied,
            Error::Protocol(_) => io::ErrorKind::InvalidData,
            Error::NoRing(_) => io::ErrorKind::Unsupported,
            Error::GivenUp => io::ErrorKind::BrokenPipe,
            Error::Finished | Error::Invalid(_) => io::ErrorKind::InvalidInput,
            Error::Daemon { .. } | Error::Stream { .. } => io::ErrorKind::Other,
        };
        io::Error::new(kind, e)
    }
}

/// What to do about a socket that cannot be connected to.
fn mend(source: &io::Error) -> &'static str {
    if source.kind() == io::ErrorKind::PermissionDenied {
        "join the group that owns the socket, or widen `socket_mode` in the daemon's config"
    } else {
        "start forebayd, or give the right socket path"
    }
}
