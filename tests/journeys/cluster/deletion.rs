//! `llm-rum delete` in a cluster: one collector after the other, while the other runs.

use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context, Result, ensure};
use beacon::{Batch, StreamReport};
use serde_json::{Value, json};
use tests::{ClickHouse, Collector, binary, eventually, http};
use tokio::process::Command;

use super::beacons::ended;

/// The tables with rows of a site.
const TABLES: [&str; 6] = ["windows", "streams", "samples", "counts", "server_facts", "server_fact_claims"];

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
        let limits = "settle_after_seconds = 3\n[server]\nwithout_token = true\n[limits]\nmodels = 1\n";
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
        let named = |number| {
            let id = format!("{site}-{number}");
            StreamReport { model: Some(id.clone().into()), response_id: Some(id.into()), ..ended(number) }
        };
        let reports = (first..first + STREAMS).map(named).collect();
        collector.send(site, serde_json::to_string(&Batch { reports })?).await
    }

    /// Sends a fact of the backend for a stream, and waits until the collectors have it, and so many claims.
    pub(super) async fn send_fact(&self, collector: &Collector, number: u64, claims: u64) -> Result<()> {
        let fact =
            json!([{ "id": format!("gone-{number}"), "layer": "app", "source": "test", "ttft_ms": 5 }]);
        let url = format!("{}/v1/server-timings?site=gone", collector.url);
        http().post(url).json(&fact).send().await?.error_for_status()?;
        let rows = format!(
            "SELECT (SELECT count() FROM llm_rum.llm_rum_server_facts WHERE id = 'gone-{number}'),
                (SELECT count() FROM llm_rum.llm_rum_server_fact_claims)"
        );
        eventually("a shared fact", async || {
            let [facts, claimed]: [u64; 2] =
                serde_json::from_str(&self.clickhouse.query(&rows).await.ok()?).ok()?;
            (facts > 0 && claimed == claims).then_some(())
        })
        .await
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
