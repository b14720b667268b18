//! Cuts a stream into pushes, for showing that the answer never depends on the cut.

use crate::args::Chunk;
use crate::split_mix::SplitMix;

/// Largest random push, in bytes. Small pushes are where a carry-over breaks, so sizes are drawn evenly over powers of
/// two up to this.
const MAX_RANDOM: usize = 4096;

/// Collects bytes into pieces of the wanted sizes, whatever the reads were.
pub(crate) struct Cutter {
    how: Chunk,
    numbers: SplitMix,
    want: usize,
    kept: Vec<u8>,
}

impl Cutter {
    pub(crate) fn new(how: Chunk) -> Self {
        let mut cutter = Cutter {
            how,
            numbers: SplitMix(if let Chunk::Random(seed) = how { seed } else { 0 }),
            want: 0,
            kept: vec![],
        };
        cutter.want = cutter.next_size();
        cutter
    }

    /// Gives every whole piece to `push`, until that says false; keeps the rest, shorter than a piece, for the next call.
    pub(crate) fn cut<E>(&mut self, mut bytes: &[u8], mut push: impl FnMut(&[u8]) -> Result<bool, E>) -> Result<(), E> {
        while self.kept.len() + bytes.len() >= self.want {
            let (head, tail) = bytes.split_at(self.want - self.kept.len());
            bytes = tail;
            let go_on = if self.kept.is_empty() {
                push(head)?
            } else {
                self.kept.extend_from_slice(head);
                let go_on = push(&self.kept)?;
                self.kept.clear();
                go_on
            };
            if !go_on {
                return Ok(());
            }
            self.want = self.next_size();
        }
        self.kept.extend_from_slice(bytes);
        Ok(())
    }

    /// The last piece, shorter than wanted.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.kept)
    }

    fn next_size(&mut self) -> usize {
        match self.how {
            Chunk::Fixed(n) => n.get(),
            Chunk::Random(_) => {
                let r = self.numbers.next();
                let octave = 1 << (r % u64::from(MAX_RANDOM.ilog2() + 1));
                1 + ((r >> 32) % octave) as usize
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn pieces(how: Chunk, reads: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut cutter = Cutter::new(how);
        let mut out = Vec::new();
        for read in reads {
            let done: Result<(), Infallible> = cutter.cut(read, |p| {
                out.push(p.to_vec());
                Ok(true)
            });
            assert!(done.is_ok());
        }
        out.push(cutter.rest());
        out
    }

    #[test]
    fn pieces_do_not_depend_on_reads() {
        let text: Vec<u8> = (0..=255).cycle().take(50_000).collect();
        for how in ["1", "3", "random:1", "random:2"] {
            let how: Chunk = how.parse().expect("a chunk");
            let whole = pieces(how, &[&text]);
            let (a, b) = text.split_at(777);
            assert_eq!(whole, pieces(how, &[a, b]));
            assert_eq!(whole.concat(), text);
        }
        assert_ne!(pieces(Chunk::Random(1), &[&text]), pieces(Chunk::Random(2), &[&text]));
    }

    #[test]
    fn fixed_pieces_have_their_size() {
        let n = std::num::NonZeroUsize::new(4).expect("not zero");
        assert_eq!(pieces(Chunk::Fixed(n), &[b"abc", b"defghi"]), [b"abcd".to_vec(), b"efgh".to_vec(), b"i".to_vec()]);
    }
}
