//! `cargo xtask fuzz [TARGET] [--runs N] [--keep]`: feeds made-up input to what reads foreign bytes, on
//! nightly Rust. What it finds stays as a file; it begins with the recorded streams and with what
//! earlier runs have left, and puts in words of `fuzz/words.dict`.

mod seeds;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::paths::target_dir;
use crate::run::run;

/// What to fuzz, and for how long.
#[derive(Args)]
pub(crate) struct Options {
    /// Which target; all of them by default.
    target: Option<String>,
    /// Executions of each target.
    #[arg(long, default_value_t = 1_000_000)]
    runs: u64,
    /// Afterwards, keep inputs in `fuzz/found` that reach code which no other input there reaches. Tests replay
    /// them.
    #[arg(long)]
    keep: bool,
}

/// A fuzz target.
struct Target {
    name: &'static str,
    /// The folder of its crate, which has `fuzz` in it.
    folder: &'static str,
    /// How a recorded stream is put to it, if it takes any.
    form: Option<seeds::Form>,
}

const TARGETS: [Target; 11] = [
    Target { name: "framing", folder: "probe-core", form: Some(seeds::framing) },
    Target { name: "json", folder: "probe-core", form: Some(seeds::json) },
    Target { name: "dialects", folder: "probe-core", form: Some(seeds::dialects) },
    Target { name: "calls", folder: "probe-core", form: Some(seeds::calls) },
    Target { name: "sockets", folder: "probe-core", form: None },
    Target { name: "beacon", folder: "collector", form: None },
    Target { name: "config", folder: "collector", form: None },
    Target { name: "journal", folder: "collector", form: None },
    Target { name: "engines", folder: "collector", form: None },
    Target { name: "facts", folder: "collector", form: None },
    Target { name: "otlp", folder: "collector", form: None },
];

/// Longest input, in bytes: some ten events, of which each is read in microseconds.
const LONGEST: usize = 2048;
/// Longest that is kept, so that the seeds stay small.
const LONGEST_KEPT: usize = 800;
/// An input takes microseconds; one that takes this long is a find.
const SECONDS: u32 = 10;

pub(crate) fn run_targets(root: &Path, options: &Options) -> Result<()> {
    let is_wanted = |target: &&Target| options.target.as_deref().is_none_or(|wanted| wanted == target.name);
    let wanted: Vec<_> = TARGETS.iter().filter(is_wanted).collect();
    let names = TARGETS.map(|target| target.name).join(", ");
    ensure!(!wanted.is_empty(), "no such target; there are {names}");
    install()?;
    for target in wanted {
        target.fuzz(root, options.runs)?;
        if options.keep {
            target.keep(root)?;
        }
    }
    Ok(())
}

impl Target {
    fn fuzz(&self, root: &Path, runs: u64) -> Result<()> {
        let fuzz = root.join(self.folder).join("fuzz");
        let words = fuzz.join("words.dict");
        run(self
            .cargo_fuzz(root)
            .args([&self.scratch(root, "corpus")?, &self.recorded(root)?])
            .args(["seeds", "found"].map(|kind| fuzz.join(kind).join(self.name)))
            .args(["--", &format!("-runs={runs}"), &format!("-max_len={LONGEST}")])
            .args([format!("-timeout={SECONDS}"), format!("-dict={}", words.display())])
            .args(["-print_final_stats=1", "-verbosity=0"]))
        .with_context(|| {
            format!("{} found something; the input lies in {}", self.name, fuzz.join("artifacts").display())
        })
    }

    /// Counts branches, not how often each was taken, for which there are many times more inputs.
    fn keep(&self, root: &Path) -> Result<()> {
        let found = root.join(self.folder).join("fuzz/found").join(self.name);
        fs::create_dir_all(&found)?;
        run(self
            .cargo_fuzz(root)
            .args([&found, &self.scratch(root, "corpus")?])
            .args(["--", "-set_cover_merge=1", "-use_counters=0", &format!("-max_len={LONGEST_KEPT}")])
            .arg("-verbosity=0"))
    }

    fn cargo_fuzz(&self, root: &Path) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(root.join(self.folder));
        // There is no unsafe code to watch with a sanitizer, which would take most of the time; sums that
        // overflow are watched.
        cargo.args(["+nightly", "fuzz", "run", "--sanitizer", "none", "--debug-assertions", self.name]);
        cargo
    }

    /// The recorded streams as inputs.
    fn recorded(&self, root: &Path) -> Result<PathBuf> {
        let folder = self.scratch(root, "recorded")?;
        if let Some(form) = self.form {
            let streams = seeds::recorded(&root.join("tests/fixtures/streams"), LONGEST * 3 / 4)?;
            for (at, input) in streams.iter().flat_map(form).enumerate() {
                fs::write(folder.join(at.to_string()), input)?;
            }
        }
        Ok(folder)
    }

    fn scratch(&self, root: &Path, kind: &str) -> Result<PathBuf> {
        let folder = target_dir(root).join("fuzz").join(kind).join(self.name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }
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
