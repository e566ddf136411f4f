//! Time per read: natively, with the probe, and with other SDKs, over the same answers.

use std::fmt;

use anyhow::Result;
use serde_json::{Value, json};
use tests::Browser;

/// What reading costs with one SDK, in microseconds per read.
pub(crate) struct Contender {
    name: &'static str,
    fastest: f64,
    median: f64,
    /// Median of what it took longer than the native page in the same round.
    more: f64,
}

/// Reads with every SDK in turns.
pub(crate) async fn run(browser: &Browser, server: &str) -> Result<Vec<Contender>> {
    browser.page.goto(&format!("{server}/blank.html")).await?;
    let sdks: Vec<_> = SDKS.iter().map(|(file, _)| *file).collect();
    let arguments = vec![json!(sdks), json!(ROUNDS), json!(EVENTS)];
    let taken = browser.run(include_str!("page.js"), arguments).await?;
    let taken: Vec<Vec<f64>> = serde_json::from_value(taken)?;
    let contender = |((_, name), rounds): (&(_, &'static str), &Vec<f64>)| Contender {
        name,
        fastest: rounds.iter().copied().fold(f64::INFINITY, f64::min),
        median: median(rounds.clone()),
        more: median(rounds.iter().zip(&taken[0]).map(|(with, without)| with - without).collect()),
    };
    Ok(SDKS.iter().zip(&taken).map(contender).collect())
}

/// The middle one. NaN of nothing.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Contender {
    pub(crate) fn to_json(&self) -> Value {
        json!({ "name": self.name, "fastest_us": self.fastest, "median_us": self.median, "over_native_us": self.more })
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, fastest, median, more } = self;
        write!(f, "{name:<32} fastest {fastest:>6.2} median {median:>6.2} µs, {more:>+6.2} µs to native")
    }
}

pub(crate) const ROUNDS: u32 = 15;
const EVENTS: u32 = 10_000;

/// By their files under `conformance/sdks`; the first is the page without one.
const SDKS: [(&str, &str); 5] = [
    ("", "native"),
    ("llm-rum", "llm-rum, tapped and parsed"),
    ("opentelemetry", "OpenTelemetry"),
    ("sentry", "Sentry, tracing"),
    ("sentry-streams", "Sentry, tracing and streams"),
];
