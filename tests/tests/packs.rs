//! Every rule of every built-in pack against its own examples, through the engine and through brute force; and that
//! what the filter writes says nothing to any rule.

use std::path::Path;

use forebay_scan::{Action, Pack, RuleSpec, examples};
use forebay_tests::Brute;
use forebay_tests::builtin::{all, packs, root};
use forebay_tests::cuts::run;

fn rules() -> Vec<RuleSpec> {
    packs().into_iter().flat_map(|p| p.rules).collect()
}

fn expanded(texts: &[String]) -> Vec<String> {
    texts.iter().map(|t| examples::expand(t).unwrap()).collect()
}

#[test]
fn every_example_is_right_in_the_engine() {
    let set = all(Action::Flag);
    let mut wrong = Vec::new();
    for rule in rules() {
        let id = set.rules().find(|(_, r)| r.name == rule.name).unwrap().0;
        for (texts, want) in [(expanded(&rule.matches), true), (expanded(&rule.no_matches), false)] {
            for text in texts {
                let whole = run(&set, text.as_bytes(), &[]);
                let found = whole.out.findings.iter().any(|f| f.rule == id)
                    || whole.report.reasons.iter().any(|r| r.code == rule.name);
                if found != want {
                    wrong.push(format!("{}: {}: found {found}: {text:?}", rule.origin, rule.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} examples:\n{}", wrong.len(), wrong.join("\n"));
}

/// Brute force agrees with the engine, span by span, on every example of the rule.
#[test]
fn brute_force_agrees_on_every_example() {
    let set = all(Action::Flag);
    let mut wrong = Vec::new();
    for rule in rules() {
        let Some(brute) = Brute::new(&rule).unwrap() else { continue };
        let id = set.rules().find(|(_, r)| r.name == rule.name).unwrap().0;
        for text in [expanded(&rule.matches), expanded(&rule.no_matches)].concat() {
            let want = brute.spans(text.as_bytes());
            let found = run(&set, text.as_bytes(), &[]).out.findings;
            let mine = found.iter().filter(|f| f.rule == id);
            let mut got: Vec<_> = mine.map(|f| (f.span.start as usize, f.span.end as usize)).collect();
            got.sort_unstable();
            if got != want {
                wrong.push(format!("{}: {}: {got:?} and not {want:?}: {text:?}", rule.origin, rule.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} examples:\n{}", wrong.len(), wrong.join("\n"));
}

/// A token that some rule matches would be replaced again at the next hop, and again.
#[test]
fn filtering_the_output_again_changes_nothing() {
    let set = all(Action::Replace);
    let mut wrong = Vec::new();
    for rule in rules() {
        for text in expanded(&rule.matches) {
            let once = run(&set, text.as_bytes(), &[]).out.bytes;
            let twice = run(&set, &once, &[]).out.bytes;
            if once != twice {
                wrong.push(format!(
                    "{}: {} becomes {}",
                    rule.name,
                    String::from_utf8_lossy(&once),
                    String::from_utf8_lossy(&twice)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} examples:\n{}", wrong.len(), wrong.join("\n"));
}

/// Secret-shaped strings are put together at run time: no scanner, ours included, finds one in this repository.
#[test]
fn no_secret_stands_in_this_repository() {
    let secrets = Pack::builtin("secret").unwrap().unwrap();
    let set = {
        let profile = forebay_scan::Profile::builtin("tool-output").unwrap();
        forebay_scan::RuleSet::compile(&[secrets], &profile).unwrap()
    };
    let mut found = Vec::new();
    for folder in [
        "bench",
        "cli",
        "client",
        "daemon",
        "fuzz",
        "packs",
        "scan",
        "systemd",
        "tests",
        "wire",
        ".ci",
        "README.md",
        "ARCHITECTURE.md",
        "SPECIFICATION.md",
        "CHANGELOG.md",
        "Makefile",
        "Cargo.toml",
        "deny.toml",
    ] {
        walk(&root().join(folder), &mut |path| {
            let text = std::fs::read(path).unwrap_or_default();
            for f in run(&set, &text, &[]).out.findings {
                let line = 1 + text[..f.span.start as usize].iter().filter(|b| **b == b'\n').count();
                found.push(format!("{}:{line}: {}", path.display(), set.rule(f.rule).unwrap().name));
            }
        });
    }
    assert!(found.is_empty(), "{} places:\n{}", found.len(), found.join("\n"));
}

fn walk(path: &Path, visit: &mut dyn FnMut(&Path)) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if path.is_dir() && !["target", "corpus", "artifacts"].contains(&name.as_str()) {
        for entry in std::fs::read_dir(path).unwrap().flatten() {
            walk(&entry.path(), visit);
        }
    } else if path.is_file() {
        visit(path);
    }
}
