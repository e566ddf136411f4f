//! The suite in `conformance/`, with the probe, in every engine: what an app does with fetch comes to the
//! same with and without it.

use anyhow::{Result, ensure};
use tests::{Engine, Table, conformance};

/// As many as were there when this was written: a suite that lost its checks would pass.
const CHECKS: usize = 310;

#[tokio::test(flavor = "multi_thread")]
async fn fetch_is_the_same_with_the_probe_in_every_engine() -> Result<()> {
    let mut table = Table::default();
    for engine in Engine::ALL {
        let rows = conformance(engine, "llm-rum", "").await?;
        ensure!(rows.len() >= CHECKS, "{} checks in {engine}", rows.len());
        table.add("llm-rum", engine, rows);
    }
    println!("{table}");
    let failures: Vec<_> = table.failures().collect();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}
