//! The probe's development build: what a page's developer reads in the console, and what the collector counts.

use anyhow::{Result, ensure};
use serde_json::json;
use tests::{Engine, eventually};

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn the_development_build_tells_mistakes_in_every_engine() -> Result<()> {
    in_every_engine(mistakes).await
}

async fn mistakes(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    let told = stage.browser.run(READ_STREAMS, vec![stage.collector.url.clone().into()]).await?;
    let lines: Vec<String> = serde_json::from_value(told)?;
    let has = |part: &str| lines.iter().filter(|line| line.contains(part)).count() == 1;
    ensure!(has("`usCase` is unknown: did you mean `useCase`?"), "{lines:#?}");
    ensure!(has("the collector refused a beacon") && has("(unknown_site)"), "{lines:#?}");
    ensure!(has("complete · openai_chat"), "{lines:#?}");
    let reports = eventually("a report of the right key", || async {
        let reports = stage.collector.streams().await.ok()?;
        reports.iter().any(|report| !report.open).then_some(reports)
    })
    .await?;
    ensure!(reports.len() == 1, "the wrong key counts nothing: {reports:#?}");
    ensure!(json!(reports[0].attributes) == json!({}), "the configuration names no attribute");
    ensure!(reports[0].variant.as_deref() == Some("short"), "{reports:#?}");
    stage.browser.close().await
}

/// Two probes one after the other: the first has a wrong key and a wrong option.
const READ_STREAMS: &str = "
    const lines = [];
    console.warn = console.info = (...line) => lines.push(line.join(' '));
    const { start } = await import(args[0] + '/llm-rum-dev.mjs');
    const collector = args[0];
    window.llmRum?.probe?.stop();
    for (const options of [
        { collector, site: 'wrong', usCase: 'chat' },
        { collector, site: 'demo', variant: 'short', attributes: { plan: 'pro' }, debug: true },
    ]) {
        const probe = start({ patchFetch: false, ...options });
        const ended = new Promise(resolve => probe.onStreamEnd(resolve));
        const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
        const headers = { 'content-type': 'application/json' };
        const ask = probe.wrapFetch(window.fetch);
        await (await ask('/llm/normal/v1/chat/completions', { method: 'POST', headers, body })).text();
        await ended;
        await probe.flush();
        probe.stop();
        await probe.flush();
    }
    return lines;";
