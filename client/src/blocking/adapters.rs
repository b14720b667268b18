//! `Write` and `Read` over a stream.

use std::borrow::BorrowMut;
use std::io::{self, Read, Write};

use forebay_wire::Finding;

use super::connection::Connection;
use super::stream::{Sink, Stream};
use crate::stream_state::Summary;

/// Filters what is written to it and writes what may pass to `W`.
///
/// `write` does not wait for the answer; `flush` does, and flushes `W`. Call [`FilterWriter::finish`] at the end:
/// dropped without it, what the filter still holds is lost, never passed.
#[derive(Debug)]
pub struct FilterWriter<W: Write, C: BorrowMut<Connection> = Connection> {
    stream: Stream<C>,
    out: Passed<W>,
}

impl<W: Write, C: BorrowMut<Connection>> FilterWriter<W, C> {
    /// A writer over an open stream.
    pub fn new(stream: Stream<C>, inner: W) -> Self {
        FilterWriter { stream, out: Passed { inner, findings: Vec::new() } }
    }

    /// The findings since the last call.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.out.findings)
    }

    /// Ends the stream, writes the rest, flushes `W`, and returns the summary and the findings not taken before.
    pub fn finish(mut self) -> io::Result<(Summary, Vec<Finding>)> {
        let summary = self.stream.finish(&mut self.out)?;
        self.out.inner.flush()?;
        Ok((summary, self.out.findings))
    }

    /// The inner writer.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out.inner
    }
}

impl<W: Write, C: BorrowMut<Connection>> Write for FilterWriter<W, C> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.push(bytes, &mut self.out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.sync(&mut self.out)?;
        self.out.inner.flush()
    }
}

/// Reads from `R` and gives what may pass.
///
/// Each read of `R` is followed by waiting for the daemon's answer, so that whatever may pass is given at once, however
/// slowly `R` goes on.
#[derive(Debug)]
pub struct FilterReader<R: Read, C: BorrowMut<Connection> = Connection> {
    stream: Stream<C>,
    inner: R,
    chunk: Vec<u8>,
    passed: Passed<Vec<u8>>,
    given: usize,
    summary: Option<Summary>,
}

/// One read of the inner reader, in bytes: one full frame.
const CHUNK: usize = forebay_wire::MAX_PAYLOAD;

impl<R: Read, C: BorrowMut<Connection>> FilterReader<R, C> {
    /// A reader over an open stream.
    pub fn new(stream: Stream<C>, inner: R) -> Self {
        let passed = Passed { inner: Vec::new(), findings: Vec::new() };
        FilterReader { stream, inner, chunk: vec![0; CHUNK], passed, given: 0, summary: None }
    }

    /// The findings since the last call.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.passed.findings)
    }

    /// What is to say about the stream; there once `read` has returned 0.
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }
}

impl<R: Read, C: BorrowMut<Connection>> Read for FilterReader<R, C> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        while self.given == self.passed.inner.len() {
            self.passed.inner.clear();
            self.given = 0;
            if self.summary.is_some() {
                return Ok(0);
            }
            let n = match self.inner.read(&mut self.chunk) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if n == 0 {
                self.summary = Some(self.stream.finish(&mut self.passed)?);
            } else {
                self.stream.exchange(&self.chunk[..n], &mut self.passed)?;
            }
        }
        let rest = &self.passed.inner[self.given..];
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        self.given += n;
        Ok(n)
    }
}

#[derive(Debug)]
struct Passed<W: Write> {
    inner: W,
    findings: Vec<Finding>,
}

impl<W: Write> Sink for Passed<W> {
    fn released(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.inner.write_all(bytes)
    }

    fn finding(&mut self, finding: Finding) {
        self.findings.push(finding);
    }
}
