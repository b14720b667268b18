//! The key of fingerprints: without it nobody can test a guess of a value against the log.
//!
//! It lasts longer than a process, so that a value found today and last week looks the same; it is never in the log. Who
//! takes the log elsewhere leaves the key behind.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// 32 secret bytes.
#[derive(Clone)]
pub(super) struct AuditKey([u8; 32]);

impl std::fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AuditKey(…)")
    }
}

impl AuditKey {
    /// Reads the key: from the file named, else from beside the log, where it is made if it is not there.
    pub(super) fn load(dir: &Path, file: Option<&Path>) -> Result<AuditKey, String> {
        let path = file.map_or_else(|| dir.join("fingerprint.key"), Path::to_owned);
        if file.is_some() && !path.exists() {
            let shown = path.display();
            return Err(format!(
                "the audit key {shown} is not there; make it: umask 077; head -c 32 /dev/urandom > {shown}, owned by the \
                 daemon's user, or leave [audit] key_file out"
            ));
        }
        let told = |e: io::Error| format!("the audit key {} cannot be used: {e}; see [audit] key_file", path.display());
        match read(&path) {
            Ok(Some(key)) => Ok(AuditKey(key)),
            Ok(None) => make(&path).map(AuditKey).map_err(told),
            Err(e) => Err(told(e)),
        }
    }

    /// Eight bytes: two of a million values look the same with a chance of one in 10⁷.
    pub(super) fn fingerprint(&self, value: &[u8]) -> [u8; 8] {
        let hash = blake3::keyed_hash(&self.0, value);
        let mut short = [0; 8];
        short.copy_from_slice(&hash.as_bytes()[..8]);
        short
    }

    /// What tells two keys apart and says nothing of either: fingerprints of different keys do not compare.
    pub(super) fn name(&self) -> [u8; 4] {
        let hash = blake3::derive_key("forebay 2026 name of an audit key", &self.0);
        [hash[0], hash[1], hash[2], hash[3]]
    }
}

fn read(path: &Path) -> io::Result<Option<[u8; 32]>> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = match File::options().read(true).custom_flags(flags.bits() as i32).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let mode = file.metadata()?.mode();
    if mode & 0o077 != 0 {
        return Err(io::Error::other(format!("others than its owner may use it (mode {:o}); chmod 600", mode & 0o777)));
    }
    let mut bytes = Vec::new();
    file.take(33).read_to_end(&mut bytes)?;
    let key = bytes.try_into().map_err(|_| io::Error::other("it does not hold exactly 32 bytes; move it away"))?;
    Ok(Some(key))
}

/// Written beside and renamed: a killed daemon leaves no half key.
fn make(path: &Path) -> io::Result<[u8; 32]> {
    let key = crate::keys::random()?;
    let beside: PathBuf = path.with_extension("new");
    let _ = std::fs::remove_file(&beside);
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(&key)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)?;
    Ok(key)
}
