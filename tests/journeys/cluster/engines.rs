//! Figures of engines: each collector publishes those of its scrapes, and all answer with the same.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use rusqlite::Connection;
use serde_json::{Value, json};
use tests::{ClickHouse, Collector, eventually};

use super::both::start_one;
use super::clock::now_ms;
use super::configure;

#[tokio::test(flavor = "multi_thread")]
async fn all_collectors_answer_with_the_engines_of_each() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let clickhouse = ClickHouse::start(&folder.path().join("clickhouse")).await?;
    configure(folder.path(), &clickhouse.url)?;
    let minute = now_ms() / 60_000 - 20;
    for number in [0, 1] {
        let before = start_one(folder.path(), number).await?;
        ensure!(before.terminate().await? == Some(0));
    }
    // Both scrape `gpu-1`, and each an engine of its own. The other figures are unknown.
    scraped(folder.path(), 0, &[(minute, "gpu-1", "m", 3.0), (minute + 1, "gpu-2", "m", 4.0)])?;
    scraped(folder.path(), 1, &[(minute, "gpu-1", "m", 3.0), (minute, "gpu-3", "it's", 0.0)])?;
    let [one, other] = [start_one(folder.path(), 0).await?, start_one(folder.path(), 1).await?];
    let all = json!({ "it's": [[minute, 0.0]], "m": [[minute, 3.0], [minute + 1, 4.0]] });
    for collector in [&one, &other] {
        let has_all = async || (waiting(collector).await.ok()? == all).then_some(());
        eventually("the engines of both", has_all).await?;
    }

    // A collector that starts again sends only what ClickHouse lacks.
    let rows = "SELECT count() FROM llm_rum.llm_rum_engine_minutes";
    clickhouse
        .query("ALTER TABLE llm_rum.llm_rum_engine_minutes DELETE WHERE 1 SETTINGS mutations_sync = 2")
        .await?;
    ensure!(one.terminate().await? == Some(0));
    scraped(folder.path(), 0, &[(minute + 15, "gpu-2", "m", 2.0)])?;
    let one = start_one(folder.path(), 0).await?;
    let has_new =
        async || (waiting(&other).await.ok()? == json!({ "m": [[minute + 15, 2.0]] })).then_some(());
    eventually("the minute since then", has_new).await?;
    let [count]: [u64; 1] = serde_json::from_str(&clickhouse.query(rows).await?)?;
    ensure!(count == 1, "{count} rows");
    ensure!(one.terminate().await? == Some(0) && other.terminate().await? == Some(0));
    Ok(())
}

/// Stores what a collector that is stopped would have scraped.
fn scraped(folder: &Path, number: usize, rows: &[(i64, &str, &str, f64)]) -> Result<()> {
    let store = Connection::open(folder.join(format!("cluster-{number}/llm-rum.sqlite")))?;
    for row in rows {
        store.execute(
            "INSERT INTO engine_minutes (minute, engine, model, site, waiting_max, waiting_mean, waiting_scrapes,
                 running_scrapes)
             VALUES (?1, ?2, ?3, '', ?4, ?4, 6, 0)",
            *row,
        )?;
    }
    Ok(())
}

/// Requests that waited, by model: the minutes that have the figure. No other figure is known.
async fn waiting(collector: &Collector) -> Result<Value> {
    let answer = collector.get("/v1/engines?range=1h").await?;
    let models = answer["models"].as_array().context("models")?;
    let of_model = |model: &Value| {
        let points = model["points"].as_array().context("points")?;
        ensure!(points.iter().all(|point| point["running_max"].is_null() && point["preemptions"].is_null()));
        let known = points.iter().filter(|point| point["waiting_max"].is_number());
        let minutes = known.map(|point| {
            let minute = point["timestamp_ms"].as_i64().unwrap_or_default() / 60_000;
            json!([minute, point["waiting_max"]])
        });
        let name = model["model"].as_str().context("a name")?.to_owned();
        Ok((name, Value::Array(minutes.collect())))
    };
    Ok(Value::Object(models.iter().map(of_model).collect::<Result<_>>()?))
}
