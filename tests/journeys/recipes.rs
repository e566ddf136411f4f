//! The recipes of `docs/recipes`: clients as they come from npm, in pages without the probe and with it. The
//! app gets the same text, and the report has every byte.

use anyhow::{Context, Result, ensure};
use beacon::Outcome;
use serde_json::Value;
use tests::{AppPage, DemoSite, recording};

use crate::Stage;

const CLIENTS: [&str; 5] = ["openai", "anthropic", "langchain", "ollama", "plainFetch"];
/// `useChat` speaks to the app's own backend.
const RECORDED: &str = "ai_sdk_ui_text";

#[tokio::test(flavor = "multi_thread")]
async fn clients_from_npm_get_the_same_text_and_the_report_has_every_byte() -> Result<()> {
    let stage = Stage::set().await?;
    let mut without = Vec::new();
    // The same answers twice, so that what the app made of them can be compared.
    let same = ["--seed", "7"];
    let plain = AppPage::serve(RECIPES, "").await?;
    let demo = DemoSite::start_with(&stage.collector.url, &same).await?;
    stage.browser.page.goto(&plain.url).await?;
    for client in CLIENTS {
        without.push(stage.browser.run(ASK, vec![client.into(), api(&demo)]).await?);
    }
    without.push(stage.browser.run(ASK, vec!["reactUseChat".into(), backend(&plain)]).await?);

    let snippet = stage.collector.get("/snippet.json?site=demo").await?;
    let probe =
        [&snippet["stub"]["tag"], &snippet["tag"]].map(|tag| tag.as_str().unwrap_or_default()).concat();
    let watched = AppPage::serve(&format!("{probe}{RECIPES}"), "").await?;
    let demo = DemoSite::start_with(&stage.collector.url, &same).await?;
    stage.browser.page.goto(&watched.url).await?;
    stage.keep_reports().await?;
    for (client, without) in CLIENTS.into_iter().zip(&without) {
        let before = demo.latest().await?;
        let with = stage.browser.run(ASK, vec![client.into(), api(&demo)]).await?;
        same_text(client, &with, without)?;
        let entry = demo.ended(before).await?;
        read_whole(&stage, client, entry.bytes()).await?;
    }
    let with = stage.browser.run(ASK, vec!["reactUseChat".into(), backend(&watched)]).await?;
    same_text("reactUseChat", &with, without.last().context("it ran")?)?;
    let sent: usize = recording(RECORDED)?.iter().map(String::len).sum();
    read_whole(&stage, "reactUseChat", sent as u64).await?;
    stage.browser.close().await
}

fn same_text(client: &str, with: &Value, without: &Value) -> Result<()> {
    ensure!(with["text"].as_str().is_some_and(|text| text.len() > 4), "{client} has an answer: {with}");
    ensure!(with["text"] == without["text"], "{client}: {with} with the probe, {without} without");
    Ok(())
}

/// The latest stream ended well, and all that the server sent was seen.
async fn read_whole(stage: &Stage, client: &str, sent: u64) -> Result<()> {
    let streams = 1 + CLIENTS.iter().position(|name| *name == client).unwrap_or(CLIENTS.len());
    let ids = stage.ended_ids(streams).await?;
    ensure!(ids.len() == streams, "{client}: one report for each stream");
    let report = stage.collector.final_report(&ids[streams - 1]).await?;
    ensure!(
        report.outcome == Outcome::Complete && report.bytes == sent && report.ttft_ms.is_some(),
        "{client}, of {sent} bytes: {report:#?}"
    );
    Ok(())
}

fn api(demo: &DemoSite) -> Value {
    format!("{}/llm/normal", demo.url).into()
}

fn backend(page: &AppPage) -> Value {
    format!("{}/recorded/{RECORDED}", page.url).into()
}

const RECIPES: &str = r#"<script defer src="/recipes/recipes.js"></script>"#;

const ASK: &str = "
    const parts = [];
    await window.recipes[args[0]](args[1], 'Why does streaming feel faster?', part => parts.push(part));
    return { text: parts.join(''), parts: parts.length };";
