//! What the way to the engine costs, measured in one run: `make bench-transport`.
//!
//! A miss is printed as a miss. Exit status 0 either way; 2 means that the run itself did not work.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Parser;
use forebay_bench::transport::daemon::Daemon;
use forebay_bench::transport::pipe::{self, Pipe};
use forebay_bench::transport::report::{self, ALL_PACKS, Measured};
use forebay_bench::transport::{Contender, Engine, TRIVIAL, rules, tie};
use forebay_bench::{corpus, report as marks};
use forebay_client::Transport;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures round trips and throughput through the filter by socket, ring, pipe and iceoryx2.
#[derive(Debug, Parser)]
#[command(after_help = "Examples:\n  transport --forebayd target/dist/forebayd --quick\n  \
    transport --forebayd target/dist/forebayd --results bench/results --readme bench/README.md")]
struct Args {
    /// The daemon to start.
    #[arg(long, value_name = "FILE", required_unless_present = "serve")]
    forebayd: Option<PathBuf>,
    /// Fewer rounds: a look, not a record.
    #[arg(long)]
    quick: bool,
    /// Writes transport.svg into this folder.
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,
    /// Replaces the tables in this Markdown file.
    #[arg(long, value_name = "FILE")]
    readme: Option<PathBuf>,
    #[arg(long, hide = true)]
    serve: Option<String>,
    #[arg(long, hide = true, default_value = ALL_PACKS)]
    profile: String,
    #[arg(long, hide = true, default_value = "")]
    name: String,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match args.serve.as_deref() {
        Some("pipe") => pipe::serve(&args.profile),
        #[cfg(feature = "iceoryx2")]
        Some("iceoryx2") => forebay_bench::transport::iceoryx::serve(&args.name, &args.profile),
        Some(other) => Err(anyhow!("there is no server `{other}`")),
        None => run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("transport: {e:#}");
            ExitCode::from(2)
        }
    }
}

/// Rounds, round trips of a round, bytes of a round's text.
const FULL: (usize, usize, usize) = (15, 2000, 2 << 20);
const QUICK: (usize, usize, usize) = (5, 500, 512 << 10);

fn run(args: &Args) -> Result<()> {
    let Some(program) = &args.forebayd else { bail!("--forebayd names the daemon to start") };
    let (rounds, trips, bytes) = if args.quick { QUICK } else { FULL };
    let text = corpus::named("source", bytes).map_err(|e| anyhow!(e))?.bytes;
    // The servers inherit the second processor, then this thread leaves it to them.
    let tied = tie(1);
    if !tied {
        eprintln!("transport: there is no second processor: client and server share one, and nobody is ever busy");
    }
    let daemon = Daemon::start(program)?;
    let mut out = String::new();
    for profile in [ALL_PACKS, TRIVIAL] {
        eprintln!("measuring: {profile}");
        if tied {
            tie(1);
        }
        let mut contenders = contenders(&daemon, profile)?;
        if tied {
            tie(0);
        }
        for round in 0..=rounds {
            for c in &mut contenders {
                c.round(&text, trips, bytes).with_context(|| c.name.clone())?;
                if round == 0 {
                    // Caches, page tables, and automata that are built when first needed.
                    c.forget();
                }
            }
        }
        let measured = Measured { profile, contenders: &contenders };
        let table = measured.markdown();
        println!("{table}");
        out.push_str(&table);
        out.push('\n');
        if let Some(folder) = args.results.as_ref().filter(|_| profile == ALL_PACKS) {
            let file = folder.join("transport.svg");
            std::fs::write(&file, report::svg(&measured))
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    if let Some(file) = &args.readme {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let text = marks::between(&text, "transport", &out)
            .with_context(|| format!("{} has no `<!-- transport: begin -->` and `… end -->`", file.display()))?;
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn contenders(daemon: &Daemon, profile: &'static str) -> Result<Vec<Contender>> {
    let mut all = vec![
        Contender::new("engine alone", Box::new(Engine::new(rules(profile)?)), false)?,
        Contender::new("ring, busy", daemon.way(Transport::Ring, profile)?, false)?,
        Contender::new("socket, busy", daemon.way(Transport::Socket, profile)?, false)?,
        Contender::new("pipe, busy", Box::new(Pipe::start(profile)?), false)?,
    ];
    #[cfg(feature = "iceoryx2")]
    {
        use forebay_bench::transport::iceoryx::Iceoryx;
        all.push(Contender::new("iceoryx2, polling", Box::new(Iceoryx::start(profile)?), false)?);
    }
    all.push(Contender::new("ring, parked", daemon.way(Transport::Ring, profile)?, true)?);
    all.push(Contender::new("socket, parked", daemon.way(Transport::Socket, profile)?, true)?);
    all.push(Contender::new("pipe, parked", Box::new(Pipe::start(profile)?), true)?);
    Ok(all)
}
