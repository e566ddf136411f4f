//! Runs the suite in `conformance/` with the probe in every engine: `fetch` behaves the same with and without it.

use anyhow::{Context, Result, ensure};
use tests::{Engine, Table, conformance};

use crate::where_nothing_halts;

const README: &str = include_str!("../../README.md");

#[tokio::test(flavor = "multi_thread")]
async fn fetch_is_the_same_with_the_probe_in_every_engine() -> Result<()> {
    let mut table = Table::default();
    let mut failures = Vec::new();
    for engine in Engine::ALL {
        match where_nothing_halts(fetch_is_the_same, engine).await {
            Ok(column) => table.append(column),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    println!("{table}");
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

async fn fetch_is_the_same(engine: Engine) -> Result<Table> {
    let rows = conformance(engine, "llm-rum", "").await.with_context(|| format!("in {engine}"))?;
    let checks = documented_count()?;
    ensure!(rows.len() == checks, "{} checks ran in {engine}, but the README says {checks}", rows.len());
    let mut table = Table::default();
    table.add("llm-rum", engine, rows);
    let failures: Vec<_> = table.failures().collect();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(table)
}

/// The number of checks in the README. Without this comparison a suite that lost its checks would pass.
fn documented_count() -> Result<usize> {
    let (before, _) =
        README.split_once(" checks](tests/conformance").context("the README names the suite")?;
    Ok(before.rsplit('[').next().context("a number")?.parse()?)
}
