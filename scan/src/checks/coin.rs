//! Addresses of Bitcoin.
//!
//! Both forms carry a checksum of four bytes or more, so that a run of letters passes by chance about never. It is *not*
//! asked whether anything was ever paid to an address.

use sha2::{Digest, Sha256};

/// Base58Check (version, 20 bytes of a hash, the first four bytes of a double SHA-256) for public keys and scripts of the
/// main and the test network, or a segregated witness address.
pub(super) fn btc(span: &[u8]) -> bool {
    base58check(span) || segwit(span)
}

/// Longest address in Base58: 25 bytes are at most 35 of its digits.
const MOST_DIGITS: usize = 35;

fn base58check(span: &[u8]) -> bool {
    const DIGITS: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    if span.len() > MOST_DIGITS {
        return false;
    }
    let mut bytes = [0u8; 25];
    for b in span {
        let Some(digit) = DIGITS.iter().position(|d| d == b) else { return false };
        let mut carry = digit;
        for byte in bytes.iter_mut().rev() {
            carry += usize::from(*byte) * 58;
            *byte = carry.to_le_bytes()[0];
            carry >>= 8;
        }
        if carry > 0 {
            return false;
        }
    }
    // Leading zero bytes are written as ones, each by one digit.
    let zeros = bytes.iter().take_while(|b| **b == 0).count();
    let ones = span.iter().take_while(|b| **b == b'1').count();
    let (body, check) = bytes.split_at(21);
    zeros == ones && matches!(body[0], 0x00 | 0x05 | 0x6f | 0xc4) && Sha256::digest(Sha256::digest(body))[..4] == *check
}

/// BIP-173 (version 0) and BIP-350 (versions 1 to 16): a prefix, `1`, a version, 2 to 40 bytes in groups of five bits, and
/// a BCH code of 30 bits. One case throughout.
fn segwit(span: &[u8]) -> bool {
    const DIGITS: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    let mixed = span.iter().any(u8::is_ascii_uppercase) && span.iter().any(u8::is_ascii_lowercase);
    if mixed || span.len() > 90 {
        return false;
    }
    let Some(one) = span.iter().rposition(|b| *b == b'1') else { return false };
    let (prefix, data) = (&span[..one], &span[one + 1..]);
    if ![b"bc", b"tb"].iter().any(|p| prefix.eq_ignore_ascii_case(*p)) || data.len() < 8 {
        return false;
    }
    let mut sum = 1u32;
    for b in prefix {
        sum = step(sum) ^ u32::from(b.to_ascii_lowercase() >> 5);
    }
    sum = step(sum);
    for b in prefix {
        sum = step(sum) ^ u32::from(b & 31);
    }
    let mut version = None;
    for b in data {
        let Some(v) = DIGITS.iter().position(|d| *d == b.to_ascii_lowercase()) else { return false };
        version = version.or(Some(v));
        sum = step(sum) ^ (v as u32);
    }
    // Version, witness program, six digits of checksum.
    let program = (data.len() - 7) * 5 / 8;
    match version {
        Some(0) => sum == 1 && matches!(program, 20 | 32),
        Some(1..=16) => sum == 0x2bc8_30a3 && (2..=40).contains(&program),
        _ => false,
    }
}

/// One step of the BCH code of BIP-173: times x, modulo its generator.
fn step(sum: u32) -> u32 {
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let top = sum >> 25;
    let shifted = (sum & 0x1ff_ffff) << 5;
    GENERATOR.iter().enumerate().fold(shifted, |s, (i, g)| if top >> i & 1 == 1 { s ^ g } else { s })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The address of the first block and those that BIP-173 and BIP-350 print, put together here.
    #[test]
    fn printed_addresses() {
        let genesis = ["1A1zP1eP5QGefi2", "DMPTfTL5SLmv7DivfNa"].concat();
        let v0 = ["BC1QW508D6QEJXTDG4Y5", "R3ZARVARY0C5XW7KV8F3T4"].concat();
        let v1 = ["bc1p0xlxvlhemja6c4dqv22uapctqup", "fhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"].concat();
        for good in [&genesis, &v0, &v0.to_lowercase(), &v1] {
            assert!(btc(good.as_bytes()), "{good}");
            for i in 0..good.len() {
                let mut bad = good.clone().into_bytes();
                bad[i] = if bad[i].eq_ignore_ascii_case(&b'q') { b'2' } else { b'q' };
                assert!(!btc(&bad), "{good} with byte {i} changed");
            }
        }
    }

    #[test]
    fn any_bytes_are_answered() {
        for span in [&b""[..], b"1", b"bc1", b"bc1q", b"tb1", b"\xff\xff", &[b'1'; 40], &[b'z'; 35], &[b'q'; 95]] {
            assert!(!btc(span), "{span:?}");
        }
    }
}
