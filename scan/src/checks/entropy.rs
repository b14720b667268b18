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

/// The length of the longest shorter span with the same start that may have an entropy of `limit`, by sums that grow with
/// it: a sum of each length anew is hundreds of sums where a token may have any length.
pub(super) fn longest_left(span: &[u8], limit: f64) -> usize {
    // Sums in another order end in other digits; nothing that holds may be left out.
    let limit = limit - 1e-6;
    let weight = |c: u32| if c == 0 { 0.0 } else { f64::from(c) * f64::from(c).log2() };
    let (mut counts, mut weights, mut longest) = ([0u32; 256], 0.0, 0);
    for (n, b) in (1u32..).zip(&span[..span.len().saturating_sub(1)]) {
        let count = &mut counts[usize::from(*b)];
        weights += weight(*count + 1) - weight(*count);
        *count += 1;
        // Minus the sum of p log p, with p = count / n.
        if f64::from(n).log2() - weights / f64::from(n) >= limit {
            longest = n as usize;
        }
    }
    longest
}
