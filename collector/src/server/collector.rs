//! A running collector: opens the data folder, starts the threads, and at the end counts everything and
//! closes the folder.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};

use crate::api::live_feed::LiveFeeds;
use crate::api::marker_rates::MarkerRates;
use crate::api::state::{ApiState, MOST_SCRAPES};
use crate::background_thread::Background;
use crate::config::Config;
use crate::engines::{self, EngineStatuses};
use crate::export::otlp;
use crate::http::access_control::AccessControl;
use crate::http::counters::RequestCounters;
use crate::http::probe_files::ProbeVersions;
use crate::ingest::geoip::CountryLookup;
use crate::ingest::state::IngestState;
use crate::ingest::visit_key::VisitKey;
use crate::ingest::visit_key::shared::SharedKeys;
use crate::journal::health::Health;
use crate::memory::{self, MemoryBudget};
use crate::notify;
use crate::server::aggregation_worker::{self, Started, Threads};
use crate::server::site_history;
use crate::server::state::{AppState, Shared};
use crate::store::clickhouse::queries::ClusterTables;
use crate::store::clickhouse::visit_key_table::VisitKeyTable;
use crate::store::error::StoreError;
use crate::store::markers::writer::MarkerWriter;
use crate::store::reader_pool::ReaderPool;
use crate::time;

/// A collector that uses its data folder.
pub struct Collector {
    state: AppState,
    threads: Threads,
    /// Dropped after the threads end, so that it pushes their last numbers.
    exporter: Option<Background>,
    /// Dropped before the threads end, so that they store its last counters.
    notifier: Option<Background>,
    /// Dropped before the threads end, so that they store its last counters.
    countries: Option<Background>,
    /// Destroys the key of visits when its day is over, and shares it in a cluster.
    visit_key: Background,
    /// Dropped before the threads end, so that they store its last counters.
    engines: Vec<Background>,
    site_history: Background,
    failed: oneshot::Receiver<()>,
}

impl Collector {
    /// Opens the folder and counts the batches that the store lacks.
    ///
    /// # Errors
    /// If the folder cannot be used or this version cannot read its files.
    pub fn open(mut config: Config) -> Result<Self, StoreError> {
        config.memory_bytes = config.memory_bytes.or_else(memory::budget_of_system);
        let memory = MemoryBudget::of(&config);
        let counters = Arc::new(RequestCounters::default());
        let health = Arc::new(Health::default());
        // Before the journal is opened: without its GeoIP database a collector does not start.
        let countries = CountryLookup::open(&config.country)?;
        let (stopped, failed) = oneshot::channel();
        let Started { journal, matcher, stream_index, published, minutes_from, threads } =
            aggregation_worker::start(&config, counters.clone(), health.clone(), stopped)
                .map_err(|error| error.of_start(&config.data))?;
        let cluster = config.store.clickhouse.clone();
        let cluster = cluster.map(|clickhouse| Arc::new(ClusterTables::new(&config, clickhouse)));
        let exporter = otlp::start(&config)?;
        let look_every = Duration::from_secs(config.country.look_seconds.into());
        let watch = countries.watch(look_every, &counters).map_err(StoreError::Thread)?;
        let probes = Arc::new(ProbeVersions::open(&config.data));
        let markers = MarkerWriter::new(&config.data, cluster.clone());
        let reader = Arc::new(ReaderPool::new(&config.data, stream_index, cluster, memory));
        let config = Arc::new(config);
        let visits = Arc::new(VisitKey::open(&config.data, time::now_ms()));
        let shared = config.store.clickhouse.clone().map(VisitKeyTable::new);
        let shared = shared.map(|table| Box::new(table) as Box<dyn SharedKeys>);
        let visit_key = visits.watch(shared).map_err(StoreError::Thread)?;
        let (served, seen) = (counters.clone(), health.clone());
        let ingest = IngestState::new(config.clone(), countries, journal, matcher, served, seen, visits);
        let ingest = Arc::new(ingest);
        let api = ApiState {
            config: config.clone(),
            reader,
            scrapes: Arc::new(Semaphore::new(MOST_SCRAPES)),
            minutes_from,
            live: Arc::new(LiveFeeds::default()),
            counters: counters.clone(),
            memory,
            alerts: Arc::default(),
            markers: Arc::new(markers),
            marker_rates: Arc::new(MarkerRates::new(&config)),
            engines: Arc::new(EngineStatuses::new(&config)),
            fair_shares: Arc::new(ingest.fair_shares()),
        };
        let sources = notify::Sources {
            config: config.clone(),
            reader: api.reader.clone(),
            minutes_from: api.minutes_from.clone(),
            alerts: api.alerts.clone(),
            counters: counters.clone(),
        };
        let notifier = notify::start(sources)?;
        let site_history = site_history::start(api.reader.clone(), api.fair_shares.clone())?;
        let engines = engines::start(&config, &api.engines, &counters)?;
        let access = Arc::new(AccessControl::new(config.clone(), counters.clone()));
        let state =
            AppState::new(Shared { config, ingest, api, access, probes, published, counters, health });
        Ok(Self {
            state,
            threads,
            exporter,
            notifier,
            countries: watch,
            visit_key,
            engines,
            site_history,
            failed,
        })
    }

    /// The state that [`app`](crate::app) needs.
    #[must_use]
    pub fn state(&self) -> AppState {
        self.state.clone()
    }

    /// Completes if the store can no longer be read; otherwise never.
    pub async fn failed(&mut self) {
        // No value is ever sent: the sender is dropped when the thread ends.
        let _closed = (&mut self.failed).await;
    }

    /// Counts pending batches and closes the folder. Call it after the last request has ended.
    ///
    /// # Errors
    /// The error that stopped the store. [`StoreError::NotFlushed`] if it rejects the last flush.
    /// [`StoreError::Hangs`] if the disk takes longer than `within`.
    /// Threads then still wait for the disk, and only the end of the process unlocks the folder.
    pub fn close(self, within: Duration) -> Result<(), StoreError> {
        drop(self.countries);
        drop(self.visit_key);
        drop(self.notifier);
        drop(self.engines);
        drop(self.site_history);
        self.threads.stop(within)?;
        drop(self.exporter);
        Ok(())
    }
}
