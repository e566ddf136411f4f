//! What every handler can reach, and the collector as a whole: opened on a folder, closed when all is
//! counted.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::config::{Config, Site};
use crate::counts::Refusals;
use crate::journal::{Handle, Health, Journal};
use crate::store::{Reader, StoreError};

/// Shared by all handlers.
#[derive(Clone)]
pub struct AppState(Arc<Shared>);

struct Shared {
    config: Config,
    /// By key, as a place in `config.sites`.
    sites: HashMap<String, usize>,
    journal: Journal,
    reader: Reader,
    refusals: Arc<Refusals>,
    health: Arc<Health>,
}

/// A collector at work on its folder.
pub struct Collector {
    state: AppState,
    journal: Handle,
    failed: oneshot::Receiver<()>,
}

impl Collector {
    /// Opens the folder and counts what the journal still holds.
    ///
    /// # Errors
    /// When the folder cannot be used, or holds what this version cannot read.
    pub fn open(config: Config) -> Result<Self, StoreError> {
        let refusals = Arc::new(Refusals::default());
        let health = Arc::new(Health::default());
        let (stopped, failed) = oneshot::channel();
        let (journal, handle) = Journal::start(&config, refusals.clone(), health.clone(), stopped)?;
        let sites = config.sites.iter().enumerate();
        let sites = sites.flat_map(|(at, site)| site.keys.iter().map(move |key| (key.clone(), at))).collect();
        let reader = Reader::new(&config.data);
        let state = AppState(Arc::new(Shared { config, sites, journal, reader, refusals, health }));
        Ok(Self { state, journal: handle, failed })
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
    /// Why the store failed, when it had.
    pub fn close(self) -> Result<(), StoreError> {
        self.journal.stop()
    }
}

impl AppState {
    /// From now on `/readyz` answers 503, so that nobody sends new work here.
    pub fn drain(&self) {
        self.0.health.drain();
    }

    pub(crate) fn config(&self) -> &Config {
        &self.0.config
    }

    pub(crate) fn site(&self, key: &str) -> Option<&Site> {
        self.0.sites.get(key).map(|&at| &self.0.config.sites[at])
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.0.journal
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.0.reader
    }

    pub(crate) fn refusals(&self) -> &Refusals {
        &self.0.refusals
    }

    pub(crate) fn health(&self) -> &Health {
        &self.0.health
    }
}
