//! The probe's development build: what a page's developer reads in the console, and what the collector counts.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests::{AppPage, Engine, eventually};

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn the_development_build_tells_mistakes_in_every_engine() -> Result<()> {
    in_every_engine(mistakes).await
}

async fn mistakes(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    stage.open("").await?;
    let told = stage.browser.run(READ_STREAMS, vec![stage.collector.url.clone().into()]).await?;
    let lines: Vec<String> = serde_json::from_value(told)?;
    let has = |part: &str| lines.iter().filter(|line| line.contains(part)).count() == 1;
    ensure!(has("`usCase` is unknown: did you mean `useCase`?"), "{lines:#?}");
    ensure!(has("the collector refused a beacon") && has("(unknown_site)"), "{lines:#?}");
    ensure!(has("complete · openai_chat"), "{lines:#?}");
    let reports = eventually("a report of the right key", || async {
        let reports = stage.collector.streams().await.ok()?;
        reports.iter().any(|report| !report.open).then_some(reports)
    })
    .await?;
    ensure!(reports.len() == 1, "the wrong key counts nothing: {reports:#?}");
    ensure!(json!(reports[0].attributes) == json!({}), "the configuration names no attribute");
    ensure!(reports[0].variant.as_deref() == Some("short"), "{reports:#?}");
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_console_names_a_policy_that_forbids_wasm() -> Result<()> {
    in_every_engine(policies).await
}

/// The page's address asks for a line about each stream.
async fn policies(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let collector = &stage.collector.url;
    let head = format!(
        "<script>{KEEP_LINES}</script>\
         <script src=\"{collector}/llm-rum-dev.js\" data-site=demo data-use-case=chat></script>\
         <script>{KEEP_END}</script>"
    );
    let policy = format!("script-src 'self' 'unsafe-inline' {collector}");
    let only_chunks = Some("unobserved · no known format");
    for (policy, address, stream, is_told) in [
        (&*policy, "?llm-rum-debug", only_chunks, true),
        (&format!("{policy} 'wasm-unsafe-eval'"), "?llm-rum-debug", Some("complete · openai_chat"), false),
        ("", "", None, false),
    ] {
        let page = AppPage::serve(&head, policy).await?;
        stage.browser.page.goto(&format!("{}/{address}", page.url)).await?;
        let told = stage
            .browser
            .run(READ_ONE, vec!["/recorded/chat_vllm_metrics/v1/chat/completions".into()])
            .await?;
        let lines: Vec<String> = serde_json::from_value(told)?;
        let of_streams: Vec<_> = lines.iter().filter(|line| **line != FORBIDDEN).collect();
        ensure!((lines.len() > of_streams.len()) == is_told, "{policy} in {engine:?}: {lines:#?}");
        let is_right = match stream {
            Some(begin) => of_streams.len() == 1 && of_streams[0].starts_with(begin),
            None => of_streams.is_empty(),
        };
        ensure!(is_right, "{policy} in {engine:?}: {lines:#?}");
    }
    stage.browser.close().await
}

const FORBIDDEN: &str = "the page's policy forbids WebAssembly, so only chunks are measured: \
                         add 'wasm-unsafe-eval' to script-src";

#[tokio::test(flavor = "multi_thread")]
async fn the_tag_tells_mistakes_on_loopback_only() -> Result<()> {
    in_every_engine(tags_on_loopback).await
}

/// The page's own policy hides its address, so that the collector sees none of loopback. A tag may show it.
async fn tags_on_loopback(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let snippet = stage.collector.get("/snippet.json?site=demo").await?;
    let of_snippet = snippet["tag"].as_str().unwrap_or_default();
    let tag = format!("<script async src=\"{}/llm-rum.js\"></script>", stage.collector.url);
    let cases = [
        (&*tag, "data-site=demo data-usecase=chat", json!([USE_CASE])),
        (&*tag, "data-use-case=chat", json!(["data-site is missing, so nothing is measured"])),
        (of_snippet, "data-usecase=chat", json!([USE_CASE])),
    ];
    // In this order: a browser keeps the normal build for an hour.
    for (policy, is_told) in [("origin", true), ("no-referrer", false)] {
        for (tag, attributes, mistakes) in &cases {
            let expected = if is_told { mistakes } else { &json!([]) };
            let more = format!("<script async referrerpolicy={policy} {attributes}");
            let head = format!("<script>{KEEP_WARNINGS}</script>{}", tag.replace("<script async", &more));
            let page = AppPage::serve(&head, "").await?;
            stage.browser.page.goto(&page.url).await?;
            let warnings = stage.browser.run("return window.warnings", vec![]).await?;
            ensure!(warnings == *expected, "{warnings} instead of {expected} in {engine:?}: {head}");
            let loaded = stage.browser.run("return 'llmRum' in window", vec![]).await?;
            ensure!(loaded == Value::Bool(true), "{head}");
        }
    }
    stage.browser.close().await
}

const USE_CASE: &str = "data-usecase is unknown: did you mean data-use-case?";

const KEEP_WARNINGS: &str =
    "window.warnings = []; console.warn = (prefix, sentence) => window.warnings.push(sentence)";

const KEEP_LINES: &str =
    "window.lines = []; console.warn = console.info = (prefix, line) => window.lines.push(line)";

const KEEP_END: &str =
    "window.ended = new Promise(end => window.llmRum.probe.onStreamEnd(() => setTimeout(end)))";

/// Reads one answer and gives back what was told in the console until then.
const READ_ONE: &str = "
    await (await fetch(args[0], { method: 'POST', body: '{\"stream\":true}' })).text();
    await window.ended;
    await window.llmRum.probe.flush();
    return window.lines;";

/// Two probes one after the other: the first has a wrong key and a wrong option.
const READ_STREAMS: &str = "
    const lines = [];
    console.warn = console.info = (...line) => lines.push(line.join(' '));
    const { start } = await import(args[0] + '/llm-rum-dev.mjs');
    const collector = args[0];
    window.llmRum?.probe?.stop();
    for (const options of [
        { collector, site: 'wrong', usCase: 'chat' },
        { collector, site: 'demo', variant: 'short', attributes: { plan: 'pro' }, debug: true },
    ]) {
        const probe = start({ patchFetch: false, ...options });
        const ended = new Promise(resolve => probe.onStreamEnd(resolve));
        const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
        const headers = { 'content-type': 'application/json' };
        const ask = probe.wrapFetch(window.fetch);
        await (await ask('/llm/normal/v1/chat/completions', { method: 'POST', headers, body })).text();
        await ended;
        await probe.flush();
        probe.stop();
        await probe.flush();
    }
    return lines;";
