//! Reads `{"id","text"}` lines, writes the findings of the brute-force oracle in the shape of `forebay scan --jsonl`.
//! For rule authors who doubt the engine: slow, and pattern rules only.
//!
//! `oracle-scan PACK.toml… < lines.jsonl`; with `--check`, runs the examples of the packs instead.

use std::io::{BufRead, Write};

use forebay_scan::{Pack, examples};
use forebay_tests::{Brute, scan};

fn main() -> anyhow::Result<()> {
    let mut rules = Vec::new();
    let mut check = false;
    for path in std::env::args().skip(1) {
        if path == "--check" {
            check = true;
            continue;
        }
        let pack = Pack::parse(&std::fs::read_to_string(&path)?, &path)?;
        for r in pack.rules {
            let i = rules.len();
            if let Some(b) = Brute::new(&r)? {
                rules.push((r, (i, b)));
            }
        }
    }
    if check {
        let mut bad = 0;
        for (spec, (_, brute)) in &rules {
            for (texts, want) in [(&spec.matches, true), (&spec.no_matches, false)] {
                for t in texts {
                    let text = examples::expand(t).map_err(anyhow::Error::msg)?;
                    if brute.spans(text.as_bytes()).is_empty() == want {
                        bad += 1;
                        println!(
                            "{}: {}: {} {t:?}",
                            spec.origin,
                            spec.name,
                            if want { "does not match" } else { "matches" }
                        );
                    }
                }
            }
        }
        println!("{} rules, {bad} examples wrong", rules.len());
        anyhow::ensure!(bad == 0, "{bad} examples are wrong");
        return Ok(());
    }
    let (specs, brutes): (Vec<_>, Vec<_>) = rules.into_iter().unzip();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let row: serde_json::Value = serde_json::from_str(&line?)?;
        let text = row["text"].as_str().unwrap_or_default();
        let findings: Vec<_> = scan(&brutes, text.as_bytes())
            .iter()
            .map(|m| {
                let r = &specs[m.rule];
                serde_json::json!({"rule": r.name, "family": r.family.as_str(), "start": m.start, "end": m.end})
            })
            .collect();
        writeln!(out, "{}", serde_json::json!({"id": row["id"], "findings": findings}))?;
    }
    Ok(())
}
