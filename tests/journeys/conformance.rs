//! The suite in `conformance/`, with the probe, in every engine: what an app does with fetch comes to the
//! same with and without it.

use anyhow::{Context, Result, ensure};
use tests::{Engine, Table, conformance};

const README: &str = include_str!("../../README.md");

#[tokio::test(flavor = "multi_thread")]
async fn fetch_is_the_same_with_the_probe_in_every_engine() -> Result<()> {
    let checks = told()?;
    let mut table = Table::default();
    for engine in Engine::ALL {
        let rows = conformance(engine, "llm-rum", "").await?;
        ensure!(rows.len() == checks, "{} checks in {engine}, and {checks} in the README", rows.len());
        table.add("llm-rum", engine, rows);
    }
    println!("{table}");
    let failures: Vec<_> = table.failures().collect();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// As many as the README says: a suite that lost its checks would pass.
fn told() -> Result<usize> {
    let (before, _) =
        README.split_once(" checks](tests/conformance").context("the README names the suite")?;
    Ok(before.rsplit('[').next().context("a number")?.parse()?)
}
