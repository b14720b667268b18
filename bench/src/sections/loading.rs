//! How long a program waits for its rules: all packs, from their text to a rule set that streams can use.
//!
//! Each time is of a process of its own, because rule sets of one process share automata, and the second would find them
//! built. By the clock, since planning uses all processors: a busy neighbour is in the number. What is *not* in it: the
//! start of the process, reading the cache's file (its bytes are in memory before the clock starts), and automata that
//! the first streams build as they need them.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, bail};
use forebay_scan::{Backend, Cache, Pack, Profile, RuleSet};

use super::Context;
use crate::engine::PROFILE;
use crate::rounds::median;
use crate::rows::{Asked, Row};

/// The section's name.
pub const NAME: &str = "loading";

/// The option of `speed` that loads once and prints how long it took.
pub const OPTION: &str = "--load-once";

/// How the rules are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum How {
    /// Everything is worked out.
    Anew,
    /// From what an earlier run kept, which standard input holds.
    Kept,
    /// Everything is worked out, and every automaton is built.
    Warm,
}

/// Measures.
pub fn rows(c: &Context) -> Result<Vec<Row>> {
    let mut cache = Cache::default();
    load(&mut cache)?;
    let kept = cache.to_bytes();
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..c.rounds(12) {
        for (how, times) in ["anew", "kept", "warm"].iter().zip(&mut times) {
            times.push(in_a_process(how, &kept)?);
        }
    }
    let [anew, from_kept, warm] = times;
    let row = |what: &str, ms: &[f64]| {
        Row::new(NAME, what, median(ms), "ms").best(ms.iter().copied().fold(f64::INFINITY, f64::min))
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(vec![
        row("all packs, compiled anew", &anew).asked(Asked::AtMost(300.0)).note(format!("{processors} processors")),
        row("the same, from a cache", &from_kept).note(format!("of {:.1} MB", kept.len() as f64 / 1e6)),
        row("compiled anew, every automaton built", &warm).note("streams build theirs when first needed"),
    ])
}

/// Runs this program again to load once; the milliseconds it tells.
fn in_a_process(how: &str, kept: &[u8]) -> Result<f64> {
    let program = std::env::current_exe().context("this program has no path")?;
    let mut child = Command::new(program)
        .args([OPTION, how])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("this program cannot be started again")?;
    let mut input = child.stdin.take().ok_or_else(|| anyhow!("standard input was asked for"))?;
    input.write_all(if how == "kept" { kept } else { b"" }).context("the cache cannot be handed over")?;
    drop(input);
    let out = child.wait_with_output()?;
    if !out.status.success() {
        bail!("loading once ({how}) failed");
    }
    Ok(String::from_utf8_lossy(&out.stdout).trim().parse()?)
}

/// What the process does: loads once, and prints how many milliseconds that took.
pub fn once(how: How) -> Result<()> {
    let mut kept = Vec::new();
    std::io::stdin().read_to_end(&mut kept)?;
    let began = Instant::now();
    let mut cache = match how {
        How::Kept => Cache::from_bytes(&kept).map_err(|e| anyhow!("the cache cannot be read back: {e}"))?,
        How::Anew | How::Warm => Cache::default(),
    };
    let rules = load(&mut cache)?;
    if how == How::Warm {
        rules.warm();
    }
    println!("{}", began.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// Parses and compiles all packs with what is in the cache.
fn load(cache: &mut Cache) -> Result<std::sync::Arc<RuleSet>> {
    let profile = Profile::builtin(PROFILE).ok_or_else(|| anyhow!("the profile is built in"))?;
    let packs = Pack::all_builtin().map_err(|e| anyhow!("a built-in pack does not load: {e}"))?;
    let rules = RuleSet::compile_cached(&packs, &profile, Backend::default(), cache);
    rules.map_err(|e| anyhow!("the built-in rules do not compile: {e}"))
}
