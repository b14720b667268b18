//! From byte offsets to lines and columns.

/// A place for people. Both count from 1; the column counts Unicode code points, as the SARIF output declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Place {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

impl Place {
    /// The place behind `passed`, which begins here.
    pub(crate) fn walk(self, passed: &[u8]) -> Place {
        let line = self.line + memchr::memchr_iter(b'\n', passed).count() as u64;
        let column = match memchr::memrchr(b'\n', passed) {
            Some(i) => 1 + characters(&passed[i + 1..]),
            None => self.column + characters(passed),
        };
        Place { line, column }
    }
}

/// Walks forward through a text. Linear however many places are asked for, also in a file of one line.
pub(crate) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    place: Place,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Cursor { text, at: 0, place: Place { line: 1, column: 1 } }
    }

    /// The place of `offset`. Offsets must not fall; one behind the end counts as the end.
    pub(crate) fn advance(&mut self, offset: usize) -> Place {
        let offset = offset.min(self.text.len());
        debug_assert!(offset >= self.at, "offsets must not fall");
        if let Some(passed) = self.text.get(self.at..offset) {
            self.place = self.place.walk(passed);
            self.at = offset;
        }
        self.place
    }
}

fn characters(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|b| **b & 0xc0 != 0x80).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns() {
        let mut c = Cursor::new("ab\n多c\n".as_bytes());
        assert_eq!(c.advance(0), Place { line: 1, column: 1 });
        assert_eq!(c.advance(1), Place { line: 1, column: 2 });
        assert_eq!(c.advance(3), Place { line: 2, column: 1 });
        assert_eq!(c.advance(6), Place { line: 2, column: 2 });
        assert_eq!(c.advance(99), Place { line: 3, column: 1 });
    }
}
