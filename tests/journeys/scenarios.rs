//! Every scenario in every dialect through the chat page, with the real SDKs, as a user would.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use beacon::{Defect, Outcome, StreamReport};
use fantoccini::Locator;
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
            let (report, entry) =
                play(&stage, expected.scenario, api, &mut ended).await.with_context(what)?;
            let outcomes = expected.outcomes_in(engine);
            ensure!(outcomes.contains(&report.outcome), "{}: {report:#?}", what());
            check(engine, expected, api, &report, &entry)
                .with_context(|| format!("{}: {report:#?}", what()))?;
        }
    }
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_engine_is_told_with_its_own_timing() -> Result<()> {
    let stage = Stage::set().await?;
    stage.open("").await?;
    let (report, entry) = play(&stage, "recorded", "openai_chat", &mut 0).await?;
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

/// Asks once through the page, as a user would: the report, and what the server did.
pub(crate) async fn play(
    stage: &Stage,
    scenario: &str,
    api: &str,
    ended: &mut usize,
) -> Result<(StreamReport, LogEntry)> {
    let before = stage.demo.latest().await?;
    let page = &stage.browser.page;
    for (select, value) in [("#scenario", scenario), ("#api", api)] {
        page.find(Locator::Css(select)).await?.select_by_value(value).await?;
    }
    let prompt = page.find(Locator::Css("#prompt")).await?;
    prompt.clear().await?;
    prompt.send_keys("Tell me about rivers").await?;
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
    Ok((report, stage.demo.ended(before).await?))
}

fn check(
    engine: Engine,
    expected: &Expected,
    api: &str,
    report: &StreamReport,
    entry: &LogEntry,
) -> Result<()> {
    if !matches!(report.outcome, Outcome::HttpError | Outcome::Empty) {
        ensure!(report.dialect.as_deref() == Some(api), "dialect {:?}", report.dialect);
        // WebKit hands one write on in up to two reads, and a long one in pieces.
        let pieces = entry.writes.len() + entry.bytes() as usize / 4096;
        let most = entry.writes.len() + if engine == Engine::WebKit { pieces } else { 0 };
        ensure!(report.chunks > 0 && report.chunks as usize <= most, "chunks {}", report.chunks);
        ensure!(report.page.as_ref().is_some_and(|page| page.browser.is_some()), "page {:?}", report.page);
    }
    if report.outcome == Outcome::Complete {
        ensure!(report.bytes == entry.bytes(), "{} bytes of {}", report.bytes, entry.bytes());
        ensure!(report.output_tokens.is_some(), "usage was sent");
        ensure!(
            report.server.as_ref().is_some_and(|server| server.ttft_ms.is_some()),
            "server timing was sent"
        );
    }
    match (report.ttft_ms, entry.first_token_ms) {
        // Generous, as three browsers share the machine: the distribution is the concern of `accuracy`.
        (Some(seen), Some(sent)) => ensure!((seen - sent).abs() < 300.0, "TTFT {seen} for {sent}"),
        (None, Some(sent)) => ensure!(false, "no TTFT, but one was sent at {sent}"),
        (seen, None) => ensure!(seen.is_none(), "TTFT {seen:?} where none was sent"),
    }
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

const WAIT_FOR_TEXT: &str = "
    const outputs = () => [...document.querySelectorAll('[data-llm-output]')];
    while (!(outputs().at(-1)?.textContent.trim().length > 20)) await new Promise(resolve => setTimeout(resolve, 10));";
