//! An incident among other traffic: the first screen names its site, use case, start and cause.

use std::path::Path;
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use beacon::{NetworkTiming, Page, PageLifecycle, StreamReport};
use fantoccini::Locator;
use serde_json::{Value, json};
use tests::{Browser, Collector, binary, eventually, http, report};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::dashboard::{shown, state, text};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_screen_names_a_planted_incident() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("llm-rum.toml");
    std::fs::write(&config, CONFIG)?;
    let config = config.to_str().context("a temporary path is text")?;
    let data = folder.path().join("data");
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as i64;
    let incident_ms = (now_ms / MINUTE_MS - INCIDENT_MINUTES) * MINUTE_MS;

    let mut lines = demo_history().await?;
    lines.extend_from_slice(shop_history(now_ms, incident_ms)?.as_bytes());
    import(config, &data, &lines).await?;

    let collector = Collector::start_with(&data, &["--config", config]).await?;
    let marker = json!({ "title": "gateway 2.1", "site": "shop", "url": "https://ci.example/7" }).to_string();
    let post =
        http().post(format!("{}/v1/markers", collector.url)).header("content-type", "application/json");
    post.body(marker).send().await?.error_for_status()?;
    let summary = collector.get("/v1/summary").await?;
    let verdict = &summary["verdict"];
    ensure!(summary["streams"].as_u64() > Some(2_000), "{}", summary["streams"]);
    ensure!(verdict["site"] == "shop" && verdict["use_case"] == "chat", "{verdict}");
    ensure!(verdict["cause"]["cause"] == "main_thread", "{verdict}");
    let since_ms = verdict["since_ms"].as_i64().context("a start")?;
    ensure!((since_ms - incident_ms).abs() <= MINUTE_MS, "{since_ms} is not {incident_ms}");
    ensure!(verdict["until_ms"] == Value::Null, "it lasts: {verdict}");

    let explained = collector.get("/v1/explain?site=shop").await?;
    let findings = explained["findings"].as_array().context("findings")?;
    let [finding] = &findings[..] else { bail!("one reason and no innocent value: {explained}") };
    let of = |dimension: &str, value: &str| json!([{ "dimension": dimension, "value": value }]);
    ensure!(finding["values"] == of("browser", "firefox") && finding["same"] == json!([]), "{finding}");
    ensure!(finding["began_with"] == of("release", "v42"), "{finding}");
    ensure!(finding["cause"]["name"] == "main_thread", "{finding}");
    let since_ms_of_finding = finding["since_ms"].as_i64().context("a start")?;
    ensure!((since_ms_of_finding - incident_ms).abs() <= MINUTE_MS, "{finding}");
    let failed = collector.get("/v1/explain?site=shop&of=failed").await?;
    ensure!(failed["affected"] == 0 && failed["findings"] == json!([]), "{failed}");

    let browser = Browser::start().await?;
    browser.page.goto(&format!("{}/?site=shop", collector.url)).await?;
    state(&browser, "ready").await?;
    // It is asked for once the figures are there.
    shown(&browser, "[data-clear-finding]").await?;
    let quoted = text(&browser, "[data-clear-finding]").await?;
    for fact in ["Release v42 appeared then", "browser firefox", &clock(&browser, since_ms_of_finding).await?]
    {
        ensure!(quoted.contains(fact), "no {fact:?} in {quoted:?}");
    }
    shown(&browser, "[data-explain=slow] [data-finding]").await?;
    shown(&browser, "[data-releases='2'] [data-release=v42] .bad").await?;
    budget_lists_releases_and_markers(&browser).await?;
    // One click more: the screen of the affected streams alone.
    browser.page.find(Locator::Css("[data-finding] button")).await?.click().await?;
    eventually("a filter by the value", || async {
        text(&browser, ".chips").await.ok()?.contains("firefox").then_some(())
    })
    .await?;
    browser.page.find(Locator::Css("[data-release=v42] button")).await?.click().await?;
    eventually("a filter by the release", || async {
        text(&browser, ".chips").await.ok()?.contains("v42").then_some(())
    })
    .await?;
    let firefox = collector.get("/v1/summary?site=shop&browser=firefox").await?;
    ensure!(firefox["kept_since_ms"] == Value::Null, "{firefox}");
    ensure!(firefox["verdict"]["cause"]["cause"] == "main_thread", "{firefox}");
    let others = collector.get("/v1/summary?site=shop&browser=!firefox").await?;
    ensure!(others["verdict"]["level"] == "good", "{others}");
    let streams = |summary: &Value| summary["streams"].as_u64().unwrap_or_default();
    ensure!(streams(&firefox) > 400 && streams(&others) > 50, "{others}");
    heatmap_has_markers(&browser, &collector).await?;
    browser.page.goto(&collector.url).await?;
    state(&browser, "ready").await?;
    let shown = text(&browser, "[data-verdict=bad]").await?;
    let since = clock(&browser, since_ms).await?;
    for fact in ["shop", "chat", "busy main thread of the page", "above the 2.0 s p95 target", &since] {
        ensure!(shown.contains(fact), "no {fact:?} in {shown:?}");
    }
    browser.close().await
}

/// The error budgets name what changed in their period, with a link to the page of the change.
async fn budget_lists_releases_and_markers(browser: &Browser) -> Result<()> {
    browser.page.find(Locator::Css("[data-markers] summary")).await?.click().await?;
    shown(browser, "[data-markers=known] a[href='https://ci.example/7']").await?;
    let listed = text(browser, "[data-markers]").await?;
    let [release, deploy] = ["shop release: v42", "shop deploy: gateway 2.1"].map(|line| listed.find(line));
    ensure!(release.is_some() && release < deploy && listed.contains("2 markers"), "{listed}");
    Ok(())
}

/// Like every chart over time. The deploy is of this moment, so its label has no room.
async fn heatmap_has_markers(browser: &Browser, collector: &Collector) -> Result<()> {
    browser.page.goto(&format!("{}/?site=shop&drawing=heatmap", collector.url)).await?;
    state(browser, "ready").await?;
    let marks =
        "return [...document.querySelectorAll('.heat .mark:not(.target)')].map(mark => mark.textContent)";
    eventually("the release and the deploy on the heatmap", || async {
        (browser.page.execute(marks, vec![]).await.ok()? == json!(["v42", ""])).then_some(())
    })
    .await
}

/// Streams of the last hour as the demo has them. One of its providers has an incident of its own.
/// Imports reports into a data folder that no collector uses.
pub(super) async fn import(config: &str, data: &Path, lines: &[u8]) -> Result<()> {
    let mut import = Command::new(binary("llm-rum"))
        .args(["import", "-", "--config", config, "--data"])
        .arg(data)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    import.stdin.take().context("stdin is piped")?.write_all(lines).await?;
    ensure!(import.wait().await?.success(), "the import failed");
    Ok(())
}

pub(super) async fn demo_history() -> Result<Vec<u8>> {
    let arguments = ["history", "--minutes", "60", "--streams", "1500"];
    let history = Command::new(binary("demo-site")).args(arguments).output().await?;
    ensure!(history.status.success(), "{}", String::from_utf8_lossy(&history.stderr));
    Ok(history.stdout)
}

/// Streams of the second site, one every six seconds. The incident begins with release v42: in Firefox the page's main
/// thread is busy for 2.5 to 6 s before the first token. Country, model, provider and route have nothing to do with it.
fn shop_history(now_ms: i64, incident_ms: i64) -> Result<String> {
    let streams = 600;
    let mut lines = String::new();
    for number in 0..streams {
        let began_ms = now_ms - 3_600_000 + i64::from(number) * 3_600_000 / i64::from(streams) + 1;
        // The golden ratio spreads them evenly, in no order.
        let share = (f64::from(number) * 0.618_034).fract();
        let is_new = began_ms >= incident_ms;
        let browser = BROWSERS[number as usize % BROWSERS.len()];
        let is_hit = is_new && browser == "firefox";
        let blocked_ms = if is_hit { 2_500.0 + 3_500.0 * share } else { 40.0 * share };
        let page = Page {
            browser: Some(browser.into()),
            os: Some(one_of(&["windows", "macos", "linux"], number, 0.43).into()),
            release: Some(if is_new { "v42" } else { "v41" }.into()),
            route: Some(one_of(&["/cart", "/search", "/help"], number, 0.29).into()),
            ..Page::default()
        };
        let stream = StreamReport {
            model: Some(one_of(&["large", "small"], number, 0.37).into()),
            provider: Some(one_of(&["openai", "anthropic"], number, 0.53).into()),
            page: Some(page),
            ..stream(number, blocked_ms)
        };
        let mut line = serde_json::to_value(stream)?;
        let lasted_ms = line["close_ms"].as_f64().context("a time")? as i64;
        line["site"] = json!("shop");
        line["received_ms"] = json!((began_ms + lasted_ms).min(now_ms));
        lines.push_str(&format!("{line}\n"));
    }
    Ok(lines)
}

/// A chat whose first byte is in the browser after 300 ms, and in the app once the main thread is free.
fn stream(number: u32, blocked_ms: f64) -> StreamReport {
    let later = |ms: f64| Some(ms + blocked_ms);
    let page = PageLifecycle { long_frames_ms: Some(blocked_ms), ..PageLifecycle::default() };
    StreamReport {
        use_case: Some("chat".into()),
        first_byte_ms: later(300.0),
        first_event_ms: later(300.0),
        ttft_ms: later(301.0),
        ttfv_ms: later(302.0),
        e2e_ms: later(2_300.0),
        close_ms: later(2_301.0),
        network_timing: Some(NetworkTiming { wait_ms: Some(300.0), ..NetworkTiming::default() }),
        page_lifecycle: Some(page),
        ..report(u64::from(number) + 1_000_000)
    }
}

/// One of the words, in no order.
fn one_of<'a>(words: &[&'a str], number: u32, step: f64) -> &'a str {
    let share = (f64::from(number) * (0.618_034 + step)).fract();
    words[(share * words.len() as f64) as usize]
}

/// Browsers of the streams in turns. Most are Firefox, so that the site is clearly worse than those of the demo.
const BROWSERS: [&str; 8] =
    ["firefox", "firefox", "firefox", "chrome", "firefox", "firefox", "firefox", "firefox"];

/// A moment as the page writes it: the time of day.
async fn clock(browser: &Browser, at_ms: i64) -> Result<String> {
    let script = "const at = new Date(arguments[0]); const two = (n) => String(n).padStart(2, '0'); \
                  return `${two(at.getHours())}:${two(at.getMinutes())}`";
    let clock = browser.page.execute(script, vec![json!(at_ms)]).await?;
    Ok(clock.as_str().context("a time")?.to_owned())
}

const MINUTE_MS: i64 = 60_000;

/// Start of the incident, in whole minutes before now.
const INCIDENT_MINUTES: i64 = 22;

/// The sites of the demo, and the one with the incident.
pub(super) const CONFIG: &str = r#"
    [[sites]]
    name = "helpdesk"
    keys = ["helpdesk"]
    origins = ["https://helpdesk.example"]

    [[sites]]
    name = "ide"
    keys = ["ide"]
    origins = ["https://ide.example"]
    use_case = "coding"

    [[sites]]
    name = "shop"
    keys = ["shop"]
    origins = ["https://shop.example"]
"#;
