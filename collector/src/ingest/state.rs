//! The state that requests to the ingest endpoint share.

use std::sync::{Arc, Once};

use crate::config::{Config, Ingest};
use crate::http::counters::RequestCounters;
use crate::http::error::{ApiError, Reason};
use crate::http::fair_share::FairShares;
use crate::http::rate_limit::NetworkRateLimits;
use crate::ingest::body::BodyMemory;
use crate::ingest::geoip::CountryLookup;
use crate::ingest::normalize::Aliases;
use crate::ingest::site::Sites;
use crate::ingest::validate::ValidatedBatch;
use crate::ingest::visit_key::VisitKey;
use crate::journal::Journal;
use crate::journal::batch::Batch;
use crate::journal::health::Health;
use crate::memory::MemoryBudget;
use crate::report::country::Country;
use crate::report::source::ReportSource;
use crate::server_timing::id_hash::IdHash;
use crate::server_timing::matcher::Matcher;

/// Shared by all requests that send beacons.
pub(crate) struct IngestState {
    pub(super) config: Arc<Config>,
    pub(super) sites: Sites,
    pub(super) networks: NetworkRateLimits,
    /// Warns of a proxy on this machine that the configuration does not name.
    pub(super) unnamed_proxy: Once,
    /// Warns that beacons of this machine are refused for their rate.
    pub(super) limited_loopback: Once,
    pub(super) countries: CountryLookup,
    pub(super) room: BodyMemory,
    pub(super) memory: MemoryBudget,
    pub(super) journal: Arc<Journal>,
    /// `None` if no token may send timings of the backend.
    pub(super) matcher: Option<Arc<Matcher>>,
    /// `None` if the ids of responses stay as they are.
    pub(super) id_hash: Option<IdHash>,
    /// Memory for the bodies of such timings.
    pub(super) timings_memory: BodyMemory,
    pub(super) counters: Arc<RequestCounters>,
    pub(super) health: Arc<Health>,
    pub(super) visits: Arc<VisitKey>,
}

impl IngestState {
    pub(crate) fn new(
        config: Arc<Config>,
        countries: CountryLookup,
        journal: Arc<Journal>,
        matcher: Option<Arc<Matcher>>,
        counters: Arc<RequestCounters>,
        health: Arc<Health>,
        visits: Arc<VisitKey>,
    ) -> Self {
        warn_of_nameless_clients(&config.ingest);
        let memory = MemoryBudget::of(&config);
        Self {
            sites: Sites::new(&config.sites, &Arc::new(Aliases::new(&config.models))),
            networks: NetworkRateLimits::new(config.ingest.network_rate),
            unnamed_proxy: Once::new(),
            limited_loopback: Once::new(),
            countries,
            room: BodyMemory::new(&config.ingest, memory),
            memory,
            journal,
            matcher,
            id_hash: config.server.hash_key.as_ref().map(IdHash::new),
            timings_memory: BodyMemory::of_server_timings(),
            counters,
            health,
            visits,
            config,
        }
    }

    /// The shares of each site without a `rate`, by its name.
    pub(crate) fn fair_shares(&self) -> FairShares {
        self.sites.fair_shares()
    }

    /// Refuses a request while the memory budget is used up, before its body is read.
    pub(super) fn check_memory(&self) -> Result<(), ApiError> {
        if self.memory.is_exhausted() {
            let message = "the collector has used up `memory_bytes`; send it again later";
            return Err(ApiError::new(Reason::MemoryLimited, message));
        }
        Ok(())
    }

    /// Enqueues a batch that arrived at an earlier time. The returned future resolves when it is stored.
    pub(crate) fn import(
        &self,
        received_ms: i64,
        country: Option<Country>,
        batch: ValidatedBatch,
    ) -> Result<impl Future<Output = Result<(), ApiError>> + use<'_>, ApiError> {
        let ValidatedBatch { reports, discarded } = batch;
        let written = if reports.is_empty() {
            None
        } else {
            self.counters.received().hand_over();
            let source = ReportSource::Operator;
            Some(self.journal.append(&Batch { received_ms, source, country, reports, discarded })?)
        };
        Ok(async {
            match written {
                Some(written) => written.await,
                None => Ok(()),
            }
        })
    }
}

/// Warns of proxies whose clients cannot be told apart, before the first beacon.
fn warn_of_nameless_clients(limits: &Ingest) {
    if !limits.proxies.is_empty() && limits.client_header.is_none() && !limits.trust_loopback {
        tracing::warn!(
            "`ingest.proxies` names proxies, and `ingest.client_header` is missing: all their clients share one rate. \
             Add the header in which they write their clients' addresses: client_header = \"x-forwarded-for\""
        );
    }
}
