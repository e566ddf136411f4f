//! How far from the frame that the user saw the probe's first paint is: Chromium's own record of its frames
//! comes in beside the probe's reports, errors go out. Other engines have no such record; there as in Chromium
//! the page's own frame is beside it.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::trace::Tracing;
use crate::{Browser, Collector, DemoSite, Engine, Errors};

/// The errors of one engine.
#[derive(Debug)]
pub struct Paint {
    /// Which engine.
    pub engine: Engine,
    /// How many answers.
    pub streams: u64,
    /// Of how many the probe told no paint, since it was told of their first token too late to look.
    pub absent: u64,
    /// The probe's, against the presented frame. Only in Chromium.
    pub probe: Option<Errors>,
    /// The same of the page, by an animation frame after it wrote the text and a message posted in it: what a
    /// page can know. Only in Chromium.
    pub page: Option<Errors>,
    /// The probe's, against its own page's frame.
    pub beside: Errors,
}

/// What the page saw of one answer, on its own clock.
#[derive(Deserialize)]
struct Seen {
    start_ms: f64,
    frame_ms: f64,
}

/// Lets a page in that engine show `streams` answers.
///
/// # Errors
/// When a server or the browser does not start, or a paint is not reported or not recorded.
pub async fn paint(engine: Engine, streams: u64) -> Result<Paint> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let demo = DemoSite::start(&collector.url).await?;
    let browser = Browser::start_in(engine).await?;
    browser.page.goto(&demo.url).await?;
    browser.run(KEEP_IDS, vec![]).await?;
    let tracing = if engine == Engine::Chromium { Some(Tracing::start(&browser).await?) } else { None };
    let seen = browser.run(WRITE_ANSWERS, vec![streams.into()]).await?;
    let seen: Vec<Seen> = serde_json::from_value(seen)?;
    let ids: Vec<String> = serde_json::from_value(browser.run("return window.ended;", vec![]).await?)?;
    let presented = match tracing {
        Some(tracing) => Some(tracing.presented().await?),
        None => None,
    };
    browser.run("await window.llmRum.probe.flush();", vec![]).await?;
    browser.close().await?;
    ensure!(ids.len() == seen.len(), "{} answers, {} reports", seen.len(), ids.len());

    let (mut probe, mut page, mut beside) = (Errors::default(), Errors::default(), Errors::default());
    let mut absent = 0;
    for (index, (id, seen)) in ids.iter().zip(&seen).enumerate() {
        let report = collector.final_report(id).await?;
        let visible = report.ttfv_ms.context("no visible token")?;
        let Some(painted) = report.ttfp_ms else {
            absent += 1;
            continue;
        };
        ensure!(painted >= visible, "painted at {painted}, visible at {visible}");
        beside.push(painted - (seen.frame_ms - seen.start_ms));
        if let Some(presented) = &presented {
            let at = presented.get(&format!("answer {index}")).context("Chromium recorded no frame")?;
            probe.push(painted - (at - seen.start_ms));
            page.push(seen.frame_ms - at);
        }
    }
    let recorded = |errors| presented.as_ref().map(|_| errors);
    Ok(Paint { engine, streams, absent, probe: recorded(probe), page: recorded(page), beside })
}

impl Paint {
    /// All figures, for another program.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "engine": self.engine.to_string(),
            "streams": self.streams,
            "absent": self.absent,
            "probe_ms": self.probe.as_ref().map(Errors::to_json),
            "page_ms": self.page.as_ref().map(Errors::to_json),
            "beside_page_ms": self.beside.to_json(),
        })
    }
}

impl std::fmt::Display for Paint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:<9} paint", self.engine)?;
        for errors in [&self.probe, &self.page] {
            match errors {
                Some(errors) => write!(f, "  {errors}")?,
                None => write!(f, "  {:>20}", "not recorded")?,
            }
        }
        writeln!(f, "  {}  absent: {} of {}", self.beside, self.absent, self.streams)
    }
}

const KEEP_IDS: &str = "
    while (!window.llmRum?.probe) await new Promise(resolve => setTimeout(resolve, 10));
    window.ended = [];
    window.llmRum.probe.onStreamEnd(report => window.ended.push(report.id));";

/// Reads answers one after the other and writes each into an element of its own, beside a clock.
const WRITE_ANSWERS: &str = r#"
    while (!window.llmRumMore) await new Promise(resolve => setTimeout(resolve, 10));
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
                output.append(text);
                if (framed) continue;
                performance.mark(`answer ${i}`);
                framed = frame();
            }
        }
        answers.push({ start_ms: start, frame_ms: await framed });
    }
    clearInterval(ticking);
    await frame();
    await frame();
    return answers;"#;
