//! The files behind a pair of rings: made and sealed by the daemon, checked by the client.
//!
//! The daemon makes both, so that no client can hand it a file that is short, can shrink, is no memory at all, or lies on
//! huge pages that may be missing: each of them turns a read into a SIGBUS. Seals, which the kernel keeps:
//!
//! | file | written by | SHRINK, GROW, SEAL | FUTURE_WRITE |
//! |---|---|---|---|
//! | to the daemon | the client | yes | no |
//! | to the client | the daemon | yes | yes, after the daemon mapped it: nobody else can ever map it for writing |
//!
//! What no seal forbids: a client can punch holes into the file that it writes. The daemon then reads zeros, which are no
//! frame; pages that come back are again at most the file's size. The client checks what it was given: what it thinks is
//! the daemon may be an impostor, and the kernel is the one to ask.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::io::Errno;

use super::layout::{HEADER, MAX_CAPACITY, MIN_CAPACITY, is_capacity};
use super::mapped::Mapped;
use super::region::{OwnRegion, PeerRegion};

/// Both files of a pair of rings, to be passed to the client.
#[derive(Debug)]
pub struct RingFiles {
    /// The client writes it. Its ring's size, in bytes, is the first of [`RingFiles::capacities`].
    pub to_daemon: OwnedFd,
    /// The daemon writes it.
    pub to_client: OwnedFd,
    /// Bytes of the two rings: to the daemon, to the client.
    pub capacities: (u32, u32),
}

/// Why there is no ring. The connection goes on without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// A size that no ring has.
    #[error("a ring of {0} bytes; use a power of two from {MIN_CAPACITY} to {MAX_CAPACITY}")]
    Capacity(u32),
    /// The file is not as long as the ring needs.
    #[error(
        "the ring's file has {found} bytes instead of {expected}; whoever sent it is no forebay daemon: look at who owns the socket"
    )]
    Size {
        /// Its length, in bytes.
        found: i64,
        /// The length that it should have, in bytes.
        expected: i64,
    },
    /// The file could change under the reader.
    #[error(
        "the ring's file is not sealed as a daemon seals it; whoever sent it is no forebay daemon: look at who owns the socket"
    )]
    Unsealed,
    /// The kernel refused.
    #[error("{what} failed: {errno}; the connection goes on over the socket")]
    System {
        /// What was tried.
        what: &'static str,
        /// The kernel's answer.
        errno: Errno,
    },
}

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

impl RingFiles {
    /// Makes, maps and seals a pair of rings: the daemon's part.
    ///
    /// # Errors
    /// A size that is none, or what the kernel refuses (descriptors or memory are short).
    pub fn create(to_daemon: u32, to_client: u32) -> Result<(RingFiles, Mapped), RingError> {
        let (reading, writing) = (file(to_daemon)?, file(to_client)?);
        let own = OwnRegion::map(writing.as_fd(), to_client).map_err(system("mapping a ring"))?;
        // After this process mapped it: the seal forbids every later mapping that can be written.
        seal(writing.as_fd(), SEALS | SealFlags::FUTURE_WRITE)?;
        seal(reading.as_fd(), SEALS)?;
        let peer = PeerRegion::map(reading.as_fd(), to_daemon).map_err(system("mapping a ring"))?;
        let files = RingFiles { to_daemon: reading, to_client: writing, capacities: (to_daemon, to_client) };
        Ok((files, Mapped::new(own, peer)))
    }

    /// Checks and maps what a daemon sent: the client's part. The files may be closed afterwards.
    ///
    /// # Errors
    /// Sizes or seals are not those of a daemon's, or the kernel refuses.
    pub fn accept(&self) -> Result<Mapped, RingError> {
        let (to_daemon, to_client) = self.capacities;
        check(self.to_daemon.as_fd(), to_daemon, SEALS)?;
        check(self.to_client.as_fd(), to_client, SEALS | SealFlags::FUTURE_WRITE)?;
        let own = OwnRegion::map(self.to_daemon.as_fd(), to_daemon).map_err(system("mapping a ring"))?;
        let peer = PeerRegion::map(self.to_client.as_fd(), to_client).map_err(system("mapping a ring"))?;
        Ok(Mapped::new(own, peer))
    }
}

/// A file of zeros for a ring of `capacity` bytes, not sealed yet.
fn file(capacity: u32) -> Result<OwnedFd, RingError> {
    let size = size_of_file(capacity)?;
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know that a memfd may be kept from being executed.
    let made = match memfd_create(c"forebay-ring", flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create(c"forebay-ring", flags),
        made => made,
    };
    let file = made.map_err(system("making the memory of a ring"))?;
    ftruncate(&file, size).map_err(system("sizing the memory of a ring"))?;
    Ok(file)
}

fn seal(file: BorrowedFd<'_>, seals: SealFlags) -> Result<(), RingError> {
    fcntl_add_seals(file, seals).map_err(system("sealing the memory of a ring"))
}

fn check(file: BorrowedFd<'_>, capacity: u32, seals: SealFlags) -> Result<(), RingError> {
    let expected = i64::try_from(size_of_file(capacity)?).unwrap_or(i64::MAX);
    // Seals first: without them the size means nothing. A file that cannot be sealed is refused with EINVAL.
    match fcntl_get_seals(file) {
        Ok(found) if found.contains(seals) => {}
        Ok(_) | Err(Errno::INVAL) => return Err(RingError::Unsealed),
        Err(errno) => return Err(system("asking for the seals of a ring")(errno)),
    }
    let found = fstat(file).map_err(system("asking for the size of a ring"))?.st_size;
    if found != expected {
        return Err(RingError::Size { found, expected });
    }
    Ok(())
}

fn size_of_file(capacity: u32) -> Result<u64, RingError> {
    if is_capacity(capacity) { Ok(HEADER as u64 + u64::from(capacity)) } else { Err(RingError::Capacity(capacity)) }
}

fn system(what: &'static str) -> impl Fn(Errno) -> RingError {
    move |errno| RingError::System { what, errno }
}
