//! The project's own commands, run as `cargo xtask NAME`. A command installs the tools that it needs where it
//! can. Where it cannot, it names the missing packages.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

mod advisories;
mod artefacts;
mod bench;
mod checks;
mod conformance;
mod demo;
mod dependencies;
mod dist;
mod fuzz;
mod language;
mod notices;
mod paths;
mod probe;
mod profile;
mod rules;
mod run;
mod screenshots;
mod size;
mod soak;
mod sources;
mod stamp;
mod steps;
mod structure;
mod tools;
mod unchanged;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Build, test, measure and release llm-rum")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build and start the collector and the demo site. Ctrl-C stops them.
    Demo(demo::Options),
    /// Start the demo with the dashboard under Vite, which shows each change of its sources at once.
    DashboardDev(demo::DashboardOptions),
    /// Run every check: formatting, lints, and unit, integration and browser tests.
    Test,
    /// Run real LLM products against a collector. Installs large Python packages.
    TestProducts,
    /// Run the fast checks: rules, formatting, lints and unit tests.
    Check,
    /// Write the types and tables that are generated from report fields, metrics, dimensions and parameters.
    Generate,
    /// Build the probe, the dashboard, the demo page and the release programs.
    Build,
    /// Make the files of a release in `target/dist`.
    Dist(dist::Options),
    /// Print the sizes of the files that a page and the dashboard download.
    Size {
        /// Print one JSON object instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Run a benchmark.
    Bench(bench::Options),
    /// Run a collector under steady traffic, an hour by default, and draw its memory, disk and descriptors.
    Soak(soak::Options),
    /// Fuzz the parsers of foreign input. Installs nightly Rust and cargo-fuzz.
    Fuzz(fuzz::Options),
    /// Run the conformance suite in three browsers and print a table of its checks.
    Conformance(conformance::Options),
    /// Print every violation of the rules for imports, names and texts.
    Rules(rules::Options),
    /// Take the screenshots of the dashboard in `docs/images`.
    Screenshots,
}

/// Prints an error as one line. A backtrace would hide the output of the program that failed.
fn main() -> ExitCode {
    match run_command(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run_command(command: Command) -> Result<()> {
    let root = root()?;
    match command {
        Command::Demo(options) => demo::run_pair(&root, &options),
        Command::DashboardDev(options) => demo::run_dashboard_dev(&root, &options),
        Command::Test => checks::test(&root),
        Command::TestProducts => checks::test_products(&root),
        Command::Check => checks::check(&root),
        Command::Generate => checks::generate(&root),
        Command::Build => artefacts::build(&root),
        Command::Dist(options) => dist::make(&root, &options),
        Command::Size { json } => {
            artefacts::build_probe(&root)?;
            artefacts::DASHBOARD.install(&root)?;
            artefacts::DASHBOARD.build(&root)?;
            size::print(&root, json)
        }
        Command::Bench(options) => bench::run_named(&root, &options),
        Command::Soak(options) => soak::run(&root, &options),
        Command::Fuzz(options) => fuzz::run_targets(&root, &options),
        Command::Conformance(options) => conformance::print(&root, &options),
        Command::Rules(options) => rules::print(&root, &options),
        Command::Screenshots => screenshots::take(&root),
    }
}

fn root() -> Result<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map(Path::to_path_buf).context("xtask lies in the root of the workspace")
}
