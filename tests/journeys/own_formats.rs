//! Chats whose formats no table knows, and those of Gradio, in pages of another origin.

use anyhow::{Result, ensure};
use beacon::Outcome;
use serde_json::Value;
use tests::{AppPage, Engine};

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn text_is_found_in_formats_that_no_table_knows() -> Result<()> {
    in_every_engine(own_formats).await
}

async fn own_formats(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let collector = &stage.collector.url;
    let head = format!("<script src=\"{collector}/llm-rum.js\" data-site=\"demo\"></script>");
    let page = AppPage::serve(&head, "").await?;
    stage.browser.page.goto(&page.url).await?;
    stage.keep_reports().await?;
    for (at, (name, first, deltas, outcome)) in [
        ("inferred_dify", "\"answer\":\"The\"", 10, Outcome::Complete),
        ("inferred_flowise", "\"data\":\"The\"", 10, Outcome::Complete),
        ("inferred_cumulative", "\"answer\":", 9, Outcome::Complete),
        ("inferred_assistants_failed", "\"value\":\"The\"", 4, Outcome::ProviderError),
        ("gradio_chat", "\"word0 \"", 8, Outcome::Complete),
        ("gradio_string", "\"word0 \"", 8, Outcome::Complete),
        ("gradio_stopped", "\"word0 \"", 5, Outcome::Aborted),
        ("gradio_raised", "\"Let me\"", 1, Outcome::ProviderError),
    ]
    .into_iter()
    .enumerate()
    {
        let seen_ms = stage.browser.run(READ, vec![name.into(), first.into()]).await?;
        let ids = stage.ended_ids(at + 1).await?;
        let report = stage.collector.final_report(&ids[at]).await?;
        let is_right = report.dialect.as_deref().is_some_and(|dialect| name.starts_with(dialect))
            && report.outcome == outcome
            && report.deltas == deltas
            && is_read(report.ttft_ms, &seen_ms);
        ensure!(is_right, "{report:#?}\n{name} in {engine:?}, read without and with text after {seen_ms} ms");
    }
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_described_format_is_read_as_described() -> Result<()> {
    in_every_engine(described_format).await
}

/// The tag has the description as JSON. Its text is the second piece alone, which no rule of ours would find.
async fn described_format(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let collector = &stage.collector.url;
    let format = r#"[{"url":"/api/chat","text":"answer= moon if event=message","end":"event=message_end"}]"#;
    let head = format!(
        "<script src=\"{collector}/llm-rum.js\" data-site=\"demo\" data-formats='{format}'></script>"
    );
    let page = AppPage::serve(&head, "").await?;
    stage.browser.page.goto(&page.url).await?;
    stage.keep_reports().await?;
    let seen_ms =
        stage.browser.run(READ, vec!["inferred_dify".into(), "\"answer\":\" moon\"".into()]).await?;
    let ids = stage.ended_ids(1).await?;
    let report = stage.collector.final_report(&ids[0]).await?;
    let is_right = report.dialect.as_deref() == Some("custom")
        && (report.outcome, report.deltas) == (Outcome::Complete, 1)
        && is_read(report.ttft_ms, &seen_ms);
    ensure!(is_right, "{report:#?}\nin {engine:?}, read without and with text after {seen_ms} ms");
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn two_chats_of_gradio_have_two_reports() -> Result<()> {
    in_every_engine(two_chats_of_gradio).await
}

/// Two calls at the same time on one stream of the queue: one of ten words, and one of eight that ends first.
async fn two_chats_of_gradio(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let collector = &stage.collector.url;
    let head = format!(
        "<script src=\"{collector}/llm-rum.js\" data-site=\"demo\"></script>\
         <script src=\"{collector}/llm-rum-more.js\" data-with=\"gradio\"></script>"
    );
    let page = AppPage::serve(&head, "").await?;
    stage.browser.page.goto(&page.url).await?;
    stage.keep_reports().await?;
    // The first time the second Wasm is loaded meanwhile.
    for asked in 1..=2 {
        stage.browser.run(READ_QUEUE, vec!["gradio_two_calls".into()]).await?;
        let ids = stage.ended_ids(2 * asked).await?;
        let mut told = Vec::new();
        for id in &ids[2 * (asked - 1)..] {
            let report = stage.collector.final_report(id).await?;
            let is_right = report.dialect.as_deref() == Some("gradio")
                && report.outcome == Outcome::Complete
                && report.ttft_ms.is_some_and(|ttft_ms| Some(ttft_ms) < report.e2e_ms);
            ensure!(is_right, "{report:#?}\nin {engine:?}");
            told.push((report.response_id.unwrap_or_default(), report.deltas));
        }
        told.sort_by_key(|&(_, deltas)| deltas);
        let calls = [("e6de369febca4db9bea001284c63b029", 8), ("58a6ae8c8c604041901a0b24a1be68ad", 10)];
        ensure!(told == calls.map(|(id, deltas)| (id.into(), deltas)), "{told:?} in {engine:?}");
    }
    ensure!(stage.collector.streams().await?.len() == 4, "a report for each call");
    stage.browser.close().await
}

/// Reads a recorded queue to its end.
const READ_QUEUE: &str = "
    const response = await fetch(`/recorded/${args[0]}/gradio_api/queue/data?session_hash=1`);
    const reader = response.body.getReader();
    while (!(await reader.read()).done);";

/// Whether the first text lies after the page's last read without it, and not after the page's read with it. With
/// clocks of whole milliseconds, two such durations differ by up to 2 ms.
fn is_read(ttft_ms: Option<f64>, seen_ms: &Value) -> bool {
    let bounds = seen_ms[0].as_f64().zip(seen_ms[1].as_f64());
    ttft_ms
        .zip(bounds)
        .is_some_and(|(ttft_ms, (before, seen))| before - 2.0 <= ttft_ms && ttft_ms <= seen + 2.0)
}

/// Reads a recorded answer. Returns when the last read without the whole event of the text came, counted from after
/// the request, and when the read with it came, counted from before the request. WebKit splits events over reads.
const READ: &str = "
    const [name, first] = args;
    const start = performance.now();
    const asked = fetch(`/recorded/${name}/api/chat`, { method: 'POST', body: '{\"stream\":true}' });
    const sent = performance.now();
    const response = await asked;
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    let text = '', before = 0, seen;
    for (let read; !(read = await reader.read()).done; ) {
        text += decoder.decode(read.value, { stream: true });
        const at = text.indexOf(first);
        if (at >= 0 && text.includes('\\n\\n', at)) seen ??= performance.now() - start;
        else before = performance.now() - sent;
    }
    return [before, seen];";
