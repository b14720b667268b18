//! Arbitrary bytes as frames, whole and in two parts: no panic, no difference, and what decodes encodes to the same.
#![no_main]

use bytes::BytesMut;
use forebay_wire::{Frame, decode, encode};
use libfuzzer_sys::fuzz_target;

fn frames(mut feed: impl Iterator<Item = u8>, step: usize) -> (Vec<Frame>, Option<String>) {
    let (mut src, mut out) = (BytesMut::new(), Vec::new());
    loop {
        let piece: Vec<u8> = feed.by_ref().take(step).collect();
        let last = piece.is_empty();
        src.extend_from_slice(&piece);
        loop {
            match decode(&mut src) {
                Ok(Some(frame)) => out.push(frame),
                Ok(None) => break,
                Err(e) => return (out, Some(e.to_string())),
            }
        }
        if last {
            return (out, None);
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((step, data)) = data.split_first() else { return };
    let whole = frames(data.iter().copied(), usize::MAX);
    let parts = frames(data.iter().copied(), 1 + usize::from(*step));
    assert_eq!(whole, parts);
    for frame in whole.0 {
        let mut again = BytesMut::new();
        if encode(&frame, &mut again).is_ok() {
            assert_eq!(decode(&mut again).ok().flatten(), Some(frame));
            assert!(again.is_empty());
        }
    }
});
