//! HTML and XML: tags, comments, raw elements and elements that are open at the end.
//!
//! Element names are kept as hashes. HTML lets many end tags be left out, so only elements whose end tag is required
//! count, and a closing tag that fits nothing open ends the judgement about elements.

/// Open elements that are kept; deeper ones end the judgement about elements.
const MAX_DEPTH: usize = 256;
/// Longest element name that is read, in bytes; custom elements are shorter.
const MAX_NAME: usize = 32;
/// Lines that a tag may have. Longer ones are no tags (a lone `<` in text).
const MAX_TAG_LINES: u32 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    Open,
    Name {
        close: bool,
    },
    Tag {
        close: bool,
        slash: bool,
    },
    Attr {
        q: u8,
    },
    /// `<!`, not yet known what.
    Bang {
        dashes: u8,
    },
    Comment {
        dashes: u8,
    },
    /// `<!DOCTYPE …>`, `<?…?>`
    Declaration,
    Cdata {
        brackets: u8,
    },
    /// Inside script, style, textarea or title: matched bytes of `</name`.
    RawText {
        matched: u8,
    },
}

#[derive(Debug)]
pub(super) struct Html {
    state: State,
    stack: Vec<(u32, u64)>,
    element_doubts: u32,
    tag_doubts: u32,
    at: u64,
    name: Vec<u8>,
    raw: Vec<u8>,
    /// XML: every element must be closed.
    strict: bool,
    /// A backtick or `{` of a script would confuse tags: not HTML after all.
    lines: u32,
    /// Behind `=` in a tag, where a quote opens a value.
    equals: bool,
}

const VOID: [&[u8]; 17] = [
    b"area",
    b"base",
    b"br",
    b"col",
    b"embed",
    b"hr",
    b"img",
    b"input",
    b"link",
    b"meta",
    b"param",
    b"source",
    b"track",
    b"wbr",
    b"keygen",
    b"frame",
    b"basefont",
];
/// End tags that HTML lets out ("Optional tags" in its standard), and formatting that is often closed out of order.
const LOOSE: [&[u8]; 26] = [
    b"p",
    b"li",
    b"dt",
    b"dd",
    b"tr",
    b"td",
    b"th",
    b"thead",
    b"tbody",
    b"tfoot",
    b"option",
    b"optgroup",
    b"colgroup",
    b"rt",
    b"rp",
    b"html",
    b"head",
    b"body",
    b"b",
    b"i",
    b"a",
    b"font",
    b"center",
    b"em",
    b"strong",
    b"caption",
];
const RAW: [&[u8]; 4] = [b"script", b"style", b"textarea", b"title"];

impl Html {
    pub(super) fn new(strict: bool) -> Html {
        Html {
            state: State::Text,
            stack: Vec::new(),
            element_doubts: 0,
            tag_doubts: 0,
            at: 0,
            name: Vec::new(),
            raw: Vec::new(),
            strict,
            lines: 0,
            equals: false,
        }
    }

    pub(super) fn feed(&mut self, at: u64, bytes: &[u8]) {
        let mut i = 0;
        while i < bytes.len() {
            let rest = &bytes[i..];
            let skip = match self.state {
                State::Text | State::RawText { matched: 0 } => memchr::memchr(b'<', rest).unwrap_or(rest.len()),
                State::Attr { q } => memchr::memchr2(q, b'\n', rest).unwrap_or(rest.len()),
                State::Comment { dashes: 0 } => memchr::memchr(b'-', rest).unwrap_or(rest.len()),
                _ => 0,
            };
            if skip > 0 {
                i += skip;
                continue;
            }
            self.step(at + u64::try_from(i).unwrap_or(u64::MAX), rest[0]);
            i += 1;
        }
    }

    pub(super) fn open(&self, out: &mut Vec<(&'static str, u64)>) {
        if self.tag_doubts > 0 {
            return;
        }
        if let (0, Some((_, at))) = (self.element_doubts, self.stack.first()) {
            out.push(("open-element", *at));
        }
        match self.state {
            State::Name { .. } | State::Tag { .. } => out.push(("open-tag", self.at)),
            State::Attr { .. } => out.push(("open-attribute", self.at)),
            State::Comment { .. } => out.push(("open-comment", self.at)),
            State::RawText { .. } => out.push(("open-element", self.at)),
            State::Declaration | State::Cdata { .. } => out.push(("open-tag", self.at)),
            _ => {}
        }
    }

    /// Whether nothing that follows can make it say anything.
    pub(super) fn silent(&self) -> bool {
        self.tag_doubts > 0
    }

    pub(super) fn memory(&self) -> usize {
        self.stack.capacity() * size_of::<(u32, u64)>() + self.name.capacity() + self.raw.capacity()
    }

    fn step(&mut self, at: u64, b: u8) {
        match self.state {
            State::Text => {
                if b == b'<' {
                    self.at = at;
                    self.state = State::Open;
                }
            }
            State::Open => {
                self.name.clear();
                self.lines = 0;
                self.state = match b {
                    b'/' => State::Name { close: true },
                    b'!' => State::Bang { dashes: 0 },
                    b'?' => State::Declaration,
                    b'a'..=b'z' | b'A'..=b'Z' => {
                        self.name.push(b.to_ascii_lowercase());
                        State::Name { close: false }
                    }
                    _ => State::Text,
                };
            }
            State::Name { close } => match b {
                b'>' | b'/' | b' ' | b'\t' | b'\n' | b'\r' => {
                    self.equals = false;
                    self.state = State::Tag { close, slash: false };
                    self.step(at, b);
                }
                _ if self.name.len() < MAX_NAME => self.name.push(b.to_ascii_lowercase()),
                _ => {}
            },
            State::Tag { close, slash } => match b {
                b'>' => self.end_tag(at, close, slash),
                b'<' => {
                    self.tag_doubts += 1;
                    self.state = State::Text;
                }
                b'"' | b'\'' if self.equals => self.state = State::Attr { q: b },
                b'\n' => {
                    self.lines += 1;
                    self.tag_doubts += u32::from(self.lines > MAX_TAG_LINES);
                }
                b' ' | b'\t' | b'\r' => {}
                _ => {
                    self.equals = b == b'=';
                    self.state = State::Tag { close, slash: b == b'/' };
                }
            },
            State::Attr { q } => {
                if b == q {
                    self.equals = false;
                    self.state = State::Tag { close: false, slash: false };
                } else {
                    self.lines += 1;
                    self.tag_doubts += u32::from(self.lines > MAX_TAG_LINES);
                }
            }
            State::Bang { dashes } => {
                self.state = match (b, dashes) {
                    (b'-', 0) => State::Bang { dashes: 1 },
                    (b'-', _) => State::Comment { dashes: 0 },
                    (b'[', 0) => State::Cdata { brackets: 0 },
                    (b'>', _) => State::Text,
                    _ => State::Declaration,
                };
            }
            State::Comment { dashes } => {
                self.state = match b {
                    b'-' => State::Comment { dashes: (dashes + 1).min(2) },
                    b'>' if dashes == 2 => State::Text,
                    _ => State::Comment { dashes: 0 },
                };
            }
            State::Declaration => {
                if b == b'>' {
                    self.state = State::Text;
                }
            }
            State::Cdata { brackets } => {
                self.state = match b {
                    b']' => State::Cdata { brackets: (brackets + 1).min(2) },
                    b'>' if brackets == 2 => State::Text,
                    _ => State::Cdata { brackets: 0 },
                };
            }
            State::RawText { matched } => {
                let n = usize::from(matched);
                let want = match n {
                    0 => b'<',
                    1 => b'/',
                    _ => self.raw.get(n - 2).copied().unwrap_or(b'>'),
                };
                if n == self.raw.len() + 2 {
                    // `</name` is complete.
                    self.name.clear();
                    self.raw.clear();
                    self.equals = false;
                    self.state = State::Tag { close: true, slash: false };
                    self.name.extend_from_slice(b"/");
                    self.step(at, b);
                } else if b.to_ascii_lowercase() == want {
                    self.state = State::RawText { matched: matched + 1 };
                } else {
                    self.state = State::RawText { matched: u8::from(b == b'<') };
                }
            }
        }
    }

    fn end_tag(&mut self, _at: u64, close: bool, slash: bool) {
        self.state = State::Text;
        let name = std::mem::take(&mut self.name);
        if close {
            self.close(&name);
        } else if !slash && (self.strict || !VOID.contains(&name.as_slice())) {
            if !self.strict && RAW.contains(&name.as_slice()) {
                self.raw.clone_from(&name);
                self.state = State::RawText { matched: 0 };
            } else if self.strict || !LOOSE.contains(&name.as_slice()) {
                if self.stack.len() < MAX_DEPTH {
                    self.stack.push((hash(&name), self.at));
                } else {
                    self.element_doubts += 1;
                }
            }
        }
        self.name = name;
        self.name.clear();
    }

    fn close(&mut self, name: &[u8]) {
        if name == b"/" || !self.strict && (LOOSE.contains(&name) || VOID.contains(&name)) {
            return;
        }
        match self.stack.last() {
            Some((h, _)) if *h == hash(name) => {
                self.stack.pop();
            }
            _ => self.element_doubts += 1,
        }
    }
}

/// FNV-1a. A collision only makes a wrong closing tag look right.
fn hash(name: &[u8]) -> u32 {
    name.iter().fold(0x811c_9dc5, |h, b| (h ^ u32::from(*b)).wrapping_mul(0x0100_0193))
}
