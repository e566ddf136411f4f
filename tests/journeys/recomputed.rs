//! What the collector answers is what follows from the single reports by the definitions: a day of made-up
//! streams of several sites, and answers that a page has really read, worked out a second time.

mod answers;
mod budgets;
mod made_up;
mod prometheus;

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests::{ClockFile, Collector, eventually};

use crate::Stage;
use answers::check_all;
use made_up::MadeUp;

/// The collector's clock moves six minutes on after each batch, so that there are hours to tell apart.
#[tokio::test(flavor = "multi_thread")]
async fn every_figure_of_a_day_follows_from_its_reports() -> Result<()> {
    let data = tempfile::tempdir()?;
    let config = data.path().join("llm-rum.toml");
    std::fs::write(&config, SITES)?;
    let arguments = ["--config", config.to_str().unwrap_or_default()];
    let clock = ClockFile::new(data.path(), DAY)?;
    let collector = Collector::start_by_clock(data.path(), &clock, &arguments).await?;
    let mut made_up = MadeUp::new(20_261_122);
    let mut sent = 0;
    for batch in 0..BATCHES {
        let reports = made_up.batch(1 + batch % 17);
        sent += reports.len();
        let site = ["one", "two", "three"][batch % 3];
        collector.send(site, json!({ "reports": reports }).to_string()).await?;
        clock.set(DAY.saturating_sub(BETWEEN * (batch as u32 + 1)))?;
        if batch % BATCHES_UNTIL_FLUSH == 0 {
            all_received(&collector, sent).await?;
        }
    }
    // By then no stream is open.
    clock.set(DAY.saturating_sub(BETWEEN * BATCHES as u32 + IDLE))?;
    let reports = all_counted(&collector, sent).await?;
    let files = std::fs::read_dir(data.path().join("streams"))?.count();
    ensure!(files >= 3, "{files} files of streams are too few to test them");
    check_all(&collector, &reports, &["one", "two", "three"]).await?;
    let books = collector.get("/v1/accounting").await?;
    ensure!(books["reports"]["received"] == sent && ended(&books) == Some(sent), "{books}");
    ensure!(books["streams"]["apart"]["background"].as_u64() > Some(0), "{books}");
    collector.terminate().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_figure_of_streams_in_a_page_follows_from_reports() -> Result<()> {
    let stage = Stage::set().await?;
    stage.open("").await?;
    stage.browser.run(READ_MANY, vec![PAGE_STREAMS.into(), json!(WAYS)]).await?;
    stage.ended_ids(PAGE_STREAMS).await?;
    stage.browser.run("await window.llmRum.probe.flush();", vec![]).await?;
    let reports = all_counted(&stage.collector, PAGE_STREAMS).await?;
    check_all(&stage.collector, &reports, &["demo"]).await?;
    stage.browser.close().await
}

async fn all_received(collector: &Collector, sent: usize) -> Result<()> {
    eventually("all reports to be stored", || async {
        let books = collector.get("/v1/accounting").await.ok()?;
        (books["reports"]["received"].as_u64()? as usize >= sent).then_some(())
    })
    .await
}

/// Every report, once so many streams have ended and are counted.
async fn all_counted(collector: &Collector, sent: usize) -> Result<Vec<Value>> {
    eventually("all streams to be counted", || async {
        let books = collector.get("/v1/accounting").await.ok()?;
        (ended(&books)? >= sent).then_some(())
    })
    .await?;
    // The list has only the newest, and an export streams of one kind.
    let mut reports = Vec::new();
    for kind in ["answer", "background"] {
        let lines = collector.text(&format!("/v1/streams.ndjson?range=30d&stream_kind={kind}")).await?;
        for line in lines.lines() {
            reports.push(serde_json::from_str(line)?);
        }
    }
    ensure!(reports.len() == sent, "{} of {sent} streams are exported", reports.len());
    Ok(reports)
}

/// Streams that are counted, or kept apart from those.
fn ended(books: &Value) -> Option<usize> {
    let apart = books["streams"]["apart"].as_object()?.values().filter_map(Value::as_u64);
    Some((books["streams"]["counted"].as_u64()? + apart.sum::<u64>()) as usize)
}

/// Most streams are in files.
const SITES: &str = r#"
settle_after_seconds = 30

[store]
windows_hours = 1000
streams_kept = 100
row_file_streams = 150

[dedupe]
ids = 100
minutes = 1

[[sites]]
name = "one"
keys = ["one"]
origins = ["loopback"]
attributes = ["plan", "team"]
use_case = "chat"

[[sites]]
name = "two"
keys = ["two"]
origins = ["loopback"]
attributes = ["plan", "team"]
use_case = "coding"

[[sites]]
name = "three"
keys = ["three"]
origins = ["loopback"]
attributes = ["plan", "team"]
use_case = "batch_rag"
"#;

const DAY: Duration = Duration::from_secs(26 * 3600);
const BATCHES: usize = 90;
const BETWEEN: Duration = Duration::from_secs(360);
const BATCHES_UNTIL_FLUSH: usize = 15;
const IDLE: Duration = Duration::from_secs(3 * 3_600);

const PAGE_STREAMS: usize = 120;

/// Scenario and API, by turns.
const WAYS: [[&str; 2]; 12] = [
    ["normal;first=60;gap=8", "v1/chat/completions"],
    ["normal;first=120;gap=3", "v1/messages"],
    ["cut_socket", "v1/chat/completions"],
    ["cut_clean", "v1/messages"],
    ["provider_error", "v1/responses"],
    ["normal;first=30;gap=12", "api/chat"],
    ["malformed", "v1/chat/completions"],
    ["http_error", "v1/messages"],
    ["empty", "v1/chat/completions"],
    ["normal;first=90;gap=5", "v1/responses"],
    ["user_stops", "v1/chat/completions"],
    ["normal;first=200;gap=2", "v1/chat/completions"],
];

/// Reads so many answers, four at a time; those of `user_stops` are stopped after two chunks.
const READ_MANY: &str = "
    const [count, ways] = args;
    let next = 0;
    async function readOne([scenario, route], at) {
        const body = JSON.stringify({ model: `model-${at % 5}`, stream: true, max_tokens: 24, messages: [{ role: 'user', content: 'hi' }], input: 'hi' });
        const response = await fetch(`/llm/${scenario}/${route}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
        const reader = response.body.getReader();
        for (let chunks = 1; ; chunks++) {
            if ((await reader.read()).done) return;
            if (scenario == 'user_stops' && chunks == 2) return reader.cancel();
        }
    }
    async function readInTurn() {
        for (let at; (at = next++) < count; ) await readOne(ways[at % ways.length], at).catch(() => {});
    }
    await Promise.all([readInTurn(), readInTurn(), readInTurn(), readInTurn()]);";
