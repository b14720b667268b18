//! How a command ends: one code per outcome, the same in every command, and the error line.

use std::fmt;
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

/// What a command that ran has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done; nothing found where finding is the question.
    Clean,
    /// `scan` found something, `rules test` has wrong examples, `rules import` could not take a rule, or an audit log
    /// does not hold together.
    Findings,
    /// `eval`: a threshold was not reached.
    Below,
    /// `filter`: a rule with action `block` ended the stream.
    Blocked,
}

/// The table that `--help`, the man page and the README show.
pub(crate) const TABLE: &str = "\
Exit codes:
  0    done; `scan`: nothing found
  1    `scan`: something found; `rules test`: an example is wrong; `rules import`: a rule was not taken;
       `eval`: a threshold was not reached; `audit verify`: the chain is broken
  2    error: bad arguments, input, rules or configuration; `rules test`: a rule is refused
  3    `filter`: the stream was blocked by a rule
  4    the daemon (`top`: its metrics) cannot be reached, or it ended the connection
  141  whoever read the output closed it early";

/// The daemon is not there or hung up: exit code 4.
#[derive(Debug)]
pub(crate) struct Unreachable(pub(crate) String);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

/// A client's error: of the daemon or the way to it, or of what it was asked for.
pub(crate) fn unreachable(e: forebay_client::Error) -> anyhow::Error {
    if e.is_failure() { Unreachable(e.to_string()).into() } else { e.into() }
}

/// Turns a command's result into the process's exit code, with one line on standard error if it failed.
pub(crate) fn finish(done: anyhow::Result<Outcome>) -> ExitCode {
    let code = match done {
        Ok(Outcome::Clean) => 0,
        Ok(Outcome::Findings | Outcome::Below) => 1,
        Ok(Outcome::Blocked) => 3,
        // A reader that has seen enough (`| head`) is no error worth a message; the code is the shell's for SIGPIPE.
        Err(e) if is_broken_pipe(&e) => 141,
        Err(e) => {
            say(format_args!("{}error:{} {e:#}", ERROR.render(), ERROR.render_reset()));
            if e.downcast_ref::<Unreachable>().is_some() { 4 } else { 2 }
        }
    };
    ExitCode::from(code)
}

/// Ends a run that does nothing: help or a version was asked for, or the arguments are wrong.
pub(crate) fn instead(e: &clap::Error) -> ExitCode {
    let printed = e.print().and_then(|()| std::io::stdout().flush());
    match printed {
        // An error goes to standard error, and its code stands whether or not anybody could read it.
        _ if e.use_stderr() => ExitCode::from(2),
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => finish(Err(anyhow::Error::new(e).context("cannot write standard output"))),
    }
}

/// `1 line`, `2 lines`.
pub(crate) fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Writes a line to standard error. One that cannot be written is dropped: the exit code still tells how it went.
pub(crate) fn say(line: impl std::fmt::Display) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();

fn is_broken_pipe(e: &anyhow::Error) -> bool {
    e.chain().any(|c| c.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe))
}
