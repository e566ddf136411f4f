//! What the probe costs its page at the start and after many streams, by Chromium's own counters.

use std::fmt;

use anyhow::{Context, Result};
use serde_json::json;
use tests::Browser;

use crate::median::median;

/// A page with the probe beside the same page without it.
#[derive(serde::Serialize)]
pub(crate) struct Compared {
    what: &'static str,
    unit: &'static str,
    /// Medians of all rounds.
    with_probe: f64,
    without: f64,
    /// Median of what each round with the probe took more than the one without it that followed.
    more: f64,
}

/// Memory after many streams.
#[derive(serde::Serialize)]
pub(crate) struct Heap {
    streams: u32,
    /// Of JavaScript, in kilobytes, after a tenth of the streams and after all.
    script_kb: [f64; 2],
    /// Of the compiled part, in kilobytes, at the same moments.
    wasm_kb: [f64; 2],
}

/// Time of the main thread from the script tag until the probe waits for its first stream.
pub(crate) async fn start(browser: &Browser, server: &str) -> Result<Compared> {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..START_ROUNDS * 2 {
        let script = if round % 2 == 0 { "/probe/llm-rum.js" } else { "/known.js" };
        browser.page.goto(&format!("{server}/blank.html")).await?;
        let before = busy_ms(browser).await?;
        browser.run(LOAD, vec![script.into()]).await?;
        times[round % 2].push(busy_ms(browser).await? - before);
    }
    Ok(Compared::of("main thread to start", "ms", times))
}

/// Memory after a tenth of many streams, and after all of them.
pub(crate) async fn heap(browser: &Browser, server: &str) -> Result<Heap> {
    browser.page.goto(&format!("{server}/cost.html?sdk=llm-rum")).await?;
    browser.run("await cost.ready;", vec![]).await?;
    browser.run(STREAMS, vec![json!(HEAP_STREAMS / 10)]).await?;
    let first = (script_kb(browser).await?, wasm_kb(browser).await?);
    browser.run(STREAMS, vec![json!(HEAP_STREAMS - HEAP_STREAMS / 10)]).await?;
    let last = (script_kb(browser).await?, wasm_kb(browser).await?);
    Ok(Heap { streams: HEAP_STREAMS, script_kb: [first.0, last.0], wasm_kb: [first.1, last.1] })
}

/// Takes away what nobody uses any longer.
pub(crate) async fn collect_garbage(browser: &Browser) -> Result<()> {
    browser.devtools("HeapProfiler.collectGarbage", json!({})).await?;
    Ok(())
}

async fn script_kb(browser: &Browser) -> Result<f64> {
    collect_garbage(browser).await?;
    Ok(metric(browser, "JSHeapUsedSize").await? / 1000.0)
}

async fn wasm_kb(browser: &Browser) -> Result<f64> {
    let bytes = browser.run("return cost.wasmBytes();", vec![]).await?;
    Ok(bytes.as_f64().context("the probe's module has a memory")? / 1000.0)
}

/// Time that the main thread has worked so far, by the thread's own clock.
pub(crate) async fn busy_ms(browser: &Browser) -> Result<f64> {
    Ok(metric(browser, "TaskDuration").await? * 1000.0)
}

async fn metric(browser: &Browser, name: &str) -> Result<f64> {
    browser.devtools("Performance.enable", json!({ "timeDomain": "threadTicks" })).await?;
    let answer = browser.devtools("Performance.getMetrics", json!({})).await?;
    let metrics = answer["metrics"].as_array().context("a list of metrics")?;
    let found = metrics.iter().find(|metric| metric["name"] == name);
    found.and_then(|metric| metric["value"].as_f64()).with_context(|| format!("no metric {name}"))
}

impl Compared {
    fn of(what: &'static str, unit: &'static str, [with_probe, without]: [Vec<f64>; 2]) -> Self {
        // What the machine does else changes slowly: neighbours differ by the probe more than by that.
        let more = with_probe.iter().zip(&without).map(|(with, without)| with - without).collect();
        Self { what, unit, with_probe: median(with_probe), without: median(without), more: median(more) }
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, unit, with_probe, without, more } = self;
        write!(f, "{what}: {with_probe:.2} {unit}, {without:.2} without the probe, {more:+.2}")
    }
}

impl fmt::Display for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { streams, script_kb: [script, scripts], wasm_kb: [wasm, wasms] } = self;
        write!(
            f,
            "memory after {} and {streams} streams: {script:.0} and {scripts:.0} kB of JavaScript, \
             {wasm:.0} and {wasms:.0} kB of Wasm",
            streams / 10
        )
    }
}

const START_ROUNDS: usize = 9;
const HEAP_STREAMS: u32 = 10_000;

/// Adds a script, and waits for what it loads after itself.
const LOAD: &str = "
    const script = document.createElement('script');
    script.src = args[0];
    script.dataset.site = 'demo';
    const loaded = new Promise(resolve => script.addEventListener('load', resolve));
    document.head.append(script);
    await loaded;
    await new Promise(resolve => setTimeout(resolve, 300));";

/// Reads many answers, and lets the probe report them before too many wait.
const STREAMS: &str = "
    for (let left = args[0]; left > 0; left -= 100) {
        await cost.streams(Math.min(left, 100));
        await cost.flush();
    }
    // Paint waits for a quiet page before it gives up, and holds a stream as long.
    await new Promise((rested) => setTimeout(rested, 3000));
    await new Promise((rested) => requestIdleCallback(rested));";
