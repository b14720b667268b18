//! Compiled rules on disk: one file a program and profile list, so that the next start does not compile them again.
//!
//! The engine knows what is in the file and believes no byte of it unseen ([`forebay_scan::Cache`]); this module knows
//! where it stands and who may have written it. Whoever can write a well-formed file chooses what rules find, so it is
//! read only if this user alone could have: file and folder belong to this user and nobody else may write there. A file
//! that is not so, or is damaged, or of another version, is left aside with a reason and written anew; rules are then
//! compiled, and nothing else changes.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use forebay_scan::Cache;

/// Longest file read, in bytes. The built-in packs under four profiles need 12 MiB; a longer one is somebody's attempt
/// to fill memory.
const MAX_FILE: u64 = 128 << 20;
/// How the extension of a file begins that is being written; the writer's number follows.
const UNFINISHED: &str = "new-";
/// Nobody writes for so long: a cache of some megabytes takes milliseconds.
const ABANDONED: Duration = Duration::from_secs(60);
/// Write permission of group and others.
const OTHERS_WRITE: u32 = 0o022;

/// A cache file.
#[derive(Clone, Debug)]
pub struct RuleCache {
    folder: PathBuf,
    file: PathBuf,
}

impl RuleCache {
    /// The file for `name` in `folder`. Nothing is touched yet.
    pub fn new(folder: &Path, name: &str) -> RuleCache {
        let hash = blake3::hash(name.as_bytes()).to_hex();
        RuleCache { file: folder.join(format!("rules-{}.cache", &hash.as_str()[..16])), folder: folder.to_owned() }
    }

    /// Where it stands.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// What the file holds. The error says why nothing of it is used; no file is an empty cache.
    pub fn read(&self) -> Result<Cache, String> {
        match self.bytes() {
            Ok(Some(bytes)) => Cache::from_bytes(&bytes).map_err(|e| e.to_string()),
            Ok(None) => Ok(Cache::default()),
            Err(e) => Err(e.to_string()),
        }
    }

    fn bytes(&self) -> io::Result<Option<Vec<u8>>> {
        let nowhere = |e: &io::Error| e.kind() == io::ErrorKind::NotFound;
        match fs::metadata(&self.folder) {
            Ok(folder) => only_mine(&folder, "its folder")?,
            Err(e) if nowhere(&e) => return Ok(None),
            Err(e) => return Err(e),
        }
        // Not through a link, and without waiting for the writer of a pipe.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let file = match File::options().read(true).custom_flags(flags.bits() as i32).open(&self.file) {
            Ok(file) => file,
            Err(e) if nowhere(&e) => return Ok(None),
            Err(e) => return Err(e),
        };
        let meta = file.metadata()?;
        if !meta.is_file() || meta.len() > MAX_FILE {
            return Err(io::Error::other(format!("it is no file of at most {MAX_FILE} bytes")));
        }
        only_mine(&meta, "it")?;
        let mut bytes = Vec::with_capacity(meta.len() as usize);
        file.take(MAX_FILE).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Stores a cache, if it has anything that the file had not. Written beside and renamed, so that nobody ever reads
    /// half a file.
    pub fn write(&self, cache: &Cache) -> io::Result<()> {
        if !cache.is_fresh() {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        only_mine(&fs::metadata(&self.folder)?, "its folder")?;
        self.sweep();
        let beside = self.file.with_extension(format!("{UNFINISHED}{}", std::process::id()));
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&beside)?;
        let written = file.write_all(&cache.to_bytes()).and_then(|()| fs::rename(&beside, &self.file));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written
    }

    /// Removes what writers left that were killed: a service that is killed at each start must not fill the disk. What is
    /// younger may still be written, by a process of the same number in another container.
    fn sweep(&self) {
        let Some(own) = self.file.file_stem().and_then(|s| s.to_str()) else { return };
        let left = |entry: &fs::DirEntry| {
            let name = entry.file_name();
            let unfinished = name.to_str().and_then(|n| n.strip_prefix(own)).and_then(|n| n.strip_prefix('.'));
            let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
            unfinished.is_some_and(|n| n.starts_with(UNFINISHED)) && age.is_some_and(|age| age > ABANDONED)
        };
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten().filter(left) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn only_mine(meta: &fs::Metadata, what: &str) -> io::Result<()> {
    let me = rustix::process::geteuid().as_raw();
    if meta.uid() != me {
        let text = format!("{what} belongs to user {}, not to {me}; chown it, or choose another folder", meta.uid());
        return Err(io::Error::other(text));
    }
    if meta.mode() & OTHERS_WRITE != 0 {
        return Err(io::Error::other(format!("others than its owner may write to {what}; chmod go-w")));
    }
    Ok(())
}
