//! `forebay`: commands for people, scripts and agents' settings.
//!
//! This is the shell around [`forebay_scan`]: it reads files and standard input, prints, and ends with a code that
//! says what happened. It is *not* a second engine: it knows no rule and judges no byte. What it prints about a finding
//! is where and what kind, never the text that was found; excerpts are masked before they are formatted.
//!
//! The attacker here is whoever wrote the input: bytes from it reach a terminal only through [`mask`], which stars out
//! values and shows control characters as escapes.
#![forbid(unsafe_code)]

mod args;
mod audit;
mod demo;
mod eval;
mod exit;
mod filter;
mod generate;
mod json_lines;
mod load;
mod mask;
mod once;
mod record;
mod rules;
mod scan;
mod secrets_files;
mod split_mix;
mod status;
mod top;

use std::process::ExitCode;

use crate::args::Command;

/// Small allocations of many streams: the same allocator as the daemon's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = match args::read(std::env::args_os()) {
        Ok(args) => args,
        Err(e) => return exit::instead(&e),
    };
    args.color.apply();
    let done = match args.command {
        Command::Filter(a) => filter::run(&a),
        Command::Scan(a) => scan::run(&a),
        Command::Rules(a) => rules::run(&a),
        Command::Eval(a) => eval::run(&a),
        Command::Status(a) => status::run(&a),
        Command::Top(a) => top::run(&a, args.color.wanted()),
        Command::Audit(a) => audit::run(&a),
        Command::Demo(a) => demo::run(&a),
        Command::Man(a) => generate::man(&a),
        Command::Completions(a) => generate::completions(&a),
    };
    exit::finish(done)
}
