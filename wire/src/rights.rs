//! One socket option that no safe crate has yet: whether a peer may pass descriptors at all.
//!
//! A descriptor that is passed lies in the receiver's socket, and one that is received takes a place in its table: somebody
//! who sends nothing but descriptors can fill both. Linux 6.16 and later can refuse them at the sender. Older kernels drop
//! them when the bytes are read without room for descriptors, which is how a daemon reads; until then they count against
//! the sender's own limit.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// `SO_PASSRIGHTS`, as on every architecture whose socket options are the generic ones.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
const SO_PASSRIGHTS: libc::c_int = 83;

/// Has the kernel refuse descriptors that peers of this socket send (`EPERM` for them), and of sockets that it accepts.
/// What is sent *from* it may carry descriptors all the same.
///
/// # Errors
/// The kernel does not know the option: before Linux 6.16, or another architecture.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
pub fn refuse_descriptors(socket: impl AsFd) -> io::Result<()> {
    let off: libc::c_int = 0;
    let len = libc::socklen_t::try_from(size_of_val(&off)).unwrap_or(4);
    // SAFETY: the descriptor is open for as long as `socket` is borrowed; the kernel reads `len` bytes at `off`, which are
    // there, and keeps no pointer.
    let done = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PASSRIGHTS,
            std::ptr::from_ref(&off).cast(),
            len,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the kernel refuse descriptors that peers send.
///
/// # Errors
/// Always: the option's number is not known here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
pub fn refuse_descriptors(_: impl AsFd) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
