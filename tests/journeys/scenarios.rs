//! Every scenario in every dialect through the chat page, with the real SDKs, as a user would.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use beacon::{Defect, Outcome, StreamReport};
use fantoccini::Locator;
use serde::Deserialize;
use tests::{Engine, LogEntry};

use crate::{Stage, in_every_engine};

const APIS: [&str; 4] = ["openai_chat", "openai_responses", "anthropic", "ollama"];

/// What a scenario must be reported as.
struct Expected {
    scenario: &'static str,
    outcomes: &'static [Outcome],
    defect: Option<Defect>,
}

impl Expected {
    /// WebKit ends a body that was cut as if it were whole: only the end marker is missing there.
    fn outcomes_in(&self, engine: Engine) -> &'static [Outcome] {
        match (engine, self.scenario) {
            (Engine::WebKit, "cut_socket") => &[Outcome::Truncated],
            _ => self.outcomes,
        }
    }
}

const SCENARIOS: [Expected; 11] = [
    Expected { scenario: "normal", outcomes: &[Outcome::Complete], defect: None },
    Expected { scenario: "slow_first_token", outcomes: &[Outcome::Complete], defect: None },
    Expected { scenario: "stall", outcomes: &[Outcome::Complete], defect: Some(Defect::Stall) },
    Expected { scenario: "cut_socket", outcomes: &[Outcome::NetworkError], defect: None },
    Expected { scenario: "cut_clean", outcomes: &[Outcome::Truncated], defect: None },
    Expected { scenario: "provider_error", outcomes: &[Outcome::ProviderError], defect: None },
    // An app whose SDK gives up at the broken event has cancelled: both ends are true to what the
    // page did, and the defect is seen in both.
    Expected {
        scenario: "malformed",
        outcomes: &[Outcome::Complete, Outcome::Aborted],
        defect: Some(Defect::Malformed),
    },
    Expected { scenario: "buffered", outcomes: &[Outcome::Complete], defect: Some(Defect::Buffered) },
    Expected { scenario: "http_error", outcomes: &[Outcome::HttpError], defect: None },
    Expected { scenario: "empty", outcomes: &[Outcome::Empty], defect: None },
    Expected { scenario: "user_stops", outcomes: &[Outcome::Aborted], defect: None },
];

#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_in_every_dialect_is_told_as_it_was() -> Result<()> {
    in_every_engine(every_scenario).await
}

async fn every_scenario(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    let mut ended = 0;
    for expected in &SCENARIOS {
        for api in APIS {
            let what = || format!("{} by {api}", expected.scenario);
            let played = play(&stage, expected.scenario, api, &mut ended).await.with_context(what)?;
            let report = &played.report;
            let outcomes = expected.outcomes_in(engine);
            ensure!(outcomes.contains(&report.outcome), "{}: {report:#?}", what());
            check(expected, api, &played).with_context(|| format!("{}: {report:#?}", what()))?;
        }
    }
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_engine_is_told_with_its_own_timing() -> Result<()> {
    let stage = Stage::set().await?;
    stage.open("").await?;
    let Played { report, entry, .. } = play(&stage, "recorded", "openai_chat", &mut 0).await?;
    ensure!(
        report.outcome == Outcome::Complete && report.dialect.as_deref() == Some("openai_chat"),
        "{report:#?}"
    );
    let server = report.server.as_ref().context("the engine tells its timing")?;
    ensure!(server.source == "llama_cpp" && server.ttft_ms.is_some(), "{server:?}");
    ensure!(report.output_tokens == server.output_tokens, "{report:#?}");
    ensure!(report.bytes == entry.bytes(), "{} bytes of {}", report.bytes, entry.bytes());
    stage.browser.close().await
}

/// One question and its answer.
pub(crate) struct Played {
    pub(crate) report: StreamReport,
    /// What the server did.
    pub(crate) entry: LogEntry,
    pub(crate) seen: Seen,
}

/// What the page saw of an answer by itself, without the probe.
#[derive(Debug, Deserialize)]
pub(crate) struct Seen {
    /// From the user's click to the first text in the page. `None` when none came.
    shown_ms: Option<f64>,
    /// How often it got bytes of a body.
    reads: u32,
}

impl Played {
    /// The first token was there when the server had sent it, and before the page showed it: the click is
    /// before the request, and the server notes a write before it hands it on.
    pub(crate) fn check_first_token(&self) -> Result<()> {
        let Self { report, entry, seen } = self;
        let Some(sent) = entry.first_token_ms else {
            ensure!(report.ttft_ms.is_none(), "TTFT {:?} where none was sent", report.ttft_ms);
            return Ok(());
        };
        let ttft = report.ttft_ms.with_context(|| format!("no TTFT, but one was sent at {sent}"))?;
        ensure!(ttft + CLOCK_STEPS_MS >= sent, "TTFT {ttft}, sent at {sent}");
        if let Some(shown) = seen.shown_ms {
            ensure!(ttft <= shown + CLOCK_STEPS_MS, "TTFT {ttft}, shown {shown} after the click");
        }
        ensure!(seen.shown_ms.is_some() || report.outcome != Outcome::Complete, "nothing was shown");
        Ok(())
    }
}

/// Two steps of the coarsest clock.
const CLOCK_STEPS_MS: f64 = 2.0;

/// Asks once through the page, as a user would.
pub(crate) async fn play(stage: &Stage, scenario: &str, api: &str, ended: &mut usize) -> Result<Played> {
    let before = stage.demo.latest().await?;
    let page = &stage.browser.page;
    for (select, value) in [("#scenario", scenario), ("#api", api)] {
        page.find(Locator::Css(select)).await?.select_by_value(value).await?;
    }
    let prompt = page.find(Locator::Css("#prompt")).await?;
    prompt.clear().await?;
    prompt.send_keys("Tell me about rivers").await?;
    stage.browser.run(LOOK, vec![]).await?;
    page.find(Locator::Css("#send")).await?.click().await?;
    if scenario == "user_stops" {
        stage.browser.run(WAIT_FOR_TEXT, vec![]).await?;
        page.find(Locator::Css("#stop")).await?.click().await?;
    }
    wait_for_state(stage, "done").await?;
    *ended += 1;
    let ids = stage.ended_ids(*ended).await?;
    ensure!(ids.len() == *ended, "one stream for one question, but {} for {ended}", ids.len());
    let report = stage.collector.final_report(&ids[*ended - 1]).await?;
    let seen = stage.browser.run("return window.seen;", vec![]).await?;
    Ok(Played { report, entry: stage.demo.ended(before).await?, seen: serde_json::from_value(seen)? })
}

fn check(expected: &Expected, api: &str, played: &Played) -> Result<()> {
    let Played { report, entry, seen } = played;
    if !matches!(report.outcome, Outcome::HttpError | Outcome::Empty) {
        ensure!(report.dialect.as_deref() == Some(api), "dialect {:?}", report.dialect);
        ensure!(report.page.as_ref().is_some_and(|page| page.browser.is_some()), "page {:?}", report.page);
    }
    // After an abort an app may still get what was on its way to it.
    let whole = report.outcome == Outcome::Complete;
    ensure!(report.chunks == seen.reads || (!whole && report.chunks < seen.reads), "{seen:?}");
    if whole {
        ensure!(report.bytes == entry.bytes(), "{} bytes of {}", report.bytes, entry.bytes());
        ensure!(report.output_tokens.is_some(), "usage was sent");
        ensure!(
            report.server.as_ref().is_some_and(|server| server.ttft_ms.is_some()),
            "server timing was sent"
        );
    }
    played.check_first_token()?;
    if let Some(defect) = expected.defect {
        ensure!(report.defects.get(defect) > 0, "defects {:?}", report.defects);
    } else if report.outcome == Outcome::Complete {
        ensure!(report.defects.is_empty(), "defects {:?}", report.defects);
    }
    Ok(())
}

async fn wait_for_state(stage: &Stage, state: &str) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let now = stage.browser.page.execute("return document.documentElement.dataset.state", vec![]).await?;
        if now == state {
            return Ok(());
        }
        ensure!(Instant::now() < until, "the page is {now}, not {state}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What the page sees by itself of the next question: reads where the browser gives them, below the probe.
const LOOK: &str = "
    if (!window.seen) {
        const count = (owner, name) => {
            const native = owner[name];
            owner[name] = function (...args) {
                return native.apply(this, args).then(result => {
                    if (ArrayBuffer.isView(result.value) && result.value.byteLength) window.seen.reads++;
                    return result;
                });
            };
        };
        count(ReadableStreamDefaultReader.prototype, 'read');
        const iterator = new ReadableStream()[Symbol.asyncIterator]?.();
        if (iterator) count(Object.getPrototypeOf(iterator), 'next');
    }
    const outputs = () => document.querySelectorAll('[data-llm-output]');
    const before = outputs().length;
    const seen = window.seen = { shown_ms: null, reads: 0 };
    let asked;
    window.addEventListener('click', () => asked = performance.now(), { capture: true, once: true });
    new MutationObserver((changes, observer) => {
        if (!outputs()[before]?.textContent) return;
        seen.shown_ms = performance.now() - asked;
        observer.disconnect();
    }).observe(document.body, { subtree: true, childList: true, characterData: true });";

const WAIT_FOR_TEXT: &str = "
    const outputs = () => [...document.querySelectorAll('[data-llm-output]')];
    while (!(outputs().at(-1)?.textContent.trim().length > 20)) await new Promise(resolve => setTimeout(resolve, 10));";
