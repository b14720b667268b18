//! How surprising a span's bytes are.

/// Shannon entropy in bits per byte is at least `limit`.
pub(super) fn at_least(span: &[u8], limit: f64) -> bool {
    if span.is_empty() {
        return false;
    }
    let mut counts = [0u32; 256];
    for b in span {
        counts[usize::from(*b)] += 1;
    }
    let n = span.len() as f64;
    let bits: f64 = counts.iter().filter(|c| **c > 0).map(|c| f64::from(*c) / n).map(|p| -p * p.log2()).sum();
    bits >= limit
}
