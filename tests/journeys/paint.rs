//! When the first visible token was in a frame: the probe's figure beside the browser's own.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use tests::Engine;

use crate::Stage;

const STREAMS: u64 = 20;
/// A frame at 60 Hz, and a little for the way of a message.
const FRAME_MS: f64 = 20.0;

/// What the page saw of one answer, in milliseconds since the request.
#[derive(Deserialize)]
struct Seen {
    /// When the frame was presented that first had the text, by Element Timing, which Chromium has.
    rendered_ms: Option<f64>,
    /// The page's own animation frame after it wrote the text, and a message posted in it.
    frame_ms: f64,
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_paint_is_the_frame_that_has_the_text_in_every_engine() -> Result<()> {
    // One after the other: three at once would wait for each other's frames.
    for engine in Engine::ALL {
        painted(engine).await.with_context(|| format!("in {engine}"))?;
    }
    Ok(())
}

async fn painted(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    let seen = stage.browser.run(WRITE_ANSWERS, vec![STREAMS.into()]).await?;
    let seen: Vec<Seen> = serde_json::from_value(seen)?;
    let ids = stage.ended_ids(STREAMS as usize).await?;
    let (mut from_frame, mut from_rendering) = (Vec::new(), Vec::new());
    for (id, seen) in ids.iter().zip(&seen) {
        let report = stage.collector.final_report(id).await?;
        let visible = report.ttfv_ms.context("no visible token")?;
        let painted = report.ttfp_ms.with_context(|| format!("no paint in {report:#?}"))?;
        ensure!(painted >= visible, "painted at {painted}, visible at {visible}");
        from_frame.push(painted - seen.frame_ms);
        from_rendering.extend(seen.rendered_ms.map(|rendered| painted - rendered));
    }
    ensure!(seen.len() == ids.len(), "{} answers, {} reports", seen.len(), ids.len());
    println!("{engine}: probe against the page's own frame, ms: {}", line(&mut from_frame));
    ensure!(middle(&from_frame).abs() <= FRAME_MS, "not the page's frame: {from_frame:?}");
    if engine == Engine::Chromium {
        ensure!(from_rendering.len() == seen.len(), "{} of Element Timing", from_rendering.len());
        println!("{engine}: probe against Element Timing, ms: {}", line(&mut from_rendering));
        ensure!(middle(&from_rendering).abs() <= FRAME_MS, "not the frame rendered: {from_rendering:?}");
    }
    stage.browser.close().await
}

fn line(errors: &mut [f64]) -> String {
    errors.sort_by(f64::total_cmp);
    let at = |q: f64| errors[((errors.len() - 1) as f64 * q).round() as usize];
    format!("min {:.1} p50 {:.1} p95 {:.1} max {:.1}", at(0.0), at(0.5), at(0.95), at(1.0))
}

fn middle(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

/// Reads answers one after the other and writes each into an element of its own, beside a clock.
const WRITE_ANSWERS: &str = r#"
    while (!window.llmRumMore) await new Promise(resolve => setTimeout(resolve, 10));
    const rendered = new Map();
    if (PerformanceObserver.supportedEntryTypes.includes('element'))
        new PerformanceObserver(list => list.getEntries().forEach(entry => rendered.set(entry.identifier, entry.renderTime)))
            .observe({ type: 'element' });
    const frame = () => new Promise(resolve => requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => resolve(performance.now());
        port2.postMessage(0);
    }));
    const clock = document.createElement('b');
    document.body.append(clock);
    const ticking = setInterval(() => clock.textContent = String(Math.round(performance.now())).padStart(9, '0'), 25);
    const answers = [];
    for (let i = 0; i < args[0]; i++) {
        const output = document.createElement('p');
        output.setAttribute('elementtiming', `answer ${i}`);
        document.body.prepend(output);
        const start = performance.now();
        const response = await fetch('/llm/normal;first=120;gap=20;deltas=12/api/chat', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'hi' }] }),
        });
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        let pending = '', framed;
        for (;;) {
            const { done, value } = await reader.read();
            if (done) break;
            const lines = (pending + value).split('\n');
            pending = lines.pop();
            for (const text of lines.map(line => JSON.parse(line).message?.content).filter(Boolean)) {
                framed ??= frame();
                output.append(text);
            }
        }
        answers.push({ start, framed: await framed, id: `answer ${i}` });
    }
    clearInterval(ticking);
    await frame();
    await frame();
    return answers.map(({ start, framed, id }) =>
        ({ frame_ms: framed - start, rendered_ms: rendered.has(id) ? rendered.get(id) - start : null }));"#;
