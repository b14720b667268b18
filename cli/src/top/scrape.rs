//! One `GET /metrics` on a Unix socket, and its text as numbers by series.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::exit::Unreachable;

/// Longest answer read, in bytes: ours has 20 KiB. Whoever else listens there fills no memory.
const MOST: u64 = 1 << 20;

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// All series at one moment.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) at: super::Moment,
    series: BTreeMap<String, f64>,
}

impl Reading {
    pub(super) fn take(socket: &Path) -> anyhow::Result<Reading> {
        let shown = socket.display();
        let body = ask(socket).map_err(|e| {
            Unreachable(format!(
                "cannot read the daemon's metrics on {shown}: {e}; start forebayd-metrics.socket, or set `socket` under \
                 [metrics] in the daemon's config and give it here with --metrics-socket (`forebay status` needs neither)"
            ))
        })?;
        let reading = Reading::parse(&body);
        if reading.get("forebay_streams").is_none() {
            let told = format!("what answers on {shown} is no forebayd; give its metrics socket with --metrics-socket");
            return Err(Unreachable(told).into());
        }
        Ok(reading)
    }

    /// Reads the exposition format. A line that is none is left out.
    pub(super) fn parse(text: &str) -> Reading {
        let samples = text.lines().filter(|l| !l.starts_with('#')).filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            Some((series.to_owned(), value.parse().ok()?))
        });
        Reading { at: Instant::now(), series: samples.collect() }
    }

    pub(super) fn get(&self, series: &str) -> Option<f64> {
        self.series.get(series).copied()
    }

    /// Series of a name, by their labels as they are written.
    pub(super) fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
        let range = self.series.range(format!("{name}{{")..);
        range.map_while(move |(k, v)| Some((k.strip_prefix(name)?.strip_prefix('{')?.strip_suffix('}')?, *v)))
    }
}

/// The value of a label.
pub(super) fn label<'a>(labels: &'a str, name: &str) -> &'a str {
    let found = labels.split(',').find_map(|l| l.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'));
    found.unwrap_or_default()
}

fn ask(socket: &Path) -> std::io::Result<String> {
    let mut peer = UnixStream::connect(socket)?;
    peer.set_read_timeout(Some(PATIENCE))?;
    peer.set_write_timeout(Some(PATIENCE))?;
    peer.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    peer.take(MOST).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| std::io::Error::other("the answer is no HTTP"))?;
    if !head.starts_with("HTTP/1.1 200") {
        return Err(std::io::Error::other(format!(
            "it answered {}",
            head.lines().next().unwrap_or_default().escape_debug()
        )));
    }
    Ok(body.to_owned())
}
