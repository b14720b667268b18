//! What a hostile client does, one function an attack, and a well-behaved client that is served meanwhile.
//!
//! The binary `hostile` runs them against a live daemon (`make hostile`); `tests/tests/daemon_hostile.rs` runs each for a
//! moment. An attack succeeds as a *test* when the daemon answered it as `SECURITY.md` says: the attacker's connection ended
//! with the expected error, or the attacker was merely served; anything else is an error that says what happened. What
//! the attack did to others is the [`witness`]'s to say.
//!
//! Not here: what the kernel refuses by seals alone (`wire/tests/ring_seals.rs`), and bytes that are no frames
//! (`tests/daemon_bad_input.rs`).

pub mod floods;
pub mod killed;
pub mod peer;
pub mod ring;
pub mod texts;
pub mod witness;

use std::path::{Path, PathBuf};
use std::time::Duration;

use forebay_client::blocking::Connection;
use forebay_client::{ConnectOptions, Status, Transport};

/// Whom to attack, and for how long.
#[derive(Clone, Debug)]
pub struct Target {
    /// The daemon's socket.
    pub socket: PathBuf,
    /// A profile that it serves.
    pub profile: String,
    /// How long an attack lasts that has no end of its own.
    pub lasting: Duration,
    /// Of what is counted, one in so many: 1 is the whole attack.
    pub fraction: usize,
}

/// An attack.
#[derive(Clone, Copy)]
pub struct Attack {
    /// Its name, as a flag without dashes.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Does it, and says in a few words what came of it.
    pub run: fn(&Target) -> anyhow::Result<String>,
}

/// Every attack.
pub const ATTACKS: &[Attack] = &[
    Attack { name: "index-jump", about: "claim bytes that were never written or read", run: ring::index_jump },
    Attack { name: "index-rewind", about: "take back what was published", run: ring::index_rewind },
    Attack { name: "index-race", about: "store random words while the daemon looks", run: ring::index_race },
    Attack { name: "bytes-race", about: "change published bytes while they are copied", run: ring::bytes_race },
    Attack { name: "remap", about: "shrink, grow, unseal and write the shared files", run: ring::remap },
    Attack { name: "punch-hole", about: "punch holes into the shared memory", run: ring::punch_hole },
    Attack { name: "wake-storm", about: "Wake frames without end, and new parks", run: ring::wake_storm },
    Attack { name: "never-read", about: "send, and never read an answer", run: floods::never_read },
    Attack { name: "one-byte-flood", about: "every byte in a frame of its own", run: floods::one_byte },
    Attack { name: "connection-flood", about: "as many connections as the daemon takes", run: floods::connections },
    Attack { name: "descriptor-flood", about: "descriptors with every byte", run: floods::descriptors },
    Attack { name: "half-open", about: "handshakes that stop half-way", run: floods::half_open },
    Attack { name: "many-streams", about: "10,000 streams of one user", run: floods::streams },
    Attack { name: "million-findings", about: "a stream with a million findings", run: texts::million_findings },
    Attack { name: "worst-text", about: "texts that look like the beginning of every rule", run: texts::worst },
    Attack { name: "killed", about: "kill -9 at each step of the protocol", run: killed::at_each_step },
];

impl Target {
    /// `whole` of something, or the test's part of it.
    pub fn part(&self, whole: usize) -> usize {
        (whole / self.fraction).max(1)
    }

    /// What the daemon says of itself.
    ///
    /// # Errors
    /// It does not answer.
    pub fn status(&self) -> anyhow::Result<Status> {
        Ok(connect(&self.socket, Transport::Socket)?.status()?)
    }

    /// Waits until the daemon has forgotten every connection but `others`.
    ///
    /// # Errors
    /// It has not after twenty seconds.
    pub fn settled(&self, others: u32) -> anyhow::Result<()> {
        let began = std::time::Instant::now();
        loop {
            // The one that asks is among them.
            let open = self.status()?.connections.saturating_sub(1);
            if open <= others {
                return Ok(());
            }
            anyhow::ensure!(began.elapsed() < Duration::from_secs(20), "{open} connections stay, {others} should");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Connects as a well-behaved client does.
///
/// # Errors
/// As [`Connection::connect`].
pub fn connect(socket: &Path, transport: Transport) -> anyhow::Result<Connection> {
    let options = ConnectOptions { transport, client: "forebay-hostile".to_owned(), ..ConnectOptions::default() };
    Ok(Connection::connect(socket, options)?)
}
