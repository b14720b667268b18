//! The crate `cerberust`: its secrets and personal data on the output side of a stream, every value replaced.

use std::hint::black_box;
use std::time::Duration;

use cerberust::middleware::stream::StreamOutput;
use cerberust::{Direction, PiiScanner, Scanner, ScannerStack, SecretScanner};

use crate::rounds::{CpuTime, Sample};

/// Pushes `pieces` through a new stream, for at most `deadline`.
pub fn push_all(pieces: &[&str], deadline: Duration) -> Sample {
    let scanners: Vec<Box<dyn Scanner>> = vec![
        Box::new(PiiScanner::sensitive_output()),
        Box::new(SecretScanner::new().with_direction(Direction::Output)),
    ];
    let mut stack = ScannerStack::new(scanners, true);
    let mut stream = StreamOutput::new(&stack);
    let (mut bytes, mut cut_short) = (0, false);
    let began = CpuTime::now();
    for piece in pieces {
        cut_short = black_box(stream.push(&mut stack, piece)).is_err();
        bytes += piece.len();
        if cut_short || began.elapsed() > deadline {
            return Sample { bytes, time: began.elapsed(), cut_short: true };
        }
    }
    cut_short |= black_box(stream.finish(&mut stack)).is_err();
    Sample { bytes, time: began.elapsed(), cut_short }
}
