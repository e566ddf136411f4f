//! Which streams are known, and in which revision: ids come in, goes out whether a report is new, and
//! which open streams have been silent too long. Bounded by count and by age.

use std::collections::{HashMap, VecDeque};

/// A stream's id, 128 random bits.
pub(crate) type StreamId = u128;

/// What is remembered of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) rev: u32,
    /// Of its row in the store.
    pub(crate) place: i64,
    pub(crate) received_ms: i64,
    /// In a window; otherwise open, and waiting for its end or for being settled.
    pub(crate) counted: bool,
    /// In the totals, which never take back.
    pub(crate) totalled: bool,
}

/// The streams of the last while.
pub(crate) struct Seen {
    by_id: HashMap<StreamId, Known>,
    /// Every revision remembered, oldest first. One whose time is not its stream's any more was
    /// followed by a later one.
    order: VecDeque<(i64, StreamId)>,
    /// Every open revision, oldest first; the same holds.
    open: VecDeque<(i64, StreamId)>,
    most: usize,
    keep_ms: i64,
}

impl Seen {
    pub(crate) fn new(most: usize, keep_ms: i64) -> Self {
        Self { by_id: HashMap::new(), order: VecDeque::new(), open: VecDeque::new(), most, keep_ms }
    }

    pub(crate) fn get(&self, id: StreamId) -> Option<Known> {
        self.by_id.get(&id).copied()
    }

    /// Remembers a revision.
    pub(crate) fn put(&mut self, id: StreamId, known: Known) {
        self.by_id.insert(id, known);
        self.order.push_back((known.received_ms, id));
        if !known.counted {
            self.open.push_back((known.received_ms, id));
        }
    }

    /// The stream is in a window now; its revision and its age stay as they are.
    pub(crate) fn mark_counted(&mut self, id: StreamId) {
        if let Some(known) = self.by_id.get_mut(&id) {
            known.counted = true;
            known.totalled = true;
        }
    }

    /// An open stream whose last revision came at or before `before_ms`. It is asked for until
    /// [`mark_counted`](Self::mark_counted).
    pub(crate) fn silent(&mut self, before_ms: i64) -> Option<StreamId> {
        while let Some(&(received_ms, id)) = self.open.front() {
            if self.is_waiting(received_ms, id) {
                return (received_ms <= before_ms).then_some(id);
            }
            self.open.pop_front();
        }
        None
    }

    /// Forgets what is too old or too many, and gives back the stream in front that must be counted
    /// before it can be forgotten.
    pub(crate) fn crowded_out(&mut self, now_ms: i64) -> Option<StreamId> {
        while let Some(&(received_ms, id)) = self.order.front() {
            if self.order.len() <= self.most && received_ms > now_ms - self.keep_ms {
                return None;
            }
            if self.is_waiting(received_ms, id) {
                return Some(id);
            }
            self.order.pop_front();
            if self.by_id.get(&id).is_some_and(|known| known.received_ms == received_ms) {
                self.by_id.remove(&id);
            }
        }
        None
    }

    fn is_waiting(&self, received_ms: i64, id: StreamId) -> bool {
        self.by_id.get(&id).is_some_and(|known| !known.counted && known.received_ms == received_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(received_ms: i64) -> Known {
        Known { rev: 0, place: 0, received_ms, counted: false, totalled: false }
    }

    fn counted(received_ms: i64) -> Known {
        Known { counted: true, totalled: true, ..open(received_ms) }
    }

    #[test]
    fn a_silent_stream_is_asked_for_until_it_is_counted() {
        let mut seen = Seen::new(10, 1_000);
        seen.put(1, open(5));
        assert_eq!(seen.silent(4), None);
        assert_eq!(seen.silent(5), Some(1));
        assert_eq!(seen.silent(5), Some(1));
        seen.mark_counted(1);
        assert_eq!(seen.silent(5), None);
    }

    #[test]
    fn a_later_revision_starts_the_wait_again() {
        let mut seen = Seen::new(10, 1_000);
        seen.put(1, open(5));
        seen.put(1, open(50));
        assert_eq!(seen.silent(49), None);
        assert_eq!(seen.silent(50), Some(1));
    }

    #[test]
    fn old_and_many_are_forgotten() {
        let mut seen = Seen::new(2, 1_000);
        for id in 1..=3 {
            seen.put(id, counted(id as i64));
        }
        assert_eq!(seen.crowded_out(10), None);
        assert_eq!((seen.get(1), seen.get(2).is_some()), (None, true));
        assert_eq!(seen.crowded_out(1_002), None);
        assert_eq!((seen.get(2), seen.get(3).is_some()), (None, true));
    }

    #[test]
    fn an_open_stream_is_counted_before_it_is_forgotten() {
        let mut seen = Seen::new(1, 1_000);
        seen.put(1, open(1));
        seen.put(2, counted(2));
        assert_eq!(seen.crowded_out(3), Some(1));
        seen.mark_counted(1);
        assert_eq!(seen.crowded_out(3), None);
        assert_eq!(seen.get(1), None);
    }

    #[test]
    fn one_stream_with_endless_revisions_does_not_grow_the_memory() {
        let mut seen = Seen::new(100, 1_000_000);
        for received_ms in 0..10_000 {
            seen.put(1, counted(received_ms));
            assert_eq!(seen.crowded_out(received_ms), None);
        }
        assert!(seen.order.len() <= 100);
    }
}
