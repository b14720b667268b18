//! Structures that go by lines: Markdown fences and PEM blocks.
//!
//! Both read line heads only, of at most [`MAX_HEAD`] bytes; the rest of a line cannot matter to them.

/// Bytes of a line that are kept. A fence or a PEM boundary is shorter.
const MAX_HEAD: usize = 128;

/// Cuts a stream into line heads.
#[derive(Debug, Default)]
pub(super) struct Heads {
    head: Vec<u8>,
    at: u64,
}

impl Heads {
    /// Calls `line` with the place and head of each line that is complete.
    pub(super) fn feed(&mut self, at: u64, bytes: &[u8], mut line: impl FnMut(u64, &[u8])) {
        let offset = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let mut from = 0;
        for lf in memchr::memchr_iter(b'\n', bytes) {
            if self.head.is_empty() {
                line(at + offset(from), &bytes[from..lf.min(from + MAX_HEAD)]);
            } else {
                self.keep(&bytes[from..lf]);
                line(self.at, &self.head);
                self.head.clear();
            }
            from = lf + 1;
        }
        if from < bytes.len() {
            if self.head.is_empty() {
                self.at = at + offset(from);
            }
            self.keep(&bytes[from..]);
        }
    }

    /// The head of the line that has not ended.
    pub(super) fn rest(&self) -> Option<(u64, &[u8])> {
        (!self.head.is_empty()).then_some((self.at, &self.head))
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_HEAD.saturating_sub(self.head.len());
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    pub(super) fn memory(&self) -> usize {
        self.head.capacity()
    }
}

/// Code fences of Markdown (CommonMark 4.5), with any indentation, since lists indent them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fences {
    /// The mark, its length and its place.
    open: Option<(u8, usize, u64)>,
    /// The line above had text.
    text_above: bool,
}

impl Fences {
    pub(super) fn line(&mut self, at: u64, head: &[u8]) {
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

impl Pem {
    pub(super) fn line(&mut self, at: u64, head: &[u8]) {
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
