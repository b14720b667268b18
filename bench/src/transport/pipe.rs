//! Two pipes and a process with the filter behind them: length, bytes, each way. Nothing but the least that a pipe needs.

use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result};

use super::{Filter, PIECE, Way, rules};

/// A message of this length ends a stream.
const END: u32 = u32::MAX;

/// The client's end.
pub struct Pipe {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    buffer: Vec<u8>,
}

impl Pipe {
    /// Starts this program as the server.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(profile: &str) -> Result<Pipe> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--serve", "pipe", "--profile", profile])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let from = BufReader::with_capacity(64 << 10, child.stdout.take().context("no pipe")?);
        Ok(Pipe { to: child.stdin.take(), child, from, buffer: Vec::new() })
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.clear();
        self.buffer.extend_from_slice(&u32::try_from(bytes.len())?.to_le_bytes());
        self.buffer.extend_from_slice(bytes);
        self.to.as_mut().context("no pipe")?.write_all(&self.buffer)?;
        Ok(())
    }

    fn receive(&mut self) -> Result<()> {
        let n = length(&mut self.from)?.context("the server is gone")?;
        self.buffer.resize(n as usize, 0);
        Ok(self.from.read_exact(&mut self.buffer)?)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        drop(self.to.take());
        let _ = self.child.wait();
    }
}

impl Way for Pipe {
    fn trip(&mut self, bytes: &[u8]) -> Result<()> {
        self.send(bytes)?;
        self.receive()
    }

    /// Up to eight pieces ahead of their answers: what both pipes hold, so that neither side waits in vain.
    fn through(&mut self, text: &[u8]) -> Result<()> {
        let mut ahead = 0;
        for piece in text.chunks(PIECE) {
            self.send(piece)?;
            ahead += 1;
            if ahead == 8 {
                self.receive()?;
                ahead -= 1;
            }
        }
        for _ in 0..ahead {
            self.receive()?;
        }
        self.to.as_mut().context("no pipe")?.write_all(&END.to_le_bytes())?;
        Ok(())
    }
}

fn length(from: &mut impl Read) -> Result<Option<u32>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Ok(()) => Ok(Some(u32::from_le_bytes(length))),
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// The server: standard input to standard output.
///
/// # Errors
/// The rules do not compile, or the client is gone inside a message.
pub fn serve(profile: &str) -> Result<()> {
    let mut filter = Filter::new(rules(profile)?);
    let mut from = BufReader::with_capacity(64 << 10, std::io::stdin().lock());
    let mut to = std::io::stdout().lock();
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    while let Some(n) = length(&mut from)? {
        if n == END {
            filter.restart();
            continue;
        }
        bytes.resize(n as usize, 0);
        from.read_exact(&mut bytes)?;
        let released = filter.push(&bytes)?;
        out.clear();
        out.extend_from_slice(&u32::try_from(released.len())?.to_le_bytes());
        out.extend_from_slice(released);
        to.write_all(&out)?;
        to.flush()?;
    }
    Ok(())
}
