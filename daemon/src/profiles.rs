//! The rule sets that the daemon serves, compiled once from the profiles that the config names.

use std::path::Path;
use std::sync::Arc;

use forebay_scan::{Cache, RuleSet};

use crate::config::Config;
use crate::load::{self, Loaded};
use crate::rule_cache::RuleCache;

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
    warnings: Vec<String>,
}

impl ServedProfiles {
    /// Loads and compiles the profiles of a config.
    ///
    /// # Errors
    /// As [`ServedProfiles::load`], with the config's line where the fault is in the config.
    pub fn of(config: &Config) -> Result<Self, String> {
        let place = |entry: &str| config.place_of_profile(entry);
        let Some(folder) = &config.cache_dir else {
            return Self::with(&config.profiles, &config.base, place, &mut Cache::default());
        };
        let file = RuleCache::new(folder, "forebayd");
        let shown = file.path().display();
        let (mut cache, unread) = match file.read() {
            Ok(cache) => (cache, None),
            Err(e) => {
                (Cache::default(), Some(format!("the rule cache {shown} is not used, the rules were compiled: {e}")))
            }
        };
        let mut profiles = Self::with(&config.profiles, &config.base, place, &mut cache)?;
        profiles.warnings.extend(unread);
        if let Err(e) = file.write(&cache) {
            let what =
                format!("the rule cache {shown} cannot be written, the next start compiles the rules again: {e}");
            profiles.warnings.push(what);
        }
        Ok(profiles)
    }

    /// Loads and compiles profiles. An entry with a `/` or the ending `.toml` is a file, read relative to `base`;
    /// any other is the name of a built-in profile.
    ///
    /// # Errors
    /// One line that names place and mend.
    pub fn load(entries: &[String], base: &Path) -> Result<Self, String> {
        Self::with(entries, base, |_| String::new(), &mut Cache::default())
    }

    fn with(
        entries: &[String],
        base: &Path,
        place: impl Fn(&str) -> String,
        cache: &mut Cache,
    ) -> Result<Self, String> {
        let mut all: Vec<Arc<ServedProfile>> = Vec::new();
        let mut warnings: Vec<String> = Vec::new();
        for entry in entries {
            // What is wrong in a file has the file's place already.
            let loaded = Loaded::profile(entry, base)
                .map_err(|e| if load::is_file(entry) && base.join(entry).exists() { e } else { place(entry) + &e })?;
            let name = loaded.profile.name.clone();
            let where_named = loaded.profile.place(&name);
            if name.is_empty() || name.len() > forebay_wire::MAX_NAME || name.chars().any(char::is_control) {
                return Err(format!(
                    "{where_named}: the profile's name cannot be asked for; use 1 to {} bytes without control characters",
                    forebay_wire::MAX_NAME
                ));
            }
            if all.iter().any(|p| p.name == name) {
                return Err(format!("{where_named}: two profiles are named `{name}`; rename one"));
            }
            // Several profiles may name one file.
            warnings.extend(loaded.warnings.iter().filter(|w| !warnings.contains(w)).cloned().collect::<Vec<_>>());
            all.push(Arc::new(ServedProfile { name, rules: loaded.compile_with(cache)? }));
        }
        let mut hasher = blake3::Hasher::new();
        for p in &all {
            hasher
                .update(&(p.name.len() as u64).to_le_bytes())
                .update(p.name.as_bytes())
                .update(&p.rules.fingerprint());
        }
        Ok(ServedProfiles { fingerprint: *hasher.finalize().as_bytes(), all, warnings })
    }

    /// Builds what waits for its first candidate, on a thread of its own: serving starts at once, and no stream pays.
    pub fn warm_in_background(&self) {
        let rules: Vec<Arc<RuleSet>> = self.all.iter().map(|p| Arc::clone(&p.rules)).collect();
        std::thread::spawn(move || rules.iter().for_each(|r| r.warm()));
    }

    /// What an operator should know of the exact values, one line each. Nothing of a value is in it.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Logs the warnings.
    pub fn warn(&self) {
        self.warnings.iter().for_each(|w| tracing::warn!("{w}"));
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
