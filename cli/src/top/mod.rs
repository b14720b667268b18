//! `forebay top`: what the daemon does at this moment, from its metrics.
//!
//! - [`scrape`] asks for the metrics and reads them.
//! - [`numbers`] makes rates and percentiles of two readings.
//! - [`view`] shows them on a terminal.
//!
//! It asks nothing that Prometheus could not ask: no stream's name, user or text is to be seen here.

mod numbers;
mod scrape;
mod view;

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::args::{TextOrJson, TopArgs};
use crate::exit::Outcome;
use numbers::Numbers;
use scrape::Reading;

/// Runs the command.
pub(crate) fn run(args: &TopArgs, color: bool) -> anyhow::Result<Outcome> {
    let interval = Duration::from_secs(args.interval);
    let socket = args.socket();
    let first = Reading::take(&socket)?;
    if args.format == TextOrJson::Text && std::io::stdout().is_terminal() {
        view::run(&socket, first, interval, color)?;
        return Ok(Outcome::Clean);
    }
    std::thread::sleep(interval);
    let numbers = Numbers::between(&first, &Reading::take(&socket)?);
    let text = match args.format {
        TextOrJson::Text => numbers.lines().join("\n"),
        TextOrJson::Json => numbers.json().to_string(),
    };
    writeln!(anstream::stdout(), "{text}").context("cannot write standard output")?;
    Ok(Outcome::Clean)
}

/// When a reading was taken.
type Moment = Instant;
