//! JSON as it comes: what a document is made of, in pieces cut anywhere, with the place of every byte.
//!
//! [`Tokenizer`] is a state machine over bytes. It tells an [`Events`] of each token, and of each string what it says: runs
//! of bytes that stand for themselves, borrowed from what was pushed, and escapes, each as the character that it means.
//! It keeps one bit a level and the few bytes of an open escape, nothing else: how long a value is, or a document, does not
//! matter, and neither where it is cut.
//!
//! It takes what RFC 8259 takes, and two things more, because documents in the wild have them and nothing is to be lost of
//! them: bytes in strings that are no UTF-8 (passed as they are), and escapes of half a surrogate pair (U+FFFD). It takes
//! one document; more of them in a row, or lines of them, are for whoever resets it.
//!
//! This is *not* a parser: nothing is collected, numbers are not read, and keys that stand twice are two keys.
//!
//! Attacker: whoever wrote the document. Nesting is bounded by [`MAX_DEPTH`]; each push is one pass over its bytes.

mod escape;
mod number;
mod tokenizer;

pub(crate) use escape::simple;
pub(crate) use number::Number;

pub use tokenizer::{Events, MAX_DEPTH, Token, Tokenizer};

/// Why bytes are no JSON, and the offset of the first one that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no JSON at byte {at}: {why}")]
pub struct Broken {
    /// Of the whole document.
    pub at: u64,
    /// What is wrong with it.
    pub why: Why,
}

/// See [`Broken`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Neither a value nor what may stand between values.
    #[error("unexpected byte")]
    Unexpected,
    /// A control character in a string; it must be escaped.
    #[error("control character in a string")]
    Control,
    /// A backslash before something that is no escape.
    #[error("unknown escape")]
    Escape,
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    Depth,
    /// It stops before its end.
    #[error("it stops before its end")]
    Unfinished,
}
