//! A chat in a sandboxed frame, whose origin is `null`: the collector takes its reports only where the site says so.

use anyhow::{Context, Result, ensure};
use beacon::Outcome;
use serde_json::json;
use tests::{AppPage, Engine, eventually};

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn a_sandboxed_frame_reports_where_its_site_allows_it() -> Result<()> {
    in_every_engine(allowed).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandboxed_frame_is_refused_and_counted_otherwise() -> Result<()> {
    in_every_engine(refused).await
}

async fn allowed(engine: Engine) -> Result<()> {
    let stage = Stage::set_with(engine, &site("null")).await?;
    let id = chat_in_frame(&stage).await?;
    let report = stage.collector.final_report(&id).await?;
    let is_right = report.outcome == Outcome::Complete && report.deltas == 10 && report.ttft_ms.is_some();
    ensure!(is_right, "{report:#?} in {engine:?}");
    stage.browser.close().await
}

async fn refused(engine: Engine) -> Result<()> {
    // The page around the frame is of an origin that the site allows.
    let stage = Stage::set_with(engine, &site("loopback")).await?;
    chat_in_frame(&stage).await?;
    let refused = eventually("a refusal", || async {
        let accounting = stage.collector.get("/v1/accounting").await.ok()?;
        let requests = accounting["beacons"]["refused"]["foreign_origin"].as_u64()?;
        (requests > 0).then_some(requests)
    })
    .await?;
    ensure!(stage.collector.streams().await?.is_empty(), "{refused} requests of {engine:?} were refused");
    stage.browser.close().await
}

fn site(origins: &str) -> String {
    format!("[[sites]]\nname = 'demo'\nkeys = ['demo']\norigins = ['{origins}']\nfilters.bots = false\n")
}

/// Asks in the frame, and returns the id of the stream.
async fn chat_in_frame(stage: &Stage) -> Result<String> {
    let collector = &stage.collector.url;
    let head = format!(
        "<script src=\"{collector}/llm-rum.js\" data-site=\"demo\"></script><script>{FRAMED}</script>"
    );
    let page = AppPage::serve(&head, "").await?;
    stage.browser.page.goto(&page.url).await?;
    let told = stage.browser.run(ADD_FRAME, vec![]).await?;
    ensure!(told["origin"] == json!("null"), "the frame has an origin: {told}");
    told["id"].as_str().map(str::to_owned).with_context(|| format!("no stream: {told}"))
}

const FRAMED: &str = "
    if (window != top) (async () => {
        while (!window.llmRum?.probe) await new Promise(resolve => setTimeout(resolve, 10));
        const { probe } = window.llmRum;
        const ended = new Promise(resolve => probe.onStreamEnd(resolve));
        await (await fetch('/recorded/inferred_dify/chat')).text();
        const { id } = await ended;
        await probe.flush();
        parent.postMessage({ id }, '*');
    })().catch(error => parent.postMessage({ error: String(error) }, '*'));";

const ADD_FRAME: &str = "
    const frame = document.createElement('iframe');
    frame.sandbox = 'allow-scripts';
    frame.src = '/';
    const told = new Promise(resolve => addEventListener('message', resolve));
    document.body.append(frame);
    const { origin, data } = await told;
    return { origin, ...data };";
