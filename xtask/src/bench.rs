//! `cargo xtask bench NAME`: benchmarks live beside what they measure; this builds and starts them.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::run::{run, show};

/// Which benchmark, and how to print it.
#[derive(Args)]
pub(crate) struct Options {
    /// Which one; every one when left out.
    name: Option<Name>,
    /// One JSON object on standard output instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// The collector's requests per second beside a bare axum handler's.
    Ingest,
    /// Answers over 30 days of 2,000 series, with and without the files in memory.
    Query,
    /// Framing and pipeline beside what one would use instead.
    Core,
}

pub(crate) fn run_named(root: &Path, options: &Options) -> Result<()> {
    match options.name.unwrap_or(Name::Ingest) {
        Name::Ingest => collector(root, "bench-ingest", options.json),
        Name::Query => collector(root, "bench-query", options.json),
        Name::Core => core(root, options.json),
    }
}

fn core(root: &Path, json: bool) -> Result<()> {
    let mut bench = Command::new("cargo");
    bench.current_dir(root).args(["bench", "-q", "-p", "probe-core", "--bench", "core", "--"]);
    if json {
        bench.arg("--json");
    }
    show(&mut bench)
}

fn collector(root: &Path, bench_name: &str, json: bool) -> Result<()> {
    run(Command::new("cargo").current_dir(root).args(["build", "--release", "-q", "-p", "collector"]))?;
    let mut bench = Command::new("cargo");
    bench.current_dir(root).args(["run", "--release", "-q", "-p", "tests", "--bin", bench_name, "--"]);
    // Each start and stop of a collector would say so.
    bench.env("RUST_LOG", "warn");
    if json {
        bench.arg("--json");
    }
    show(&mut bench)
}
