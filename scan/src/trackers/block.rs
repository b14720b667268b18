//! Sixty-four bytes at a time: where in them the bytes stand that a tracker stops at.
//!
//! Trackers are fed small pieces of text in which little matters. Instead of a search for each line feed and quote,
//! whose branches no processor foresees, one pass without branches marks all places of a block, and a loop over the
//! set bits visits them. The tests run on the vectors of the crate `wide`, which has safe code for every target.
//!
//! This is *not* a searcher: for one rare byte in a long text `memchr` is faster.

use wide::{i8x16, u8x16};

/// Bytes of a block: the bits of a mask.
pub(super) const BLOCK: usize = 64;

/// Sixteen bytes, on which tests work: each byte of the result is all ones or all zeros.
pub(super) type Lanes = u8x16;

/// Up to 64 bytes; what is missing is zero, which no tracker stops at.
#[derive(Clone, Copy)]
pub(super) struct Block([Lanes; 4]);

impl Block {
    /// The first 64 bytes, or all if there are fewer.
    #[inline]
    pub(super) fn new(bytes: &[u8]) -> Block {
        if let Some(whole) = bytes.first_chunk::<BLOCK>() {
            return Block::whole(whole);
        }
        let mut padded = [0; BLOCK];
        padded[..bytes.len()].copy_from_slice(bytes);
        Block::whole(&padded)
    }

    #[inline]
    fn whole(bytes: &[u8; BLOCK]) -> Block {
        let (lanes, _) = bytes.as_chunks::<16>();
        Block([lanes[0], lanes[1], lanes[2], lanes[3]].map(Lanes::new))
    }

    /// The bytes that a test holds for, lowest bit first.
    #[inline]
    pub(super) fn mask(&self, test: impl Fn(Lanes) -> Lanes) -> u64 {
        let bits = |i: usize| u64::from(bits(test(self.0[i])));
        bits(0) | bits(1) << 16 | bits(2) << 32 | bits(3) << 48
    }

    /// Gives each sixteen bytes to `on`.
    #[inline]
    pub(super) fn each(&self, on: impl FnMut(Lanes)) {
        self.0.into_iter().for_each(on);
    }

    /// The bytes beyond ASCII.
    #[inline]
    pub(super) fn beyond_ascii(&self) -> u64 {
        self.mask(|v| v)
    }

    /// The bytes that are this one.
    #[inline]
    pub(super) fn all(&self, byte: u8) -> u64 {
        self.mask(|v| is(v, byte))
    }
}

/// The highest bits of sixteen bytes.
#[inline]
fn bits(v: Lanes) -> u16 {
    i8x16::new(v.to_array().map(u8::cast_signed)).move_mask().cast_unsigned() as u16
}

/// Which bytes are this one.
#[inline]
pub(super) fn is(v: Lanes, byte: u8) -> Lanes {
    v.cmp_eq(Lanes::splat(byte))
}

/// Which bytes are in `first..=last`.
#[inline]
pub(super) fn within(v: Lanes, first: u8, last: u8) -> Lanes {
    let from = v - Lanes::splat(first);
    from.min(Lanes::splat(last - first)).cmp_eq(from)
}

/// Which bytes are this one or above.
#[inline]
pub(super) fn at_least(v: Lanes, first: u8) -> Lanes {
    v.max(Lanes::splat(first)).cmp_eq(v)
}

/// Which bytes are ASCII white space, as [`u8::is_ascii_whitespace`] has it.
#[inline]
pub(super) fn white(v: Lanes) -> Lanes {
    is(v, b' ') | within(v, b'\t', b'\n') | within(v, 0x0c, b'\r')
}

/// Which bytes are `( ) [ ] { }`.
#[inline]
pub(super) fn bracket(v: Lanes) -> Lanes {
    let folded = v | Lanes::splat(0x20); // [ ] as { }
    is(v & Lanes::splat(0xfe), b'(') | is(folded, b'{') | is(folded, b'}')
}

/// The bits from `from` on, and below `to`.
#[inline]
pub(super) fn between(from: usize, to: usize) -> u64 {
    below(to) & !below(from)
}

/// The bits below `to`.
#[inline]
pub(super) fn below(to: usize) -> u64 {
    if to < BLOCK { (1 << to) - 1 } else { u64::MAX }
}

/// The place behind the last set bit.
#[inline]
pub(super) fn behind_last(mask: u64) -> usize {
    (u64::BITS - mask.leading_zeros()) as usize
}

/// Of each run of `inner` bits that begins at one of `starts`, the place behind it; a start that is not `inner` itself.
/// No start stands in the middle of a run. Runs that reach the end of the block have no place behind them.
#[inline]
pub(super) fn behind_runs(starts: u64, inner: u64) -> u64 {
    inner.wrapping_add(starts & inner) & !inner | starts & !inner
}

/// How many blanks (ASCII white space) stand at the start. Eight at a time, since code is indented with spaces.
#[inline]
pub(super) fn blanks(text: &[u8]) -> usize {
    const SPACES: u64 = 0x2020_2020_2020_2020;
    let mut n = 0;
    while let Some(eight) = text[n..].first_chunk() {
        let others = u64::from_le_bytes(*eight) ^ SPACES;
        n += others.trailing_zeros() as usize / 8;
        if others != 0 && !text[n].is_ascii_whitespace() {
            return n;
        }
        n += usize::from(others != 0);
    }
    n + text[n..].iter().take_while(|b| b.is_ascii_whitespace()).count()
}

/// The places of the set bits, lowest first.
pub(super) fn places(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (at < BLOCK).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_blanks() {
        for n in 0..40 {
            for tab in 0..=n {
                let mut text = vec![b' '; n];
                text.splice(tab..tab, *b"\t");
                assert_eq!(blanks(&text), n + 1);
                text.extend_from_slice(b"a         ");
                assert_eq!(blanks(&text), n + 1);
            }
        }
    }

    #[test]
    fn marks_every_place() {
        let text: Vec<u8> = (0..64).map(|i| if i % 7 == 3 || i == 63 { b'\n' } else { b'a' + i % 26 }).collect();
        for len in 0..=64 {
            let want: Vec<usize> = (0..len).filter(|i| text[*i] == b'\n').collect();
            assert_eq!(places(Block::new(&text[..len]).all(b'\n')).collect::<Vec<_>>(), want);
        }
    }

    /// A test of lanes and what it is to agree with.
    type Both = (fn(Lanes) -> Lanes, fn(u8) -> bool);

    #[test]
    fn tests_agree_with_those_of_bytes() {
        let tests: [Both; 4] = [
            (white, |b| b.is_ascii_whitespace()),
            (bracket, |b| b"()[]{}".contains(&b)),
            (|v| within(v, b'0', b'9'), |b| b.is_ascii_digit()),
            (|v| v, |b| b >= 0x80),
        ];
        for first in 0..=u8::MAX {
            let text: Vec<u8> = (0..64).map(|i| first.wrapping_add(i)).collect();
            for (lanes, byte) in tests {
                let want: Vec<usize> = (0..64).filter(|i| byte(text[*i])).collect();
                assert_eq!(places(Block::new(&text).mask(lanes)).collect::<Vec<_>>(), want);
            }
        }
    }

    #[test]
    fn finds_what_stands_behind_runs() {
        assert_eq!(behind_runs(0b1_0001, 0b110_0011), 0b0001_0100);
        assert_eq!(behind_runs(1, u64::MAX), 0);
        assert_eq!(behind_runs(1 << 63, 0), 1 << 63);
        assert_eq!(
            (between(3, 64), between(0, 64), between(64, 64), between(5, 7)),
            (u64::MAX << 3, u64::MAX, 0, 0x60)
        );
    }
}
