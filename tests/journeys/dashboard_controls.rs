//! The dashboard's controls in the browser: zoom, time zone, theme, and what a narrow screen shows.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use beacon::{Batch, Defect, Outcome, Page, StreamReport};
use fantoccini::actions::{InputSource, MouseActions, PointerAction};
use fantoccini::key::Key;
use fantoccini::{Locator, actions};
use serde_json::{Value, json};
use tests::{Browser, Collector, eventually, report};

use super::dashboard::{shown, state, text};
use super::planted_incident::import;
use super::prometheus::engines;

#[tokio::test(flavor = "multi_thread")]
async fn dragging_over_a_chart_zooms_to_its_times() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    post(&collector, (0..100).map(report).collect()).await?;
    let browser = Browser::start().await?;
    for (query, chart) in [("", "[data-chart=ttft] .u-over"), ("?drawing=heatmap", ".heat svg")] {
        browser.page.goto(&format!("{}/{query}", collector.url)).await?;
        state(&browser, "ready").await?;
        drag_over_half(&browser, chart).await?;
        eventually("fixed times in the address", || async {
            let length = address_range_ms(&browser).await.ok()??;
            // Half of the chart's hour, widened to whole minutes.
            (28 * MINUTE_MS..=36 * MINUTE_MS).contains(&length).then_some(())
        })
        .await?;
        shown(&browser, "[data-times]").await?;
    }
    button(&browser, "Zoom out").await?;
    eventually("twice the times", || async {
        let length = address_range_ms(&browser).await.ok()??;
        (56 * MINUTE_MS..=76 * MINUTE_MS).contains(&length).then_some(())
    })
    .await?;

    ensure!(text(&browser, "[data-times]").await?.contains("local time"), "times are local");
    browser.page.find(Locator::Css("[data-time-zone]")).await?.click().await?;
    shown(&browser, "[data-time-zone=utc]").await?;
    ensure!(text(&browser, "[data-times]").await?.contains("UTC"), "times are in UTC");
    browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn charts_of_users_and_engines_share_one_cursor() -> Result<()> {
    let data = tempfile::tempdir()?;
    let config = data.path().join("llm-rum.toml");
    let engine = format!("[[engines]]\nkind = 'vllm'\nurl = '{}/metrics'\n", engines().await?);
    std::fs::write(&config, engine)?;
    let collector = Collector::start_with(data.path(), &["--config", &config.display().to_string()]).await?;
    post(&collector, (0..100).map(report).collect()).await?;
    eventually("figures of the engine", || async {
        let answer = collector.get("/v1/engines").await.ok()?;
        (!answer["models"].as_array()?.is_empty()).then_some(())
    })
    .await?;
    let browser = Browser::start().await?;
    browser.page.goto(&collector.url).await?;
    state(&browser, "ready").await?;
    let charts = ["ttft", "engines", "engine-caches"];
    for chart in charts {
        shown(&browser, &format!("[data-chart={chart}] .u-over")).await?;
    }
    let mut minutes = Vec::new();
    for (hovered, share) in [("ttft", 0.25), ("engines", 0.5), ("engine-caches", 0.75)] {
        let [x, _, y] = places(&browser, &format!("[data-chart={hovered}] .u-over"), share).await?;
        let mouse = MouseActions::new("mouse".to_owned());
        browser.page.perform_actions(mouse.then(PointerAction::MoveTo { duration: None, x, y })).await?;
        let minute = eventually("one minute in all charts", || async {
            let mut read = Vec::new();
            for chart in charts {
                read.push(
                    text(&browser, &format!("[data-chart={chart}] .tip:not([hidden]) strong")).await.ok()?,
                );
            }
            let first = read.pop()?;
            (read.iter().all(|minute| *minute == first) && !minutes.contains(&first)).then_some(first)
        });
        minutes.push(minute.await?);
    }
    browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn themes_and_narrow_screens_hide_nothing() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    post(&collector, (0..100).map(report).collect()).await?;
    let browser = Browser::start().await?;
    browser.page.set_window_size(500, 1_000).await?;
    browser.page.goto(&format!("{}/?theme=light", collector.url)).await?;
    state(&browser, "ready").await?;
    let cut = browser.page.execute(CUT_SWITCHES, vec![]).await?;
    ensure!(cut == Value::Array(Vec::new()), "each switch shows all its options, but {cut}");
    let head = text(&browser, ".breakdown-table thead").await?;
    ensure!(head.contains("p50") && head.contains("Errors"), "{head}");

    // The bar of the running minute is not filled. Without this wait, streams of a minute's first seconds came too late.
    let sent_in = minute();
    eventually("the end of the minute", || async { (minute() > sent_in).then_some(()) }).await?;
    // #d5dad8 and #2a3135 are the volume's colours.
    for (theme, colour) in [("light", [213, 218, 216]), ("dark", [42, 49, 53])] {
        eventually(&format!("bars of the {theme} theme"), || async {
            let drawn = browser.page.execute(HAS_COLOUR, vec![colour.to_vec().into()]).await.ok()?;
            (drawn == true).then_some(())
        })
        .await?;
        browser.page.execute("document.querySelector('[data-theme-button]').click()", vec![]).await?;
    }

    browser.page.goto(&format!("{}/?stream={:032x}", collector.url, 7)).await?;
    shown(&browser, &format!("[data-detail='{:032x}']", 7)).await?;
    let overflow = "return getComputedStyle(document.documentElement).overflowY";
    ensure!(
        browser.page.execute(overflow, vec![]).await? == "hidden",
        "the page behind a stream does not scroll"
    );
    browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_take_several_values_by_keyboard() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let models = [("large", 60), ("small", 30), ("tiny", 10)];
    let names = models.iter().flat_map(|(name, count)| std::iter::repeat_n(*name, *count));
    let of_model =
        |(name, number): (&'static str, _)| StreamReport { model: Some(name.into()), ..report(number) };
    post(&collector, names.zip(0..).map(of_model).collect()).await?;
    let browser = Browser::start().await?;
    browser.page.goto(&collector.url).await?;
    state(&browser, "ready").await?;
    browser.page.find(Locator::Css("body")).await?.send_keys("f").await?;
    for (value, streams) in [("small", "30"), ("tiny", "40")] {
        let choice = format!(".filter-values input[value={value}]");
        shown(&browser, &choice).await?;
        browser.page.find(Locator::Css(&choice)).await?.send_keys(" ").await?;
        has_streams(&browser, streams).await?;
    }
    ensure!(text(&browser, ".chip").await?.contains("small or tiny"), "the chip names both");
    browser.page.find(Locator::Css(".filter-panel input[value='is not']")).await?.send_keys(" ").await?;
    has_streams(&browser, "60").await?;
    ensure!(text(&browser, ".chip").await?.contains("not small, not tiny"), "the chip excludes both");
    let address = browser.page.current_url().await?;
    ensure!(address.query() == Some("model=%21small&model=%21tiny"), "{address}");

    browser.page.goto(address.as_str()).await?;
    state(&browser, "ready").await?;
    has_streams(&browser, "60").await?;
    browser.page.find(Locator::Css("body")).await?.send_keys("x").await?;
    has_streams(&browser, "100").await?;
    browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_of_the_list_are_chosen_by_keyboard() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let of_release = |number: u64| {
        let release = if number < 30 { "v41" } else { "v42" };
        let page = Some(Page { release: Some(release.into()), ..Page::default() });
        StreamReport { page, ..report(number) }
    };
    post(&collector, (0..40).map(of_release).collect()).await?;
    let browser = Browser::start().await?;
    browser.page.goto(&collector.url).await?;
    state(&browser, "ready").await?;
    browser
        .page
        .find(Locator::Css(".column-menu summary"))
        .await?
        .send_keys(&char::from(Key::Enter).to_string())
        .await?;
    for (column, columns) in [("release", "model-release-dialect-"), ("dialect", "model-release-outcome-")] {
        let choice = format!(".column-menu input[value={column}]");
        shown(&browser, &choice).await?;
        browser.page.find(Locator::Css(&choice)).await?.send_keys(" ").await?;
        eventually("the columns in the address", || async {
            browser.page.current_url().await.ok()?.query()?.contains(columns).then_some(())
        })
        .await?;
    }

    // A copied address shows the same, and a narrow screen scrolls the table alone.
    browser.page.set_window_size(500, 1_000).await?;
    browser.page.goto(browser.page.current_url().await?.as_str()).await?;
    state(&browser, "ready").await?;
    let head = text(&browser, ".streams thead").await?;
    ensure!(head.contains("Release") && !head.contains("Dialect"), "{head}");
    let is_wider = "return document.documentElement.scrollWidth > innerWidth";
    ensure!(browser.page.execute(is_wider, vec![]).await? == false, "the page scrolls sideways");
    let value = "[...document.querySelectorAll('.streams td button')].find((one) => one.textContent === 'v42').click()";
    browser.page.execute(value, vec![]).await?;
    has_streams(&browser, "10").await?;
    ensure!(text(&browser, ".chip").await?.contains("v42"), "the chip names the release");
    browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_is_compared_with_the_same_time_earlier() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (config, data) = (folder.path().join("llm-rum.toml"), folder.path().join("data"));
    std::fs::write(&config, "")?;
    let config = config.to_str().context("the path is text")?;
    let line = |number: u64, days_ago: u64, wait_ms: f64| {
        let (ttft_ms, ttfv_ms) = (Some(wait_ms), Some(wait_ms));
        let mut line = json!(StreamReport { ttft_ms, ttfv_ms, ..report(number) });
        line["site"] = json!("demo");
        line["received_ms"] = json!((minute() - 5) * 60_000 - days_ago * 86_400_000);
        line.to_string() + "\n"
    };
    let lines: String = (0..40)
        .map(|number| line(number, 0, 1_000.0))
        .chain((40..80).map(|number| line(number, 7, 400.0)))
        .collect();
    import(config, &data, lines.as_bytes()).await?;
    let collector = Collector::start_with(&data, &["--config", config]).await?;
    let browser = Browser::start().await?;
    browser.page.goto(&format!("{}/?range=24h", collector.url)).await?;
    state(&browser, "ready").await?;
    let choice = browser.page.find(Locator::Css("[data-compare-to]")).await?;
    choice.select_by_value("week").await?;
    shown(&browser, "[data-periods=week] tbody").await?;
    let table = text(&browser, "[data-periods=week]").await?;
    for words in ["A week earlier", "TTFT p95", "2.5× as slow", "unchanged"] {
        ensure!(table.contains(words), "no {words:?} in {table}");
    }
    let legends =
        text(&browser, "[data-chart=ttft]").await? + &text(&browser, "[data-chart=in-flight]").await?;
    ensure!(legends.matches("earlier").count() >= 3, "{legends}");
    choice.select_by_value("day").await?;
    shown(&browser, "[data-periods=day]").await?;
    let table = text(&browser, "[data-periods=day]").await?;
    ensure!(table.contains("No streams ended in"), "{table}");
    browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_of_single_streams_filter_the_screen_and_the_list() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let of_release = |number: u64| {
        let release = if number.is_multiple_of(4) { "v42" } else { "v41" };
        let mut report = StreamReport {
            page: Some(Page { release: Some(release.into()), ..Page::default() }),
            ..report(number)
        };
        if number < 5 {
            report.defects.set(Defect::Stall, 1);
        }
        report
    };
    post(&collector, (0..40).map(of_release).collect()).await?;
    let browser = Browser::start().await?;
    browser.page.goto(&format!("{}/?by=release", collector.url)).await?;
    state(&browser, "ready").await?;
    browser.page.find(Locator::Css("[data-group=v42] button")).await?.click().await?;
    has_streams(&browser, "10").await?;
    ensure!(text(&browser, ".chip").await?.contains("v42"), "the chip names the release");
    browser.page.find(Locator::Css("body")).await?.send_keys("x").await?;
    has_streams(&browser, "40").await?;
    browser.page.find(Locator::Css("[data-counts=defects] .ledger button")).await?.click().await?;
    has_streams(&browser, "5").await?;
    eventually("the streams with the defect alone", || async {
        let rows =
            browser.page.execute("return document.querySelectorAll('.streams tbody tr').length", vec![]);
        (rows.await.ok()? == 5).then_some(())
    })
    .await?;
    ensure!(text(&browser, ".chip").await?.contains("stall"), "the chip names the defect");
    browser.page.find(Locator::Css("body")).await?.send_keys("x").await?;
    has_streams(&browser, "40").await?;
    browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_and_the_legend_filter_the_screen_by_keyboard() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let outcomes = [Outcome::Truncated, Outcome::Truncated, Outcome::HttpError];
    let ended = |number: u64| {
        let outcome = outcomes.get(number as usize).copied().unwrap_or(Outcome::Complete);
        StreamReport { outcome, ..report(number) }
    };
    post(&collector, (0..40).map(ended).collect()).await?;
    let browser = Browser::start().await?;
    browser.page.goto(&collector.url).await?;
    state(&browser, "ready").await?;
    let line = "[data-counts=outcomes] .ledger li:nth-child(2) button";
    for (button, streams, chip) in [
        (line, "2", "outcome truncated"),
        ("[data-chart=ttft] .legend button", "3", "truncated or provider error or http error"),
        ("[data-outcome=complete] .outcome", "37", "outcome complete"),
    ] {
        press(&browser, button).await?;
        has_streams(&browser, streams).await?;
        let shown = text(&browser, ".chip").await?;
        ensure!(shown.contains(chip), "no {chip:?} in {shown:?}");
        browser.page.find(Locator::Css("body")).await?.send_keys("x").await?;
        has_streams(&browser, "40").await?;
    }
    // Pressed again, it removes its filter.
    let legend = "[data-chart=ttft] .legend button";
    press(&browser, legend).await?;
    shown(&browser, &format!("{legend}[aria-pressed=true]")).await?;
    has_streams(&browser, "3").await?;
    press(&browser, legend).await?;
    has_streams(&browser, "40").await?;
    browser.close().await
}

/// Focuses a button and presses Enter.
async fn press(browser: &Browser, button: &str) -> Result<()> {
    let focus = "document.querySelector(args[0]).closest('button').focus()";
    browser.run(focus, vec![button.into()]).await?;
    browser.page.active_element().await?.send_keys(&char::from(Key::Enter).to_string()).await?;
    Ok(())
}

async fn has_streams(browser: &Browser, count: &str) -> Result<()> {
    eventually(&format!("{count} streams"), || async {
        (text(browser, "[data-tile=streams] [data-value]").await.ok()? == count).then_some(())
    })
    .await
}

async fn post(collector: &Collector, reports: Vec<StreamReport>) -> Result<()> {
    let count = reports.len();
    let (status, body) = collector.post(serde_json::to_string(&Batch { reports })?).await?;
    ensure!(status == 204, "{status} {body}");
    eventually("the streams in the store", || async {
        (collector.get("/v1/summary").await.ok()?["streams"] == count).then_some(())
    })
    .await
}

/// Drags from a quarter to three quarters of the width of a chart.
async fn drag_over_half(browser: &Browser, chart: &str) -> Result<()> {
    let [from, to, y] = places(browser, chart, 0.25).await?;
    let to_point = |x: f64| PointerAction::MoveTo { duration: None, x, y };
    let mouse = MouseActions::new("mouse".to_owned())
        .then(to_point(from))
        .then(PointerAction::Down { button: actions::MOUSE_BUTTON_LEFT })
        .then(to_point(f64::midpoint(from, to)))
        .then(to_point(to))
        .then(PointerAction::Up { button: actions::MOUSE_BUTTON_LEFT });
    browser.page.perform_actions(mouse).await.context("the mouse does not move")
}

/// Two places at the same distance from the left and the right of a chart, a share of its width, and their height.
async fn places(browser: &Browser, chart: &str, share: f64) -> Result<[f64; 3]> {
    let body = "const chart = document.querySelector(args[0]); chart.scrollIntoView({ block: 'center' });
        const { x, y, width, height } = chart.getBoundingClientRect();
        return [x + width * args[1], x + width * (1 - args[1]), y + height / 2];";
    Ok(serde_json::from_value(browser.run(body, vec![chart.into(), share.into()]).await?)?)
}

/// Length of the fixed times in the address. `None` without fixed times.
async fn address_range_ms(browser: &Browser) -> Result<Option<i64>> {
    let script = "const query = new URLSearchParams(location.search);
        return query.has('from') ? query.get('to') - query.get('from') : null";
    Ok(browser.page.execute(script, vec![]).await?.as_i64())
}

async fn button(browser: &Browser, label: &str) -> Result<()> {
    let script = "
        const buttons = [...document.querySelectorAll('button')];
        buttons.find(({ textContent }) => textContent === arguments[0]).click()";
    browser.page.execute(script, vec![label.into()]).await?;
    Ok(())
}

const MINUTE_MS: i64 = 60_000;

/// Names of the switches with an option outside of them.
const CUT_SWITCHES: &str = "
    const switches = [...document.querySelectorAll('.segmented')];
    return switches.filter((row) => row.scrollWidth > row.clientWidth).map((row) => row.innerText);";

/// Whether the chart over time has a pixel of a colour.
/// The minute of now, since 1970.
fn minute() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 60)
}

const HAS_COLOUR: &str = "
    const canvas = document.querySelector('[data-chart=ttft] canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const wanted = arguments[0];
    for (let at = 0; at < data.length; at += 4)
        if (wanted.every((part, index) => data[at + index] === part) && data[at + 3] === 255) return true;
    return false;";
