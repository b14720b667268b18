//! A ring in the core's view: whether one is expected, offered, taken. Part of [`crate::core`], and like it without I/O; what
//! is done with the files and the memory is [`crate::ring_side`]'s.

use forebay_wire::{FEATURE_RING, Frame, RingOffer};

use crate::core::Core;
use crate::error::Error;
use crate::options::Transport;

const NO_RING: &str = "this daemon grants none now: see `limits.rings` in its config, and how many this user has";

/// How far the connection is with a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ring {
    /// None is expected.
    No,
    /// The daemon may offer one.
    Welcome,
    /// It did.
    Offered(RingOffer),
    /// It was taken; the daemon's RingReady is to come.
    Taken,
    /// That came, and the rest of the bytes is not for the core.
    Ready,
    /// Everything comes through the ring.
    InUse,
}

impl Core {
    /// What a Welcome with these features lets expect.
    pub(crate) fn expected(&self, features: u32) -> Result<Ring, Error> {
        match (features & FEATURE_RING != 0, self.transport) {
            (true, Transport::Socket) => {
                Err(Error::Protocol("it accepted a feature that was not asked for".to_owned()))
            }
            (true, _) => Ok(Ring::Welcome),
            (false, Transport::Ring) => Err(Error::NoRing(NO_RING.to_owned())),
            (false, _) => Ok(Ring::No),
        }
    }

    /// Whether the handshake is over: the daemon's Welcome is there, and the ring in use if it must be.
    pub(crate) fn connected(&self) -> bool {
        self.welcome.is_some() && (self.transport != Transport::Ring || self.ring == Ring::InUse)
    }

    /// Whether frames go through a ring.
    pub(crate) fn uses_ring(&self) -> bool {
        self.ring == Ring::InUse
    }

    /// Whether the daemon may still send files.
    pub(crate) fn expects_files(&self) -> bool {
        self.transport != Transport::Socket && matches!(self.ring, Ring::No | Ring::Welcome)
    }

    /// Whether an offer waits to be taken.
    pub(crate) fn offered(&self) -> bool {
        matches!(self.ring, Ring::Offered(_))
    }

    /// The ring that the daemon offers, once.
    pub(crate) fn take_offer(&mut self) -> Option<RingOffer> {
        let Ring::Offered(offer) = self.ring else {
            return None;
        };
        self.ring = Ring::No;
        Some(offer)
    }

    /// The offer is fit: says so. The frame is the last one for the socket.
    pub(crate) fn accept_ring(&mut self) -> Result<(), Error> {
        self.ring = Ring::Taken;
        self.put(&Frame::RingReady)
    }

    /// Whether the daemon's RingReady came: the caller knows what to do with the bytes behind it.
    pub(crate) fn ring_ready(&self) -> bool {
        self.ring == Ring::Ready
    }

    /// From now on [`Core::receive`] gets what comes through the ring.
    pub(crate) fn on_ring(&mut self) {
        self.ring = Ring::InUse;
        self.connection_touched = true;
    }
}
