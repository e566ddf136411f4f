//! Failures of clients that do not say in a request that they want a stream, from npm and by `XMLHttpRequest`: with the
//! extension `failures` each is reported.

use anyhow::{Context, Result, ensure};
use beacon::Outcome;
use serde_json::{Value, json};
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

#[tokio::test(flavor = "multi_thread")]
async fn failed_xml_http_requests_are_reported_in_every_engine() -> Result<()> {
    in_every_engine(every_request_fails).await
}

async fn every_request_fails(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let collector = &stage.collector.url;
    let head = format!(
        "<script src=\"{collector}/llm-rum.js\" data-site=\"demo\"></script>\
         <script src=\"{collector}/llm-rum-more.js\" data-with=\"xhr failures\"></script>"
    );
    let page = AppPage::serve(&head, "").await?;
    let send = async |requests: Value| {
        let base = format!("{}/recorded/chat_vllm_metrics", page.url);
        stage.browser.run(SEND, vec![base.into(), requests]).await.map(drop)
    };
    for (failure, outcome, status) in FAILURES {
        for (question, by_route) in questions() {
            stage.browser.page.goto(&page.url).await?;
            stage.keep_reports().await?;
            let before = usize::from(by_route);
            if by_route {
                send(json!([question])).await?;
                stage.ended_ids(1).await?;
            }
            page.fail(Some(failure));
            let sent = async {
                send(everyday_requests()).await?;
                send(json!([question])).await
            };
            let sent = sent.await;
            let reported = reported(&stage, before).await;
            page.fail(None);
            let what = || format!("{question}, {failure:?}");
            let found = sent.and(reported).with_context(what)?;
            ensure!(found == (outcome, status), "{}: {found:?}", what());
            let ids = stage.ended_ids(before + 1).await?;
            ensure!(ids.len() == before + 1, "{}: {} reports", what(), ids.len());
        }
    }
    stage.browser.close().await
}

/// Requests to a model, and whether they are recognised by a route that has streamed alone.
fn questions() -> [(Value, bool); 6] {
    let messages = json!([{ "role": "user", "content": "Why?" }]);
    [
        (json!({ "path": "/api/chat", "body": { "model": "m-1", "messages": messages } }), false),
        (json!({ "path": "/api/chat", "body": { "prompt": "Why?", "chat_id": "c-1" } }), false),
        (json!({ "path": "/api/chat", "body": { "query": "Why?", "response_mode": "streaming" } }), false),
        (json!({ "path": "/v1/chat/completions", "body": { "model": "m-1", "stream": true } }), false),
        (json!({ "path": "/ask", "accept": "text/event-stream" }), false),
        (json!({ "path": "/ask", "form": { "question": "Why?" } }), true),
    ]
}

/// Requests to no model: of an app's own API, logins, uploads, GraphQL, analytics, tools.
fn everyday_requests() -> Value {
    let stored = json!([{ "role": "user", "content": "Why?" }, { "role": "assistant", "content": "So." }]);
    json!([
        { "path": "/api/user/info" },
        { "path": "/api/items", "body": { "title": "a", "description": "Why?" } },
        { "path": "/api/login", "body": { "email": "a@example.com", "password": "b" } },
        { "path": "/api/upload", "form": { "file": "Why?", "model": "m-1" } },
        { "path": "/api/chats", "body": { "id": "c-1", "messages": stored } },
        { "path": "/v1/embeddings", "body": { "model": "m-1", "input": "Why?" } },
        { "path": "/v1/chat/completions", "body": { "model": "m-1", "messages": [], "stream": false } },
        { "path": "/graphql", "body": { "query": "{ me { id } }", "variables": {} } },
        { "path": "/collect", "body": { "event": "page", "session_id": "s", "properties": {} } },
        { "path": "/rpc", "body": { "jsonrpc": "2.0", "id": 1, "method": "tools/call" } },
    ])
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

/// Each request ends before the next.
const SEND: &str = "
    const [base, requests] = args;
    const formOf = fields => {
        const form = new FormData();
        for (const field of Object.entries(fields)) form.append(...field);
        return form;
    };
    for (const { path, accept, body, form } of requests) {
        const request = new XMLHttpRequest();
        request.open(body || form ? 'POST' : 'GET', base + path);
        if (accept) request.setRequestHeader('accept', accept);
        if (body) request.setRequestHeader('content-type', 'application/json');
        const ended = new Promise(resolve => request.addEventListener('loadend', resolve));
        request.send(form ? formOf(form) : body && JSON.stringify(body));
        await ended;
    }";
