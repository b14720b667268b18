//! UTF-8: a character cut in half at the end.
//!
//! Only said of a stream that was UTF-8 up to there: in Latin-1 or binary data the last byte says nothing.

use crate::trackers::block::{BLOCK, Block, Lanes, at_least, is};

/// The state: at most three bytes of an unfinished character.
#[derive(Debug, Default)]
pub(super) struct Utf8 {
    part: [u8; 4],
    len: usize,
    at: u64,
    invalid: bool,
}

impl Utf8 {
    pub(super) fn feed(&mut self, at: u64, bytes: &[u8]) {
        let mut from = 0;
        while self.len > 0 && from < bytes.len() && !self.invalid {
            self.part[self.len] = bytes[from];
            self.len += 1;
            from += 1;
            match std::str::from_utf8(&self.part[..self.len]) {
                Ok(_) => self.len = 0,
                Err(e) if e.error_len().is_some() => self.invalid = true,
                Err(_) => {}
            }
        }
        // In a stream that is no UTF-8 nothing counts any more.
        if self.invalid || from == bytes.len() {
            return;
        }
        let whole = bytes.len() - unfinished(&bytes[from..]);
        self.invalid = !is_valid(&bytes[from..whole]);
        let rest = &bytes[whole..];
        self.len = rest.len();
        self.part[..rest.len()].copy_from_slice(rest);
        self.at = at + u64::try_from(whole).unwrap_or(u64::MAX);
    }

    /// Where the unfinished character begins.
    pub(super) fn open(&self) -> Option<u64> {
        (!self.invalid && self.len > 0).then_some(self.at)
    }
}

/// Bytes at the end that begin a character and do not finish it.
fn unfinished(bytes: &[u8]) -> usize {
    (1..=bytes.len().min(3))
        .find(|n| {
            let tail = &bytes[bytes.len() - n..];
            tail[0] >= 0xc0 && std::str::from_utf8(tail).is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
        })
        .unwrap_or(0)
}

/// Whether whole characters are UTF-8 (Unicode 16, table 3-7). Most text needs but a look at how lead and continuation
/// bytes alternate; where the second byte of a character has a narrower range, the standard library looks again.
fn is_valid(bytes: &[u8]) -> bool {
    // Continuation bytes that a block owes to the one before, lowest bit first.
    let mut owed = 0;
    let mut narrow = Lanes::splat(0);
    for part in bytes.chunks(BLOCK) {
        let block = Block::new(part);
        let beyond = block.beyond_ascii();
        if beyond | owed == 0 {
            continue;
        }
        let follow = block.mask(|v| is(v & Lanes::splat(0xc0), 0x80));
        let long = block.mask(|v| at_least(v, 0xe0));
        block.each(|v| {
            narrow = narrow | is(v & Lanes::splat(0xfe), 0xc0) | is(v, 0xe0) | is(v, 0xed) | at_least(v, 0xf0);
        });
        if narrow.to_array() != [0; 16] {
            return std::str::from_utf8(bytes).is_ok();
        }
        let lead = beyond & !follow;
        if lead << 1 | long << 2 | owed != follow {
            return false;
        }
        owed = lead >> 63 | long >> 62;
    }
    owed == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        let parts: [&[u8]; 17] = [
            b"a",
            "\u{7ff}".as_bytes(),
            "\u{800}".as_bytes(),
            "\u{d7ff}".as_bytes(),
            "\u{e000}".as_bytes(),
            "\u{10000}".as_bytes(),
            "\u{10ffff}".as_bytes(),
            "\u{4e2d}".as_bytes(),
            "\u{3002}".as_bytes(),
            b"\x80",
            b"\xc3",
            b"\xe4\xb8",
            b"\xe4",
            b"\xc0\xaf",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"\xff",
        ];
        let mut state = 1u64;
        let mut seen = [0u32; 2];
        for round in 0..60_000usize {
            let mut text = vec![b'x'; round % 70];
            for _ in 0..round % 9 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let n = usize::try_from(state >> 33).expect("small");
                text.extend_from_slice(parts[n % if n & 0x8000 == 0 { 9 } else { parts.len() }]);
            }
            let right = std::str::from_utf8(&text).is_ok();
            assert_eq!(is_valid(&text), right, "{text:x?}");
            seen[usize::from(right)] += 1;
        }
        assert!(seen.iter().all(|n| *n > 1000), "{seen:?}");
    }
}
