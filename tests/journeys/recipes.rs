//! The recipes of `docs/recipes`: clients as they come from npm, in pages without the probe and with it. The
//! app gets the same text, and the report has every byte.

use std::ops::RangeInclusive;

use anyhow::{Result, ensure};
use beacon::Outcome;
use serde_json::Value;
use tests::{AppPage, DemoSite, Engine, recording, uvicorn};

use crate::{Stage, in_every_engine};

/// Every client, and what answers it.
const CLIENTS: [(&str, Backend); 20] = [
    ("openai", Backend::Demo),
    ("anthropic", Backend::Demo),
    ("langchain", Backend::Demo),
    ("ollama", Backend::Demo),
    ("plainFetch", Backend::Demo),
    (EVENT_SOURCE, Backend::Demo),
    (SSE_JS, Backend::Demo),
    ("deepChat", Backend::Demo),
    ("angular", Backend::Demo),
    ("axiosFetch", Backend::Demo),
    ("kyFetch", Backend::Demo),
    ("reactUseChat", Backend::Recorded("ai_sdk_ui_text")),
    ("vueChat", Backend::Recorded("ai_sdk_ui_text")),
    ("svelteChat", Backend::Recorded("ai_sdk_ui_text")),
    ("assistantUi", Backend::Recorded("ai_sdk_ui_text")),
    ("reactUseCompletion", Backend::Recorded("ai_sdk_ui_text")),
    ("langgraph", Backend::Recorded("langgraph_messages")),
    ("googleGenAi", Backend::Recorded("gemini_thoughts")),
    ("tanstackAi", Backend::Recorded("ag_ui_run")),
    ("copilotKit", Backend::Recorded("ag_ui_run")),
];
/// The one whose browser reads comments and keeps them.
const EVENT_SOURCE: &str = "plainEventSource";
/// The one that aborts at the end marker, with what follows it unread.
const SSE_JS: &str = "sseJs";

/// What answers a client.
#[derive(Clone, Copy)]
enum Backend {
    /// The demo site.
    Demo,
    /// The page's server, with the recorded answer of an app's own backend.
    Recorded(&'static str),
}

impl Backend {
    /// Where it lies.
    fn address(self, demo: &DemoSite, page: &AppPage) -> Value {
        match self {
            Self::Demo => api(demo),
            Self::Recorded(name) => format!("{}/recorded/{name}", page.url).into(),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_read_and_report_every_byte_in_every_engine() -> Result<()> {
    in_every_engine(every_client).await
}

async fn every_client(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let mut without = Vec::new();
    // The same answers twice, so that what the app made of them can be compared.
    let same = ["--seed", "7"];
    let plain = AppPage::serve(RECIPES, "").await?;
    let demo = DemoSite::start_with(&stage.collector.url, &same).await?;
    stage.browser.page.goto(&plain.url).await?;
    for (client, backend) in CLIENTS {
        without.push(stage.browser.run(ASK, vec![client.into(), backend.address(&demo, &plain)]).await?);
    }

    let snippet = stage.collector.get("/snippet.json?site=demo").await?;
    let probe = [&snippet["stub"]["tag"], &snippet["tag"], &snippet["more"]["tag"]]
        .map(|tag| tag.as_str().unwrap_or_default());
    let watched = AppPage::serve(&format!("{}{RECIPES}", probe.concat()), "").await?;
    let demo = DemoSite::start_with(&stage.collector.url, &same).await?;
    stage.browser.page.goto(&watched.url).await?;
    stage.keep_reports().await?;
    stage.browser.run(WAIT_FOR_MORE, vec![]).await?;
    for (at, ((client, backend), without)) in CLIENTS.into_iter().zip(&without).enumerate() {
        let before = demo.latest().await?;
        let with = stage.browser.run(ASK, vec![client.into(), backend.address(&demo, &watched)]).await?;
        same_text(client, &with, without)?;
        let sent = match backend {
            Backend::Demo => demo.ended(before).await?.bytes(),
            Backend::Recorded(name) => recording(name)?.iter().map(|read| read.len() as u64).sum(),
        };
        let least = if client == EVENT_SOURCE || client == SSE_JS { sent * 3 / 4 } else { sent };
        read_whole(&stage, client, at, least..=sent).await?;
    }
    nothing_has_the_prompt(&stage).await?;
    stage.browser.close().await
}

/// The prompt looks like the key of a model. It is in no beacon, so it is not in the journal, the store or an answer.
async fn nothing_has_the_prompt(stage: &Stage) -> Result<()> {
    let accounting = stage.collector.get("/v1/accounting").await?;
    ensure!(
        accounting["beacons"]["refused"] == serde_json::json!({}),
        "the collector refused a beacon: {accounting}"
    );
    let reports =
        stage.browser.run("return JSON.stringify(window.llmRum.probe.lastReport());", vec![]).await?;
    let (streams, metrics) =
        (stage.collector.text("/v1/streams").await?, stage.collector.text("/metrics").await?);
    for (place, text) in [("report", reports.to_string()), ("list of streams", streams), ("metrics", metrics)]
    {
        ensure!(!text.contains(SECRET), "the {place} has the prompt: {text}");
    }
    let mut folders = vec![stage.data.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                let bytes = std::fs::read(&path)?;
                let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
                ensure!(!found, "{} has the prompt", path.display());
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fastapi_chat_is_read_as_described_in_every_engine() -> Result<()> {
    in_every_engine(fastapi).await
}

async fn fastapi(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let mut without = Vec::new();
    let (_plain, url) = uvicorn("docs/recipes", FASTAPI, &[]).await?;
    stage.browser.page.goto(&url).await?;
    for (question, _) in FASTAPI_QUESTIONS {
        without.push(stage.browser.run(ASK_FASTAPI, vec![question.into()]).await?);
    }
    let (_watched, url) = uvicorn("docs/recipes", FASTAPI, &[("COLLECTOR", &stage.collector.url)]).await?;
    stage.browser.page.goto(&url).await?;
    stage.keep_reports().await?;
    for (at, ((question, outcome), without)) in FASTAPI_QUESTIONS.into_iter().zip(without).enumerate() {
        let with = stage.browser.run(ASK_FASTAPI, vec![question.into()]).await?;
        ensure!(with == without && with.as_str() > Some("The moon"), "{with} and {without}");
        let ids = stage.ended_ids(at + 1).await?;
        let report = stage.collector.final_report(&ids[at]).await?;
        let is_right = report.dialect.as_deref() == Some("custom")
            && (report.outcome, report.deltas) == (outcome, 5)
            && report.ttft_ms < report.e2e_ms;
        ensure!(is_right, "{question:?} in {engine:?}: {report:#?}");
    }
    stage.browser.close().await
}

const FASTAPI: &str = "fastapi_chat:app";
/// The model of the recipe fails if nothing was asked.
const FASTAPI_QUESTIONS: [(&str, Outcome); 2] =
    [("How far is the moon?", Outcome::Complete), ("", Outcome::ProviderError)];

const ASK_FASTAPI: &str = "
    document.querySelector('p').textContent = '';
    await ask(args[0]);
    return document.querySelector('p').textContent;";

#[tokio::test(flavor = "multi_thread")]
async fn the_probe_leaves_zone_js_promises_and_timers_unchanged() -> Result<()> {
    in_every_engine(beside_zone_js).await
}

async fn beside_zone_js(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let snippet = stage.collector.get("/snippet.json?site=demo").await?;
    let [stub, probe] =
        [&snippet["stub"]["tag"], &snippet["tag"]].map(|tag| tag.as_str().unwrap_or_default());
    let demo = DemoSite::start_with(&stage.collector.url, &[]).await?;
    let plain = AppPage::serve(&format!("{ZONE_JS}{IN_A_ZONE}"), "").await?;
    stage.browser.page.goto(&plain.url).await?;
    let without = stage.browser.run(ASK_IN_A_ZONE, vec![api(&demo)]).await?;
    for head in [format!("{ZONE_JS}{stub}{probe}"), format!("{stub}{probe}{ZONE_JS}")] {
        let watched = AppPage::serve(&format!("{head}{IN_A_ZONE}"), "").await?;
        stage.browser.page.goto(&watched.url).await?;
        stage.keep_reports().await?;
        let with = stage.browser.run(ASK_IN_A_ZONE, vec![api(&demo)]).await?;
        ensure!(with == without, "{head}: {with} with the probe, {without} without");
        // Of three requests one is answered, and all are reported.
        let mut whole = 0;
        for id in stage.ended_ids(3).await? {
            let report = stage.collector.final_report(&id).await?;
            whole += usize::from(report.outcome == Outcome::Complete && report.ttft_ms.is_some());
        }
        ensure!(whole == 1, "{head}: {whole} whole answers");
    }
    stage.browser.close().await
}

fn same_text(client: &str, with: &Value, without: &Value) -> Result<()> {
    ensure!(with["text"].as_str().is_some_and(|text| text.len() > 4), "{client} has an answer: {with}");
    ensure!(with["text"] == without["text"], "{client}: {with} with the probe, {without} without");
    Ok(())
}

/// The latest stream ended well, and as many bytes were seen.
async fn read_whole(stage: &Stage, client: &str, at: usize, bytes: RangeInclusive<u64>) -> Result<()> {
    let ids = stage.ended_ids(at + 1).await?;
    ensure!(ids.len() == at + 1, "{client}: one report for each stream");
    let report = stage.collector.final_report(&ids[at]).await?;
    ensure!(
        report.outcome == Outcome::Complete && bytes.contains(&report.bytes) && report.ttft_ms.is_some(),
        "{client}, of {bytes:?} bytes: {report:#?}"
    );
    Ok(())
}

fn api(demo: &DemoSite) -> Value {
    format!("{}/llm/normal", demo.url).into()
}

const RECIPES: &str = r#"<script defer src="/recipes/recipes.js"></script>"#;

const SECRET: &str = "planted-secret";

const ASK: &str = r#"
    const parts = [];
    const prompt = 'Why? {"model":"planted-secret","a":[{"model":"planted-secret"}]},"model":"planted-secret"';
    await window.recipes[args[0]](args[1], prompt, part => parts.push(part));
    return { text: parts.join(''), parts: parts.length };"#;

const ZONE_JS: &str = r#"<script src="/recipes/zone.js"></script>"#;

/// What an app in a zone sees of an answer and of two requests that fail, which it does not handle: whether
/// promises are the browser's own, how many rejections reach `window`, and what waits in the zone. A script of
/// the page, as what a driver runs has a global and promises of its own in Firefox.
const IN_A_ZONE: &str = "<script>window.inAZone = async api => {
    const waiting = [];
    const zone = Zone.current.fork({
        name: 'app',
        onScheduleTask(parent, current, target, task) {
            if (task.type == 'macroTask') waiting.push(task.source);
            return parent.scheduleTask(target, task);
        },
    });
    let rejections = 0, bothTold;
    const told = new Promise(resolve => bothTold = resolve);
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error(`${rejections} told`)), 30000));
    addEventListener('unhandledrejection', event => { event.preventDefault(); if (++rejections == 2) bothTold(); });
    const ofBrowser = promise => promise.constructor == (async () => {})().constructor;
    const ask = url => fetch(url, { method: 'POST', body: JSON.stringify({ model: 'demo', stream: true, messages: [] }) });
    const kinds = [];
    await zone.run(() => {
        const called = ask(`${api}/v1/chat/completions`);
        kinds.push(ofBrowser(called));
        return called.then(response => {
            const reader = response.body.getReader();
            const first = reader.read();
            kinds.push(ofBrowser(first));
            return first.then(function next({ done }) { return done || reader.read().then(next); });
        });
    });
    zone.run(() => { ask('http://127.0.0.1:1/'); (async () => { await ask('http://127.0.0.1:1/'); })(); });
    await Promise.race([told, late]);
    return { kinds, rejections, waiting };
};</script>";

const ASK_IN_A_ZONE: &str = "return window.inAZone(args[0]);";

const WAIT_FOR_MORE: &str = "
    while (!window.llmRumMore) await new Promise(resolve => setTimeout(resolve, 10));";
