//! `cargo xtask size`: what a page and the dashboard download, as a table or as JSON, and the budgets they are held to.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::probe::{self, EXTENSIONS, FileSize, Sizes};
use crate::sources;

/// What script and Wasm together may come to, compressed as servers send it.
const PROBE_BROTLI: u64 = 22_000;
/// The stub is part of every page, so it counts alone.
const STUB_GZIP: u64 = 1_300;
/// All files of the dashboard together.
const DASHBOARD_GZIP: u64 = 91_200;

pub(crate) fn print(root: &Path, as_json: bool) -> Result<()> {
    let sizes = probe::size(root)?;
    let dashboard = Dashboard::built(root)?;
    if as_json {
        let files: Vec<_> = sizes.files.iter().map(json).collect();
        let (files, total, gzip) = (files.join(","), json(&sizes.total), dashboard.gzip());
        println!("{{\"files\":[{files}],\"total\":{total},\"dashboard\":{{\"gzip\":{gzip}}}}}");
    } else {
        print!("{sizes}");
        dashboard.print();
    }
    Ok(())
}

/// Fails when a budget is exceeded.
pub(crate) fn hold_budgets(root: &Path) -> Result<()> {
    let dashboard = Dashboard::built(root)?.gzip();
    println!("dashboard {dashboard} of {DASHBOARD_GZIP} bytes gzip");
    ensure!(dashboard <= DASHBOARD_GZIP, "the dashboard is {} bytes too large", dashboard - DASHBOARD_GZIP);
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

/// The built files of the dashboard: name, size on disk and size with `gzip -9`.
struct Dashboard(Vec<(String, u64, u64)>);

impl Dashboard {
    /// The build puts a compressed copy beside each file.
    fn built(root: &Path) -> Result<Self> {
        let dist = root.join("www/dist");
        let length = |path: &Path| Ok::<_, std::io::Error>(fs::metadata(path)?.len());
        let sizes = sources::files(&dist, &["gz"])?.into_iter().map(|compressed| {
            let raw = compressed.with_extension("");
            Ok((sources::shown(&dist, &raw), length(&raw)?, length(&compressed)?))
        });
        let sizes = sizes.collect::<Result<Vec<_>>>()?;
        ensure!(!sizes.is_empty(), "{} has no compressed file: build the dashboard", dist.display());
        Ok(Self(sizes))
    }

    fn gzip(&self) -> u64 {
        self.0.iter().map(|(_, _, gzip)| gzip).sum()
    }

    fn print(&self) {
        println!("\n{:<36} {:>9} {:>9}", "dashboard", "raw", "gzip");
        for (name, raw, gzip) in &self.0 {
            println!("{name:<36} {raw:>9} {gzip:>9}");
        }
        println!("{:<36} {:>9} {:>9} of {DASHBOARD_GZIP}", "total", "", self.gzip());
    }
}

fn stub(sizes: &Sizes) -> Result<u64> {
    let stub = sizes.files.iter().find(|file| file.name == "stub.js").context("the stub was not measured")?;
    Ok(stub.gzip)
}

fn json(FileSize { name, raw, gzip, brotli }: &FileSize) -> String {
    format!("{{\"name\":\"{name}\",\"raw\":{raw},\"gzip\":{gzip},\"brotli\":{brotli}}}")
}
