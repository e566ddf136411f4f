//! All routes of the collector.

use std::any::Any;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use tower_http::catch_panic::CatchPanicLayer;

use crate::api::{self, health};
use crate::export::prometheus;
use crate::http::connection::Timer;
use crate::http::error::{ApiError, Reason};
use crate::http::{auth, probe_files, snippet, static_files};
use crate::ingest::handler;
use crate::server::state::AppState;

/// The router with all routes.
pub fn app(state: AppState) -> Router {
    let data = Router::new()
        .route("/v1/summary", get(api::summary))
        .route("/v1/timeseries", get(api::timeseries))
        .route("/v1/histogram", get(api::histogram))
        .route("/v1/heatmap", get(api::heatmap))
        .route("/v1/breakdown", get(api::breakdown))
        .route("/v1/compare", get(api::compare))
        .route("/v1/phases", get(api::phases))
        .route("/v1/integrity", get(api::integrity))
        .route("/v1/abandonment", get(api::abandonment))
        .route("/v1/slo", get(api::slo))
        .route("/v1/alerts", get(api::alerts))
        .route("/v1/streams", get(api::streams))
        .route("/v1/streams/{id}", get(api::stream))
        .route("/v1/accounting", get(api::accounting))
        .route("/v1/refusals", get(api::refusals))
        .route("/v1/live", get(api::live))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(state.clone(), auth::read));
    let metrics = Router::new()
        .route("/metrics", get(prometheus::metrics))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(state.clone(), auth::metrics));
    let session = Router::new()
        .route("/v1/session", get(api::session).post(api::sign_in).delete(api::sign_out))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(state.clone(), auth::private));
    let open = Router::new()
        .route(handler::PATH, any(beacons))
        .route("/openapi.json", get(api::openapi))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/llm-rum.js", get(probe_files::latest))
        .route("/llm-rum-more.js", get(probe_files::latest))
        .route("/llm-rum.mjs", get(probe_files::latest))
        .route("/llm-rum-more.mjs", get(probe_files::latest))
        .route("/llm-rum-worker.mjs", get(probe_files::latest))
        .route("/llm-rum.wasm", get(probe_files::latest))
        .route("/llm-rum-all.wasm", get(probe_files::latest))
        .route("/llm-rum.d.ts", get(probe_files::latest))
        .route("/llm-rum.tgz", get(probe_files::latest))
        .route("/stub.js", get(probe_files::latest))
        .route("/probe/{version}/{name}", get(probe_files::versioned))
        .route("/snippet", get(snippet::page))
        .route("/snippet.json", get(snippet::json))
        .route("/snippet.css", get(snippet::style))
        .fallback(static_files::dashboard)
        .method_not_allowed_fallback(wrong_method);
    open.merge(data)
        .merge(metrics)
        .merge(session)
        .layer(CatchPanicLayer::custom(after_panic))
        .with_state(state)
}

async fn beacons(State(state): State<AppState>, request: Request<Body>) -> Response {
    handler::beacons(state.ingest(), &Timer::default(), request).await
}

async fn wrong_method() -> ApiError {
    ApiError::new(Reason::MethodNotAllowed, "this route does not support the method")
}

/// Responds with an internal error. The panic is in the log; the process and the connection continue.
pub(super) fn after_panic(_: Box<dyn Any + Send>) -> Response {
    ApiError::new(Reason::Internal, "internal error; the collector's log has the cause").into_response()
}
