//! Terminal escapes that hide text from the person at the terminal: concealed text, text in its own background colour,
//! a colour change around every letter, a link whose text names another host than its target.
//!
//! It follows ECMA-48 control sequences and the OSC 8 convention for links. It is *not* a terminal: it does not know
//! where the cursor is, so text that is printed and then wiped is not its business (progress bars do nothing else).

use super::chars::{Char, Class};
use super::{Kind, MAX_SPAN, Out};

/// Concealed letters that are text.
const CONCEALED: u32 = 4;
/// Single letters between colour changes: more than a logo has.
const BETWEEN: u32 = 12;
/// Parameters of a control sequence and target of a link that are looked at, in bytes; terminals take no more either.
const MAX_PARAMS: usize = 48;
/// Longest operating-system command, in bytes: what is longer was never closed, and is text again.
const MAX_COMMAND: u64 = 2048;
/// Host names are at most 253 bytes; what matters of a deceptive one is its end, but no shown text is this long.
const MAX_HOST: usize = 64;

/// The machine.
#[derive(Default)]
pub(super) struct Ansi {
    state: State,
    /// Where the escape being read began.
    escape: u64,
    params: Bytes<MAX_PARAMS>,
    concealed: Option<Concealed>,
    between: Option<Between>,
    /// Boxed, since few texts have one and every stream has room for it.
    link: Option<Box<Link>>,
    target: Bytes<MAX_HOST>,
    target_part: Part,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    Control,
    Command,
    CommandEscape,
}

/// Which part of a link's command is read.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    #[default]
    Number,
    Params,
    Scheme,
    Host,
    Rest,
    NoLink,
}

struct Concealed {
    start: u64,
    letters: u32,
}

struct Between {
    start: u64,
    end: u64,
    letters: u32,
    /// Visible characters since the last colour change.
    run: u32,
}

struct Link {
    start: u64,
    host: Bytes<MAX_HOST>,
    text: Bytes<MAX_HOST>,
}

/// A short byte string; what does not fit is dropped and noted.
#[derive(Clone, Copy)]
struct Bytes<const N: usize> {
    bytes: [u8; N],
    len: usize,
    full: bool,
}

impl<const N: usize> Default for Bytes<N> {
    fn default() -> Self {
        Bytes { bytes: [0; N], len: 0, full: false }
    }
}

impl<const N: usize> Bytes<N> {
    fn push(&mut self, b: u8) {
        if self.len < N {
            self.bytes[self.len] = b.to_ascii_lowercase();
            self.len += 1;
        } else {
            self.full = true;
        }
    }

    fn get(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Ansi {
    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        self.link.as_ref().map_or(0, |_| size_of::<Link>())
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.state == State::Text && self.concealed.is_none() && self.between.is_none() && self.link.is_none()
    }

    pub(super) fn live_from(&self) -> Option<u64> {
        [
            (self.state != State::Text).then_some(self.escape),
            self.concealed.as_ref().map(|c| c.start),
            self.between.as_ref().map(|b| b.start),
            self.link.as_ref().map(|l| l.start),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Whether the character belongs to an escape (and is nobody else's business).
    pub(super) fn step(&mut self, c: Char, out: &mut Out<'_>) -> bool {
        let byte = u8::try_from(c.cp).unwrap_or(b'?');
        match self.state {
            State::Text if c.class == Class::Escape => {
                self.state = State::Escape;
                self.escape = c.at;
            }
            State::Text => {
                self.text(c, out);
                return false;
            }
            State::Escape => match byte {
                b'[' => {
                    self.state = State::Control;
                    self.params = Bytes::default();
                }
                b']' => {
                    self.state = State::Command;
                    self.target = Bytes::default();
                    self.target_part = Part::Number;
                }
                0x1B => self.escape = c.at,
                _ => self.state = State::Text,
            },
            State::Control => match byte {
                0x20..=0x3F if c.cp < 0x80 => self.params.push(byte),
                b'm' => {
                    self.state = State::Text;
                    self.colour(c.end, out);
                }
                0x1B => {
                    self.state = State::Escape;
                    self.escape = c.at;
                }
                _ => self.state = State::Text,
            },
            State::Command | State::CommandEscape if c.end - self.escape > MAX_COMMAND => self.state = State::Text,
            State::Command => match byte {
                0x07 => self.command(c.end, out),
                0x1B => self.state = State::CommandEscape,
                b'\n' => self.state = State::Text,
                _ => self.in_command(byte),
            },
            State::CommandEscape => match byte {
                b'\\' => self.command(c.end, out),
                0x1B => {}
                _ => self.state = State::Text,
            },
        }
        true
    }

    pub(super) fn finish(&mut self, at: u64, out: &mut Out<'_>) {
        self.state = State::Text;
        self.close_concealed(at, at, out);
        self.close_between(at, out);
        self.link = None;
    }

    fn text(&mut self, c: Char, out: &mut Out<'_>) {
        if let Some(k) = &mut self.concealed {
            k.letters += u32::from(c.class.is_plain_letter() || matches!(c.class, Class::Complex | Class::RightToLeft));
            if c.end - k.start >= MAX_SPAN {
                self.close_concealed(c.end, c.end, out);
                self.concealed = Some(Concealed { start: c.end, letters: 0 });
            }
        }
        if let Some(b) = &mut self.between {
            b.run += u32::from(!c.class.is_hidden() && c.class != Class::Space);
            if b.run > 1 || c.class == Class::Newline || c.end - b.start >= MAX_SPAN {
                self.close_between(c.end, out);
            }
        }
        if let Some(l) = &mut self.link {
            l.text.push(u8::try_from(c.cp).unwrap_or(b'?'));
            if c.class == Class::Newline {
                self.link = None;
            }
        }
    }

    /// A "select graphic rendition" sequence ended at `end`.
    fn colour(&mut self, end: u64, out: &mut Out<'_>) {
        let b = self.between.get_or_insert(Between { start: self.escape, end, letters: 0, run: 0 });
        b.letters += u32::from(b.run == 1);
        b.run = 0;
        b.end = end;
        match conceals(self.params.get()) {
            Some(true) if self.concealed.is_none() => {
                self.concealed = Some(Concealed { start: self.escape, letters: 0 });
            }
            Some(false) => self.close_concealed(end, end, out),
            _ => {}
        }
    }

    fn close_concealed(&mut self, end: u64, decided: u64, out: &mut Out<'_>) {
        if let Some(k) = self.concealed.take()
            && k.letters >= CONCEALED
        {
            out.mark(Kind::AnsiConceal, k.start, end, decided);
        }
    }

    fn close_between(&mut self, decided: u64, out: &mut Out<'_>) {
        if let Some(b) = self.between.take()
            && b.letters >= BETWEEN
        {
            out.mark(Kind::AnsiBetweenLetters, b.start, b.end, decided);
        }
    }

    /// One byte of an operating-system command: `8;params;scheme://host/…`.
    fn in_command(&mut self, byte: u8) {
        self.target_part = match (self.target_part, byte) {
            (Part::Number, b'8') => Part::Number,
            (Part::Number, b';') => Part::Params,
            (Part::Number, _) => Part::NoLink,
            (Part::Params, b';') => Part::Scheme,
            (Part::Scheme, b'/') if self.target.get().ends_with(b":/") => {
                self.target = Bytes::default();
                Part::Host
            }
            (Part::Scheme, b) => {
                self.target.push(b);
                Part::Scheme
            }
            (Part::Host, b'/' | b'?' | b'#') => Part::Rest,
            (Part::Host, b'@') => {
                self.target = Bytes::default();
                Part::Host
            }
            (Part::Host, b) => {
                self.target.push(b);
                Part::Host
            }
            (part, _) => part,
        };
    }

    /// A command ended: the start of a link, the end of one, or something else.
    fn command(&mut self, end: u64, out: &mut Out<'_>) {
        self.state = State::Text;
        if self.target_part == Part::NoLink {
            return;
        }
        if let Some(l) = self.link.take()
            && deceives(&l.host, &l.text)
        {
            out.mark(Kind::DeceptiveLink, l.start, end, end);
        }
        if matches!(self.target_part, Part::Host | Part::Rest) {
            self.link = Some(Box::new(Link { start: self.escape, host: self.target, text: Bytes::default() }));
        }
    }
}

/// Whether these parameters turn text invisible (`Some(true)`), turn it visible again, or neither.
fn conceals(params: &[u8]) -> Option<bool> {
    let mut said = None;
    let (mut fore, mut back) = (None, None);
    let mut numbers = params.split(|b| matches!(b, b';' | b':')).map(|p| {
        p.iter().try_fold(0_u32, |n, b| b.is_ascii_digit().then(|| n.saturating_mul(10) + u32::from(b - b'0')))
    });
    while let Some(n) = numbers.next() {
        match n? {
            0 | 28 => said = Some(false),
            8 => said = Some(true),
            n @ 30..=37 => fore = Some(n - 30),
            n @ 40..=47 => back = Some(n - 40),
            n @ 90..=97 => fore = Some(n - 82),
            n @ 100..=107 => back = Some(n - 92),
            n @ (38 | 48) => {
                // 5;n is a palette colour, 2;r;g;b a direct one; both eat their numbers.
                let colour = match numbers.next().flatten() {
                    Some(5) => numbers.next().flatten().map(|c| 0x100 + c),
                    Some(2) => {
                        let mut part = || numbers.next().flatten().unwrap_or(0);
                        Some(0x100_0000 + (part() << 16) + (part() << 8) + part())
                    }
                    _ => None,
                };
                if n == 38 { fore = colour } else { back = colour }
            }
            _ => {}
        }
    }
    if fore.is_some() && fore == back { Some(true) } else { said }
}

/// Whether the text of a link names a host that is neither the target's nor above or below it.
fn deceives(host: &Bytes<MAX_HOST>, text: &Bytes<MAX_HOST>) -> bool {
    if host.full || text.full {
        return false;
    }
    let text = text.get().trim_ascii();
    let text = text.strip_prefix(b"https://").or(text.strip_prefix(b"http://")).unwrap_or(text);
    let shown = text.split(|b| matches!(b, b'/' | b'?' | b'#')).next().unwrap_or(text);
    let is_host = shown.len() >= 4
        && shown.contains(&b'.')
        && shown.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':'))
        && shown.rsplit(|b| *b == b'.').next().is_some_and(|top| COMMON_TOPS.contains(&top));
    let base = |h: &[u8]| -> Vec<u8> {
        let h = h.split(|b| *b == b':').next().unwrap_or(h);
        h.strip_prefix(b"www.").unwrap_or(h).to_vec()
    };
    let (shown, host) = (base(shown), base(host.get()));
    let under = |a: &[u8], b: &[u8]| a == b || a.strip_suffix(b).is_some_and(|rest| rest.ends_with(b"."));
    is_host && !host.is_empty() && !under(&shown, &host) && !under(&host, &shown)
}

/// Top-level domains that make shown text a host: without a list every `main.rs` would be one.
const COMMON_TOPS: [&[u8]; 12] =
    [b"com", b"net", b"org", b"edu", b"gov", b"io", b"dev", b"ai", b"de", b"uk", b"cn", b"jp"];
