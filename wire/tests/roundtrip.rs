//! Every frame comes back as it went; no bytes make the decoder panic, and how they arrive changes nothing.
#![allow(clippy::unwrap_used)] // A strategy that cannot make its value is a fault of the test.

use bytes::{Bytes, BytesMut};
use forebay_wire::{
    Action, Code, Credit, ErrorFrame, Family, Finding, Frame, FrameCodec, FrameType, Goaway, HEADER_LEN, Held, Hello,
    MAX_MESSAGE, MAX_NAME, MAX_PAYLOAD, MAX_REASONS, Open, ProfileStatus, Reason, Report, RingOffer, Severity, Status,
    StreamId, Welcome, WireError, decode, encode, put_data,
};
use proptest::prelude::*;
use tokio_util::codec::{Decoder, Encoder};

fn name() -> impl Strategy<Value = String> {
    "[a-z.一-十-]{0,40}".prop_filter("fits", |s| s.len() <= MAX_NAME)
}

fn content() -> impl Strategy<Value = Bytes> {
    proptest::collection::vec(any::<u8>(), 1..300).prop_map(Bytes::from)
}

fn id() -> impl Strategy<Value = StreamId> {
    (1..=u32::MAX).prop_map(|n| StreamId::new(n).unwrap())
}

fn finding() -> impl Strategy<Value = Finding> {
    (any::<u64>(), any::<u32>(), 1u8..=5, 1u8..=5, 1u8..=4, name()).prop_map(|(start, length, f, s, a, rule)| Finding {
        start: start / 2,
        end: start / 2 + u64::from(length),
        family: Family::from_number(f).unwrap(),
        severity: Severity::from_number(s).unwrap(),
        action: Action::from_number(a).unwrap(),
        rule,
    })
}

fn report() -> impl Strategy<Value = Report> {
    let reasons = proptest::collection::vec((name(), any::<u64>()).prop_map(|(code, at)| Reason { code, at }), 0..=32);
    (any::<bool>(), any::<Option<u64>>(), any::<u64>(), any::<u64>(), reasons).prop_map(
        |(complete, blocked_at, received, more, reasons)| Report { complete, blocked_at, received, more, reasons },
    )
}

fn status() -> impl Strategy<Value = Status> {
    let profile = (name(), any::<u32>(), any::<[u8; 32]>()).prop_map(|(name, rules, fingerprint)| ProfileStatus {
        name,
        rules,
        fingerprint,
    });
    let profiles = proptest::collection::vec(profile, 0..20);
    let counters = proptest::collection::vec((name(), any::<u64>()), 0..30);
    let facts = proptest::collection::vec((name(), name()), 0..5);
    (name(), any::<u64>(), any::<u32>(), any::<u32>(), profiles, counters, any::<u64>(), name(), facts).prop_map(
        |(daemon, uptime_ms, connections, streams, profiles, counters, rules_age_ms, reload_error, facts)| Status {
            daemon,
            uptime_ms,
            connections,
            streams,
            profiles,
            counters,
            rules_age_ms,
            reload_error,
            facts,
        },
    )
}

fn frame() -> impl Strategy<Value = Frame> {
    let code = any::<u16>().prop_map(Code::from_number);
    prop_oneof![
        (any::<u16>(), any::<u16>(), any::<u32>(), name()).prop_map(|(a, b, features, client)| Frame::Hello(Hello {
            min: a.min(b),
            max: a.max(b),
            features,
            client
        })),
        (any::<u16>(), any::<[u32; 5]>(), any::<[u8; 32]>(), name()).prop_map(|(version, n, fingerprint, daemon)| {
            let [features, max_payload, max_streams, stream_window, connection_window] = n;
            Frame::Welcome(Welcome {
                version,
                features,
                max_payload,
                max_streams,
                stream_window,
                connection_window,
                fingerprint,
                daemon,
            })
        }),
        (id(), 0..=i32::MAX as u32, name(), proptest::collection::vec(any::<u8>(), 0..80)).prop_map(
            |(stream, window, profile, session)| Frame::Open(Open { stream, window, profile, session: session.into() })
        ),
        (id(), content()).prop_map(|(stream, bytes)| Frame::Data { stream, bytes }),
        id().prop_map(Frame::Finish),
        id().prop_map(Frame::Sync),
        (id(), code.clone()).prop_map(|(stream, code)| Frame::Reset { stream, code }),
        (id(), content()).prop_map(|(stream, bytes)| Frame::Released { stream, bytes }),
        (id(), finding()).prop_map(|(s, f)| Frame::Finding(s, f)),
        (id(), any::<u64>(), any::<u64>()).prop_map(|(s, received, held)| Frame::Held(s, Held { received, held })),
        (id(), report()).prop_map(|(s, r)| Frame::Report(s, r)),
        (proptest::option::of(id()), 1..=u32::MAX).prop_map(|(stream, bytes)| Frame::Credit(Credit { stream, bytes })),
        any::<[u8; 8]>().prop_map(Frame::Ping),
        any::<[u8; 8]>().prop_map(Frame::Pong),
        (proptest::option::of(id()), code, "[a-zA-Z ;:一-十]{0,200}")
            .prop_map(|(stream, code, message)| Frame::Error(ErrorFrame { stream, code, message })),
        (any::<u32>(), any::<u32>())
            .prop_map(|(last_stream, grace_ms)| Frame::Goaway(Goaway { last_stream, grace_ms })),
        Just(Frame::StatusRequest),
        (16u32..=20, 16u32..=20)
            .prop_map(|(up, down)| Frame::RingOffer(RingOffer { to_daemon: 1 << up, to_client: 1 << down })),
        Just(Frame::RingReady),
        Just(Frame::Wake),
        status().prop_map(Frame::Status),
    ]
}

fn all(src: &mut BytesMut) -> (Vec<Frame>, Option<WireError>) {
    let mut frames = Vec::new();
    loop {
        match decode(src) {
            Ok(Some(frame)) => frames.push(frame),
            Ok(None) => return (frames, None),
            Err(e) => return (frames, Some(e)),
        }
    }
}

proptest! {
    #[test]
    fn frames_come_back_however_they_arrive(frames in proptest::collection::vec(frame(), 1..8), step in 1usize..40) {
        let mut bytes = BytesMut::new();
        for f in &frames {
            FrameCodec.encode(f.clone(), &mut bytes).unwrap();
        }
        let (mut src, mut got) = (BytesMut::new(), Vec::new());
        for piece in bytes.chunks(step) {
            src.extend_from_slice(piece);
            let (some, error) = all(&mut src);
            prop_assert_eq!(error, None);
            got.extend(some);
        }
        prop_assert_eq!(got, frames);
        prop_assert!(src.is_empty());
        prop_assert!(FrameCodec.decode_eof(&mut src).unwrap().is_none());
    }

    #[test]
    fn any_bytes_are_refused_or_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut src = BytesMut::from(&bytes[..]);
        let _ = all(&mut src);
        prop_assert!(src.capacity() <= 400 + MAX_PAYLOAD + HEADER_LEN + 64);
    }

    #[test]
    fn one_wrong_byte_never_panics_and_what_is_read_can_be_written(f in frame(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = BytesMut::new();
        encode(&f, &mut bytes).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let (Some(read), None) = { let (mut f, e) = all(&mut bytes.clone()); (f.pop(), e) } {
            let mut again = BytesMut::new();
            encode(&read, &mut again).unwrap();
        }
    }
}

#[test]
fn a_bad_header_is_refused_before_its_payload_comes() {
    let mut long = BytesMut::from(&[1, 0x40, 0, 0, FrameType::Data.number(), 0, 0, 0, 1, 0, 0, 0][..]);
    assert_eq!(decode(&mut long), Err(WireError::Oversized { length: 0x4001 }));
    let mut unknown = BytesMut::from(&[9, 0, 0, 0, 0xee, 0, 0, 0, 1, 0, 0, 0][..]);
    assert_eq!(decode(&mut unknown), Err(WireError::UnknownType(0xee)));
    let mut magic = BytesMut::from(&[20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, b'F', b'B', b'A', b'X'][..]);
    assert_eq!(decode(&mut magic), Err(WireError::Magic));
}

#[test]
fn the_longest_frames_fit() {
    let stream = StreamId::FIRST;
    let reason = Reason { code: "r".repeat(MAX_NAME), at: u64::MAX };
    let report = Report { reasons: vec![reason; MAX_REASONS], ..Report::default() };
    let profile = ProfileStatus { name: "p".repeat(MAX_NAME), rules: 1, fingerprint: [0; 32] };
    let counters = (0..64).map(|i| (format!("{i:048}"), 1)).collect();
    let reload_error = "e".repeat(MAX_MESSAGE);
    let facts = vec![("f".repeat(16), "v".repeat(200)); 4];
    let status = Status { profiles: vec![profile; 64], counters, reload_error, facts, ..Status::default() };
    let error = ErrorFrame { stream: None, code: Code::Internal, message: "m".repeat(MAX_MESSAGE) };
    for frame in [Frame::Report(stream, report), Frame::Status(status), Frame::Error(error)] {
        let mut bytes = BytesMut::new();
        encode(&frame, &mut bytes).unwrap();
        assert_eq!(decode(&mut bytes), Ok(Some(frame)));
    }
}

#[test]
fn what_does_not_fit_is_not_written() {
    let mut bytes = BytesMut::from(&b"before"[..]);
    let hello = Frame::Hello(Hello::new("c".repeat(MAX_NAME + 1)));
    assert!(encode(&hello, &mut bytes).is_err());
    let data = Frame::Data { stream: StreamId::FIRST, bytes: vec![0; MAX_PAYLOAD + 1].into() };
    assert!(encode(&data, &mut bytes).is_err());
    let none = Frame::Data { stream: StreamId::FIRST, bytes: Bytes::new() };
    assert!(encode(&none, &mut bytes).is_err());
    assert_eq!(&bytes[..], b"before");
}

#[test]
fn long_content_becomes_frames() {
    let mut bytes = BytesMut::new();
    let content = vec![7; MAX_PAYLOAD * 2 + 5];
    put_data(StreamId::FIRST, &content, &mut bytes);
    let (frames, error) = all(&mut bytes);
    assert_eq!((frames.len(), error), (3, None));
}

#[test]
fn a_hello_of_a_later_version_is_understood() {
    let mut bytes = BytesMut::new();
    encode(&Frame::Hello(Hello::new("next")), &mut bytes).unwrap();
    bytes.extend_from_slice(b"more");
    bytes[0] += 4;
    assert_eq!(decode(&mut bytes), Ok(Some(Frame::Hello(Hello::new("next")))));
    let later = Hello { min: 2, max: 3, ..Hello::new("next") };
    assert_eq!(forebay_wire::negotiate(&later), None);
    assert_eq!(forebay_wire::negotiate(&Hello { min: 1, max: 9, ..later }), Some(1));
}

#[test]
fn names_have_no_control_characters() {
    let mut bytes = BytesMut::new();
    encode(&Frame::Hello(Hello::new("a\u{1b}[31m")), &mut bytes).unwrap();
    assert!(matches!(decode(&mut bytes), Err(WireError::Malformed { .. })));
}
