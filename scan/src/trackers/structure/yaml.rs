//! YAML: quoted strings and flow brackets that are open at the end.
//!
//! Quotes and brackets count only where a value begins (YAML 1.2, 7.3 and 7.4): an apostrophe inside a plain scalar is
//! a letter. Block scalars (`|`, `>`) are skipped by their indentation. Anchors and tags are skipped as plain words.

/// Flow brackets that are kept; deeper ones end the judgement.
const MAX_DEPTH: usize = 256;
/// Lines that a quoted string may have. Longer ones are taken for a misreading.
const MAX_LINES: u32 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At the start of a line, counting blanks.
    Indent,
    /// Where a value may begin.
    Value,
    /// In a plain scalar or key.
    Plain,
    /// Behind a colon that ends a key if a blank follows.
    Colon,
    /// Behind a dash, where a blank makes it an item.
    Dash,
    /// Behind `|` or `>` where a value began.
    BlockHead,
    Double {
        esc: bool,
    },
    Single,
    /// Behind `'` in a single-quoted string.
    MaybeSingle,
    Comment,
    /// In a line of a block scalar.
    BlockLine,
}

#[derive(Debug)]
pub(super) struct Yaml {
    state: State,
    stack: Vec<u64>,
    doubts: u32,
    opened_at: u64,
    lines_open: u32,
    indent: u32,
    /// Indentation of the line with the current key or item.
    line_indent: u32,
    /// In a block scalar of a key with this indentation.
    block: Option<u32>,
    prev: u8,
}

impl Yaml {
    pub(super) fn new() -> Yaml {
        Yaml {
            state: State::Indent,
            stack: Vec::new(),
            doubts: 0,
            opened_at: 0,
            lines_open: 0,
            indent: 0,
            line_indent: 0,
            block: None,
            prev: b'\n',
        }
    }

    pub(super) fn feed(&mut self, at: u64, bytes: &[u8]) {
        let mut i = 0;
        while i < bytes.len() {
            let rest = &bytes[i..];
            let skip = match self.state {
                State::Comment | State::BlockLine => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
                State::Double { esc: false } => memchr::memchr3(b'"', b'\\', b'\n', rest).unwrap_or(rest.len()),
                State::Single => memchr::memchr2(b'\'', b'\n', rest).unwrap_or(rest.len()),
                State::Plain if self.stack.is_empty() => memchr::memchr3(b':', b'#', b'\n', rest).unwrap_or(rest.len()),
                _ => 0,
            };
            if skip > 0 {
                self.prev = rest[skip - 1];
                i += skip;
                continue;
            }
            self.step(at + u64::try_from(i).unwrap_or(u64::MAX), rest[0]);
            self.prev = rest[0];
            i += 1;
        }
    }

    pub(super) fn open(&self, out: &mut Vec<(&'static str, u64)>) {
        if self.doubts > 0 {
            return;
        }
        if let Some(at) = self.stack.first() {
            out.push(("open-bracket", *at));
        }
        if matches!(self.state, State::Double { .. } | State::Single) {
            out.push(("open-string", self.opened_at));
        }
    }

    /// Whether nothing that follows can make it say anything.
    pub(super) fn silent(&self) -> bool {
        self.doubts > 0
    }

    pub(super) fn memory(&self) -> usize {
        self.stack.capacity() * size_of::<u64>()
    }

    fn step(&mut self, at: u64, b: u8) {
        match self.state {
            State::Indent => match b {
                b' ' => self.indent += 1,
                b'\n' | b'\r' => self.indent = 0,
                b'\t' => self.state = State::Value,
                _ => {
                    if let Some(of) = self.block {
                        if self.indent > of {
                            self.state = State::BlockLine;
                            return;
                        }
                        self.block = None;
                    }
                    self.line_indent = self.indent;
                    self.state = State::Value;
                    self.step(at, b);
                }
            },
            State::Value => match b {
                b' ' | b'\t' | b'\r' => {}
                b'\n' => self.line(),
                b'"' => self.begin(at, State::Double { esc: false }),
                b'\'' => self.begin(at, State::Single),
                b'[' | b'{' => self.push(at),
                b']' | b'}' => self.pop(),
                b',' if !self.stack.is_empty() => {}
                b'#' if matches!(self.prev, b' ' | b'\t' | b'\n') => self.state = State::Comment,
                b'|' | b'>' if self.stack.is_empty() => self.state = State::BlockHead,
                b'-' => self.state = State::Dash,
                b':' => self.state = State::Colon,
                _ => self.state = State::Plain,
            },
            State::Dash => match b {
                b' ' => {
                    // `- ` opens an item: what follows is indented by the dash, too.
                    self.state = State::Value;
                }
                b'\n' => self.line(),
                _ => {
                    self.state = State::Plain;
                    self.step(at, b);
                }
            },
            State::Colon => match b {
                b' ' | b'\t' => self.state = State::Value,
                b'\n' => self.line(),
                b'\r' => {}
                b'"' | b'\'' | b'[' | b'{' if !self.stack.is_empty() => {
                    self.state = State::Value;
                    self.step(at, b);
                }
                _ => {
                    self.state = State::Plain;
                    self.step(at, b);
                }
            },
            State::Plain => match b {
                b'\n' => self.line(),
                b':' => self.state = State::Colon,
                b'#' if matches!(self.prev, b' ' | b'\t') => self.state = State::Comment,
                b',' if !self.stack.is_empty() => self.state = State::Value,
                b'[' | b'{' if !self.stack.is_empty() => self.push(at),
                b']' | b'}' if !self.stack.is_empty() => self.pop(),
                _ => {}
            },
            State::BlockHead => match b {
                b'\n' => {
                    self.block = Some(self.line_indent);
                    self.line();
                }
                b'0'..=b'9' | b'+' | b'-' | b' ' | b'\r' => {}
                b'#' if self.prev == b' ' => {}
                _ if self.prev == b'#' || self.prev.is_ascii_alphabetic() => {}
                _ => {
                    self.state = State::Plain;
                    self.step(at, b);
                }
            },
            State::Double { esc } => match b {
                _ if esc => {
                    self.count_line(b);
                    self.state = State::Double { esc: false };
                }
                b'\\' => self.state = State::Double { esc: true },
                b'"' => self.state = State::Plain,
                _ => self.count_line(b),
            },
            State::Single => match b {
                b'\'' => self.state = State::MaybeSingle,
                _ => self.count_line(b),
            },
            State::MaybeSingle => {
                if b == b'\'' {
                    self.state = State::Single;
                } else {
                    self.state = State::Plain;
                    self.step(at, b);
                }
            }
            State::Comment | State::BlockLine => {
                if b == b'\n' {
                    self.line();
                }
            }
        }
    }

    fn line(&mut self) {
        self.indent = 0;
        self.state = State::Indent;
    }

    fn begin(&mut self, at: u64, state: State) {
        self.opened_at = at;
        self.lines_open = 0;
        self.state = state;
    }

    fn count_line(&mut self, b: u8) {
        if b == b'\n' {
            self.lines_open += 1;
            self.doubts += u32::from(self.lines_open > MAX_LINES);
        }
    }

    fn push(&mut self, at: u64) {
        if self.stack.len() < MAX_DEPTH {
            self.stack.push(at);
        } else {
            self.doubts += 1;
        }
        self.state = State::Value;
    }

    fn pop(&mut self) {
        if self.stack.pop().is_none() {
            self.doubts += 1;
        }
        self.state = State::Plain;
    }
}
