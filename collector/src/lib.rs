//! The collector of llm-rum: beacons from browsers come in; percentiles, a dashboard and Prometheus
//! metrics go out. Each stage of the way is one file, in the order of the modules below.
//!
//! [`ingest`] takes a request, [`admit`] judges its reports, [`journal`] keeps them before they are
//! answered, [`counter`] has [`rollup`] count them, [`store`] holds what was counted, [`query`] and [`exposition`]
//! answer from it.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod aggregate;
mod api;
mod background;
mod cli;
mod clock;
mod config;
mod counter;
mod export;
mod http;
mod ingest;
mod journal;
mod server;
mod slo;
mod state;
mod stats;
mod store;
mod workers;

use std::any::Any;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use tower_http::catch_panic::CatchPanicLayer;

pub use cli::backup::{BackupError, backup};
pub use cli::grafana::grafana;
pub use cli::prometheus_rules::{NoRule, rules};
pub use cli::replay::{ReplayError, Replayed, replay};
pub use config::origin::{Origin, OriginError};
pub use config::targets::Targets;
pub use config::{
    ClickHouse, Config, ConfigError, Dedupe, Draft, Ingest, Journal, Limits, Mistake, Place, Secret, Site,
    Store, Sync, Temporality,
};
pub use export::otlp::dropped_points;
pub use http::client_ip::{Proxy, ProxyError};
pub use http::rate_limit::Rate;
pub use ingest::bot_filter::Filters;
pub use ingest::validate::judge;
pub use journal::reread;
pub use server::serve;
pub use state::{AppState, Collector};
pub use store::{ClickHouseError, StoreError, Unreadable};

use http::connection::Timer;
use http::error::{ApiError, Reason};
use http::{auth, probe_files, snippet, static_files};

/// Every route there is.
pub fn app(state: AppState) -> Router {
    let data = Router::new()
        .route("/v1/summary", get(api::summary))
        .route("/v1/timeseries", get(api::timeseries))
        .route("/v1/histogram", get(api::histogram))
        .route("/v1/heatmap", get(api::heatmap))
        .route("/v1/breakdown", get(api::breakdown))
        .route("/v1/compare", get(api::compare))
        .route("/v1/integrity", get(api::integrity))
        .route("/v1/abandonment", get(api::abandonment))
        .route("/v1/slo", get(api::slo))
        .route("/v1/streams", get(api::streams))
        .route("/v1/streams/{id}", get(api::stream))
        .route("/v1/accounting", get(api::accounting))
        .route("/v1/live", get(api::live))
        .route("/metrics", get(export::prometheus::metrics))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(state.clone(), auth::guard));
    let open = Router::new()
        .route(ingest::handler::PATH, any(beacons))
        .route("/openapi.json", get(api::openapi))
        .route("/healthz", get(api::health::healthz))
        .route("/readyz", get(api::health::readyz))
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
    open.merge(data).layer(CatchPanicLayer::custom(after_panic)).with_state(state)
}

async fn beacons(State(state): State<AppState>, request: Request<Body>) -> Response {
    ingest::handler::beacons(&state, &Timer::default(), request).await
}

async fn wrong_method() -> ApiError {
    ApiError::new(Reason::MethodNotAllowed, "the route does not have this method")
}

/// The panic itself is in the log; the process and the connection go on.
fn after_panic(_: Box<dyn Any + Send>) -> Response {
    ApiError::new(Reason::Internal, "a fault of the collector, which is in its log").into_response()
}
