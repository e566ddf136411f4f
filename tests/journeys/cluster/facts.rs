//! Timings of the backend in a cluster: each reaches the collector with the report of its stream, and counts once.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use beacon::{Batch, StreamReport};
use serde_json::{Value, json};
use tests::{ClickHouse, Collector, eventually, http};

use super::beacons::ended;
use super::both::{post, start_one};

#[tokio::test(flavor = "multi_thread")]
async fn a_fact_reaches_the_collector_with_the_report() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let clickhouse = ClickHouse::start(&folder.path().join("clickhouse")).await?;
    configure(folder.path(), &clickhouse.url)?;
    let start = async |number| start_one(folder.path(), number).await;
    let (mut one, mut other) = (start(0).await?, start(1).await?);

    // Both orders. Some facts arrive twice, at one collector or at both.
    for number in 0..STREAMS {
        if number % 2 == 0 {
            send_facts(&other, number..number + 1).await?;
        }
        report(&one, number, number).await?;
        if number % 2 == 1 || number % 3 == 0 {
            send_facts(&other, number..number + 1).await?;
        }
        if number % 5 == 0 {
            send_facts(&one, number..number + 1).await?;
        }
    }
    all_have_facts(&[&one, &other], STREAMS).await?;
    let sent = STREAMS + STREAMS.div_ceil(6) + STREAMS.div_ceil(5);
    let results = eventually("a result of each fact", async || {
        let results = results(&[&one, &other]).await.ok()?;
        (results["matched"] + results["shared"] + results["duplicate"] == sent).then_some(results)
    })
    .await?;
    ensure!(results["matched"] + results["claimed"] == STREAMS && results["expired"] == 0, "{results:?}");
    let streams = one.get("/v1/summary").await?["streams"].clone();
    ensure!(streams == STREAMS, "{streams} streams");

    // The collector that has the facts dies before it shares them.
    let mut total = STREAMS;
    send_facts(&other, total..total + STREAMS).await?;
    other.kill().await?;
    for number in total..total + STREAMS {
        report(&one, number, number).await?;
    }
    other = start(1).await?;
    total += STREAMS;
    all_have_facts(&[&one, &other], total).await?;

    // The collector that has the streams dies once it has claimed the facts.
    let claims = claims(&clickhouse).await?;
    for number in total..total + STREAMS {
        report(&one, number, number).await?;
    }
    send_facts(&other, total..total + STREAMS).await?;
    eventually("claims", async || (self::claims(&clickhouse).await.ok()? > claims).then_some(())).await?;
    one.kill().await?;
    one = start(0).await?;
    total += STREAMS;
    all_have_facts(&[&one, &other], total).await?;

    // Facts wait while ClickHouse is away.
    let start_again = clickhouse.stop().await?;
    send_facts(&other, total..total + STREAMS).await?;
    for number in total..total + STREAMS {
        report(&one, number, number).await?;
    }
    let clickhouse = start_again().await?;
    total += STREAMS;
    all_have_facts(&[&one, &other], total).await?;

    let text = "SELECT count(), countIf(position(concat(timing, id, site, layer), 'planted') > 0)
                FROM llm_rum.llm_rum_server_facts";
    let [rows, planted]: [u64; 2] = serde_json::from_str(&clickhouse.query(text).await?)?;
    ensure!(rows >= total && planted == 0, "{planted} of {rows} rows have a prompt");
    ensure!(one.terminate().await? == Some(0) && other.terminate().await? == Some(0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fact_goes_to_one_of_two_streams_of_a_cluster() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let clickhouse = ClickHouse::start(&folder.path().join("clickhouse")).await?;
    configure(folder.path(), &clickhouse.url)?;
    let mut cluster = Vec::new();
    for number in 0..3 {
        cluster.push(start_one(folder.path(), number).await?);
    }
    // A cached answer has the id of the first one.
    for number in 0..STREAMS {
        report(&cluster[0], number, number).await?;
        report(&cluster[1], number + STREAMS, number).await?;
    }
    send_facts(&cluster[2], 0..STREAMS).await?;
    let all: Vec<_> = cluster.iter().collect();
    let of_streams = |streams: Vec<StreamReport>| {
        let with_facts = streams.into_iter().filter(|stream| stream.layers.is_some());
        with_facts.filter_map(|stream| stream.response_id).collect::<Vec<_>>()
    };
    let mut ids = eventually("facts for one stream of each id", async || {
        let ids = of_streams(cluster[2].streams().await.ok()?);
        (ids.len() as u64 == STREAMS).then_some(ids)
    })
    .await?;
    ids.sort();
    ids.dedup();
    ensure!(ids.len() as u64 == STREAMS, "two streams have the same fact");
    let results = eventually("the counters", async || {
        let results = results(&all).await.ok()?;
        (results["claimed"] == STREAMS).then_some(results)
    })
    .await?;
    ensure!(results["shared"] == STREAMS && results["matched"] == 0, "{results:?}");
    Ok(())
}

/// Waits until all collectors answer with a timing of the app for so many streams.
async fn all_have_facts(collectors: &[&Collector], streams: u64) -> Result<()> {
    for collector in collectors {
        let app = async || {
            let layers = collector.get("/v1/server-layers?range=1h").await?;
            let all = layers["layers"].as_array().context("layers")?;
            let app = all.iter().find(|layer| layer["layer"] == "app").context("app")?;
            Ok::<_, anyhow::Error>((layers["streams"].clone(), app.clone()))
        };
        let has_all = eventually("facts of all streams", async || {
            let (all, app) = app().await.ok()?;
            (app["sent"] == streams && all == streams).then_some(())
        });
        if let Err(error) = has_all.await {
            return Err(error.context(format!("{streams} expected: {:#?}", app().await?)));
        }
    }
    Ok(())
}

/// Facts by result, over all collectors.
async fn results(collectors: &[&Collector]) -> Result<BTreeMap<String, u64>> {
    let mut results = BTreeMap::new();
    for collector in collectors {
        for line in collector.text("/metrics").await?.lines() {
            if let Some(rest) = line.strip_prefix("llm_rum_server_facts_total{result=\"")
                && let Some((result, count)) = rest.split_once("\"} ")
            {
                *results.entry(result.to_owned()).or_default() += count.parse::<f64>()? as u64;
            }
        }
    }
    Ok(results)
}

async fn claims(clickhouse: &ClickHouse) -> Result<u64> {
    let claims = "SELECT count() FROM llm_rum.llm_rum_server_fact_claims";
    let [claims]: [u64; 1] = serde_json::from_str(&clickhouse.query(claims).await?)?;
    Ok(claims)
}

async fn report(collector: &Collector, number: u64, response: u64) -> Result<()> {
    let response_id = Some(format!("chatcmpl-{response}").into());
    let report = StreamReport { response_id, ..ended(number) };
    post(collector, &serde_json::to_string(&Batch { reports: vec![report] })?).await
}

/// Sends a fact of each response, with a text that no collector may keep.
async fn send_facts(collector: &Collector, responses: std::ops::Range<u64>) -> Result<()> {
    let fact = |response: u64| -> Value {
        json!({ "id": format!("chatcmpl-{response}"), "layer": "app", "source": "test", "ttft_ms": 40 + response,
            "prompt": "planted", "messages": [{ "content": "planted" }] })
    };
    let facts: Vec<_> = responses.clone().map(fact).collect();
    let url = format!("{}/v1/server-timings?site=demo", collector.url);
    let answer = http().post(url).json(&json!({ "facts": facts })).send().await?.error_for_status()?;
    let answer: Value = answer.json().await?;
    ensure!(answer["accepted"] == responses.count(), "{answer}");
    Ok(())
}

fn configure(folder: &Path, clickhouse: &str) -> Result<()> {
    let config = format!(
        "settle_after_seconds = 3\n[server]\nwithout_token = true\n\
         [store.clickhouse]\nurl = \"{clickhouse}\"\npublish_seconds = 1\n"
    );
    Ok(std::fs::write(folder.join("cluster.toml"), config)?)
}

const STREAMS: u64 = 30;
