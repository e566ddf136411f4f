//! The state that all handlers share. Each layer's handlers extract their own part of it.

use std::sync::Arc;

use axum::extract::FromRef;

use crate::api::state::ApiState;
use crate::config::Config;
use crate::http::counters::RequestCounters;
use crate::http::probe_files::ProbeVersions;
use crate::ingest::state::IngestState;
use crate::journal::health::Health;
use crate::store::clickhouse::publisher::PublishStatus;

/// Shared by all handlers.
#[derive(Clone)]
pub struct AppState(Arc<Shared>);

/// Everything in it.
pub(super) struct Shared {
    pub(super) config: Arc<Config>,
    pub(super) ingest: IngestState,
    pub(super) api: ApiState,
    pub(super) probes: Arc<ProbeVersions>,
    /// `None` where this collector is alone.
    pub(super) published: Option<PublishStatus>,
    pub(super) counters: Arc<RequestCounters>,
    pub(super) health: Arc<Health>,
}

impl AppState {
    pub(super) fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    /// From now on `/readyz` answers 503, so that load balancers send no new work here. All else goes on.
    pub fn give_notice(&self) {
        self.0.health.drain();
    }

    /// The same, and the listeners of `/v1/live` are told the end.
    pub fn drain(&self) {
        self.give_notice();
        self.0.api.live.close();
    }

    pub(super) fn config(&self) -> &Config {
        &self.0.config
    }

    pub(super) fn ingest(&self) -> &IngestState {
        &self.0.ingest
    }

    pub(super) fn counters(&self) -> &RequestCounters {
        &self.0.counters
    }
}

impl FromRef<AppState> for ApiState {
    fn from_ref(state: &AppState) -> Self {
        state.0.api.clone()
    }
}

impl FromRef<AppState> for Arc<Config> {
    fn from_ref(state: &AppState) -> Self {
        state.0.config.clone()
    }
}

impl FromRef<AppState> for Arc<Health> {
    fn from_ref(state: &AppState) -> Self {
        state.0.health.clone()
    }
}

impl FromRef<AppState> for Arc<ProbeVersions> {
    fn from_ref(state: &AppState) -> Self {
        state.0.probes.clone()
    }
}

impl FromRef<AppState> for Option<PublishStatus> {
    fn from_ref(state: &AppState) -> Self {
        state.0.published.clone()
    }
}
