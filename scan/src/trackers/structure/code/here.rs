//! Long text in place: heredocs of shells, dollar quotes and COPY data of PostgreSQL.

use super::{Code, MAX_TAG, State};

impl Code {
    pub(super) fn step_heredoc_tag(&mut self, at: u64, b: u8, quote: u8, dash: bool) {
        match b {
            b'-' if self.tag.is_empty() && quote == 0 => self.state = State::HeredocTag { quote, dash: true },
            // `<<<` takes a word.
            b'<' if self.tag.is_empty() => self.state = State::Plain,
            b' ' if self.tag.is_empty() && quote == 0 => {}
            b'\\' if self.tag.is_empty() && quote == 0 => {}
            b'"' | b'\'' if self.tag.is_empty() && quote == 0 => self.state = State::HeredocTag { quote: b, dash },
            _ if (b.is_ascii_alphanumeric() && !(self.tag.is_empty() && b.is_ascii_digit()) || b == b'_')
                && self.tag.len() < MAX_TAG =>
            {
                self.tag.push(b);
            }
            _ => {
                // `$((a<<b))` is a shift; tags are in capitals, or quoted.
                self.heredoc = self.tag.first().is_some_and(|b| quote != 0 || dash || b.is_ascii_uppercase());
                self.heredoc_dash = dash;
                if quote != 0 && b == quote {
                    self.state = State::Plain;
                } else {
                    self.back_to_plain(at, b, b'<');
                }
            }
        }
    }

    pub(super) fn step_heredoc(&mut self, b: u8, matched: u8, ok: bool, start: bool) {
        let n = usize::from(matched);
        if b == b'\n' {
            if ok && n == self.tag.len() {
                self.tag.clear();
                self.state = State::Plain;
                self.line_start = true;
            } else {
                self.lines_open += 1;
                self.state = State::HeredocBody { matched: 0, ok: true, start: true };
            }
            return;
        }
        let blank = start && n == 0 && (b == b'\t' || b == b' ') && self.heredoc_dash;
        let fits = ok && (blank || self.tag.get(n) == Some(&b));
        let matched = if fits && !blank { matched + 1 } else { matched };
        let ok = fits || ok && n == self.tag.len() && b == b'\r';
        self.state = State::HeredocBody { matched, ok, start: blank };
    }

    pub(super) fn heredoc_ends_here(&self) -> bool {
        matches!(self.state, State::HeredocBody { matched, ok: true, .. } if usize::from(matched) == self.tag.len())
    }

    pub(super) fn step_copy(&mut self, b: u8, matched: u8) {
        self.state = match (b, matched) {
            (b'\n', 2) => {
                self.line_start = true;
                State::Plain
            }
            (b'\n', _) => State::Copy { matched: 0 },
            (b'\\', 0) => State::Copy { matched: 1 },
            (b'.', 1) => State::Copy { matched: 2 },
            (b'\r', 2) => State::Copy { matched: 2 },
            _ => State::Copy { matched: 3 },
        };
    }

    pub(super) fn step_dollar_tag(&mut self, at: u64, b: u8) {
        match b {
            b'$' => self.open_string(self.opened_at, State::Dollar { matched: 0 }),
            _ if (b.is_ascii_alphanumeric() || b == b'_') && self.tag.len() < MAX_TAG => self.tag.push(b),
            _ => {
                self.tag.clear();
                self.back_to_plain(at, b, b'$');
            }
        }
    }

    pub(super) fn step_dollar(&mut self, b: u8, matched: u8) {
        // `matched` counts bytes of `$tag$` seen.
        let n = usize::from(matched);
        let want = if n == 0 || n == self.tag.len() + 1 { b'$' } else { self.tag[n - 1] };
        if b == want {
            if n == self.tag.len() + 1 {
                self.tag.clear();
                self.sig = b'$';
                self.state = State::Plain;
            } else {
                self.state = State::Dollar { matched: matched + 1 };
            }
        } else {
            self.state = State::Dollar { matched: u8::from(b == b'$') };
        }
    }
}
