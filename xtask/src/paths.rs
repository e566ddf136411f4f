//! Where cargo puts what it builds.

use std::path::{Path, PathBuf};

/// Cargo's target folder: `CARGO_TARGET_DIR` where it is set, else `target` in the workspace.
pub(crate) fn target_dir(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder))
}
