//! The extension `output` in a page whose parts are open shadow roots in open shadow roots, as Panel builds its pages.

use anyhow::{Context, Result, ensure};
use beacon::{Observed, Outcome};
use serde_json::Value;
use tests::{AppPage, Engine};

use crate::{Stage, where_nothing_halts};

/// The page's own log may have the frame before or after.
const FRAME_MS: f64 = 1000.0 / 60.0;
/// Between the log and the probe: a step of the clock, and messages after the frame.
const ERROR_MS: f64 = 8.0;
/// The app waits so long before the first word.
const WAIT_MS: f64 = 300.0;

#[tokio::test(flavor = "multi_thread")]
async fn answers_in_open_shadow_roots_are_measured() -> Result<()> {
    // One after the other: three at once would wait for each other's frames.
    for engine in Engine::ALL {
        where_nothing_halts(in_shadow_roots, engine).await.with_context(|| format!("in {engine}"))?;
    }
    Ok(())
}

async fn in_shadow_roots(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let collector = &stage.collector.url;
    let head = format!(
        "<script src=\"{collector}/llm-rum.js\" data-site=\"demo\"></script>
         <script src=\"{collector}/llm-rum-more.js\" data-with=\"output\" data-quiet-ms=\"1000\"></script>"
    );
    let page = AppPage::serve(&head, "").await?;
    stage.browser.page.goto(&page.url).await?;
    stage.keep_reports().await?;
    stage.browser.run(CHAT, vec![WAIT_MS.into()]).await?;
    for (at, (stop_after, outcome)) in [(0, Outcome::Complete), (4, Outcome::Aborted)].into_iter().enumerate()
    {
        let log = stage.browser.run("return window.ask(...args);", vec![stop_after.into()]).await?;
        let ids = stage.ended_ids(at + 1).await?;
        let report = stage.collector.final_report(&ids[at]).await?;
        let frames = drawn_ms(&log)?;
        let is_right = report.observed == Observed::Output
            && report.outcome == outcome
            && is_near(report.ttfp_ms, frames.first())
            && is_near(report.e2e_ms, frames.last())
            && report.ttfp_ms.is_some_and(|ttfp_ms| ttfp_ms >= WAIT_MS)
            && (2..=frames.len() as u32).contains(&report.deltas);
        ensure!(is_right, "{report:?}, drawn at {frames:?} ms");
    }
    stage.browser.close().await
}

/// When the page drew more words, since the question.
fn drawn_ms(log: &Value) -> Result<Vec<f64>> {
    serde_json::from_value(log.clone()).with_context(|| format!("no log of frames: {log}"))
}

fn is_near(reported_ms: Option<f64>, drawn_ms: Option<&f64>) -> bool {
    let error_ms = reported_ms.zip(drawn_ms).map(|(reported, drawn)| reported - drawn);
    error_ms.is_some_and(|error_ms| error_ms.abs() <= FRAME_MS + ERROR_MS)
}

/// A chat of parts, each with a root and a style. `ask` resolves to when frames with more words were drawn.
const CHAT: &str = "
    while (!window.llmRumMore) await new Promise(resolve => setTimeout(resolve, 10));
    const part = (html, ...parts) => {
        const host = document.createElement('div');
        const root = host.attachShadow({ mode: 'open' });
        root.innerHTML = '<style>:host { display: block; margin: 1px }</style>' + html;
        root.append(...parts);
        return host;
    };
    const field = Object.assign(document.createElement('textarea'), { rows: 1 });
    const stop = Object.assign(document.createElement('button'), { textContent: 'Stop' });
    stop.dataset.llmStop = '';
    const log = part('');
    document.body.append(part('', log, part('', field, stop)));
    const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
    const send = (target, event) => target.dispatchEvent(event);
    const bubbles = { bubbles: true, composed: true };
    const message = (name, text) => {
        const content = part('<p>' + text + '</p>');
        log.shadowRoot.append(part('', part('<b>' + name + '</b><time>10:31</time>'), part('', content)));
        return content.shadowRoot.querySelector('p');
    };
    const drawAgain = () => {
        for (const { shadowRoot } of [...log.shadowRoot.children].filter(({ shadowRoot }) => shadowRoot))
            shadowRoot.replaceChildren(...shadowRoot.childNodes);
    };
    window.ask = async stopAfter => {
        const frames = [], { port1, port2 } = new MessageChannel();
        field.value = 'How far is the moon?';
        send(field, new InputEvent('input', bubbles));
        const enter = new KeyboardEvent('keydown', { key: 'Enter', ...bubbles });
        port1.onmessage = () => frames.push(performance.now() - enter.timeStamp);
        const drawn = () => requestAnimationFrame(() => port2.postMessage(0));
        send(field, enter);
        await pause(20);
        message('User', field.value);
        field.value = '';
        await pause(args[0]);
        let text = 'word0', place = message('Bot', text);
        drawn();
        for (let word = 1; word < 8 && word != stopAfter; word++) {
            await pause(80);
            text += ' word' + word;
            const next = Object.assign(document.createElement('p'), { textContent: text });
            place.replaceWith(next);
            place = next;
            drawn();
        }
        await pause(200);
        if (stopAfter) stop.click();
        else drawAgain();
        return frames;
    };";
