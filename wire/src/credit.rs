//! Credit: how many bytes a side may send before the other has taken them.
//!
//! One arithmetic for every window: a stream's input (Data), a connection's input (all its Data), a stream's output
//! (Released and Finding). The sender keeps a [`SendWindow`], the receiver a [`ReceiveWindow`]. Not here: when to send
//! a Credit frame and what to do with an overrun.
//!
//! Invariant of a receiver: `outstanding + unreturned <= size`, so it never buffers more than `size` bytes.

/// Largest credit that a sender may hold, in bytes. A peer that grants more than this is broken or tries to make the
/// sum wrap around; half the range of `u32` leaves room to see it.
pub const MAX_WINDOW: u32 = i32::MAX as u32;

/// A grant would lift the window above [`MAX_WINDOW`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("credit above {MAX_WINDOW} bytes; grant only what was taken")]
pub struct CreditOverflow;

/// More bytes arrived than were granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sent} bytes arrived where credit for {allowed} was left; wait for a Credit frame before sending more")]
pub struct CreditOverrun {
    /// Bytes that arrived.
    pub sent: u32,
    /// Bytes that were allowed.
    pub allowed: u32,
}

/// The sender's side: credit left, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendWindow {
    available: u32,
}

impl SendWindow {
    /// A window with its initial credit.
    pub fn new(initial: u32) -> Self {
        SendWindow { available: initial.min(MAX_WINDOW) }
    }

    /// Credit left, in bytes.
    pub fn available(&self) -> u32 {
        self.available
    }

    /// Spends up to `want` bytes and says how many.
    pub fn take(&mut self, want: usize) -> usize {
        let n = u32::try_from(want).unwrap_or(u32::MAX).min(self.available);
        self.available -= n;
        n as usize
    }

    /// Adds a grant of the receiver.
    pub fn grant(&mut self, bytes: u32) -> Result<(), CreditOverflow> {
        match self.available.checked_add(bytes) {
            Some(sum) if sum <= MAX_WINDOW => {
                self.available = sum;
                Ok(())
            }
            _ => Err(CreditOverflow),
        }
    }
}

/// The receiver's side: what the peer may still send, and what was taken and not granted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveWindow {
    size: u32,
    outstanding: u32,
    unreturned: u32,
}

impl ReceiveWindow {
    /// A window of `size` bytes, all of it granted.
    pub fn new(size: u32) -> Self {
        let size = size.min(MAX_WINDOW);
        ReceiveWindow { size, outstanding: size, unreturned: 0 }
    }

    /// Bytes arrived.
    pub fn receive(&mut self, bytes: usize) -> Result<(), CreditOverrun> {
        let sent = u32::try_from(bytes).unwrap_or(u32::MAX);
        match self.outstanding.checked_sub(sent) {
            Some(left) => {
                self.outstanding = left;
                Ok(())
            }
            None => Err(CreditOverrun { sent, allowed: self.outstanding }),
        }
    }

    /// Bytes were taken out of the buffer. Returns the credit to grant now, if it is worth a frame: half the window,
    /// so that a sender of small pieces is answered once per half window and a sender never runs dry while its
    /// receiver keeps up.
    #[must_use]
    pub fn consume(&mut self, bytes: usize) -> Option<u32> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.unreturned = self.unreturned.saturating_add(bytes).min(self.size - self.outstanding);
        if self.unreturned == 0 || self.unreturned < self.size.div_ceil(2) {
            return None;
        }
        let grant = std::mem::take(&mut self.unreturned);
        self.outstanding += grant;
        debug_assert!(self.outstanding <= self.size);
        Some(grant)
    }

    /// Bytes that arrived and were not taken.
    pub fn buffered(&self) -> u32 {
        self.size - self.outstanding - self.unreturned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_protocol() {
        // The table in PROTOCOL.md, "Credit".
        let mut sender = SendWindow::new(65_536);
        let mut receiver = ReceiveWindow::new(65_536);
        for n in [16_384, 16_384] {
            assert_eq!(sender.take(n), n);
            assert_eq!(receiver.receive(n), Ok(()));
        }
        assert_eq!(sender.available(), 32_768);
        assert_eq!(receiver.consume(16_384), None);
        assert_eq!(receiver.consume(16_384), Some(32_768));
        assert_eq!(sender.grant(32_768), Ok(()));
        assert_eq!(sender.available(), 65_536);
    }

    #[test]
    fn overrun_and_overflow_are_told() {
        let mut receiver = ReceiveWindow::new(10);
        assert_eq!(receiver.receive(11), Err(CreditOverrun { sent: 11, allowed: 10 }));
        assert_eq!(receiver.receive(10), Ok(()));
        assert_eq!(receiver.receive(1), Err(CreditOverrun { sent: 1, allowed: 0 }));
        let mut sender = SendWindow::new(1);
        assert_eq!(sender.grant(MAX_WINDOW), Err(CreditOverflow));
        assert_eq!(sender.grant(u32::MAX), Err(CreditOverflow));
        assert_eq!(sender.grant(MAX_WINDOW - 1), Ok(()));
    }

    #[test]
    fn consuming_more_than_arrived_grants_nothing_extra() {
        let mut receiver = ReceiveWindow::new(10);
        assert_eq!(receiver.consume(10), None);
        assert_eq!(receiver.receive(10), Ok(()));
        assert_eq!(receiver.consume(99), Some(10));
        assert_eq!(receiver.buffered(), 0);
    }

    proptest::proptest! {
        #[test]
        fn both_sides_agree(size in 1u32..5000, steps in proptest::collection::vec((0usize..3000, 0usize..3000), 1..200)) {
            let (mut s, mut r) = (SendWindow::new(size), ReceiveWindow::new(size));
            let mut buffered = 0usize;
            for (send, take) in steps {
                let n = s.take(send);
                proptest::prop_assert!(r.receive(n).is_ok());
                buffered += n;
                proptest::prop_assert!(buffered <= size as usize);
                let take = take.min(buffered);
                buffered -= take;
                if let Some(grant) = r.consume(take) {
                    proptest::prop_assert!(s.grant(grant).is_ok());
                }
                proptest::prop_assert_eq!(r.buffered() as usize, buffered);
            }
            // Whatever happened, taking everything lets the sender go on.
            if let Some(grant) = r.consume(buffered) {
                s.grant(grant).unwrap();
            }
            proptest::prop_assert!(s.available() > 0);
        }
    }
}
