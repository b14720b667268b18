//! The session in `wire/PROTOCOL.md` is what a client and the daemon really say.

use std::fmt::Write as _;
use std::path::Path;

use bytes::{Bytes, BytesMut};
use forebay_tests::daemon::{RawPeer, TestDaemon};
use forebay_wire::{Credit, Frame, Hello, Open, StreamId};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../wire/PROTOCOL.md");
const BEGIN: &str = "<!-- session: begin";
const END: &str = "<!-- session: end -->";

#[test]
fn the_session_in_the_document_is_real() -> anyhow::Result<()> {
    let daemon = TestDaemon::start()?;
    let recorded = record(&daemon)?;
    let document = std::fs::read_to_string(Path::new(DOCUMENT))?;
    let (Some(begin), Some(end)) = (document.find(BEGIN), document.find(END)) else {
        anyhow::bail!("PROTOCOL.md has lost its session marks");
    };
    let start = begin + document[begin..].find('\n').unwrap_or(0) + 1;
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(DOCUMENT, format!("{}{recorded}{}", &document[..start], &document[end..]))?;
        return Ok(());
    }
    assert_eq!(&document[start..end], recorded, "run with FOREBAY_BLESS=1 if the change is meant");
    Ok(())
}

/// Plays the session; what the daemon says is waited for after each of the client's turns.
fn record(daemon: &TestDaemon) -> anyhow::Result<String> {
    let mut peer = RawPeer::connect(daemon)?;
    let mut text = String::from("```text\n");
    let one = StreamId::FIRST;
    let two = one.next().ok_or_else(|| anyhow::anyhow!("no second id"))?;
    let open = |stream, profile: &str, session: &'static [u8]| {
        Frame::Open(Open { stream, window: 65_536, profile: profile.to_owned(), session: Bytes::from_static(session) })
    };
    let turns = [
        (vec![Frame::Hello(Hello::new("example/1"))], 1),
        (
            vec![
                open(one, "house", b"run-17"),
                Frame::Data { stream: one, bytes: Bytes::from_static(b"one <cut here> two TICK") },
                Frame::Sync(one),
            ],
            3,
        ),
        (
            vec![
                Frame::Credit(Credit { stream: Some(one), bytes: 53 }),
                Frame::Data { stream: one, bytes: Bytes::from_static(b"ET\n") },
                Frame::Finish(one),
            ],
            2,
        ),
        (vec![open(two, "no-such", b"")], 1),
        (vec![Frame::Ping(*b"12345678")], 1),
    ];
    for (frames, answers) in turns {
        for frame in frames {
            peer.send(&frame)?;
            dump(&mut text, 'C', &frame)?;
        }
        for _ in 0..answers {
            let mut frame = peer.next()?.ok_or_else(|| anyhow::anyhow!("the daemon closed"))?;
            if let Frame::Welcome(w) = &mut frame {
                w.fingerprint = [0; 32];
            }
            dump(&mut text, 'D', &frame)?;
        }
    }
    text.push_str("```\n");
    Ok(text)
}

fn dump(text: &mut String, side: char, frame: &Frame) -> anyhow::Result<()> {
    let mut bytes = BytesMut::new();
    forebay_wire::encode(frame, &mut bytes)?;
    writeln!(text, "{side}  {}", summary(frame))?;
    // The header has its own row: twelve bytes.
    let rows = std::iter::once(&bytes[..12]).chain(bytes[12..].chunks(16));
    for row in rows {
        let hex: Vec<String> = row.iter().map(|b| format!("{b:02x}")).collect();
        let shown: String =
            row.iter().map(|b| if b.is_ascii_graphic() || *b == b' ' { char::from(*b) } else { '.' }).collect();
        writeln!(text, "   {:<47}  {}", hex.join(" "), shown.trim_end())?;
    }
    Ok(())
}

fn summary(frame: &Frame) -> String {
    let name = frame.frame_type().as_str();
    match frame {
        Frame::Open(o) => format!("{name} stream {} profile {:?}", o.stream, o.profile),
        Frame::Data { stream, bytes } | Frame::Released { stream, bytes } => {
            format!("{name} stream {stream} {:?}", String::from_utf8_lossy(bytes))
        }
        Frame::Finish(s) | Frame::Sync(s) => format!("{name} stream {s}"),
        Frame::Finding(s, f) => {
            format!("{name} stream {s} {} {}..{} {}", f.rule, f.start, f.end, f.action.as_str())
        }
        Frame::Held(s, h) => format!("{name} stream {s} received {} held {}", h.received, h.held),
        Frame::Report(s, r) => {
            let reasons: Vec<String> = r.reasons.iter().map(|x| format!("{} at {}", x.code, x.at)).collect();
            format!("{name} stream {s} complete {} received {} reasons {reasons:?}", r.complete, r.received)
        }
        Frame::Credit(c) => format!("{name} stream {} bytes {}", c.stream.map_or(0, StreamId::get), c.bytes),
        Frame::Error(e) => format!("{name} stream {} code {}", e.stream.map_or(0, StreamId::get), e.code.number()),
        _ => name.to_owned(),
    }
}
