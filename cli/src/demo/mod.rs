//! `forebay demo`: a daemon on a temporary socket, and two streams that go through it piece by piece.
//!
//! Nothing is faked: the daemon is the one that `forebayd` runs, in a thread of this process; the streams go over its
//! socket through the client library; what is shown is what came back, and when. What was planted is masked on the
//! input side and must not be on the output side: the demo looks, and fails if it is.

mod host;
mod script;
mod view;

use std::io::{self, IsTerminal};
use std::ops::Range;
use std::time::Duration;

use anyhow::bail;
use forebay_client::blocking::{Connection, Sink};
use forebay_client::{ConnectOptions, Finding, OpenOptions};

use crate::args::DemoArgs;
use crate::exit::{Outcome, unreachable};
use host::Host;
use script::Script;
use view::View;

/// Pause between two pieces on a terminal: slow enough to watch, and both streams end within ten seconds.
const PAUSE: Duration = Duration::from_millis(90);

/// Runs the command.
pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<Outcome> {
    let pause = (io::stdout().is_terminal() && !args.fast).then_some(PAUSE);
    let host = Host::start()?;
    let mut connection = Connection::connect(host.socket(), ConnectOptions::default()).map_err(unreachable)?;
    let mut view = View::new(io::stdout().is_terminal());
    let rules = connection.status().map_err(unreachable)?.profiles.first().map_or(0, |p| p.rules);
    view.intro(rules)?;
    let mut looked_for = 0;
    for script in [script::tool()?, script::model()?] {
        let passed = play(&mut connection, &script, &mut view, pause)?;
        let leaked = leaks(&script, &passed);
        if leaked > 0 {
            bail!("{leaked} planted values passed in the stream `{}`: this is a bug, please report it", script.title);
        }
        looked_for += script.planted.len();
    }
    view.outro(looked_for)?;
    drop(connection);
    host.stop()?;
    Ok(Outcome::Clean)
}

/// Sends the script piece by piece, waiting after each for what it lets go. Gives everything that passed.
fn play(
    connection: &mut Connection,
    script: &Script,
    view: &mut View,
    pause: Option<Duration>,
) -> anyhow::Result<Vec<u8>> {
    let options = OpenOptions::new(script.profile).session("demo");
    let mut stream = connection.open(options).map_err(unreachable)?;
    let mut passed = Vec::new();
    let mut holds = Vec::new();
    let mut findings = 0;
    let mut at = 0;
    view.begin(script)?;
    for &end in &script.cuts {
        let mut step = Step::default();
        stream.push(&script.text.as_bytes()[at..end], &mut step).map_err(unreachable)?;
        let held = stream.sync(&mut step).map_err(unreachable)?.held;
        view.step(&masked(script, at..end), &step.bytes, Some(held), &step.findings)?;
        passed.extend_from_slice(&step.bytes);
        holds.push(held);
        findings += step.findings.len();
        at = end;
        if let Some(pause) = pause {
            std::thread::sleep(pause);
        }
    }
    let mut step = Step::default();
    let summary = stream.finish(&mut step).map_err(unreachable)?;
    view.step("(end of the stream)", &step.bytes, None, &step.findings)?;
    passed.extend_from_slice(&step.bytes);
    findings += step.findings.len();
    view.end(script.text.len(), findings, &holds, summary.report.as_ref())?;
    Ok(passed)
}

/// What one piece let go.
#[derive(Default)]
struct Step {
    bytes: Vec<u8>,
    findings: Vec<Finding>,
}

impl Sink for Step {
    fn released(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finding(&mut self, finding: Finding) {
        self.findings.push(finding);
    }
}

/// A piece of the input with every byte of a planted value as a star.
fn masked(script: &Script, piece: Range<usize>) -> String {
    let planted = |i: usize| script.planted.iter().any(|p| p.contains(&i));
    let at = piece.start;
    script.text[piece].char_indices().map(|(i, c)| if planted(at + i) { '*' } else { c }).collect()
}

/// How many planted values stand in the output, whole or as a piece of eight bytes.
fn leaks(script: &Script, passed: &[u8]) -> usize {
    let leaked = |p: &&Range<usize>| {
        let value = &script.text.as_bytes()[(*p).clone()];
        value.windows(value.len().min(8)).any(|piece| memchr::memmem::find(passed, piece).is_some())
    };
    script.planted.iter().filter(leaked).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaks_are_seen() {
        let script = script::tool().expect("a good script");
        let whole = script.planted.len();
        assert_eq!(leaks(&script, script.text.as_bytes()), whole);
        assert_eq!(leaks(&script, b""), 0);
        let value = &script.text[script.planted[1].clone()];
        assert_eq!(leaks(&script, &value.as_bytes()[3..12]), 1);
    }

    #[test]
    fn no_planted_value_is_shown_on_the_input_side() {
        let script = script::tool().expect("a good script");
        let shown = masked(&script, 0..script.text.len());
        assert_eq!(leaks(&script, shown.as_bytes()), 0);
        assert_eq!(shown.len(), script.text.len());
    }
}
