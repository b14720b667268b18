//! What a ring needs of the socket beside it: passing its files (SCM_RIGHTS), and waking who sleeps there.
//!
//! Only the daemon passes descriptors, and only clients receive any: the daemon reads its sockets without room for
//! descriptors, so the kernel drops what a client sends along. Never blocks: a full socket is `WouldBlock`.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, send, sendmsg,
};

use super::memfd::RingFiles;
use crate::frame::FrameType;
use crate::limits::HEADER_LEN;

/// Descriptors that come with the frame that grants a ring.
const FILES: usize = 2;

/// Sends `bytes`, the frame that grants the ring, with both files at its first byte. Says how many bytes went; the files
/// went with them.
///
/// # Errors
/// `WouldBlock` if the socket is full (nothing was sent), or what the kernel says.
pub fn send_files(socket: impl AsFd, bytes: &[u8], files: &RingFiles) -> io::Result<usize> {
    let fds = [files.to_daemon.as_fd(), files.to_client.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    Ok(sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags)?)
}

/// Receives bytes, at most as many as fit `buf`, and the two files if they came with them: to the daemon, to the client.
/// Blocks as the socket does. Descriptors in any other number are closed, and an error.
///
/// # Errors
/// What the kernel says; `InvalidData` for other descriptors than two, or for two that this process has no room for.
pub fn receive_files(socket: impl AsFd, buf: &mut [u8]) -> io::Result<(usize, Option<[OwnedFd; FILES]>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let message = recvmsg(socket, &mut [IoSliceMut::new(buf)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut files: Vec<OwnedFd> = Vec::with_capacity(FILES);
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = part {
            files.extend(fds);
        }
    }
    if message.flags.contains(ReturnFlags::CTRUNC) {
        return Err(invalid(
            "descriptors did not fit: raise the limit of open files, or the sender is no forebay daemon",
        ));
    }
    if files.is_empty() {
        return Ok((message.bytes, None));
    }
    match <[OwnedFd; FILES]>::try_from(files) {
        Ok(files) => Ok((message.bytes, Some(files))),
        Err(_) => Err(invalid("other descriptors came than the two of a ring: the sender is no forebay daemon")),
    }
}

/// A whole Wake frame: a header and nothing else.
const WAKE: [u8; HEADER_LEN] = [0, 0, 0, 0, FrameType::Wake as u8, 0, 0, 0, 0, 0, 0, 0];

/// Sends a Wake frame: the answer to [`super::Ring::Socket`]. Never blocks. A full socket is no error: who does not read
/// what is there already is not woken by more, and who does looks at the ring too.
///
/// # Errors
/// What the kernel says: the peer is gone.
pub fn send_wake(socket: impl AsFd) -> io::Result<()> {
    match send(socket, &WAKE, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        // A Unix socket takes a message of this size whole or not at all.
        Ok(n) if n == WAKE.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(rustix::io::Errno::AGAIN) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
