//! Answers that do not come by fetch, through the chat page in every engine.

use anyhow::{Context, Result, ensure};
use beacon::Outcome;
use serde_json::json;
use tests::Engine;

use crate::scenarios::{Played, ask};
use crate::{Stage, in_every_engine};

const APIS: [&str; 3] = ["event_source", "xhr", "web_socket"];
const SCENARIOS: [&str; 5] = ["normal", "cut_socket", "cut_clean", "provider_error", "user_stops"];

#[tokio::test(flavor = "multi_thread")]
async fn transports_beside_fetch_are_measured_in_every_engine() -> Result<()> {
    in_every_engine(every_way).await
}

async fn every_way(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    stage.browser.run(WAIT_FOR_MORE, vec![]).await?;
    let mut asked = Vec::new();
    for scenario in SCENARIOS {
        for api in APIS {
            let answered = ask(&stage, scenario, api, asked.len()).await;
            asked.push((scenario, api, answered.with_context(|| format!("{scenario} by {api}"))?));
        }
    }
    for (scenario, api, asked) in asked {
        let played = asked.told(&stage).await?;
        check(engine, scenario, api, &played)
            .with_context(|| format!("{scenario} by {api}: {:#?}", played.report))?;
    }
    stage.browser.close().await
}

/// The outcome that the page can tell from the end of the stream.
fn outcome(engine: Engine, scenario: &str, api: &str) -> Outcome {
    match (scenario, api) {
        ("normal", _) => Outcome::Complete,
        ("provider_error", _) => Outcome::ProviderError,
        ("user_stops", _) => Outcome::Aborted,
        // An `EventSource` says the same of an end and of a cut, and WebKit does of a request.
        ("cut_socket", "web_socket") => Outcome::NetworkError,
        ("cut_socket", "xhr") if engine != Engine::WebKit => Outcome::NetworkError,
        _ => Outcome::Truncated,
    }
}

fn check(engine: Engine, scenario: &str, api: &str, played: &Played) -> Result<()> {
    let Played { report, entry, .. } = played;
    ensure!(entry.api == if api == "xhr" { "openai_chat" } else { api }, "asked by {}", entry.api);
    ensure!(report.outcome == outcome(engine, scenario, api), "outcome {:?}", report.outcome);
    ensure!(report.dialect.as_deref() == Some("openai_chat"), "dialect {:?}", report.dialect);
    ensure!(report.status == (api != "web_socket").then_some(200), "status {:?}", report.status);
    ensure!(report.deltas > 2, "{} deltas", report.deltas);
    ensure!(entry.first_token_ms.is_some(), "none sent");
    played.check_first_token()?;
    if scenario == "normal" {
        ensure!(report.defects.is_empty() && report.output_tokens.is_some(), "{:?}", report.defects);
        let tolerated = entry.bytes() / 4;
        ensure!(report.bytes + tolerated > entry.bytes(), "{} bytes of {}", report.bytes, entry.bytes());
    }
    if scenario == "user_stops" {
        ensure!(entry.end.as_deref() == Some("client_closed"), "ended by {:?}", entry.end);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_socket_carries_many_responses_in_every_engine() -> Result<()> {
    in_every_engine(many_answers).await
}

async fn many_answers(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    stage.browser.run(WAIT_FOR_MORE, vec![]).await?;
    stage.browser.run(ASK_THREE_TIMES, vec![]).await?;
    for id in stage.ended_ids(3).await? {
        let report = stage.collector.final_report(&id).await?;
        ensure!(report.outcome == Outcome::Complete && report.deltas == 6, "{report:#?}");
        ensure!(report.status.is_none() && report.headers_ms.is_none(), "a socket has neither: {report:#?}");
    }
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_before_the_wasm_stay_separate_in_every_engine() -> Result<()> {
    in_every_engine(many_early_answers).await
}

async fn many_early_answers(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    stage.browser.run(WAIT_FOR_MORE, vec![]).await?;
    stage.browser.run(START_WITHOUT_WASM, vec![stage.collector.url.as_str().into()]).await?;
    stage.browser.run(ASK_THREE_TIMES, vec![]).await?;
    stage.browser.run("window.letWasmCome();", vec![]).await?;
    for id in stage.ended_ids(3).await? {
        let report = stage.collector.final_report(&id).await?;
        ensure!(report.outcome == Outcome::Complete && report.deltas == 6, "{report:#?}");
    }
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn head_requests_are_no_streams_in_every_engine() -> Result<()> {
    in_every_engine(heads_alone).await
}

async fn heads_alone(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    stage.browser.run(WAIT_FOR_MORE, vec![]).await?;
    let types = stage.browser.run(ASK_FOR_HEADS, vec![]).await?;
    ensure!(types == json!([EVENTS, EVENTS]), "{types}");
    stage.browser.run(ASK_THREE_TIMES, vec![]).await?;
    stage.ended_ids(3).await?;
    let told = stage.browser.run("return window.ended.length;", vec![]).await?;
    ensure!(told == 3, "{told} streams were told of");
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_in_the_last_progress_ends_the_stream() -> Result<()> {
    in_every_engine(aborted_in_the_last_progress).await
}

async fn aborted_in_the_last_progress(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    stage.browser.run(WAIT_FOR_MORE, vec![]).await?;
    // In Chromium the request is done in its last `progress`. Other engines do not tell which is the last.
    let state = if engine == Engine::Chromium { 4 } else { 3 };
    let cases = [("normal", "[DONE]", 3, Outcome::Complete), ("cut_clean", "", state, Outcome::Aborted)];
    for (at, (scenario, last, state, outcome)) in cases.into_iter().enumerate() {
        let told = stage.browser.run(ABORT_AT, vec![scenario.into(), last.into(), state.into()]).await?;
        ensure!(told == json!(at + 1), "{scenario}: {told} streams had ended right after the abort");
        let ids = stage.ended_ids(at + 1).await?;
        let report = stage.collector.final_report(&ids[at]).await?;
        ensure!(report.outcome == outcome, "{report:#?}");
    }
    stage.browser.close().await
}

/// Aborts in the first `progress` with this text and state: after the last one Chromium fires neither `abort` nor `load`.
/// Returns how many streams have ended then. No time passes for a timer.
const ABORT_AT: &str = "
    const [scenario, last, state] = args;
    const request = new XMLHttpRequest();
    request.open('POST', `/llm/${scenario};first=20;gap=5;deltas=8/v1/chat/completions`);
    request.setRequestHeader('content-type', 'application/json');
    const aborted = new Promise((resolve, reject) => {
        request.onload = () => reject(new Error(request.responseText));
        request.onprogress = () => {
            if (request.readyState < state || !request.responseText.includes(last)) return;
            request.abort();
            resolve();
        };
    });
    request.send(JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] }));
    await aborted;
    // The page is told two microtasks later.
    for (let count = 0; count < 5; count++) await null;
    return window.ended.length;";

const EVENTS: &str = "text/event-stream; charset=utf-8";

const ASK_FOR_HEADS: &str = "
    const url = '/llm/normal/events?model=demo';
    const request = new XMLHttpRequest();
    request.open('head', url);
    request.setRequestHeader('accept', 'text/event-stream');
    const loaded = new Promise((resolve, reject) => [request.onload, request.onerror] = [resolve, reject]);
    request.send();
    await loaded;
    const { headers } = await fetch(url, { method: 'HEAD', headers: { accept: 'text/event-stream' } });
    return [request.getResponseHeader('content-type'), headers.get('content-type')];";

/// A probe whose Wasm does not come before it is let.
const START_WITHOUT_WASM: &str = "
    window.llmRum.probe.stop();
    const { fetch } = window;
    const until = new Promise(resolve => window.letWasmCome = resolve);
    window.fetch = async (url, init) => {
        if (String(url).endsWith('.wasm')) await until;
        return fetch(url, init);
    };
    const probe = window.llmRum.start({ collector: args[0], site: 'demo' });
    probe.use(window.llmRumMore.webSocket({ isStream: url => url.endsWith('/socket') }));
    probe.onStreamEnd(report => window.ended.push(report.id));";

/// The next question follows at once, or after what may follow an answer is over.
const ASK_THREE_TIMES: &str = "
    const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/llm/normal;first=50;gap=10;deltas=6/socket`);
    await new Promise((resolve, reject) => [socket.onopen, socket.onerror] = [resolve, reject]);
    for (const pause of [0, 700, 0]) {
        const answered = new Promise((resolve, reject) => {
            socket.onmessage = ({ data }) => data == '[DONE]' && resolve();
            socket.onclose = () => reject(new Error('the server has closed the socket'));
        });
        socket.send(JSON.stringify({ model: 'demo', prompt: 'How far is the moon?' }));
        await answered;
        if (pause) await new Promise(resolve => setTimeout(resolve, pause));
    }
    socket.close();";

const WAIT_FOR_MORE: &str = "
    while (!window.llmRumMore) await new Promise(resolve => setTimeout(resolve, 10));";
