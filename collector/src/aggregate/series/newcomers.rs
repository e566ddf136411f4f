//! Which new names get a place among a site's values. A name of one network alone has to prove itself once that network
//! has brought its share: another network sends it too, or it comes back in a later minute.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::report::source::ReportSource;
use crate::time::{day_of, minute_of};

/// When a report arrived, and from where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) received_ms: i64,
    pub(crate) source: ReportSource,
}

/// Values of one dimension that count toward the limit of a site.
#[derive(Default)]
pub(super) struct KnownValues {
    /// Each value, with the network that brought it first. `None` if it is not known, as after a restart.
    values: HashMap<String, Option<u64>>,
    candidates: Candidates,
}

/// Names without a place, the oldest first.
#[derive(Default)]
struct Candidates {
    all: Vec<Candidate>,
    /// Number of candidates by network.
    counts: HashMap<Option<u64>, usize>,
}

/// The first report with a name.
struct Candidate {
    value: String,
    network: Option<u64>,
    minute: i64,
}

impl Arrival {
    pub(super) const fn day(self) -> i64 {
        day_of(self.received_ms)
    }
}

impl KnownValues {
    /// Whether the value has a place, or gets one now. If not, it becomes a candidate.
    pub(super) fn has_room_for(&mut self, value: &str, limit: usize, arrival: Arrival) -> bool {
        if self.values.contains_key(value) {
            return true;
        }
        if self.values.len() >= limit {
            return false;
        }
        let brought = arrival.source.network().map_or(0, |network| self.brought_by(network));
        match arrival.source {
            ReportSource::Operator => true,
            ReportSource::Unnamed => {
                self.values.len() < share(limit, 3, 4) || self.candidates.is_proven(value, arrival)
            }
            ReportSource::Network(_)
                if self.values.len() < share(limit, 1, 2) && brought < share(limit, 1, 4) =>
            {
                true
            }
            ReportSource::Network(_) => {
                self.candidates.is_proven(value, arrival) && brought < share(limit, 1, 2)
            }
        }
    }

    /// Counts a value that a report brings.
    pub(super) fn insert(&mut self, value: &str, network: Option<u64>) {
        if !self.values.contains_key(value) {
            self.values.insert(value.to_owned(), network);
            self.candidates.remove(value);
        }
    }

    /// Counts a value again that was counted in `before`.
    pub(super) fn insert_again(&mut self, value: &str, before: Option<&Self>) {
        let network = before.and_then(|before| before.values.get(value).copied().flatten());
        self.insert(value, network);
    }

    /// Continues with the candidates of `before`.
    pub(super) fn take_candidates(&mut self, before: &mut Self) {
        self.candidates = std::mem::take(&mut before.candidates);
    }

    fn brought_by(&self, network: u64) -> usize {
        self.values.values().filter(|first| **first == Some(network)).count()
    }
}

impl Candidates {
    /// Whether another network or an earlier minute has sent the name too. Otherwise remembers the name.
    fn is_proven(&mut self, value: &str, arrival: Arrival) -> bool {
        let (network, minute) = (arrival.source.network(), minute_of(arrival.received_ms));
        if let Some(known) = self.all.iter().find(|candidate| candidate.value == value) {
            // A sender without a network may be the same one.
            let is_another = known.network.is_some() && network.is_some() && network != known.network;
            return minute > known.minute || is_another;
        }
        if self.all.len() >= MOST_CANDIDATES {
            self.remove_one();
        }
        *self.counts.entry(network).or_default() += 1;
        self.all.push(Candidate { value: value.to_owned(), network, minute });
        false
    }

    /// Removes the oldest candidate of the network that has the most, so that no network displaces those of others.
    fn remove_one(&mut self) {
        let Some((&most, _)) = self.counts.iter().max_by_key(|(_, count)| **count) else { return };
        if let Some(at) = self.all.iter().position(|candidate| candidate.network == most) {
            self.remove_at(at);
        }
    }

    fn remove(&mut self, value: &str) {
        if let Some(at) = self.all.iter().position(|candidate| candidate.value == value) {
            self.remove_at(at);
        }
    }

    fn remove_at(&mut self, at: usize) {
        let Candidate { network, .. } = self.all.remove(at);
        if let Entry::Occupied(mut count) = self.counts.entry(network) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

/// A part of a limit, at least one.
pub(super) const fn share(limit: usize, part: usize, of: usize) -> usize {
    limit.saturating_mul(part).div_ceil(of)
}

/// Per site and dimension.
const MOST_CANDIDATES: usize = 64;
