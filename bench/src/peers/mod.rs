//! What Forebay is compared with. Each peer does the nearest thing to Forebay's work that it offers, in the way that
//! is fastest for it; what it leaves out (starts of matches, checks, replacing, streams) is told, and is in its favour.
//!
//! Each is behind a feature, so that nobody needs to build them: `peers` for the crates, `hyperscan` for libhs.

#[cfg(feature = "peers")]
pub mod cerberust;
#[cfg(feature = "hyperscan")]
pub mod hyperscan;
#[cfg(feature = "peers")]
pub mod redact_secret;
#[cfg(feature = "peers")]
pub mod regex;

/// Cuts `text` into pieces of about `size` bytes that are whole characters, as the peers that take `&str` need it.
pub fn pieces(text: &str, size: usize) -> Vec<&str> {
    let mut out = Vec::with_capacity(text.len() / size.max(1) + 1);
    let mut rest = text;
    while !rest.is_empty() {
        let mut at = size.max(1).min(rest.len());
        while !rest.is_char_boundary(at) {
            at += 1;
        }
        let (piece, behind) = rest.split_at(at);
        out.push(piece);
        rest = behind;
    }
    out
}
