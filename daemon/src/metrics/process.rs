//! What the kernel knows of this process, under the names that Prometheus clients share (`process_*`).
//!
//! A number that cannot be read is left out: a metric that says 0 instead of "unknown" is worse than none.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Readings of the moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Process {
    pub(crate) resident_bytes: Option<u64>,
    pub(crate) open_fds: Option<u64>,
    pub(crate) max_fds: Option<u64>,
    pub(crate) threads: Option<u64>,
    pub(crate) cpu_seconds: Option<f64>,
}

impl Process {
    pub(crate) fn now() -> Process {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|l| l.strip_prefix(name))?;
            line.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok()
        };
        let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        Process {
            resident_bytes: field("VmRSS").map(|kib| kib * 1024),
            // The folder's own descriptor is open while it is read.
            open_fds: fs::read_dir("/proc/self/fd").ok().map(|d| (d.count() as u64).saturating_sub(1)),
            max_fds: limits.current,
            threads: field("Threads"),
            cpu_seconds: cpu_seconds(),
        }
    }
}

fn cpu_seconds() -> Option<f64> {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9)
}

/// Seconds since 1970, of a time that lies `ago` before now.
pub(crate) fn unix_seconds(ago: std::time::Duration) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(ago).as_secs_f64()
}
