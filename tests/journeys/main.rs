//! The journeys: what a user of the product would do, done for real, one concern per module.
//!
//! Run by `cargo xtask test`: those that check no time a browser measured side by side, each other one alone. Of
//! these, some run in the three engines at once.

mod access;
mod accessibility;
mod accuracy;
mod arrivals;
mod away;
mod buffering;
mod cluster;
mod conformance;
mod consent;
mod crash;
mod csp;
mod dashboard;
mod dashboard_controls;
mod deploy;
mod development;
mod edge;
mod failing_clients;
mod grafana;
mod hostile;
mod install;
mod leaving;
mod notifications;
mod openapi;
mod output;
mod own_formats;
mod page_lifecycle;
mod paint;
mod planted_incident;
mod prometheus;
mod readme;
mod recipes;
mod recomputed;
mod returning;
mod sandboxed;
mod scenarios;
mod sending;
mod stream_export;
mod transports;
mod unseen;
mod untouched;
mod walk;
mod workers;

use anyhow::{Context, Result, ensure};
use tests::{Browser, Collector, DemoSite, Engine, Halts};

/// The same journey in every engine, side by side. A failure in one does not end the others.
async fn in_every_engine<F: Future<Output = Result<()>>>(journey: impl Fn(Engine) -> F) -> Result<()> {
    let [one, two, three] = Engine::ALL.map(|engine| {
        let result = where_nothing_halts(&journey, engine);
        async move { result.await.err().map(|error| format!("in {engine}: {error:#}")) }
    });
    let failures: Vec<_> = <[_; 3]>::from(tokio::join!(one, two, three)).into_iter().flatten().collect();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// What came of a journey on a machine that ran. Where it failed and the machine had stood still meanwhile, it
/// tells nothing, and is made again.
async fn where_nothing_halts<T, F>(journey: impl Fn(Engine) -> F, engine: Engine) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let mut made = 1;
    loop {
        let halts = Halts::watch();
        let result = journey(engine).await;
        match (&result, halts.longest()) {
            (Err(error), Some(longest)) if made < MOST_HALTED => {
                eprintln!("in {engine}, once more, as the machine stood still for {longest:?}: {error:#}");
                made += 1;
            }
            _ => return result,
        }
    }
}

/// A machine that stands still every time is none to test on.
const MOST_HALTED: u32 = 3;

/// Everything a browser journey needs.
struct Stage {
    collector: Collector,
    demo: DemoSite,
    browser: Browser,
    data: tempfile::TempDir,
}

impl Stage {
    async fn set() -> Result<Self> {
        Self::set_in(Engine::Chromium).await
    }

    async fn set_in(engine: Engine) -> Result<Self> {
        Self::set_with(engine, "").await
    }

    /// With lines of configuration for the collector.
    async fn set_with(engine: Engine, config: &str) -> Result<Self> {
        let data = tempfile::tempdir()?;
        let file = data.path().join("llm-rum.toml");
        std::fs::write(&file, config)?;
        let config = file.to_str().context("a temporary folder has a plain name")?;
        let collector = Collector::start_with(data.path(), &["--config", config]).await?;
        let demo = DemoSite::start(&collector.url).await?;
        let browser = Browser::start_in(engine).await?;
        Ok(Self { collector, demo, browser, data })
    }

    /// Opens the demo page and keeps every report that the probe hands to the page from now on.
    async fn open(&self, query: &str) -> Result<()> {
        self.browser.page.goto(&format!("{}/{query}", self.demo.url)).await?;
        let probed = !query.contains("probe=off");
        if probed {
            self.keep_reports().await?;
        }
        Ok(())
    }

    /// Waits for the probe of the page that is open, and keeps what it tells.
    async fn keep_reports(&self) -> Result<()> {
        self.browser.run(KEEP_REPORTS, vec![]).await.map(drop)
    }

    /// Waits until the probe has told the page of `count` ended streams; gives back their ids.
    async fn ended_ids(&self, count: usize) -> Result<Vec<String>> {
        let ids = self.browser.run(WAIT_FOR_REPORTS, vec![count.into()]).await?;
        Ok(serde_json::from_value(ids)?)
    }
}

const KEEP_REPORTS: &str = "
    while (!window.llmRum?.probe) await new Promise(resolve => setTimeout(resolve, 10));
    window.ended = [];
    window.llmRum.probe.onStreamEnd(report => window.ended.push(report.id));";

const WAIT_FOR_REPORTS: &str = "
    const until = performance.now() + 60000;
    while (window.ended.length < args[0]) {
        if (performance.now() > until) throw new Error(`${window.ended.length} of ${args[0]} streams ended`);
        await new Promise(resolve => setTimeout(resolve, 10));
    }
    return window.ended;";
