//! `cargo xtask bench NAME`: builds and starts the benchmarks.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::paths::target_dir;
use crate::run::{output, run, show};
use crate::{artefacts, conformance, tools};

/// Which benchmark, and how to print it.
#[derive(Args)]
pub(crate) struct Options {
    /// Which benchmark; `ingest` by default.
    name: Option<Name>,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// Beacons per second of the collector, compared with a bare axum handler.
    Ingest,
    /// Queries over 30 days of 2,000 series, with and without the files in memory.
    Query,
    /// The same queries answered by ClickHouse's engine.
    Cluster,
    /// Queries that read a million single streams.
    Streams,
    /// CPU time, memory and disk space per million streams.
    Capacity,
    /// Framing and parsing, compared with other libraries.
    Core,
    /// Measurement errors of the probe in three browsers.
    Accuracy,
    /// CPU time and memory that the probe takes in Chromium, compared with other SDKs.
    Browser,
    /// Bytes that an open dashboard receives in an hour, and what that costs the collector.
    Dashboard,
}

pub(crate) fn run_named(root: &Path, options: &Options) -> Result<()> {
    match options.name.unwrap_or(Name::Ingest) {
        Name::Ingest => collector(root, "bench-ingest", &[], options.json),
        Name::Query => collector(root, "bench-query", &[], options.json),
        Name::Cluster => {
            tools::python_packages(root)?;
            collector(root, "bench-query", &["--cluster"], options.json)
        }
        Name::Streams => {
            run(Command::new("cargo").current_dir(root).args([
                "build",
                "--release",
                "-q",
                "-p",
                "demo-site",
            ]))?;
            collector(root, "bench-query", &["--streams"], options.json)
        }
        Name::Capacity => {
            tools::python_packages(root)?;
            collector(root, "bench-capacity", &[], options.json)
        }
        Name::Core => core(root, options.json),
        Name::Accuracy => in_browsers(root, "accuracy", options.json),
        Name::Browser => {
            conformance::bundle_others(root)?;
            in_browsers(root, "bench-browser", options.json)
        }
        Name::Dashboard => in_browsers(root, "bench-dashboard", options.json),
    }
}

/// Natively, and in Chromium.
fn core(root: &Path, json: bool) -> Result<()> {
    tools::wasm_target()?;
    tools::programs(&[tools::CHROMIUM, tools::CHROMEDRIVER])?;
    let oracle = root.join("probe-core/tests/oracle");
    tools::npm_packages(&oracle)?;
    let target = "wasm32-unknown-unknown";
    let build =
        ["build", "-q", "-p", "probe-core", "--example", "in_page", "--profile", "wasm", "--target", target];
    run(Command::new("cargo").current_dir(root).args(build))?;
    let wasm = target_dir(root).join(target).join("wasm/examples/in_page.wasm");
    let mut native = Command::new("cargo");
    native.current_dir(root).args(["bench", "-q", "-p", "probe-core", "--bench", "core", "--"]);
    let mut page = Command::new("cargo");
    page.current_dir(root).args(["run", "--release", "-q", "-p", "tests", "--bin", "bench-page", "--"]);
    page.arg(wasm).arg(oracle.join("node_modules/eventsource-parser/dist"));
    if !json {
        show(&mut native)?;
        return show(&mut page);
    }
    let native = output(native.arg("--json"))?;
    let native = native.trim_end().strip_suffix('}').context("the benchmark prints an object")?;
    println!("{native},\"page\":{}}}", output(page.arg("--json"))?.trim_end());
    Ok(())
}

/// In real browsers, against the release binaries.
fn in_browsers(root: &Path, bench_name: &str, json: bool) -> Result<()> {
    tools::browsers(root)?;
    artefacts::build(root)?;
    let mut table = Command::new("cargo");
    table.current_dir(root).args(["run", "--release", "-q", "-p", "tests", "--bin", bench_name, "--"]);
    if json {
        table.arg("--json");
    }
    show(&mut table)
}

fn collector(root: &Path, bench_name: &str, arguments: &[&str], json: bool) -> Result<()> {
    run(Command::new("cargo").current_dir(root).args(["build", "--release", "-q", "-p", "collector"]))?;
    let mut bench = Command::new("cargo");
    bench
        .current_dir(root)
        .args(["run", "--release", "-q", "-p", "tests", "--bin", bench_name, "--"])
        .args(arguments);
    // Each start and stop of a collector would say so.
    bench.env("RUST_LOG", "warn");
    if json {
        bench.arg("--json");
    }
    show(&mut bench)
}
