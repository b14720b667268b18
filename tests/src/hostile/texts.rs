//! Attacks by content.

use std::time::Instant;

use forebay_client::{Finding, Transport, blocking};

use super::{Target, connect};

/// Counts what comes back.
#[derive(Debug, Default)]
pub struct Counted {
    /// Bytes released.
    pub bytes: u64,
    /// Findings.
    pub findings: u64,
}

impl blocking::Sink for Counted {
    fn released(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn finding(&mut self, _: Finding) {
        self.findings += 1;
    }
}

/// A stream that is nothing but findings: each is a frame that is longer than its text.
pub fn million_findings(target: &Target) -> anyhow::Result<String> {
    const MARK: &[u8] = b"<cut here> ";
    let count = target.part(1_000_000);
    let mut told = Vec::new();
    for transport in [Transport::Ring, Transport::Socket] {
        let began = Instant::now();
        let mut connection = connect(&target.socket, transport)?;
        let mut stream = connection.open(target.profile.as_str())?;
        let mut sink = Counted::default();
        let piece = MARK.repeat(count.min(1000));
        for _ in 0..count / count.min(1000) {
            stream.push(&piece, &mut sink)?;
        }
        let summary = stream.finish(&mut sink)?;
        let sent = (count / count.min(1000) * piece.len()) as u64;
        anyhow::ensure!(sink.findings * MARK.len() as u64 == sent, "{} findings", sink.findings);
        anyhow::ensure!(summary.report.is_some_and(|r| r.received == sent), "not all was read");
        told.push(format!("{} in {:.1?} by {transport:?}", sink.findings, began.elapsed()));
    }
    Ok(told.join(", "))
}

/// Beginnings of what rules look for, again and again, and never the end.
pub fn worst(target: &Target) -> anyhow::Result<String> {
    let beginnings: [&[u8]; 8] =
        [b"TICKET-", b"latch_", b"<cut her", b"eyJ", b"a@b.", b"4111 ", b"-----BEGIN ", b"password = \""];
    let (mut bytes, mut slowest) = (0usize, 0.0f64);
    let mut connection = connect(&target.socket, Transport::Auto)?;
    let each = target.lasting / 8;
    for beginning in beginnings {
        let began = Instant::now();
        let text = beginning.repeat((64 << 10) / beginning.len());
        let mut stream = connection.open(target.profile.as_str())?;
        let (mut sink, mut sent) = (Counted::default(), 0);
        while began.elapsed() < each {
            stream.push(&text, &mut sink)?;
            stream.sync(&mut sink)?;
            sent += text.len();
        }
        stream.finish(&mut sink)?;
        bytes += sent;
        slowest = slowest.max(began.elapsed().as_secs_f64() / (sent.max(1) as f64 / 1e6));
    }
    Ok(format!("{:.1} MB, the slowest at {:.0} MB/s", bytes as f64 / 1e6, 1.0 / slowest))
}
