//! Measures a running daemon: memory of open streams, speed through the socket.
//!
//! ```text
//! forebayd --socket /tmp/f.sock & cargo run --release -p forebay-tests --bin daemon-load -- /tmp/f.sock $! 10000 tool-output FILE…
//! ```
//! One JSON line per measurement. Speeds are of one core-sharing client and daemon on whatever else the machine does:
//! compare them with the in-process line of the same run, not with another machine's.

use std::path::Path;
use std::time::Instant;

use forebay_client::blocking;
use forebay_client::{ConnectOptions, Connection, Event, Finding};
use forebay_scan::{Scratch, Sink, StreamFilter, TokenKey};
use forebay_tests::daemon::rules;
use tokio::io::AsyncWriteExt;

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: daemon-load SOCKET PID STREAMS PROFILE FILE…";
    let (Some(socket), Some(pid), Some(streams), Some(profile)) = (args.next(), args.next(), args.next(), args.next())
    else {
        anyhow::bail!(usage);
    };
    let mut text = Vec::new();
    for file in args {
        text.extend(std::fs::read(file)?);
    }
    anyhow::ensure!(!text.is_empty(), usage);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(idle(Path::new(&socket), &pid, streams.parse()?, &profile, &text))?;
    for size in [64, 4096, 16 << 10] {
        in_process(&profile, &text, size)?;
        pipelined(Path::new(&socket), &profile, &text, size)?;
        lockstep(Path::new(&socket), &profile, &text, size)?;
    }
    println!("{{\"measure\":\"resident after all\",\"kib\":{}}}", resident(&pid)?);
    Ok(())
}

/// Opens streams on one connection; then gives each some text, so that its filter has seen something.
async fn idle(socket: &Path, pid: &str, n: usize, profile: &str, text: &[u8]) -> anyhow::Result<()> {
    let before = resident(pid)?;
    let connection = Connection::connect(socket, ConnectOptions::default()).await?;
    let mut open = Vec::new();
    for _ in 0..n {
        open.push(connection.open(profile)?.split());
    }
    let status = connection.status().await?;
    anyhow::ensure!(status.streams as usize >= n, "only {} streams are open", status.streams);
    println!("{{\"measure\":\"idle streams\",\"streams\":{n},\"before_kib\":{before},\"kib\":{}}}", resident(pid)?);
    for (i, (sender, receiver)) in open.iter_mut().enumerate() {
        let at = i * 97 % text.len().saturating_sub(1000).max(1);
        sender.write_all(&text[at..(at + 1000).min(text.len())]).await?;
        sender.sync().await?;
        // The output is taken, as a client would.
        while let Ok(Ok(Some(Event::Released(_) | Event::Finding(_)))) =
            tokio::time::timeout(std::time::Duration::from_millis(0), receiver.next_event()).await
        {}
    }
    println!("{{\"measure\":\"idle after 1000 bytes each\",\"streams\":{n},\"kib\":{}}}", resident(pid)?);
    Ok(())
}

fn resident(pid: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).ok_or_else(|| anyhow::anyhow!("no VmRSS"))?;
    Ok(line.split_ascii_whitespace().nth(1).unwrap_or_default().parse()?)
}

#[derive(Default)]
struct Count(usize);

impl Sink for Count {
    fn release(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }

    fn finding(&mut self, _: &forebay_scan::Finding) {}
}

impl blocking::Sink for Count {
    fn released(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0 += bytes.len();
        Ok(())
    }

    fn finding(&mut self, _: Finding) {}
}

fn in_process(profile: &str, text: &[u8], size: usize) -> anyhow::Result<()> {
    let rules = rules(profile)?;
    let mut best = f64::MAX;
    for _ in 0..3 {
        let mut filter = StreamFilter::new(rules.clone(), TokenKey::new([7; 32]));
        let (mut scratch, mut out) = (Scratch::default(), Count::default());
        let start = Instant::now();
        for piece in text.chunks(size) {
            filter.push(piece, &mut scratch, &mut out)?;
        }
        filter.finish(&mut scratch, &mut out);
        best = best.min(start.elapsed().as_secs_f64());
    }
    speed("in process", size, text, best);
    Ok(())
}

fn pipelined(socket: &Path, profile: &str, text: &[u8], size: usize) -> anyhow::Result<()> {
    let mut best = f64::MAX;
    let mut connection = blocking::Connection::connect(socket, ConnectOptions::default())?;
    for _ in 0..3 {
        let mut out = Count::default();
        let mut stream = connection.open(profile)?;
        let start = Instant::now();
        for piece in text.chunks(size) {
            stream.push(piece, &mut out)?;
        }
        stream.finish(&mut out)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    speed("socket, pipelined", size, text, best);
    Ok(())
}

/// Push, wait until everything of it that may pass is there, push again.
fn lockstep(socket: &Path, profile: &str, text: &[u8], size: usize) -> anyhow::Result<()> {
    let connection = blocking::Connection::connect(socket, ConnectOptions::default())?;
    let mut stream = connection.into_stream(profile)?;
    let mut out = Count::default();
    let mut times = Vec::new();
    for piece in text.chunks(size).take(20_000) {
        let start = Instant::now();
        stream.push(piece, &mut out)?;
        stream.sync(&mut out)?;
        times.push(start.elapsed().as_nanos());
    }
    stream.finish(&mut out)?;
    times.sort_unstable();
    let at = |q: usize| times.get(times.len() * q / 100).copied().unwrap_or(0);
    println!(
        "{{\"measure\":\"socket, push and wait\",\"push_bytes\":{size},\"ns_p50\":{},\"ns_p99\":{}}}",
        at(50),
        at(99)
    );
    Ok(())
}

fn speed(what: &str, size: usize, text: &[u8], seconds: f64) {
    let mb_per_s = text.len() as f64 / 1e6 / seconds;
    println!("{{\"measure\":\"{what}\",\"push_bytes\":{size},\"mb_per_s\":{mb_per_s:.1}}}");
}
