//! Everything that is asked of Forebay's speed, measured in one run: `make bench`.
//!
//! A miss is printed as a miss. The exit status is 0 either way, because a busy neighbour is no fault of the code; 2
//! means that the run itself did not work.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Parser;
use forebay_bench::chart;
use forebay_bench::corpus::{self, FULL};
use forebay_bench::engine::Engine;
use forebay_bench::report::{self, Report};
use forebay_bench::sections::{self, Context, loading};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures Forebay's speed against what is asked of it, and against its peers.
#[derive(Debug, Parser)]
#[command(after_help = "Examples:\n  speed --quick                        a look, in two minutes\n  \
    speed --only throughput --only peers\n  speed --results bench/results --readme bench/README.md")]
struct Args {
    /// Shorter texts and fewer rounds: a look, not a record.
    #[arg(long)]
    quick: bool,
    /// Only these sections: throughput, backends, latency, peers, worst, scaling, stream, loading.
    #[arg(long, value_name = "SECTION")]
    only: Vec<String>,
    /// How many rules Hyperscan and regex are given, and Forebay when it is compared with them; the default is all.
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    peer_rules: usize,
    /// Writes latest.json and latest.svg into this folder.
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,
    /// Replaces the table in this Markdown file.
    #[arg(long, value_name = "FILE")]
    readme: Option<PathBuf>,
    /// text, or json: the report as it is written to latest.json.
    #[arg(long, default_value = "text")]
    format: Format,
    /// Loads the rules once and prints the milliseconds: what the section `loading` starts this program for.
    #[arg(long, hide = true, value_name = "HOW")]
    load_once: Option<loading::How>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("speed: {e:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<()> {
    if let Some(how) = args.load_once {
        return loading::once(how);
    }
    if let Some(unknown) = args.only.iter().find(|n| sections::ALL.iter().all(|s| s.name != n.as_str())) {
        let names: Vec<&str> = sections::ALL.iter().map(|s| s.name).collect();
        bail!("there is no section `{unknown}`; there are {}", names.join(", "));
    }
    eprintln!("generating texts, compiling rules");
    let c = Context {
        engine: Engine::all()?,
        texts: corpus::all(if args.quick { FULL / 4 } else { FULL }).map_err(|e| anyhow!(e))?,
        quick: args.quick,
        peer_rules: args.peer_rules,
        cache: cache()?,
    };
    let mut report = Report::begin(&c);
    for section in sections::ALL.iter().filter(|s| args.only.is_empty() || args.only.iter().any(|n| n == s.name)) {
        eprintln!("measuring: {}", section.title);
        let began = std::time::Instant::now();
        report.rows.extend((section.run)(&c).with_context(|| format!("section {}", section.name))?);
        eprintln!("measured in {:.0} s", began.elapsed().as_secs_f64());
    }
    report.end();
    let json = serde_json::to_string_pretty(&report)?;
    match args.format {
        Format::Text => print!("{}", report.table()),
        Format::Json => println!("{json}"),
    }
    if let Some(folder) = &args.results {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for (name, text) in [("latest.json", json + "\n"), ("latest.svg", chart::svg(&report))] {
            let file = folder.join(name);
            std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    if let Some(file) = &args.readme {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let text = report::between_marks(&text, &report.markdown())
            .with_context(|| format!("{} has no `<!-- measured: begin -->` and `… end -->`", file.display()))?;
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// Beside the program, in cargo's target folder: gone with `cargo clean`.
fn cache() -> Result<PathBuf> {
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    Ok(program.with_file_name("bench-cache"))
}
