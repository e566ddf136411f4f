//! The dashboard in the browser: its states, and the numbers of the API on the page.

use anyhow::{Context, Result, ensure};
use beacon::{Batch, Outcome, StreamReport};
use serde_json::Value;
use tests::{Browser, Collector, eventually, report};

#[tokio::test(flavor = "multi_thread")]
async fn the_dashboard_counts_a_stream() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let browser = Browser::start().await?;
    browser.page.goto(&collector.url).await?;
    state(&browser, "empty").await?;

    let reports: Vec<_> = (0..100).map(report).collect();
    let (status, body) = collector.post(serde_json::to_string(&Batch { reports })?).await?;
    ensure!(status == 204, "{status} {body}");
    eventually("the streams in the store", || async {
        (collector.get("/v1/summary").await.ok()?["streams"] == 100).then_some(())
    })
    .await?;
    browser.page.refresh().await?;
    state(&browser, "ready").await?;

    let verdict = text(&browser, "[data-verdict]").await?;
    let summary = collector.get("/v1/summary").await?;
    ensure!(verdict.contains(summary["verdict"]["text"].as_str().context("a sentence")?), "{verdict}");
    ensure!(text(&browser, "[data-tile=streams] [data-value]").await?.contains("100"), "the streams tile");
    let p50 = summary["ttfv"]["p50_ms"].as_f64().context("a median")?;
    ensure!((p50 - 800.0).abs() < 9.0, "{p50}");
    let ttfv = text(&browser, "[data-tile=ttfv]").await?;
    ensure!(ttfv.contains("0.8") || ttfv.contains("80") || ttfv.contains("79"), "{ttfv}");
    for layer in ["Health", "Percentiles", "Errors"] {
        shown(&browser, &format!("section.layer[aria-label={layer}] > .layer-title")).await?;
    }
    for chart in ["ttft", "phases", "histogram", "compare", "speed", "throughput", "in-flight", "abandonment"]
    {
        let found = browser
            .page
            .execute(&format!("return !!document.querySelector('figure[data-chart={chart}]')"), vec![])
            .await?;
        ensure!(found == true, "chart {chart}");
    }

    let throughput = text(&browser, "figure[data-chart=throughput]").await?;
    for part in ["input tokens", "output tokens", "requests. 100 % of the streams have a token count."] {
        ensure!(throughput.contains(part), "no {part:?} in {throughput:?}");
    }

    tables_and_heatmap(&browser, &collector).await?;
    budgets_samples_accounting(&browser, &collector).await?;
    compressed(&browser).await?;

    browser.page.goto(&format!("{}/?stream={:032x}", collector.url, 7)).await?;
    let detail = format!("[data-detail='{:032x}']", 7);
    eventually("the stream's detail", || async {
        text(&browser, &detail).await.ok().filter(|text| text.contains("800"))
    })
    .await?;
    left(&browser, &collector).await?;
    happening(&browser, &collector).await?;
    ensure!(complaints(&browser).await?.is_empty(), "the page stays within its own policy");

    collector.kill().await?;
    state(&browser, "error").await?;
    shown(&browser, "[data-live=away]").await?;
    browser.close().await
}

/// Sends reports, and waits for `all` streams in the store.
async fn store(collector: &Collector, reports: Vec<StreamReport>, all: u64) -> Result<()> {
    let (status, body) = collector.post(serde_json::to_string(&Batch { reports })?).await?;
    ensure!(status == 204, "{status} {body}");
    eventually("the streams in the store", || async {
        (collector.get("/v1/summary").await.ok()?["streams"] == all).then_some(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn tiles_show_the_targets_of_the_use_case() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("llm-rum.toml");
    std::fs::write(&config, "[targets.chat]\nintegrity = 0.95\n")?;
    let config = config.to_str().context("a temporary path is text")?;
    let collector = Collector::start_with(&folder.path().join("data"), &["--config", config]).await?;
    let cut = |number: u64| StreamReport { outcome: Outcome::Truncated, ..report(number) };
    let reports = (0..100).map(|number| if number < 10 { cut(number) } else { report(number) });
    store(&collector, reports.collect(), 100).await?;
    let browser = Browser::start().await?;
    browser.page.goto(&collector.url).await?;
    state(&browser, "ready").await?;
    let errors = |goal| ("[data-tile=errors] .goal.bad", goal);
    let others = [
        ("[data-tile=integrity] .goal.bad", "target 95"),
        ("[data-tile=goodput] .goal", "90"),
        ("[data-tile=ttfv] .goal.good", "within 1"),
    ];
    for (selector, goal) in [errors("above 0.5")].into_iter().chain(others) {
        let shown = text(&browser, selector).await?;
        ensure!(shown.contains(goal), "{selector} has no {goal:?}: {shown}");
    }

    // A chat may fail 5 times in 1,000, and coding once: half of the streams are of each.
    let coding = |number: u64| StreamReport { use_case: Some("coding".into()), ..report(number) };
    store(&collector, (100..200).map(coding).collect(), 200).await?;
    browser.page.goto(&collector.url).await?;
    state(&browser, "ready").await?;
    let (selector, goal) = errors("above 0.3");
    let shown = text(&browser, selector).await?;
    ensure!(shown.contains(goal), "{selector} has no {goal:?}: {shown}");
    browser.close().await
}

/// Nine of ten users wait 300 ms and one waits 5 s: a mean of 770 ms is a wait that no user had.
#[tokio::test(flavor = "multi_thread")]
async fn no_headline_shows_a_mean() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let waits = |number: u64| if number.is_multiple_of(10) { 5_000.0 } else { 300.0 };
    let reports = (0..100).map(|number| {
        let at = Some(waits(number));
        let timed = StreamReport { ttft_ms: at, ttfv_ms: at, ..report(number) };
        StreamReport {
            e2e_ms: Some(waits(number) + 1_000.0),
            close_ms: Some(waits(number) + 1_001.0),
            ..timed
        }
    });
    store(&collector, reports.collect(), 100).await?;
    let browser = Browser::start().await?;
    browser.page.goto(&collector.url).await?;
    state(&browser, "ready").await?;
    let script = "return [...document.querySelectorAll('[data-tile] [data-value]')]
        .map(({ dataset }) => Number(dataset.value))";
    let shown = browser.page.execute(script, vec![]).await?;
    let shown: Vec<f64> = shown.as_array().context("values")?.iter().filter_map(Value::as_f64).collect();
    for wait in [300.0, 5_000.0] {
        ensure!(shown.iter().any(|value| (value / wait - 1.0).abs() < 0.02), "{wait} is not in {shown:?}");
    }
    for mean in [770.0, 1_770.0] {
        ensure!(shown.iter().all(|value| (value / mean - 1.0).abs() > 0.05), "a mean in {shown:?}");
    }
    let headlines = "return [...document.querySelectorAll('[data-tile], [data-verdict]')]
        .map(({ innerText }) => innerText).join(' ').toLowerCase()";
    let words = browser.page.execute(headlines, vec![]).await?;
    let words = words.as_str().context("texts")?;
    ensure!(!words.contains("average") && !words.contains("mean "), "{words}");
    browser.close().await
}

/// What is open shows before the page asks for anything anew.
async fn happening(browser: &Browser, collector: &Collector) -> Result<()> {
    browser.page.goto(&format!("{}/?site=demo", collector.url)).await?;
    shown(browser, "[data-live=live]").await?;
    let begun = StreamReport { open: true, outcome: Outcome::Abandoned, ..report(9_000) };
    for (reports, open) in [(vec![begun], "1"), (vec![StreamReport { rev: 1, ..report(9_000) }], "0")] {
        let (status, body) = collector.post(serde_json::to_string(&Batch { reports })?).await?;
        ensure!(status == 204, "{status} {body}");
        eventually("it to show as it is", || async {
            (text(browser, "[data-now=open] dd").await.ok()? == open).then_some(())
        })
        .await?;
    }
    shown(browser, &format!("[data-newest='{:032x}']", 9_000)).await
}

pub(super) async fn shown(browser: &Browser, selector: &str) -> Result<()> {
    eventually(selector, || async { text(browser, selector).await.ok().map(drop) }).await
}

/// Twenty users who gave up: the tile says what the percentiles are with them, the curve who left when.
async fn left(browser: &Browser, collector: &Collector) -> Result<()> {
    let leaver = |number: u64| StreamReport {
        outcome: Outcome::Aborted,
        ttft_ms: None,
        ttfv_ms: None,
        e2e_ms: None,
        close_ms: Some(5_000.0 + number as f64),
        ..report(number)
    };
    let reports: Vec<_> = (1_000..1_020).map(leaver).collect();
    let (status, body) = collector.post(serde_json::to_string(&Batch { reports })?).await?;
    ensure!(status == 204, "{status} {body}");
    eventually("those who left in the store", || async {
        (collector.get("/v1/abandonment").await.ok()?["abandoned"] == 20).then_some(())
    })
    .await?;
    browser.page.goto(&collector.url).await?;
    state(browser, "ready").await?;
    let adjusted = text(browser, "[data-km-adjusted]").await?;
    ensure!(adjusted.contains("20 abandoned streams") && adjusted.contains("p95 unknown"), "{adjusted}");
    let curve = text(browser, "[data-chart=abandonment]").await?;
    ensure!(curve.contains("20 of 120 users (16.7 %) gave up before the first visible token"), "{curve}");
    let drawn = "return document.querySelectorAll('[data-chart=abandonment] path.step').length";
    ensure!(browser.page.execute(drawn, vec![]).await? == 1, "the curve is drawn");
    Ok(())
}

/// The table by model, how streams ended, and the heatmap say what the API says.
async fn tables_and_heatmap(browser: &Browser, collector: &Collector) -> Result<()> {
    let breakdown = collector.get("/v1/breakdown?by=model").await?;
    let group = &breakdown["groups"][0];
    let model = group["value"].as_str().context("a model")?;
    let row = text(browser, &format!("tr[data-group='{model}']")).await?;
    ensure!(row.contains(&group["streams"].to_string()), "{row}");
    let errors = format!("tr[data-group='{model}'] [data-errors='{}']", group["errors"]);
    let share = text(browser, &errors).await?;
    ensure!(share.ends_with('%'), "the share of errors is known: {share}");
    let ended = text(browser, "[data-counts=outcomes]").await?;
    ensure!(ended.contains("complete") && ended.contains("100"), "{ended}");

    browser.page.goto(&format!("{}/?drawing=heatmap", collector.url)).await?;
    state(browser, "ready").await?;
    let heatmap = collector.get("/v1/heatmap").await?;
    let points = heatmap["points"].as_array().context("points")?;
    let held = points.iter().flat_map(|point| point["counts"].as_array().into_iter().flatten());
    let cells = held.filter(|count| **count != 0).count();
    let drawn = "return document.querySelectorAll('[data-chart=ttft] .heat rect').length";
    eventually("a cell for each bucket with streams", || async {
        (browser.page.execute(drawn, vec![]).await.ok()? == cells).then_some(())
    })
    .await
}

/// Error budgets, samples and ingest accounting say what the API says.
async fn budgets_samples_accounting(browser: &Browser, collector: &Collector) -> Result<()> {
    browser.page.goto(&format!("{}/?sample=slowest", collector.url)).await?;
    state(browser, "ready").await?;
    let slo = collector.get("/v1/slo").await?;
    for budget in slo["budgets"].as_array().context("budgets")? {
        let objective = budget["objective"].as_str().context("an objective")?;
        let line = format!("[data-budget={objective}][data-use-case=chat]");
        let remaining = budget["remaining"].to_string();
        let script = "return document.querySelector(arguments[0])?.dataset.remaining";
        eventually(&format!("what is left of {objective}"), || async {
            let left = browser.page.execute(script, vec![line.as_str().into()]).await.ok()?;
            (left.as_str()?.parse::<f64>().ok()? == remaining.parse::<f64>().ok()?).then_some(())
        })
        .await?;
    }
    let slowest = collector.get("/v1/streams?sample=slowest").await?;
    let first = slowest["streams"][0]["id"].as_str().context("a slowest stream")?;
    let row = "return document.querySelector('[data-list=slowest] tr[data-stream]')?.dataset.stream";
    ensure!(browser.page.execute(row, vec![]).await? == first, "the slowest stream comes first");
    let accounting = text(browser, "[data-accounting=quiet]").await?;
    ensure!(accounting.contains("100 reports received (100 streams), 0 of "), "{accounting}");
    Ok(())
}

/// What a browser loads, of the dashboard and of the probe, comes compressed, and is what it is uncompressed.
async fn compressed(browser: &Browser) -> Result<()> {
    let loaded = browser.run(LOADED, vec![]).await?;
    let files = loaded.as_array().context("files")?;
    for file in files {
        let [sent, whole, read] = ["sent", "whole", "read"].map(|name| file[name].as_u64().unwrap_or(0));
        ensure!(read > 0 && whole == read && sent < whole * 6 / 10, "{file}");
    }
    ensure!(files.len() == 4, "script and style of the dashboard, script and Wasm of the probe: {loaded}");
    Ok(())
}

/// Each file's bytes on the wire, unpacked by the browser's own count, and as they are read.
const LOADED: &str = "
    const own = [...document.querySelectorAll('script[src], link[rel=stylesheet]')];
    const names = [...own.map(({ src, href }) => src || href), '/llm-rum.js', '/llm-rum.wasm'];
    return Promise.all(names.map(async (name) => {
        const url = new URL(name, location);
        url.search = '?anew';
        const read = (await (await fetch(url)).arrayBuffer()).byteLength;
        let entry;
        while (!(entry = performance.getEntriesByName(url.href)[0])) await new Promise(requestAnimationFrame);
        return { name, sent: entry.encodedBodySize, whole: entry.decodedBodySize, read };
    }));";

pub(super) async fn state(browser: &Browser, wanted: &str) -> Result<()> {
    let script = "return document.documentElement.dataset.state";
    eventually(&format!("dashboard state {wanted}"), || async {
        (browser.page.execute(script, vec![]).await.ok()? == wanted).then_some(())
    })
    .await
}

pub(super) async fn text(browser: &Browser, selector: &str) -> Result<String> {
    let script = "return document.querySelector(arguments[0])?.innerText ?? null";
    let text = browser.page.execute(script, vec![selector.into()]).await?;
    let text = text.as_str().with_context(|| format!("{selector} is on the page"))?;
    // A figure and its unit stay on one line.
    Ok(text.replace('\u{a0}', " "))
}

/// Violations of the Content Security Policy since the page was loaded.
async fn complaints(browser: &Browser) -> Result<Vec<Value>> {
    let log = browser.console().await?;
    Ok(log
        .into_iter()
        .filter(|entry| {
            entry["message"].as_str().is_some_and(|message| message.contains("Content Security Policy"))
        })
        .collect())
}
