//! Landlock: which files, and what else of the host.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use forebay_scan::{ExactPlace, Profile};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};

use crate::config::Config;
use crate::load;

/// The newest kernel interface whose rights are spoken of here. Later ones have rights that a daemon would lose without
/// knowing them: connecting to systemd's notification socket is one.
const KNOWN: ABI = ABI::V6;

/// What the daemon will need of the file system.
#[derive(Debug, Default)]
pub(super) struct Folders {
    read: BTreeSet<PathBuf>,
    write: BTreeSet<PathBuf>,
    /// Folders of socket files, which it removes at the end.
    remove: BTreeSet<PathBuf>,
}

/// How far it went.
pub(super) struct Confined {
    /// All of it is in force.
    pub(super) whole: bool,
    /// Some of it is.
    pub(super) some: bool,
    pub(super) told: String,
}

impl Folders {
    pub(super) fn of(config: &Config, sockets: &[PathBuf]) -> Folders {
        let mut f = Folders::default();
        // Without a config file nothing is read from the folder that the daemon happens to be started in.
        if config.base != Path::new(".") {
            f.read.insert(if config.base.as_os_str().is_empty() { ".".into() } else { config.base.clone() });
        }
        f.read.extend(config.sandbox.read.iter().map(|r| config.base.join(r)));
        // What the kernel tells of this process (metrics), and how many processors it may use.
        f.read.extend(["/proc/self", "/sys/fs/cgroup"].map(PathBuf::from));
        f.read.extend(std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from));
        for entry in config.profiles.iter().filter(|p| load::is_file(p)) {
            f.profile(&config.base.join(entry));
        }
        f.write.extend(config.cache_dir.clone());
        f.write.extend(config.audit.dir.clone());
        if let Some(key) = &config.audit.key_file {
            f.file(key);
        }
        f.remove.extend(sockets.iter().map(|s| folder_of(s)));
        f
    }

    /// A profile's own folder, and those of the files that it names. What is wrong in it is told when it is loaded.
    fn profile(&mut self, path: &Path) {
        self.file(path);
        let Ok(text) = load::text(path) else { return };
        let Ok(profile) = Profile::parse(&text, "") else { return };
        let base = folder_of(path);
        for file in &profile.pack_files {
            self.file(&base.join(file));
        }
        for source in &profile.exact {
            if let ExactPlace::File(file) = &source.at {
                self.file(&base.join(file));
            }
        }
    }

    /// The folder of a file, since a file that is replaced by another is another; and where it really lies.
    fn file(&mut self, path: &Path) {
        self.read.insert(folder_of(path));
        if let Ok(real) = path.canonicalize() {
            self.read.insert(folder_of(&real));
        }
    }

    pub(super) fn confine(&self) -> Result<Confined, String> {
        self.try_confine().map_err(|e| format!("Landlock ({e})"))
    }

    fn try_confine(&self) -> Result<Confined, landlock::RulesetError> {
        // What a config names and is not there yet is made by the daemon itself; it must be there to be allowed.
        for folder in &self.write {
            let _ = std::os::unix::fs::DirBuilderExt::mode(std::fs::DirBuilder::new().recursive(true), 0o700)
                .create(folder);
        }
        let remove = AccessFs::RemoveFile;
        let write = AccessFs::from_read(KNOWN) | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::MakeReg | remove;
        let status = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(KNOWN))?
            .handle_access(AccessNet::from_all(KNOWN))?
            .scope(scope())?
            .create()?
            .add_rules(beneath(&self.read, AccessFs::ReadFile | AccessFs::ReadDir))?
            .add_rules(beneath(&self.write, write & !AccessFs::Execute))?
            .add_rules(beneath(&self.remove, remove.into()))?
            .restrict_self()?;
        let version = match status.landlock {
            LandlockStatus::Available { effective_abi, .. } => format!("ABI {}", effective_abi as i32),
            LandlockStatus::NotEnabled => "not enabled in this kernel".to_owned(),
            LandlockStatus::NotImplemented => "not in this kernel".to_owned(),
        };
        let some = status.ruleset != RulesetStatus::NotEnforced;
        let (whole, told) = match status.ruleset {
            RulesetStatus::FullyEnforced => (true, format!("landlock whole ({version})")),
            RulesetStatus::PartiallyEnforced => (false, format!("landlock in part ({version})")),
            RulesetStatus::NotEnforced => (false, format!("no landlock ({version})")),
        };
        Ok(Confined { whole, some, told })
    }
}

/// Signals to others, and other programs' abstract sockets; but for systemd's, if it listens on one.
fn scope() -> BitFlags<Scope> {
    let abstract_notify = std::env::var_os("NOTIFY_SOCKET").is_some_and(|s| s.as_encoded_bytes().starts_with(b"@"));
    if abstract_notify { Scope::Signal.into() } else { Scope::Signal | Scope::AbstractUnixSocket }
}

fn beneath(
    folders: &BTreeSet<PathBuf>,
    access: BitFlags<AccessFs>,
) -> impl Iterator<Item = Result<PathBeneath<PathFd>, landlock::RulesetError>> {
    landlock::path_beneath_rules(folders, access)
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
