//! What is built beside Rust: the probe, the dashboard and the demo page, which the binaries embed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::paths::target_dir;
use crate::run::run;
use crate::unchanged::Before;
use crate::{probe, tools};

/// Builds everything that the release binaries embed, then the binaries.
pub(crate) fn build(root: &Path) -> Result<()> {
    build_pages(root)?;
    run(Command::new("cargo").current_dir(root).args([
        "build",
        "--release",
        "-p",
        "collector",
        "-p",
        "demo-site",
    ]))
}

/// The probe, the dashboard and the demo page.
pub(crate) fn build_pages(root: &Path) -> Result<()> {
    let before = Before::of(EMBEDDED.map(|folder| root.join(folder)))?;
    build_probe(root)?;
    for folder in ["www", "demo-site/web"] {
        let folder = root.join(folder);
        tools::npm_packages(&folder)?;
        tools::npm_script(&folder, "build")?;
    }
    Ok(before.give_times_back()?)
}

/// The probe alone: Wasm, glue, facade, stub.
pub(crate) fn build_probe(root: &Path) -> Result<()> {
    tools::wasm_target()?;
    tools::npm_packages(&root.join("probe-wasm"))?;
    probe::build(root)
}

/// Where a release binary lies after [`build`].
pub(crate) fn binary(root: &Path, name: &str) -> PathBuf {
    target_dir(root).join("release").join(name)
}

/// What the binaries embed.
const EMBEDDED: [&str; 3] = ["probe-wasm/dist", "www/dist", "demo-site/web/dist"];
