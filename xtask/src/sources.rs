//! The project's own files: without what is installed, built or recorded.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// All files below `folder` with one of `extensions`, sorted.
pub(crate) fn files(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(folder, extensions, &mut found)?;
    found.sort();
    Ok(found)
}

/// `path` as people write it, from the root of the project.
pub(crate) fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn collect(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !name.starts_with('.') && !NOT_SOURCES.contains(&&*name) {
            collect(&path, extensions, found)?;
        } else if path.is_file()
            && extensions.iter().any(|extension| name.ends_with(&format!(".{extension}")))
        {
            found.push(path);
        }
    }
    Ok(())
}

/// Folders with files that nobody writes by hand.
const NOT_SOURCES: [&str; 7] =
    ["artifacts", "dist", "fixtures", "found", "llm-rum-data", "node_modules", "target"];
