//! UTF-8: a character cut in half at the end.
//!
//! Only said of a stream that was UTF-8 up to there: in Latin-1 or binary data the last byte says nothing.

/// The state: at most three bytes of an unfinished character.
#[derive(Debug, Default)]
pub(super) struct Utf8 {
    part: [u8; 4],
    len: usize,
    at: u64,
    invalid: bool,
}

impl Utf8 {
    pub(super) fn feed(&mut self, at: u64, bytes: &[u8]) {
        // Nearly all text of most streams; and in a stream that is no UTF-8 nothing counts any more.
        if self.invalid || self.len == 0 && bytes.is_ascii() {
            return;
        }
        let mut from = 0;
        while self.len > 0 && from < bytes.len() && !self.invalid {
            self.part[self.len] = bytes[from];
            self.len += 1;
            from += 1;
            match std::str::from_utf8(&self.part[..self.len]) {
                Ok(_) => self.len = 0,
                Err(e) if e.error_len().is_some() => self.invalid = true,
                Err(_) => {}
            }
        }
        if self.invalid || from == bytes.len() {
            return;
        }
        if let Err(e) = std::str::from_utf8(&bytes[from..]) {
            if e.error_len().is_some() {
                self.invalid = true;
                return;
            }
            let start = from + e.valid_up_to();
            let rest = &bytes[start..];
            self.len = rest.len();
            self.part[..rest.len()].copy_from_slice(rest);
            self.at = at + u64::try_from(start).unwrap_or(u64::MAX);
        }
    }

    /// Where the unfinished character begins.
    pub(super) fn open(&self) -> Option<u64> {
        (!self.invalid && self.len > 0).then_some(self.at)
    }
}
