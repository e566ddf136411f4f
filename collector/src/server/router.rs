//! All routes of the collector.

use std::any::Any;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::{any, delete, get, post};
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;

use crate::api::openapi;
use crate::api::routes::{self, health};
use crate::export::prometheus;
use crate::http::error::{ApiError, Reason};
use crate::http::not_modified::not_modified;
use crate::http::{auth, probe_files, snippet, static_files};
use crate::ingest::{handler, server_timings};
use crate::server::state::AppState;

/// The router with all routes.
pub fn app(state: AppState) -> Router {
    let data = Router::new()
        .route("/v1/summary", get(routes::summary))
        .route("/v1/timeseries", get(routes::timeseries))
        .route("/v1/histogram", get(routes::histogram))
        .route("/v1/heatmap", get(routes::heatmap))
        .route("/v1/breakdown", get(routes::breakdown))
        .route("/v1/compare", get(routes::compare))
        .route("/v1/explain", get(routes::explain))
        .route("/v1/phases", get(routes::phases))
        .route("/v1/engines", get(routes::engines))
        .route("/v1/releases", get(routes::releases))
        .route("/v1/markers", get(routes::markers))
        .route("/v1/integrity", get(routes::integrity))
        .route("/v1/abandonment", get(routes::abandonment))
        .route("/v1/visits", get(routes::visits))
        .route("/v1/server-layers", get(routes::server_layers))
        .route("/v1/slo", get(routes::slo))
        .route("/v1/alerts", get(routes::alerts))
        .route("/v1/streams", get(routes::streams))
        .route("/v1/streams/{id}", get(routes::stream))
        .route("/v1/streams.ndjson", get(routes::streams_ndjson))
        .route("/v1/streams.parquet", get(routes::streams_parquet))
        .route("/v1/accounting", get(routes::accounting))
        .route("/v1/refusals", get(routes::refusals))
        .route("/v1/live", get(routes::live))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn(not_modified))
        .layer(compressed())
        .layer(from_fn_with_state(state.clone(), auth::read));
    // `GET` of the first path has its own access, above.
    let marker_changes = Router::new()
        .route("/v1/markers", post(routes::post_marker))
        .route("/v1/markers/{id}", delete(routes::delete_marker).fallback(wrong_method))
        .layer(from_fn_with_state(state.clone(), auth::markers));
    let server_timings = Router::new()
        .route("/v1/server-timings", post(server_timings::own))
        .route("/v1/server-timings/litellm", post(server_timings::litellm))
        .route("/v1/traces", post(server_timings::traces))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(state.clone(), auth::server_timings));
    let metrics = Router::new()
        .route("/metrics", get(prometheus::metrics))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(state.clone(), auth::metrics));
    let session = Router::new()
        .route("/v1/session", get(routes::session).post(routes::sign_in).delete(routes::sign_out))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn(auth::one_host))
        .layer(from_fn_with_state(state.clone(), auth::private));
    let open = Router::new()
        .route("/openapi.json", get(openapi))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/llm-rum.js", get(probe_files::latest))
        .route("/llm-rum-more.js", get(probe_files::latest))
        .route("/llm-rum.mjs", get(probe_files::latest))
        .route("/llm-rum-more.mjs", get(probe_files::latest))
        .route("/llm-rum-worker.mjs", get(probe_files::latest))
        .route("/llm-rum-dev.js", get(probe_files::latest))
        .route("/llm-rum-dev.mjs", get(probe_files::latest))
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
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn(auth::one_host))
        .route(handler::PATH, any(handler::beacons));
    answer_panics(open.merge(data).merge(marker_changes).merge(server_timings).merge(metrics).merge(session))
        .with_state(state)
}

/// Compresses responses that are worth it for clients that accept gzip. The live feed is flushed after each event. Only
/// pages of this origin can read these responses, and none has a secret beside text of others, so their length reveals
/// nothing.
fn compressed() -> CompressionLayer<SizeAbove> {
    CompressionLayer::new()
        .gzip(true)
        .quality(CompressionLevel::Default)
        .compress_when(SizeAbove::new(ONE_PACKET))
}

async fn wrong_method() -> ApiError {
    ApiError::new(Reason::MethodNotAllowed, "this route does not support the method")
}

/// Responds to a panic with an internal error. The panic is in the log; the process and the connection continue.
fn answer_panics<S: Clone + Send + Sync + 'static>(routes: Router<S>) -> Router<S> {
    routes.layer(CatchPanicLayer::custom(|_: Box<dyn Any + Send>| {
        ApiError::new(Reason::Internal, "internal error; the collector's log has the cause").into_response()
    }))
}

/// A response that fits into one packet does not arrive earlier if it is shorter.
const ONE_PACKET: u64 = 1_200;

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt;

    use super::*;

    async fn panics() {
        tokio::task::yield_now().await;
        panic!("as a fault would");
    }

    #[tokio::test]
    async fn a_panic_is_answered() {
        let routes = answer_panics(Router::new().route("/", any(panics)));
        let answer = routes.oneshot(Request::new(Body::empty())).await.unwrap();
        assert_eq!(answer.status(), 500);
    }
}
