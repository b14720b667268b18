//! Metrics as an operator gets them: text that parses, numbers that are true, names that the dashboard builds on, and an
//! endpoint that costs the daemon nothing whatever asks.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use forebay_client::ConnectOptions;
use forebay_client::blocking::{Connection, FilterWriter};
use forebay_tests::daemon::{PATIENCE, TestDaemon};

/// A daemon with metrics on a Unix socket of its own.
fn daemon() -> (TestDaemon, tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("metrics.sock");
    let daemon = TestDaemon::with(|c| {
        c.metrics.socket = Some(socket.clone());
        c.metrics.socket_mode = 0o600;
        c.audit.dir = Some(folder.path().join("audit"));
    });
    (daemon.unwrap(), folder, socket)
}

/// One request; head and body of the answer.
fn ask(socket: &Path, request: &str) -> (String, String) {
    let mut peer = UnixStream::connect(socket).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    peer.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

fn get(socket: &Path, accept: &str) -> (String, String) {
    ask(socket, &format!("GET /metrics HTTP/1.1\r\nHost: forebay\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"))
}

/// The value of a series, `name{labels}`.
type Series = BTreeMap<String, f64>;

/// Reads the exposition format 0.0.4 the way its description says, and panics where the text does not keep to it.
fn parse(text: &str) -> Series {
    let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
    let mut series = Series::new();
    let mut family = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("HELP has a name and a text");
            assert!(!help.is_empty() && !kinds.contains_key(name), "{line}");
            family = name;
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("TYPE has a name and a kind");
            assert_eq!(name, family, "TYPE follows the HELP of its family");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            kinds.insert(name, kind);
        } else {
            let (key, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value: {line}"));
            let (name, labels) = key.split_once('{').unwrap_or((key, ""));
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{line}");
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|s| name.strip_suffix(s)).unwrap_or(name);
            let kind = kinds.get(name).or(kinds.get(base)).unwrap_or_else(|| panic!("no TYPE before {line}"));
            assert!(*kind != "counter" || name.ends_with("_total"), "{line}");
            assert!(name == family || *kind == "histogram" && base == family, "{line} stands in the family {family}");
            for label in labels.strip_suffix('}').unwrap_or(labels).split(',').filter(|l| !l.is_empty()) {
                let (label, value) = label.split_once('=').unwrap_or_else(|| panic!("label in {line}"));
                assert!(label.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{line}");
                assert!(value.len() >= 2 && value.starts_with('"') && value.ends_with('"'), "{line}");
            }
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
            assert!(series.insert(key.to_owned(), value).is_none(), "twice: {line}");
        }
    }
    series
}

fn scrape(socket: &Path) -> Series {
    let (head, body) = get(socket, "*/*");
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/plain; version=0.0.4"), "{head}");
    parse(&body)
}

/// A whole stream, in pushes of `size`.
fn filter(daemon: &TestDaemon, profile: &str, text: &[u8], size: usize) -> usize {
    let connection = Connection::connect(daemon.path(), ConnectOptions::default()).unwrap();
    let mut out = Vec::new();
    let mut writer = FilterWriter::new(connection.into_stream(profile).unwrap(), &mut out);
    for piece in text.chunks(size) {
        let _ = writer.write_all(piece).and_then(|()| writer.flush());
    }
    let _ = writer.finish();
    out.len()
}

#[test]
fn the_numbers_are_what_was_done() {
    let (daemon, _folder, socket) = daemon();
    let before = scrape(&socket);
    assert_eq!(before["forebay_streams_opened_total"], 0.0);
    assert_eq!(before["forebay_rules_generation"], 1.0);
    let text = b"one TICKET-12345 two <cut here> and more\n".repeat(50);
    let out = filter(&daemon, "house", &text, 64);
    filter(&daemon, "house-strict", b"see latch_abcdefgh1 there", 5);
    daemon.wait(|s| s.connections == 0).unwrap();
    let mut broken = UnixStream::connect(daemon.path()).unwrap();
    broken.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    broken.read_to_end(&mut Vec::new()).unwrap();
    let after = scrape(&socket);

    assert_eq!(after["forebay_streams_opened_total"], 2.0);
    assert_eq!(after["forebay_streams_finished_total"], 2.0);
    assert_eq!(after["forebay_streams_blocked_total"], 1.0);
    assert_eq!(after["forebay_findings_total{family=\"pii\",action=\"replace\"}"], 50.0);
    assert_eq!(after["forebay_findings_total{family=\"secret\",action=\"block\"}"], 1.0);
    assert_eq!(after["forebay_findings_total{family=\"truncation\",action=\"flag\"}"], 50.0);
    let scanned = after["forebay_stream_bytes_total{direction=\"in\"}"];
    assert!(scanned >= text.len() as f64 && scanned <= (text.len() + 25) as f64, "{scanned}");
    assert!(after["forebay_stream_bytes_total{direction=\"out\"}"] >= out as f64);
    assert_eq!(after["forebay_errors_total{code=\"handshake-expected\",kind=\"violation\"}"], 1.0);
    assert_eq!(after["forebay_streams"], 0.0);
    assert_eq!(after["forebay_connections{transport=\"ring\"}"], 0.0);
    assert!(after["process_resident_memory_bytes"] > 1e6 && after["process_open_fds"] > 3.0);
    assert!(after["process_cpu_seconds_total"] > 0.0);

    // A push each for every piece that was scanned; the buckets add up; held is what a ticket's beginning holds.
    for name in ["forebay_push_duration_seconds", "forebay_held_bytes"] {
        let count = after[&format!("{name}_count")];
        assert!(count >= text.len().div_ceil(64) as f64, "{name} {count}");
        assert_eq!(after[&format!("{name}_bucket{{le=\"+Inf\"}}")], count);
        let buckets: Vec<f64> =
            after.iter().filter(|(k, _)| k.starts_with(&format!("{name}_bucket"))).map(|(_, v)| *v).collect();
        assert_eq!(buckets.len(), 24, "{name}");
        assert!(buckets.iter().all(|b| *b <= count));
    }
    assert!(after["forebay_push_duration_seconds_sum"] > 0.0 && after["forebay_push_duration_seconds_sum"] < 60.0);
    assert!(after["forebay_held_bytes_sum"] > 0.0);
}

#[test]
fn every_name_of_the_dashboard_exists() {
    let (_daemon, _folder, socket) = daemon();
    let series = scrape(&socket);
    let names: BTreeSet<&str> = series.keys().map(|k| k.split('{').next().unwrap()).collect();
    let text = include_str!("../../systemd/grafana-dashboard.json");
    let dashboard: serde_json::Value = serde_json::from_str(text).unwrap();
    let mut expressions = Vec::new();
    collect(&dashboard, &mut expressions);
    assert!(expressions.len() > 30, "the dashboard has {} expressions", expressions.len());
    let name = regex::Regex::new(r"\b(?:forebay|process)_[a-z_]+").unwrap();
    let mut used = BTreeSet::new();
    for expression in &expressions {
        for found in name.find_iter(expression) {
            assert!(names.contains(found.as_str()), "the dashboard asks for {}: {expression}", found.as_str());
            used.insert(found.as_str());
        }
    }
    // And what there is to see is shown, but for parts of histograms.
    for name in names.iter().filter(|n| !["_bucket", "_sum", "_count"].iter().any(|s| n.ends_with(s))) {
        let shown =
            used.contains(name) || ["forebay_streams_finished_total", "forebay_audit_failures_total"].contains(name);
        assert!(shown, "no panel shows {name}");
    }
}

fn collect<'a>(value: &'a serde_json::Value, out: &mut Vec<&'a str>) {
    match value {
        serde_json::Value::Object(o) => {
            for (key, v) in o {
                match v.as_str() {
                    Some(text) if key == "expr" => out.push(text),
                    _ => collect(v, out),
                }
            }
        }
        serde_json::Value::Array(a) => a.iter().for_each(|v| collect(v, out)),
        _ => {}
    }
}

#[test]
fn who_asks_for_openmetrics_gets_it_and_nothing_else_is_served() {
    let (_daemon, _folder, socket) = daemon();
    let (head, body) = get(&socket, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
    assert!(head.contains("application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(body.ends_with("# EOF\n"), "{body}");
    let close = "HTTP/1.1\r\nHost: forebay\r\nConnection: close\r\n\r\n";
    let (head, body) = ask(&socket, &format!("GET / {close}"));
    assert!(head.starts_with("HTTP/1.1 404") && body == "there is only /metrics\n", "{head}{body}");
    let (head, _) = ask(&socket, &format!("DELETE /metrics {close}"));
    assert!(head.starts_with("HTTP/1.1 405") && head.contains("allow: GET, HEAD"), "{head}");
    let (head, _) = ask(&socket, "nonsense\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    // A head that never ends is not kept.
    let mut peer = UnixStream::connect(&socket).unwrap();
    let long =
        peer.write_all(&b"GET /metrics HTTP/1.1\r\nX: ".iter().copied().chain([b'x'; 64 << 10]).collect::<Vec<_>>());
    let mut answer = String::new();
    let read = peer.read_to_string(&mut answer);
    assert!(long.is_err() || read.is_err() || answer.starts_with("HTTP/1.1 431") || answer.is_empty(), "{answer}");
    scrape(&socket);
}

#[test]
fn loopback_serves_too_and_idle_readers_do_not_keep_others_out_for_ever() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let daemon = TestDaemon::with(|c| c.metrics.listen = Some(port)).unwrap();
    // More than are answered at once, and none says a word.
    let idle: Vec<TcpStream> = (0..10).map(|_| TcpStream::connect(port).unwrap()).collect();
    let mut peer = TcpStream::connect(port).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    peer.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    parse(answer.split_once("\r\n\r\n").unwrap().1);
    // Streams never cared.
    assert!(filter(&daemon, "house", b"plain", 2) > 0);
    drop(idle);
}
