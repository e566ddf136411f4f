//! `cargo xtask fuzz [TARGET] [--runs N]`: feeds made-up input to what reads foreign bytes, on nightly
//! Rust. What it finds stays as a file; seeds are the recorded streams and what earlier finds left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::run::run;

/// What to fuzz, and for how long.
#[derive(Args)]
pub(crate) struct Options {
    /// Which target; every one when left out.
    target: Option<String>,
    /// Executions of each target.
    #[arg(long, default_value_t = 1_000_000)]
    runs: u64,
}

/// A crate's fuzz targets.
struct Targets {
    /// The folder that has `fuzz` in it.
    folder: &'static str,
    names: &'static [&'static str],
    /// Folders of input that is not made up, beside `fuzz/seeds/TARGET`.
    seeds: &'static [&'static str],
    /// Longest input, in bytes.
    longest: u32,
}

const TARGETS: &[Targets] = &[
    Targets {
        folder: "probe-core",
        names: &["framing", "json", "dialects", "calls"],
        seeds: &["tests/fixtures/streams"],
        longest: 4096,
    },
    Targets { folder: "collector", names: &["beacon", "config"], seeds: &[], longest: 4096 },
];

pub(crate) fn run_targets(root: &Path, options: &Options) -> Result<()> {
    let all = TARGETS.iter().flat_map(|targets| targets.names.iter().map(move |name| (targets, *name)));
    let wanted: Vec<_> =
        all.filter(|(_, name)| options.target.as_deref().is_none_or(|wanted| wanted == *name)).collect();
    ensure!(!wanted.is_empty(), "no such target; there are {}", names().join(", "));
    install()?;
    for (targets, name) in wanted {
        fuzz(root, targets, name, options.runs)?;
    }
    Ok(())
}

fn fuzz(root: &Path, targets: &Targets, name: &str, runs: u64) -> Result<()> {
    let fuzz = root.join(targets.folder).join("fuzz");
    let corpus = crate::artefacts::target_dir(root).join("fuzz-corpus").join(targets.folder).join(name);
    fs::create_dir_all(&corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    let mut seeds: Vec<PathBuf> = targets.seeds.iter().map(|folder| root.join(folder)).collect();
    seeds.extend(Some(fuzz.join("seeds").join(name)).filter(|folder| folder.exists()));
    // There is no unsafe code to watch with a sanitizer, which would take most of the time.
    run(Command::new("cargo")
        .current_dir(root.join(targets.folder))
        .args(["+nightly", "fuzz", "run", "--sanitizer", "none", name])
        .arg(corpus)
        .args(seeds)
        .args(["--", &format!("-runs={runs}"), &format!("-max_len={}", targets.longest)])
        .args(["-print_final_stats=1", "-verbosity=0"]))
    .with_context(|| {
        format!("{name} found something; the input lies in {}", fuzz.join("artifacts").display())
    })
}

/// Nightly Rust by rustup and cargo-fuzz by cargo, unless they are there.
fn install() -> Result<()> {
    if !works(Command::new("cargo").args(["+nightly", "--version"])) {
        run(Command::new("rustup").args(["toolchain", "install", "nightly", "--profile", "minimal"]))?;
    }
    if !works(Command::new("cargo").args(["fuzz", "--version"])) {
        run(Command::new("cargo").args(["install", "--quiet", "--locked", "cargo-fuzz"]))?;
    }
    Ok(())
}

fn works(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn names() -> Vec<&'static str> {
    TARGETS.iter().flat_map(|targets| targets.names).copied().collect()
}
