//! The state that all handlers share. The handlers of each layer extract their own part of it.

use std::sync::Arc;

use axum::extract::FromRef;

use crate::api::state::ApiState;
use crate::config::Config;
use crate::http::access_control::AccessControl;
use crate::http::counters::RequestCounters;
use crate::http::probe_files::ProbeVersions;
use crate::ingest::state::IngestState;
use crate::journal::health::Health;
use crate::store::clickhouse::publisher::PublishStatus;

/// State that all handlers share.
#[derive(Clone)]
pub struct AppState(Arc<Shared>);

/// The shared fields.
pub(super) struct Shared {
    pub(super) config: Arc<Config>,
    pub(super) ingest: Arc<IngestState>,
    pub(super) api: ApiState,
    pub(super) access: Arc<AccessControl>,
    pub(super) probes: Arc<ProbeVersions>,
    /// `None` if this collector runs alone.
    pub(super) published: Option<PublishStatus>,
    pub(super) counters: Arc<RequestCounters>,
    pub(super) health: Arc<Health>,
}

impl AppState {
    pub(super) fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    /// Makes `/readyz` return 503, so that load balancers send no new requests. All other routes continue.
    pub fn give_notice(&self) {
        self.0.health.drain();
    }

    /// Does the same, and ends the subscriptions of `/v1/live`.
    pub fn drain(&self) {
        self.give_notice();
        self.0.api.live.close();
    }

    pub(super) fn config(&self) -> &Config {
        &self.0.config
    }

    pub(crate) fn ingest(&self) -> &IngestState {
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

impl FromRef<AppState> for Arc<IngestState> {
    fn from_ref(state: &AppState) -> Self {
        state.0.ingest.clone()
    }
}

impl FromRef<AppState> for Arc<AccessControl> {
    fn from_ref(state: &AppState) -> Self {
        state.0.access.clone()
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
