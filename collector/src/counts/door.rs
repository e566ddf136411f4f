//! What the front door counts: what becomes of each request comes in from every thread that answers one, goes
//! out what was counted since the last look.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{PREFLIGHT, SAMPLED_OUT};
use crate::error::Reason;

/// What became of a request to the front door, where it did not reach the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DoorResult {
    /// A browser asked whether it may send.
    Preflight,
    /// All its reports lie outside the site's `sample`.
    SampledOut,
    Refused(Reason),
}

impl DoorResult {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Preflight => PREFLIGHT,
            Self::SampledOut => SAMPLED_OUT,
            Self::Refused(reason) => reason.code(),
        }
    }
}

/// Counts of the front door, collected by the thread that owns [`Counts`](super::Counts). What every request
/// counts in takes no lock.
#[derive(Default)]
pub(crate) struct Door {
    received: AtomicU64,
    preflights: AtomicU64,
    sampled_out: AtomicU64,
    sampled_out_reports: AtomicU64,
    refused_connections: AtomicU64,
    refused: Refused,
    /// By site.
    ignored_fields: Mutex<BTreeMap<String, u64>>,
    /// As in [`COUNTRY_FILES`](super::COUNTRY_FILES).
    country_files: [AtomicU64; 2],
}

struct Refused([AtomicU64; Reason::ALL.len()]);

impl Default for Refused {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Door {
    /// Counts a request that came in. What becomes of it is counted too, whatever becomes of it.
    pub(crate) fn received(&self) -> Ticket<'_> {
        self.received.fetch_add(1, Ordering::Relaxed);
        Ticket { door: self, settled: false }
    }

    pub(crate) fn refused(&self, reason: Reason) {
        self.refused.0[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Good reports that lie outside their site's `sample`.
    pub(crate) fn sampled_out(&self, reports: u64) {
        if reports > 0 {
            self.sampled_out_reports.fetch_add(reports, Ordering::Relaxed);
        }
    }

    /// Fields in good reports that this version does not know.
    pub(crate) fn fields_ignored(&self, site: &str, count: u64) {
        if count > 0 {
            let mut by_site = self.ignored_fields.lock().unwrap_or_else(PoisonError::into_inner);
            *by_site.entry(site.to_owned()).or_default() += count;
        }
    }

    /// Its network has its share: it was closed before anything was read.
    pub(crate) fn connection_refused(&self) {
        self.refused_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// A file of countries took the place of the one before: it was read, or could not be.
    pub(crate) fn country_file(&self, read: bool) {
        self.country_files[usize::from(!read)].fetch_add(1, Ordering::Relaxed);
    }

    /// Those since the last call, as in [`COUNTRY_FILES`](super::COUNTRY_FILES).
    pub(crate) fn take_country_files(&self) -> [u64; 2] {
        self.country_files.each_ref().map(|count| count.swap(0, Ordering::Relaxed))
    }

    /// Requests since the last call.
    pub(super) fn take_received(&self) -> u64 {
        self.received.swap(0, Ordering::Relaxed)
    }

    /// Connections since the last call.
    pub(super) fn take_refused_connections(&self) -> u64 {
        self.refused_connections.swap(0, Ordering::Relaxed)
    }

    /// Reports since the last call.
    pub(super) fn take_sampled_out_reports(&self) -> u64 {
        self.sampled_out_reports.swap(0, Ordering::Relaxed)
    }

    /// Those since the last call, by site.
    pub(super) fn take_ignored_fields(&self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.ignored_fields.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Those since the last call.
    pub(super) fn take_results(&self) -> impl Iterator<Item = (DoorResult, u64)> + '_ {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        let refused = Reason::ALL
            .iter()
            .map(move |reason| (DoorResult::Refused(*reason), take(&self.refused.0[*reason as usize])));
        let others = [
            (DoorResult::Preflight, take(&self.preflights)),
            (DoorResult::SampledOut, take(&self.sampled_out)),
        ];
        others.into_iter().chain(refused).filter(|(_, count)| *count > 0)
    }
}

/// A request that has come in and is not counted among the results yet. Dropped so, its sender has
/// gone away in the middle.
pub(crate) struct Ticket<'a> {
    door: &'a Door,
    settled: bool,
}

impl Ticket<'_> {
    pub(crate) fn refuse(mut self, reason: Reason) {
        self.settled = true;
        self.door.refused(reason);
    }

    pub(crate) fn preflight(mut self) {
        self.settled = true;
        self.door.preflights.fetch_add(1, Ordering::Relaxed);
    }

    /// Nothing of it is to be kept.
    pub(crate) fn sampled_out(mut self) {
        self.settled = true;
        self.door.sampled_out.fetch_add(1, Ordering::Relaxed);
    }

    /// The journal has it now, and counts what becomes of it even if nobody waits for the answer.
    pub(crate) fn hand_over(mut self) {
        self.settled = true;
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.door.refused(Reason::SenderGone);
        }
    }
}
