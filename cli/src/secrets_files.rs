//! Files named by `--secrets-file`: how each is read, and what its rules are called.
//!
//! An option has no place for a label, so files of one name get distinct ones from the folders that they stand in:
//! `a/.env` and `b/.env` make rules `secret.exact.a-env.…` and `secret.exact.b-env.…`. The files themselves are read by
//! [`forebayd::exact_files`].

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use forebay_scan::{ExactFormat, ExactPlace, ExactSource};

/// Longest label, in bytes: that of a profile's entry. A longer one loses folders that tell nothing apart.
const MAX_LABEL: usize = 32;

/// The files as sources. `taken` are the sources that a profile names: their labels stay theirs. A file that is named
/// twice is one.
pub(crate) fn sources(files: &[PathBuf], taken: &[ExactSource]) -> Vec<ExactSource> {
    let mut named: Vec<Named> = Vec::with_capacity(files.len());
    for file in files {
        let file = Named::of(file);
        if !named.iter().any(|n| n.real == file.real) {
            named.push(file);
        }
    }
    let taken: Vec<String> = taken.iter().map(|s| plain(&s.label)).collect();
    widen(&mut named, &taken);
    let mut seen: BTreeMap<String, usize> = taken.into_iter().map(|label| (label, 1)).collect();
    named
        .into_iter()
        .map(|n| {
            let mut label = n.label();
            // Folders could not tell them apart: they have the same letters in other signs, or too many of them.
            while let Some(times) = seen.get_mut(&label) {
                *times += 1;
                label = format!("{}-{times}", n.label());
            }
            seen.insert(label.clone(), 1);
            ExactSource { label, ..n.source }
        })
        .collect()
}

/// A file and how many of its folders its label has.
struct Named {
    source: ExactSource,
    /// Where it is; the path as given if that cannot be told.
    real: PathBuf,
    /// The folders that it stands in, the nearest first.
    folders: Vec<String>,
    shown: usize,
}

impl Named {
    fn of(path: &Path) -> Named {
        let json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
        let format = if json { ExactFormat::Json } else { ExactFormat::Env };
        let at = ExactPlace::File(path.to_string_lossy().into_owned());
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // Its own name is the given one: a link's name says more than where it leads.
        let folder = path.parent().map(|p| if p == Path::new("") { Path::new(".") } else { p });
        let folder = folder.and_then(|p| p.canonicalize().ok()).unwrap_or_default();
        let mut folders: Vec<String> = folder.components().filter_map(name).collect();
        folders.reverse();
        Named { source: ExactSource::new(at, format, "--secrets-file"), real, folders, shown: 0 }
    }

    fn label(&self) -> String {
        let shown = self.folders.iter().take(self.shown).rev().map(String::as_str);
        let label = shown.chain([self.source.label.as_str()]).map(plain).collect::<Vec<_>>().join("-");
        // Letters in front go first: what is behind is nearer to the file.
        label[label.len().saturating_sub(MAX_LABEL)..].to_owned()
    }
}

/// Adds folders to labels that are those of others, until they differ or there are no more.
fn widen(named: &mut [Named], taken: &[String]) {
    loop {
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        taken.iter().cloned().chain(named.iter().map(Named::label)).for_each(|l| *count.entry(l).or_default() += 1);
        let mut wider = false;
        for n in named.iter_mut() {
            if count.get(&n.label()).is_some_and(|c| *c > 1) && n.shown < n.folders.len() {
                n.shown += 1;
                wider = true;
            }
        }
        if !wider {
            return;
        }
    }
}

fn name(c: Component<'_>) -> Option<String> {
    match c {
        Component::Normal(n) => Some(n.to_string_lossy().trim_start_matches('.').to_owned()),
        _ => None,
    }
}

/// As it stands in a rule's name: letters, digits, `_` and `-`.
fn plain(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' }).collect()
}
