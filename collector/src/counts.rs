//! Counts beside the windows: what became of beacons and reports, which bounds sites ran into, what
//! probes had to drop. Kept in the store, so that they rise over restarts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use beacon::Dropped;

use crate::error::Reason;
use crate::series::Overflow;

/// What became of an accepted report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handled {
    /// The first of its stream.
    New,
    /// It took the place of an earlier revision.
    Revised,
    /// This revision is known.
    Duplicate,
    /// A later revision is known.
    Stale,
    /// Later than the earlier revision was kept for: it cannot be replaced, and stays.
    Late,
    /// The journal held bytes that are no report.
    Unreadable,
}

impl Handled {
    const ALL: [Self; 6] =
        [Self::New, Self::Revised, Self::Duplicate, Self::Stale, Self::Late, Self::Unreadable];

    const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Revised => "revised",
            Self::Duplicate => "duplicate",
            Self::Stale => "stale",
            Self::Late => "late",
            Self::Unreadable => "unreadable",
        }
    }

    /// Whether the report is to be kept.
    pub(crate) const fn changes_state(self) -> bool {
        matches!(self, Self::New | Self::Revised)
    }
}

/// A family of counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Requests to the front door, by result.
    Beacon,
    /// Accepted reports, by what became of them.
    Report,
    /// Streams that counted as `other`, by site and label.
    Overflow,
    /// What probes had to drop, by reason.
    Dropped,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Beacon, Self::Report, Self::Overflow, Self::Dropped];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Beacon => "beacon",
            Self::Report => "report",
            Self::Overflow => "overflow",
            Self::Dropped => "dropped",
        }
    }
}

/// Name of one count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountKey {
    pub(crate) kind: Kind,
    /// Empty where the count is not by site.
    pub(crate) site: String,
    pub(crate) word: String,
}

/// All counts since ever.
#[derive(Default)]
pub(crate) struct Counts {
    all: BTreeMap<CountKey, u64>,
    stored: BTreeMap<CountKey, u64>,
    /// Counted since `all` was last brought up to date: what every single report counts in.
    handled: [u64; Handled::ALL.len()],
}

impl Counts {
    /// The counts that the store has.
    pub(crate) fn new(stored: BTreeMap<CountKey, u64>) -> Self {
        Self { all: stored.clone(), stored, handled: Default::default() }
    }

    pub(crate) fn accepted_beacons(&mut self, count: u64) {
        self.add(Kind::Beacon, "", ACCEPTED, count);
    }

    pub(crate) fn refused_beacons(&mut self, reason: Reason, count: u64) {
        self.add(Kind::Beacon, "", reason.code(), count);
    }

    pub(crate) fn handled(&mut self, handled: Handled) {
        self.handled[handled as usize] += 1;
    }

    pub(crate) fn overflow(&mut self, site: &str, overflow: Overflow) {
        self.add(Kind::Overflow, site, overflow.as_str(), 1);
    }

    /// What a probe says it had to drop since its last report arrived.
    pub(crate) fn dropped(&mut self, dropped: Option<&Dropped>) {
        let Some(dropped) = dropped else { return };
        for (word, count) in [
            ("queue_full", dropped.queue_full),
            ("send_failed", dropped.send_failed),
            ("refused", dropped.refused),
            ("early", dropped.early),
        ] {
            self.add(Kind::Dropped, "", word, u64::from(count));
        }
    }

    /// What was counted, in the order of kind, site and word.
    pub(crate) fn iter(&self, kind: Kind) -> impl Iterator<Item = (&CountKey, u64)> {
        self.all.iter().filter(move |(key, _)| key.kind == kind).map(|(key, count)| (key, *count))
    }

    /// Counts that the store has otherwise or not at all.
    pub(crate) fn unstored(&mut self) -> Vec<(&CountKey, u64)> {
        for handled in Handled::ALL {
            let count = std::mem::take(&mut self.handled[handled as usize]);
            self.add(Kind::Report, "", handled.as_str(), count);
        }
        let changed = |(key, count): &(&CountKey, &u64)| self.stored.get(key) != Some(*count);
        self.all.iter().filter(changed).map(|(key, count)| (key, *count)).collect()
    }

    pub(crate) fn mark_stored(&mut self) {
        self.stored.clone_from(&self.all);
    }

    fn add(&mut self, kind: Kind, site: &str, word: &str, count: u64) {
        if count > 0 {
            let key = CountKey { kind, site: site.to_owned(), word: word.to_owned() };
            *self.all.entry(key).or_default() += count;
        }
    }
}

/// Refusals at the front door, counted by whoever refuses, collected by the thread that owns
/// [`Counts`].
pub(crate) struct Refusals([AtomicU64; Reason::ALL.len()]);

impl Refusals {
    pub(crate) fn count(&self, reason: Reason) {
        self.0[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Those since the last call.
    pub(crate) fn take(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        let taken =
            Reason::ALL.iter().map(|reason| (*reason, self.0[*reason as usize].swap(0, Ordering::Relaxed)));
        taken.filter(|(_, count)| *count > 0)
    }
}

impl Default for Refusals {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

/// The result of a beacon that was not refused.
pub(crate) const ACCEPTED: &str = "accepted";
