//! `cargo xtask size`: what a page downloads, as a table or as JSON, and the budgets it is held to.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::probe::{self, EXTENSIONS, FileSize, Sizes};

/// What script and Wasm together may come to, compressed as servers send it.
const PROBE_BROTLI: u64 = 22_000;
/// The stub is part of every page, so it counts alone.
const STUB_GZIP: u64 = 1_300;

pub(crate) fn print(root: &Path, as_json: bool) -> Result<()> {
    let sizes = probe::size(root)?;
    if as_json {
        let files: Vec<_> = sizes.files.iter().map(json).collect();
        println!("{{\"files\":[{}],\"total\":{}}}", files.join(","), json(&sizes.total));
    } else {
        print!("{sizes}");
    }
    Ok(())
}

/// Fails when a budget is exceeded.
pub(crate) fn hold_budgets(root: &Path) -> Result<()> {
    let sizes = probe::size(root)?;
    let stub = stub(&sizes)?;
    println!(
        "probe {} of {PROBE_BROTLI} bytes brotli, stub {stub} of {STUB_GZIP} bytes gzip",
        sizes.total.brotli
    );
    ensure!(
        sizes.total.brotli <= PROBE_BROTLI,
        "the probe is {} bytes too large",
        sizes.total.brotli - PROBE_BROTLI
    );
    ensure!(stub <= STUB_GZIP, "the stub is {} bytes too large", stub - STUB_GZIP);
    for (name, _, budget) in EXTENSIONS {
        let brotli = sizes.of(name)?.brotli;
        ensure!(brotli <= budget, "{name} is {} bytes too large", brotli - budget);
    }
    Ok(())
}

fn stub(sizes: &Sizes) -> Result<u64> {
    let stub = sizes.files.iter().find(|file| file.name == "stub.js").context("the stub was not measured")?;
    Ok(stub.gzip)
}

fn json(FileSize { name, raw, gzip, brotli }: &FileSize) -> String {
    format!("{{\"name\":\"{name}\",\"raw\":{raw},\"gzip\":{gzip},\"brotli\":{brotli}}}")
}
