//! What a client got of the daemon, and how it is compared with what the engine gives.

use forebay_client::{Finding, blocking};

/// What came back on a stream.
#[derive(Debug, Default, PartialEq)]
pub struct Got {
    /// What was released.
    pub bytes: Vec<u8>,
    /// Findings in order.
    pub findings: Vec<Finding>,
}

impl blocking::Sink for Got {
    fn released(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finding(&mut self, finding: Finding) {
        self.findings.push(finding);
    }
}

/// Without the keyed tags of tokens: the daemon's key is its own.
pub fn without_tags(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let mut at = 0;
    while let Some(i) = bytes[at..].windows(4).position(|w| w == b"FBY_") {
        let kind = at + i + 4;
        let length = bytes[kind..].iter().take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit()).count();
        at = kind + length;
        if bytes.get(at) == Some(&b'_') && bytes.len() >= at + 16 {
            out[at + 1..at + 16].fill(b'#');
        }
    }
    out
}
