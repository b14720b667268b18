//! Token keys: one secret per daemon process, mixed with what a stream may share.
//!
//! The same value gives the same token on all streams of one session, and of one user only: another user who guesses
//! a session's name gets other tokens, so tokens cannot be used to test guesses of what somebody else's stream held.
//! A stream without a session has a key of its own. The secret is never on a disk. Under systemd it outlives the process in
//! the service's descriptor store, as sealed memory, so that a session goes on with the same tokens after a restart.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd, RawFd};

use forebay_scan::TokenKey;
use rustix::fs::{MemfdFlags, SealFlags};
use sd_notify::NotifyState;

/// Name of the secret in systemd's descriptor store.
pub(crate) const STORED: &str = "session-keys";

/// The process's secret.
pub struct KeyRing {
    secret: [u8; 32],
}

impl KeyRing {
    /// A fresh secret from the kernel.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub fn from_kernel() -> io::Result<Self> {
        Ok(KeyRing { secret: random()? })
    }

    /// The secret of the process before this one, from memory that systemd passed.
    pub(crate) fn from_stored(memory: RawFd) -> io::Result<Self> {
        // By its name in /proc: the number is all we have, and it stays open with systemd anyway.
        let mut file = File::open(format!("/proc/self/fd/{memory}"))?;
        let mut secret = [0; 32];
        file.read_exact(&mut secret)?;
        Ok(KeyRing { secret })
    }

    /// Gives the secret to systemd to keep. Without systemd nothing happens.
    ///
    /// # Errors
    /// The kernel gives no sealed memory, or systemd cannot be told.
    pub fn store(&self) -> io::Result<()> {
        if std::env::var_os("NOTIFY_SOCKET").is_none() {
            return Ok(());
        }
        let memory: OwnedFd =
            rustix::fs::memfd_create("forebay-keys", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let mut file = File::from(memory);
        file.write_all(&self.secret)?;
        let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&file, seals)?;
        sd_notify::notify_with_fds(&[NotifyState::FdStore, NotifyState::FdName(STORED)], &[file.as_fd()])
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

/// 32 bytes that nobody can guess.
pub(crate) fn random() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}
