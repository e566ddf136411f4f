//! `cargo xtask screenshots`: the demo's history in a real collector, then a picture of each state.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::run::show;
use crate::{artefacts, tools};

pub(crate) fn take(root: &Path) -> Result<()> {
    tools::programs(&[tools::CHROMIUM, tools::CHROMEDRIVER])?;
    artefacts::build(root)?;
    let folder = root.join("docs/images");
    std::fs::create_dir_all(&folder)?;
    show(
        Command::new("cargo")
            .current_dir(root)
            .args(["run", "--release", "-q", "-p", "tests", "--bin", "screenshots", "--"])
            .arg(&folder),
    )
}
