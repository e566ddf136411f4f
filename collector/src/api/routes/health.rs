//! `GET /healthz` and `GET /readyz`: whether the process runs, and whether a load balancer should send
//! requests to it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::state::ApiState;
use crate::journal::health::Health;

/// Readiness of the collector.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Ready {
    ready: bool,
    storage: Storage,
    draining: bool,
    memory: Memory,
}

#[derive(Serialize, JsonSchema)]
struct Memory {
    /// Bytes that are allocated now.
    used_bytes: usize,
    /// `memory_bytes` of the configuration, or what the system allows.
    budget_bytes: usize,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Storage {
    Writable,
    Unavailable,
}

/// Liveness: the process responds.
pub(crate) async fn healthz() -> &'static str {
    "ok"
}

/// Readiness: 200 while beacons can be stored and the collector is not shutting down.
pub(crate) async fn readyz(
    State(health): State<Arc<Health>>,
    State(ApiState { memory, .. }): State<ApiState>,
) -> (StatusCode, Json<Ready>) {
    let storage = if health.storage_failed() { Storage::Unavailable } else { Storage::Writable };
    let draining = health.is_draining();
    let ready = !draining && !health.storage_failed();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let memory = Memory { used_bytes: memory.used_bytes(), budget_bytes: memory.bytes() };
    (status, Json(Ready { ready, storage, draining, memory }))
}
