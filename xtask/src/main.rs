//! The project's own commands, run as `cargo xtask NAME`. Each prints what it runs, installs what it
//! can, and names exactly what is missing when it cannot.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

mod artefacts;
mod bench;
mod checks;
mod conformance;
mod demo;
mod fuzz;
mod language;
mod paths;
mod probe;
mod profile;
mod rules;
mod run;
mod screenshots;
mod size;
mod sources;
mod stamp;
mod steps;
mod structure;
mod tools;
mod unchanged;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "llm-rum's own commands")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build everything, start the collector and the demo site, and run until Ctrl-C.
    Demo(demo::Options),
    /// Every check there is, from a fresh clone: format, lints, unit, integration, browser.
    Test,
    /// The fast part of `test`: format, lints, unit tests.
    Check,
    /// Write the types and tables that are generated from the table of report fields.
    Generate,
    /// Build the probe, the dashboard, the demo page and the release binaries.
    Build,
    /// Print the size of what a page downloads.
    Size {
        /// One JSON object on standard output instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Run a benchmark: `ingest`, `query`, `core`, `accuracy` or `browser`.
    Bench(bench::Options),
    /// Feed made-up input to what reads foreign bytes; needs nightly Rust, and installs it.
    Fuzz(fuzz::Options),
    /// Print what an app sees of fetch with the probe, check × engine; `--sdk` sets another beside it.
    Conformance(conformance::Options),
    /// Print every violation of the rules of form: imports, names and texts.
    Rules(rules::Options),
    /// Make the pictures of the dashboard under `docs/images` anew.
    Screenshots,
}

/// An error is told in a line: twenty more of where in here it was noticed would hide what failed above it.
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
        Command::Test => checks::test(&root),
        Command::Check => checks::check(&root),
        Command::Generate => checks::generate(&root),
        Command::Build => artefacts::build(&root),
        Command::Size { json } => {
            artefacts::build_probe(&root)?;
            size::print(&root, json)
        }
        Command::Bench(options) => bench::run_named(&root, &options),
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
