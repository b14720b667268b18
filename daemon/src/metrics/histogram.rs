//! Two fixed histograms with bounds that double: finding the bucket is one instruction, and every daemon has the same.

/// Buckets of a histogram, the last one without a bound.
pub(crate) const BUCKETS: usize = 24;

/// How values become buckets: bucket 0 takes values up to `first`, each further one twice as much.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Base two logarithm of the first bound.
    first_log2: u32,
    /// Bucket 0 is for the value 0 alone, and bounds begin behind it.
    zero: bool,
    /// What a value is multiplied with to be in the base unit.
    unit: f64,
}

/// Time, in nanoseconds: 0.256 µs to 1.07 s. A push of 40 bytes takes 1.4 µs, a whole frame of the slowest text 10 ms.
pub(crate) const TIME: Scale = Scale { first_log2: 8, zero: false, unit: 1e-9 };

/// Bytes held: none, 1, 2, 4 … 2 MiB, and more.
pub(crate) const HELD: Scale = Scale { first_log2: 0, zero: true, unit: 1.0 };

impl Scale {
    /// The bucket of a value.
    pub(crate) fn bucket(self, value: u64) -> usize {
        if self.zero && value == 0 {
            return 0;
        }
        // Rounded up: a bound belongs to its bucket.
        let log2 = u64::BITS - value.saturating_sub(1).leading_zeros();
        let bucket = log2.saturating_sub(self.first_log2) as usize + usize::from(self.zero);
        bucket.min(BUCKETS - 1)
    }

    /// The upper bound of a bucket in the base unit (seconds, bytes).
    pub(crate) fn bound(self, bucket: usize) -> f64 {
        match (bucket, self.zero) {
            (0, true) => 0.0,
            (b, _) if b + 1 == BUCKETS => f64::INFINITY,
            (b, zero) => 2f64.powi((b - usize::from(zero)) as i32 + self.first_log2 as i32) * self.unit,
        }
    }

    /// A sum of values in the base unit.
    pub(crate) fn in_units(self, sum: u64) -> f64 {
        sum as f64 * self.unit
    }
}

/// A histogram that one task writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Local {
    pub(crate) counts: [u32; BUCKETS],
    pub(crate) sum: u64,
    /// One bit a bucket that is not empty.
    pub(crate) used: u32,
}

impl Local {
    pub(crate) fn record(&mut self, scale: Scale, value: u64) {
        let bucket = scale.bucket(value);
        self.counts[bucket] += 1;
        self.sum += value;
        self.used |= 1 << bucket;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds say what the buckets do: every value is at most its bucket's bound and above the one before.
    #[test]
    fn a_value_lies_between_the_bounds_of_its_bucket() {
        for scale in [TIME, HELD] {
            for value in (0..70).flat_map(|e| [0, 1, 2].map(|d| ((1u128 << e) + d - 1) as u64)) {
                let bucket = scale.bucket(value);
                let units = scale.in_units(value);
                let close = 1.0 + 1e-12;
                assert!(units <= scale.bound(bucket) * close, "{value} in {bucket} of {scale:?}");
                assert!(bucket == 0 || units * close > scale.bound(bucket - 1), "{value} in {bucket} of {scale:?}");
            }
        }
    }
}
