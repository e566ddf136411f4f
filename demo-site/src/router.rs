//! The router of the demo site: all routes, including those of its log.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use llm_rum_tower::LlmRumLayer;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};
use tracing::warn;

use crate::reply::SEQ_HEADER;
use crate::site::Site;
use crate::{llm, page, socket};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// The router with all routes.
pub fn app(site: Arc<Site>) -> Router {
    // Pages of other origins must not use a relay: see `upstream`.
    let origins = if site.upstream.is_none() { AllowOrigin::any() } else { AllowOrigin::list([]) };
    let cors = CorsLayer::new()
        .allow_origin(origins)
        // A `*` does not include `Authorization`, so each requested header is allowed by name.
        .allow_headers(AllowHeaders::mirror_request())
        .allow_methods(AllowMethods::mirror_request())
        .expose_headers([SEQ_HEADER, X_REQUEST_ID, REQUEST_ID]);
    let llm = match &site.upstream {
        Some(_) => llm::routes().layer(LlmRumLayer::new()),
        // Scripts write the comments by themselves: `buffered` sends its text later than it makes it.
        None => llm::routes(),
    };
    Router::new()
        .merge(llm)
        .route("/llm/{scenario}/socket", any(socket::answer))
        .route("/demo/log", get(entries))
        .route("/demo/log/wait", get(wait))
        .layer(cors)
        .route("/healthz", get(async || "ok"))
        .merge(page::routes(site.page.clone()))
        .with_state(site)
}

/// Serves until the process ends.
///
/// # Errors
/// If the listener fails permanently.
pub async fn serve(listener: TcpListener, site: Arc<Site>) -> std::io::Result<()> {
    // With Nagle's algorithm, the kernel may delay a small write until the previous one is acknowledged.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            warn!(%error, "A connection keeps Nagle's algorithm: its times are not exact");
        }
    });
    axum::serve(listener, app(site)).await
}

#[derive(Deserialize)]
struct After {
    #[serde(default)]
    after: u64,
}

async fn entries(State(site): State<Arc<Site>>, Query(query): Query<After>) -> Response {
    Json(json!({ "entries": site.log.after(query.after) })).into_response()
}

#[derive(Deserialize)]
struct Wait {
    seq: u64,
    #[serde(default)]
    end: u8,
    #[serde(default = "ten_seconds")]
    timeout_ms: u64,
}

const fn ten_seconds() -> u64 {
    10_000
}

async fn wait(State(site): State<Arc<Site>>, Query(query): Query<Wait>) -> Response {
    let patience = Duration::from_millis(query.timeout_ms.min(120_000));
    let found = tokio::time::timeout(patience, site.log.wait(query.seq, query.end != 0)).await;
    match found {
        Ok(Some(entry)) => Json(json!({ "entry": entry })).into_response(),
        Ok(None) => problem(StatusCode::NOT_FOUND, "forgotten", "that entry is no longer held"),
        Err(_) => problem(StatusCode::REQUEST_TIMEOUT, "timeout", "that entry is not there, or goes on"),
    }
}

fn problem(status: StatusCode, code: &str, message: &str) -> Response {
    (status, Json(json!({ "error": { "code": code, "message": message } }))).into_response()
}
