//! What the probe costs a page in Chromium: per read beside other SDKs, of the main thread while a model
//! streams, of memory after many streams, and at the start. `cargo xtask bench browser` builds what this
//! loads. Fails if the probe costs more than its share, as ratios of one run: percents move with the machine.

mod contest;
mod median;
mod page;
mod share;

use anyhow::Result;
use serde_json::json;
use tests::{Browser, ConformanceServer};

#[tokio::main]
async fn main() -> Result<()> {
    tests::until_told(run()).await
}

async fn run() -> Result<()> {
    let as_json = std::env::args().any(|argument| argument == "--json");
    let server = ConformanceServer::start().await?;
    let browser = Browser::start().await?;
    let contest = contest::run(&browser, &server.url).await?;
    if !as_json {
        println!("{contest}");
    }
    let heap = page::heap(&browser, &server.url).await?;
    let start = page::start(&browser, &server.url).await?;
    let share = share::run(&browser).await?;
    browser.close().await?;
    if as_json {
        let [reads, apart] = contest.to_json();
        let figures = json!({
            "name": "browser", "reads": reads, "reads_apart": apart,
            "main_thread": share, "heap": heap, "start": start,
        });
        println!("{figures}");
    } else {
        println!("{share}\n{heap}\n{start}");
    }
    contest.check()?;
    share.check()
}
