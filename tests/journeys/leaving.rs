//! The page goes away in the middle of a stream: what it had seen is told.

use anyhow::{Context, Result, ensure};
use beacon::Outcome;
use tests::{Engine, eventually};

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_was_left_is_abandoned_with_what_was_seen() -> Result<()> {
    let stage = Stage::set_with(Engine::Chromium, "settle_after_seconds = 2").await?;
    stage.open("").await?;
    stage.browser.run(START_READING, vec![]).await?;
    stage.browser.page.goto("about:blank").await?;
    // A page that may come back leaves its stream open; when it stays silent, that was its end.
    eventually("the abandoned stream in the windows", || async {
        let summary = stage.collector.get("/v1/summary").await.ok()?;
        (summary["outcomes"]["abandoned"] == 1).then_some(())
    })
    .await?;
    let report = stage.collector.streams().await?.pop().context("it is listed")?;
    ensure!(
        report.outcome == Outcome::Abandoned && report.ttft_ms.is_some() && report.chunks > 4,
        "{report:#?}"
    );
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_browser_has_told_what_it_had_seen() -> Result<()> {
    in_every_engine(killed).await
}

async fn killed(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    stage.browser.run(START_READING, vec![]).await?;
    // The interim report is sent soon after the first token; then the browser dies without a goodbye.
    let report =
        eventually("the interim report", || async { stage.collector.streams().await.ok()?.pop() }).await?;
    drop(stage.browser);
    ensure!(report.open && report.outcome == Outcome::Abandoned && report.ttft_ms.is_some(), "{report:#?}");
    Ok(())
}

/// Reads the first chunks of a long answer, and goes on reading after this script has returned.
const START_READING: &str = "
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const response = await fetch('/llm/user_stops/v1/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const reader = response.body.getReader();
    for (let i = 0; i < 5; i++) await reader.read();
    (async () => { while (!(await reader.read()).done); })();";
