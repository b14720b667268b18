//! Files whose values are secrets on this host, read for a profile's `[[exact]]` entries.
//!
//! The engine takes names and bytes; this module gets them from disk, with bounds, and leaves out what would be found in
//! every text. It is *not* a secret store: values go from the file to the engine and nowhere else.
//!
//! Invariants: no message, warning or error has a byte of a value in it, nor how long one is; each names key, line and
//! mend. A file that cannot be read whole, or does not read as what it is said to be, is an error and no value of it is
//! used: a daemon without the secrets it was told to guard must not look as if it guarded them.
//! The attacker: who can write one of the files (a huge one, a device, a pipe that never ends).

mod env;
mod json;

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use forebay_scan::{ExactFormat, ExactPlace, ExactSource, ExactValue, MAX_VALUE_BYTES, Weakness, weakness};

/// Longest file, in bytes: 10,000 values of a hundred. A larger one is not a file of secrets.
const MAX_FILE_BYTES: usize = 1 << 20;

/// Names that every environment has and that hold no secret. Not looked for, and not worth a warning.
const USUAL_NAMES: [&str; 24] = [
    "COLORTERM",
    "DISPLAY",
    "EDITOR",
    "HOME",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LOGNAME",
    "MAIL",
    "OLDPWD",
    "PAGER",
    "PATH",
    "PWD",
    "SHELL",
    "SHLVL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "USERNAME",
    "VISUAL",
];

/// What the files of a profile hold.
#[derive(Debug, Default)]
pub struct ExactFiles {
    /// The values to look for.
    pub values: Vec<ExactValue>,
    /// What an operator should know: values that are not looked for, files that others can read. One line each.
    pub warnings: Vec<String>,
}

/// A value as a file has it.
struct Entry {
    /// Empty if the file is one value.
    key: String,
    line: usize,
    /// What programs make of it: they differ about quotes, escapes and comments.
    readings: Vec<Vec<u8>>,
}

impl ExactFiles {
    /// Reads the files. Relative paths start from `base`; credentials are in the folder that systemd names.
    ///
    /// # Errors
    /// One line with place and mend.
    pub fn read(sources: &[ExactSource], base: &Path) -> Result<ExactFiles, String> {
        let mut all = ExactFiles::default();
        for source in sources {
            let path = path_of(source, base)?;
            let bytes = read_bounded(&path, &mut all.warnings).map_err(|e| format!("{}: {e}", source.origin))?;
            let shown = path.display().to_string();
            let entries = match source.format {
                ExactFormat::Env => env::parse(&bytes).map_err(|e| format!("{shown}:{}", told(source, e)))?,
                ExactFormat::Json => json::parse(&bytes).map_err(|e| format!("{shown}:{}", told(source, e)))?,
                ExactFormat::Value => vec![whole(&bytes)],
            };
            all.take(source, &shown, entries)?;
        }
        Ok(all)
    }

    fn take(&mut self, source: &ExactSource, shown: &str, entries: Vec<Entry>) -> Result<(), String> {
        for list in [&source.ignore, &source.keep] {
            let whole = |n: &String| is_whole(source) && *n == source.label;
            if let Some(name) = list.iter().find(|n| !whole(n) && !entries.iter().any(|e| e.key == **n)) {
                self.warnings.push(format!("{}: {shown} has no key `{name}`; mend the name", source.origin));
            }
        }
        let before = self.values.len();
        let entries = merged(entries);
        let mut empty = Vec::new();
        for e in &entries {
            let kept = source.keep.contains(&e.key) || is_whole(source) && source.keep.contains(&source.label);
            if source.ignore.contains(&e.key) || !kept && USUAL_NAMES.contains(&e.key.as_str()) {
                continue;
            }
            if e.readings.is_empty() {
                empty.push(named(&e.key));
            } else if let Some(value) = self.judge(source, shown, e, kept)? {
                self.values.push(value);
            }
        }
        if !empty.is_empty() && !is_whole(source) {
            let mend = "give them values, or leave it if that is meant";
            self.warnings
                .push(format!("{shown}: these keys are empty, nothing is looked for: {}; {mend}", list(&empty)));
        }
        if self.values.len() == before {
            self.warnings
                .push(format!("{}: {shown} has no value that is looked for; is it the right file?", source.origin));
        }
        Ok(())
    }

    /// The value of an entry, unless it would be found in every text. It has a reading, and none is empty.
    fn judge(
        &mut self,
        source: &ExactSource,
        shown: &str,
        e: &Entry,
        kept: bool,
    ) -> Result<Option<ExactValue>, String> {
        let place = format!("{shown}:{}", e.line);
        let weak = |r: &Vec<u8>| match kept {
            true => (r.len() < ExactSource::LEAST_LENGTH).then_some(Weakness::Short),
            false => weakness(r, source.min_length),
        };
        let strong: Vec<&[u8]> = e.readings.iter().filter(|r| weak(r).is_none()).map(Vec::as_slice).collect();
        if let Some(why) = e.readings.iter().find_map(weak) {
            let mend = keeping(source, &e.key, why);
            if strong.is_empty() && (is_whole(source) || kept) {
                return Err(format!("{place}: the value {why}, so it would be found in every text; {mend}"));
            }
            let key = named(&e.key);
            // A value may be read in more than one way, and a key may come twice.
            self.warnings.push(match strong.is_empty() {
                true => format!("{place}: the value of {key} {why} and is not looked for; {mend}"),
                false => format!(
                    "{place}: {key} can be read in more than one way (quotes, comments, or it comes twice): one reading \
                     {why} and is not looked for, the others are; {mend}"
                ),
            });
        }
        if strong.is_empty() {
            return Ok(None);
        }
        if strong.iter().any(|r| r.len() > MAX_VALUE_BYTES) {
            let part =
                "write its secret part (a private key without its certificates) to a file of its own and name that";
            let mend = match (is_whole(source), from_profile(source)) {
                (true, _) => format!("{part}, or take the entry out"),
                (false, true) => format!("{part}, and put `{}` into `ignore`", named(&e.key)),
                (false, false) => in_profile(source, &format!("ignore = [{:?}]", e.key)),
            };
            return Err(format!(
                "{place}: the value of {} is longer than {MAX_VALUE_BYTES} bytes; {mend}",
                named(&e.key)
            ));
        }
        let value =
            ExactValue::new(&source.label, &e.key, &strong, &place).map_err(|error| match from_profile(source) {
                true => error.to_string(),
                false => format!("{place}: {}; {}", error.what, in_profile(source, &format!("ignore = [{:?}]", e.key))),
            })?;
        let spellings = value.left_out();
        if !spellings.is_empty() {
            self.warnings.push(format!(
                "{place}: the value of {} is so long that it is not looked for {}; it is in every other spelling; to have \
                 all, write its secret part to a file of its own",
                named(&e.key),
                list(&spellings)
            ));
        }
        Ok(Some(value))
    }
}

/// What to write so that a weak value is looked for all the same.
fn keeping(source: &ExactSource, key: &str, why: Weakness) -> String {
    let least = ExactSource::LEAST_LENGTH;
    if why == Weakness::Short && (is_whole(source) || source.keep.iter().any(|k| k == key)) {
        return format!("put a value of {least} bytes or more there, or take the entry out");
    }
    let key = if is_whole(source) { &source.label } else { key };
    match (why, from_profile(source)) {
        (_, true) if is_whole(source) => format!("to look for it all the same, write keep = [{key:?}] into the entry"),
        (Weakness::Short, true) => {
            let shown = named(key);
            format!("lower `min_length` ({}), or put `{shown}` into `ignore`", source.min_length)
        }
        (_, true) => format!("put `{}` into `keep` to look for it all the same, or into `ignore`", named(key)),
        (Weakness::Short, false) => in_profile(source, &format!("min_length = {least}")),
        (_, false) => in_profile(source, &format!("keep = [{key:?}]")),
    }
}

/// Whether the file is one value, which has no key.
fn is_whole(source: &ExactSource) -> bool {
    source.format == ExactFormat::Value
}

/// A key as messages show it: a JSON file may have any text there.
fn named(key: &str) -> String {
    key.escape_debug().collect()
}

/// The first of a list, and how many more there are: a template may have a thousand empty keys.
fn list(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(8).map(AsRef::as_ref).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// How an error ends that may come of a file that is written in another way.
const OR_FORMAT: &str = ", or set `format`";

/// A parser's error with a mend that whoever named the file can do.
fn told(source: &ExactSource, e: String) -> String {
    let Some(what) = e.strip_suffix(OR_FORMAT).filter(|_| !from_profile(source)) else { return e };
    let other = match source.format {
        ExactFormat::Json => "if it is no JSON, give it a name that does not end in .json",
        ExactFormat::Env | ExactFormat::Value => "if it is JSON, give it a name that ends in .json",
    };
    format!("{what}; {other}; if the whole file is one value: {}", in_profile(source, "format = \"value\""))
}

/// Whether a profile names the file; else an option does, which has no place for settings.
fn from_profile(source: &ExactSource) -> bool {
    !source.origin.starts_with("--")
}

/// The mend for a file named by an option: the line of a profile that says more about it.
fn in_profile(source: &ExactSource, setting: &str) -> String {
    let (ExactPlace::File(name) | ExactPlace::Credential(name)) = &source.at;
    let option = &source.origin;
    format!("to change that, name it in a profile instead of {option}: exact = [{{ file = {name:?}, {setting} }}]")
}

/// A file that is one value.
fn whole(bytes: &[u8]) -> Entry {
    let value = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let value = value.strip_suffix(b"\r").unwrap_or(value);
    Entry { key: String::new(), line: 1, readings: vec![value.to_vec()] }
}

/// A key that comes twice has both values: which one counts depends on who reads the file. Empty readings are none.
fn merged(entries: Vec<Entry>) -> Vec<Entry> {
    let mut at = std::collections::HashMap::new();
    let mut out: Vec<Entry> = Vec::with_capacity(entries.len());
    for mut e in entries {
        e.readings.retain(|r| !r.is_empty());
        match at.get(&e.key) {
            Some(i) => {
                let first: &mut Entry = &mut out[*i];
                first.readings.extend(e.readings);
            }
            None => {
                at.insert(e.key.clone(), out.len());
                out.push(e);
            }
        }
    }
    out
}

fn path_of(source: &ExactSource, base: &Path) -> Result<PathBuf, String> {
    match &source.at {
        ExactPlace::File(path) => Ok(base.join(path)),
        ExactPlace::Credential(name) => match std::env::var_os("CREDENTIALS_DIRECTORY") {
            Some(folder) => Ok(Path::new(&folder).join(name)),
            None => Err(format!(
                "{}: there is no credential `{name}`: systemd passed none; put LoadCredential={name}:/path \
                 into the unit, or set CREDENTIALS_DIRECTORY to a folder with such a file to try it by hand",
                source.origin
            )),
        },
    }
}

/// The bytes of a regular file of at most [`MAX_FILE_BYTES`].
fn read_bounded(path: &Path, warnings: &mut Vec<String>) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let cannot = |e: std::io::Error| format!("{shown} cannot be read: {e}; mend the path or its permissions");
    let Some(file) = crate::load::open_regular(path).map_err(cannot)? else {
        return Err(format!("{shown} is not a regular file; write the values to one"));
    };
    let mode = file.metadata().map_err(cannot)?.permissions().mode();
    if mode & 0o006 != 0 {
        let does = if mode & 0o002 != 0 { "change" } else { "read" };
        warnings.push(format!("{shown}: every user of this host can {does} this file of secrets; chmod o-rw it"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(format!("{shown} is larger than {MAX_FILE_BYTES} bytes; it is no file of secrets, or split it"));
    }
    Ok(bytes)
}
