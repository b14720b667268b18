//! The ring against the socket against the engine in this process: the same bytes, findings and reports, whatever the
//! sizes and the cuts; and what happens where there is no ring to be had, or it breaks.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;

use forebay_client::blocking::Connection as Blocking;
use forebay_client::{ConnectOptions, Connection, Error, Event, FailPolicy, OpenOptions, Summary, Transport};
use forebay_scan::{Collected, Scratch, StreamFilter, TokenKey};
use forebay_tests::answers::{Got, without_tags};
use forebay_tests::bin_path::bin_path;
use forebay_tests::cuts::Seed;
use forebay_tests::daemon::{HOUSE, TestDaemon, rules};
use forebay_wire::ring::{MIN_CAPACITY, RingFiles, send_files};
use forebay_wire::{FEATURE_RING, Frame, RingOffer, Status, Welcome};
use tokio::io::AsyncWriteExt;

fn options(transport: Transport) -> ConnectOptions {
    ConnectOptions { transport, ..ConnectOptions::default() }
}

/// Streams of one session have the same tokens, so their outputs can be compared to the byte.
fn house() -> OpenOptions {
    OpenOptions::new("house").session("one")
}

fn text(seed: u64, len: usize) -> Vec<u8> {
    let mut seed = Seed(seed);
    let mut text = Vec::with_capacity(len + 64);
    while text.len() < len {
        match seed.below(9) {
            0 => text.extend(format!("TICKET-{:04} ", seed.below(10_000)).bytes()),
            1 => text.extend_from_slice(b"<cut here> "),
            2 => text.extend_from_slice("一行中文。".as_bytes()),
            3 => text.extend_from_slice(&[0xff, 0xfe, b'\n']),
            n => text.extend(std::iter::repeat_n(b'a' + n as u8, 1 + seed.below(60)).chain([b' '])),
        }
    }
    text.truncate(len);
    text
}

fn blocking(connection: &mut Blocking, text: &[u8], cuts: &[usize], sync: usize) -> anyhow::Result<(Got, Summary)> {
    let mut got = Got::default();
    let mut stream = connection.open(house())?;
    let mut from = 0;
    for (i, to) in cuts.iter().copied().chain([text.len()]).enumerate() {
        match i % sync {
            0 => drop(stream.exchange(&text[from..to], &mut got)?),
            1 => stream.push(&text[from..to], &mut got).and_then(|()| stream.sync(&mut got).map(drop))?,
            _ => stream.push(&text[from..to], &mut got)?,
        }
        from = to;
    }
    let summary = stream.finish(&mut got)?;
    Ok((got, summary))
}

fn in_process(text: &[u8]) -> anyhow::Result<(Collected, forebay_scan::Report)> {
    let mut filter = StreamFilter::new(rules("house")?, TokenKey::new([1; 32]));
    let (mut scratch, mut out) = (Scratch::default(), Collected::default());
    filter.push(text, &mut scratch, &mut out)?;
    let report = filter.finish(&mut scratch, &mut out);
    Ok((out, report))
}

#[test]
fn ring_socket_and_engine_say_the_same() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let mut ring = Blocking::connect(daemon.path(), options(Transport::Ring))?;
    assert!(ring.uses_ring());
    let mut socket = Blocking::connect(daemon.path(), options(Transport::Socket))?;
    assert!(!socket.uses_ring());
    let mut seed = Seed(1);
    // Around the pieces of a frame, the credit of a stream, and a ring of 128 KiB, more than once around.
    let sizes = [0, 1, 64, 4096, 16_383, 16_384, 16_385, 65_535, 65_537, 131_072, 400_001];
    for (round, (len, mean)) in sizes.iter().flat_map(|l| [1 + l / 400, 700, 40_000].map(|m| (*l, m))).enumerate() {
        let text = text(round as u64, len);
        let cuts = seed.cuts(len, mean);
        let sync = 1 + seed.below(20);
        let (by_ring, ring_summary) = blocking(&mut ring, &text, &cuts, sync)?;
        let (by_socket, socket_summary) = blocking(&mut socket, &text, &seed.cuts(len, 3000), usize::MAX)?;
        assert!(by_ring == by_socket, "round {round}: {len} bytes in pieces of about {mean}");
        assert_eq!(ring_summary, socket_summary);
        let (here, report) = in_process(&text)?;
        assert!(without_tags(&by_ring.bytes) == without_tags(&here.bytes), "round {round}");
        assert_eq!(by_ring.findings.len(), here.findings.len());
        for (f, g) in by_ring.findings.iter().zip(&here.findings) {
            assert_eq!((f.start, f.end), (g.span.start, g.span.end));
        }
        let told = ring_summary.report.ok_or_else(|| anyhow::anyhow!("no report"))?;
        assert_eq!((told.complete, told.received, told.more), (report.complete, len as u64, report.more));
    }
    let status = daemon.status();
    assert_eq!(status.counter("rings_granted_total"), 1);
    assert!(status.counter("ring_bytes_in_total") > 1_000_000, "the bytes went through the ring");
    assert_eq!(status.counter("errors_ring_violation_total"), 0);
    Ok(())
}

#[test]
fn many_async_streams_on_one_ring() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    for threads in [1, 2] {
        let runtime = match threads {
            1 => tokio::runtime::Builder::new_current_thread().enable_all().build()?,
            n => tokio::runtime::Builder::new_multi_thread().worker_threads(n).enable_all().build()?,
        };
        runtime.block_on(async {
            let connection = Connection::connect(daemon.path(), options(Transport::Ring)).await?;
            assert!(connection.uses_ring());
            let mut tasks = tokio::task::JoinSet::new();
            for n in 0..12 {
                let connection = connection.clone();
                tasks.spawn(async move {
                    let text = Arc::new(text(n, 150_000 + 1000 * n as usize));
                    let (mut sender, mut receiver) = connection.open(house())?.split();
                    let (mut got, input) = (Got::default(), Arc::clone(&text));
                    let write = async move {
                        let mut from = 0;
                        for to in Seed(n).cuts(input.len(), 900).into_iter().chain([input.len()]) {
                            sender.write_all(&input[from..to]).await?;
                            from = to;
                        }
                        sender.shutdown().await?;
                        anyhow::Ok(())
                    };
                    let read = async {
                        loop {
                            match receiver.next_event().await? {
                                Some(Event::Released(bytes)) => got.bytes.extend_from_slice(&bytes),
                                Some(Event::Finding(f)) => got.findings.push(f),
                                Some(Event::End(_)) | None => return anyhow::Ok(()),
                                Some(other) => anyhow::bail!("{other:?}"),
                            }
                        }
                    };
                    let (written, read) = tokio::join!(write, read);
                    written?;
                    read?;
                    let (here, _) = in_process(&text)?;
                    assert!(without_tags(&got.bytes) == without_tags(&here.bytes), "stream {n}");
                    assert_eq!(got.findings.len(), here.findings.len());
                    anyhow::Ok(())
                });
            }
            while let Some(done) = tasks.join_next().await {
                done??;
            }
            anyhow::ensure!(connection.status().await?.counter("ring_bytes_in_total") > 1_500_000);
            anyhow::Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn who_gets_no_ring_is_served_over_the_socket() -> anyhow::Result<()> {
    // None at all; none beyond the user's own; none without memory for it, or descriptors.
    type Change = fn(&mut forebayd::config::Limits);
    let changes: [(u64, Change); 4] = [
        (0, |l| l.rings = 0),
        (1, |l| l.rings_per_uid = 1),
        (1, |l| l.buffered_bytes_per_uid = 300 << 10),
        (1, |l| l.descriptors_per_uid = 3),
    ];
    for (granted, change) in changes {
        let daemon = TestDaemon::with(|c| change(&mut c.limits))?;
        let text = text(7, 100_000);
        let mut connections = Vec::new();
        for n in 0..2 {
            let mut connection = Blocking::connect(daemon.path(), options(Transport::Auto))?;
            let (got, _) = blocking(&mut connection, &text, &[50_000], 1)?;
            assert!(without_tags(&got.bytes) == without_tags(&in_process(&text)?.0.bytes));
            assert_eq!(connection.uses_ring(), n < granted);
            connections.push(connection);
        }
        let third = Blocking::connect(daemon.path(), options(Transport::Ring));
        assert!(matches!(&third, Err(Error::NoRing(why)) if why.contains("limits.rings")), "{third:?}");
        assert_eq!(daemon.status().counter("rings_granted_total"), granted);
        // What was charged comes back with the connection.
        connections.clear();
        daemon.wait(|s| s.connections == 0)?;
        let again = Blocking::connect(daemon.path(), options(Transport::Auto))?;
        daemon.wait(|s| s.counter("rings_granted_total") == 2 * granted)?;
        drop(again);
    }
    Ok(())
}

#[test]
fn a_daemon_that_drains_says_so_through_the_ring() -> anyhow::Result<()> {
    let mut daemon = TestDaemon::start()?;
    let mut connection = Blocking::connect(daemon.path(), options(Transport::Ring))?;
    let mut got = Got::default();
    {
        let mut stream = connection.open(house())?;
        stream.push(b"before ", &mut got)?;
        stream.sync(&mut got)?;
        daemon.stop();
        // A stream that is open may finish, while new ones are refused.
        std::thread::sleep(Duration::from_millis(100));
        stream.push(b"and after", &mut got)?;
        stream.finish(&mut got)?;
    }
    assert_eq!(got.bytes, b"before and after");
    assert!(connection.draining());
    assert!(connection.status().is_err());
    daemon.join()
}

/// A client asleep on a word is told of the daemon's end at once, not when its patience ends.
#[test]
fn a_daemon_that_goes_wakes_who_sleeps() -> anyhow::Result<()> {
    let mut daemon = TestDaemon::with(|c| c.timeouts.grace = Duration::from_millis(300))?;
    let mut connection = Blocking::connect(daemon.path(), options(Transport::Ring))?;
    let mut stream = connection.open(OpenOptions { window: 512, ..house() })?;
    let mut got = Got::default();
    stream.push(b"left open", &mut got)?;
    stream.sync(&mut got)?;
    let began = Instant::now();
    let sleeper = std::thread::scope(|s| {
        let sleeper = s.spawn(|| {
            // Nothing more comes: asks again and again until the connection ends.
            loop {
                stream.sync(&mut got)?;
                stream.push(b".", &mut got)?;
                std::thread::sleep(Duration::from_millis(1));
            }
            #[allow(unreachable_code)]
            Ok::<(), Error>(())
        });
        daemon.stop();
        sleeper.join()
    });
    let ended = sleeper.map_err(|_| anyhow::anyhow!("the sleeper panicked"))?;
    assert!(matches!(&ended, Err(Error::Daemon { .. })), "{ended:?}");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    Ok(())
}

/// Who listens may be no daemon. What is not sealed is not mapped: it could shrink under the reader.
#[test]
fn an_impostor_s_files_are_not_touched() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("impostor.sock");
    let listener = UnixListener::bind(&socket)?;
    let welcome = Welcome {
        version: 1,
        features: FEATURE_RING,
        max_payload: 16_384,
        max_streams: 1,
        stream_window: 65_536,
        connection_window: 65_536,
        fingerprint: [0; 32],
        daemon: "impostor".to_owned(),
    };
    let impostor = std::thread::spawn(move || -> anyhow::Result<()> {
        for _ in 0..2 {
            let (mut client, _) = listener.accept()?;
            let mut input = BytesMut::new();
            loop {
                let mut out = BytesMut::new();
                match forebay_wire::decode(&mut input)? {
                    Some(Frame::Hello(_)) => {
                        forebay_wire::encode(&Frame::Welcome(welcome.clone()), &mut out)?;
                        client.write_all(&out)?;
                        out.clear();
                        let capacities = (MIN_CAPACITY, MIN_CAPACITY);
                        let offer = RingOffer { to_daemon: capacities.0, to_client: capacities.1 };
                        forebay_wire::encode(&Frame::RingOffer(offer), &mut out)?;
                        // Plain files, empty: whoever maps and reads them is killed by a signal.
                        let file = || tempfile::tempfile().map(Into::into);
                        send_files(&client, &out, &RingFiles { to_daemon: file()?, to_client: file()?, capacities })?;
                    }
                    Some(Frame::StatusRequest) => {
                        forebay_wire::encode(&Frame::Status(Status::default()), &mut out)?;
                        client.write_all(&out)?;
                    }
                    Some(other) => anyhow::bail!("{other:?}"),
                    None => {
                        let mut chunk = [0; 512];
                        match client.read(&mut chunk)? {
                            0 => break,
                            n => input.extend_from_slice(&chunk[..n]),
                        }
                    }
                }
            }
        }
        Ok(())
    });
    let mut connection = Blocking::connect(&socket, options(Transport::Auto))?;
    assert_eq!(connection.status()?, Status::default());
    assert!(!connection.uses_ring());
    drop(connection);
    let refused = Blocking::connect(&socket, options(Transport::Ring));
    assert!(matches!(&refused, Err(Error::NoRing(why)) if why.contains("not sealed")), "{refused:?}");
    drop(refused);
    impostor.join().map_err(|_| anyhow::anyhow!("the impostor panicked"))?
}

/// `kill -9` of the daemon while both sides work on the ring: the client is told in time, and a policy that lets bytes pass
/// loses and repeats none.
#[test]
fn a_daemon_that_is_killed_is_noticed_on_the_ring() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("forebay.sock");
    let config = folder.path().join("forebayd.toml");
    std::fs::write(&config, format!("profiles = [{:?}]\n", HOUSE[0]))?;
    for round in 0..6 {
        let mut daemon = Command::new(bin_path("forebayd"))
            .arg("--config")
            .arg(&config)
            .arg("--socket")
            .arg(&socket)
            .stderr(Stdio::null())
            .spawn()?;
        let began = Instant::now();
        let mut connection = loop {
            let options = ConnectOptions { policy: FailPolicy::Open, ..options(Transport::Ring) };
            match Blocking::connect(&socket, options) {
                Ok(connection) if connection.uses_ring() => break connection,
                _ => anyhow::ensure!(began.elapsed() < Duration::from_secs(30), "the daemon does not start"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(3 * round * round));
            let killed = daemon.kill().and_then(|()| daemon.wait());
            killed.map(|_| Instant::now())
        });
        let mut got = Got::default();
        let (mut sent, mut n) = (Vec::new(), 0u32);
        let mut stream = connection.open(OpenOptions::new("house"))?;
        // Until well after the end: the last pushes find nobody.
        while !killer.is_finished() || n % 64 > 0 {
            n += 1;
            let piece = format!("line {n} of a text with nothing in it\n");
            sent.extend_from_slice(piece.as_bytes());
            stream.push(piece.as_bytes(), &mut got)?;
            if n % 3 == 0 {
                let _ = stream.sync(&mut got)?;
            }
        }
        let summary = stream.finish(&mut got)?;
        let killed = killer.join().map_err(|_| anyhow::anyhow!("the killer panicked"))??;
        assert!(killed.elapsed() < Duration::from_secs(5), "noticed after {:?}", killed.elapsed());
        assert!(summary.unscanned.is_some(), "it was killed: {summary:?}");
        assert!(got.bytes == sent, "round {round}: bytes were lost or repeated");
    }
    Ok(())
}
