//! axe-core over every screen of the dashboard, in both themes, wide and narrow; help by keyboard alone.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use beacon::{Batch, Outcome, Page, StreamReport};
use fantoccini::key::Key;
use fantoccini::{Locator, elements::Element};
use serde_json::json;
use tests::{Browser, Collector, eventually, report};

use super::dashboard::{shown, state, text};

#[tokio::test(flavor = "multi_thread")]
async fn no_screen_violates_a_rule_of_axe() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let screens = Screens { browser: Browser::start().await?, axe: axe()? };
    let still = json!({ "features": [{ "name": "prefers-reduced-motion", "value": "reduce" }] });
    screens.browser.devtools("Emulation.setEmulatedMedia", still).await?;

    refused(&collector).await?;
    screens.check(&format!("{}/?", collector.url), "empty", "[data-refusal]").await?;
    fill(&collector).await?;
    screens.check(&format!("{}/?range=24h", collector.url), "ready", "[data-finding]").await?;
    let compared = format!("{}/?range=24h&compare_to=week", collector.url);
    screens.check(&compared, "ready", "[data-periods=week]").await?;
    let heatmap = format!("{}/?drawing=heatmap&site=demo&use_case=chat", collector.url);
    screens.check(&heatmap, "ready", "[data-chart=ttft] .heat rect").await?;
    let id = format!("{:032x}", 7);
    let detail = format!("[data-detail='{id}'] .fields");
    screens.check(&format!("{}/?stream={id}", collector.url), "ready", &detail).await?;
    screens.check(&format!("{}/?model=none", collector.url), "empty", "[data-empty=range]").await?;

    screens.open(&format!("{}/?theme=light", collector.url), "ready", "[data-accounting]").await?;
    screens.browser.page.execute("document.querySelector('[data-help-button]').click()", vec![]).await?;
    screens.violates_nothing("help").await?;
    let filtered = format!("{}/?theme=light&site=demo&model=!none", collector.url);
    screens.open(&filtered, "ready", "[data-accounting]").await?;
    screens.browser.page.execute("document.querySelector('.filter-menu summary').click()", vec![]).await?;
    screens.present(".filter-values input").await?;
    screens.violates_nothing("filters").await?;
    for theme in ["light", "dark"] {
        let columns = format!("{}/?theme={theme}&columns=model-release-tpot", collector.url);
        screens.open(&columns, "ready", "[data-accounting]").await?;
        screens
            .browser
            .page
            .execute("document.querySelector('.column-menu summary').click()", vec![])
            .await?;
        screens.present(".column-menu input").await?;
        screens.violates_nothing(&format!("columns, {theme}")).await?;
    }
    screens.open(&format!("{}/?theme=light", collector.url), "ready", "[data-accounting]").await?;
    collector.kill().await?;
    state(&screens.browser, "error").await?;
    screens.violates_nothing("an error, light").await?;
    let darken = "const theme = () => document.documentElement.dataset.theme;
        while (theme() !== 'dark') {
            document.querySelector('[data-theme-button]').click();
            await new Promise(requestAnimationFrame);
        }";
    screens.browser.run(darken, vec![]).await?;
    screens.violates_nothing("an error, dark").await?;

    let data = tempfile::tempdir()?;
    let config = "[[tokens]]\nname = 'team'\ntoken = 'a-token-0123456789'\n";
    let locked = super::access::collector(data.path(), config).await?;
    screens.check(&format!("{}/?", locked.url), "locked", "[data-sign-in]").await?;
    screens.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn help_opens_by_keyboard_and_says_who_was_refused() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let browser = Browser::start().await?;
    refused(&collector).await?;
    browser.page.goto(&collector.url).await?;
    state(&browser, "empty").await?;
    shown(&browser, "[data-refusal=foreign_origin]").await?;
    let refusal = text(&browser, "[data-refusal=foreign_origin]").await?;
    let line = "origins = [\"loopback\", \"https://elsewhere.example\"]";
    ensure!(refusal.contains(line) && refusal.contains("key de…"), "{refusal}");

    fill(&collector).await?;
    browser.page.refresh().await?;
    state(&browser, "ready").await?;
    let term = browser.page.find(Locator::Css("[data-tile=goodput] .term")).await?;
    press(&term, Key::Enter).await?;
    let meaning = text(&browser, "[data-definition]").await?;
    ensure!(meaning == "Share of the eligible streams that are within SLO", "{meaning}");
    press(&term, Key::Escape).await?;
    gone(&browser, "[data-definition]").await?;

    let menu = browser.page.find(Locator::Css("[data-popover=menu] summary")).await?;
    press(&menu, Key::Enter).await?;
    let items = text(&browser, "[data-popover=menu][open] ul").await?;
    for item in ["Install the probe", "Documentation", "API", "Shortcuts and terms"] {
        ensure!(items.contains(item), "{items}");
    }
    press(&menu, Key::Escape).await?;
    gone(&browser, "[data-popover=menu][open]").await?;

    let body = browser.page.find(Locator::Css("body")).await?;
    body.send_keys("?").await?;
    shown(&browser, "[data-help]").await?;
    ensure!(
        text(&browser, "[data-help]").await?.contains("Switch between local time and UTC"),
        "all shortcuts"
    );
    press(&browser.page.find(Locator::Css("[data-help] h2")).await?, Key::Escape).await?;
    gone(&browser, "[data-help]").await?;
    body.send_keys("6").await?;
    eventually("the range of the last shortcut", || async {
        browser.page.current_url().await.ok()?.query()?.contains("range=30d").then_some(())
    })
    .await?;
    browser.close().await
}

/// A page of an origin that the site does not allow, and one with a wrong key.
async fn refused(collector: &Collector) -> Result<()> {
    let foreign = [("origin", "https://elsewhere.example")];
    let (status, body) = collector.post_with(&foreign, "{}").await?;
    ensure!(status == 403, "{status} {body}");
    ensure!(collector.send("another-key-of-2026", "{}".to_owned()).await.is_err(), "the key is wrong");
    Ok(())
}

/// Streams of two use cases, of which some fail, leave or have a defect.
async fn fill(collector: &Collector) -> Result<()> {
    let stream = |number: u64| {
        let outcome = match number % 10 {
            1 => Outcome::Truncated,
            2 => Outcome::ProviderError,
            _ => Outcome::Complete,
        };
        let use_case = (number >= 100).then(|| "batch_rag".into());
        let is_new = (50..100).contains(&number);
        let release = Some(if is_new { "v2" } else { "v1" }.into());
        let page = Some(Page { release, ..Page::default() });
        let ttfv_ms = Some(if is_new { 2_400.0 } else { 800.0 });
        StreamReport { outcome, use_case, page, ttfv_ms, ..report(number) }
    };
    let left = |number: u64| StreamReport {
        outcome: Outcome::Aborted,
        ttft_ms: None,
        ttfv_ms: None,
        e2e_ms: None,
        close_ms: Some(5_000.0),
        ..report(number)
    };
    for reports in [
        (0..100).map(stream).collect::<Vec<_>>(),
        (100..150).map(stream).collect(),
        (150..160).map(left).collect(),
    ] {
        let (status, body) = collector.post(serde_json::to_string(&Batch { reports })?).await?;
        ensure!(status == 204, "{status} {body}");
    }
    eventually("the streams in the store", || async {
        (collector.get("/v1/summary").await.ok()?["streams"] == 160).then_some(())
    })
    .await
}

struct Screens {
    browser: Browser,
    axe: String,
}

impl Screens {
    /// Checks a page in both themes. `url` ends with a query.
    async fn check(&self, url: &str, wanted: &str, selector: &str) -> Result<()> {
        for theme in ["light", "dark"] {
            self.open(&format!("{url}&theme={theme}"), wanted, selector).await?;
            self.violates_nothing(&format!("{url}, {theme}")).await?;
        }
        Ok(())
    }

    async fn open(&self, url: &str, wanted: &str, selector: &str) -> Result<()> {
        self.browser.page.goto(url).await?;
        state(&self.browser, wanted).await?;
        self.present(selector).await
    }

    async fn present(&self, selector: &str) -> Result<()> {
        let script = "return !!document.querySelector(arguments[0])";
        eventually(selector, || async {
            (self.browser.page.execute(script, vec![selector.into()]).await.ok()? == true).then_some(())
        })
        .await
    }

    /// Checks the page at both widths, with all that it can fold out.
    async fn violates_nothing(&self, screen: &str) -> Result<()> {
        for (width, height) in [(1_400, 1_000), (390, 844)] {
            let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
            self.browser.devtools("Emulation.setDeviceMetricsOverride", size).await?;
            self.browser.page.execute(&self.axe, vec![]).await?;
            let found = self.browser.run(VIOLATIONS, vec![]).await?;
            ensure!(found["violations"] == json!([]), "{screen}, {width} px: {:#}", found["violations"]);
            // A rule that applied to nothing proves nothing.
            let passed: Vec<_> = found["passed"].as_array().into_iter().flatten().collect();
            for rule in ["color-contrast", "button-name", "target-size"] {
                ensure!(passed.iter().any(|passed| *passed == rule), "{screen}: {rule} not among {passed:?}");
            }
        }
        Ok(())
    }
}

/// The script of the development dependency of the dashboard.
fn axe() -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(&path).with_context(|| format!("{}: run `npm ci` in www", path.display()))
}

async fn press(element: &Element, key: Key) -> Result<()> {
    Ok(element.send_keys(&char::from(key).to_string()).await?)
}

async fn gone(browser: &Browser, selector: &str) -> Result<()> {
    let script = "return document.querySelector(arguments[0]) === null";
    eventually(&format!("no {selector}"), || async {
        (browser.page.execute(script, vec![selector.into()]).await.ok()? == true).then_some(())
    })
    .await
}

/// Rule, element and reason of each violation, and the rules that hold.
const VIOLATIONS: &str = "
    for (const fold of document.querySelectorAll('details:not([data-popover])')) fold.open = true;
    document.querySelector('dialog') ?? document.querySelector('main .term')?.click();
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const { violations, passes } = await axe.run({
        rules: { 'target-size': { enabled: true } },
        resultTypes: ['violations'],
    });
    const failed = ({ id, nodes }) => nodes.map(({ target, failureSummary }) => ({ id, target, failureSummary }));
    return { violations: violations.flatMap(failed), passed: passes.map(({ id }) => id) };";
