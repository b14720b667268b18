//! The daemon takes away from itself what it will not need, before it hears of the first client.
//!
//! - `folders`: by Landlock, the files that it may open are those below the folders that its config names; it starts no
//!   program, opens no TCP connection and signals nobody.
//! - `calls`: by seccomp, the kernel answers the calls that it makes, and no others.
//!
//! What a unit file takes away comes on top; this holds wherever the daemon is started, and it knows the config. It is
//! *not* a wall inside the process: one stream's memory is as open to a bug as another's.
//!
//! Both hold for the thread that asks and for those it starts, so they come before the runtime. Sockets are open by then.
//! A reload may name other files of the same folders; a new folder takes a restart, or an entry of `[sandbox] read`.

mod calls;
mod folders;

use std::path::PathBuf;

use serde::Deserialize;

use crate::config::Config;

/// What the daemon does about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxConfig {
    /// Whether.
    pub mode: SandboxMode,
    /// More folders that a reload may read.
    pub read: Vec<PathBuf>,
}

/// Whether the daemon confines itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// As far as the kernel can.
    #[default]
    Auto,
    /// Whole, or the daemon does not start.
    Required,
    /// Not at all.
    Off,
}

/// What is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Landlock confines which files can be opened.
    pub landlock: bool,
    /// Seccomp confines which calls can be made.
    pub seccomp: bool,
    /// One line for people; empty: nobody asked.
    pub told: String,
}

impl Sandbox {
    /// Confines this thread and those that it will start. `sockets` are files that the daemon removes when it ends.
    ///
    /// # Errors
    /// One line with the mend; only with [`SandboxMode::Required`].
    pub fn enter(config: &Config, sockets: &[PathBuf]) -> Result<Sandbox, String> {
        let mode = config.sandbox.mode;
        if mode == SandboxMode::Off {
            return Ok(Sandbox { told: "off, by the config".to_owned(), ..Sandbox::default() });
        }
        let files = folders::Folders::of(config, sockets).confine();
        let calls = calls::confine();
        let whole = files.as_ref().is_ok_and(|c| c.whole);
        let landlock = files.as_ref().is_ok_and(|c| c.some);
        if mode == SandboxMode::Required && !(whole && calls.is_ok()) {
            let why = match (&files, &calls) {
                (Err(e), _) => e.clone(),
                (Ok(c), _) if !c.whole => c.told.clone(),
                (_, Err(e)) => e.clone(),
                _ => String::new(),
            };
            return Err(format!("[sandbox] mode is \"required\", and this kernel cannot do it: {why}; use \"auto\""));
        }
        let told = |part: &Result<String, String>| match part {
            Ok(what) => what.clone(),
            Err(e) => format!("no {e}"),
        };
        let seccomp = calls.is_ok();
        let files = files.map(|c| c.told);
        Ok(Sandbox { landlock, seccomp, told: format!("{}; {}", told(&files), told(&calls)) })
    }

    /// What to add to an error of a reload that may be the sandbox's doing.
    pub(crate) fn explain(&self, error: String) -> String {
        if self.landlock && error.contains("os error 13") {
            return error
                + " (if the file's own permissions are right: the sandbox closes folders that the config did not name \
                   at the start; restart the daemon, or add the folder to [sandbox] read)";
        }
        error
    }
}
