//! Network timing, page lifecycle and probe overhead of a stream, as every engine reports them.

use anyhow::{Context, Result, ensure};
use beacon::{Outcome, Protocol, StreamReport};
use tests::Engine;

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn every_engine_reports_network_timing_and_page_lifecycle() -> Result<()> {
    in_every_engine(page_lifecycle).await
}

async fn page_lifecycle(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    stage.browser.run(READ, vec![BUSY_MS.into()]).await?;
    let ids = stage.ended_ids(1).await?;
    let report = stage.collector.final_report(&ids[0]).await?;
    ensure!(report.outcome == Outcome::Complete, "{report:#?}");
    let lifecycle = report.page_lifecycle.with_context(|| format!("no page lifecycle in {report:#?}"))?;

    // The server sends its headers at once, but Firefox tells the page of them with the first byte.
    let (headers, token) = (report.headers_ms.context("no headers")?, report.ttft_ms.context("no token")?);
    ensure!(headers + 100.0 < token && token > 600.0, "headers {headers}, first token {token}");
    let timing = report.network_timing.context("no network timing")?;
    ensure!(timing.dns_ms.is_some() && timing.connect_ms.is_some() && timing.wait_ms.is_some(), "{timing:?}");
    ensure!(timing.tls_ms.is_none(), "there is no TLS: {timing:?}");
    ensure!(lifecycle.protocol == Some(Protocol::Http1) && lifecycle.end_delay_ms.is_some(), "{lifecycle:?}");

    ensure!(lifecycle.hidden_ms == Some(0.0) && lifecycle.hidden_bytes == Some(0), "{lifecycle:?}");
    ensure!(!lifecycle.restored && !lifecycle.prerendered, "{lifecycle:?}");
    let stopped = lifecycle.after_stop_bytes.context("Stop was pressed")?;
    ensure!(stopped > 0 && stopped < report.bytes, "{stopped} of {} bytes after Stop", report.bytes);
    // The page kept its thread busy.
    let told = engine == Engine::Chromium;
    ensure!(lifecycle.long_frames.is_some() == told && lifecycle.freezes.is_some() == told, "{lifecycle:?}");
    if told {
        ensure!(lifecycle.long_frames_ms >= Some(BUSY_MS), "{lifecycle:?}");
    }
    probe_overhead(&report)?;
    stage.browser.close().await
}

/// The page loads the extension `probeOverhead` too: a probe that measured its overhead reports it in every engine.
fn probe_overhead(report: &StreamReport) -> Result<()> {
    let overhead = report.probe_overhead.with_context(|| format!("no probe overhead in {report:#?}"))?;
    let timed = overhead.timed_chunks.context("no chunk was timed")?;
    ensure!((1..=report.chunks).contains(&timed), "{timed} of {} chunks timed", report.chunks);
    // Nothing but the probe's own code is in it, not what kept the page busy. Where others use the processor the
    // probe waits for it too: WebKit told 633 ms once.
    let ms = overhead.chunks_ms.context("timed chunks have a time")?;
    ensure!(ms < BUSY_MS, "{ms} ms of the probe's own in {timed} chunks");
    let memory = overhead.memory_bytes.context("a compiled probe has a memory")?;
    ensure!(memory % 65_536 == 0 && (1..1 << 20).contains(&memory), "{memory} bytes");
    // A second after the first token the page has told of the stream while it was open.
    ensure!(overhead.sent_bytes.is_none_or(|sent| (100..100_000).contains(&sent)), "{overhead:?}");
    Ok(())
}

/// How long the page keeps its thread busy.
const BUSY_MS: f64 = 2400.0;

/// Presses a Stop that does not stop, is busy, and reads on to the end.
const READ: &str = "
    while (!window.llmRum.probe.userStopped) await new Promise(resolve => setTimeout(resolve, 10));
    const stop = document.createElement('button');
    stop.dataset.llmStop = '';
    document.body.append(stop);
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch('/llm/normal;first=700;gap=40;deltas=30/v1/chat/completions', { method: 'POST', headers, body });
    const reader = response.body.getReader();
    for (let chunks = 1; !(await reader.read()).done; chunks++) {
        if (chunks == 2) stop.click();
        if (chunks == 3) await new Promise(resolve => setTimeout(() => {
            const start = performance.now();
            while (performance.now() - start < args[0]);
            resolve();
        }));
    }";
