//! `forebay status`: what the daemon says of itself.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::Context;
use forebay_client::blocking::Connection;
use forebay_client::{ConnectOptions, Status, Transport};

use crate::args::{StatusArgs, TextOrJson};
use crate::exit::{Outcome, unreachable};

/// Runs the command.
pub(crate) fn run(args: &StatusArgs) -> anyhow::Result<Outcome> {
    let path = args.socket.path();
    // One question and one answer: a ring would only cost its user one.
    let options = ConnectOptions { transport: Transport::Socket, ..ConnectOptions::default() };
    let mut connection = Connection::connect(&path, options).map_err(unreachable)?;
    let status = connection.status().map_err(unreachable)?;
    let text = match args.format {
        TextOrJson::Json => format!("{}\n", json(&status)),
        TextOrJson::Text => format!("socket {}\n{}", path.display(), text(&status)),
    };
    anstream::stdout().write_all(text.as_bytes()).context("cannot write standard output")?;
    Ok(Outcome::Clean)
}

fn json(s: &Status) -> serde_json::Value {
    let profiles: Vec<_> = s
        .profiles
        .iter()
        .map(|p| serde_json::json!({"name": p.name, "rules": p.rules, "fingerprint": hex(&p.fingerprint)}))
        .collect();
    let counters: serde_json::Map<_, _> = s.counters.iter().map(|(n, v)| (n.clone(), (*v).into())).collect();
    serde_json::json!({
        "daemon": s.daemon,
        "uptime_ms": s.uptime_ms,
        "connections": s.connections,
        "streams": s.streams,
        "profiles": profiles,
        "counters": counters,
        "rules_age_ms": s.rules_age_ms,
        "facts": s.facts.iter().map(|(n, v)| (n.clone(), v.clone().into())).collect::<serde_json::Map<_, _>>(),
        "reload_error": (!s.reload_error.is_empty()).then_some(&s.reload_error),
    })
}

fn text(s: &Status) -> String {
    let bold = anstyle::Style::new().bold();
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = writeln!(out, "forebayd {}, up {}", s.daemon, duration(s.uptime_ms));
    let _ = writeln!(out, "{} connections, {} streams", s.connections, s.streams);
    let _ = writeln!(out, "\n{bold}profiles{bold:#}");
    for p in &s.profiles {
        let _ = writeln!(out, "  {:16} {:5} rules  {}", p.name, p.rules, &hex(&p.fingerprint)[..16]);
    }
    let _ = writeln!(out, "  loaded {} ago", duration(s.rules_age_ms));
    if !s.reload_error.is_empty() {
        let red = anstyle::AnsiColor::Red.on_default().bold();
        let _ = writeln!(out, "  {red}the last reload failed, these stay in force:{red:#} {}", s.reload_error);
    }
    if !s.facts.is_empty() {
        let _ = writeln!(out, "\n{bold}service{bold:#}");
    }
    for (name, value) in &s.facts {
        let _ = writeln!(out, "  {name:16} {value}");
    }
    let _ = writeln!(out, "\n{bold}since the start{bold:#}");
    for (name, value) in s.counters.iter().filter(|(_, v)| *v > 0) {
        let _ = writeln!(out, "  {name:40} {value}");
    }
    out
}

fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    format!("{}h {:02}m {:02}s", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
