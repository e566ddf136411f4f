//! Visits: a tab whose reports reach several collectors is one visit, because they share the key of the day.

use std::fs;

use anyhow::{Result, ensure};
use beacon::{Batch, StreamReport};
use tests::{ClickHouse, Collector, eventually};

use super::beacons::ended;
use super::both::{post, start_one};
use super::clock::{DAY_MS, now_ms};
use super::configure;

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_is_one_visit_for_all_collectors() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let clickhouse = ClickHouse::start(&folder.path().join("clickhouse")).await?;
    configure(folder.path(), &clickhouse.url)?;
    let [one, other] = [start_one(folder.path(), 0).await?, start_one(folder.path(), 1).await?];
    for (number, collector) in [&one, &other].into_iter().enumerate() {
        send(collector, number as u64, "first", "a").await?;
    }
    let key_of = |number| fs::read(folder.path().join(format!("cluster-{number}/visits.key"))).ok();
    eventually("one key", async || (key_of(0)? == key_of(1)?).then_some(())).await?;

    for (number, collector) in [&one, &other, &one].into_iter().enumerate() {
        send(collector, 10 + number as u64, "second", ["a", "a", "b"][number]).await?;
    }
    let visits = eventually("three streams", async || {
        let visits = other.get("/v1/visits?use_case=second").await.ok()?;
        (visits["streams"] == 3).then_some(visits)
    })
    .await?;
    ensure!(visits["visits"] == 2, "{visits}");

    let yesterday = now_ms() / DAY_MS - 1;
    clickhouse.query(&format!("INSERT INTO {KEYS} VALUES ({yesterday}, 'secret')")).await?;
    ensure!(one.terminate().await? == Some(0));
    let one = start_one(folder.path(), 0).await?;
    let key = key_of(0);
    eventually("the key of yesterday to be deleted", async || {
        (clickhouse.query(&format!("SELECT count() FROM {KEYS}")).await.ok()? == "[1]").then_some(())
    })
    .await?;
    ensure!(key.is_some() && key == key_of(0), "a restart keeps the key");
    ensure!(one.terminate().await? == Some(0) && other.terminate().await? == Some(0));
    Ok(())
}

async fn send(collector: &Collector, number: u64, use_case: &'static str, tab: &'static str) -> Result<()> {
    let report = StreamReport { use_case: Some(use_case.into()), visit: Some(tab.into()), ..ended(number) };
    post(collector, &serde_json::to_string(&Batch { reports: vec![report] })?).await
}

const KEYS: &str = "llm_rum.llm_rum_visit_keys";
