//! The daemon's one TOML file, parsed into typed values with the line of every mistake.
//!
//! ```toml
//! socket = "/run/forebay/forebay.sock"     # left out when systemd passes the socket
//! socket_mode = "0660"
//! profiles = ["tool-output", "model-output", "/etc/forebay/profiles/house.toml"]
//! cache_dir = "/var/cache/forebay"        # under systemd: CacheDirectory= of the unit
//!
//! [limits]
//! streams_per_uid = 16384
//!
//! [timeouts]
//! idle = "1h"
//!
//! [log]
//! level = "info"
//! format = "json"
//!
//! [metrics]
//! socket = "/run/forebay/metrics.sock"     # left out when systemd passes the socket
//! listen = "127.0.0.1:9464"
//! ```

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use forebay_scan::Profile;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::audit::{AuditConfig, Fsync, OnFailure};
use crate::metrics::MetricsConfig;
use crate::sandbox::{SandboxConfig, SandboxMode};

/// Everything that can be configured.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen; `None` when systemd passes the socket.
    pub socket: Option<PathBuf>,
    /// Permission bits of the socket file. 0600 unless set: who may connect may ask for scans and read the status.
    pub socket_mode: u32,
    /// Built-in profile names and profile files.
    pub profiles: Vec<String>,
    /// Folder that relative paths in `profiles` start from.
    pub base: PathBuf,
    /// Folder where compiled rules are kept for the next start; `None`: they are compiled at each.
    pub cache_dir: Option<PathBuf>,
    /// Bounds.
    pub limits: Limits,
    /// Times.
    pub timeouts: Timeouts,
    /// Logs.
    pub log: LogConfig,
    /// Where metrics are served.
    pub metrics: MetricsConfig,
    /// What is recorded.
    pub audit: AuditConfig,
    /// What the daemon takes away from itself.
    pub sandbox: SandboxConfig,
    /// `file:line` of each entry of `profiles`, for errors; none if they come from elsewhere.
    pub profile_places: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            socket: None,
            socket_mode: 0o600,
            profiles: Profile::BUILTIN.iter().map(|p| (*p).to_owned()).collect(),
            base: PathBuf::from("."),
            cache_dir: from_systemd("CACHE_DIRECTORY"),
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            log: LogConfig::default(),
            metrics: MetricsConfig::default(),
            sandbox: SandboxConfig::default(),
            audit: AuditConfig { dir: from_systemd("LOGS_DIRECTORY"), ..AuditConfig::default() },
            profile_places: Vec::new(),
        }
    }
}

/// Bounds. Each default says which attack picked it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Open connections in all. A connection costs about 200 KiB of buffers at worst (read 32, write 128, scratch 20,
    /// besides its window): 1,024 of them are 200 MB.
    pub connections: u64,
    /// Open connections of one user: an agent with its tools uses a few dozen; a connect flood stops here.
    pub connections_per_uid: u64,
    /// Open streams in all. An idle stream is promised to cost at most 4 KiB: 65,536 of them are 256 MiB.
    pub streams: u64,
    /// Open streams of one user: a quarter of all, so that four hostile users still leave room.
    pub streams_per_uid: u64,
    /// Open streams of one connection.
    pub streams_per_connection: u64,
    /// Bytes waiting for slow readers in all.
    pub buffered_bytes: u64,
    /// Bytes waiting for slow readers of one user: a client that opens 16,384 streams and takes nothing back is cut
    /// off here, at a thousandth of what its windows add up to.
    pub buffered_bytes_per_uid: u64,
    /// Shared-memory rings in all; 0: none is granted, and everything goes over the socket.
    pub rings: u64,
    /// Rings of one user: half of the connections that it may have. A client beyond it is served over the socket.
    pub rings_per_uid: u64,
    /// Bytes of a ring in each direction: a power of two from 65,536 to 1,048,576. Twice the default `stream_window`, so
    /// that credit ends before the ring is full. Both rings are charged to their user as buffered bytes: a user with all
    /// of its rings has pinned 33 MiB.
    pub ring_bytes: u32,
    /// Descriptors in all: one a connection, and the two files of a ring until its client has taken them. A client that
    /// never does pins them in its socket.
    pub descriptors: u64,
    /// Descriptors of one user: all of its connections with all of its rings on their way.
    pub descriptors_per_uid: u64,
    /// Credit of a stream's Data, in bytes: what a client may have sent and the daemon not yet scanned.
    /// 64 KiB keep a local socket busy (1 GB/s times 50 µs of wake-up are 50 KB).
    pub stream_window: u32,
    /// Credit of a connection's Data over all streams, in bytes: bounds what a client with many blocked streams
    /// can pin, whatever their number.
    pub connection_window: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 1024,
            connections_per_uid: 256,
            streams: 65_536,
            streams_per_uid: 16_384,
            streams_per_connection: 16_384,
            buffered_bytes: 256 << 20,
            buffered_bytes_per_uid: 64 << 20,
            rings: 512,
            rings_per_uid: 128,
            ring_bytes: 128 << 10,
            descriptors: 2048,
            descriptors_per_uid: 512,
            stream_window: 64 << 10,
            connection_window: 256 << 10,
        }
    }
}

/// Times, written as `"500ms"`, `"5s"`, `"10m"` or `"1h"`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// From accept to a whole Hello: a half-open connection holds a slot no longer than this.
    #[serde(deserialize_with = "duration")]
    pub handshake: Duration,
    /// Longest silence of a client. Long, because a build may print nothing for an hour; a Ping counts as traffic.
    #[serde(deserialize_with = "duration")]
    pub idle: Duration,
    /// Longest time for which a client may leave output untaken: not read its socket, or give a stream no credit.
    #[serde(deserialize_with = "duration")]
    pub stall: Duration,
    /// How long open streams may take to finish after SIGTERM.
    #[serde(deserialize_with = "duration")]
    pub grace: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            handshake: Duration::from_secs(5),
            idle: Duration::from_secs(3600),
            stall: Duration::from_secs(300),
            grace: Duration::from_secs(30),
        }
    }
}

/// Logs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// `error`, `warn`, `info`, `debug`, `trace`, or a `tracing` filter.
    pub level: String,
    /// How lines look.
    pub format: LogFormat,
}

impl Default for LogConfig {
    fn default() -> Self {
        LogConfig { level: "info".to_owned(), format: LogFormat::Text }
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// A config that cannot be used: place, what is wrong, the mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// `file:line`.
    pub place: String,
    /// What is wrong and what to do about it.
    pub what: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for ConfigError {}

/// Longest config file, in bytes: people write it.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Most profiles: with [`forebay_wire::MAX_NAME`] this keeps a Status in one frame.
const MAX_PROFILES: usize = 64;

impl Config {
    /// Reads a config file.
    pub fn load(path: &Path) -> Result<Config, ConfigError> {
        let fail = |what: String| ConfigError { place: path.display().to_string(), what };
        // Not the size that the system tells: a device has none and never ends.
        let mut bytes = Vec::new();
        let file = fs::File::open(path).map_err(|e| fail(format!("cannot be read: {e}; mend the path")))?;
        file.take(MAX_CONFIG_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| fail(format!("cannot be read: {e}; mend the path")))?;
        if bytes.len() as u64 > MAX_CONFIG_BYTES {
            return Err(fail(format!("is larger than {MAX_CONFIG_BYTES} bytes, the most a config may have")));
        }
        let text = String::from_utf8(bytes).map_err(|e| {
            let line = 1 + e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
            fail(format!("is not UTF-8 in line {line}; save it as UTF-8 text"))
        })?;
        let mut config = Config::parse(&text, &path.display().to_string())?;
        if let Some(dir) = path.parent() {
            config.base = dir.to_owned();
            for named in
                [&mut config.cache_dir, &mut config.audit.dir, &mut config.audit.key_file].into_iter().flatten()
            {
                *named = dir.join(&named);
            }
        }
        Ok(config)
    }

    /// Parses a config. `origin` is the file name that errors show.
    pub fn parse(text: &str, origin: &str) -> Result<Config, ConfigError> {
        let at =
            |span: Range<usize>, what: String| ConfigError { place: format!("{origin}:{}", line(text, span)), what };
        let raw: Raw = toml::from_str(text).map_err(|e| {
            let message = e.message().trim().replace('\n', " ");
            at(e.span().unwrap_or(0..0), format!("{message}; see `forebayd --help` for the keys"))
        })?;
        let mut config = Config { limits: raw.limits.get_ref().clone(), ..Config::default() };
        if let Some((key, message)) = config.limits.fault() {
            let key_at = place_of_key(text, raw.limits.span().start, key);
            return Err(at(key_at..key_at, format!("[limits] {message}")));
        }
        config.timeouts = raw.timeouts;
        config.log = raw.log.get_ref().clone();
        if !["error", "warn", "info", "debug", "trace"].contains(&config.log.level.as_str()) {
            let what = format!("[log] level is `{}`; use error, warn, info, debug or trace", config.log.level);
            return Err(at(raw.log.span(), what));
        }
        raw.audit.get_ref().fill(&mut config.audit).map_err(|what| at(raw.audit.span(), what))?;
        config.sandbox = SandboxConfig { mode: raw.sandbox.mode, read: raw.sandbox.read };
        config.metrics = raw.metrics.get_ref().checked().map_err(|what| at(raw.metrics.span(), what))?;
        if let Some(socket) = raw.socket {
            if socket.get_ref().as_os_str().is_empty() {
                return Err(at(
                    socket.span(),
                    "socket is empty; give a path, or leave it out under systemd".to_owned(),
                ));
            }
            config.socket = Some(socket.into_inner());
        }
        if let Some(mode) = raw.socket_mode {
            config.socket_mode = file_mode(mode.get_ref()).map_err(|what| at(mode.span(), what))?;
        }
        if let Some(folder) = raw.cache_dir {
            // Empty: none, even where systemd names one.
            config.cache_dir = Some(folder).filter(|f| !f.as_os_str().is_empty());
        }
        if let Some(profiles) = raw.profiles {
            if profiles.get_ref().is_empty() || profiles.get_ref().len() > MAX_PROFILES {
                return Err(at(profiles.span(), format!("name 1 to {MAX_PROFILES} profiles")));
            }
            let place = |p: &Spanned<String>| format!("{origin}:{}", line(text, p.span()));
            config.profile_places = profiles.get_ref().iter().map(place).collect();
            config.profiles = profiles.into_inner().into_iter().map(Spanned::into_inner).collect();
        }
        Ok(config)
    }

    /// Whether everything is the same that a running process cannot change.
    pub(crate) fn same_process(&self, other: &Config) -> bool {
        (self.socket == other.socket || other.socket.is_none())
            && self.socket_mode == other.socket_mode
            && self.limits == other.limits
            && self.timeouts == other.timeouts
            && self.log == other.log
            && self.metrics == other.metrics
            && self.audit == other.audit
            && self.sandbox == other.sandbox
    }

    /// `file:line: ` of an entry of `profiles`, for errors; empty if it is nowhere.
    pub fn place_of_profile(&self, entry: &str) -> String {
        let named = self.profiles.iter().zip(&self.profile_places).find(|(p, _)| *p == entry);
        named.map_or_else(String::new, |(_, place)| format!("{place}: "))
    }
}

impl Limits {
    /// What makes the limits unusable, if anything does, and the key to mend.
    fn fault(&self) -> Option<(&'static str, String)> {
        const LEAST_WINDOW: u32 = 1024;
        let windows = [("stream_window", self.stream_window), ("connection_window", self.connection_window)];
        for (name, value) in windows {
            if !(LEAST_WINDOW..=forebay_wire::MAX_WINDOW).contains(&value) {
                return Some((name, format!("{name} is {value}; use {LEAST_WINDOW} to {}", forebay_wire::MAX_WINDOW)));
            }
        }
        if self.connection_window < self.stream_window {
            let what = format!(
                "connection_window ({}) is below stream_window ({}), and one stream could never use its credit; raise it",
                self.connection_window, self.stream_window
            );
            return Some(("connection_window", what));
        }
        if !forebay_wire::ring::is_capacity(self.ring_bytes) {
            let what = format!(
                "ring_bytes is {}; use a power of two from {} to {}",
                self.ring_bytes,
                forebay_wire::ring::MIN_CAPACITY,
                forebay_wire::ring::MAX_CAPACITY
            );
            return Some(("ring_bytes", what));
        }
        // With the fair share a total of one could never be given to anybody.
        let totals = [("connections", self.connections), ("streams", self.streams), ("descriptors", self.descriptors)];
        totals.iter().find(|(_, n)| *n < 2).map(|(name, n)| (*name, format!("{name} is {n}; use at least 2")))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    socket: Option<Spanned<PathBuf>>,
    socket_mode: Option<Spanned<String>>,
    profiles: Option<Spanned<Vec<Spanned<String>>>>,
    cache_dir: Option<PathBuf>,
    #[serde(default = "unplaced")]
    limits: Spanned<Limits>,
    #[serde(default)]
    timeouts: Timeouts,
    #[serde(default = "unplaced")]
    log: Spanned<LogConfig>,
    #[serde(default = "unplaced")]
    metrics: Spanned<RawMetrics>,
    #[serde(default = "unplaced")]
    audit: Spanned<RawAudit>,
    #[serde(default)]
    sandbox: RawSandbox,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawSandbox {
    mode: SandboxMode,
    read: Vec<PathBuf>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawAudit {
    dir: Option<PathBuf>,
    fsync: Option<Fsync>,
    fsync_interval: Option<String>,
    max_file_bytes: Option<u64>,
    keep_files: Option<u32>,
    on_failure: Option<OnFailure>,
    findings_per_stream: Option<u32>,
    key_file: Option<PathBuf>,
}

impl RawAudit {
    fn fill(&self, to: &mut AuditConfig) -> Result<(), String> {
        // Below this a file holds hardly more than the lines that begin it.
        const LEAST_FILE: u64 = 4096;
        let file = |f: &PathBuf| Some(f.clone()).filter(|f| !f.as_os_str().is_empty());
        if let Some(dir) = &self.dir {
            to.dir = file(dir);
        }
        to.key_file = self.key_file.as_ref().and_then(file);
        to.fsync = self.fsync.unwrap_or(to.fsync);
        if let Some(text) = &self.fsync_interval {
            to.fsync_interval = parse_duration(text)
                .ok_or_else(|| format!("[audit] fsync_interval `{text}` is no time; write \"1s\""))?;
        }
        to.max_file_bytes = self.max_file_bytes.unwrap_or(to.max_file_bytes);
        if to.max_file_bytes < LEAST_FILE {
            return Err(format!("[audit] max_file_bytes is {}; use at least {LEAST_FILE}", to.max_file_bytes));
        }
        to.keep_files = self.keep_files.unwrap_or(to.keep_files);
        to.on_failure = self.on_failure.unwrap_or(to.on_failure);
        to.findings_per_stream = self.findings_per_stream.unwrap_or(to.findings_per_stream);
        Ok(())
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawMetrics {
    socket: Option<PathBuf>,
    socket_mode: Option<String>,
    listen: Option<String>,
}

impl RawMetrics {
    fn checked(&self) -> Result<MetricsConfig, String> {
        let listen = match self.listen.as_deref() {
            None | Some("") => None,
            Some(text) => {
                let at: SocketAddr = text.parse().map_err(|_| {
                    format!("[metrics] listen `{text}` is no address; write it like \"127.0.0.1:9464\"")
                })?;
                // There is no login and no TLS: what leaves the host goes through something that has them.
                if !at.ip().is_loopback() {
                    return Err(format!("[metrics] listen {at} is not loopback; use 127.0.0.1 or [::1], and a proxy"));
                }
                Some(at)
            }
        };
        let socket = self.socket.clone().filter(|s| !s.as_os_str().is_empty());
        let mode = self.socket_mode.as_deref().map_or(Ok(0o600), file_mode);
        Ok(MetricsConfig { socket, socket_mode: mode.map_err(|what| format!("[metrics] {what}"))?, listen })
    }
}

fn file_mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|m| *m <= 0o777);
    mode.ok_or_else(|| format!("socket_mode `{text}` is no file mode; write it like \"0660\""))
}

fn unplaced<T: Default>() -> Spanned<T> {
    Spanned::new(0..0, T::default())
}

/// A folder that a unit names, as systemd tells it.
fn from_systemd(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|d| d.is_absolute())
}

/// Where `key` stands in the table that begins at `from`; there if it is not found (it has its default, or the table is in
/// braces on one line).
fn place_of_key(text: &str, from: usize, key: &str) -> usize {
    let mut at = from;
    for line in text[from..].split_inclusive('\n') {
        if at > from && line.trim_start().starts_with('[') {
            break;
        }
        if line.split_once('=').is_some_and(|(k, _)| k.trim() == key) {
            return at;
        }
        at += line.len();
    }
    from
}

fn line(text: &str, span: Range<usize>) -> usize {
    text.as_bytes().iter().take(span.start).filter(|b| **b == b'\n').count() + 1
}

fn duration<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(d)?;
    parse_duration(&text).ok_or_else(|| {
        serde::de::Error::custom(format!(
            "`{text}` is no time; write \"500ms\", \"5s\", \"10m\" or \"1h\" (1ms to 30 days)"
        ))
    })
}

fn parse_duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().ok()?;
    let ms = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let ms = number.checked_mul(ms)?;
    const LONGEST_MS: u64 = 30 * 24 * 3_600_000;
    (1..=LONGEST_MS).contains(&ms).then(|| Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Config::parse(text, "f.toml").err().map_or_else(|| "no error".to_owned(), |e| e.to_string())
    }

    #[test]
    fn a_whole_config() {
        let text = "socket = \"/tmp/s\"\nsocket_mode = \"0660\"\nprofiles = [\"prompt\"]\n[limits]\nstreams = 10\n\
                    [timeouts]\nidle = \"250ms\"\n[log]\nlevel = \"debug\"\nformat = \"json\"\n";
        let config = Config::parse(text, "f.toml").unwrap();
        assert_eq!(config.socket.as_deref(), Some(Path::new("/tmp/s")));
        assert_eq!(config.socket_mode, 0o660);
        assert_eq!(config.limits.streams, 10);
        assert_eq!(config.limits.stream_window, Limits::default().stream_window);
        assert_eq!(config.timeouts.idle, Duration::from_millis(250));
        assert_eq!(config.log.format, LogFormat::Json);
    }

    #[test]
    fn mistakes_name_their_line() {
        assert!(error("\n\nsokcet = \"x\"").starts_with("f.toml:3: unknown field `sokcet`"));
        assert!(error("[limits]\nstream = 1").starts_with("f.toml:2: unknown field `stream`"));
        assert!(error("[timeouts]\n\nidle = \"soon\"").starts_with("f.toml:3: `soon` is no time"));
        assert!(error("\nsocket_mode = \"9\"").starts_with("f.toml:2: socket_mode"));
        assert!(error("profiles = []").contains("name 1 to 64"));
        assert!(
            error("[limits]\n# c\nstream_window = 1").starts_with("f.toml:3: [limits] stream_window is 1; use 1024 to")
        );
        assert!(
            error("\n[limits]\nstreams = 9\nconnections = 1").starts_with("f.toml:4: [limits] connections is 1; use")
        );
        assert!(
            error("\nlimits = { streams = 9, connections = 1 }")
                .starts_with("f.toml:2: [limits] connections is 1; use")
        );
        let below = "[limits]\nstream_window = 2000000\n\nconnection_window = 2000";
        assert!(
            error(below).starts_with("f.toml:4: [limits] connection_window (2000) is below stream_window (2000000)")
        );
        assert!(
            error("[limits]\nstream_window = 2000000").starts_with("f.toml:1: [limits] connection_window (262144)")
        );
        assert!(
            error("[limits]\nring_bytes = 100000")
                .starts_with("f.toml:2: [limits] ring_bytes is 100000; use a power of two")
        );
        assert!(error("[log]\nformat = \"xml\"").starts_with("f.toml:2: unknown variant `xml`"));
        assert!(error("socket = ").starts_with("f.toml:1:"));
        assert!(error("\n[metrics]\nlisten = \"[::]:80\"").contains("is not loopback; use 127.0.0.1"));
        assert!(error("[metrics]\nlisten = \"here\"").contains("listen `here` is no address"));
        assert!(error("[metrics]\nsocket_mode = \"8\"").contains("[metrics] socket_mode `8` is no file mode"));
    }

    #[test]
    fn times() {
        assert_eq!(parse_duration("90s"), Some(Duration::from_secs(90)));
        for bad in ["", "5", "s", "5d", "0s", "-1s", "99999999999999999999h", "1.5s", "800h"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }
}
