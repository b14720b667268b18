//! Attacks a live daemon, and says how a well-behaved client was served meanwhile.
//!
//! ```text
//! hostile SOCKET PROFILE [--ATTACK …] [--seconds N]        every attack if none is named
//! ```
//! Exit code 0: each attack was answered as it should be, and the witness was served within the budget; 1: not so; 2: usage.
//! The profile must have the house's rules (`tests/data/house.toml`). `make hostile` starts such a daemon.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use forebay_tests::hostile::witness::{Served, Witness};
use forebay_tests::hostile::{ATTACKS, Attack, Target, floods, killed};

/// A witness that waits longer than this even once was not served. A hundred times what it takes on an idle machine with two
/// processors, both of which the attacks keep busy.
const LONGEST: Duration = Duration::from_secs(1);

/// Ninety-nine of a hundred round trips.
const P99: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(e) => {
            eprintln!("hostile: {e:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> anyhow::Result<bool> {
    // This program again, with a part to play: see `hostile::killed` and `hostile::floods`.
    killed::dying()?;
    if floods::greedy()? {
        return Ok(true);
    }
    let mut words = std::env::args().skip(1).peekable();
    let (Some(socket), Some(profile)) = (words.next(), words.next()) else {
        let names: Vec<String> = ATTACKS.iter().map(|a| format!("  --{:18} {}", a.name, a.about)).collect();
        anyhow::bail!("usage: hostile SOCKET PROFILE [--ATTACK ...] [--seconds N]\n{}", names.join("\n"));
    };
    let mut target = Target { socket: socket.into(), profile, lasting: Duration::from_secs(5), fraction: 1 };
    let mut chosen: Vec<&Attack> = Vec::new();
    while let Some(word) = words.next() {
        if word == "--seconds" {
            let n = words.next().and_then(|n| n.parse().ok());
            target.lasting = Duration::from_secs(n.ok_or_else(|| anyhow::anyhow!("--seconds takes a whole number"))?);
            continue;
        }
        let name = word.strip_prefix("--").unwrap_or(&word);
        let attack = ATTACKS.iter().find(|a| a.name == name);
        chosen.push(attack.ok_or_else(|| anyhow::anyhow!("there is no attack `{word}`; run without one to see all"))?);
    }
    if chosen.is_empty() {
        chosen.extend(ATTACKS);
    }
    let calm = quiet(&target)?;
    row("(nobody)", &calm, "");
    let mut well = true;
    for attack in chosen {
        well &= one(&target, attack);
    }
    Ok(well)
}

/// How the witness is served while nobody attacks.
fn quiet(target: &Target) -> anyhow::Result<Served> {
    let witness = Witness::start(target)?;
    std::thread::sleep(Duration::from_secs(1));
    witness.stop()
}

fn one(target: &Target, attack: &Attack) -> bool {
    let began = Instant::now();
    let done = Witness::start(target).and_then(|witness| {
        let done = (attack.run)(target);
        // An attack that is over at once still has its moment.
        std::thread::sleep(Duration::from_millis(500).saturating_sub(began.elapsed()));
        let served = witness.stop()?;
        Ok((done?, served))
    });
    match done {
        Ok((told, served)) => {
            row(attack.name, &served, &told);
            let well = served.longest <= LONGEST && served.p99 <= P99;
            if !well {
                println!("  MISSED: the witness should wait {P99:?} at most in 99 of 100, {LONGEST:?} ever");
            }
            well
        }
        Err(e) => {
            println!("{:18} FAILED: {e:#}", attack.name);
            false
        }
    }
}

fn row(name: &str, s: &Served, told: &str) {
    println!(
        "{name:18} witness {:6} trips, p50 {:9.1?} p99 {:9.1?} longest {:9.1?}  {told}",
        s.trips, s.p50, s.p99, s.longest
    );
}
