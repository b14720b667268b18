//! A profile with everything that it names, from disk: packs, and files of exact values.
//!
//! The engine reads no files; this module does it for the daemon and the command line, with bounds. It does *not*
//! compile: what comes out may be looked at and changed first. Every error is one line with place and mend.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use forebay_scan::{Cache, MAX_PACK_BYTES, Pack, Profile, RuleSet};

use crate::exact_files::ExactFiles;

/// A profile and what it names.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The profile.
    pub profile: Profile,
    /// Its packs; exact values are the last one.
    pub packs: Vec<Pack>,
    /// What an operator should know of its exact values, one line each.
    pub warnings: Vec<String>,
}

impl Loaded {
    /// Loads a profile: a file if the entry has a `/` or the ending `.toml`, read relative to `base`, else a built-in
    /// one. Files that a profile names are meant from the profile's folder.
    ///
    /// # Errors
    /// One line: place, what is wrong there, the mend.
    pub fn profile(entry: &str, base: &Path) -> Result<Loaded, String> {
        if is_file(entry) {
            return Self::file(&base.join(entry));
        }
        let profile = Profile::builtin(entry).ok_or_else(|| {
            let known = Profile::BUILTIN.join(", ");
            format!("there is no built-in profile `{entry}`; use one of {known}, or the path of a TOML file")
        })?;
        Self::with(profile, base)
    }

    /// Loads a profile file.
    ///
    /// # Errors
    /// As [`Loaded::profile`].
    pub fn file(path: &Path) -> Result<Loaded, String> {
        let shown = path.display().to_string();
        let text = text(path).map_err(|e| format!("{shown}: {e}"))?;
        let profile = Profile::parse(&text, &shown).map_err(|e| e.to_string())?;
        Self::with(profile, path.parent().unwrap_or(Path::new(".")))
    }

    fn with(profile: Profile, folder: &Path) -> Result<Loaded, String> {
        let mut packs = Vec::new();
        for name in &profile.packs {
            let pack = Pack::builtin(name).ok_or_else(|| {
                let known = Pack::builtin_sources().map(|(n, _)| n).join(", ");
                let place = profile.place(name);
                format!(
                    "{place}: there is no built-in pack `{name}`; use one of {known}, or name a file in `pack_files`"
                )
            })?;
            packs.push(pack.map_err(|e| e.to_string())?);
        }
        for file in &profile.pack_files {
            packs.push(pack_file(&folder.join(file)).map_err(|e| match e {
                PackError::Unreadable(e) => format!("{}: the pack {e}", profile.place(file)),
                PackError::Wrong(e) => e,
            })?);
        }
        let mut loaded = Loaded { packs, warnings: Vec::new(), profile };
        let exact = ExactFiles::read(&loaded.profile.exact, folder)?;
        loaded.add(exact)?;
        Ok(loaded)
    }

    /// Adds exact values from elsewhere, as a pack of their own.
    ///
    /// # Errors
    /// As [`Pack::exact`].
    pub fn add(&mut self, exact: ExactFiles) -> Result<(), String> {
        self.warnings.extend(exact.warnings);
        if !exact.values.is_empty() {
            self.packs.push(Pack::exact(&exact.values).map_err(|e| e.to_string())?);
        }
        Ok(())
    }

    /// Compiles it.
    ///
    /// # Errors
    /// As [`RuleSet::compile`].
    pub fn compile(&self) -> Result<Arc<RuleSet>, String> {
        self.compile_with(&mut Cache::default())
    }

    /// Compiles it with what was worked out before.
    ///
    /// # Errors
    /// As [`RuleSet::compile`].
    pub fn compile_with(&self, cache: &mut Cache) -> Result<Arc<RuleSet>, String> {
        RuleSet::compile_cached(&self.packs, &self.profile, forebay_scan::Backend::default(), cache)
            .map_err(|e| e.to_string())
    }
}

/// Why a pack file cannot be used.
enum PackError {
    /// `<path> <why>; <mend>`
    Unreadable(String),
    /// With the place in the pack.
    Wrong(String),
}

fn pack_file(path: &Path) -> Result<Pack, PackError> {
    let shown = path.display().to_string();
    let text = text(path).map_err(|e| PackError::Unreadable(format!("{shown} {e}")))?;
    Pack::parse(&text, &shown).map_err(|e| PackError::Wrong(e.to_string()))
}

/// Whether a profile's name is a path.
pub fn is_file(entry: &str) -> bool {
    entry.contains('/') || entry.ends_with(".toml")
}

/// Reads a text file that must not be larger than a pack may be.
pub(crate) fn text(path: &Path) -> Result<String, String> {
    let cannot = |e: std::io::Error| format!("cannot be read: {e}; mend the path");
    let mut out = Vec::new();
    let Some(file) = open_regular(path).map_err(cannot)? else {
        return Err("is not a regular file; name one".to_owned());
    };
    file.take(MAX_PACK_BYTES as u64 + 1).read_to_end(&mut out).map_err(cannot)?;
    if out.len() > MAX_PACK_BYTES {
        return Err(format!("is larger than {MAX_PACK_BYTES} bytes; split it"));
    }
    String::from_utf8(out).map_err(|_| "is not UTF-8 text; save it as UTF-8".to_owned())
}

/// Opens a regular file; `None` if it is none. Looked at before it is opened: to open a pipe would wait for its writer, and
/// no reload would ever be done.
pub(crate) fn open_regular(path: &Path) -> std::io::Result<Option<File>> {
    if std::fs::metadata(path)?.is_file() { File::open(path).map(Some) } else { Ok(None) }
}
