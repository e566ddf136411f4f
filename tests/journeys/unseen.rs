//! Bodies that are read where the probe cannot see it: said to be unobserved, and nothing made up. Those that
//! it sees in part, and then whole: told as the app got them.

use anyhow::{Result, ensure};
use beacon::{Observed, Outcome, StreamReport};
use tests::{Engine, eventually};

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn a_body_read_outside_the_tap_is_unobserved() -> Result<()> {
    in_every_engine(gone_elsewhere).await
}

async fn gone_elsewhere(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    let texts = stage.browser.run(READ_ELSEWHERE, vec![]).await?;
    // Two ways, and where bodies can be transferred a third.
    let ways = if engine == Engine::WebKit { 2 } else { 3 };
    ensure!(texts.as_array().is_some_and(|texts| texts.len() == ways), "{texts}");
    let reports = eventually("what was left unread", || async {
        let reports = stage.collector.streams().await.ok()?;
        (reports.len() == ways && reports.iter().all(|report| !report.open)).then_some(reports)
    })
    .await?;
    for report in reports {
        let nothing = StreamReport { chunks: 0, bytes: 0, ttft_ms: None, e2e_ms: None, ..report.clone() };
        ensure!(report.outcome == Outcome::Unobserved && report == nothing, "{report:#?}");
        ensure!(report.status == Some(200), "{report:#?}");
    }
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_a_script_reads_ahead_has_arrival_times() -> Result<()> {
    in_every_engine(read_ahead).await
}

async fn read_ahead(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    let read_ms = stage.browser.run(READ_LATE, vec![]).await?;
    let ids = stage.ended_ids(1).await?;
    let report = stage.collector.final_report(&ids[0]).await?;
    let entry = stage.demo.ended(0).await?;
    ensure!(report.outcome == Outcome::Complete && report.bytes == entry.bytes(), "{report:#?}");
    ensure!(
        report.observed == Observed::Arrival && report.ttft_ms < read_ms.as_f64(),
        "{read_ms}: {report:#?}"
    );
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_read_in_part_and_then_fully_counts_every_byte() -> Result<()> {
    in_every_engine(read_in_part_and_then_whole).await
}

async fn read_in_part_and_then_whole(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    for (count, way) in ["copy", "cancelled_copy", "let_go", "asked_twice"].into_iter().enumerate() {
        let before = stage.demo.latest().await?;
        let refused = stage.browser.run(READ_IN_PART, vec![way.into()]).await?;
        let expected = if count < 2 { serde_json::Value::Null } else { "TypeError".into() };
        ensure!(refused == expected, "{way}: {refused}");
        let entry = stage.demo.ended(before).await?;
        let ids = stage.ended_ids(count + 1).await?;
        let report = stage.collector.final_report(&ids[count]).await?;
        ensure!(report.outcome == Outcome::Complete && report.bytes == entry.bytes(), "{way}: {report:#?}");
    }
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_stops_at_the_end_has_a_finalized_stream() -> Result<()> {
    in_every_engine(stops_at_the_end).await
}

async fn stops_at_the_end(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    for (scenario, last, outcome) in
        [("normal", "[DONE]", Outcome::Complete), ("provider_error", "\"error\"", Outcome::ProviderError)]
    {
        let before = stage.collector.streams().await?.len();
        stage.browser.run(STOP_AT, vec![scenario.into(), last.into()]).await?;
        let ids = stage.ended_ids(before + 1).await?;
        let report = stage.collector.final_report(&ids[before]).await?;
        ensure!(report.outcome == outcome && report.close_ms.is_some(), "{report:#?}");
        ensure!(stage.collector.streams().await?.len() == before + 1, "{scenario}: one stream");
    }
    stage.browser.close().await
}

/// Reads until a text has come. Then it neither reads on nor cancels, and keeps the reader.
const STOP_AT: &str = "
    const [scenario, last] = args;
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const headers = { 'content-type': 'application/json' };
    const path = `/llm/${scenario};first=20;gap=5;deltas=8/v1/chat/completions`;
    const response = await fetch(path, { method: 'POST', headers, body });
    const reader = response.body.getReader();
    (window.readers ??= []).push(reader);
    const decoder = new TextDecoder();
    for (let text = ''; !text.includes(last) || !text.endsWith('\\n\\n'); ) {
        const { done, value } = await reader.read();
        if (done) throw new Error(text);
        text += decoder.decode(value, { stream: true });
    }";

/// Reads an answer in one of the ways, to its end; gives back by what error it was refused to be read whole.
const READ_IN_PART: &str = "
    const [way] = args;
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch('/llm/normal;first=20;gap=5;deltas=8/v1/chat/completions', { method: 'POST', headers, body });
    const begin = async ({ body }) => { const reader = body.getReader(); await reader.read(); return reader; };
    if (way.endsWith('copy')) {
        const reader = await begin(response.clone());
        const cancelled = way == 'cancelled_copy' && reader.cancel();
        const text = await response.text();
        await cancelled;
        if (!text.includes('[DONE]')) throw new Error(text);
    } else {
        const whole = way == 'asked_twice' && response.text();
        if (!whole) (await begin(response)).releaseLock();
        const refused = await response.text().catch(({ name }) => name);
        if (whole) await whole;
        else for (const reader = response.body.getReader(); !(await reader.read()).done; );
        return refused;
    }";

/// Another script reads a copy to its end before the app begins; gives back when that is.
const READ_LATE: &str = "
    const { fetch } = window;
    window.fetch = async (...call) => {
        const response = await fetch(...call);
        const reader = response.clone().body.getReader();
        window.copy = (async () => { while (!(await reader.read()).done); })();
        return response;
    };
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const headers = { 'content-type': 'application/json' };
    const start = performance.now();
    const response = await window.fetch('/llm/normal;first=20;gap=5;deltas=8/v1/chat/completions', { method: 'POST', headers, body });
    await window.copy;
    const reading = performance.now() - start;
    const reader = response.body.getReader();
    while (!(await reader.read()).done);
    return reading;";

/// Reads answers by a new `Response`, by a cache, and by a transferred body, in a frame that then goes: a
/// page that is left may come back.
const READ_ELSEWHERE: &str = "
    const frame = document.createElement('iframe');
    frame.src = '/';
    document.body.append(frame);
    while (!frame.contentWindow.llmRum?.probe) await new Promise(resolve => setTimeout(resolve, 10));
    const { fetch, Response, ReadableStream, caches, structuredClone } = frame.contentWindow;
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const headers = { 'content-type': 'application/json' };
    const ask = () => fetch('/llm/normal;first=20;gap=5;deltas=8/v1/chat/completions', { method: 'POST', headers, body });
    const cache = await caches.open('unseen');
    const texts = [await new Response((await ask()).body).text()];
    await cache.put('/unseen', await ask());
    texts.push(await (await cache.match('/unseen')).text());
    const moved = stream => structuredClone(stream, { transfer: [stream] });
    let movable = true;
    try { moved(new ReadableStream()); } catch { movable = false; }
    if (movable) texts.push(await new Response(moved((await ask()).body)).text());
    frame.remove();
    if (!texts.every(text => text.includes('[DONE]'))) throw new Error(texts.join());
    return texts;";
