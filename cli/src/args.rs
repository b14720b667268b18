//! The command line as typed values. Nothing else sees raw arguments.

mod audit;
mod eval;
mod import;
mod rules;
mod top;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Args as ClapArgs, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use forebay_client::Transport;

pub(crate) use audit::{AuditArgs, AuditCommand, AuditShowArgs, AuditTailArgs, AuditVerifyArgs, AuditWhich};
pub(crate) use import::{GitleaksArgs, RulesImportArgs, RulesImportCommand};
pub(crate) use rules::{RulesArgs, RulesCommand, RulesExplainArgs, RulesListArgs, RulesTestArgs};
pub(crate) use top::TopArgs;

use crate::exit::TABLE;
pub(crate) use eval::{By, EvalArgs, EvalFormat};

/// Filters what agents read and write: personal data, secrets, elisions, truncation and injected orders.
#[derive(Debug, Parser)]
#[command(name = "forebay", version, after_help = TABLE, max_term_width = 110)]
pub(crate) struct Args {
    /// When to use colour. `auto` follows the terminal and NO_COLOR.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Reads a command line. Help and version come back as errors too: what to print instead of running.
pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Args, clap::Error> {
    let mut command = Args::command();
    let words: Vec<OsString> = words.into_iter().collect();
    let matches = command.try_get_matches_from_mut(&words).map_err(|e| choices(&command, &words, e))?;
    let args = Args::from_arg_matches(&matches).map_err(|e| e.format(&mut command))?;
    if let (Command::Filter(filter), Some(("filter", given))) = (&args.command, matches.subcommand())
        && let Some(idle) = filter.idle(|id| given.value_source(id) == Some(ValueSource::CommandLine))
    {
        let mut filter = command.find_subcommand("filter").cloned().unwrap_or(command);
        return Err(filter.error(ErrorKind::ArgumentConflict, idle));
    }
    Ok(args)
}

/// Adds what there is to choose from to an error about a command's name that does not exist and is near none.
fn choices(command: &clap::Command, words: &[OsString], e: clap::Error) -> clap::Error {
    let Some(ContextValue::String(name)) = e.get(ContextKind::InvalidSubcommand) else { return e };
    if e.get(ContextKind::SuggestedSubcommand).is_some() {
        return e;
    }
    let mut within = command;
    for word in words.iter().skip(1).filter_map(|w| w.to_str()) {
        if let Some(deeper) = within.find_subcommand(word) {
            within = deeper;
        }
    }
    let there: Vec<&str> = within.get_subcommands().filter(|c| !c.is_hide_set()).map(|c| c.get_name()).collect();
    let there = there.join(", ");
    let said = match within.get_name() {
        "import" => format!(
            "`{name}` is no format that can be imported; there is: {there}, as in `forebay rules import gitleaks \
             FILE.toml`. Rules of other programs can be written as a pack: packs/README.md says how"
        ),
        _ => format!("there is no command `{name}`; use one of {there}"),
    };
    within.clone().error(ErrorKind::InvalidSubcommand, said)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Filter standard input to standard output as it streams.
    Filter(FilterArgs),
    /// Look for findings in files and folders, or in lines of JSON.
    Scan(ScanArgs),
    /// Show, test and explain rules.
    Rules(RulesArgs),
    /// Score the rules against labelled texts and harmless files.
    #[command(long_about = eval::LONG)]
    Eval(EvalArgs),
    /// Show what the daemon says of itself.
    Status(StatusArgs),
    /// Watch what the daemon does: streams, rates, hold, time of pushes, findings.
    Top(TopArgs),
    /// Check, show and follow the daemon's audit log.
    Audit(AuditArgs),
    /// Watch two streams go through a daemon, piece by piece.
    Demo(DemoArgs),
    /// Write the man pages into a folder.
    #[command(hide = true)]
    Man(ManArgs),
    /// Print the completions of a shell.
    #[command(hide = true)]
    Completions(CompletionsArgs),
}

/// Where the daemon listens.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct SocketArg {
    /// The daemon's socket. Default: /run/forebay/forebay.sock.
    #[arg(long, value_name = "PATH", env = "FOREBAY_SOCKET")]
    socket: Option<PathBuf>,
}

impl SocketArg {
    /// Where systemd's unit puts the socket.
    const DEFAULT: &str = "/run/forebay/forebay.sock";

    pub(crate) fn path(&self) -> PathBuf {
        self.socket.clone().unwrap_or_else(|| Self::DEFAULT.into())
    }
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  forebay status
  forebay status --format json | jq .streams")]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) socket: SocketArg,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  forebay demo
  forebay demo --fast | less")]
pub(crate) struct DemoArgs {
    /// Do not pause between the pieces. Always so when the output is not a terminal.
    #[arg(long)]
    pub(crate) fast: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  forebay man /usr/local/share/man/man1")]
pub(crate) struct ManArgs {
    /// An existing folder.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  forebay completions bash > ~/.local/share/bash-completion/completions/forebay")]
pub(crate) struct CompletionsArgs {
    /// Which shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Whether to colour what does not go through `anstream`.
    pub(crate) fn wanted(self) -> bool {
        match self {
            Color::Auto => std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
            Color::Always => true,
            Color::Never => false,
        }
    }

    /// Makes the choice hold for all output of the process.
    pub(crate) fn apply(self) {
        match self {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
    }
}

/// Which rules, and what they do.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ProfileArg {
    /// A built-in profile (tool-output, model-output, tool-input, prompt) or a TOML file.
    #[arg(long, default_value = "tool-output", value_name = "NAME|FILE")]
    pub(crate) profile: String,
    /// A file of KEY=value lines (or .json) whose values are secrets: each is found wherever it stands, also in JSON
    /// strings, URLs, hex and base64. May be given more than once.
    #[arg(id = "secrets_file", long = "secrets-file", value_name = "FILE")]
    pub(crate) secrets_files: Vec<PathBuf>,
    /// Look also for the rules of this pack file. May be given more than once.
    #[arg(long, value_name = "PACK.toml")]
    pub(crate) pack: Vec<PathBuf>,
}

/// Whether compiled rules are kept for the next run.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct CacheArg {
    /// Compile the rules anew, and keep nothing for the next run. Without it they are kept in forebay/ of your cache
    /// folder ($XDG_CACHE_HOME or ~/.cache).
    #[arg(long)]
    pub(crate) no_cache: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  some-tool | forebay filter                    what the tool said, without secrets
  forebay filter --findings json < log.txt      findings as JSON lines on standard error
  forebay filter --via auto < log.txt           through the daemon, the fastest way that it grants
  forebay filter --chunk random:7 --stats < f   in random pieces, with the hold and the time of each")]
pub(crate) struct FilterArgs {
    #[command(flatten)]
    pub(crate) profile: ProfileArg,
    /// Where the engine runs.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) via: Via,
    #[command(flatten)]
    pub(crate) socket: SocketArg,
    /// Through the daemon: the session. Streams of one session give the same value the same token.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Cut the input into pushes of N bytes, or of random sizes from a seed. Default: as it arrives.
    #[arg(long, value_name = "N|random:SEED")]
    pub(crate) chunk: Option<Chunk>,
    /// Write each finding as one JSON line to standard error, as soon as it is certain.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) findings: Option<FindingsFormat>,
    /// At the end, write whether the content was whole as one JSON line to standard error.
    #[arg(long)]
    pub(crate) report: bool,
    /// Last, write one JSON line of measurements to standard error.
    #[arg(long)]
    pub(crate) stats: bool,
    /// File with the 32 secret bytes that tokens are keyed with; made when it is not there.
    /// Default: forebay/token.key in your state folder ($XDG_STATE_HOME or ~/.local/state).
    #[arg(long, value_name = "FILE", env = "FOREBAY_KEY_FILE")]
    pub(crate) key_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cache: CacheArg,
}

impl FilterArgs {
    /// Says which option was `given` by hand and would do nothing. A variable of the environment is no such wish: it
    /// is set for other runs too.
    fn idle(&self, given: impl Fn(&str) -> bool) -> Option<String> {
        let (options, other): (&[_], _) = match self.via {
            Via::Local => (&["socket", "session"], "auto"),
            Via::Auto | Via::Socket | Via::Ring => (&["key_file", "secrets_file", "no_cache"], "local"),
        };
        let idle = options.iter().find(|id| given(id))?;
        let why = match (self.via, *idle) {
            (Via::Local, _) => "the engine runs in this process, without the daemon",
            (_, "secrets_file") => "the daemon knows the files that its profiles name (`[[exact]]`)",
            (_, "no_cache") => "the daemon has compiled its rules",
            _ => "the daemon has its own keys",
        };
        let idle = idle.replace('_', "-");
        Some(format!("`--{idle}` would do nothing: {why}; add `--via {other}`, or leave `--{idle}` out"))
    }
}

/// Where the engine runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Via {
    /// In this process.
    #[default]
    Local,
    /// In the daemon, through shared memory if it grants that, else over its socket.
    Auto,
    /// In the daemon, over its socket.
    Socket,
    /// In the daemon, through shared memory; an error where it grants none.
    Ring,
}

impl Via {
    /// The way to the daemon; `None` in this process.
    pub(crate) fn transport(self) -> Option<Transport> {
        match self {
            Via::Local => None,
            Via::Auto => Some(Transport::Auto),
            Via::Socket => Some(Transport::Socket),
            Via::Ring => Some(Transport::Ring),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    /// `{"rule","family","start","end","severity","action"}`, offsets in bytes of the input.
    Json,
}

/// How `--chunk` cuts the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// Pushes of this many bytes.
    Fixed(NonZeroUsize),
    /// Pushes of random sizes, always the same ones for a seed.
    Random(u64),
}

impl Chunk {
    /// Largest fixed size, in bytes: the push is buffered whole before it is made.
    pub(crate) const MAX: usize = 64 << 20;
}

impl FromStr for Chunk {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        if let Some(seed) = s.strip_prefix("random:") {
            return seed
                .parse()
                .map(Chunk::Random)
                .map_err(|_| format!("`{seed}` is not a seed; give a whole number, as in `random:7`"));
        }
        match s.parse::<NonZeroUsize>() {
            Ok(n) if n.get() <= Self::MAX => Ok(Chunk::Fixed(n)),
            _ => Err(format!("give a number of bytes from 1 to {}, or `random:SEED`", Self::MAX)),
        }
    }
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  forebay scan                                  this folder, without what .gitignore names
  forebay scan --format sarif src > found.sarif for a code host
  git diff | forebay scan -                     standard input
  forebay scan --secrets-file .env src          where values of .env stand in the sources
  forebay scan --jsonl < lines.jsonl            {\"id\",\"text\"} in, {\"id\",\"findings\",\"report\"} out

Exit code 0: nothing found, 1: something found, 2: error. A path that cannot be read is named, and the rest is scanned.
With --jsonl: 0 when every line was read, 2 when one was not; it is answered by {\"id\",\"error\"} in its place.")]
pub(crate) struct ScanArgs {
    /// Files and folders; `-` is standard input. Default: this folder.
    #[arg(value_name = "PATH", conflicts_with = "jsonl")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) profile: ProfileArg,
    #[command(flatten)]
    pub(crate) cache: CacheArg,
    /// How to print.
    #[arg(long, value_enum, default_value_t, conflicts_with = "jsonl")]
    pub(crate) format: ScanFormat,
    /// Say also of each file whether it is whole (nothing open at its end, no sign of a cut); not whole is a finding.
    #[arg(long, conflicts_with = "jsonl")]
    pub(crate) whole: bool,
    /// Look into what .gitignore and .ignore name, too.
    #[arg(long, conflicts_with = "jsonl")]
    pub(crate) no_ignore: bool,
    /// Take binary files (with NUL bytes) as text.
    #[arg(long, short = 'a', conflicts_with = "jsonl")]
    pub(crate) text: bool,
    /// Files scanned at once. Default: one for each core.
    #[arg(long, value_name = "N", conflicts_with = "jsonl")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Read {"id","text"} lines from standard input and write one line of findings for each, in order.
    #[arg(long)]
    pub(crate) jsonl: bool,
}

/// How `scan` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScanFormat {
    /// For people: places and masked excerpts.
    #[default]
    Text,
    /// One JSON object a line for each file with findings.
    Json,
    /// SARIF 2.1.0.
    Sarif,
}

/// For commands that print data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextOrJson {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn chunks() {
        assert_eq!("random:7".parse(), Ok(Chunk::Random(7)));
        assert!(matches!("4".parse(), Ok(Chunk::Fixed(n)) if n.get() == 4));
        for bad in ["0", "-1", "random:", "random:x", "99999999999", "x"] {
            assert!(bad.parse::<Chunk>().is_err(), "{bad}");
        }
    }
}
