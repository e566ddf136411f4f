//! Share of the main thread that the probe takes while a model streams, from the network to the app: alone,
//! as the first snippet of the README installs it, and with every extension.

use std::fmt;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::json;
use tests::{Browser, Collector, DemoSite};

use crate::page::busy_ms;

/// The demo's page without the probe, and what it takes more with it.
#[derive(Serialize)]
pub(crate) struct Share {
    unit: &'static str,
    reads_per_second: u32,
    without: Spread,
    alone: Spread,
    every_extension: Spread,
    /// The median of the probe alone over what it may take.
    ratio: f64,
}

/// Of all rounds.
#[derive(Serialize)]
struct Spread {
    lower_quartile: f64,
    median: f64,
    upper_quartile: f64,
}

/// Reads with each page in turns.
pub(crate) async fn run(browser: &Browser) -> Result<Share> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let demo = DemoSite::start(&collector.url).await?;
    let mut shares = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (query, shares) in PAGES.into_iter().zip(&mut shares) {
            browser.page.goto(&format!("{}/{query}", demo.url)).await?;
            shares.push(share(browser).await?);
        }
    }
    let [without, alone, every_extension] = shares;
    // What the machine does else changes slowly: neighbours differ by the probe more than by that.
    let more = |with: Vec<f64>| Spread::of(with.iter().zip(&without).map(|(with, without)| with - without));
    let (alone, every_extension) = (more(alone), more(every_extension));
    Ok(Share {
        unit: "%",
        reads_per_second: 1000,
        ratio: alone.median / BUDGET,
        without: Spread::of(without.iter().copied()),
        alone,
        every_extension,
    })
}

/// In percent of the main thread's time, at 1,000 reads per second.
async fn share(browser: &Browser) -> Result<f64> {
    browser.run(READ, vec![json!(WARM_TEXTS)]).await?;
    let before = busy_ms(browser).await?;
    let reads = browser.run(READ, vec![json!(TEXTS)]).await?.as_f64().context("a number")?;
    let busy = busy_ms(browser).await? - before;
    // A busy machine joins writes: per read, and times 1,000, it is the same share.
    ensure!(reads > f64::from(TEXTS) * 0.3, "{reads} reads of {TEXTS} texts");
    Ok(busy / reads * 100.0)
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |share: usize| values.get(values.len() * share / 4).copied().unwrap_or(f64::NAN);
        Self { lower_quartile: at(1), median: at(2), upper_quartile: at(3) }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { without, alone, every_extension, ratio, .. } = self;
        writeln!(f, "main thread at 1,000 reads per second, {ROUNDS} rounds in turns")?;
        writeln!(f, "  without the probe              {without}")?;
        writeln!(f, "  more with the probe alone      {alone}, {ratio:.2} of {BUDGET} %")?;
        write!(f, "  more with every extension      {every_extension}")
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lower_quartile, median, upper_quartile } = self;
        write!(f, "{median:>6.2} % (half of all {lower_quartile:.2} to {upper_quartile:.2})")
    }
}

/// What the probe alone may take, in percent of the main thread's time.
const BUDGET: f64 = 1.0;

/// By their queries; the first is the page without the probe.
const PAGES: [&str; 3] = ["?probe=off", "?with=", ""];
const ROUNDS: usize = 12;
const TEXTS: u32 = 1500;
/// Until the engine has compiled what runs often.
const WARM_TEXTS: u32 = 500;

/// Reads an answer of so many texts, a millisecond apart; gives back how many reads that took.
const READ: &str = "
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const url = `/llm/normal;first=0;gap=1;deltas=${args[0]}/v1/chat/completions`;
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const reader = response.body.getReader();
    let reads = 0;
    while (!(await reader.read()).done) reads++;
    return reads;";
