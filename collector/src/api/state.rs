//! State that the handlers of `/v1` share.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::api::live_feed::LiveFeeds;
use crate::api::marker_rates::MarkerRates;
use crate::config::Config;
use crate::engines::EngineStatuses;
use crate::http::counters::RequestCounters;
use crate::http::fair_share::FairShares;
use crate::memory::MemoryBudget;
use crate::slo::alert::{AlertCache, GroupStates};
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::markers::writer::MarkerWriter;
use crate::store::reader_pool::ReaderPool;
use crate::store::rollups::MinutesFrom;
use crate::time::{self, HOUR_MS, MINUTE_MS};

/// State that the handlers of `/v1` share.
#[derive(Clone)]
pub(crate) struct ApiState {
    pub(crate) config: Arc<Config>,
    pub(crate) reader: Arc<ReaderPool>,
    /// Limit of concurrent answers of `/metrics`: each holds the statistics of its series until all are sent.
    pub(crate) scrapes: Arc<Semaphore>,
    pub(crate) minutes_from: MinutesFrom,
    pub(crate) live: Arc<LiveFeeds>,
    pub(crate) counters: Arc<RequestCounters>,
    pub(crate) memory: MemoryBudget,
    /// The alerts of the moment.
    pub(crate) alerts: Arc<AlertCache>,
    pub(crate) markers: Arc<MarkerWriter>,
    pub(crate) marker_rates: Arc<MarkerRates>,
    pub(crate) engines: Arc<EngineStatuses>,
    pub(crate) fair_shares: Arc<FairShares>,
}

/// Limit of concurrent answers of `/metrics`.
pub(crate) const MOST_SCRAPES: usize = 4;

impl ApiState {
    /// The alerts and budgets of every use case of the sites that the filter selects, now.
    pub(crate) fn firing(&self, store: &Backend<'_>, filter: &Filter) -> Result<GroupStates, StoreError> {
        let all = self.alerts.get(store, &self.config, self.minutes_from.get(), time::now_ms())?;
        let selected = all.iter().filter(|([site, _], _)| filter.selects_site(site));
        Ok(selected.map(|(group, state)| (group.clone(), state.clone())).collect())
    }

    /// First time with one-minute windows; earlier times have hourly windows only.
    pub(crate) fn minutes_from_ms(&self, now_ms: i64) -> i64 {
        let kept_ms = i64::from(self.config.store.windows_hours) * HOUR_MS;
        (now_ms - kept_ms).max(self.minutes_from.get() * MINUTE_MS)
    }
}
