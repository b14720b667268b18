//! The JSON tokenizer: one push tells what pushes cut anywhere tell, every raw byte is accounted for, and what `serde_json`
//! takes it takes.
#![no_main]

use std::ops::Range;

use forebay_scan::json::{Broken, Events, Token, Tokenizer, Why};
use libfuzzer_sys::fuzz_target;

/// What was told, with no trace of the cuts.
#[derive(Debug, Default, PartialEq)]
struct Told {
    tokens: Vec<(Token, Range<u64>)>,
    text: Vec<u8>,
    /// Where the next event may begin: events go forward and do not overlap.
    at: u64,
}

impl Events for Told {
    fn token(&mut self, token: Token, at: Range<u64>) {
        assert!(self.at <= at.start && at.start <= at.end);
        self.at = at.end;
        self.tokens.push((token, at));
    }

    fn plain(&mut self, bytes: &[u8], at: u64) {
        assert!(self.at <= at && !bytes.is_empty());
        self.at = at + bytes.len() as u64;
        self.text.extend_from_slice(bytes);
    }

    fn escaped(&mut self, character: char, at: Range<u64>) {
        assert!(self.at <= at.start && (2..=12).contains(&(at.end - at.start)));
        self.at = at.end;
        self.text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

fn told<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Told, Result<(), Broken>) {
    let (mut tokenizer, mut told) = (Tokenizer::default(), Told::default());
    let mut pieces = pieces;
    let pushed = pieces.try_for_each(|piece| tokenizer.push(piece, &mut told));
    let result = pushed.and_then(|()| tokenizer.finish(&mut told));
    (told, result)
}

// The first byte is the length of the pieces.
fuzz_target!(|data: &[u8]| {
    let Some((size, text)) = data.split_first() else { return };
    let whole = told(std::iter::once(text));
    assert_eq!(whole, told(text.chunks(usize::from(*size).max(1))));
    if whole.1.is_err_and(|e| e.why == Why::Depth) {
        return;
    }
    let known: Result<serde::de::IgnoredAny, _> = serde_json::from_slice(text);
    assert_eq!(whole.1.is_ok(), known.is_ok(), "{:?}", whole.1);
});
