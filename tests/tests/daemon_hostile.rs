//! Every attack for a moment: the daemon answers it as it should, and serves others. `make hostile` has them at full length,
//! with times.

use std::time::Duration;

use forebay_tests::daemon::TestDaemon;
use forebay_tests::hostile::witness::Witness;
use forebay_tests::hostile::{ATTACKS, Target, floods, killed};

/// Not a test by itself: what another process does, for the attacks that take one.
#[test]
fn the_other_process() -> anyhow::Result<()> {
    killed::dying()?;
    floods::greedy().map(|_| ())
}

fn attack(name: &str) -> anyhow::Result<()> {
    let attack = ATTACKS.iter().find(|a| a.name == name).ok_or_else(|| anyhow::anyhow!("no attack {name}"))?;
    let daemon = TestDaemon::with(|c| {
        c.timeouts.handshake = Duration::from_millis(500);
        c.socket_mode = 0o666;
    })?;
    let target = Target {
        socket: daemon.path().to_owned(),
        profile: "house".to_owned(),
        lasting: Duration::from_millis(400),
        fraction: 50,
    };
    let witness = Witness::start(&target)?;
    let told = (attack.run)(&target)?;
    println!("{name}: {told}");
    witness.served(10)?;
    witness.stop()?;
    // Nothing of it stays.
    daemon.wait(|s| s.connections == 0 && s.streams == 0)?;
    Ok(())
}

macro_rules! attacks {
    ($($test:ident = $name:literal;)*) => {
        $(#[test] fn $test() -> anyhow::Result<()> { attack($name) })*

        #[test]
        fn none_is_left_out() {
            assert_eq!([$($name),*].as_slice(), ATTACKS.iter().map(|a| a.name).collect::<Vec<_>>());
        }
    };
}

attacks! {
    index_jump = "index-jump";
    index_rewind = "index-rewind";
    index_race = "index-race";
    bytes_race = "bytes-race";
    remap = "remap";
    punch_hole = "punch-hole";
    wake_storm = "wake-storm";
    never_read = "never-read";
    one_byte_flood = "one-byte-flood";
    connection_flood = "connection-flood";
    descriptor_flood = "descriptor-flood";
    half_open = "half-open";
    many_streams = "many-streams";
    million_findings = "million-findings";
    worst_text = "worst-text";
    killed_at_each_step = "killed";
}
