//! Bytes that an open dashboard receives in an hour over the demo's data, by route, and the collector's processor time
//! for it. `cargo xtask bench dashboard` builds what this starts: `bench-dashboard [--json] [SECONDS]`.

mod demo;
mod received;

use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tests::{Browser, DevTools, Usage, eventually};
use tokio::time::{Instant, sleep};

use demo::Demo;
use received::Received;

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
    let alone = cpu_of(&demo, async {
        sleep(measured).await;
        Ok(())
    });
    let ((), alone) = alone.await?;
    let browser = Browser::start().await?;
    let mut page = DevTools::of_page(&browser).await?;
    page.send("Network.enable", json!({})).await?;
    browser.page.goto(&demo.collector.url).await?;
    eventually("the dashboard", || async {
        let state = browser.page.execute("return document.documentElement.dataset.state", vec![]).await;
        (state.ok()? == "ready").then_some(())
    })
    .await?;
    // The first load, which a tab does once, is not counted.
    let mut received = Received::default();
    received.listen(&mut page, FIRST_LOAD).await?;
    received.forget();
    let begun = Instant::now();
    let ((), with_tab) = cpu_of(&demo, received.listen(&mut page, measured)).await?;
    let hours = begun.elapsed().as_secs_f64() / 3_600.0;
    browser.close().await?;
    let cpu_seconds = (with_tab.as_secs_f64() - alone.as_secs_f64()) / hours;
    if as_json {
        println!("{}", received.to_json(hours, cpu_seconds));
    } else {
        print!("{}", received.table(hours));
        println!("{cpu_seconds:.1} s of processor time in the collector for each hour");
    }
    Ok(())
}

/// Processor time of the collector during `job`.
async fn cpu_of<T>(demo: &Demo, job: impl Future<Output = Result<T>>) -> Result<(T, Duration)> {
    let before = Usage::of(demo.collector.pid())?.cpu;
    let done = job.await?;
    Ok((done, Usage::of(demo.collector.pid())?.cpu - before))
}

const SECONDS: u64 = 300;
const FIRST_LOAD: Duration = Duration::from_secs(10);
