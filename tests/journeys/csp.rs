//! Pages whose Content Security Policy allows Wasm, and pages that forbid it.

use anyhow::{Result, ensure};
use beacon::{Observed, Outcome};
use tests::Engine;

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_blocks_wasm_works_and_reports_its_chunks() -> Result<()> {
    in_every_engine(blocked).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_allows_wasm_reports_everything() -> Result<()> {
    in_every_engine(allowed).await
}

async fn blocked(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("?csp=strict").await?;
    let read = stage.browser.run(READ, vec!["/llm/normal/v1/chat/completions".into()]).await?;
    let ids = stage.ended_ids(1).await?;
    let report = stage.collector.final_report(&ids[0]).await?;
    ensure!(report.observed == Observed::Chunks && report.outcome == Outcome::Unobserved, "{report:#?}");
    ensure!(report.first_byte_ms.is_some() && report.close_ms.is_some(), "{report:#?}");
    ensure!(
        report.ttft_ms.is_none() && report.dialect.is_none(),
        "what was not parsed is not claimed: {report:#?}"
    );
    ensure!(read["chunks"] == report.chunks && read["bytes"] == report.bytes, "{read} {report:#?}");
    stage.browser.close().await
}

async fn allowed(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("?csp=wasm").await?;
    stage.browser.run(READ, vec!["/llm/normal/v1/chat/completions".into()]).await?;
    let ids = stage.ended_ids(1).await?;
    let report = stage.collector.final_report(&ids[0]).await?;
    ensure!(report.observed == Observed::Events && report.outcome == Outcome::Complete, "{report:#?}");
    stage.browser.close().await
}

const READ: &str = "
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const response = await fetch(args[0], { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const reader = response.body.getReader();
    let chunks = 0, bytes = 0;
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return { chunks, bytes };
        chunks++;
        bytes += value.length;
    }";
