//! Soak: a real daemon under mixed load for a while, and what must be flat is flat.
//!
//! ```text
//! cargo run --release -p forebay-tests --bin soak -- [SECONDS]        1200 unless given
//! ```
//! Everything is its own: daemon, folder, clients, all bounded. Load: long streams and short ones, one-byte pushes and
//! large ones, texts full of findings, streams that a rule blocks, clients that leave in the middle, readers that read
//! slowly, garbage instead of frames; and a reload every two seconds, every third with a broken file. Audit log, metrics
//! and sandbox are on, and the audit log is put aside all the time.
//!
//! Checked: every stream ends with the right bytes or with an error at its client; memory, descriptors and threads do not
//! grow (the slope over the last three quarters, times the time, against a bound); the audit chain holds; the daemon ends
//! with code 0.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use forebay_client::blocking::{Connection, FilterWriter};
use forebay_client::{ConnectOptions, OpenOptions};
use forebay_tests::cuts::Seed;
use forebay_tests::daemon::HOUSE;

/// What happened to streams.
#[derive(Default)]
struct Ends {
    whole: AtomicU64,
    blocked: AtomicU64,
    left: AtomicU64,
    bytes: AtomicU64,
}

struct Sample {
    at: f64,
    resident: f64,
    descriptors: f64,
    threads: f64,
}

fn main() -> anyhow::Result<()> {
    let seconds: u64 = std::env::args().nth(1).map_or(Ok(1200), |s| s.parse()).context("give a number of seconds")?;
    let folder = std::env::temp_dir().join(format!("forebay-soak-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let done = soak(&folder, Duration::from_secs(seconds));
    let _ = std::fs::remove_dir_all(&folder);
    done
}

fn soak(folder: &Path, time: Duration) -> anyhow::Result<()> {
    let profiles = HOUSE.map(|p| format!("{p:?}")).join(", ");
    let config = folder.join("forebayd.toml");
    let good = format!(
        "profiles = [{profiles}]\n[audit]\ndir = \"audit\"\nmax_file_bytes = 4000000\nkeep_files = 4\n\
         [metrics]\nsocket = {:?}\n[log]\nlevel = \"error\"\n",
        folder.join("m.sock")
    );
    std::fs::write(&config, &good)?;
    let socket = folder.join("s.sock");
    let log = std::fs::File::create(folder.join("log"))?;
    let program = std::env::current_exe()?.with_file_name("forebayd");
    ensure!(program.is_file(), "{} is not there; build it: cargo build -p forebayd", program.display());
    let child = Command::new(program)
        .arg("--config")
        .arg(&config)
        .arg("--socket")
        .arg(&socket)
        .stderr(Stdio::from(log))
        .spawn()?;
    let mut daemon = Daemon(child);
    let began = Instant::now();
    while Connection::connect(&socket, ConnectOptions::default()).is_err() {
        ensure!(began.elapsed() < Duration::from_secs(60), "the daemon does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }

    let (stop, ends) = (Arc::new(AtomicBool::new(false)), Arc::new(Ends::default()));
    let workers: Vec<_> = (0..6u64)
        .map(|i| {
            let (stop, ends, socket) = (Arc::clone(&stop), Arc::clone(&ends), socket.clone());
            std::thread::spawn(move || load(&socket, i, &stop, &ends))
        })
        .collect();
    let samples = watch(&daemon, &config, &good, &socket, time);
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
    }
    let samples = samples?;
    let status = Connection::connect(&socket, ConnectOptions::default())?.status()?;
    daemon.stop()?;
    judge(&samples)?;
    let audit = forebayd::audit::read::check(&folder.join("audit"), None)?;
    let (opened, finished) = (status.counter("streams_opened_total"), status.counter("streams_finished_total"));
    let n = |c: &AtomicU64| c.load(Ordering::Relaxed);
    ensure!(n(&ends.whole) + n(&ends.blocked) == finished, "the daemon tells of {finished} finished streams");
    ensure!(opened >= finished && n(&ends.left) > 0 && n(&ends.blocked) > 0, "not all kinds of load were there");
    // A disk that is busy elsewhere may be slower than the findings come; what that costs is told, and must be little.
    let (kept, lost) = (status.counter("audit_records_total"), status.counter("audit_lost_records_total"));
    ensure!(lost * 100 <= kept, "{lost} audit records of {kept} were lost");
    println!(
        "{} streams whole, {} blocked, {} left by their clients, {} MB scanned; {} reloads, {} refused; audit: {} lines in \
         {} files, the chain holds, {lost} records lost",
        n(&ends.whole),
        n(&ends.blocked),
        n(&ends.left),
        status.counter("bytes_in_total") / 1_000_000,
        status.counter("reloads_total"),
        status.counter("reloads_failed_total"),
        audit.last,
        audit.files
    );
    Ok(())
}

/// Reloads, and looks at the process once in a while.
fn watch(daemon: &Daemon, config: &Path, good: &str, socket: &Path, time: Duration) -> anyhow::Result<Vec<Sample>> {
    let began = Instant::now();
    let mut samples = Vec::new();
    let every = (time / 100).clamp(Duration::from_millis(200), Duration::from_secs(5));
    let (mut reloads, mut last_reload) = (0, Instant::now());
    while began.elapsed() < time {
        if last_reload.elapsed() > Duration::from_secs(2) {
            last_reload = Instant::now();
            reloads += 1;
            let broken = reloads % 3 == 0;
            std::fs::write(config, if broken { "profiles = [\"no-such\"]\n" } else { good })?;
            ensure!(Command::new("kill").args(["-HUP", &daemon.0.id().to_string()]).status()?.success(), "no SIGHUP");
            let status = Connection::connect(socket, ConnectOptions::default())?.status()?;
            ensure!(status.profiles.len() == HOUSE.len(), "a reload changed the profiles");
        }
        samples.push(daemon.sample(began.elapsed())?);
        std::thread::sleep(every);
    }
    Ok(samples)
}

/// Growth over the last three quarters, by the slope of a line through the samples.
fn judge(samples: &[Sample]) -> anyhow::Result<()> {
    let late = &samples[samples.len() / 4..];
    ensure!(late.len() > 10, "too few samples");
    let span = late[late.len() - 1].at - late[0].at;
    // Memory: a tenth, or 8 MiB: buffers of the moment come and go. Descriptors: the load's own, a few at any time.
    // Threads: a reload's compilation and the blocking pool come and go.
    let resident = slope(late, |s| s.resident) * span;
    let start = late.iter().map(|s| s.resident).fold(f64::MAX, f64::min);
    let (descriptors, threads) = (slope(late, |s| s.descriptors) * span, slope(late, |s| s.threads) * span);
    println!(
        "over {span:.0} s: resident {:.1} MiB {:+.2} MiB, descriptors {:+.2}, threads {:+.2} ({} samples)",
        start / 1048576.0,
        resident / 1048576.0,
        descriptors,
        threads,
        late.len()
    );
    ensure!(resident < (start / 10.0).max(8.0 * 1048576.0), "memory grows");
    ensure!(descriptors < 4.0, "descriptors grow");
    ensure!(threads < 3.0, "threads grow");
    Ok(())
}

fn slope(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    let n = samples.len() as f64;
    let (x, y) = (samples.iter().map(|s| s.at).sum::<f64>() / n, samples.iter().map(&of).sum::<f64>() / n);
    let up: f64 = samples.iter().map(|s| (s.at - x) * (of(s) - y)).sum();
    let down: f64 = samples.iter().map(|s| (s.at - x).powi(2)).sum();
    up / down.max(f64::EPSILON)
}

struct Daemon(Child);

impl Daemon {
    fn sample(&self, at: Duration) -> anyhow::Result<Sample> {
        let proc = PathBuf::from(format!("/proc/{}", self.0.id()));
        let status = std::fs::read_to_string(proc.join("status")).context("the daemon is gone")?;
        let field = |name: &str| -> Option<f64> {
            status.lines().find_map(|l| l.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
        };
        Ok(Sample {
            at: at.as_secs_f64(),
            resident: field("VmRSS:").context("no VmRSS")? * 1024.0,
            threads: field("Threads:").context("no Threads")?,
            descriptors: std::fs::read_dir(proc.join("fd"))?.count() as f64,
        })
    }

    fn stop(&mut self) -> anyhow::Result<()> {
        ensure!(Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status()?.success(), "no SIGTERM");
        let ended = self.0.wait()?;
        ensure!(ended.success(), "the daemon ended with {ended}");
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One client after the other, of all kinds, until it is told to stop. An answer that is not the right one is an error.
fn load(socket: &Path, worker: u64, stop: &AtomicBool, ends: &Ends) -> anyhow::Result<()> {
    let mut seed = Seed(worker + 1);
    while !stop.load(Ordering::Relaxed) {
        match seed.below(8) {
            0 => whole(socket, &mut seed, ends, 1, 300, 0)?,
            1 => whole(socket, &mut seed, ends, 40, 20_000, 0)?,
            2 => whole(socket, &mut seed, ends, 100_000, 400_000, 0)?,
            3 => whole(socket, &mut seed, ends, 500, 8_000, 3)?,
            4 => blocked(socket, ends)?,
            5 => leaves(socket, ends)?,
            6 => {
                let mut peer = UnixStream::connect(socket)?;
                let _ = peer.write_all(b"not a frame at all, and longer than a header");
            }
            _ => several(socket, ends)?,
        }
    }
    Ok(())
}

/// A stream in pushes of up to `push` bytes, that must come out as it should. `slow`: ms between pushes.
fn whole(socket: &Path, seed: &mut Seed, ends: &Ends, push: usize, bytes: usize, slow: u64) -> anyhow::Result<()> {
    let line = b"one TICKET-12345 two <cut here> and plain text after it\n";
    let n = bytes / line.len() + 1;
    let text = line.repeat(n);
    let stream = Connection::connect(socket, ConnectOptions::default())?
        .into_stream(OpenOptions::new("house").session("soak"))?;
    let mut writer = FilterWriter::new(stream, Vec::new());
    let mut rest = &text[..];
    while !rest.is_empty() {
        let take = (seed.below(push) + 1).min(rest.len());
        writer.write_all(&rest[..take])?;
        rest = &rest[take..];
        if slow > 0 {
            std::thread::sleep(Duration::from_millis(slow));
        }
    }
    writer.flush()?;
    let held_until_here = writer.get_mut().len();
    ensure!(held_until_here > 0, "nothing was released before the end");
    let out = std::mem::take(writer.get_mut());
    writer.finish()?;
    let lines: Vec<&[u8]> = out.split_inclusive(|b| *b == b'\n').collect();
    ensure!(lines.len() == n, "{} lines came out of {n}", lines.len());
    let first = lines[0];
    ensure!(first.starts_with(b"one FBY_") && first.ends_with(b" two <cut here> and plain text after it\n"), "wrong");
    ensure!(lines.iter().all(|l| *l == first), "two tokens for one value");
    ends.whole.fetch_add(1, Ordering::Relaxed);
    ends.bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
    Ok(())
}

fn blocked(socket: &Path, ends: &Ends) -> anyhow::Result<()> {
    let stream = Connection::connect(socket, ConnectOptions::default())?.into_stream("house-strict")?;
    let mut out = Vec::new();
    let mut writer = FilterWriter::new(stream, &mut out);
    let written = writer.write_all(b"see latch_abcdefgh1 there").and_then(|()| writer.flush());
    if let Err(e) = written {
        ensure!(e.to_string().contains("blocked at byte 4"), "a stream that must be blocked was not: {e}");
    }
    let (summary, _) = writer.finish()?;
    ensure!(summary.report.and_then(|r| r.blocked_at) == Some(4), "a stream that must be blocked was not");
    ensure!(out == b"see ", "{} bytes of a blocked stream came", out.len());
    ends.blocked.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Goes away in the middle of a span.
fn leaves(socket: &Path, ends: &Ends) -> anyhow::Result<()> {
    let stream = Connection::connect(socket, ConnectOptions::default())?.into_stream("house")?;
    let mut writer = FilterWriter::new(stream, Vec::new());
    writer.write_all(b"half of a TICKET-12")?;
    writer.flush()?;
    ensure!(writer.get_mut().as_slice() == b"half of a ", "what is held came out");
    ends.left.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Streams one after the other on one connection.
fn several(socket: &Path, ends: &Ends) -> anyhow::Result<()> {
    let mut connection = Connection::connect(socket, ConnectOptions::default())?;
    for _ in 0..20 {
        let mut out = Vec::new();
        let mut writer = FilterWriter::new(connection.open("house")?, &mut out);
        writer.write_all(b"a few plain words")?;
        writer.finish()?;
        ensure!(out == b"a few plain words", "plain words were changed");
        ends.whole.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
