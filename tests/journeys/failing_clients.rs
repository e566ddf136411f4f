//! Failures of clients that do not say in a request that they want a stream, from npm: with the extension `failures`
//! each is reported.

use anyhow::{Context, Result, ensure};
use beacon::Outcome;
use serde_json::json;
use tests::{AppPage, Engine, Failure};

use crate::{Stage, in_every_engine};

/// Every client, the answer that its backend gives, and whether its requests are recognised by a route that has
/// streamed alone: they are `Request` objects, whose bodies cannot be read.
const CLIENTS: [(&str, &str, bool); 9] = [
    ("reactUseChat", "ai_sdk_ui_text", false),
    ("reactUseCompletion", "ai_sdk_ui_text", false),
    ("assistantUi", "ai_sdk_ui_text", false),
    ("googleGenAi", "gemini_thoughts", false),
    ("langgraph", "langgraph_messages", false),
    ("tanstackAi", "ag_ui_run", false),
    ("copilotKit", "ag_ui_run", false),
    ("kyFetch", "chat_vllm_metrics", true),
    ("axiosFetch", "chat_vllm_metrics", true),
];

const FAILURES: [(Failure, Outcome, Option<u16>); 3] = [
    (Failure::Status(429), Outcome::HttpError, Some(429)),
    (Failure::Status(500), Outcome::HttpError, Some(500)),
    (Failure::HangsUp, Outcome::NetworkError, None),
];

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_npm_clients_are_reported_in_every_engine() -> Result<()> {
    in_every_engine(every_client_fails).await
}

async fn every_client_fails(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let collector = &stage.collector.url;
    let head = format!(
        "<script src=\"{collector}/llm-rum.js\" data-site=\"demo\"></script>\
         <script src=\"{collector}/llm-rum-more.js\" data-with=\"failures\"></script>\
         <script defer src=\"/recipes/recipes.js\"></script>"
    );
    let page = AppPage::serve(&head, "").await?;
    for (client, answer, by_route) in CLIENTS {
        for (failure, outcome, status) in FAILURES {
            // A new page, as some clients try again.
            stage.browser.page.goto(&page.url).await?;
            stage.keep_reports().await?;
            let ask = vec![client.into(), json!(format!("{}/recorded/{answer}", page.url))];
            if by_route {
                stage.browser.run(ASK, ask.clone()).await?;
                stage.ended_ids(1).await?;
            }
            page.fail(Some(failure));
            let result = stage.browser.run(ASK_IN_VAIN, ask).await;
            let reported = reported(&stage, usize::from(by_route)).await;
            page.fail(None);
            let (report_outcome, report_status) =
                result.and(reported).with_context(|| format!("{client}, {failure:?}"))?;
            ensure!(
                (report_outcome, report_status) == (outcome, status),
                "{client}, {failure:?}: {report_outcome:?}, {report_status:?}"
            );
        }
    }
    stage.browser.close().await
}

/// Outcome and status of the stream after so many.
async fn reported(stage: &Stage, before: usize) -> Result<(Outcome, Option<u16>)> {
    let ids = stage.ended_ids(before + 1).await?;
    let report = stage.collector.final_report(&ids[before]).await?;
    Ok((report.outcome, report.status))
}

const ASK: &str = "await window.recipes[args[0]](args[1], 'Why?', () => {});";

/// A client may throw, try again, or never come back.
const ASK_IN_VAIN: &str = "window.recipes[args[0]](args[1], 'Why?', () => {}).catch(() => {});";
