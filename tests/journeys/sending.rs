//! How reports get to the collector when it is busy, and when the page is left with many of them waiting.

use anyhow::{Result, ensure};
use beacon::Outcome;
use serde_json::Value;
use tests::{AppPage, Engine, eventually};

use crate::{Stage, in_every_engine};

/// About 50 kB of reports, of the 64 KiB that a browser sends for a page that is gone.
const WAITING: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn reports_pending_when_the_page_is_left_arrive() -> Result<()> {
    in_every_engine(left).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_collector_gets_everything_later() -> Result<()> {
    in_every_engine(busy).await
}

#[tokio::test(flavor = "multi_thread")]
async fn last_reports_of_pages_without_referrer_arrive() -> Result<()> {
    in_every_engine(left_without_referrer).await
}

async fn left(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let _page = open(&stage, "data-consent=pending").await?;
    stage.browser.run(READ_MANY, vec![short(&stage), WAITING.into()]).await?;
    stage
        .browser
        .run(
            "llmRum.probe.setConsent('granted'); setTimeout(() => { location.href = 'about:blank' })",
            vec![],
        )
        .await?;
    all_arrived(&stage, WAITING).await?;
    stage.browser.close().await
}

async fn busy(engine: Engine) -> Result<()> {
    let site = "[[sites]]\nname = 'demo'\nkeys = ['demo']\norigins = ['loopback']\nrate = { per_second = 1, burst = 1 }\n\
                filters = { bots = false }";
    let stage = Stage::set_with(engine, site).await?;
    let _page = open(&stage, "").await?;
    stage.browser.run(READ_AND_FLUSH, vec![short(&stage), 6.into()]).await?;
    all_arrived(&stage, 6).await?;
    let books = stage.collector.get("/v1/accounting").await?;
    ensure!(books["beacons"]["refused"]["site_limited"].as_u64() > Some(0), "it was busy: {books:#}");
    stage.browser.close().await
}

/// With `sendBeacon`, Firefox and WebKit would hide the page's origin as well, and the collector would refuse the report.
async fn left_without_referrer(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let long = format!("{}/llm/user_stops/v1/chat/completions", stage.demo.url);
    let tag = format!("<script src=\"{}/llm-rum.js\" data-site=\"demo\"></script>", stage.collector.url);
    for (before, referrer) in ["no-referrer", "same-origin"].into_iter().enumerate() {
        let page = AppPage::serve_with_referrer(&tag, "", referrer).await?;
        stage.browser.page.goto(&page.url).await?;
        stage.browser.run(READ_BEGINNING, vec![long.as_str().into()]).await?;
        stage.browser.page.goto("about:blank").await?;
        let report = eventually(&format!("the stream of a page with {referrer}"), || async {
            let mut reports = stage.collector.streams().await.ok()?;
            (reports.len() > before).then(|| reports.remove(0))
        })
        .await?;
        ensure!(report.outcome == Outcome::Abandoned && report.ttft_ms.is_some(), "{report:#?}");
    }
    stage.browser.close().await
}

async fn open(stage: &Stage, more: &str) -> Result<AppPage> {
    let collector = &stage.collector.url;
    let tag = format!("<script src=\"{collector}/llm-rum.js\" data-site=\"demo\" {more}></script>");
    let page = AppPage::serve(&tag, "").await?;
    stage.browser.page.goto(&page.url).await?;
    stage.keep_reports().await?;
    Ok(page)
}

async fn all_arrived(stage: &Stage, count: usize) -> Result<()> {
    let books = eventually(&format!("{count} reports"), || async {
        let books = stage.collector.get("/v1/accounting").await.ok()?;
        (books["streams"]["counted"] == count).then_some(books)
    })
    .await?;
    let dropped = books["probe_dropped"].as_object().into_iter().flatten();
    ensure!(dropped.clone().all(|(_, count)| count == 0), "nothing was dropped: {books:#}");
    Ok(())
}

/// A stream of a few words in a few milliseconds.
fn short(stage: &Stage) -> Value {
    format!("{}/llm/normal;first=1;gap=1;deltas=3/v1/chat/completions", stage.demo.url).into()
}

const READ_MANY: &str = "
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    await Promise.all(Array.from({ length: args[1] }, async () => (await fetch(args[0], init)).text()));
    while (window.ended.length < args[1]) await new Promise(resolve => setTimeout(resolve, 10));";

/// Returns at the first token, before anything of the stream has been reported.
const READ_BEGINNING: &str = "
    while (!window.llmRum?.probe) await new Promise(resolve => setTimeout(resolve, 10));
    const isSeen = new Promise(resolve => window.llmRum.probe.onFirstToken(resolve));
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const reader = (await fetch(args[0], init)).body.getReader();
    (async () => { while (!(await reader.read()).done); })();
    await isSeen;";

const READ_AND_FLUSH: &str = "
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    for (let i = 0; i < args[1]; i++) {
        await (await fetch(args[0], init)).text();
        while (window.ended.length <= i) await new Promise(resolve => setTimeout(resolve, 10));
        await llmRum.probe.flush();
    }";
