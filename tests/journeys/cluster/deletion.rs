//! `llm-rum delete` in a cluster: one collector after the other, while the other runs.

use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context, Result, ensure};
use beacon::{Batch, StreamReport};
use serde_json::Value;
use tests::{ClickHouse, Collector, binary, eventually};
use tokio::process::Command;

use super::beacons::ended;

/// The tables with rows of a site.
const TABLES: [&str; 4] = ["windows", "streams", "samples", "counts"];

/// Two collectors that share a ClickHouse, of two sites.
pub(super) struct Cluster<'a> {
    folder: &'a Path,
    clickhouse: &'a ClickHouse,
}

impl<'a> Cluster<'a> {
    pub(super) fn new(folder: &'a Path, clickhouse: &'a ClickHouse) -> Result<Self> {
        let cluster = Self { folder, clickhouse };
        cluster.configure(&clickhouse.url)?;
        Ok(cluster)
    }

    /// Writes the configuration of both, with a ClickHouse at this address.
    pub(super) fn configure(&self, clickhouse: &str) -> Result<()> {
        let site = |name| format!("[[sites]]\nname = '{name}'\nkeys = ['{name}']\norigins = ['loopback']\n");
        let store = format!("[store.clickhouse]\nurl = '{clickhouse}'\npublish_seconds = 1\n");
        let limits = "settle_after_seconds = 3\n[limits]\nmodels = 1\n";
        Ok(std::fs::write(self.config(), format!("{limits}{store}{}{}", site("gone"), site("kept")))?)
    }

    pub(super) async fn start(&self, name: &str) -> Result<Collector> {
        let config = self.config();
        let config = config.to_str().context("a temporary folder has a plain name")?;
        Collector::start_with(&self.folder.join(name), &["--config", config]).await
    }

    fn config(&self) -> PathBuf {
        self.folder.join("sites.toml")
    }

    /// Sends streams of a site, from a number on.
    pub(super) async fn send(&self, collector: &Collector, site: &str, first: u64) -> Result<()> {
        let named = |number| StreamReport { model: Some(format!("{site}-{number}").into()), ..ended(number) };
        let reports = (first..first + STREAMS).map(named).collect();
        collector.send(site, serde_json::to_string(&Batch { reports })?).await
    }

    pub(super) async fn delete(&self, name: &str, more: &[&str]) -> Result<Output> {
        let mut command = Command::new(binary("llm-rum"));
        command.args(["delete", "--site", "gone", "--yes", "--config"]).arg(self.config());
        Ok(command.arg("--data").arg(self.folder.join(name)).args(more).output().await?)
    }

    /// Rows of the site that is deleted, of one collector or of all.
    pub(super) async fn rows(&self, collector: Option<&str>) -> Result<u64> {
        let mut rows = 0;
        for table in TABLES {
            let mut query = format!("SELECT count() FROM llm_rum.llm_rum_{table} WHERE site = 'gone'");
            collector.iter().for_each(|collector| query += &format!(" AND collector = '{collector}'"));
            let [count]: [u64; 1] = serde_json::from_str(&self.clickhouse.query(&query).await?)?;
            rows += count;
        }
        Ok(rows)
    }

    /// Waits until a site has so many streams.
    pub(super) async fn until(&self, collector: &Collector, site: &str, streams: u64) -> Result<Value> {
        let path = format!("/v1/summary?site={site}");
        let asked = eventually("streams of the site", || async {
            collector.get(&path).await.ok().filter(|summary| summary["streams"] == streams)
        });
        match asked.await {
            Ok(summary) => Ok(summary),
            Err(error) => Err(error.context(format!("{site}: {:#}", collector.get(&path).await?))),
        }
    }
}

/// What a deletion printed.
pub(super) fn printed(output: &Output, code: i32) -> Result<Value> {
    ensure!(output.status.code() == Some(code), "{output:?}");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The collectors of which rows are left.
pub(super) fn left(printed: &Value) -> Result<Vec<String>> {
    let left = printed["left"]["clickhouse"].as_object().context("rows by collector")?;
    Ok(left.keys().cloned().collect())
}

pub(super) const STREAMS: u64 = 20;
