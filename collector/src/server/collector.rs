//! A running collector: opens the data folder and starts the threads, counts everything and closes the folder.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::api::live_feed::LiveFeeds;
use crate::api::state::ApiState;
use crate::background_thread::Background;
use crate::config::Config;
use crate::export::otlp;
use crate::http::counters::RequestCounters;
use crate::http::probe_files::ProbeVersions;
use crate::ingest::geoip::CountryLookup;
use crate::ingest::state::IngestState;
use crate::journal::health::Health;
use crate::server::aggregation_worker::{self, Started, Threads};
use crate::server::state::{AppState, Shared};
use crate::store::clickhouse::queries::ClusterTables;
use crate::store::error::StoreError;
use crate::store::reader_pool::ReaderPool;

/// A collector at work on its folder.
pub struct Collector {
    state: AppState,
    threads: Threads,
    /// Ends after the threads: it pushes what they counted last.
    exporter: Option<Background>,
    /// Ends before the threads: they count what it read.
    countries: Option<Background>,
    failed: oneshot::Receiver<()>,
}

impl Collector {
    /// Opens the folder and counts what the journal still holds.
    ///
    /// # Errors
    /// When the folder cannot be used, or holds what this version cannot read.
    pub fn open(config: Config) -> Result<Self, StoreError> {
        let counters = Arc::new(RequestCounters::default());
        let health = Arc::new(Health::default());
        // Before the journal is touched: without its file a collector does not start.
        let countries = CountryLookup::open(&config.country)?;
        let (stopped, failed) = oneshot::channel();
        let Started { journal, stream_index, published, minutes_from, threads } =
            aggregation_worker::start(&config, counters.clone(), health.clone(), stopped)?;
        let cluster = config.store.clickhouse.clone();
        let cluster = cluster.map(|clickhouse| ClusterTables::new(&config, clickhouse));
        let exporter = otlp::start(&config)?;
        let look_every = Duration::from_secs(config.country.look_seconds.into());
        let watch = countries.watch(look_every, &counters).map_err(StoreError::Thread)?;
        let probes = Arc::new(ProbeVersions::open(&config.data));
        let reader = Arc::new(ReaderPool::new(&config.data, stream_index, cluster));
        let config = Arc::new(config);
        let ingest = IngestState::new(config.clone(), countries, journal, counters.clone(), health.clone());
        let api = ApiState {
            config: config.clone(),
            reader,
            minutes_from,
            live: Arc::new(LiveFeeds::default()),
            counters: counters.clone(),
        };
        let state = AppState::new(Shared { config, ingest, api, probes, published, counters, health });
        Ok(Self { state, threads, exporter, countries: watch, failed })
    }

    /// What [`app`](crate::app) needs.
    #[must_use]
    pub fn state(&self) -> AppState {
        self.state.clone()
    }

    /// Returns when the store has failed for good: it could not be read. Otherwise never.
    pub async fn failed(&mut self) {
        // Nothing is ever sent: the other end goes when the thread does.
        let _closed = (&mut self.failed).await;
    }

    /// Counts what waits and closes the folder. Call it when no request is running any more.
    ///
    /// # Errors
    /// Why the store failed, when it had; [`StoreError::Hangs`] when the disk takes longer than `within`:
    /// then threads of it still wait for the disk, and only the end of the process gives the folder back.
    pub fn close(self, within: Duration) -> Result<(), StoreError> {
        drop(self.countries);
        self.threads.stop(within)?;
        drop(self.exporter);
        Ok(())
    }
}
