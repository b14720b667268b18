//! Strings of every kind: one-line and longer ones, triple quotes, raw strings, templates, characters, and regular
//! expressions, which are strings by their looks.

use super::{Code, MAX_REREAD, MAX_STRING_LINES, Quote, State};

impl Code {
    pub(super) fn raw_quote(&self) -> u8 {
        if self.dialect.hashes {
            b'"'
        } else if self.dialect.heredoc {
            b'\''
        } else {
            b'`'
        }
    }

    pub(super) fn step_quote(&mut self, at: u64, q: u8, kind: Quote, hashes: u8) {
        if self.rereading && matches!(kind, Quote::Line) {
            return;
        }
        let escaped = self.dialect.heredoc && self.prev == b'\\';
        let state = match kind {
            _ if escaped => return,
            Quote::None => return,
            Quote::Char => State::Tick { n: 0, esc: false, wide: false },
            Quote::Template => State::Template { esc: false, dollar: false },
            Quote::Raw => State::Raw { hashes: 0, run: 0, ended: false },
            _ if hashes > 0 && matches!(self.before_hashes, b'r') => State::Raw { hashes, run: 0, ended: false },
            _ if self.dialect.hashes && self.prev == b'r' && hashes == 0 => {
                State::Raw { hashes: 0, run: 0, ended: false }
            }
            _ if self.dialect.triple => State::Quotes { q, n: 1 },
            _ => State::Str { q, esc: false },
        };
        if matches!(state, State::Tick { .. }) && self.prev.is_ascii_alphanumeric() && !self.dialect.hashes {
            return; // a digit separator
        }
        self.reread.clear();
        self.open_string(at, state);
    }

    pub(super) fn step_string(&mut self, at: u64, b: u8, q: u8, esc: bool) {
        let multi = match q {
            b'"' => self.dialect.double == Quote::Multi,
            b'\'' => self.dialect.single == Quote::Multi,
            _ => false,
        };
        if self.dialect.regex {
            self.remember(&[b]);
        }
        self.state = match b {
            b'\n' if multi => {
                self.lines_open += 1;
                if self.lines_open > MAX_STRING_LINES && !self.dialect.hashes {
                    self.string_doubts += 1;
                }
                State::Str { q, esc: false }
            }
            b'\n' if esc => State::Str { q, esc: false },
            b'\r' if esc => State::Str { q, esc: true },
            b'\n' => {
                self.line_ended_in_string(at);
                return;
            }
            _ if esc && self.dialect.doubled && b == q => State::SlashQuote { q },
            _ if esc => State::Str { q, esc: false },
            b'\\' => State::Str { q, esc: true },
            _ if b == q && self.dialect.doubled => State::MaybeDoubled { q },
            _ if b == q => {
                self.sig = q;
                State::Plain
            }
            _ => State::Str { q, esc: false },
        };
    }

    /// A line end inside a one-line string: no string after all. What it held is read again as plain text where that
    /// is likely (apostrophes in JSX), else it counts as a contradiction.
    pub(super) fn line_ended_in_string(&mut self, at: u64) {
        let text = std::mem::take(&mut self.reread);
        self.state = State::Plain;
        if !self.dialect.regex || text.len() > MAX_REREAD || self.rereading {
            self.string_doubts += 1;
            self.step_plain(at, b'\n');
            return;
        }
        self.rereading = true;
        // The text ends with this line end, which ends the rereading.
        let from = at.saturating_sub(u64::try_from(text.len()).unwrap_or(0));
        self.feed(from + 1, &text);
        self.reread = text;
        self.reread.clear();
    }

    pub(super) fn step_tick(&mut self, at: u64, b: u8, n: u8, esc: bool, wide: bool) {
        self.state = match b {
            _ if esc => State::Tick { n: n.saturating_add(1), esc: false, wide: true },
            b'\n' => {
                if wide && self.dialect.hashes {
                    self.string_doubts += 1;
                }
                self.state = State::Plain;
                self.step_plain(at, b);
                return;
            }
            b'\\' if n == 0 || wide || !self.dialect.hashes => State::Tick { n, esc: true, wide: true },
            b'\'' if n > 0 => {
                self.sig = b;
                State::Plain
            }
            // An escape or another letter: `'\u{1f600}'`, `'é'`, `'ab'` of C.
            _ if wide && n < 16 => State::Tick { n: n + 1, esc: false, wide },
            _ if n == 0 => State::Tick { n: 1, esc: false, wide: !b.is_ascii() },
            _ if !self.dialect.hashes && n < 4 && b.is_ascii_alphanumeric() => {
                State::Tick { n: n + 1, esc: false, wide }
            }
            // A lifetime, or an apostrophe: what it held was plain.
            _ => {
                self.back_to_plain(at, b, b'a');
                return;
            }
        };
    }

    pub(super) fn regex_may_start(&self) -> bool {
        if !self.dialect.regex {
            return false;
        }
        let recent = self.recent.to_be_bytes();
        let text = recent.strip_suffix(b" ").unwrap_or(&recent);
        match self.sig {
            0 | b'(' | b',' | b'=' | b':' | b'[' | b'!' | b'&' | b'|' | b'?' | b'{' | b';' | b'+' | b'*' | b'%' => true,
            b'>' => text.ends_with(b"=>"),
            _ => [&b"return"[..], b"typeof", b"case", b"in", b"of", b"void", b"delete", b"throw", b"yield", b"await"]
                .iter()
                .any(|w| {
                    text.strip_suffix(*w)
                        .is_some_and(|r| !r.last().is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'.'))
                }),
        }
    }

    pub(super) fn step_slash_quote(&mut self, at: u64, b: u8, q: u8) {
        // `\'` ends the string when what follows can only stand behind a string.
        if matches!(b, b',' | b')' | b';' | b'\n') {
            self.back_to_plain(at, b, q);
        } else {
            self.state = State::Str { q, esc: false };
            self.step_string(at, b, q, false);
        }
    }

    pub(super) fn step_quotes(&mut self, at: u64, b: u8, q: u8, n: u8) {
        match (b == q, n) {
            (true, 1) => self.state = State::Quotes { q, n: 2 },
            (true, _) => self.state = State::Triple { q, run: 0, esc: false },
            (false, 1) => {
                self.state = State::Str { q, esc: false };
                self.step_string(at, b, q, false);
            }
            (false, _) => self.back_to_plain(at, b, q),
        }
    }

    pub(super) fn step_triple(&mut self, at: u64, b: u8, q: u8, run: u8, esc: bool) {
        if run == 3 && b != q {
            self.back_to_plain(at, b, q);
            return;
        }
        self.state = match b {
            _ if esc => State::Triple { q, run: 0, esc: false },
            b'\\' => State::Triple { q, run: 0, esc: true },
            _ if b == q => State::Triple { q, run: (run + 1).min(3), esc: false },
            _ => State::Triple { q, run: 0, esc: false },
        };
    }

    pub(super) fn step_template(&mut self, at: u64, b: u8, esc: bool, dollar: bool) {
        if b == b'\n' {
            self.lines_open += 1;
        }
        self.state = match b {
            _ if esc => State::Template { esc: false, dollar: false },
            b'\\' => State::Template { esc: true, dollar: false },
            b'`' => {
                self.sig = b'`';
                State::Plain
            }
            b'{' if dollar => {
                self.push(at, b'$');
                self.sig = b'{';
                State::Plain
            }
            b'$' => State::Template { esc: false, dollar: true },
            _ => State::Template { esc: false, dollar: false },
        };
    }

    pub(super) fn step_raw(&mut self, at: u64, b: u8, hashes: u8, run: u8, ended: bool) {
        if ended && run == hashes {
            self.back_to_plain(at, b, b'"');
            return;
        }
        self.state = match b {
            b'"' | b'\'' | b'`' if b == self.raw_quote() && hashes == 0 => {
                self.sig = b;
                State::Plain
            }
            b'"' if self.dialect.hashes => State::Raw { hashes, run: 0, ended: true },
            b'#' if ended => {
                if run + 1 == hashes {
                    self.sig = b'"';
                    State::Plain
                } else {
                    State::Raw { hashes, run: run + 1, ended }
                }
            }
            b'\n' => {
                self.lines_open += 1;
                if self.dialect.heredoc && self.lines_open > MAX_STRING_LINES {
                    self.string_doubts += 1;
                }
                State::Raw { hashes, run: 0, ended: false }
            }
            _ => State::Raw { hashes, run: 0, ended: false },
        };
    }

    pub(super) fn step_regex(&mut self, at: u64, b: u8, class: bool, esc: bool) {
        self.state = match b {
            b'\n' => {
                // No regular expression after all.
                self.bracket_doubts += 1;
                self.state = State::Plain;
                self.step_plain(at, b);
                return;
            }
            _ if esc => State::Regex { class, esc: false },
            b'\\' => State::Regex { class, esc: true },
            b'[' => State::Regex { class: true, esc: false },
            b']' => State::Regex { class: false, esc: false },
            b'/' if !class => {
                self.sig = b')';
                State::Plain
            }
            _ => State::Regex { class, esc: false },
        };
    }
}
