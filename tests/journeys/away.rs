//! A page out of sight: minimised, kept by the browser while another is shown, made before it is asked for.
//! What arrived meanwhile is told as that, and each stream once.

use anyhow::{Context, Result, ensure};
use beacon::{Outcome, PageLifecycle, StreamReport};
use serde_json::Value;
use tests::{AppPage, Engine, eventually};

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn bytes_in_a_hidden_page_count_as_hidden_in_every_engine() -> Result<()> {
    in_every_engine(hidden).await
}

async fn hidden(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    let page = &stage.browser.page;
    let before = stage.demo.latest().await?;
    start(&stage, LONG).await?;
    page.minimize_window().await?;
    chunks(&stage, 3).await?;
    page.set_window_rect(0, 0, 1000, 700).await?;
    let (report, lifecycle) = ended(&stage, 1).await?;
    let entry = stage.demo.ended(before).await?;
    ensure!(report.outcome == Outcome::Complete && report.bytes == entry.bytes(), "{report:#?}");
    ensure!(visibility(&report) == Some("mixed"), "{report:#?}");
    let (ms, bytes) = (lifecycle.hidden_ms.context("no time")?, lifecycle.hidden_bytes.context("no bytes")?);
    ensure!(ms > 0.0 && Some(ms) < report.close_ms, "hidden for {ms} ms: {report:#?}");
    ensure!(bytes > 0 && bytes < report.bytes, "{bytes} bytes while hidden: {report:#?}");

    page.minimize_window().await?;
    start(&stage, SLOW).await?;
    let (report, lifecycle) = ended(&stage, 2).await?;
    ensure!(visibility(&report) == Some("hidden") && report.ttfp_ms.is_none(), "{report:#?}");
    ensure!(lifecycle.hidden_bytes == Some(report.bytes), "{report:#?}");
    told_once(&stage, 2).await?;
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_page_reports_its_stream_once_in_every_engine() -> Result<()> {
    in_every_engine(kept).await
}

async fn kept(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    start(&stage, SLOW).await?;
    stage.browser.page.goto(&format!("{}/demo/log", stage.demo.url)).await?;
    stage.browser.page.back().await?;
    if engine == Engine::Chromium {
        // It keeps the page with its stream, frozen, and the stream goes on.
        let (report, lifecycle) = ended(&stage, 1).await?;
        ensure!(report.outcome == Outcome::Complete && visibility(&report) == Some("mixed"), "{report:#?}");
        ensure!(
            lifecycle.restored && lifecycle.freezes == Some(1) && lifecycle.hidden_ms > Some(0.0),
            "{lifecycle:?}"
        );
    } else {
        // Firefox does not keep a page that reads, WebKit keeps it and cuts its stream.
        let report = told_once(&stage, 1).await?;
        ensure!(report.outcome == Outcome::Abandoned && report.chunks > 4, "{report:#?}");
    }
    told_once(&stage, 1).await?;
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prerendered_page_reports_requests_made_before_display() -> Result<()> {
    // The others have no speculation rules.
    let stage = Stage::set_in(Engine::Chromium).await?;
    let snippet = stage.collector.get("/snippet.json?site=demo").await?;
    let probe = ["/stub/tag", "/tag", "/more/tag"]
        .map(|tag| snippet.pointer(tag).and_then(Value::as_str).unwrap_or_default());
    let api = format!("{}/llm/{SLOW}/v1/chat/completions", stage.demo.url);
    let app = AppPage::serve(&format!("{}<script>{IN_ADVANCE}</script>", probe.concat()), "").await?;
    stage.browser.page.goto(&format!("{}/?{api}", app.url)).await?;
    eventually("an answer to the page that is not shown", || async {
        (stage.demo.log(0).await.ok()?.first()?.writes.len() > 10).then_some(())
    })
    .await?;
    stage.browser.run("document.querySelector('a').click();", vec![]).await?;
    let report = told_once(&stage, 1).await?;
    let lifecycle = report.page_lifecycle.context("no page lifecycle")?;
    ensure!(report.outcome == Outcome::Complete && visibility(&report) == Some("mixed"), "{report:#?}");
    ensure!(
        lifecycle.prerendered && lifecycle.hidden_ms > Some(0.0) && lifecycle.hidden_bytes > Some(0),
        "{lifecycle:?}"
    );
    stage.browser.close().await
}

/// Begins to read an answer of some seconds; it has text when this returns.
async fn start(stage: &Stage, pace: &str) -> Result<()> {
    let api = format!("/llm/{pace}/v1/chat/completions");
    stage.browser.run(START_READING, vec![api.into()]).await.map(drop)
}

/// Waits until so many more chunks are there.
async fn chunks(stage: &Stage, more: u64) -> Result<()> {
    stage.browser.run(WAIT_FOR_CHUNKS, vec![more.into()]).await.map(drop)
}

/// The report of the latest of so many streams, as the page hears of its end.
async fn ended(stage: &Stage, count: usize) -> Result<(StreamReport, PageLifecycle)> {
    let ids = stage.ended_ids(count).await?;
    let report = stage.collector.final_report(ids.last().context("a stream")?).await?;
    let lifecycle = report.page_lifecycle.with_context(|| format!("no page lifecycle in {report:#?}"))?;
    Ok((report, lifecycle))
}

/// Waits until the collector knows of the end of all; gives back the latest of no more than `count`.
async fn told_once(stage: &Stage, count: usize) -> Result<StreamReport> {
    let reports = eventually("the end of each stream", || async {
        let reports = stage.collector.streams().await.ok()?;
        (reports.len() >= count && reports.iter().all(|report| !report.open)).then_some(reports)
    })
    .await?;
    ensure!(reports.len() == count, "{count} streams, but {} reports: {reports:#?}", reports.len());
    reports.into_iter().next().context("a report")
}

fn visibility(report: &StreamReport) -> Option<&str> {
    report.page.as_ref()?.visibility.as_deref()
}

/// Three seconds.
const SLOW: &str = "normal;first=100;gap=50;deltas=60";
/// Eight: time to hide and to show a window on a slow machine.
const LONG: &str = "normal;first=100;gap=50;deltas=160";

const START_READING: &str = "
    while (!window.llmRum.probe.userStopped) await new Promise(resolve => setTimeout(resolve, 10));
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const response = await fetch(args[0], { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const reader = response.body.getReader();
    window.chunks = 0;
    window.readToTheEnd = false;
    for (; window.chunks < 5; window.chunks++) await reader.read();
    (async () => { for (; !(await reader.read()).done; window.chunks++); })()
        .catch(() => {}).then(() => { window.readToTheEnd = true; });";

/// By messages: a hidden page's timers are slow.
const WAIT_FOR_CHUNKS: &str = "
    const until = window.chunks + args[0];
    const { port1, port2 } = new MessageChannel();
    while (window.chunks < until) {
        if (window.readToTheEnd) throw new Error('the answer ended before it had so many chunks');
        await new Promise(resolve => {
            port1.onmessage = resolve;
            port2.postMessage(0);
        });
    }";

/// The page has itself made once more, and that one asks the API that its address names.
const IN_ADVANCE: &str = "
    const made = location.search.startsWith('?made&');
    const next = '/?made&' + location.search.slice(1);
    document.addEventListener('DOMContentLoaded', async () => {
        if (!made) {
            const rules = document.createElement('script');
            rules.type = 'speculationrules';
            rules.text = JSON.stringify({ prerender: [{ urls: [next], eagerness: 'immediate' }] });
            const link = document.createElement('a');
            link.href = next;
            link.text = 'next';
            return document.body.append(rules, link);
        }
        while (!window.llmRum?.probe?.userStopped) await new Promise(resolve => setTimeout(resolve, 10));
        const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
        const headers = { 'content-type': 'application/json' };
        const response = await fetch(location.search.slice('?made&'.length), { method: 'POST', headers, body });
        const reader = response.body.getReader();
        while (!(await reader.read()).done);
    });";
