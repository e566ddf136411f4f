//! The extension `arrivals`: the strip shows where text came, and where it stalled.

use anyhow::{Context, Result, ensure};
use tests::{Engine, eventually};

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn a_stall_is_where_it_happened_in_every_engine() -> Result<()> {
    in_every_engine(stall).await
}

async fn stall(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    stage.browser.run(READ_STREAMS, vec![stage.collector.url.clone().into()]).await?;
    let reports = eventually("a report of both streams", || async {
        let reports = stage.collector.streams().await.ok()?;
        (reports.len() == 2 && reports.iter().all(|report| !report.open)).then_some(reports)
    })
    .await?;
    for report in reports {
        let arrivals = report.arrivals.as_deref().with_context(|| format!("no arrivals: {report:#?}"))?;
        let (doublings, steps) = arrivals.split_at(1);
        let step_ms = 10.0 * f64::from(1 << u32::from_str_radix(doublings, 36)?);
        let longest_ms = report.longest_gap_ms.context("a stall")?;
        let longest_silence = steps.split(|digit| digit != '0').map(str::len).max().unwrap_or(0);
        let silence_ms = longest_silence as f64 * step_ms;
        // A silence begins and ends within steps that have text.
        ensure!(
            (silence_ms..=silence_ms + 2.0 * step_ms).contains(&longest_ms),
            "{longest_ms} ms in {arrivals:?}"
        );
        let length_ms = report.e2e_ms.zip(report.first_byte_ms).map(|(end, begin)| end - begin);
        let steps_ms = steps.len() as f64 * step_ms;
        ensure!(length_ms.is_some_and(|length_ms| length_ms <= steps_ms), "{length_ms:?} in {arrivals:?}");
    }
    stage.browser.close().await
}

/// A stream of a usual format, and one for which the page loads the full Wasm.
const READ_STREAMS: &str = "
    const [{ start }, { arrivals }] = await Promise.all(
        ['llm-rum.mjs', 'llm-rum-more.mjs'].map(name => import(args[0] + '/' + name)));
    window.llmRum?.probe?.stop();
    const probe = start({ collector: args[0], site: 'demo', patchFetch: false }).use(arrivals());
    const ask = probe.wrapFetch(window.fetch);
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const headers = { 'content-type': 'application/json' };
    for (const path of ['v1/chat/completions', 'api/chat']) {
        const ended = new Promise(resolve => probe.onStreamEnd(resolve));
        const reader = (await ask('/llm/stall/' + path, { method: 'POST', headers, body })).body.getReader();
        while (!(await reader.read()).done);
        await ended;
    }
    await probe.flush();";
