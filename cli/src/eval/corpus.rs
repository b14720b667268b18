//! Which files of a folder, and of which category each is.
//!
//! A `manifest.jsonl` in the folder says it (`{"file","category"}`, paths from the folder). Without one every file counts:
//! its category is the folder it stands in, or for files at the top what their names say. The attacker is who wrote the
//! manifest: a path must not lead out of the folder.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path};

use anyhow::{Context, bail};
use ignore::WalkBuilder;
use serde::Deserialize;

use crate::exit;
use crate::json_lines::{Lines, Next, object};
use crate::mask::visible_path;

const MANIFEST: &str = "manifest.jsonl";
/// Longest line of a manifest, in bytes: a path (4 KiB on Linux) and a name.
const MAX_LINE: usize = 64 << 10;
/// Most files. Their names are in memory, at most some hundred MB of them.
const MAX_FILES: usize = 1_000_000;
/// A NUL byte this near the start makes a file binary, as in git and grep.
const BINARY_WITHIN: u64 = 8 << 10;
/// What a line of a manifest must be.
const SHAPE: &str = r#"{"file": "path/from/this/folder", "category": "…"}"#;

/// Categories by the ends of names, for files at the top of the folder.
const KINDS: &[(&str, &[&str])] = &[
    ("markdown", &["md", "markdown", "mdx", "rst", "adoc"]),
    ("logs", &["log", "out", "err"]),
    ("json", &["json", "jsonl", "ndjson", "geojson"]),
    ("yaml", &["yaml", "yml"]),
    ("toml", &["toml"]),
    ("ini", &["ini", "cfg", "conf", "properties", "env"]),
    ("csv", &["csv", "tsv"]),
    ("sql", &["sql"]),
    ("html", &["html", "htm", "xml", "xhtml", "css"]),
    ("svg", &["svg"]),
    ("lockfile", &["lock", "sum"]),
    ("text", &["txt", "text"]),
    (
        "source",
        &[
            "rs", "py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "go", "java", "kt", "scala", "c", "h", "cc", "cpp",
            "hpp", "cs", "rb", "php", "swift", "m", "lua", "pl", "r", "sh", "bash", "zsh", "fish", "ps1", "ex", "exs",
            "erl", "hs", "ml", "clj", "dart", "zig", "vue", "svelte", "proto", "tf",
        ],
    ),
];

/// Files to be read.
pub(crate) struct Corpus {
    /// By name.
    pub(crate) members: Vec<Member>,
    /// Files that were left out because they have NUL bytes.
    pub(crate) binary: u64,
}

/// One file.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    /// Path from the folder.
    pub(crate) name: String,
    pub(crate) category: String,
}

#[derive(Deserialize)]
struct Entry {
    file: String,
    category: String,
}

impl Corpus {
    pub(crate) fn of(folder: &Path) -> anyhow::Result<Corpus> {
        if !folder.is_dir() {
            bail!("{} is no folder; `--benign` takes a folder of harmless files", visible_path(folder));
        }
        let manifest = folder.join(MANIFEST);
        let mut corpus = if manifest.is_file() { listed(folder, &manifest)? } else { found(folder)? };
        corpus.members.sort();
        corpus.members.dedup_by(|a, b| a.name == b.name);
        Ok(corpus)
    }

    fn add(&mut self, name: String, category: String) -> anyhow::Result<()> {
        if self.members.len() >= MAX_FILES {
            bail!("more than {MAX_FILES} files; measure the folder in parts");
        }
        self.members.push(Member { name, category });
        Ok(())
    }
}

fn listed(folder: &Path, manifest: &Path) -> anyhow::Result<Corpus> {
    let name = visible_path(manifest);
    let mut lines = Lines::new(File::open(manifest).with_context(|| format!("cannot open {name}"))?, MAX_LINE);
    let root = folder.canonicalize().with_context(|| format!("cannot look at {}", visible_path(folder)))?;
    let mut corpus = Corpus { members: Vec::new(), binary: 0 };
    loop {
        match lines.next().with_context(|| format!("cannot read {name}"))? {
            Next::End => return Ok(corpus),
            Next::TooLong(n) => bail!("{name}:{n}: longer than {MAX_LINE} bytes; a line must be {SHAPE}"),
            Next::Line(n, line) => {
                let entry: Entry = object(line, SHAPE).map_err(|e| anyhow::anyhow!("{name}:{n}: {e}"))?;
                let inside = Path::new(&entry.file).components().all(|c| matches!(c, Component::Normal(_)));
                // Links are followed, but not out of the folder. What is not there is told by whoever opens it.
                let stays =
                    folder.join(&entry.file).canonicalize().map_or(true, |p| p.starts_with(&root) && p.is_file());
                if !inside || !stays || entry.file.is_empty() {
                    bail!("{name}:{n}: `file` must be the path of a file from this folder that does not leave it");
                }
                corpus.add(entry.file, entry.category)?;
            }
        }
    }
}

fn found(folder: &Path) -> anyhow::Result<Corpus> {
    let mut corpus = Corpus { members: Vec::new(), binary: 0 };
    let mut failed = 0;
    let walk = WalkBuilder::new(folder).standard_filters(false).filter_entry(|e| e.file_name() != ".git").build();
    for entry in walk {
        let path = match entry {
            Ok(e) if e.file_type().is_some_and(|t| t.is_file()) => e.into_path(),
            Ok(_) => continue,
            Err(e) => {
                failed += 1;
                exit::say(format_args!("forebay: {e}"));
                continue;
            }
        };
        let Some(name) = path.strip_prefix(folder).ok().and_then(Path::to_str) else {
            bail!("{}: the name is not UTF-8; rename the file", visible_path(&path));
        };
        if is_binary(&path).with_context(|| format!("cannot read {}", visible_path(&path)))? {
            corpus.binary += 1;
        } else {
            corpus.add(name.to_owned(), category(name))?;
        }
    }
    if failed > 0 {
        bail!("parts of {} could not be listed (named above)", visible_path(folder));
    }
    Ok(corpus)
}

fn is_binary(path: &Path) -> std::io::Result<bool> {
    let mut head = Vec::new();
    File::open(path)?.take(BINARY_WITHIN).read_to_end(&mut head)?;
    Ok(memchr::memchr(0, &head).is_some())
}

fn category(name: &str) -> String {
    if let Some((folder, _)) = name.split_once('/') {
        return folder.to_owned();
    }
    let end = name.rsplit_once('.').map_or("", |(_, end)| end).to_ascii_lowercase();
    let kind = KINDS.iter().find(|(_, ends)| ends.contains(&end.as_str()));
    kind.map_or("other", |(kind, _)| kind).to_owned()
}
