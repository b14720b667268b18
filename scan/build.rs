//! Names the engine's sources by a hash: a stored rule cache is of one engine, and a version number alone would not tell
//! two builds of a working tree apart.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    list(Path::new("src"), &mut files)?;
    files.sort();
    let mut hash = DefaultHasher::new();
    for file in files {
        file.hash(&mut hash);
        fs::read(&file)?.hash(&mut hash);
    }
    // Tables are the same on every machine, but nobody has shown it.
    env::var("TARGET").unwrap_or_default().hash(&mut hash);
    println!("cargo::rustc-env=FOREBAY_ENGINE_SOURCES={:016x}", hash.finish());
    Ok(())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
