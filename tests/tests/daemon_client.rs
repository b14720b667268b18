//! The clients when things go wrong: fail policies, daemons that die or misbehave, streams larger than every window.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use forebay_client::blocking::{self, FilterReader, FilterWriter};
use forebay_client::{ConnectOptions, Connection, Error, Event, FailPolicy, Finding, Summary};
use forebay_scan::{Collected, Scratch, StreamFilter, TokenKey};
use forebay_tests::answers::without_tags;
use forebay_tests::daemon::{TestDaemon, rules};
use forebay_wire::{Credit, Frame, Held, Report, StreamId, Welcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn socket_path() -> PathBuf {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("forebay-client-test-{}-{serial}.sock", std::process::id()))
}

/// A wire to the daemon that breaks after so many bytes of the daemon's have passed.
struct Cut {
    path: PathBuf,
}

impl Cut {
    fn after(daemon: &Path, bytes: usize) -> anyhow::Result<Cut> {
        let path = socket_path();
        let listener = UnixListener::bind(&path)?;
        let daemon = UnixStream::connect(daemon)?;
        std::thread::spawn(move || -> std::io::Result<()> {
            let (client, _) = listener.accept()?;
            let (mut from_client, mut to_daemon) = (client.try_clone()?, daemon.try_clone()?);
            std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_daemon));
            std::io::copy(&mut (&daemon).take(bytes as u64), &mut &client)?;
            client.shutdown(Shutdown::Both)?;
            daemon.shutdown(Shutdown::Both)
        });
        Ok(Cut { path })
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn text() -> Vec<u8> {
    (0..400)
        .flat_map(|i| format!("row {i} of TICKET-{:04} is <cut here> done\n", i * 7 % 10_000).into_bytes())
        .collect()
}

/// What the engine has released of `text` when it has accounted for exactly `upto` bytes of it.
fn released_at(text: &[u8], upto: u64) -> anyhow::Result<Vec<u8>> {
    let mut filter = StreamFilter::new(rules("house")?, TokenKey::new([7; 32]));
    let (mut scratch, mut out) = (Scratch::default(), Collected::default());
    let mut n = 0;
    while filter.received() - filter.held() as u64 != upto {
        anyhow::ensure!(n < text.len(), "the engine never accounted for exactly {upto} bytes");
        filter.push(&text[n..=n], &mut scratch, &mut out)?;
        n += 1;
    }
    Ok(out.bytes)
}

fn check_open(text: &[u8], got: &[u8], summary: &Summary) -> anyhow::Result<bool> {
    let Some(unscanned) = &summary.unscanned else {
        assert!(summary.report.is_some());
        return Ok(false);
    };
    let mut expected = without_tags(&released_at(text, unscanned.from)?);
    expected.extend_from_slice(&text[usize::try_from(unscanned.from)?..]);
    assert!(without_tags(got) == expected, "lost or repeated bytes; unscanned from {}", unscanned.from);
    Ok(true)
}

#[test]
fn blocking_open_loses_and_repeats_nothing_wherever_the_wire_breaks() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let text = text();
    let mut broken = 0;
    for cut in (0..60).map(|i| i * i * 13) {
        let wire = Cut::after(daemon.path(), cut)?;
        let options = ConnectOptions::with_policy(FailPolicy::Open);
        let connection = blocking::Connection::connect(&wire.path, options)?;
        let mut got = Vec::new();
        let mut writer = FilterWriter::new(connection.into_stream("house")?, &mut got);
        for piece in text.chunks(1 + cut % 700) {
            writer.write_all(piece)?;
        }
        let (summary, _) = writer.finish()?;
        broken += usize::from(check_open(&text, &got, &summary)?);
    }
    assert!(broken > 40, "the wire hardly ever broke: {broken}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn async_open_loses_and_repeats_nothing_wherever_the_wire_breaks() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let text = text();
    let mut broken = 0;
    for cut in (0..60).map(|i| i * i * 13) {
        let wire = Cut::after(daemon.path(), cut)?;
        let connection = Connection::connect(&wire.path, ConnectOptions::with_policy(FailPolicy::Open)).await?;
        let (mut sender, mut receiver) = connection.open("house")?.split();
        let send = async {
            for piece in text.chunks(1 + cut % 700) {
                sender.write_all(piece).await?;
            }
            sender.shutdown().await
        };
        let mut got = Vec::new();
        let (sent, received) = tokio::join!(send, receiver.read_to_end(&mut got));
        sent?;
        received?;
        let summary = receiver.summary().cloned().unwrap_or_default();
        broken += usize::from(check_open(&text, &got, &summary)?);
    }
    assert!(broken > 40, "the wire hardly ever broke: {broken}");
    Ok(())
}

#[test]
fn closed_passes_only_scanned_bytes_and_says_that_it_failed() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let text = text();
    let whole = {
        let connection = blocking::Connection::connect(daemon.path(), ConnectOptions::default())?;
        let mut writer = FilterWriter::new(connection.into_stream("house")?, Vec::new());
        writer.write_all(&text)?;
        let mut out = std::mem::take(writer.get_mut());
        writer.flush()?;
        out.append(writer.get_mut());
        out
    };
    let mut failed = 0;
    for cut in (0..40).map(|i| i * i * 17) {
        let wire = Cut::after(daemon.path(), cut)?;
        let Ok(connection) = blocking::Connection::connect(&wire.path, ConnectOptions::default()) else {
            failed += 1;
            continue;
        };
        let mut got = Vec::new();
        let mut writer = FilterWriter::new(connection.into_stream("house")?, &mut got);
        let wrote = text.chunks(100).try_for_each(|piece| writer.write_all(piece));
        let finished = writer.finish();
        failed += usize::from(wrote.is_err() || finished.is_err());
        assert!(without_tags(&whole).starts_with(&without_tags(&got)), "something else than the scanned prefix");
    }
    assert!(failed > 20, "{failed}");
    Ok(())
}

#[test]
fn nobody_there() -> anyhow::Result<()> {
    let path = socket_path();
    let error = blocking::Connection::connect(&path, ConnectOptions::default()).err();
    assert!(matches!(&error, Some(Error::Connect { .. })), "{error:?}");
    assert!(error.map(|e| e.to_string()).unwrap_or_default().contains("start forebayd"));

    let connection = blocking::Connection::connect(&path, ConnectOptions::with_policy(FailPolicy::Open))?;
    let mut reader = FilterReader::new(connection.into_stream("house")?, &b"all of TICKET-1234"[..]);
    let mut got = Vec::new();
    reader.read_to_end(&mut got)?;
    assert_eq!(got, b"all of TICKET-1234");
    let unscanned = reader.summary().and_then(|s| s.unscanned.clone());
    assert_eq!(unscanned.as_ref().map(|u| u.from), Some(0));
    assert!(unscanned.is_some_and(|u| u.why.contains("cannot reach the daemon")));
    Ok(())
}

#[tokio::test]
async fn nobody_there_async() -> anyhow::Result<()> {
    let path = socket_path();
    assert!(matches!(Connection::connect(&path, ConnectOptions::default()).await, Err(Error::Connect { .. })));
    let connection = Connection::connect(&path, ConnectOptions::with_policy(FailPolicy::Open)).await?;
    let (mut sender, mut receiver) = connection.open("house")?.split();
    sender.write_all(b"as it is").await?;
    assert_eq!(receiver.next_event().await?, Some(Event::Unscanned(Bytes::from_static(b"as it is"))));
    sender.shutdown().await?;
    assert!(matches!(receiver.next_event().await?, Some(Event::End(Summary { unscanned: Some(_), .. }))));
    assert_eq!(receiver.next_event().await?, None);
    assert!(matches!(connection.status().await, Err(Error::Connect { .. })));
    Ok(())
}

#[test]
fn a_verdict_is_no_failure_that_open_would_pass() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let connection = blocking::Connection::connect(daemon.path(), ConnectOptions::with_policy(FailPolicy::Open))?;
    let mut got = Vec::new();
    let mut writer = FilterWriter::new(connection.into_stream("house-strict")?, &mut got);
    writer.write_all(format!("set {}{} and more", "latch_", "0123456789ab").as_bytes())?;
    let blocked = writer.flush().map_err(|e| e.kind());
    assert_eq!(blocked, Err(std::io::ErrorKind::PermissionDenied));
    let (summary, _) = writer.finish()?;
    assert_eq!(summary.report.and_then(|r| r.blocked_at), Some(4));
    assert_eq!(got, b"set ");
    Ok(())
}

struct Count(usize, usize);

impl blocking::Sink for Count {
    fn released(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0 += bytes.len();
        Ok(())
    }

    fn finding(&mut self, _: Finding) {
        self.1 += 1;
    }
}

/// One push far larger than every window and socket buffer, with nobody else to read.
#[test]
fn one_large_push_cannot_deadlock() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    for policy in [FailPolicy::Closed, FailPolicy::Open] {
        let connection = blocking::Connection::connect(daemon.path(), ConnectOptions::with_policy(policy))?;
        let mut stream = connection.into_stream("house")?;
        let mut got = Count(0, 0);
        let big = b"some plain text with <cut here> in it\n".repeat(60_000);
        stream.push(&big, &mut got)?;
        let summary = stream.finish(&mut got)?;
        assert_eq!(summary.unscanned, None, "a daemon that works is no reason to pass anything unscanned");
        assert_eq!((got.0, got.1), (big.len(), 60_000));
        assert!(summary.report.is_some_and(|r| r.received == big.len() as u64 && r.more > 0));
    }
    Ok(())
}

/// Findings alone are larger than the output window: under `Open` they are staged until a Held that waits for credit.
#[test]
fn dense_findings_cannot_deadlock_the_open_policy() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let connection = blocking::Connection::connect(daemon.path(), ConnectOptions::with_policy(FailPolicy::Open))?;
    let mut options = forebay_client::OpenOptions::new("house");
    options.window = 600;
    let mut stream = connection.into_stream(options)?;
    let mut got = Count(0, 0);
    stream.push(&b"<cut here>".repeat(20_000), &mut got)?;
    stream.finish(&mut got)?;
    assert_eq!((got.0, got.1), (200_000, 20_000));
    Ok(())
}

/// A daemon that says what the test wants.
fn fake_daemon(answers: Vec<Frame>, then: &'static [u8]) -> anyhow::Result<PathBuf> {
    let path = socket_path();
    let listener = UnixListener::bind(&path)?;
    std::thread::spawn(move || -> anyhow::Result<()> {
        let (mut client, _) = listener.accept()?;
        let mut out = BytesMut::new();
        for frame in &answers {
            forebay_wire::encode(frame, &mut out)?;
        }
        out.extend_from_slice(then);
        client.write_all(&out)?;
        // Keeps the connection until the client goes.
        client.read_to_end(&mut Vec::new())?;
        Ok(())
    });
    Ok(path)
}

fn welcome() -> Frame {
    Frame::Welcome(Welcome {
        version: 1,
        features: 0,
        max_payload: 16_384,
        max_streams: 10,
        stream_window: 65_536,
        connection_window: 65_536,
        fingerprint: [0; 32],
        daemon: "fake".to_owned(),
    })
}

#[test]
fn a_daemon_that_breaks_the_protocol_is_an_error() -> anyhow::Result<()> {
    let s = StreamId::FIRST;
    let released = Frame::Released { stream: s, bytes: Bytes::from(vec![b'x'; 16_384]) };
    let report = Report { complete: true, ..Report::default() };
    let far = StreamId::new(77).ok_or_else(|| anyhow::anyhow!("zero"))?;
    let lies: [(Vec<Frame>, &'static [u8]); 8] = [
        (vec![], b"\x00\x00\x00\x00\x99garbage.."),
        (vec![released; 5], b""),
        (vec![Frame::Held(s, Held { received: 10, held: 0 })], b""),
        (vec![Frame::Held(s, Held { received: 0, held: 1 })], b""),
        (vec![Frame::Report(s, report)], b""),
        (vec![Frame::Credit(Credit { stream: Some(s), bytes: u32::MAX })], b""),
        (vec![Frame::Finish(far)], b""),
        (vec![Frame::Status(forebay_wire::Status::default())], b""),
    ];
    for (n, (frames, raw)) in lies.into_iter().enumerate() {
        let path = fake_daemon(std::iter::once(welcome()).chain(frames).collect(), raw)?;
        // Welcome and lie may arrive together: then it is connecting that fails.
        let failed = match blocking::Connection::connect(&path, ConnectOptions::default()) {
            Err(e) => e,
            Ok(connection) => {
                let mut stream = connection.into_stream("house")?;
                let mut got = Count(0, 0);
                match stream.sync(&mut got).err().or(stream.finish(&mut got).err()) {
                    Some(e) => e,
                    None => anyhow::bail!("lie {n} was believed"),
                }
            }
        };
        assert!(matches!(failed, Error::Protocol(_)), "lie {n}: {failed:?}");
        std::fs::remove_file(path)?;
    }
    Ok(())
}

#[test]
fn a_daemon_that_says_nothing_is_a_timeout() -> anyhow::Result<()> {
    let silent = fake_daemon(vec![], b"")?;
    let options = ConnectOptions { timeout: Duration::from_millis(100), ..ConnectOptions::default() };
    let failed = blocking::Connection::connect(&silent, options.clone()).err();
    assert!(matches!(failed, Some(Error::Timeout(_))), "{failed:?}");

    let hangs = fake_daemon(vec![welcome()], b"")?;
    let mut stream = blocking::Connection::connect(&hangs, options)?.into_stream("house")?;
    let mut got = Count(0, 0);
    stream.push(b"text", &mut got)?;
    assert!(matches!(stream.finish(&mut got), Err(Error::Timeout(_))));
    Ok(())
}

#[tokio::test]
async fn a_daemon_that_says_nothing_is_a_timeout_async() -> anyhow::Result<()> {
    let hangs = fake_daemon(vec![welcome()], b"")?;
    let options = ConnectOptions { timeout: Duration::from_millis(100), ..ConnectOptions::default() };
    let connection = Connection::connect(&hangs, options).await?;
    let (mut sender, mut receiver) = connection.open("house")?.split();
    sender.write_all(b"text").await?;
    sender.shutdown().await?;
    assert!(matches!(receiver.next_event().await, Err(Error::Timeout(_))));
    Ok(())
}

#[tokio::test]
async fn a_dropped_half_is_told_to_the_other() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    for policy in [FailPolicy::Closed, FailPolicy::Open] {
        let connection = Connection::connect(daemon.path(), ConnectOptions::with_policy(policy)).await?;
        let (mut sender, mut receiver) = connection.open("house")?.split();
        sender.write_all(b"half of it").await?;
        drop(sender);
        let failed = loop {
            match receiver.next_event().await {
                Ok(Some(Event::End(summary))) => anyhow::bail!("half a stream ended as a whole one: {summary:?}"),
                Ok(_) => {}
                Err(e) => break e,
            }
        };
        assert!(matches!(failed, Error::GivenUp));

        let (mut sender, receiver) = connection.open("house")?.split();
        drop(receiver);
        let failed = sender.write_all(b"for nobody").await.map_err(|e| e.kind());
        assert_eq!(failed, Err(std::io::ErrorKind::BrokenPipe));
    }
    Ok(())
}

#[tokio::test]
async fn many_streams_on_one_connection_and_a_dropped_one_harms_none() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let connection = Connection::connect(daemon.path(), ConnectOptions::default()).await?;
    let mut tasks = Vec::new();
    for n in 0..200usize {
        let (mut sender, mut receiver) = connection.open("house")?.split();
        tasks.push(tokio::spawn(async move {
            sender.write_all(&vec![b'a'; n * 37 + 1]).await?;
            if n % 5 == 0 {
                return anyhow::Ok(());
            }
            sender.shutdown().await?;
            let mut got = Vec::new();
            receiver.read_to_end(&mut got).await?;
            anyhow::ensure!(got.len() == n * 37 + 1, "{n}: {}", got.len());
            Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    let status = connection.status().await?;
    assert_eq!(status.streams, 0);
    assert_eq!(status.counter("streams_opened_total"), 200);
    Ok(())
}
