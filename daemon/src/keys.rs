//! Token keys: one secret per daemon process, mixed with what a stream may share.
//!
//! The same value gives the same token on all streams of one session, and of one user only: another user who guesses
//! a session's name gets other tokens, so tokens cannot be used to test guesses of what somebody else's stream held.
//! A stream without a session has a key of its own. Nothing outlives the process.

use forebay_scan::TokenKey;

/// The process's secret.
pub(crate) struct KeyRing {
    secret: [u8; 32],
}

impl KeyRing {
    /// A fresh secret from the kernel.
    pub(crate) fn from_kernel() -> std::io::Result<Self> {
        let mut secret = [0; 32];
        let mut filled = 0;
        while filled < secret.len() {
            filled += rustix::rand::getrandom(&mut secret[filled..], rustix::rand::GetRandomFlags::empty())?;
        }
        Ok(KeyRing { secret })
    }

    /// The key of a session of a user.
    pub(crate) fn session(&self, uid: u32, session: &[u8]) -> TokenKey {
        self.derive(b"session\0", uid, session)
    }

    /// The key of a stream that belongs to no session. `serial` is never used twice in a process.
    pub(crate) fn stream(&self, uid: u32, serial: u64) -> TokenKey {
        self.derive(b"stream\0\0", uid, &serial.to_le_bytes())
    }

    fn derive(&self, purpose: &[u8; 8], uid: u32, id: &[u8]) -> TokenKey {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(purpose).update(&uid.to_le_bytes()).update(id);
        TokenKey::new(*hasher.finalize().as_bytes())
    }
}
