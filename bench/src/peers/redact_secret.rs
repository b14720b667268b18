//! The crate `redact-secret`: an incremental session with all its detectors and all its personal data, with limits so
//! wide that it need not give up on a long line.

use std::hint::black_box;
use std::time::Duration;

use redact_secret::{IncrementalLimits, IncrementalSanitizer, PiiSelection};

use crate::rounds::{CpuTime, Sample};

/// Longest line or block that the session may hold.
const LIMIT: usize = 64 << 20;

/// Pushes `pieces` through a new session, for at most `deadline`.
pub fn push_all(pieces: &[&str], deadline: Duration) -> Sample {
    let Some(mut session) = session() else { return Sample { bytes: 0, time: Duration::ZERO, cut_short: true } };
    let mut bytes = 0;
    let began = CpuTime::now();
    for piece in pieces {
        let failed = black_box(session.append(piece)).is_err();
        bytes += piece.len();
        if failed || began.elapsed() > deadline {
            return Sample { bytes, time: began.elapsed(), cut_short: true };
        }
    }
    let cut_short = black_box(session.finalize()).is_err();
    Sample { bytes, time: began.elapsed(), cut_short }
}

fn session() -> Option<IncrementalSanitizer> {
    let limits =
        IncrementalLimits::new(4 * LIMIT, IncrementalLimits::minimum_buffered_bytes(LIMIT, LIMIT), LIMIT, LIMIT);
    // The families that belong to no country, and the only country that has one.
    let pii = PiiSelection::parse(&["pii:us"]);
    IncrementalSanitizer::with_built_in_and_pii(limits.ok()?, &pii.ok()?).ok()
}
