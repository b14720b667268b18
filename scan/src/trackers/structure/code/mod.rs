//! Code-like text: open strings, comments and brackets, for a given dialect.
//!
//! Reads byte by byte in constant memory. It is no parser and will misread some files (a regular expression that holds
//! a quote, a macro with half a bracket), so it also keeps a count of contradictions: a closer that fits no opener, a
//! line end inside a one-line string. After one of them it holds its tongue about brackets. A file that read without
//! a contradiction up to its end and leaves something open was almost always cut.

mod here;
mod strings;

use super::dialect::{Dialect, Quote};
use crate::trackers::block::{BLOCK, Block, Lanes, between, bracket, is};

/// Open brackets that are kept. Deeper ones end the judgement about brackets: `((((…` must not hold memory.
const MAX_DEPTH: usize = 1024;
/// Longest `$tag$` or heredoc tag, in bytes. PostgreSQL cuts names at 63.
const MAX_TAG: usize = 64;
/// Lines after which an open string over lines is taken for a misreading, unless it is of a kind made for long text.
const MAX_STRING_LINES: u32 = 120;
/// Bytes of a one-line string that are kept, to read them again as plain text if the line ends inside it (an
/// apostrophe in JSX text). Longer lines count as a contradiction.
const MAX_REREAD: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Plain,
    Slash,
    Dash,
    LineComment,
    Block {
        star: bool,
        slash: bool,
        depth: u16,
    },
    /// In a string; `esc`: behind a backslash.
    Str {
        q: u8,
        esc: bool,
    },
    /// Behind one or two quotes that may become a triple quote.
    Quotes {
        q: u8,
        n: u8,
    },
    Triple {
        q: u8,
        run: u8,
        esc: bool,
    },
    /// Behind a quote in a string where a doubled quote is an escape.
    MaybeDoubled {
        q: u8,
    },
    /// SQL: behind `\'`, which ends a string in one tradition and does not in the other.
    SlashQuote {
        q: u8,
    },
    /// Behind `'`, where it may be a character or a lifetime.
    Tick {
        n: u8,
        esc: bool,
        wide: bool,
    },
    Template {
        esc: bool,
        dollar: bool,
    },
    Raw {
        hashes: u8,
        run: u8,
        ended: bool,
    },
    Regex {
        class: bool,
        esc: bool,
    },
    /// Reading `$tag$`; the tag is in `tag`.
    DollarTag,
    Dollar {
        matched: u8,
    },
    HeredocTag {
        quote: u8,
        dash: bool,
    },
    HeredocBody {
        matched: u8,
        ok: bool,
        start: bool,
    },
    Directive {
        esc: bool,
    },
    /// Rows behind `COPY … FROM stdin;` up to `\\.`: how much of that was seen at the start of a line.
    Copy {
        matched: u8,
    },
}

/// The reader's state.
#[derive(Debug)]
pub(super) struct Code {
    dialect: Dialect,
    state: State,
    /// Open brackets: the byte in the top eight bits (`$` for `${`), the place below. The first entry stands for none,
    /// and those from `depth` on are empty.
    stack: Vec<u64>,
    depth: usize,
    /// A closer did not fit, or the nesting was too deep.
    bracket_doubts: u32,
    /// A line ended inside a one-line string, or a string ran on too long.
    string_doubts: u32,
    opened_at: u64,
    lines_open: u32,
    /// The last byte that is not a blank, in code.
    sig: u8,
    /// The last byte.
    prev: u8,
    /// The last bytes of code, white space collapsed, newest lowest.
    recent: u64,
    /// `#` just before, and the byte before them.
    hashes: u8,
    before_hashes: u8,
    /// At the start of a line, but for blanks.
    line_start: bool,
    tag: Vec<u8>,
    /// The heredoc tag has been read and its body starts with the next line.
    heredoc: bool,
    heredoc_dash: bool,
    reread: Vec<u8>,
    rereading: bool,
    /// The bytes that mean something in plain code, a bit each.
    interesting: [u64; 2],
    /// The same but for brackets and line feeds. Where there are fewer, the first is repeated.
    needles: [u8; NEEDLES],
}

/// Most bytes that a dialect stops at, brackets and line feeds aside. The first [`FEW`] are enough for most dialects.
const NEEDLES: usize = 6;
const FEW: usize = 4;

#[inline]
fn is_in(set: &[u64; 2], b: u8) -> bool {
    set.get(usize::from(b >> 6)).is_some_and(|word| word >> (b & 63) & 1 != 0)
}

impl Code {
    pub(super) fn new(dialect: Dialect) -> Code {
        let mut interesting = [0; 2];
        let mut needles = [b'"'; NEEDLES];
        let mut count = 1;
        let mut add = |bytes: &[u8], on: bool| {
            for b in bytes.iter().filter(|_| on) {
                interesting[usize::from(b >> 6)] |= 1 << (b & 63);
                if !b"\n()[]{}\"".contains(b) {
                    needles[count] = *b;
                    count += 1;
                }
            }
        };
        add(b"\n\"", true);
        add(b"/", dialect.slashes || dialect.block);
        add(b"-", dialect.dashes);
        add(b"#", dialect.hash || dialect.hashes || dialect.directives);
        add(b"$", dialect.dollar);
        add(b"<\\", dialect.heredoc);
        add(b"'", dialect.single != Quote::None);
        add(b"`", dialect.backtick != Quote::None);
        add(b"()[]{}", dialect.brackets);
        Code {
            dialect,
            state: State::Plain,
            stack: vec![0],
            depth: 1,
            bracket_doubts: 0,
            string_doubts: 0,
            opened_at: 0,
            lines_open: 0,
            sig: 0,
            prev: b'\n',
            recent: 0,
            hashes: 0,
            before_hashes: 0,
            line_start: true,
            tag: Vec::new(),
            heredoc: false,
            heredoc_dash: false,
            reread: Vec::new(),
            rereading: false,
            interesting,
            needles,
        }
    }

    pub(super) fn feed(&mut self, at: u64, bytes: &[u8]) {
        for (n, part) in bytes.chunks(BLOCK).enumerate() {
            self.feed_block(at + u64::try_from(n * BLOCK).unwrap_or(u64::MAX), part, &Block::new(part));
        }
    }

    /// Takes up to 64 bytes.
    fn feed_block(&mut self, at: u64, bytes: &[u8], block: &Block) {
        let offset = |n: usize| at + u64::try_from(n).unwrap_or(u64::MAX);
        let simple = !self.follows();
        let stops = self.stops(block, simple);
        // Without templates, brackets that are in doubt say nothing any more.
        let counted = simple && self.dialect.brackets && self.bracket_doubts == 0;
        let brackets = if counted { block.mask(bracket) } else { 0 };
        let mut i = 0;
        while i < bytes.len() {
            let next = |places: u64| ((places & between(i, BLOCK)).trailing_zeros() as usize).min(bytes.len());
            let end = match self.state {
                State::Plain if simple => {
                    let end = self.pass_slashes(bytes, stops & between(i, BLOCK));
                    self.count_brackets(at, bytes, brackets & between(i, end));
                    end
                }
                State::Plain => next(stops),
                State::LineComment
                | State::Copy { matched: 3 }
                | State::HeredocBody { ok: false, start: false, .. } => next(block.all(b'\n')),
                State::Block { star: false, slash: false, .. } => next(block.mask(|v| is(v, b'*') | is(v, b'/'))),
                State::Str { q, esc: false } | State::Triple { q, run: 0, esc: false } => {
                    next(block.mask(|v| is(v, q) | is(v, b'\\') | is(v, b'\n')))
                }
                State::Template { esc: false, dollar: false } => {
                    next(block.mask(|v| is(v, b'`') | is(v, b'\\') | is(v, b'$') | is(v, b'\n')))
                }
                State::Raw { run: 0, ended: false, .. } => {
                    next(block.mask(|v| is(v, b'"') | is(v, b'\'') | is(v, b'`') | is(v, b'\n')))
                }
                _ => i,
            };
            if end > i {
                let run = &bytes[i..end];
                match self.state {
                    State::Plain if simple => self.hashes = 0,
                    State::Plain => self.plain(run),
                    State::Str { .. } if self.dialect.regex => self.remember(run),
                    _ => {}
                }
                self.prev = run[run.len() - 1];
                i = end;
                if i == bytes.len() {
                    return;
                }
            }
            self.step(offset(i), bytes[i]);
            i += 1;
        }
    }

    /// Where plain code stops. In a dialect that does not [follow](Code::follows) it, brackets are counted apart, and
    /// line feeds matter behind the tag of a heredoc only.
    #[inline]
    fn stops(&self, block: &Block, simple: bool) -> u64 {
        let [a, b, c, d, e, f] = self.needles;
        let few = |v: Lanes| is(v, a) | is(v, b) | is(v, c) | is(v, d);
        let mut stops = block.mask(few);
        if self.needles[FEW] != self.needles[0] {
            stops |= block.mask(|v| is(v, e) | is(v, f));
        }
        if !simple || self.dialect.heredoc {
            stops |= block.all(b'\n');
        }
        if !simple && self.dialect.brackets {
            stops |= block.mask(bracket);
        }
        stops
    }

    /// The first stop that is not a slash which begins no comment, or the end of the block.
    #[inline]
    fn pass_slashes(&self, bytes: &[u8], mut stops: u64) -> usize {
        loop {
            let n = stops.trailing_zeros() as usize;
            let Some(b) = bytes.get(n) else { return bytes.len() };
            if *b != b'/' || bytes.get(n + 1).is_none_or(|b| matches!(b, b'/' | b'*')) {
                return n;
            }
            stops &= stops - 1;
        }
    }

    /// Counts brackets of plain code, in a dialect without templates. Without branches that depend on the text.
    #[inline]
    fn count_brackets(&mut self, at: u64, bytes: &[u8], mut places: u64) {
        let most = self.depth + places.count_ones() as usize;
        if most > MAX_DEPTH {
            return self.count_deep_brackets(at, bytes, places);
        }
        if most >= self.stack.len() {
            self.stack.resize((most + 1).next_power_of_two(), 0);
        }
        let stack = &mut self.stack[..];
        let mut depth = self.depth;
        while places != 0 {
            let n = places.trailing_zeros() as usize;
            places &= places - 1;
            let b = bytes[n];
            let closes = usize::from(b >> 2 & 1 | u8::from(b == b')'));
            let between = stack[depth - 1].to_be_bytes()[0] ^ b;
            if closes != 0 && !matches!(between, PARENTHESES | OTHERS) {
                self.bracket_doubts += 1;
                self.depth = 1;
                return;
            }
            stack[depth] = entry(b, at + u64::try_from(n).unwrap_or(u64::MAX));
            depth = depth + 1 - 2 * closes;
        }
        self.depth = depth;
    }

    #[cold]
    fn count_deep_brackets(&mut self, at: u64, bytes: &[u8], mut places: u64) {
        while places != 0 {
            let n = places.trailing_zeros() as usize;
            places &= places - 1;
            match bytes[n] {
                b @ (b'(' | b'[' | b'{') => self.push(at + u64::try_from(n).unwrap_or(u64::MAX), b),
                b => self.pop(b),
            }
        }
    }

    /// Whether the dialect tells a regular expression, COPY data or a directive by what stands before it.
    fn follows(&self) -> bool {
        self.dialect.regex || self.dialect.dollar || self.dialect.directives
    }

    /// What is open at the end, outermost first.
    pub(super) fn open(&self, out: &mut Vec<(&'static str, u64)>) {
        if self.bracket_doubts == 0 && self.string_doubts == 0 {
            let place = |e: &u64| e & ((1 << 56) - 1);
            let open = &self.stack[1..self.depth];
            if let Some(e) = open.first() {
                out.push(("open-bracket", place(e)));
            }
            if open.len() > 1 {
                out.extend(open.last().map(|e| ("open-bracket", place(e))));
            }
        }
        if self.string_doubts > 0 {
            return;
        }
        let code = match self.state {
            State::Str { .. } | State::SlashQuote { .. } => "open-string",
            State::Quotes { n: 1, .. } => "open-string",
            State::Triple { run: 0..=2, .. } => "open-triple-quote",
            State::Template { .. } if self.bracket_doubts == 0 => "open-template",
            State::Raw { ended: false, .. } => "open-string",
            State::Dollar { .. } => "open-dollar-quote",
            State::Block { .. } => "open-comment",
            State::HeredocBody { .. } => "open-heredoc",
            State::Copy { matched: 0 | 1 | 3 } => "open-copy-data",
            State::Tick { esc: true, .. } => "open-string",
            State::Regex { .. } if self.bracket_doubts == 0 => "open-regex",
            _ => return,
        };
        if code == "open-heredoc" && self.heredoc_ends_here() {
            return;
        }
        out.push((code, self.opened_at));
    }

    /// Whether nothing that follows can make it say anything.
    pub(super) fn silent(&self) -> bool {
        self.string_doubts > 0
    }

    pub(super) fn memory(&self) -> usize {
        self.stack.capacity() * size_of::<u64>() + self.tag.capacity() + self.reread.capacity()
    }

    #[inline]
    fn plain(&mut self, run: &[u8]) {
        self.hashes = 0;
        if self.follows() {
            self.follow(run);
        }
    }

    /// What dialects need that follow plain code.
    fn follow(&mut self, run: &[u8]) {
        if let Some(b) = run.iter().rev().find(|b| !b.is_ascii_whitespace()) {
            self.sig = *b;
            self.line_start = false;
        }
        if self.dialect.regex || self.dialect.dollar {
            for b in &run[run.len().saturating_sub(12)..] {
                self.shift(*b);
            }
        }
    }

    fn shift(&mut self, b: u8) {
        let b = if b.is_ascii_whitespace() { b' ' } else { b };
        if b != b' ' || self.recent & 0xff != u64::from(b' ') {
            self.recent = self.recent << 8 | u64::from(b);
        }
    }

    fn remember(&mut self, run: &[u8]) {
        let room = (MAX_REREAD + 1).saturating_sub(self.reread.len());
        self.reread.extend_from_slice(&run[..run.len().min(room)]);
    }

    fn open_string(&mut self, at: u64, state: State) {
        self.opened_at = at;
        self.lines_open = 0;
        self.state = state;
    }

    fn step(&mut self, at: u64, b: u8) {
        match self.state {
            State::Plain => self.step_plain(at, b),
            State::Slash => match b {
                b'/' if self.dialect.slashes => self.state = State::LineComment,
                b'*' if self.dialect.block => {
                    self.open_string(at.saturating_sub(1), State::Block { star: false, slash: false, depth: 1 });
                }
                _ if self.regex_may_start() => {
                    self.open_string(at.saturating_sub(1), State::Regex { class: false, esc: false });
                    self.step(at, b);
                    return;
                }
                _ => self.back_to_plain(at, b, b'/'),
            },
            State::Dash => match b {
                b'-' => self.state = State::LineComment,
                _ => self.back_to_plain(at, b, b'-'),
            },
            State::LineComment => {
                if b == b'\n' {
                    self.state = State::Plain;
                    self.step_plain(at, b);
                }
            }
            State::Directive { esc } => match b {
                b'\n' if !esc => {
                    if self.tag.starts_with(b"el") {
                        // Two branches, of which one counts: their brackets need not balance.
                        self.doubt_brackets();
                    }
                    self.tag.clear();
                    self.state = State::Plain;
                    self.step_plain(at, b);
                }
                _ => {
                    if self.tag.len() < 4 && b.is_ascii_alphabetic() {
                        self.tag.push(b);
                    }
                    self.state = State::Directive { esc: b == b'\\' || esc && b == b'\r' };
                }
            },
            State::Copy { matched } => self.step_copy(b, matched),
            State::Block { star, slash, depth } => {
                self.state = match b {
                    b'/' if star && depth == 1 => State::Plain,
                    b'/' if star => State::Block { star: false, slash: false, depth: depth - 1 },
                    b'*' if slash && self.dialect.nested && depth < u16::MAX => {
                        State::Block { star: false, slash: false, depth: depth + 1 }
                    }
                    _ => State::Block { star: b == b'*', slash: b == b'/', depth },
                };
            }
            State::Str { q, esc } => self.step_string(at, b, q, esc),
            State::MaybeDoubled { q } => {
                if b == q {
                    self.state = State::Str { q, esc: false };
                } else {
                    self.back_to_plain(at, b, q);
                }
            }
            State::SlashQuote { q } => self.step_slash_quote(at, b, q),
            State::Quotes { q, n } => self.step_quotes(at, b, q, n),
            State::Triple { q, run, esc } => self.step_triple(at, b, q, run, esc),
            State::Tick { n, esc, wide } => self.step_tick(at, b, n, esc, wide),
            State::Template { esc, dollar } => self.step_template(at, b, esc, dollar),
            State::Raw { hashes, run, ended } => self.step_raw(at, b, hashes, run, ended),
            State::Regex { class, esc } => self.step_regex(at, b, class, esc),
            State::DollarTag => self.step_dollar_tag(at, b),
            State::Dollar { matched } => self.step_dollar(b, matched),
            State::HeredocTag { quote, dash } => self.step_heredoc_tag(at, b, quote, dash),
            State::HeredocBody { matched, ok, start } => self.step_heredoc(b, matched, ok, start),
        }
        self.prev = b;
    }

    /// A pending byte was plain after all; go on with `b` in plain text.
    fn back_to_plain(&mut self, at: u64, b: u8, pending: u8) {
        self.state = State::Plain;
        self.sig = pending;
        self.line_start = false;
        if self.dialect.regex {
            self.shift(pending);
        }
        if is_in(&self.interesting, b) {
            self.step_plain(at, b);
        } else {
            self.plain(&[b]);
        }
        self.prev = b;
    }

    fn step_plain(&mut self, at: u64, b: u8) {
        let at_line_start = self.line_start;
        let hashes = std::mem::take(&mut self.hashes);
        match b {
            b'\n' => {
                self.line_start = true;
                self.rereading = false;
                if self.dialect.dollar && self.recent.to_be_bytes()[2..].eq_ignore_ascii_case(b"stdin;") {
                    self.recent = 0;
                    self.open_string(at + 1, State::Copy { matched: 0 });
                    return;
                }
                if self.dialect.regex {
                    self.shift(b);
                }
                if self.heredoc {
                    self.heredoc = false;
                    self.open_string(self.opened_at, State::HeredocBody { matched: 0, ok: true, start: true });
                }
                return;
            }
            b'"' => self.step_quote(at, b, self.dialect.double, hashes),
            b'\'' => self.step_quote(at, b, self.dialect.single, 0),
            b'`' => self.step_quote(at, b, self.dialect.backtick, 0),
            b'(' | b'[' | b'{' => self.push(at, b),
            b')' | b']' | b'}' => self.pop(b),
            b'/' => self.state = State::Slash,
            b'-' => self.state = State::Dash,
            b'#' if self.dialect.directives && at_line_start => {
                self.tag.clear();
                self.state = State::Directive { esc: false };
                return;
            }
            b'#' if self.dialect.hash && (!self.dialect.heredoc || self.prev.is_ascii_whitespace()) => {
                self.state = State::LineComment;
                return;
            }
            b'#' if self.dialect.hashes => {
                if hashes == 0 {
                    self.before_hashes = self.prev;
                }
                self.hashes = hashes.saturating_add(1);
            }
            b'$' if self.dialect.dollar && !self.prev.is_ascii_alphanumeric() => {
                self.tag.clear();
                self.opened_at = at;
                self.state = State::DollarTag;
            }
            b'<' if self.dialect.heredoc && self.prev == b'<' && !self.heredoc => {
                self.tag.clear();
                self.opened_at = at.saturating_sub(1);
                self.state = State::HeredocTag { quote: 0, dash: false };
            }
            _ => {}
        }
        if b != b'/' && b != b'-' {
            self.sig = b;
            if self.dialect.regex || self.dialect.dollar {
                self.shift(b);
            }
        }
        self.line_start = false;
    }

    fn push(&mut self, at: u64, b: u8) {
        if self.depth > MAX_DEPTH {
            self.doubt_brackets();
            self.depth = 1;
            return;
        }
        if self.depth == self.stack.len() {
            self.stack.resize(2 * self.depth, 0);
        }
        self.stack[self.depth] = entry(b, at);
        self.depth += 1;
    }

    fn pop(&mut self, b: u8) {
        let open = self.stack[self.depth - 1].to_be_bytes()[0];
        self.depth = (self.depth - 1).max(1);
        match (open, b) {
            (b'(', b')') | (b'[', b']') | (b'{', b'}') => {}
            (b'$', b'}') => self.state = State::Template { esc: false, dollar: false },
            _ => {
                self.doubt_brackets();
                self.depth = 1;
            }
        }
    }

    fn doubt_brackets(&mut self) {
        self.bracket_doubts += 1;
    }
}

/// What an opener and its closer differ in.
const PARENTHESES: u8 = b'(' ^ b')';
const OTHERS: u8 = b'[' ^ b']';

/// An open bracket and its place.
#[inline]
fn entry(b: u8, at: u64) -> u64 {
    u64::from(b) << 56 | at & ((1 << 56) - 1)
}
