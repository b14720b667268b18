//! Hot swap: new rules come into force beside running streams; what is broken changes nothing; nothing is lost,
//! doubled or kept.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use forebay_client::ConnectOptions;
use forebay_client::blocking::{Connection, FilterWriter};
use forebay_scan::{Collected, Scratch, StreamFilter, TokenKey};
use forebay_tests::cuts::Seed;
use forebay_tests::daemon::TestDaemon;
use forebayd::{Config, ServedProfiles};

/// A folder with a config of one profile, `swap`, whose pack and secrets a test rewrites.
struct House {
    folder: tempfile::TempDir,
}

const PROFILE: &str = "name = \"swap\"\npacks = []\npack_files = [\"pack.toml\"]\n[[exact]]\nfile = \"app.env\"\n";

impl House {
    fn new() -> House {
        let house = House { folder: tempfile::tempdir().unwrap() };
        house.write("config.toml", "profiles = [\"swap.toml\"]\n");
        house.write("swap.toml", PROFILE);
        house.pack("alpha");
        house.secrets("x4Qp-77mZ-01", 1);
        house
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// A pack that replaces `<word>-<four digits>`.
    fn pack(&self, word: &str) {
        self.write("pack.toml", &pack(word));
    }

    fn secrets(&self, value: &str, n: usize) {
        let more: String = (1..n).map(|i| format!("MORE{i}=pad{i}Qz{value}{}\n", i * 7919)).collect();
        self.write("app.env", &format!("KEY={value}\n{more}"));
    }

    fn daemon(&self) -> TestDaemon {
        let config = Config::load(&self.path("config.toml")).unwrap();
        TestDaemon::with(|c| (c.profiles, c.base) = (config.profiles, config.base)).unwrap()
    }

    fn reload(&self, daemon: &TestDaemon) -> Result<(), String> {
        daemon.reload(&self.path("config.toml"))
    }
}

fn pack(word: &str) -> String {
    format!(
        "[pack]\nname = \"swap\"\n[[rule]]\nid = \"mark\"\nfamily = \"pii\"\ntitle = \"Mark\"\n\
         pattern = '(?P<span>{word}-[0-9]{{4}})'\nseverity = \"low\"\nmatch = [\"{word}-1234\"]\nno_match = [\"{word}\"]\n"
    )
}

fn connect(daemon: &TestDaemon) -> Connection {
    Connection::connect(daemon.path(), ConnectOptions::default()).unwrap()
}

/// A whole stream.
fn filtered(daemon: &TestDaemon, text: &[u8]) -> String {
    let mut got = Vec::new();
    let mut writer = FilterWriter::new(connect(daemon).into_stream("swap").unwrap(), &mut got);
    writer.write_all(text).unwrap();
    writer.finish().unwrap();
    without_tags(&got)
}

/// Tokens differ from stream to stream; their letters do not matter here.
fn without_tags(bytes: &[u8]) -> String {
    let mut out = String::from_utf8_lossy(bytes).into_owned();
    for label in ["FBY_MARK_", "FBY_KEY_"] {
        let mut at = 0;
        while let Some(i) = out[at..].find(label) {
            at += i + label.len();
            out.replace_range(at..at + 15, "#");
        }
    }
    out
}

#[test]
fn an_open_stream_keeps_its_rules_and_a_new_one_has_the_new_ones() {
    let house = House::new();
    let daemon = house.daemon();
    let text = b"alpha-1111 beta-2222 x4Qp-77mZ-01 w8Lk-93vT-55;\n";
    let old = "FBY_MARK_# beta-2222 FBY_KEY_# w8Lk-93vT-55;\n";
    let new = "alpha-1111 FBY_MARK_# x4Qp-77mZ-01 FBY_KEY_#;\n";
    let before = daemon.status();
    let mut open = FilterWriter::new(connect(&daemon).into_stream("swap").unwrap(), Vec::new());
    // A span is half way through.
    open.write_all(&[&text[..], b"alpha-11"].concat()).unwrap();
    open.flush().unwrap();
    assert_eq!(without_tags(open.get_mut()), old);

    house.pack("beta");
    house.secrets("w8Lk-93vT-55", 1);
    house.reload(&daemon).unwrap();

    assert_eq!(filtered(&daemon, text), new);
    open.write_all(&[b"11\n", &text[..]].concat()).unwrap();
    open.flush().unwrap();
    assert_eq!(without_tags(open.get_mut()), format!("{old}FBY_MARK_#\n{old}"));
    open.finish().unwrap();
    let after = daemon.status();
    assert_ne!(before.profiles[0].fingerprint, after.profiles[0].fingerprint);
    assert_eq!((after.counter("reloads_total"), after.reload_error.as_str()), (1, ""));
    assert!(after.rules_age_ms < after.uptime_ms);
}

/// Each with the place and the mend that the message names.
#[test]
fn what_is_broken_leaves_the_old_rules_in_force_and_says_why() {
    let house = House::new();
    let daemon = house.daemon();
    let text = b"alpha-1111 beta-2222 x4Qp-77mZ-01\n";
    let old = "FBY_MARK_# beta-2222 FBY_KEY_#\n";
    let bad_pack = pack("beta").replace("{4}", "{4,}");
    let cases: [(&str, &str, &str, &str); 9] = [
        ("pack.toml", &bad_pack, "pack.toml:4: ", "upper bound"),
        ("pack.toml", "[pack\n", "pack.toml:1: ", "mend the TOML there"),
        ("swap.toml", &PROFILE.replace("pack.toml", "none.toml"), "swap.toml:3: ", "mend the path"),
        ("swap.toml", &PROFILE.replace("[]", "[\"pie\"]"), "swap.toml:2: ", "use one of pii, secret"),
        ("swap.toml", &format!("{PROFILE}[rule]\n\n\"pii.no\" = \"flag\"\n"), "swap.toml:8: ", "forebay rules list"),
        ("swap.toml", &PROFILE.replace("app.env", "gone.env"), "swap.toml:4: ", "mend the path or its permissions"),
        ("swap.toml", &PROFILE.replace("\"swap\"", "\"\""), "swap.toml:1: ", "use 1 to 128 bytes"),
        ("config.toml", "\nprofiles = [\n  \"swapp.toml\"]\n", "config.toml:3: ", "mend the path"),
        ("config.toml", "profiles = [\"swap.toml\", \"promt\"]\n", "config.toml:1: ", "use one of tool-output"),
    ];
    for (i, (file, content, place, mend)) in cases.into_iter().enumerate() {
        let good = std::fs::read_to_string(house.path(file)).unwrap();
        house.write(file, content);
        let error = house.reload(&daemon).unwrap_err();
        let expected = house.path("").display().to_string() + place;
        assert!(error.starts_with(&expected) && error.contains(mend), "{file}: {error}, expected {expected}");
        let status = daemon.status();
        assert_eq!(status.reload_error, error);
        assert_eq!((status.counter("reloads_total"), status.counter("reloads_failed_total")), (0, i as u64 + 1));
        assert_eq!(filtered(&daemon, text), old, "after {file}");
        house.write(file, &good);
    }
    house.pack("beta");
    house.reload(&daemon).unwrap();
    assert_eq!(daemon.status().reload_error, "");
    assert_eq!(filtered(&daemon, text), "alpha-1111 FBY_MARK_# FBY_KEY_#\n");
}

#[test]
fn a_profile_that_is_gone_is_refused_and_its_open_stream_goes_on() {
    let house = House::new();
    house.write("second.toml", &PROFILE.replace("swap", "second"));
    house.write("config.toml", "profiles = [\"swap.toml\", \"second.toml\"]\n");
    let daemon = house.daemon();
    let mut open = FilterWriter::new(connect(&daemon).into_stream("second").unwrap(), Vec::new());
    open.write_all(b". ").unwrap();
    open.flush().unwrap();
    house.write("config.toml", "profiles = [\"swap.toml\"]\n");
    house.reload(&daemon).unwrap();
    open.write_all(b"alpha-1111.").unwrap();
    open.flush().unwrap();
    assert_eq!(without_tags(open.get_mut()), ". FBY_MARK_#.");
    open.finish().unwrap();
    let mut refused = FilterWriter::new(connect(&daemon).into_stream("second").unwrap(), Vec::new());
    let told = refused.write_all(b"x").and_then(|()| refused.flush()).unwrap_err().to_string();
    assert!(told.contains("there is no profile `second`; this daemon has swap"), "{told}");
}

/// What the rules of `word` make of a text, tags left out.
fn expected(word: &str, value: &str, text: &[u8]) -> String {
    let house = House::new();
    house.pack(word);
    house.secrets(value, 1);
    let config = Config::load(&house.path("config.toml")).unwrap();
    let served = ServedProfiles::of(&config).unwrap();
    let mut filter = StreamFilter::new(Arc::clone(&served.get("swap").unwrap().rules), TokenKey::new([1; 32]));
    let (mut scratch, mut out) = (Scratch::default(), Collected::default());
    filter.push(text, &mut scratch, &mut out).unwrap();
    filter.finish(&mut scratch, &mut out);
    without_tags(&out.bytes)
}

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn a_hundred_reloads_under_load_lose_and_double_nothing_and_keep_no_memory() {
    const RELOADS: u32 = 100;
    const VALUES: usize = 400;
    let sides = [("alpha", "x4Qp-77mZ-01"), ("beta", "w8Lk-93vT-55")];
    let house = House::new();
    house.secrets(sides[0].1, VALUES);
    let daemon = house.daemon();
    let text: Vec<u8> = (0..900)
        .flat_map(|i| {
            format!("{i} alpha-{:04} beta-{:04} x4Qp-77mZ-01 é w8Lk-93vT-55\n", i * 7 % 10_000, i).into_bytes()
        })
        .collect();
    let wanted = sides.map(|(word, value)| expected(word, value, &text));
    let done = AtomicBool::new(false);
    let streams = [AtomicU32::new(0), AtomicU32::new(0)];
    std::thread::scope(|s| {
        for worker in 0..3 {
            let (daemon, text, wanted, done, streams) = (&daemon, &text, &wanted, &done, &streams);
            s.spawn(move || {
                let mut seed = Seed(worker);
                while !done.load(Ordering::Relaxed) {
                    let mut got = Vec::new();
                    let mut writer = FilterWriter::new(connect(daemon).into_stream("swap").unwrap(), &mut got);
                    let mut rest = &text[..];
                    while !rest.is_empty() {
                        let (now, later) = rest.split_at((1 + seed.below(9000)).min(rest.len()));
                        writer.write_all(now).unwrap();
                        rest = later;
                    }
                    writer.finish().unwrap();
                    let got = without_tags(&got);
                    let side = wanted.iter().position(|w| *w == got).expect("the rules of one generation, all along");
                    streams[side].fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut settled = 0;
        for i in 1..=RELOADS {
            let (word, value) = sides[i as usize % 2];
            house.pack(word);
            house.secrets(value, VALUES);
            house.reload(&daemon).unwrap();
            if i == 20 {
                settled = resident();
            }
        }
        let grown = resident().saturating_sub(settled);
        done.store(true, Ordering::Relaxed);
        // A generation is several megabytes; 80 of them were made since.
        assert!(grown < 48 << 20, "{grown} bytes more after 80 more reloads");
    });
    let streams = streams.map(AtomicU32::into_inner);
    assert!(streams.iter().all(|n| *n > 3), "streams under each: {streams:?}");
    let status = daemon.wait(|s| s.streams == 0).unwrap();
    assert_eq!(status.counter("reloads_total"), u64::from(RELOADS));
    assert_eq!(status.counter("bytes_in_total"), text.len() as u64 * u64::from(streams[0] + streams[1]));
}
