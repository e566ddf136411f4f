//! Bytes that an open dashboard receives in an hour over the demo's data, by route, and the collector's processor time
//! for it. `cargo xtask bench dashboard` builds what this starts: `bench-dashboard [--json] [SECONDS]`.

mod demo;
mod received;

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;
use tests::{Browser, DevTools, Usage, eventually};
use tokio::time::sleep;

use demo::Demo;
use received::{Received, View};

#[tokio::main]
async fn main() -> Result<()> {
    tests::until_told(run()).await
}

async fn run() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let as_json = arguments.iter().any(|argument| argument == "--json");
    let seconds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(SECONDS);
    let measured = Duration::from_secs(seconds);
    let demo = Demo::start().await?;
    let to = demo.collector.get("/v1/summary").await?["from"].as_i64().context("a range")? + HALF_HOUR_MS;
    let nothing = async {
        sleep(measured).await;
        Ok(())
    };
    let ((), alone) = cpu_of(&demo, nothing).await?;
    let mut views = Vec::new();
    for (name, path) in [
        ("the newest hour", String::new()),
        ("a half hour that is over", format!("?from={}&to={to}", to - HALF_HOUR_MS)),
    ] {
        let (received, with_tab) = cpu_of(&demo, open_tab(&demo, &path, measured)).await?;
        let hours = measured.as_secs_f64() / 3_600.0;
        let cpu_seconds = (with_tab.as_secs_f64() - alone.as_secs_f64()) / hours;
        views.push(View { name, received, hours, cpu_seconds });
    }
    if as_json {
        println!(
            "{}",
            json!({ "name": "dashboard", "views": views.iter().map(View::to_json).collect::<Vec<_>>() })
        );
    } else {
        views.iter().for_each(|view| println!("{view}"));
    }
    Ok(())
}

/// What a tab receives in this time after its first load.
async fn open_tab(demo: &Demo, path: &str, measured: Duration) -> Result<Received> {
    let browser = Browser::start().await?;
    let mut page = DevTools::of_page(&browser).await?;
    page.send("Network.enable", json!({})).await?;
    browser.page.goto(&format!("{}/{path}", demo.collector.url)).await?;
    eventually("the dashboard", || async {
        let state = browser.page.execute("return document.documentElement.dataset.state", vec![]).await;
        (state.ok()? == "ready").then_some(())
    })
    .await?;
    let mut received = Received::default();
    received.listen(&mut page, FIRST_LOAD).await?;
    received.forget();
    received.listen(&mut page, measured).await?;
    browser.close().await?;
    Ok(received)
}

/// Processor time of the collector during `job`.
async fn cpu_of<T>(demo: &Demo, job: impl Future<Output = Result<T>>) -> Result<(T, Duration)> {
    let before = Usage::of(demo.collector.pid())?.cpu;
    let done = job.await?;
    Ok((done, Usage::of(demo.collector.pid())?.cpu - before))
}

const SECONDS: u64 = 300;
const FIRST_LOAD: Duration = Duration::from_secs(10);
const HALF_HOUR_MS: i64 = 1_800_000;
