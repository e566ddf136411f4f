//! What happened around a stream: headers by Resource Timing, long frames, a Stop that stopped nothing.

use anyhow::{Context, Result, ensure};
use beacon::{Outcome, Protocol, StreamReport};
use tests::Engine;

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_around_a_stream_is_told_in_every_engine() -> Result<()> {
    in_every_engine(around).await
}

async fn around(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    stage.browser.run(READ, vec![BUSY_MS.into()]).await?;
    let ids = stage.ended_ids(1).await?;
    let report = stage.collector.final_report(&ids[0]).await?;
    ensure!(report.outcome == Outcome::Complete, "{report:#?}");
    let around = report.around.with_context(|| format!("nothing around {report:#?}"))?;

    // The server sends its headers at once, but Firefox tells the page of them with the first byte.
    let (headers, token) = (report.headers_ms.context("no headers")?, report.ttft_ms.context("no token")?);
    ensure!(headers + 100.0 < token && token > 600.0, "headers {headers}, first token {token}");
    let phases = report.phases.context("no phases")?;
    ensure!(phases.dns_ms.is_some() && phases.connect_ms.is_some() && phases.wait_ms.is_some(), "{phases:?}");
    ensure!(phases.tls_ms.is_none(), "there is no TLS: {phases:?}");
    ensure!(around.protocol == Some(Protocol::Http1) && around.end_delay_ms.is_some(), "{around:?}");

    ensure!(around.hidden_ms == Some(0.0) && around.hidden_bytes == Some(0), "{around:?}");
    ensure!(!around.restored && !around.prerendered, "{around:?}");
    let stopped = around.after_stop_bytes.context("Stop was pressed")?;
    ensure!(stopped > 0 && stopped < report.bytes, "{stopped} of {} bytes after Stop", report.bytes);
    // The page kept its thread busy.
    let told = engine == Engine::Chromium;
    ensure!(around.long_frames.is_some() == told && around.freezes.is_some() == told, "{around:?}");
    if told {
        ensure!(around.long_frames_ms >= Some(BUSY_MS), "{around:?}");
    }
    cost(&report)?;
    stage.browser.close().await
}

/// The page loads the extension `cost` too: a probe that has measured says so in every engine.
fn cost(report: &StreamReport) -> Result<()> {
    let cost = report.cost.with_context(|| format!("no cost in {report:#?}"))?;
    let timed = cost.timed_chunks.context("no chunk was timed")?;
    ensure!((1..=report.chunks).contains(&timed), "{timed} of {} chunks timed", report.chunks);
    // Nothing but the probe's own code is in it, not what kept the page busy. Where others use the processor the
    // probe waits for it too: WebKit told 633 ms once.
    let ms = cost.chunks_ms.context("timed chunks have a time")?;
    ensure!(ms < BUSY_MS, "{ms} ms of the probe's own in {timed} chunks");
    let memory = cost.memory_bytes.context("a compiled probe has a memory")?;
    ensure!(memory % 65_536 == 0 && (1..1 << 20).contains(&memory), "{memory} bytes");
    // A second after the first token the page has told of the stream while it was open.
    ensure!(cost.sent_bytes.is_none_or(|sent| (100..100_000).contains(&sent)), "{cost:?}");
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
