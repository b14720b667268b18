//! The beginning of a connection: Hello and Welcome, and the ring that may follow. Part of [`super::core`], and like it
//! without I/O: the task makes the ring, passes its files, and changes from the socket to it.

use forebay_wire::{Code, FEATURE_RING, Frame, Hello, MAX_PAYLOAD, Welcome, negotiate, ring};

use super::core::{Core, Phase, Violation};

/// How far the connection is with its ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ring {
    /// There is none to take, or it was taken.
    No,
    /// The Hello asks for one; the answer waits.
    Wanted { version: u16 },
    /// Both files went to the client.
    Offered,
    /// The client has taken it: nothing more is read from the socket.
    Taken,
}

impl Core {
    /// Takes the client's Hello, and answers it unless it asks for a ring: that is [`Core::welcome`]'s to do.
    pub(super) fn hello(&mut self, hello: &Hello) -> Result<(), Violation> {
        let Some(version) = negotiate(hello) else {
            return Err(Violation::new(
                Code::Version,
                format!(
                    "this daemon speaks versions {} to {}, the client {} to {}; update the older side",
                    forebay_wire::VERSION_MIN,
                    forebay_wire::VERSION,
                    hello.min,
                    hello.max
                ),
            ));
        };
        tracing::debug!(conn = self.who.conn, uid = self.account.uid(), client = %hello.client, version, "handshake");
        self.ring = Ring::Wanted { version };
        if hello.features & FEATURE_RING == 0 || self.shared.config.limits.rings == 0 {
            self.welcome(false);
        }
        Ok(())
    }

    /// Answers the Hello of a client that asked for a ring: there is one for it, or not.
    pub(super) fn welcome(&mut self, ring: bool) {
        let Ring::Wanted { version } = self.ring else {
            debug_assert!(false, "nobody waits for a Welcome");
            return;
        };
        self.ring = Ring::No;
        let limits = &self.shared.config.limits;
        self.out.frame(&Frame::Welcome(Welcome {
            version,
            features: if ring { FEATURE_RING } else { 0 },
            max_payload: u32::try_from(MAX_PAYLOAD).unwrap_or(u32::MAX),
            max_streams: limits.streams_per_connection.try_into().unwrap_or(u32::MAX),
            stream_window: limits.stream_window,
            connection_window: limits.connection_window,
            fingerprint: self.shared.in_force.profiles().fingerprint(),
            daemon: crate::VERSION.to_owned(),
        }));
        self.phase = Phase::Open;
    }

    /// Both files of a ring went to the client: it may take it.
    pub(super) fn ring_offered(&mut self) {
        self.ring = Ring::Offered;
    }

    /// The client has taken its ring, and the socket's last frames are not sent yet.
    pub(super) fn leaves_socket(&self) -> bool {
        self.ring == Ring::Taken
    }

    /// From now on [`Core::run`] gets what comes through the ring.
    pub(super) fn on_ring(&mut self) {
        self.ring = Ring::No;
    }

    /// Ends the connection because of what stands in the client's words. What waits to be sent has no way any more: only
    /// the error is left, for the socket.
    pub(super) fn violated(&mut self, violation: ring::Violation) {
        self.out.clear();
        self.fail(Code::RingViolation, &violation.to_string());
    }

    /// The client has taken its ring: the last frame for the socket.
    pub(super) fn takes_ring(&mut self) {
        self.out.frame(&Frame::RingReady);
        self.ring = Ring::Taken;
    }
}
