//! Folders of cargo.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Cargo's target folder: `CARGO_TARGET_DIR` where it is set, else `target` in the workspace.
pub(crate) fn target_dir(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder))
}

/// The folder with the sources of dependencies.
pub(crate) fn cargo_home() -> Result<PathBuf> {
    match std::env::var_os("CARGO_HOME") {
        Some(home) => Ok(home.into()),
        None => Ok(std::env::home_dir().context("there is no home folder")?.join(".cargo")),
    }
}
