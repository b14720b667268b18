//! Sixty-four bytes at a time: where in them the bytes stand that a tracker stops at.
//!
//! Trackers are fed small pieces of text in which little matters. Instead of a search for each line feed and quote,
//! whose branches no processor foresees, one pass without branches marks all places of a block, and a loop over the
//! set bits visits them. The passes are plain loops over arrays that compile to vector code on every target.
//!
//! This is *not* a searcher: for one rare byte in a long text `memchr` is faster.

/// Bytes of a block: the bits of a mask.
pub(super) const BLOCK: usize = 64;

/// A block of up to 64 bytes; what is missing is zero, which no tracker stops at.
#[inline]
pub(super) fn block(bytes: &[u8]) -> [u8; BLOCK] {
    if let Ok(whole) = bytes.try_into() {
        return whole;
    }
    let mut padded = [0; BLOCK];
    padded[..bytes.len()].copy_from_slice(bytes);
    padded
}

/// The bytes of a block that a test holds for, lowest bit first. The test must be free of branches.
#[inline]
pub(super) fn mask(block: &[u8; BLOCK], test: impl Fn(u8) -> bool) -> u64 {
    let mut hits = [0; BLOCK];
    for (hit, b) in hits.iter_mut().zip(block) {
        *hit = u8::from(test(*b));
    }
    pack(&hits)
}

/// The lowest bits of 64 bytes, as one word.
#[inline]
fn pack(hits: &[u8; BLOCK]) -> u64 {
    // Bit 0 of byte `i` moves to bit `i` of the highest byte; the products meet nowhere.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (words, _) = hits.as_chunks::<8>();
    words.iter().enumerate().fold(0, |m, (i, w)| m | (u64::from_le_bytes(*w).wrapping_mul(GATHER) >> 56) << (8 * i))
}

/// The line feeds of a block.
#[inline]
pub(super) fn line_feeds(block: &[u8; BLOCK]) -> u64 {
    mask(block, |b| b == b'\n')
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
            assert_eq!(places(line_feeds(&block(&text[..len]))).collect::<Vec<_>>(), want);
        }
    }
}
