//! State that the handlers of `/v1` share.

use std::sync::Arc;

use crate::api::live_feed::LiveFeeds;
use crate::config::Config;
use crate::http::counters::RequestCounters;
use crate::store::reader_pool::ReaderPool;
use crate::store::rollups::MinutesFrom;
use crate::time::{HOUR_MS, MINUTE_MS};

/// State that the handlers of `/v1` share.
#[derive(Clone)]
pub(crate) struct ApiState {
    pub(crate) config: Arc<Config>,
    pub(crate) reader: Arc<ReaderPool>,
    pub(crate) minutes_from: MinutesFrom,
    pub(crate) live: Arc<LiveFeeds>,
    pub(crate) counters: Arc<RequestCounters>,
}

impl ApiState {
    /// First time with one-minute windows; earlier times have hourly windows only.
    pub(super) fn minutes_from_ms(&self, now_ms: i64) -> i64 {
        let kept_ms = i64::from(self.config.store.windows_hours) * HOUR_MS;
        (now_ms - kept_ms).max(self.minutes_from.get() * MINUTE_MS)
    }
}
