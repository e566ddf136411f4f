//! A page of somebody's app: its head and its policy come in, a server of its own hands it out, and answers
//! it as the app's backend would.

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::body::Body;
use axum::extract::{self, State};
use axum::http::StatusCode;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use futures_util::stream;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::process::built;

/// The page, at an origin of its own; it goes with this value.
pub struct AppPage {
    /// `http://127.0.0.1:PORT`
    pub url: String,
    serving: JoinHandle<()>,
    failure: Failing,
}

/// How the app's backend fails.
#[derive(Debug, Clone, Copy)]
pub enum Failure {
    /// It answers with this status.
    Status(u16),
    /// It hangs up without an answer.
    HangsUp,
}

/// How the recorded answers fail at the moment, if they do.
type Failing = Arc<Mutex<Option<Failure>>>;

impl AppPage {
    /// Serves it under `policy`, or under none. What the policy has stopped is listed in
    /// `window.violations`, and scripts that were refused in `window.refused`. Beside it lie the probe's
    /// files under `/own/`, the recipes' script under `/recipes/`, and under `/recorded/NAME/` an answer
    /// that was recorded, and under `/paced/COUNT/BUNDLE/api/chat` one of so many pieces of text, 40 ms
    /// each, sent in bundles. `/worker.js` is a service worker that answers these late.
    ///
    /// # Errors
    /// When no port is free, or the probe has not been built.
    pub async fn serve(head: &str, policy: &str) -> Result<Self> {
        // The pages are on loopback, but are to have the build that users get.
        Self::serve_with_referrer(head, policy, "no-referrer").await
    }

    /// The same, with this policy for the page's address in requests.
    ///
    /// # Errors
    /// When no port is free, or the probe has not been built.
    pub async fn serve_with_referrer(head: &str, policy: &str, referrer: &'static str) -> Result<Self> {
        let html = format!(
            "<!doctype html><html><head><script src=\"/first.js\"></script>{head}</head><body></body></html>"
        );
        let policy = policy.to_owned();
        let page = move || async move {
            let html = ([(REFERRER_POLICY, referrer)], Html(html));
            if policy.is_empty() {
                html.into_response()
            } else {
                ([(CONTENT_SECURITY_POLICY, policy)], html).into_response()
            }
        };
        Self::listen(|failure| Ok(Self::routes(failure)?.route("/", get(page)))).await
    }

    /// Serves an app that a bundler has built into `folder`.
    ///
    /// # Errors
    /// When no port is free, or the probe has not been built.
    pub async fn serve_built(folder: &Path) -> Result<Self> {
        let index = folder.join("index.html");
        let page = async move || std::fs::read_to_string(index).map(Html).map_err(|_| StatusCode::NOT_FOUND);
        let assets = files(folder.join("assets"));
        Self::listen(|failure| {
            Ok(Self::routes(failure)?.route("/", get(page)).route("/assets/{file}", assets))
        })
        .await
    }

    /// From now on requests for recorded answers fail, or with `None` they do not.
    pub fn fail(&self, failure: Option<Failure>) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    fn routes(failure: Failing) -> Result<Router> {
        Ok(Router::new()
            .route("/recorded/{name}/{*route}", post(recorded).get(recorded_or_info))
            .with_state(failure)
            .route("/first.js", get(async || ([(CONTENT_TYPE, "text/javascript")], FIRST)))
            .route("/worker.js", get(async || ([(CONTENT_TYPE, "text/javascript")], WORKER)))
            .route("/own/{file}", files(built("probe-wasm/dist")?))
            .route("/recipes/{file}", files(built("docs/recipes/dist")?))
            .route("/paced/{count}/{bundle}/api/chat", post(paced)))
    }

    async fn listen(router: impl FnOnce(Failing) -> Result<Router>) -> Result<Self> {
        let failure = Failing::default();
        let router = router(failure.clone())?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let serving = tokio::spawn(async move {
            // It fails only when the listener does, and then the page is not there.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, serving, failure })
    }
}

impl Drop for AppPage {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// All bytes of an answer that was recorded read by read.
///
/// # Errors
/// When there is no such recording.
pub fn recording(name: &str) -> Result<Vec<String>> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/streams").join(name).with_extension("jsonl");
    let rows = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut reads = Vec::new();
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row)?;
        reads.extend(row["text"].as_str().map(str::to_owned));
    }
    Ok(reads)
}

async fn recorded(
    State(failing): State<Failing>,
    extract::Path((name, _)): extract::Path<(String, String)>,
) -> Response {
    let failure = *failing.lock().unwrap_or_else(PoisonError::into_inner);
    match failure {
        Some(Failure::Status(status)) => return refuse(status),
        Some(Failure::HangsUp) => return hang_up(),
        None => {}
    }
    let Ok(reads) = recording(&name) else { return StatusCode::NOT_FOUND.into_response() };
    // A pause between two, so that they come as two.
    let body = stream::unfold(reads.into_iter(), async |mut reads| {
        let read = reads.next()?;
        tokio::time::sleep(Duration::from_millis(10)).await;
        Some((anyhow::Ok(read), reads))
    });
    // A sandboxed frame is of another origin than its own server.
    let kind = [(CONTENT_TYPE, "text/event-stream"), (EXTENSION, "v1"), (ACCESS_CONTROL_ALLOW_ORIGIN, "*")];
    (kind, Body::from_stream(body)).into_response()
}

fn refuse(status: u16) -> Response {
    let error = serde_json::json!({ "error": { "message": "the model is busy", "code": status } });
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(error)).into_response()
}

/// A body that fails before its first byte takes the head with it, which waits in the same buffer.
fn hang_up() -> Response {
    Body::from_stream(stream::once(async { Err::<String, _>(io::Error::other("the server is gone")) }))
        .into_response()
}

/// Some ask by `GET`: for an answer, or for what CopilotKit's runtime says of itself.
async fn recorded_or_info(failing: State<Failing>, path: extract::Path<(String, String)>) -> Response {
    if path.1.ends_with("/info") { copilot_runtime().into_response() } else { recorded(failing, path).await }
}

fn copilot_runtime() -> Json<Value> {
    let agent = serde_json::json!({ "name": "default", "description": "", "className": "BuiltInAgent" });
    Json(serde_json::json!({ "version": "1.75.0", "mode": "sse", "agents": { "default": agent } }))
}

async fn paced(extract::Path((count, bundle)): extract::Path<(u32, u32)>) -> Response {
    let mut at_once: Vec<_> = (0..count).map(piece).collect();
    at_once.push("data: [DONE]\n\n".to_owned());
    let bundles: Vec<_> = at_once.chunks(bundle.max(1) as usize).map(|pieces| pieces.concat()).collect();
    let body = stream::unfold((bundles.into_iter(), PIECE * bundle), async |(mut bundles, pause)| {
        let next = bundles.next()?;
        tokio::time::sleep(pause).await;
        Some((anyhow::Ok(next), (bundles, pause)))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(body)).into_response()
}

/// The time that a model takes for a piece of text.
const PIECE: Duration = Duration::from_millis(40);

fn piece(number: u32) -> String {
    let delta = serde_json::json!({ "content": format!(" word{number}") });
    let choice = serde_json::json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": null });
    let chunk = serde_json::json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_764_339_910, "model": "m-1", "choices": [choice],
    });
    format!("data: {chunk}\n\n")
}

/// The files of a folder.
fn files(folder: PathBuf) -> MethodRouter {
    get(async move |extract::Path(file): extract::Path<String>| answer(&folder.join(file)))
}

fn answer(file: &Path) -> Response {
    let wasm = file.extension().is_some_and(|extension| extension == "wasm");
    let kind = if wasm { "application/wasm" } else { "text/javascript" };
    match std::fs::read(file) {
        Ok(content) => ([(CONTENT_TYPE, kind)], content).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

/// What the AI SDK's server helper adds.
const EXTENSION: axum::http::HeaderName =
    axum::http::HeaderName::from_static("x-vercel-ai-ui-message-stream");

/// A service worker. Answers reach the page 300 ms after the worker has them, as the server made them or in a response
/// of the worker's own.
const WORKER: &str = "
self.onactivate = event => event.waitUntil(clients.claim());
const answer = async request => {
    const response = await fetch(request);
    await new Promise(resolve => setTimeout(resolve, 300));
    return request.url.endsWith('?built') ? new Response(response.body, { headers: response.headers }) : response;
};
self.onfetch = event => {
    if (event.request.url.includes('/paced/')) event.respondWith(answer(event.request));
};";

/// Before everything else in the page.
const FIRST: &str = "
window.violations = [];
document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
    window.violations.push(violatedDirective + ' ' + blockedURI));
window.refused = [];
window.addEventListener('error', ({ target }) => target.src && window.refused.push(target.src), true);";
