//! What stands in a replaced span's place.
//!
//! `FBY_<KIND>_<15 letters>`: a word of letters, digits and underscores, so it is inert in JSON, SQL, shell, HTML and
//! URLs, and a model copies it as one identifier. KIND is capital letters and digits; the 15 letters have a fixed
//! length, so tokens are self-delimiting and none is a prefix of another. They hold no digit and no vowel: no rule for
//! numbers and no word list can match one.
//!
//! The first ten letters (40 bits) are a keyed hash of the value: the same value gives the same token under the same
//! key, and without the key nothing can be learned or guessed from it. The last five (20 bits) authenticate kind and
//! number, so that a forged or mangled token is recognised.

use crate::finding::Action;

/// The secret that a session's tokens are keyed with. The same value gives the same token under the same key.
#[derive(Clone)]
pub struct TokenKey([u8; 32]);

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenKey(…)")
    }
}

const LETTERS: &[u8; 16] = b"bcdfghjkmnpqrstv";
const ID_LETTERS: usize = 10;
const TAG_LETTERS: usize = 5;

/// A hash of a value in the making; for regions, whose bytes are dropped as they come.
pub(crate) struct ValueHash(blake3::Hasher);

impl ValueHash {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

impl TokenKey {
    /// A key from 32 secret bytes. Where they come from is the caller's business: this crate has no randomness.
    pub fn new(bytes: [u8; 32]) -> Self {
        TokenKey(bytes)
    }

    pub(crate) fn value(&self) -> ValueHash {
        ValueHash(blake3::Hasher::new_keyed(&self.0))
    }

    /// Writes the token of a hashed value.
    pub(crate) fn write(&self, kind: &str, value: &ValueHash, out: &mut Vec<u8>) {
        let from = out.len();
        out.extend_from_slice(b"FBY_");
        out.extend_from_slice(kind.as_bytes());
        out.push(b'_');
        letters(value.0.finalize().as_bytes(), ID_LETTERS, out);
        let tag = blake3::keyed_hash(&self.0, &out[from..]);
        letters(tag.as_bytes(), TAG_LETTERS, out);
    }

    /// Whether `token` was written under this key.
    pub fn verifies(&self, token: &[u8]) -> bool {
        let Some(cut) = token.len().checked_sub(TAG_LETTERS) else { return false };
        let mut tag = Vec::with_capacity(TAG_LETTERS);
        letters(blake3::keyed_hash(&self.0, &token[..cut]).as_bytes(), TAG_LETTERS, &mut tag);
        token.starts_with(b"FBY_") && token[cut..] == tag[..]
    }
}

/// The length of the token that `text` begins with, by its form; 0 if there is none. No rule matches within one: what
/// the filter wrote once would be replaced again at the next hop, and again. Nothing is lost by it: the form has no room
/// for a secret beyond 15 letters of 16.
pub(crate) fn token_len(text: &[u8]) -> usize {
    let Some(rest) = text.strip_prefix(b"FBY_") else { return 0 };
    let kind = rest.iter().take(25).take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit()).count();
    let whole = 4 + kind + 1 + ID_LETTERS + TAG_LETTERS;
    let fits = (1..=24).contains(&kind)
        && text.len() >= whole
        && rest[kind] == b'_'
        && text[5 + kind..whole].iter().all(|b| LETTERS.contains(b));
    if fits { whole } else { 0 }
}

fn letters(hash: &[u8], n: usize, out: &mut Vec<u8>) {
    out.extend((0..n).map(|i| LETTERS[usize::from(if i % 2 == 0 { hash[i / 2] >> 4 } else { hash[i / 2] & 15 })]));
}

/// Writes `value` with its letters and digits starred but for the last four; the rest keeps its place. Of a value of
/// eight or fewer nothing is kept: the last four would be half of it.
pub(crate) fn mask(value: &[u8], out: &mut Vec<u8>) {
    // Characters are counted by their first byte: the bytes of one share its fate.
    let first = |b: u8| hides(b) && b & 0xc0 != 0x80;
    let total = value.iter().filter(|b| first(**b)).count();
    let keep = if total > 8 { 4 } else { 0 };
    let mut seen = 0;
    for b in value {
        seen += usize::from(first(*b));
        if !hides(*b) || seen + keep > total {
            out.push(*b);
        } else if first(*b) {
            out.push(b'*');
        }
    }
}

fn hides(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b >= 0x80
}

/// How strong an action is where spans overlap: what hides more wins.
pub(crate) fn strength(a: Action) -> u8 {
    match a {
        Action::Allow | Action::Flag => 0,
        Action::Mask => 1,
        Action::Replace => 2,
        Action::Block => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_value_same_token_and_forgeries_are_told() {
        let key = TokenKey::new([7; 32]);
        let token = |v: &[u8]| {
            let (mut h, mut out) = (key.value(), Vec::new());
            h.update(v);
            key.write("EMAIL", &h, &mut out);
            out
        };
        assert_eq!(token(b"a"), token(b"a"));
        assert_ne!(token(b"a"), token(b"b"));
        let mut t = token(b"a");
        assert!(key.verifies(&t) && t.len() == 4 + 5 + 1 + 15);
        assert!(!TokenKey::new([8; 32]).verifies(&t));
        t[6] ^= 1;
        assert!(!key.verifies(&t));
    }

    #[test]
    fn masks() {
        let m = |v: &str| {
            let mut out = Vec::new();
            mask(v.as_bytes(), &mut out);
            String::from_utf8(out)
        };
        assert_eq!(m("4111-1111-1111-1234").as_deref(), Ok("****-****-****-1234"));
        assert_eq!(m("12-34").as_deref(), Ok("**-**"));
        assert_eq!(m("日本語").as_deref(), Ok("***"));
    }
}
