//! Instructions of five fixed runs, counted by callgrind and held against `bench/instructions.json`: `make instructions`.
//!
//! A count does not depend on how busy the machine is, so CI can fail on it where it could not on a time. One process
//! does all five runs, because compiling the rules is most of the work under valgrind and is done once: it starts with
//! counting switched off, compiles, runs every text once (automata that wait for their first candidate are built then),
//! and only then counting is switched on, through valgrind's own gdb server. A run is what happens inside
//! [`counted_run`]; behind each the counts are written to a file and begin at nothing again.
//!
//! Counts depend on the compiler: the file says which one made them, and `--update` writes new ones when a change is
//! meant. They do not depend on the processor as long as it has AVX2, which valgrind passes on.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use forebay_bench::corpus;
use forebay_bench::engine::Engine;
use serde::{Deserialize, Serialize};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The five runs: text, bytes of it, bytes a push.
const RUNS: [(&str, usize, usize); 5] = [
    ("source", 128 << 10, 16 << 10),
    ("source", 64 << 10, 64),
    ("json-logs", 64 << 10, 4096),
    ("chinese", 64 << 10, 64),
    ("chat", 16 << 10, 4),
];

/// A run may have this much more than the file says, in percent.
const MOST_MORE: f64 = 10.0;

/// How long valgrind's gdb server may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Counts the instructions of five fixed runs and compares them with the counts in a file.
#[derive(Debug, Parser)]
#[command(
    after_help = "Exit status: 0 all within the limit, 1 a run has more than 10 % more instructions, 2 it did not work.\n\n\
    Examples:\n  instructions                 compare with bench/instructions.json\n  \
    instructions --update        the change is meant: write the new counts"
)]
struct Args {
    /// The file with the counts.
    #[arg(long, value_name = "FILE", default_value = "bench/instructions.json")]
    file: PathBuf,
    /// Writes the counts instead of comparing them.
    #[arg(long)]
    update: bool,
    /// Does the runs, under valgrind; waits for this file before it counts.
    #[arg(long, value_name = "FILE", hide = true)]
    run: Option<PathBuf>,
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Counts {
    /// The compiler that they were made with.
    rustc: String,
    /// The kind of processor: another one has other instructions.
    arch: String,
    /// Instructions by run.
    runs: BTreeMap<String, u64>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.run {
        Some(go) => child(go).map(|()| true),
        None => compare(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(e) => {
            eprintln!("instructions: {e:#}");
            ExitCode::from(2)
        }
    }
}

fn name((text, bytes, push): (&str, usize, usize)) -> String {
    format!("{text}, {} KiB in pushes of {push}", bytes >> 10)
}

/// What is counted. Its name is known to callgrind, so it is kept out of others.
#[inline(never)]
fn counted_run(engine: &Engine, text: &[u8], push: usize) {
    std::hint::black_box(engine.run(text, push));
}

fn child(go: &Path) -> Result<()> {
    let engine = Engine::all()?;
    let mut texts = Vec::new();
    for (name, bytes, push) in RUNS {
        let text = corpus::named(name, bytes).map_err(|e| anyhow::anyhow!(e))?.bytes;
        engine.run(&text, push);
        texts.push((text, push));
    }
    for (i, (text, push)) in texts.iter().enumerate() {
        println!("ready");
        wait_for(&go.with_extension(i.to_string()))?;
        counted_run(&engine, text, *push);
    }
    println!("ready");
    wait_for(&go.with_extension("end"))
}

/// Not asleep: valgrind looks for what its gdb server is told while instructions run.
fn wait_for(file: &Path) -> Result<()> {
    let began = Instant::now();
    while !file.exists() {
        if began.elapsed() > 2 * PATIENCE {
            bail!("nobody made {}: whoever started this run is gone", file.display());
        }
    }
    Ok(())
}

fn compare(args: &Args) -> Result<bool> {
    let counts = Counts { rustc: rustc()?, arch: std::env::consts::ARCH.to_owned(), runs: count()? };
    if args.update {
        let text = serde_json::to_string_pretty(&counts)? + "\n";
        fs::write(&args.file, text).with_context(|| format!("cannot write {}", args.file.display()))?;
        counts.runs.iter().for_each(|(run, n)| println!("{run:<36} {n:>12}"));
        println!("written to {}", args.file.display());
        return Ok(true);
    }
    let text = fs::read_to_string(&args.file)
        .with_context(|| format!("cannot read {}; `make instructions ARGS=--update` makes it", args.file.display()))?;
    let before: Counts =
        serde_json::from_str(&text).with_context(|| format!("{} is not what --update writes", args.file.display()))?;
    if before.arch != counts.arch {
        println!("not compared: {} has counts for {}, and this is {}", args.file.display(), before.arch, counts.arch);
        return Ok(true);
    }
    let (table, worse) = judge(&before, &counts)?;
    print!("{table}");
    if worse == 0 {
        return Ok(true);
    }
    eprintln!(
        "error: {worse} of {} runs need over {MOST_MORE} % more instructions than {} says.\n\
         If the change is meant, say why in the commit and run: make instructions ARGS=--update\n\
         If not, see where they went: valgrind --tool=callgrind, then callgrind_annotate.",
        counts.runs.len(),
        args.file.display()
    );
    if before.rustc != counts.rustc {
        eprintln!(
            "Another compiler made those counts ({}; this is {}): that alone may be it.",
            before.rustc, counts.rustc
        );
    }
    Ok(false)
}

/// A table of the runs, and how many have too many instructions.
fn judge(before: &Counts, now: &Counts) -> Result<(String, usize)> {
    let mut table = format!("{:<36} {:>12} {:>12} {:>8}\n", "run", "before", "now", "");
    let mut worse = 0;
    for (run, now) in &now.runs {
        let Some(was) = before.runs.get(run) else {
            bail!("there is no count for `{run}` to compare with; `make instructions ARGS=--update` writes it");
        };
        let more = (*now as f64 / *was as f64 - 1.0) * 100.0;
        let verdict = match more {
            m if m > MOST_MORE => "TOO MANY",
            m if m < -MOST_MORE => "better: worth an --update, or it can be lost again unseen",
            _ => "",
        };
        worse += usize::from(more > MOST_MORE);
        table += format!("{run:<36} {was:>12} {now:>12} {more:>+7.1}% {verdict}").trim_end();
        table.push('\n');
    }
    Ok((table, worse))
}

fn rustc() -> Result<String> {
    let output = Command::new("rustc").arg("-V").output().context("cannot run rustc")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs this program under callgrind.
fn count() -> Result<BTreeMap<String, u64>> {
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let folder = program.with_file_name("bench-callgrind");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (go, out) = (folder.join("go"), folder.join("out"));
    let mut valgrind = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no"])
        .args(["--toggle-collect=*counted_run*", "--vgdb=yes"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(&program)
        .arg("--run")
        .arg(&go)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run valgrind; `.ci/system valgrind` installs it")?;
    let done = count_in(&mut valgrind, &go);
    if done.is_err() {
        let _ = valgrind.kill();
    }
    let status = valgrind.wait()?;
    done?;
    if !status.success() {
        bail!("valgrind ended with {status}");
    }
    let mut counts = BTreeMap::new();
    for (i, run) in RUNS.into_iter().enumerate() {
        let file = PathBuf::from(format!("{}.{}", out.display(), i + 1));
        let text =
            fs::read_to_string(&file).with_context(|| format!("callgrind has not written {}", file.display()))?;
        let line = text.lines().find_map(|l| l.strip_prefix("totals: ").or_else(|| l.strip_prefix("summary: ")));
        let n = line.and_then(|n| n.trim().parse().ok()).filter(|n| *n > 0);
        counts.insert(name(run), n.with_context(|| format!("{} has no count", file.display()))?);
    }
    Ok(counts)
}

/// Switches counting on once the program is ready, lets it do its runs one by one, and has the counts written behind each.
fn count_in(valgrind: &mut std::process::Child, go: &Path) -> Result<()> {
    let mut lines = BufReader::new(valgrind.stdout.take().context("no pipe")?).lines();
    let mut ready = || match lines.next() {
        Some(Ok(line)) if line == "ready" => Ok(()),
        _ => bail!("the program under valgrind ended before its runs"),
    };
    let pid = valgrind.id();
    let proceed = |what: &str| {
        let file = go.with_extension(what);
        fs::write(&file, "").with_context(|| format!("cannot write {}", file.display()))
    };
    ready()?;
    tell(pid, &["instrumentation", "on"])?;
    for run in 0..RUNS.len() {
        proceed(&run.to_string())?;
        ready()?;
        tell(pid, &["dump"])?;
    }
    proceed("end")
}

/// Tells valgrind's gdb server something.
fn tell(pid: u32, what: &[&str]) -> Result<()> {
    let began = Instant::now();
    // It may not be up at once.
    loop {
        let told = Command::new("vgdb").arg(format!("--pid={pid}")).args(what).output().context("cannot run vgdb")?;
        if told.status.success() {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            bail!("vgdb cannot reach valgrind: {}", String::from_utf8_lossy(&told.stderr).trim());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, judge};

    fn counts(n: u64) -> Counts {
        let runs = [("a".to_owned(), 1_000_000), ("b".to_owned(), n)].into_iter().collect();
        Counts { rustc: String::new(), arch: String::new(), runs }
    }

    #[test]
    fn over_ten_percent_more_is_too_many() {
        for (now, worse) in [(1_000_000, 0), (1_099_999, 0), (1_100_001, 1), (2_000_000, 1), (500_000, 0)] {
            let (table, found) = judge(&counts(1_000_000), &counts(now)).unwrap();
            assert_eq!(found, worse, "{table}");
            assert_eq!(table.contains("TOO MANY"), worse == 1, "{table}");
        }
    }

    #[test]
    fn a_run_that_nobody_counted_is_an_error() {
        let mut before = counts(1);
        before.runs.remove("b");
        assert!(judge(&before, &counts(1)).is_err_and(|e| e.to_string().contains("--update")));
    }
}
