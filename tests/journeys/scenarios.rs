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
async fn every_scenario_in_every_dialect_is_reported_correctly() -> Result<()> {
    in_every_engine(every_scenario).await
}

async fn every_scenario(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    let what = |expected: &Expected, api| format!("{} by {api}", expected.scenario);
    let mut asked = Vec::new();
    for expected in &SCENARIOS {
        for api in APIS {
            let played = ask(&stage, expected.scenario, api, asked.len());
            asked.push((expected, api, played.await.with_context(|| what(expected, api))?));
        }
    }
    for (expected, api, asked) in asked {
        let played = asked.told(&stage).await.with_context(|| what(expected, api))?;
        check(engine, expected, api, &played)
            .with_context(|| format!("{}: {:#?}", what(expected, api), played.report))?;
    }
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_engine_is_reported_with_its_own_timing() -> Result<()> {
    let stage = Stage::set().await?;
    stage.open("").await?;
    let Played { report, entry, .. } = ask(&stage, "recorded", "openai_chat", 0).await?.told(&stage).await?;
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

/// One question that has been answered.
pub(crate) struct Asked {
    id: String,
    entry: LogEntry,
    seen: Seen,
}

impl Asked {
    /// With what the collector was told. That comes a second or two later: whoever asks much asks all before.
    pub(crate) async fn told(self, stage: &Stage) -> Result<Played> {
        let Self { id, entry, seen } = self;
        Ok(Played { report: stage.collector.final_report(&id).await?, entry, seen })
    }
}

/// One question, its answer and the report of it.
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
    /// When it got bytes of a body, since the click, and how many.
    reads: Vec<(f64, u64)>,
    /// When it was told that there are no more.
    ended_ms: Option<f64>,
}

impl Played {
    /// Whether what the page itself read came as the defect says. On a machine that does much else an answer
    /// may come so whatever the scenario is.
    fn saw(&self, defect: Defect) -> bool {
        let reads = &self.seen.reads;
        let last_ms = reads.last().map_or(0.0, |(at_ms, _)| *at_ms);
        match defect {
            Defect::Stall => reads.windows(2).any(|pair| pair[1].0 - pair[0].0 + CLOCK_STEPS_MS > 2_000.0),
            Defect::Buffered => self.first_text_ms().is_some_and(|first_ms| {
                let rush_ms = last_ms - first_ms - CLOCK_STEPS_MS;
                last_ms > 1_000.0 && rush_ms <= last_ms / 20.0
            }),
            Defect::LateClose => {
                self.seen.ended_ms.is_some_and(|ended_ms| ended_ms - last_ms + CLOCK_STEPS_MS > 1_000.0)
            }
            _ => false,
        }
    }

    /// When the page had all bytes up to the first text.
    fn first_text_ms(&self) -> Option<f64> {
        let until = self.entry.writes.iter().position(|write| write.tokens > 0)?;
        let mut missing: u64 = self.entry.writes[..=until].iter().map(|write| write.bytes).sum();
        let with_it = self.seen.reads.iter().find(|(_, bytes)| {
            missing = missing.saturating_sub(*bytes);
            missing == 0
        });
        with_it.map(|(at_ms, _)| *at_ms)
    }

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

/// Asks once through the page, as a user would, after so many other questions.
pub(crate) async fn ask(stage: &Stage, scenario: &str, api: &str, asked: usize) -> Result<Asked> {
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
    let mut ids = stage.ended_ids(asked + 1).await?;
    ensure!(ids.len() == asked + 1, "one stream for one question, but {} for {}", ids.len(), asked + 1);
    let id = ids.pop().context("a stream")?;
    let seen = stage.browser.run("return window.seen;", vec![]).await?;
    Ok(Asked { id, entry: stage.demo.ended(before).await?, seen: serde_json::from_value(seen)? })
}

fn check(engine: Engine, expected: &Expected, api: &str, played: &Played) -> Result<()> {
    let Played { report, entry, seen } = played;
    ensure!(expected.outcomes_in(engine).contains(&report.outcome), "outcome {:?}", report.outcome);
    if !matches!(report.outcome, Outcome::HttpError | Outcome::Empty) {
        ensure!(report.dialect.as_deref() == Some(api), "dialect {:?}", report.dialect);
        ensure!(report.page.as_ref().is_some_and(|page| page.browser.is_some()), "page {:?}", report.page);
    }
    // After an abort an app may still get what was on its way to it.
    let whole = report.outcome == Outcome::Complete;
    let reads = seen.reads.len() as u32;
    ensure!(report.chunks == reads || (!whole && report.chunks < reads), "{seen:?}");
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
        // A page that is held up before the silence of a stall may find that shorter.
        let shortened = defect == Defect::Stall && !played.saw(defect);
        ensure!(report.defects.get(defect) > 0 || shortened, "defects {:?}", report.defects);
    } else if whole {
        let made_up: Vec<_> = report.defects.iter().filter(|(defect, _)| !played.saw(*defect)).collect();
        ensure!(made_up.is_empty(), "defects {made_up:?}, and the page saw {seen:?}");
    }
    Ok(())
}

async fn wait_for_state(stage: &Stage, state: &str) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(60);
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
        window.now = () => performance.now() - asked;
        const count = (owner, name) => {
            const native = owner[name];
            owner[name] = function (...args) {
                return native.apply(this, args).then(result => {
                    const { value, done } = result;
                    if (ArrayBuffer.isView(value) && value.byteLength) window.seen.reads.push([now(), value.byteLength]);
                    if (done) window.seen.ended_ms ??= now();
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
    const seen = window.seen = { shown_ms: null, reads: [], ended_ms: null };
    window.addEventListener('click', () => window.asked = performance.now(), { capture: true, once: true });
    new MutationObserver((changes, observer) => {
        if (!outputs()[before]?.textContent) return;
        seen.shown_ms = now();
        observer.disconnect();
    }).observe(document.body, { subtree: true, childList: true, characterData: true });";

const WAIT_FOR_TEXT: &str = "
    const outputs = () => [...document.querySelectorAll('[data-llm-output]')];
    while (!(outputs().at(-1)?.textContent.trim().length > 20)) await new Promise(resolve => setTimeout(resolve, 10));";
