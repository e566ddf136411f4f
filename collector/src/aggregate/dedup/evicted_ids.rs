//! Ids of ended streams whose entries had to make room for others. A later report of one changes nothing, where it would
//! otherwise count the stream again. They are in memory only.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use crate::report::stream_id::StreamId;

/// Ids with their latest revisions, bounded by count and by age. If there are too many, those of senders with more than
/// an equal share go first.
pub(super) struct EvictedIds {
    most: usize,
    keep_ms: i64,
    latest: HashMap<StreamId, EvictedId>,
    /// Each id at least once. Ids that are asked to go and stay are moved to the end.
    order: VecDeque<StreamId>,
    /// Number of ids of each sender that has any.
    of_sender: HashMap<u32, usize>,
}

#[derive(Clone, Copy)]
pub(super) struct EvictedId {
    pub(super) rev: u32,
    /// A hash of site and network.
    pub(super) sender: u32,
    pub(super) received_ms: i64,
}

impl EvictedIds {
    pub(super) fn new(most: usize, keep_ms: i64) -> Self {
        let (latest, order, of_sender) = Default::default();
        Self { most, keep_ms, latest, order, of_sender }
    }

    pub(super) fn rev(&self, id: StreamId) -> Option<u32> {
        self.latest.get(&id).map(|evicted| evicted.rev)
    }

    /// Adds an id, and removes others beyond the limits. `now_ms`: the latest arrival of any report.
    pub(super) fn add(&mut self, id: StreamId, evicted: EvictedId, now_ms: i64) {
        if self.most == 0 {
            return;
        }
        self.remove(id);
        self.latest.insert(id, evicted);
        self.order.push_back(id);
        *self.of_sender.entry(evicted.sender).or_default() += 1;
        // Together, the senders have no more than their shares, so one turn finds an id beyond a share.
        for _ in 0..self.order.len() {
            let Some(oldest) = self.order.pop_front() else { return };
            let Some(&EvictedId { sender, received_ms, .. }) = self.latest.get(&oldest) else { continue };
            let is_full = self.latest.len() > self.most;
            if received_ms <= now_ms - self.keep_ms || is_full && self.has_more_than_its_share(sender) {
                self.remove(oldest);
            } else if is_full {
                self.order.push_back(oldest);
            } else {
                self.order.push_front(oldest);
                return;
            }
        }
    }

    /// The stream has an entry again.
    pub(super) fn remove(&mut self, id: StreamId) {
        let Some(evicted) = self.latest.remove(&id) else { return };
        if let Entry::Occupied(mut ids) = self.of_sender.entry(evicted.sender) {
            *ids.get_mut() -= 1;
            if *ids.get() == 0 {
                ids.remove();
            }
        }
    }

    fn has_more_than_its_share(&self, sender: u32) -> bool {
        self.of_sender.get(&sender).is_some_and(|ids| ids * self.of_sender.len() > self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evicted_ids_are_bounded_by_age_count_and_share() {
        let mut ids = EvictedIds::new(10, 100);
        let of = |sender, received_ms| EvictedId { rev: 7, sender, received_ms };
        for id in 1..=4 {
            ids.add(id, of(1, 10), 10);
        }
        for id in 100..10_000 {
            ids.add(id, of(2, 20), 20);
            assert!(ids.latest.len() <= 10 && ids.order.len() <= 11);
        }
        assert!((1..=4).all(|id| ids.rev(id) == Some(7)), "of the sender of few");
        assert_eq!((ids.rev(9_999), ids.rev(9_990)), (Some(7), None));
        assert_eq!(ids.of_sender.values().sum::<usize>(), ids.latest.len());
        ids.remove(4);
        assert_eq!(ids.rev(4), None);
        for id in 200..400 {
            ids.add(id, of(3, 115), 115);
        }
        assert_eq!([1, 2, 3].map(|id| ids.rev(id)), [None; 3], "too old");
    }
}
