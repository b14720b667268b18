//! The listening socket: bound to a path, or handed over by systemd.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A listening socket. When it was bound here, the socket file is removed again on drop.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    bound: Option<PathBuf>,
}

impl Listener {
    /// A socket that somebody else bound, and will remove.
    pub(crate) fn passed(socket: UnixListener) -> Listener {
        Listener { socket, bound: None }
    }

    /// Binds a path. A socket file that nobody listens on any more is replaced; one in use is not, and nothing that
    /// is not a socket is ever removed.
    pub fn bind(path: &Path, mode: u32) -> io::Result<Listener> {
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.file_type().is_socket() => match UnixStream::connect(path) {
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path)?,
                _ => return Err(in_use(path, "another daemon listens there; stop it or choose another path")),
            },
            Ok(_) => return Err(in_use(path, "it is not a socket; choose another path")),
            Err(_) => {}
        }
        let socket = UnixListener::bind(path)?;
        let listener = Listener { socket, bound: Some(path.to_owned()) };
        // Between bind and here the umask decides, which the unit file sets to 0077: never wider than asked for.
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        Ok(listener)
    }

    /// The path it was bound to, if it was bound here.
    pub fn path(&self) -> Option<&Path> {
        self.bound.as_deref()
    }

    /// A second handle on the socket, for the runtime.
    pub(crate) fn for_runtime(&self) -> io::Result<tokio::net::UnixListener> {
        let socket = self.socket.try_clone()?;
        // Clients have none to give. On older kernels they are dropped unread.
        if let Err(e) = forebay_wire::refuse_descriptors(&socket) {
            tracing::debug!(error = %e, "the kernel does not refuse descriptors of clients (SO_PASSRIGHTS)");
        }
        socket.set_nonblocking(true)?;
        tokio::net::UnixListener::from_std(socket)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.bound {
            let _ = fs::remove_file(path);
        }
    }
}

fn in_use(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AddrInUse, format!("{}: {why}", path.display()))
}
