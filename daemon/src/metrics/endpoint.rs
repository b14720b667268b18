//! `GET /metrics` over HTTP/1.1, on a Unix socket and on loopback.
//!
//! It is *not* a web server: one path, one method, no body read, no state. Hostile input is hyper's business; bounds on
//! time and number are here, so that who may connect can cost a few idle tasks and no more.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::text::{Format, text};
use crate::listener::Listener;
use crate::server::Shared;

/// Where metrics are served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsConfig {
    /// A Unix socket; `None`: none, or the one that systemd passes under the name `metrics`.
    pub socket: Option<PathBuf>,
    /// Permission bits of the socket file.
    pub socket_mode: u32,
    /// A loopback address: any user of this host can read it.
    pub listen: Option<SocketAddr>,
}

/// Requests answered at once. A scraper needs one; whoever opens more waits, and costs a descriptor of the backlog.
const AT_ONCE: usize = 8;

/// The longest a connection may last, in all: scrapers come every few seconds and may connect anew.
const LONGEST: Duration = Duration::from_secs(60);

/// From connecting to a whole head.
const HEAD: Duration = Duration::from_secs(5);

/// Sockets that answer once they are served.
#[derive(Debug, Default)]
pub struct Endpoint {
    unix: Option<Listener>,
    tcp: Option<std::net::TcpListener>,
}

impl Endpoint {
    /// Opens what the config names, and takes the socket that systemd passed, which comes before the config's.
    ///
    /// # Errors
    /// One line with the mend.
    pub fn open(config: &MetricsConfig, passed: Option<Listener>) -> Result<Endpoint, String> {
        let unix = match (passed, &config.socket) {
            (Some(passed), _) => Some(passed),
            (None, Some(path)) => Some(Listener::bind(path, config.socket_mode).map_err(|e| {
                format!("[metrics] socket {}: {e}; choose another path, or leave it out", path.display())
            })?),
            (None, None) => None,
        };
        let tcp = config.listen.map(std::net::TcpListener::bind).transpose().map_err(|e| {
            let at = config.listen.map(|a| a.to_string()).unwrap_or_default();
            format!("[metrics] listen {at}: {e}; choose another port, or allow AF_INET and the network in the unit")
        })?;
        Ok(Endpoint { unix, tcp })
    }

    /// The socket file that was bound here, if one was.
    pub fn path(&self) -> Option<&std::path::Path> {
        self.unix.as_ref().and_then(Listener::path)
    }

    /// Where it answers, for people; empty if nowhere.
    pub fn places(&self) -> Vec<String> {
        let unix = self.unix.as_ref().map(|l| match l.path() {
            Some(path) => format!("unix:{}", path.display()),
            None => "unix: from systemd".to_owned(),
        });
        let tcp = self.tcp.as_ref().and_then(|l| l.local_addr().ok()).map(|a| format!("http://{a}/metrics"));
        unix.into_iter().chain(tcp).collect()
    }

    /// Serves for as long as the future is polled. Sockets bound here are removed when it is dropped.
    pub async fn serve(self, shared: Arc<Shared>) -> io::Result<()> {
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        let unix = self.unix.as_ref().map(Listener::for_runtime).transpose()?;
        let tcp = self.tcp.map(|l| l.set_nonblocking(true).and_then(|()| TcpListener::from_std(l))).transpose()?;
        loop {
            let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return Ok(()) };
            let answer = |stream: Box<dyn Peer>| {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    let _slot = slot;
                    let _ = tokio::time::timeout(LONGEST, one(stream, shared)).await;
                });
            };
            let accepted = tokio::select! {
                peer = accept_unix(unix.as_ref()) => peer,
                peer = accept_tcp(tcp.as_ref()) => peer,
            };
            match accepted {
                Ok(stream) => answer(stream),
                Err(e) => {
                    tracing::warn!(error = %e, "a reader of metrics could not be accepted; raise LimitNOFILE if this repeats");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

trait Peer: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Peer for T {}

async fn accept_unix(listener: Option<&tokio::net::UnixListener>) -> io::Result<Box<dyn Peer>> {
    match listener {
        Some(l) => l.accept().await.map(|(s, _)| Box::new(s) as Box<dyn Peer>),
        None => std::future::pending().await,
    }
}

async fn accept_tcp(listener: Option<&TcpListener>) -> io::Result<Box<dyn Peer>> {
    match listener {
        Some(l) => l.accept().await.map(|(s, _)| Box::new(s) as Box<dyn Peer>),
        None => std::future::pending().await,
    }
}

async fn one(stream: Box<dyn Peer>, shared: Arc<Shared>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(answer(&request, &shared)) }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    // 8 KiB is hyper's least; a scraper's head has some hundreds of bytes.
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(8 << 10);
    if let Err(e) = http.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(error = %e, "a reader of metrics left");
    }
}

fn answer(request: &Request<Incoming>, shared: &Arc<Shared>) -> Response<Full<Bytes>> {
    let plain = |status: StatusCode, body: &'static str| {
        let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        response
    };
    if request.uri().path() != "/metrics" {
        return plain(StatusCode::NOT_FOUND, "there is only /metrics\n");
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "use GET\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let asked = request.headers().get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let format = if asked.contains("application/openmetrics-text") { Format::OpenMetrics } else { Format::Prometheus };
    match text(shared, format) {
        Ok(text) => {
            let mut response = Response::new(Full::new(Bytes::from(text)));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
            response
        }
        Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "the metrics could not be written; see the daemon's log\n"),
    }
}
