//! `cargo xtask dist`: puts the files of a release into `target/dist`. The same sources give the same files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use clap::Args;
use sha2::{Digest, Sha256};

use crate::artefacts::{self, DASHBOARD, PROBE};
use crate::paths::{cargo_home, target_dir};
use crate::profile::Profile;
use crate::run::{output, run};
use crate::stamp::hex;
use crate::steps::Steps;
use crate::{notices, tools};

/// What to accept, and how much to print.
#[derive(Args)]
pub(crate) struct Options {
    /// Fail if the collector cannot be linked statically.
    #[arg(long = "static")]
    is_static: bool,
    /// Print the commands of each step and their output.
    #[arg(long)]
    verbose: bool,
}

pub(crate) fn make(root: &Path, options: &Options) -> Result<()> {
    let mut steps = Steps::new(6, options.verbose);
    let target = steps.step("Rust targets", || {
        tools::wasm_target()?;
        let target = target()?;
        match &target.not_static {
            Some(reason) if options.is_static => bail!("the collector cannot be linked statically: {reason}"),
            _ => Ok(target),
        }
    })?;
    steps.step("npm packages", || {
        tools::npm_packages(&root.join(PROBE))?;
        DASHBOARD.install(root)
    })?;
    steps.product("probe (Wasm)", || artefacts::probe(root, Profile::Release))?;
    steps.product("dashboard", || DASHBOARD.build(root))?;
    let program = steps.step(&format!("collector for {}", target.name), || collector(root, &target.name))?;
    let dist = target_dir(root).join("dist");
    steps.step("files, notices and checksums", || fill(root, &dist, &target.name, &program))?;
    if let Some(reason) = target.not_static {
        println!("the collector is not static and needs a C library like this machine's: {reason}");
    }
    print!("{}", fs::read_to_string(dist.join(SUMS))?);
    println!("{}", dist.display());
    Ok(())
}

/// What the collector is built for.
struct Target {
    name: String,
    /// Why it is not linked statically, if it is not.
    not_static: Option<String>,
}

/// On Linux the one that links statically, if it can be installed.
fn target() -> Result<Target> {
    let host = notices::host()?;
    let Some(start) = host.strip_suffix("-linux-gnu") else {
        return Ok(Target { not_static: Some(format!("{host} has no static C library")), name: host });
    };
    let name = format!("{start}-linux-musl");
    let installed = tools::rust_target(&name).and_then(|()| tools::programs(&[tools::MUSL_GCC]));
    Ok(match installed {
        Ok(()) => Target { name, not_static: None },
        Err(error) => Target { name: host, not_static: Some(format!("{error:#}")) },
    })
}

/// Builds the release's program, in which no path of this machine is left.
fn collector(root: &Path, target: &str) -> Result<PathBuf> {
    notices::write(root, target)?;
    let cargo_home = cargo_home()?;
    let paths = [(root, "/llm-rum"), (&cargo_home, "/cargo")];
    let remapped = paths.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    let mapped = paths.map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display()));
    run(Command::new("cargo")
        .current_dir(root)
        .args(["build", "--release", "--locked", "--package", "collector", "--target", target])
        // This form allows for spaces in paths.
        .env("CARGO_ENCODED_RUSTFLAGS", remapped.join("\u{1f}"))
        .env(format!("CFLAGS_{}", target.replace('-', "_")), mapped.join(" "))
        // C compilers take `__TIME__` from here; mimalloc has it in a text.
        .env("SOURCE_DATE_EPOCH", TIME.as_secs().to_string()))?;
    Ok(target_dir(root).join(target).join("release").join("llm-rum"))
}

/// Makes the folder anew. All files have one time: theirs would differ from build to build.
fn fill(root: &Path, dist: &Path, target: &str, program: &Path) -> Result<()> {
    if dist.exists() {
        fs::remove_dir_all(dist)?;
    }
    fs::create_dir_all(dist)?;
    for (from, name) in FILES {
        copy(&root.join(from), &dist.join(name))?;
    }
    copy(program, &dist.join("llm-rum"))?;
    let package = format!("llm-rum-{}.tgz", env!("CARGO_PKG_VERSION"));
    copy(&root.join(PROBE).join("dist/llm-rum.tgz"), &dist.join(package))?;
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    copy(&Path::new(sysroot.trim()).join(STANDARD_LIBRARY), &dist.join("RUST-STANDARD-LIBRARY.html"))?;
    fs::write(dist.join(notices::FILE), notices::text(root, target)?)?;
    fs::write(dist.join(SUMS), checksums(dist)?)?;
    for entry in fs::read_dir(dist)? {
        File::options().append(true).open(entry?.path())?.set_modified(SystemTime::UNIX_EPOCH + TIME)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// As `sha256sum --check` reads them.
fn checksums(folder: &Path) -> Result<String> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut files = entries.collect::<Result<Vec<_>>>()?;
    files.sort();
    let line = |path: &PathBuf| {
        let name = path.file_name().context("a file has a name")?.to_string_lossy();
        Ok(format!("{}  {name}\n", hex(Sha256::new_with_prefix(fs::read(path)?))))
    };
    files.iter().map(line).collect()
}

const SUMS: &str = "SHA256SUMS";

const FILES: [(&str, &str); 5] = [
    ("deploy/llm-rum.service", "llm-rum.service"),
    ("deploy/llm-rum.toml", "llm-rum.toml"),
    ("LICENSE", "LICENSE"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("LICENSE-MIT", "LICENSE-MIT"),
];

/// The licences of Rust's own library, below the folder of the toolchain.
const STANDARD_LIBRARY: &str = "share/doc/rust/COPYRIGHT-library.html";

/// 1985-10-26, which npm gives the files of every package.
const TIME: Duration = Duration::from_secs(499_162_500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_have_the_sorted_format_of_sha256sum() {
        let folder = std::env::temp_dir().join(format!("llm-rum-sums-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("b"), "b\n").unwrap();
        fs::write(folder.join("a"), "").unwrap();
        assert_eq!(
            checksums(&folder).unwrap(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n\
             0263829989b6fd954f72baaf2fc64bc2e2f01d692d4de72986ea808f6e99813f  b\n"
        );
        fs::remove_dir_all(folder).unwrap();
    }
}
