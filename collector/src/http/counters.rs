//! Lock-free counters of requests, connections and file reloads. Request threads increment them, and the aggregation
//! worker collects them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::config::notify::NotifyKind;
use crate::http::error::Reason;
use crate::http::recent_refusals::RecentRefusals;
use crate::report::accepted::Discarded;

/// Result of a request to the ingest endpoint that did not reach the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestResult {
    /// The CORS preflight of a browser.
    Preflight,
    /// All its reports are outside the site's `sample`.
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

/// What became of a fact of the backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FactResult {
    /// A stream has it.
    Matched,
    /// Its stream had it already, or waited with it already.
    Duplicate,
    /// No stream with its id was reported in time.
    Expired,
    /// It is not valid.
    Refused,
    /// It went to all collectors of the cluster, because no stream here had its id.
    Shared,
    /// Not a result of its own: a stream here got a shared fact.
    Claimed,
}

impl FactResult {
    pub(crate) const ALL: [Self; 6] =
        [Self::Matched, Self::Duplicate, Self::Expired, Self::Refused, Self::Shared, Self::Claimed];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::Duplicate => "duplicate",
            Self::Expired => "expired",
            Self::Refused => "refused",
            Self::Shared => "shared",
            Self::Claimed => "claimed",
        }
    }
}

/// Result of an attempt to deliver a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotificationResult {
    Sent,
    Failed,
    /// The message is not tried again.
    GivenUp,
}

impl NotificationResult {
    pub(crate) const ALL: [Self; 3] = [Self::Sent, Self::Failed, Self::GivenUp];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::GivenUp => "given_up",
        }
    }
}

/// Result of a scrape of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EngineScrapeResult {
    Ok,
    Unreachable,
    TimedOut,
    Status,
    TooLarge,
    Unreadable,
    NotStored,
}

impl EngineScrapeResult {
    pub(crate) const ALL: [Self; 7] = [
        Self::Ok,
        Self::Unreachable,
        Self::TimedOut,
        Self::Status,
        Self::TooLarge,
        Self::Unreadable,
        Self::NotStored,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unreachable => "unreachable",
            Self::TimedOut => "timed_out",
            Self::Status => "status",
            Self::TooLarge => "too_large",
            Self::Unreadable => "unreadable",
            Self::NotStored => "not_stored",
        }
    }
}

/// Limit that ended an answer of `/metrics` before the last series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricsCut {
    /// `limits.metrics_bytes`.
    Bytes,
    /// The time in which the scraper must have read the answer.
    Time,
}

impl MetricsCut {
    pub(crate) const ALL: [Self; 2] = [Self::Bytes, Self::Time];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Time => "time",
        }
    }
}

/// Counters of the ingest endpoint, collected by the thread that owns
/// [`Counts`](crate::aggregate::internal_metrics::Counts). Counters that every request increments take no
/// lock.
#[derive(Default)]
pub(crate) struct RequestCounters {
    received: AtomicU64,
    preflights: AtomicU64,
    sampled_out: AtomicU64,
    refused_connections: AtomicU64,
    refused: ByReason,
    /// Requests for data that were refused access.
    access_refused: ByReason,
    /// Counts of batches that were sampled out, by site.
    discarded: Mutex<BTreeMap<String, Discarded>>,
    /// Index as in [`COUNTRY_FILES`](crate::aggregate::internal_metrics::COUNTRY_FILES).
    country_files: [AtomicU64; 2],
    rejected_listeners: AtomicU64,
    /// Requests other than beacons that were refused for the memory budget.
    memory_limited: AtomicU64,
    facts: [AtomicU64; FactResult::ALL.len()],
    notifications: [[AtomicU64; NotificationResult::ALL.len()]; NotifyKind::ALL.len()],
    engine_scrapes: [AtomicU64; EngineScrapeResult::ALL.len()],
    metrics_cuts: [AtomicU64; MetricsCut::ALL.len()],
    /// Who was refused last.
    pub(crate) recent: RecentRefusals,
}

struct ByReason([AtomicU64; Reason::ALL.len()]);

impl Default for ByReason {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl ByReason {
    fn add(&self, reason: Reason) {
        self.0[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts since the last call.
    fn take(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        Reason::ALL.iter().zip(&self.0).map(|(reason, count)| (*reason, count.swap(0, Ordering::Relaxed)))
    }
}

impl RequestCounters {
    /// Counts a received request. The ticket makes sure that its result is counted as well, whatever it is.
    pub(crate) fn received(&self) -> RequestTicket<'_> {
        self.received.fetch_add(1, Ordering::Relaxed);
        RequestTicket { counters: self, is_counted: false }
    }

    pub(crate) fn refused(&self, reason: Reason) {
        self.refused.add(reason);
    }

    /// Counts a request for data that was refused access.
    pub(crate) fn access_refused(&self, reason: Reason) {
        self.access_refused.add(reason);
    }

    /// Counts a connection that was closed before it was read, because its network had reached its limit.
    pub(crate) fn connection_refused(&self) {
        self.refused_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a new country file, by whether it could be read.
    pub(crate) fn country_file(&self, read: bool) {
        self.country_files[usize::from(!read)].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a live-feed connection that was rejected because the subscriber limit was reached.
    pub(crate) fn listener_rejected(&self) {
        self.rejected_listeners.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request other than a beacon that was refused for the memory budget.
    pub(crate) fn memory_limited(&self) {
        self.memory_limited.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn facts(&self, result: FactResult, count: u64) {
        self.facts[result as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// Facts of the backend since the last call.
    pub(crate) fn take_facts(&self) -> impl Iterator<Item = (FactResult, u64)> + '_ {
        let take = |result| (result, self.facts[result as usize].swap(0, Ordering::Relaxed));
        FactResult::ALL.into_iter().map(take)
    }

    pub(crate) fn notification(&self, kind: NotifyKind, result: NotificationResult) {
        self.notifications[kind as usize][result as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn engine_scrape(&self, result: EngineScrapeResult) {
        self.engine_scrapes[result as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an answer of `/metrics` that a limit ended.
    pub(crate) fn metrics_cut(&self, cut: MetricsCut) {
        self.metrics_cuts[cut as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Such answers since the last call.
    pub(crate) fn take_metrics_cuts(&self) -> impl Iterator<Item = (MetricsCut, u64)> + '_ {
        let take = |cut| (cut, self.metrics_cuts[cut as usize].swap(0, Ordering::Relaxed));
        MetricsCut::ALL.into_iter().map(take)
    }

    /// Scrapes of engines since the last call.
    pub(crate) fn take_engine_scrapes(&self) -> impl Iterator<Item = (EngineScrapeResult, u64)> + '_ {
        let take = |result| (result, self.engine_scrapes[result as usize].swap(0, Ordering::Relaxed));
        EngineScrapeResult::ALL.into_iter().map(take)
    }

    /// Notifications since the last call.
    pub(crate) fn take_notifications(
        &self,
    ) -> impl Iterator<Item = (NotifyKind, NotificationResult, u64)> + '_ {
        let each = |kind| NotificationResult::ALL.map(|result| (kind, result));
        NotifyKind::ALL.into_iter().flat_map(each).map(|(kind, result)| {
            let count = self.notifications[kind as usize][result as usize].swap(0, Ordering::Relaxed);
            (kind, result, count)
        })
    }

    /// Rejected live-feed connections since the last call.
    pub(crate) fn take_rejected_listeners(&self) -> u64 {
        self.rejected_listeners.swap(0, Ordering::Relaxed)
    }

    /// Requests refused for the memory budget since the last call.
    pub(crate) fn take_memory_limited(&self) -> u64 {
        self.memory_limited.swap(0, Ordering::Relaxed)
    }

    /// Country files since the last call, indexed as in
    /// [`COUNTRY_FILES`](crate::aggregate::internal_metrics::COUNTRY_FILES).
    pub(crate) fn take_country_files(&self) -> [u64; 2] {
        self.country_files.each_ref().map(|count| count.swap(0, Ordering::Relaxed))
    }

    /// Received requests since the last call.
    pub(crate) fn take_received(&self) -> u64 {
        self.received.swap(0, Ordering::Relaxed)
    }

    /// Refused connections since the last call.
    pub(crate) fn take_refused_connections(&self) -> u64 {
        self.refused_connections.swap(0, Ordering::Relaxed)
    }

    /// Counts of batches that were sampled out since the last call, by site.
    pub(crate) fn take_discarded(&self) -> BTreeMap<String, Discarded> {
        std::mem::take(&mut self.discarded.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Requests for data that were refused access since the last call, by reason.
    pub(crate) fn take_access_refused(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        self.access_refused.take().filter(|(_, count)| *count > 0)
    }

    /// Results since the last call.
    pub(crate) fn take_results(&self) -> impl Iterator<Item = (RequestResult, u64)> + '_ {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        let refused = self.refused.take().map(|(reason, count)| (RequestResult::Refused(reason), count));
        let others = [
            (RequestResult::Preflight, take(&self.preflights)),
            (RequestResult::SampledOut, take(&self.sampled_out)),
        ];
        others.into_iter().chain(refused).filter(|(_, count)| *count > 0)
    }
}

/// A received request whose result is not counted yet. If it is dropped uncounted, the client has
/// disconnected in the middle of the request.
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

    /// Counts a batch of which no report is stored. It never reaches the journal, so its discarded items are
    /// counted here.
    pub(crate) fn sampled_out(mut self, site: &str, discarded: Discarded) {
        self.is_counted = true;
        self.counters.sampled_out.fetch_add(1, Ordering::Relaxed);
        let mut by_site = self.counters.discarded.lock().unwrap_or_else(PoisonError::into_inner);
        let all = by_site.entry(site.to_owned()).or_default();
        all.sampled_out += discarded.sampled_out;
        all.ignored_fields += discarded.ignored_fields;
    }

    /// The journal has the batch, and counts its result even if the client no longer waits for the response.
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

/// Result of a CORS preflight.
pub(crate) const PREFLIGHT: &str = "preflight";

/// Result of a beacon whose reports are all outside the site's `sample`, and name of the count of such
/// reports.
pub(crate) const SAMPLED_OUT: &str = "sampled_out";
