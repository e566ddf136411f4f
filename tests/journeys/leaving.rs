//! The page goes away in the middle of a stream: what it had seen is told.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Result, ensure};
use beacon::{Outcome, StreamReport};
use serde_json::json;
use tests::{Engine, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_the_user_left_is_abandoned_with_its_content() -> Result<()> {
    in_every_engine(left).await
}

async fn left(engine: Engine) -> Result<()> {
    let stage = Stage::set_with(engine, "settle_after_seconds = 2").await?;
    // Firefox and WebKit cut what a page reads when it sets out for another, which may take its time to answer.
    let slow = slow_page().await?;
    for (left, destination) in [(1, "about:blank"), (2, &slow)] {
        stage.open("").await?;
        stage.browser.run(LEAVE_UNREAD, vec![]).await?;
        stage.browser.run(START_READING, vec![]).await?;
        stage.browser.page.goto(destination).await?;
        // A page that may come back leaves its stream open; when it stays silent, that was its end.
        eventually(&format!("the stream abandoned for {destination}"), || async {
            let summary = stage.collector.get("/v1/summary").await.ok()?;
            (summary["outcomes"]["abandoned"] == left).then_some(())
        })
        .await?;
    }
    // A stream that was never read is not abandoned: nothing of it was observed.
    let (unread, read): (Vec<_>, Vec<_>) =
        stage.collector.streams().await?.into_iter().partition(|report| report.chunks == 0);
    ensure!(unread.iter().all(|report| report.outcome == Outcome::Unobserved), "{unread:#?}");
    ensure!(read.len() == 2, "{read:#?}");
    for report in read {
        ensure!(
            report.outcome == Outcome::Abandoned && report.ttft_ms.is_some() && report.chunks > 4,
            "{report:#?}"
        );
    }
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_reports_at_the_start_of_a_navigation() -> Result<()> {
    in_every_engine(told_at_once).await
}

async fn told_at_once(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    stage.browser.run(START_DEAF, vec![stage.collector.url.as_str().into()]).await?;
    stage.browser.run(START_READING, vec![]).await?;
    stage.browser.page.goto("about:blank").await?;
    let report =
        eventually("what was seen", || async { stage.collector.streams().await.ok()?.pop() }).await?;
    ensure!(
        report.outcome == Outcome::Abandoned && report.ttft_ms.is_some() && report.chunks > 4,
        "{report:#?}"
    );
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_tab_has_reported_its_stream() -> Result<()> {
    in_every_engine(closed).await
}

async fn closed(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let page = &stage.browser.page;
    let last = page.window().await?;
    for (told, start) in [START_READING, START_WAITING].into_iter().cycle().take(CLOSED_TABS).enumerate() {
        let tab = page.new_window(true).await?.handle;
        page.switch_to_window(tab).await?;
        close_in_an_answer(&stage, start).await?;
        judge(&last_report(&stage, engine, told).await?, start)?;
        page.switch_to_window(last.clone()).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_ends_with_its_last_tab_has_reported_it() -> Result<()> {
    in_every_engine(ended).await
}

async fn ended(engine: Engine) -> Result<()> {
    // WebKit gives a page some milliseconds then, and of nearly all they are enough: see docs/browsers.md.
    let browsers = if engine == Engine::WebKit { ENDED_BROWSERS } else { 1 };
    for left in (0..browsers).rev() {
        let stage = Stage::set_in(engine).await?;
        close_in_an_answer(&stage, START_READING).await?;
        match last_report(&stage, engine, 0).await {
            Err(_) if left > 0 => {}
            report => return judge(&report?, START_READING),
        }
    }
    Ok(())
}

/// Closes the tab once `start` has run in it.
async fn close_in_an_answer(stage: &Stage, start: &str) -> Result<()> {
    stage.open("").await?;
    stage.browser.run(start, vec![]).await?;
    Ok(stage.browser.page.close_window().await?)
}

/// The last report that the collector gets of a closed tab, beside those that were `told` before.
async fn last_report(stage: &Stage, engine: Engine, told: usize) -> Result<StreamReport> {
    // Firefox may end the page's scripts before they can tell that nothing more will be seen.
    let may_be_open = engine == Engine::Firefox;
    eventually(&format!("what tab {told} had seen"), || async {
        let mut reports = stage.collector.streams().await.ok()?;
        (reports.len() > told && (may_be_open || !reports[0].open)).then(|| reports.remove(0))
    })
    .await
}

fn judge(report: &StreamReport, start: &str) -> Result<()> {
    ensure!(report.outcome == Outcome::Abandoned, "{report:#?}");
    ensure!(report.ttft_ms.is_some() == (start == START_READING), "{report:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_browser_has_reported_its_stream() -> Result<()> {
    in_every_engine(killed).await
}

/// The address of a page that takes its time.
async fn slow_page() -> Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = socket.read(&mut [0; 4096]).await;
                tokio::time::sleep(Duration::from_millis(1500)).await;
                let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nlate").await;
            });
        }
    });
    Ok(url)
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

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_tab_has_reported_a_stream_without_chunks() -> Result<()> {
    // The others have no `fetchLater`.
    let stage = Stage::set().await?;
    stage.open("").await?;
    stage.browser.run(NOTE_LAST_WORD, vec![]).await?;
    stage.browser.run(START_WAITING, vec![]).await?;
    stage.browser.run("await window.leftWord;", vec![]).await?;
    let crashed = stage.browser.devtools("Page.crash", json!({})).await;
    ensure!(crashed.is_err(), "the tab lives: {crashed:?}");
    let report =
        eventually("the tab's last word", || async { stage.collector.streams().await.ok()?.pop() }).await?;
    ensure!(report.open && report.outcome == Outcome::Abandoned && report.chunks == 0, "{report:#?}");
    Ok(())
}

/// Notes when word of a stream is left with the browser.
const NOTE_LAST_WORD: &str = "
    while (!window.llmRum.probe.userStopped) await new Promise(resolve => setTimeout(resolve, 10));
    const native = window.fetchLater;
    window.leftWord = new Promise(resolve => window.fetchLater = (...call) => {
        const held = native(...call);
        resolve();
        return held;
    });";

/// What a browser does first as it ends a page differs from time to time.
const CLOSED_TABS: usize = 6;

/// As many as will not all be too late.
const ENDED_BROWSERS: usize = 5;

/// A probe that no later event of the page reaches: Firefox ends the scripts of a process that it needs no more,
/// in the middle of `pagehide`.
const START_DEAF: &str = "
    window.llmRum.probe.stop();
    for (const later of ['pagehide', 'visibilitychange'])
        window.addEventListener(later, event => event.stopImmediatePropagation(), true);
    window.llmRum.start({ collector: args[0], site: 'demo' });";

/// An answer that lies there.
const LEAVE_UNREAD: &str = "
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    window.unread = await fetch('/llm/user_stops/v1/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' }, body });";

/// Reads the first chunks of a long answer, and goes on reading after this script has returned. The probe has told
/// of the first token by then: until its Wasm is there, what is left has no token.
const START_READING: &str = "
    const told = new Promise(resolve => window.llmRum.probe.onFirstToken(resolve));
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const response = await fetch('/llm/user_stops/v1/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const reader = response.body.getReader();
    for (let i = 0; i < 5; i++) await reader.read();
    (async () => { while (!(await reader.read()).done); })();
    await told;";

/// Asks, and waits for an answer that takes its time.
const START_WAITING: &str = "
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const headers = { 'content-type': 'application/json' };
    fetch('/llm/slow_first_token/v1/chat/completions', { method: 'POST', headers, body })
        .then(response => response.text());";
