//! `forebay top`: its command line.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::TextOrJson;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  forebay top
  forebay top --metrics-socket /tmp/m.sock --interval 5
  forebay top | cat                              one look, as text
  forebay top --format json | jq .push_p99_us

Keys: q or Esc ends, p pauses. Exit code 0: ended by you or done, 4: the daemon's metrics cannot be reached.")]
pub(crate) struct TopArgs {
    /// The daemon's metrics socket. Default: /run/forebay/metrics.sock.
    #[arg(long, value_name = "PATH", env = "FOREBAY_METRICS_SOCKET")]
    metrics_socket: Option<PathBuf>,
    /// Seconds between two looks.
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) interval: u64,
    /// How to print one look. Only where standard output is no terminal, or with `json`.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

impl TopArgs {
    pub(crate) fn socket(&self) -> PathBuf {
        self.metrics_socket.clone().unwrap_or_else(|| "/run/forebay/metrics.sock".into())
    }
}
