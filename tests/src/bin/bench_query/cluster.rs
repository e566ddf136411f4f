//! The same month in ClickHouse: the collector publishes its newest two days, and one is copied to the days
//! before it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use rusqlite::Connection;
use tests::{ClickHouse, Collector};

use crate::history::{self, DAYS};

/// A running engine that holds it.
pub(crate) struct Month {
    clickhouse: ClickHouse,
    data: PathBuf,
}

impl Month {
    pub(crate) async fn make(folder: &Path) -> Result<Self> {
        let now = history::a_day(folder).await?;
        let clickhouse = ClickHouse::start(&folder.join("clickhouse")).await?;
        let month = Self { clickhouse, data: folder.to_owned() };
        let collector = month.start().await?;
        let store = Connection::open(folder.join(history::FILE))?;
        while store.query_row(UNPUBLISHED, [now - 5], |row| row.get::<_, i64>(0))? > 0 {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let yesterday = history::yesterday(now);
        for days in 1..DAYS {
            for table in ["windows", "spans"] {
                let copy = format!(
                    "INSERT INTO llm_rum.llm_rum_{table} SELECT * REPLACE (start - 1440 * {days} AS start)
                     FROM (SELECT * FROM llm_rum.llm_rum_{table} FINAL
                           WHERE length >= 60 AND start >= {yesterday} AND start < {yesterday} + 1440)"
                );
                month.clickhouse.query(&copy).await?;
            }
        }
        history::check(&collector).await?;
        ensure!(collector.terminate().await? == Some(0), "the collector did not stop well");
        Ok(month)
    }

    /// A collector that asks it.
    pub(crate) async fn start(&self) -> Result<Collector> {
        let url = &self.clickhouse.url;
        let more = format!("[store.clickhouse]\nurl = \"{url}\"\ntimeout_seconds = 120\n");
        history::start_with(&self.data, &more).await
    }

    /// Puts all rows of a month into one part.
    pub(crate) async fn merge(&self) -> Result<()> {
        self.clickhouse.query("OPTIMIZE TABLE llm_rum.llm_rum_windows FINAL").await?;
        Ok(())
    }

    /// Of its windows on disk.
    pub(crate) async fn megabytes(&self) -> Result<f64> {
        let size = "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'llm_rum_windows'";
        let [bytes]: [f64; 1] = serde_json::from_str(&self.clickhouse.query(size).await?)?;
        Ok(bytes / 1e6)
    }
}

/// What ClickHouse does not have of what is over.
const UNPUBLISHED: &str = "SELECT (SELECT count(*) FROM outbox)
    + (SELECT count(*) FROM spans WHERE told <> changes * 2 + 1 AND start + length < ?1)";
