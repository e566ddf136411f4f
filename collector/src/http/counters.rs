//! Lock-free counters of requests, connections and file reloads. Request threads increment them, and the aggregation
//! worker collects them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::http::error::Reason;
use crate::report::accepted::Discarded;

/// Result of a request to the ingest endpoint that did not reach the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestResult {
    /// A browser asked whether it may send.
    Preflight,
    /// All its reports lie outside the site's `sample`.
    SampledOut,
    Refused(Reason),
}

impl RequestResult {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Preflight => PREFLIGHT,
            Self::SampledOut => SAMPLED_OUT,
            Self::Refused(reason) => reason.code(),
        }
    }
}

/// Counts of the front door, collected by the thread that owns
/// [`Counts`](crate::aggregate::internal_metrics::Counts). What every request counts in takes no lock.
#[derive(Default)]
pub(crate) struct RequestCounters {
    received: AtomicU64,
    preflights: AtomicU64,
    sampled_out: AtomicU64,
    refused_connections: AtomicU64,
    refused: Refused,
    /// Of batches that were sampled out, by site.
    discarded: Mutex<BTreeMap<String, Discarded>>,
    /// As in [`COUNTRY_FILES`](crate::aggregate::internal_metrics::COUNTRY_FILES).
    country_files: [AtomicU64; 2],
    refused_listeners: AtomicU64,
}

struct Refused([AtomicU64; Reason::ALL.len()]);

impl Default for Refused {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl RequestCounters {
    /// Counts a request that came in. What becomes of it is counted too, whatever becomes of it.
    pub(crate) fn received(&self) -> RequestTicket<'_> {
        self.received.fetch_add(1, Ordering::Relaxed);
        RequestTicket { counters: self, is_counted: false }
    }

    pub(crate) fn refused(&self, reason: Reason) {
        self.refused.0[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Its network has its share: it was closed before anything was read.
    pub(crate) fn connection_refused(&self) {
        self.refused_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// A file of countries took the place of the one before: it was read, or could not be.
    pub(crate) fn country_file(&self, read: bool) {
        self.country_files[usize::from(!read)].fetch_add(1, Ordering::Relaxed);
    }

    /// As many listen as may.
    pub(crate) fn listener_refused(&self) {
        self.refused_listeners.fetch_add(1, Ordering::Relaxed);
    }

    /// Listeners since the last call.
    pub(crate) fn take_refused_listeners(&self) -> u64 {
        self.refused_listeners.swap(0, Ordering::Relaxed)
    }

    /// Those since the last call, as in [`COUNTRY_FILES`](crate::aggregate::internal_metrics::COUNTRY_FILES).
    pub(crate) fn take_country_files(&self) -> [u64; 2] {
        self.country_files.each_ref().map(|count| count.swap(0, Ordering::Relaxed))
    }

    /// Requests since the last call.
    pub(crate) fn take_received(&self) -> u64 {
        self.received.swap(0, Ordering::Relaxed)
    }

    /// Connections since the last call.
    pub(crate) fn take_refused_connections(&self) -> u64 {
        self.refused_connections.swap(0, Ordering::Relaxed)
    }

    /// Of batches that were sampled out since the last call, by site.
    pub(crate) fn take_discarded(&self) -> BTreeMap<String, Discarded> {
        std::mem::take(&mut self.discarded.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Those since the last call.
    pub(crate) fn take_results(&self) -> impl Iterator<Item = (RequestResult, u64)> + '_ {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        let refused = Reason::ALL
            .iter()
            .map(move |reason| (RequestResult::Refused(*reason), take(&self.refused.0[*reason as usize])));
        let others = [
            (RequestResult::Preflight, take(&self.preflights)),
            (RequestResult::SampledOut, take(&self.sampled_out)),
        ];
        others.into_iter().chain(refused).filter(|(_, count)| *count > 0)
    }
}

/// A request that has come in and is not counted among the results yet. Dropped so, its sender has
/// gone away in the middle.
pub(crate) struct RequestTicket<'a> {
    counters: &'a RequestCounters,
    is_counted: bool,
}

impl RequestTicket<'_> {
    pub(crate) fn refuse(mut self, reason: Reason) {
        self.is_counted = true;
        self.counters.refused(reason);
    }

    pub(crate) fn preflight(mut self) {
        self.is_counted = true;
        self.counters.preflights.fetch_add(1, Ordering::Relaxed);
    }

    /// Nothing of it is to be kept: the journal will not count what was left out.
    pub(crate) fn sampled_out(mut self, site: &str, discarded: Discarded) {
        self.is_counted = true;
        self.counters.sampled_out.fetch_add(1, Ordering::Relaxed);
        let mut by_site = self.counters.discarded.lock().unwrap_or_else(PoisonError::into_inner);
        let all = by_site.entry(site.to_owned()).or_default();
        all.sampled_out += discarded.sampled_out;
        all.ignored_fields += discarded.ignored_fields;
    }

    /// The journal has it now, and counts what becomes of it even if nobody waits for the answer.
    pub(crate) fn hand_over(mut self) {
        self.is_counted = true;
    }
}

impl Drop for RequestTicket<'_> {
    fn drop(&mut self) {
        if !self.is_counted {
            self.counters.refused(Reason::SenderGone);
        }
    }
}

/// The result of a request that only asks whether it may send.
pub(crate) const PREFLIGHT: &str = "preflight";

/// The result of a beacon, and the count of reports, outside the site's `sample`.
pub(crate) const SAMPLED_OUT: &str = "sampled_out";
