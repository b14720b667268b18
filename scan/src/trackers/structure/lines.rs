//! Structures that go by lines: Markdown fences and PEM blocks.
//!
//! Both read line heads only, of at most [`MAX_HEAD`] bytes; the rest of a line cannot matter to them.

use crate::trackers::block::{BLOCK, Block, Lanes, behind_runs, below, between, blanks, is, white};

/// Bytes of a line that are kept. A fence or a PEM boundary is shorter.
const MAX_HEAD: usize = 128;

/// Who reads line heads.
pub(super) trait Lines {
    /// Whether a line whose first byte (but for blanks) is this one can matter.
    fn wants(&self, first: u8) -> bool;
    /// Whether for now only lines that begin with two dashes can matter.
    fn wants_only_dashes(&self) -> bool;
    /// Whether for now only lines that begin with a [mark](is_mark) can matter, and of all others the last.
    fn wants_only_marks(&self) -> bool;
    /// A line that was wanted: its place, and its head without the blanks before it.
    fn line(&mut self, at: u64, head: &[u8]);
    /// Lines that were not wanted, of which the last has text.
    fn other(&mut self);
    /// Lines that were not wanted, of which the last is blank.
    fn blank(&mut self);
}

/// What a fence can begin with, and the marks of a quotation, a list and a comment that it can stand behind.
fn is_mark(first: u8) -> bool {
    matches!(first, b'`' | b'~' | b'>' | b'/' | b'-' | b'*')
}

/// The same, for lanes.
#[inline]
fn marks(v: Lanes) -> Lanes {
    is(v, b'`') | is(v, b'~') | is(v, b'>') | is(v, b'/') | is(v, b'-') | is(v, b'*')
}

/// Cuts a stream into line heads. Only lines that somebody wants are kept: their first byte tells.
#[derive(Debug)]
pub(super) struct Heads {
    /// The head of the line that has not ended, if it is wanted.
    head: Vec<u8>,
    /// Where that line begins.
    at: u64,
    /// Bytes of the line that still belong to its head.
    room: usize,
    line: Line,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// Blanks so far.
    Blank,
    Wanted,
    Other,
}

impl Default for Heads {
    fn default() -> Self {
        Heads { head: Vec::new(), at: 0, room: MAX_HEAD, line: Line::Blank }
    }
}

impl Heads {
    /// Gives each line that is complete to `on`. The first bytes are those at offset 0.
    pub(super) fn feed(&mut self, at: u64, bytes: &[u8], on: &mut impl Lines) {
        if !on.wants_only_marks() {
            return self.cut(at, bytes, on);
        }
        for (n, part) in bytes.chunks(BLOCK).enumerate() {
            if !self.pass(at, n * BLOCK, part, on) {
                self.cut(at + u64::try_from(n * BLOCK).unwrap_or(u64::MAX), part, on);
            }
        }
    }

    /// Takes a block in which no line begins with a mark as a whole; `false` if there may be one.
    #[inline]
    fn pass(&mut self, at: u64, from: usize, part: &[u8], on: &mut impl Lines) -> bool {
        let far = self.line == Line::Blank && self.room <= BLOCK;
        if self.line == Line::Wanted || far || !on.wants_only_marks() {
            return false;
        }
        let block = Block::new(part);
        let feeds = block.all(b'\n');
        let starts = feeds << 1 | u64::from(self.line == Line::Blank);
        if starts == 0 {
            return true;
        }
        let blanks = block.mask(white) & !feeds;
        let firsts = behind_runs(starts, blanks) & below(part.len());
        if firsts & !feeds != 0 && firsts & block.mask(marks) != 0 {
            return false;
        }
        let Some(last) = feeds.checked_ilog2() else {
            if firsts != 0 {
                self.line = Line::Other;
            } else {
                self.room -= part.len();
            }
            return true;
        };
        if firsts >> last & 1 != 0 {
            on.blank()
        } else {
            on.other()
        }
        let begin = usize::try_from(last).unwrap_or(BLOCK) + 1;
        self.begin(at, from + begin);
        if between(begin, part.len()) & !blanks != 0 {
            self.line = Line::Other;
        } else {
            self.room -= part.len() - begin;
        }
        true
    }

    /// Line by line.
    fn cut(&mut self, at: u64, bytes: &[u8], on: &mut impl Lines) {
        let mut from = 0;
        loop {
            if self.line != Line::Wanted && on.wants_only_dashes() {
                // The lines up to the one with the next dashes cannot matter.
                let rest = &bytes[from..];
                let dashes = two_dashes(rest).unwrap_or(rest.len());
                if let Some(lf) = memchr::memrchr(b'\n', &rest[..dashes]) {
                    from += lf + 1;
                    self.begin(at, from);
                }
                if dashes == rest.len() {
                    break;
                }
            }
            let Some(lf) = memchr::memchr(b'\n', &bytes[from..]) else { break };
            self.part(&bytes[from..from + lf], on);
            match self.line {
                Line::Blank => on.blank(),
                Line::Wanted => {
                    on.line(self.at, &self.head);
                    self.head.clear();
                }
                Line::Other => on.other(),
            }
            from += lf + 1;
            self.begin(at, from);
        }
        self.part(&bytes[from..], on);
    }

    /// A line begins at `bytes[from]`, the first of which is at offset `at`.
    #[inline]
    fn begin(&mut self, at: u64, from: usize) {
        self.at = at + u64::try_from(from).unwrap_or(u64::MAX);
        (self.room, self.line) = (MAX_HEAD, Line::Blank);
    }

    /// A part of a line.
    #[inline]
    fn part(&mut self, bytes: &[u8], on: &impl Lines) {
        if self.line == Line::Other || self.room == 0 {
            return;
        }
        let mut bytes = &bytes[..bytes.len().min(self.room)];
        if self.line == Line::Blank {
            let blanks = blanks(bytes);
            self.room -= blanks;
            bytes = &bytes[blanks..];
            let Some(first) = bytes.first() else { return };
            self.line = if on.wants(*first) { Line::Wanted } else { Line::Other };
        }
        if self.line == Line::Wanted {
            if self.head.capacity() == 0 {
                self.head.reserve_exact(MAX_HEAD);
            }
            self.head.extend_from_slice(bytes);
            self.room -= bytes.len();
        }
    }

    /// The head of the line that has not ended, if it is wanted.
    pub(super) fn rest(&self) -> Option<(u64, &[u8])> {
        (!self.head.is_empty()).then_some((self.at, &self.head))
    }

    pub(super) fn memory(&self) -> usize {
        self.head.capacity()
    }
}

/// Where the first two dashes in a row stand, or a last one that may be followed by another.
fn two_dashes(bytes: &[u8]) -> Option<usize> {
    bytes.chunks(BLOCK).enumerate().find_map(|(n, part)| {
        let dashes = Block::new(part).all(b'-');
        // The byte behind the block may be a dash, too.
        let pairs = dashes & (dashes >> 1 | 1 << (part.len() - 1));
        (pairs != 0).then(|| n * BLOCK + pairs.trailing_zeros() as usize)
    })
}

/// Code fences of Markdown (CommonMark 4.5), with any indentation, since lists indent them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fences {
    /// The mark, its length and its place.
    open: Option<(u8, usize, u64)>,
    /// The line above had text.
    text_above: bool,
}

impl Lines for Fences {
    fn wants(&self, first: u8) -> bool {
        is_mark(first)
    }

    fn wants_only_dashes(&self) -> bool {
        false
    }

    fn wants_only_marks(&self) -> bool {
        true
    }

    fn other(&mut self) {
        self.text_above = true;
    }

    fn blank(&mut self) {
        self.text_above = false;
    }

    fn line(&mut self, at: u64, head: &[u8]) {
        let mut text = head.trim_ascii();
        // A quotation, or a list item that begins with the fence.
        while let [b'>', rest @ ..] = text {
            text = rest.trim_ascii_start();
        }
        if let [b'/', b'*', b'*' | b'!', rest @ ..] = text {
            text = rest.trim_ascii_start();
        }
        if let ([b'-' | b'*', b' ', rest @ ..], None) = (text, self.open) {
            text = rest.trim_ascii_start();
        }
        let text_above = std::mem::replace(&mut self.text_above, !text.is_empty());
        let Some(mark @ (b'`' | b'~')) = text.first().copied() else { return };
        let run = text.iter().take_while(|b| **b == mark).count();
        if run < 3 {
            return;
        }
        let mut info = text[run..].trim_ascii();
        if info == b"*/" {
            info = b""; // documentation in a block comment
        }
        match self.open {
            Some((m, n, _)) if m == mark && run >= n && info.is_empty() => self.open = None,
            Some(_) => {}
            None if mark == b'`' && info.contains(&b'`') => {}
            // reStructuredText underlines headings with tildes.
            None if mark == b'~' && info.is_empty() && text_above => {}
            None => self.open = Some((mark, run, at)),
        }
    }
}

impl Fences {
    pub(super) fn open(&self) -> Option<u64> {
        self.open.map(|(_, _, at)| at)
    }
}

/// PEM blocks (RFC 7468): a BEGIN line, then lines of base64 or headers, then an END line.
#[derive(Debug, Default)]
pub(super) struct Pem {
    open: Option<u64>,
    body: bool,
}

impl Lines for Pem {
    /// A boundary, or anything inside a block.
    fn wants(&self, first: u8) -> bool {
        first == b'-' || self.open.is_some()
    }

    fn wants_only_dashes(&self) -> bool {
        self.open.is_none()
    }

    fn wants_only_marks(&self) -> bool {
        false
    }

    fn other(&mut self) {}

    fn blank(&mut self) {}

    fn line(&mut self, at: u64, head: &[u8]) {
        let text = head.trim_ascii();
        if let Some(label) = text.strip_prefix(b"-----BEGIN ") {
            self.open = label.ends_with(b"-----").then_some(at);
            self.body = false;
        } else if self.open.is_some() {
            if is_base64(text) {
                self.body |= text.len() >= 16;
            } else if !is_header(text) && !text.is_empty() {
                self.open = None; // END, or no PEM
            }
        }
    }
}

impl Pem {
    /// The place of an open block, given the head of the line that has not ended.
    pub(super) fn open(&self, rest: Option<&[u8]>) -> Option<u64> {
        let at = self.open?;
        let Some(text) = rest.map(<[u8]>::trim_ascii) else { return self.body.then_some(at) };
        if text.is_empty() || is_base64(text) {
            return (self.body || text.len() >= 16).then_some(at);
        }
        // An END line that is itself cut.
        let whole = text.starts_with(b"-----END ") && text.len() > 14 && text.ends_with(b"-----");
        (self.body && text.starts_with(b"-") && !whole).then_some(at)
    }
}

fn is_base64(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
}

/// `Proc-Type: 4,ENCRYPTED`
fn is_header(text: &[u8]) -> bool {
    let name = text.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'-').count();
    name > 0 && text.get(name) == Some(&b':') && !text.starts_with(b"-")
}
