//! `cargo xtask conformance`: the table of the conformance suite, for the probe and for others beside it.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::run::show;
use crate::{artefacts, tools};

/// Whose table to print.
#[derive(Args)]
pub(crate) struct Options {
    /// Another SDK to compare with: `opentelemetry`, `sentry`, `sentry-streams`, `elastic`, `datadog`, or the
    /// name of a file in `tests/conformance/sdks`. May be given more than once.
    #[arg(long)]
    sdk: Vec<String>,
}

/// Makes the SDKs of others from npm loadable by pages.
pub(crate) fn bundle_others(root: &Path) -> Result<()> {
    let suite = root.join("tests/conformance");
    tools::npm_packages(&suite)?;
    tools::npm_script(&suite, "build")
}

pub(crate) fn print(root: &Path, options: &Options) -> Result<()> {
    tools::browsers(root)?;
    artefacts::build(root)?;
    if !options.sdk.is_empty() {
        bundle_others(root)?;
    }
    let mut table = Command::new("cargo");
    table.current_dir(root).args(["run", "--release", "-q", "-p", "tests", "--bin", "conformance", "--"]);
    show(table.arg("llm-rum").args(&options.sdk))
}
