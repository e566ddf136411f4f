//! The same in ClickHouse: a collector publishes the day, and another the streams that it remembers, into a
//! real engine; goes out what they take there, and how long it took.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rusqlite::Connection;
use tests::{ClickHouse, Collector, Usage};

use crate::disk;

/// What was published.
pub(crate) struct Cluster {
    /// Windows of a day.
    pub(crate) day: Published,
    /// Single streams.
    pub(crate) streams: Published,
}

/// Rows that one collector brought into a table.
pub(crate) struct Published {
    pub(crate) table: &'static str,
    pub(crate) rows: u64,
    /// After all parts were merged into one.
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    /// Of the collector.
    pub(crate) cpu_seconds: f64,
    /// Of the engine and the HTTP before it.
    pub(crate) engine_cpu_seconds: f64,
}

impl Cluster {
    pub(crate) async fn of(folder: &Path, day: &Path, streams: &Path) -> Result<Self> {
        let clickhouse = ClickHouse::start(&folder.join("clickhouse")).await?;
        let day = publish(folder, &clickhouse, day, "windows").await?;
        let streams = publish(folder, &clickhouse, streams, "streams").await?;
        Ok(Self { day, streams })
    }
}

/// Starts a collector on a folder that was never published, and waits until all of it is.
async fn publish(
    folder: &Path,
    clickhouse: &ClickHouse,
    data: &Path,
    table: &'static str,
) -> Result<Published> {
    let config = folder.join("cluster.toml");
    std::fs::write(
        &config,
        format!("[store.clickhouse]\nurl = \"{}\"\npublish_seconds = 1\n", clickhouse.url),
    )?;
    let engine = Usage::of(clickhouse.pid())?;
    let begun = Instant::now();
    let collector =
        Collector::start_with(data, &["--config", config.to_str().context("a plain name")?]).await?;
    let store = Connection::open(data.join(disk::FILE))?;
    store.busy_timeout(Duration::from_secs(5))?;
    while store.query_row(UNPUBLISHED, [], |row| row.get::<_, i64>(0))? > 0 {
        ensure!(begun.elapsed() < LONGEST, "not published within {LONGEST:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let cpu_seconds = Usage::of(collector.pid())?.cpu.as_secs_f64();
    let engine_cpu_seconds = (Usage::of(clickhouse.pid())?.cpu - engine.cpu).as_secs_f64();
    ensure!(collector.terminate().await? == Some(0), "the collector did not stop well");
    clickhouse.query(&format!("OPTIMIZE TABLE llm_rum.llm_rum_{table} FINAL")).await?;
    let parts = format!(
        "SELECT sum(rows), sum(bytes_on_disk) FROM system.parts
         WHERE active AND database = 'llm_rum' AND table = 'llm_rum_{table}'"
    );
    let [rows, bytes] = serde_json::from_str(&clickhouse.query(&parts).await?)?;
    Ok(Published { table, rows, bytes, seconds, cpu_seconds, engine_cpu_seconds })
}

/// Minutes, spans and streams that ClickHouse does not have.
const UNPUBLISHED: &str = "SELECT (SELECT count(*) FROM outbox)
    + (SELECT count(*) FROM spans WHERE told <> changes * 2 + (summed = changes))
    + (SELECT flush = 0 OR sent < stored FROM collector)";

const LONGEST: Duration = Duration::from_secs(300);
