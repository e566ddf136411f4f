//! A page is left, kept by the browser as it is, and comes back: the probe is still there, and true.

use anyhow::{Context, Result, ensure};
use beacon::Outcome;
use tests::Engine;

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_page_continues_to_report() -> Result<()> {
    in_every_engine(comes_back).await
}

async fn comes_back(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    for ended in 1..=2 {
        let before = stage.demo.latest().await?;
        let took = stage.browser.run(READ, vec![]).await?;
        let id = stage.ended_ids(ended).await?.pop().unwrap_or_default();
        let (report, entry) = (stage.collector.final_report(&id).await?, stage.demo.ended(before).await?);
        ensure!(report.outcome == Outcome::Complete && report.bytes == entry.bytes(), "{report:#?}");
        // The time away is none of the second stream's.
        let took = took.as_f64().context("a time")? + CLOCK_STEPS_MS;
        ensure!(
            report.close_ms.is_some_and(|close| close <= took),
            "the page read for {took} ms: {report:#?}"
        );
        let seen = report.page.as_ref().and_then(|page| page.visibility.as_deref());
        ensure!(seen == Some("visible"), "{report:#?}");
        if ended == 1 {
            leave_and_come_back(&stage).await?;
        }
    }
    stage.browser.close().await
}

async fn leave_and_come_back(stage: &Stage) -> Result<()> {
    stage.browser.page.goto(&format!("{}/demo/log", stage.demo.url)).await?;
    stage.browser.page.back().await?;
    // A page that was loaded anew knows of no stream.
    let kept = stage.browser.run("return window.ended?.length ?? 0;", vec![]).await?;
    ensure!(kept == 1, "the browser has not kept the page");
    Ok(())
}

/// Two steps of the coarsest clock.
const CLOCK_STEPS_MS: f64 = 2.0;

/// Gives back how long the page took.
const READ: &str = "
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const url = '/llm/normal;first=50;gap=5;deltas=8/v1/chat/completions';
    const start = performance.now();
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    await response.text();
    return performance.now() - start;";
