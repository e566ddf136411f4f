//! What every handler can reach, and the collector as a whole: opened on a folder, closed when all is
//! counted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::api::live_feed::Live;
use crate::background_thread::Background;
use crate::config::{Config, Site};
use crate::export::otlp;
use crate::http::counters::Door;
use crate::http::probe_files::Probes;
use crate::http::rate_limit::{NetworkPaces, SitePace};
use crate::ingest::body::Room;
use crate::ingest::geoip::Countries;
use crate::ingest::normalize::Aliases;
use crate::journal::{Health, Journal};
use crate::server::aggregation_worker::{self, Started, Threads};
use crate::store::{MinutesFrom, Published, Reader, StoreError, Tables};
use crate::time::{HOUR_MS, MINUTE_MS};

/// Shared by all handlers.
#[derive(Clone)]
pub struct AppState(Arc<Shared>);

struct Shared {
    config: Config,
    /// By key, as a place in `sites`.
    keys: HashMap<String, usize>,
    sites: Vec<OpenSite>,
    networks: NetworkPaces,
    countries: Countries,
    room: Room,
    journal: Arc<Journal>,
    reader: Reader,
    published: Option<Published>,
    minutes_from: MinutesFrom,
    door: Arc<Door>,
    health: Arc<Health>,
    probes: Probes,
    live: Live,
}

/// A site that beacons come for.
pub(crate) struct OpenSite {
    pub(crate) site: Site,
    pub(crate) aliases: Arc<Aliases>,
    /// `None` where any rate is welcome.
    pub(crate) pace: Option<SitePace>,
}

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
        let door = Arc::new(Door::default());
        let health = Arc::new(Health::default());
        // Before the journal is touched: without its file a collector does not start.
        let countries = Countries::open(&config.country)?;
        let (stopped, failed) = oneshot::channel();
        let Started { journal, listing, published, minutes_from, threads } =
            aggregation_worker::start(&config, door.clone(), health.clone(), stopped)?;
        let cluster = config.store.clickhouse.clone();
        let cluster = cluster.map(|clickhouse| Tables::new(&config, clickhouse));
        let exporter = otlp::start(&config)?;
        let look_every = Duration::from_secs(config.country.look_seconds.into());
        let watch = countries.watch(look_every, &door).map_err(StoreError::Thread)?;
        let aliases = Arc::new(Aliases::new(&config.models));
        let shared = Shared {
            keys: by_key(&config.sites),
            sites: config.sites.iter().map(|site| OpenSite::new(site, &aliases)).collect(),
            networks: NetworkPaces::new(config.ingest.network_rate),
            countries,
            room: Room::new(&config.ingest),
            published,
            minutes_from,
            reader: Reader::new(&config.data, listing, cluster),
            probes: Probes::open(&config.data),
            live: Live::default(),
            config,
            journal,
            door,
            health,
        };
        let state = AppState(Arc::new(shared));
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

impl AppState {
    /// From now on `/readyz` answers 503, so that nobody sends new work here. All else goes on.
    pub fn give_notice(&self) {
        self.0.health.drain();
    }

    /// The same, and whoever listens to `/v1/live` is told its end.
    pub fn drain(&self) {
        self.give_notice();
        self.0.live.close();
    }

    pub(crate) fn config(&self) -> &Config {
        &self.0.config
    }

    pub(crate) fn site(&self, key: &str) -> Option<&OpenSite> {
        self.0.keys.get(key).map(|&at| &self.0.sites[at])
    }

    pub(crate) fn probes(&self) -> &Probes {
        &self.0.probes
    }

    pub(crate) fn live(&self) -> &Live {
        &self.0.live
    }

    pub(crate) fn networks(&self) -> &NetworkPaces {
        &self.0.networks
    }

    pub(crate) fn countries(&self) -> &Countries {
        &self.0.countries
    }

    pub(crate) fn room(&self) -> &Room {
        &self.0.room
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.0.journal
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.0.reader
    }

    /// `None` where this collector is alone.
    pub(crate) fn published(&self) -> Option<&Published> {
        self.0.published.as_ref()
    }

    /// Since when windows of a minute are known, and not hours alone.
    pub(crate) fn minutes_from_ms(&self, now_ms: i64) -> i64 {
        let kept_ms = i64::from(self.config().store.windows_hours) * HOUR_MS;
        (now_ms - kept_ms).max(self.0.minutes_from.get() * MINUTE_MS)
    }

    pub(crate) fn door(&self) -> &Door {
        &self.0.door
    }

    pub(crate) fn health(&self) -> &Health {
        &self.0.health
    }
}

impl OpenSite {
    pub(crate) fn new(site: &Site, aliases: &Arc<Aliases>) -> Self {
        Self { site: site.clone(), aliases: aliases.clone(), pace: site.rate.map(SitePace::new) }
    }
}

fn by_key(sites: &[Site]) -> HashMap<String, usize> {
    let places = sites.iter().enumerate();
    places.flat_map(|(at, site)| site.keys.iter().map(move |key| (key.clone(), at))).collect()
}
