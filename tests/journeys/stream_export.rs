//! Exported streams in the programs that they are for.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use tests::Collector;
use tokio::process::Command;

use super::planted_incident::{CONFIG, demo_history, import};

#[tokio::test(flavor = "multi_thread")]
async fn duckdb_and_pandas_read_exports_and_files_of_streams() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("llm-rum.toml");
    // Most streams leave memory for files.
    let store = "[store]\nstreams_kept = 100\nrow_file_streams = 200\n";
    std::fs::write(&config, format!("{CONFIG}\n[dedupe]\nids = 100\n{store}"))?;
    let config = config.to_str().context("a temporary path is text")?;
    let data = folder.path().join("data");
    import(config, &data, &demo_history().await?).await?;

    let collector = Collector::start_with(&data, &["--config", config]).await?;
    let file = |name: &str| folder.path().join(name);
    for name in ["streams.parquet", "streams.ndjson"] {
        let exported =
            reqwest::get(format!("{}/v1/{name}?range=6h", collector.url)).await?.error_for_status()?;
        std::fs::write(file(name), exported.bytes().await?)?;
    }
    // A running collector may write the next file between two readers.
    ensure!(collector.terminate().await? == Some(0), "the collector does not stop in order");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut check = Command::new(here.join("../target/python/bin/python"));
    check.arg(here.join("stream_rows/check.py")).arg(file("streams.parquet")).arg(file("streams.ndjson"));
    check.arg(data.join("streams"));
    let checked = check.output().await.context("cannot start Python: `cargo xtask test` installs it")?;
    let said = String::from_utf8_lossy(&checked.stdout) + String::from_utf8_lossy(&checked.stderr);
    let streams = said.split(' ').next().and_then(|streams| streams.parse::<u32>().ok());
    ensure!(checked.status.success() && streams >= Some(1_000), "{said}");
    Ok(())
}
