//! The built-in packs, profiles and files of this repository, as tests need them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_scan::{Action, Family, Pack, Profile, RuleId, RuleSet, RuleSpec, What};

use crate::corpus::{self, Text};

/// The built-in packs.
pub fn packs() -> Vec<Pack> {
    let all = Pack::builtin_sources();
    all.iter().map(|(n, _)| Pack::builtin(n).expect("it is built in").expect("it loads")).collect()
}

/// A built-in profile, compiled.
pub fn profile(name: &str) -> Arc<RuleSet> {
    RuleSet::builtin(name).expect("it is built in").expect("it compiles")
}

/// All built-in rules, every one of them with this action.
pub fn all(action: Action) -> Arc<RuleSet> {
    let mut profile = Profile::builtin("tool-output").expect("it is built in");
    profile.families.extend(Family::ALL.map(|f| (f, action)));
    let packs = packs();
    let own = packs.iter().flat_map(|p| &p.rules).filter(|r| r.action.is_some());
    profile.rules = own.map(|r| (r.name.clone(), action)).collect();
    RuleSet::compile(&packs, &profile).expect("it compiles")
}

/// The rules of a set that are regions.
pub fn regions(set: &RuleSet) -> Vec<RuleId> {
    let specs: Vec<RuleSpec> = packs().into_iter().flat_map(|p| p.rules).collect();
    let is_region = |name: &str| specs.iter().any(|s| s.name == name && matches!(s.what, What::Region { .. }));
    set.rules().filter(|(_, r)| is_region(&r.name)).map(|(id, _)| id).collect()
}

/// Generated texts, and the beginnings of a few files of this repository.
pub fn texts() -> Vec<Text> {
    let mut out = corpus::texts(7);
    for name in ["README.md", "scan/src/filter.rs", "Cargo.lock", "packs/secret.toml", "Makefile"] {
        if let Ok(mut bytes) = std::fs::read(root().join(name)) {
            bytes.truncate(1500);
            out.push(Text { name, bytes });
        }
    }
    out
}

/// The folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate stands in the workspace").to_owned()
}
