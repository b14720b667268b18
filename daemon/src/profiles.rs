//! The rule sets that the daemon serves, compiled once from the profiles that the config names.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_scan::{MAX_PACK_BYTES, Pack, Profile, RuleSet};

/// One profile, ready for streams.
#[derive(Debug)]
pub struct ServedProfile {
    /// Its name, as Open gives it.
    pub name: String,
    /// Its rules.
    pub rules: Arc<RuleSet>,
}

/// All profiles of a daemon. Immutable: a reload makes a new one, streams keep the [`ServedProfile`] they began with.
#[derive(Debug)]
pub struct ServedProfiles {
    all: Vec<Arc<ServedProfile>>,
    fingerprint: [u8; 32],
}

impl ServedProfiles {
    /// Loads and compiles profiles. An entry with a `/` or the ending `.toml` is a file, read relative to `base`;
    /// any other is the name of a built-in profile. The error is one line that names place and mend.
    pub fn load(entries: &[String], base: &Path) -> Result<Self, String> {
        let mut all: Vec<Arc<ServedProfile>> = Vec::new();
        for entry in entries {
            let rules = load_one(entry, base)?;
            let name = rules.profile().to_owned();
            if name.is_empty() || name.len() > forebay_wire::MAX_NAME || name.chars().any(char::is_control) {
                return Err(format!(
                    "profile `{entry}` has a name that cannot be asked for; use 1 to {} bytes without control characters",
                    forebay_wire::MAX_NAME
                ));
            }
            if all.iter().any(|p| p.name == name) {
                return Err(format!("two profiles are named `{name}`; rename one"));
            }
            all.push(Arc::new(ServedProfile { name, rules }));
        }
        let mut hasher = blake3::Hasher::new();
        for p in &all {
            hasher
                .update(&(p.name.len() as u64).to_le_bytes())
                .update(p.name.as_bytes())
                .update(&p.rules.fingerprint());
        }
        Ok(ServedProfiles { fingerprint: *hasher.finalize().as_bytes(), all })
    }

    /// Builds what waits for its first candidate, on a thread of its own: serving starts at once, and no stream pays.
    pub fn warm_in_background(&self) {
        let rules: Vec<Arc<RuleSet>> = self.all.iter().map(|p| Arc::clone(&p.rules)).collect();
        std::thread::spawn(move || rules.iter().for_each(|r| r.warm()));
    }

    /// The profile of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<ServedProfile>> {
        self.all.iter().find(|p| p.name == name)
    }

    /// All of them, in the config's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<ServedProfile>> {
        self.all.iter()
    }

    /// BLAKE3 over names and fingerprints: changes when any rule or action of any profile does.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }
}

fn load_one(entry: &str, base: &Path) -> Result<Arc<RuleSet>, String> {
    if !is_file(entry) {
        return match RuleSet::builtin(entry) {
            Some(rules) => rules.map_err(|e| e.to_string()),
            None => Err(format!(
                "there is no built-in profile `{entry}`; use one of {}, or a path to a profile file",
                Profile::BUILTIN.join(", ")
            )),
        };
    }
    let path = base.join(entry);
    let profile = Profile::parse(&read_bounded(&path)?, &path.display().to_string()).map_err(|e| e.to_string())?;
    let mut packs = Vec::new();
    for name in &profile.packs {
        let pack = Pack::builtin(name).ok_or_else(|| {
            let known: Vec<&str> = Pack::builtin_sources().iter().map(|(n, _)| *n).collect();
            format!("{}: there is no built-in pack `{name}`; use {}", path.display(), known.join(", "))
        })?;
        packs.push(pack.map_err(|e| e.to_string())?);
    }
    let beside = path.parent().unwrap_or(base);
    for file in &profile.pack_files {
        let file = beside.join(file);
        packs.push(Pack::parse(&read_bounded(&file)?, &file.display().to_string()).map_err(|e| e.to_string())?);
    }
    RuleSet::compile(&packs, &profile).map_err(|e| e.to_string())
}

fn is_file(entry: &str) -> bool {
    entry.contains('/') || entry.ends_with(".toml")
}

/// Reads a text file of at most [`MAX_PACK_BYTES`].
fn read_bounded(path: &PathBuf) -> Result<String, String> {
    let fail = |what: String| format!("{}: {what}", path.display());
    let size = fs::metadata(path).map_err(|e| fail(format!("cannot be read: {e}; mend the path")))?.len();
    if size > MAX_PACK_BYTES as u64 {
        return Err(fail(format!("is {size} bytes; a profile or pack has at most {MAX_PACK_BYTES}")));
    }
    fs::read_to_string(path).map_err(|e| fail(format!("cannot be read: {e}; it must be UTF-8 text")))
}
