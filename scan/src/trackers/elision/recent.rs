//! The last bytes of a stream, as far as an elision can depend on them: the line that is not complete, and the last
//! line above it that is not blank.
//!
//! Bytes are appended and seldom moved: what can no longer matter is dropped when the buffer is full. It is *not* a
//! window on the stream: of lines above only the last one is sure to be there, and only its head.
//!
//! Invariant: [`Recent::line`] and [`above`] depend on the bytes only, never on how they came or when some were
//! dropped. The attacker is one endless line: [`MAX_LINE`] bytes of it are kept.

use crate::trackers::block::BLOCK;
use crate::trackers::elision::comment::indent;

/// Bytes of a line that are looked at. A longer line is minified code or data: its head is enough to see that it is
/// no elision, and one endless line must not hold memory.
pub(super) const MAX_LINE: usize = 1024;
/// Bytes of the line above that are looked at, to see whether it forbids elisions or runs on.
const MAX_ABOVE: usize = 160;
/// Bytes that are taken between two clean-ups, at least half of them: two lines of most texts and some blocks.
const ROOM: usize = 320;

/// The buffer.
#[derive(Debug, Default)]
pub(super) struct Recent {
    text: Vec<u8>,
    /// Where in it the line begins that is not complete.
    line: usize,
    /// Where in it the bytes begin that were not looked at.
    unread: usize,
    /// How long it may grow.
    limit: usize,
    /// The line is longer than what is kept of it, and bytes of it need not be pushed any more.
    pub(super) full: bool,
}

impl Recent {
    /// Appends at most a block.
    #[inline]
    pub(super) fn push(&mut self, part: &[u8]) {
        debug_assert!(self.unread() + part.len() <= BLOCK);
        if self.text.len() + part.len() > self.limit {
            self.make_room();
        }
        match part.first_chunk::<BLOCK>() {
            Some(block) => self.text.extend_from_slice(block),
            None => self.text.extend_from_slice(part),
        }
    }

    /// How many bytes were not looked at.
    #[inline]
    pub(super) fn unread(&self) -> usize {
        self.text.len() - self.unread
    }

    /// The bytes that were not looked at, and where in the text they begin. Now they are.
    #[inline]
    pub(super) fn read(&mut self) -> (usize, &[u8]) {
        let from = std::mem::replace(&mut self.unread, self.text.len());
        (from, &self.text[from..])
    }

    /// The line ends with the line feed at `lf` in the text.
    #[inline]
    pub(super) fn end_line(&mut self, lf: usize) {
        self.line = lf + 1;
        self.full = false;
    }

    /// To be called once bytes were looked at: notes whether the line is too long to keep more of it.
    #[inline]
    pub(super) fn settle(&mut self) {
        self.full = self.text.len() - self.line > MAX_LINE;
    }

    /// The line up to `end` in the text: its head, and whether it is longer.
    pub(super) fn line_to(&self, end: usize) -> (&[u8], bool) {
        let line = &self.text[self.line..end];
        (&line[..line.len().min(MAX_LINE)], line.len() > MAX_LINE)
    }

    /// The line that is not complete.
    pub(super) fn line(&self) -> (&[u8], bool) {
        self.line_to(self.text.len())
    }

    /// What stands above the line, for [`above`].
    pub(super) fn before(&self) -> &[u8] {
        &self.text[..self.line]
    }

    pub(super) fn memory(&self) -> usize {
        self.text.capacity()
    }

    /// Drops what can no longer matter. Lines above become the head of the last one and a blank line, if there is one.
    fn make_room(&mut self) {
        let last = find_above(self.before());
        let mut kept = 0;
        if let Some((from, to)) = last {
            let blank = to + 1 < self.line;
            kept = (to - from).min(MAX_ABOVE);
            self.text.copy_within(from..from + kept, 0);
            if indent(&self.text[..kept]) == kept {
                // More blanks than a line has are no blank line. Any other byte says so.
                (self.text[0], kept) = (0, 1);
            }
            for _ in 0..=usize::from(blank) {
                self.text[kept] = b'\n';
                kept += 1;
            }
        }
        self.text.drain(kept..self.line);
        self.unread -= self.line - kept;
        self.line = kept;
        self.limit = self.text.len().max(ROOM / 2) + ROOM / 2;
        self.text.reserve_exact(self.limit - self.text.len());
    }
}

/// The head of the last line of `before` that is not blank (nothing if there is none), and whether a blank line or
/// nothing stands behind it.
pub(super) fn above(before: &[u8]) -> (&[u8], bool) {
    match find_above(before) {
        Some((from, to)) => (&before[from..to.min(from + MAX_ABOVE)], to + 1 < before.len()),
        None => (b"", true),
    }
}

/// Where the last line that is not blank begins and ends. Every line ends with a line feed.
fn find_above(before: &[u8]) -> Option<(usize, usize)> {
    let mut end = before.len();
    while end > 0 {
        let to = end - 1;
        let from = memchr::memrchr(b'\n', &before[..to]).map_or(0, |lf| lf + 1);
        let line = &before[from..to];
        if indent(line) < line.len() || line.len() > MAX_LINE {
            return Some((from, to));
        }
        end = from;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line above, found in the whole text.
    fn oracle(before: &[u8]) -> (Vec<u8>, bool) {
        let lines: Vec<&[u8]> = before.split(|b| *b == b'\n').collect();
        let lines = &lines[..lines.len() - 1];
        let text = |l: &&[u8]| !l.trim_ascii().is_empty() || l.len() > MAX_LINE;
        let Some(i) = lines.iter().rposition(text) else { return (Vec::new(), true) };
        (lines[i][..lines[i].len().min(MAX_ABOVE)].to_vec(), i + 1 < lines.len())
    }

    #[test]
    fn knows_the_line_above() {
        let mut state = 7u64;
        for round in 0..200usize {
            let (mut recent, mut whole) = (Recent::default(), Vec::new());
            for _ in 0..200 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let n = usize::try_from(state >> 33).expect("small");
                let longest = [4, 40, 200, 1500][round % 4];
                let fill = if n & 0x300 == 0 { b' ' } else { b'a' };
                let mut line = vec![fill; n % longest];
                line.push(b'\n');
                for part in line.chunks(1 + n % BLOCK) {
                    if recent.full && !part.contains(&b'\n') {
                        continue;
                    }
                    recent.push(part);
                    let (from, bytes) = recent.read();
                    if let Some(lf) = bytes.iter().position(|b| *b == b'\n') {
                        recent.end_line(from + lf);
                    }
                    recent.settle();
                }
                whole.extend_from_slice(&line);
                let (head, blank) = above(recent.before());
                let (want, want_blank) = oracle(&whole);
                assert_eq!(blank, want_blank);
                if want.trim_ascii().is_empty() {
                    assert!(head.is_empty() || head == [0] || head.trim_ascii().is_empty());
                } else {
                    assert_eq!(head, want);
                }
                assert!(recent.memory() < 2048, "{}", recent.memory());
            }
        }
    }
}
