//! `forebay audit`: its command line.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::TextOrJson;

#[derive(Debug, ClapArgs)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check that no line of the log was changed, taken out or put in.
    #[command(after_help = "\
Examples:
  forebay audit verify
  forebay audit verify --expect HASH       and that a line with this hash is still there: keep the hash that
                                           verify prints, or those that the daemon logs, on another host

Exit code 0: the chain holds, 1: it does not, or the expected hash is not there, 2: the log cannot be read.
Lines cut off at the end by somebody who makes a new chain are found by --expect only.")]
    Verify(AuditVerifyArgs),
    /// Print lines of the log.
    #[command(after_help = "\
Examples:
  forebay audit show --rule secret. --since 24h
  forebay audit show --format json | jq -r 'select(.action == \"block\") | .pid'")]
    Show(AuditShowArgs),
    /// Print the last lines, and go on with new ones.
    #[command(after_help = "Example:\n  forebay audit tail --follow")]
    Tail(AuditTailArgs),
}

/// Where the log is.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct AuditDirArg {
    /// The log's folder, as `audit.dir` in the daemon's config. Default: /var/log/forebay.
    #[arg(long, value_name = "FOLDER", env = "FOREBAY_AUDIT_DIR")]
    dir: Option<PathBuf>,
}

impl AuditDirArg {
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(|| "/var/log/forebay".into())
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AuditVerifyArgs {
    #[command(flatten)]
    pub(crate) dir: AuditDirArg,
    /// Hash of a line that must be in the log: 64 hexadecimal digits.
    #[arg(long, value_name = "HASH", value_parser = hash)]
    pub(crate) expect: Option<String>,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AuditShowArgs {
    #[command(flatten)]
    pub(crate) dir: AuditDirArg,
    #[command(flatten)]
    pub(crate) which: AuditWhich,
    /// How to print: for people, or the lines as they are.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

/// Which lines.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct AuditWhich {
    /// Only lines of this event: finding, stream, violation, reload, start, stop, rotate or lost.
    #[arg(long, value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// Only findings of rules whose name contains this.
    #[arg(long, value_name = "TEXT")]
    pub(crate) rule: Option<String>,
    /// Only what this user did.
    #[arg(long)]
    pub(crate) uid: Option<u32>,
    /// Only findings of this value, by its fingerprint in another line.
    #[arg(long, value_name = "FINGERPRINT")]
    pub(crate) value: Option<String>,
    /// Only lines that are no older: 30m, 24h, 7d.
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) since: Option<std::time::Duration>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AuditTailArgs {
    #[command(flatten)]
    pub(crate) dir: AuditDirArg,
    #[command(flatten)]
    pub(crate) which: AuditWhich,
    /// So many lines of those that are there.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    pub(crate) lines: usize,
    /// Print new lines as they come, until interrupted.
    #[arg(long, short = 'f')]
    pub(crate) follow: bool,
    /// How to print: for people, or the lines as they are.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

fn hash(s: &str) -> Result<String, String> {
    let is_hash = s.len() == 64 && s.bytes().all(|b| b.is_ascii_hexdigit());
    if is_hash {
        Ok(s.to_ascii_lowercase())
    } else {
        Err("give 64 hexadecimal digits, as `audit verify` prints".to_owned())
    }
}

fn age(s: &str) -> Result<std::time::Duration, String> {
    let mend = || format!("`{s}` is no age; write 30m, 24h or 7d");
    let unit = s.chars().last().ok_or_else(mend)?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(mend()),
    };
    let number: u64 = s[..s.len() - 1].parse().map_err(|_| mend())?;
    number.checked_mul(seconds).filter(|n| *n < 1 << 40).map(std::time::Duration::from_secs).ok_or_else(mend)
}
