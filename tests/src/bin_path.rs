//! Where the binaries under test are.
//!
//! Cargo tells a test the path of a binary only within one package, and these tests are a package of their own. So the
//! binary is looked for beside the test, in the same target folder and profile, and built first unless whoever started
//! the tests did that (`make test` does, and says so with `FOREBAY_BINARIES_ARE_BUILT`).

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The path of `forebay` or `forebayd`, built from the present sources. Panics with the reason if it cannot be built:
/// a test without its binary has failed.
pub fn bin_path(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    let test = std::env::current_exe().expect("a test knows its own path");
    // target/PROFILE/deps/TEST-HASH
    let folder = test.parent().and_then(|deps| deps.parent()).expect("tests lie in target/PROFILE/deps").to_path_buf();
    BUILT.get_or_init(|| {
        if std::env::var_os("FOREBAY_BINARIES_ARE_BUILT").is_some() {
            return;
        }
        let target = folder.parent().expect("the profile's folder lies in the target folder");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "-p", "forebay", "-p", "forebayd", "--bins", "--target-dir"]).arg(target);
        if folder.ends_with("release") {
            cargo.arg("--release");
        }
        let status = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo can be started");
        assert!(status.success(), "the binaries do not build");
    });
    let path = folder.join(name);
    assert!(path.is_file(), "{} is not there: build it with `cargo build -p {name}`", path.display());
    path
}
