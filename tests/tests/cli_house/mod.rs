//! A temporary folder with a pack, profiles and a key of its own, so that these tests do not depend on the built-in
//! rules, and commands to run in it.
#![allow(dead_code)] // Each test file uses its part.

pub(crate) mod labelled;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use forebay_scan::examples;

use forebay_tests::bin_path::bin_path;

/// The folder; gone when dropped.
pub(crate) struct House {
    folder: tempfile::TempDir,
    /// Not in the folder: a scan of the folder must not find it.
    cache: tempfile::TempDir,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Output {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.out).expect("UTF-8")
    }
}

const PACK: &str = r#"
[pack]
name = "test"

[[rule]]
id = "test-key"
family = "secret"
title = "Test key"
pattern = '(?:^|[^A-Za-z0-9_])(?P<span>fkey_[A-Za-z0-9]{24})(?:[^A-Za-z0-9]|$)'
severity = "high"
match = ["a fkey{+}_{alnum*24} b"]
no_match = ["a fkey{+}_{alnum*23} b", "fkey_"]

[[rule]]
id = "test-mark"
family = "truncation"
title = "Test mark"
pattern = '(?P<span>fkey_not\{\})'
severity = "low"
match = ["x fkey_not{{} y"]
"#;

impl House {
    pub(crate) fn new() -> House {
        let house = House {
            folder: tempfile::tempdir().expect("a temporary folder"),
            cache: tempfile::tempdir().expect("another one"),
        };
        house.write("pack.toml", PACK);
        for (name, action) in [("replace", "replace"), ("block", "block"), ("flag", "flag")] {
            house.write(
                &format!("{name}.toml"),
                &format!("name = \"test-{name}\"\npacks = []\npack_files = [\"pack.toml\"]\n[family]\nsecret = \"{action}\"\n"),
            );
        }
        house
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("in the folder")).expect("made");
        std::fs::write(&path, text).expect("written");
        path
    }

    /// A value that `secret.test-key` finds, put together at run time.
    pub(crate) fn value(&self, n: usize) -> String {
        examples::expand(&format!("fkey{{+}}_{{alnum*24*{}}}", n + 1)).expect("a good example")
    }

    pub(crate) fn forebay(&self) -> Command {
        let mut c = Command::new(bin_path("forebay"));
        c.current_dir(self.folder.path()).env("XDG_STATE_HOME", self.path("state")).env_remove("FOREBAY_KEY_FILE");
        c.env("XDG_CACHE_HOME", self.cache.path());
        c
    }

    pub(crate) fn filter(&self, args: &[&str]) -> Command {
        self.filter_with("replace", args)
    }

    pub(crate) fn filter_with(&self, profile: &str, args: &[&str]) -> Command {
        let mut c = self.forebay();
        c.arg("filter").arg("--profile").arg(self.path(&format!("{profile}.toml"))).args(args);
        c
    }

    /// The folder of compiled rules, once there is one.
    pub(crate) fn cache(&self) -> PathBuf {
        self.cache.path().join("forebay")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Runs to the end with `input`.
pub(crate) fn output(mut command: Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    // Beside the reading: a command that fills its output pipe must not wait for one who still writes.
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&input); // A command may end without reading everything.
    });
    let done = child.wait_with_output().expect("the command ends");
    writer.join().expect("the writer does not panic");
    Output {
        code: done.status.code().expect("not killed by a signal"),
        out: done.stdout,
        err: String::from_utf8(done.stderr).expect("messages are UTF-8"),
    }
}

pub(crate) fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|l| serde_json::from_str(l).expect("each line is JSON")).collect()
}
