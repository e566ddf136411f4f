//! What is remembered of single streams, newest last: revisions come in, goes out whether a report is
//! new, which open streams have been silent too long, and which are the latest. Bounded by count and age.

mod ring_buffer;

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

use beacon::Outcome;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::aggregate::series::SeriesId;
use crate::journal::segments::At;
use crate::report::stream_id::StreamId;
use ring_buffer::Row;

/// Number of a revision, in order of arrival.
pub(crate) type SeqNo = u64;

/// One revision of one stream, as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    pub(crate) rev: u32,
    pub(crate) outcome: Outcome,
    pub(crate) series: SeriesId,
    /// Where it is counted. `None` while it is open and waits for its end or for being settled.
    pub(crate) counted: Option<Counted>,
    /// In the totals, which never take back.
    pub(crate) totalled: bool,
    /// A later revision took its place.
    pub(crate) superseded: bool,
    pub(crate) received_ms: i64,
    /// Where its report stands in the journal.
    pub(crate) at: At,
}

impl Stream {
    /// Another collector has a later revision, and counts it; what was here is taken back. It stays to tell
    /// what comes late from what is new.
    pub(crate) const fn is_elsewhere(&self) -> bool {
        self.at.len == 0
    }

    /// It is what its stream is listed as.
    const fn stands(&self) -> bool {
        !self.superseded && !self.is_elsewhere()
    }
}

/// Where and how a stream is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Of so many streams are hundreds of thousands in memory: 32 bits last for four thousand years.
    pub(crate) minute: i32,
    /// It met the targets of that time.
    pub(crate) good: bool,
}

/// How much is remembered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// Most revisions for telling what is known.
    pub(crate) most: usize,
    /// Longest time for that.
    pub(crate) keep_ms: i64,
    /// So many streams stay, however old their latest revisions are.
    pub(crate) listed: usize,
}

/// The streams of the last while.
pub(crate) struct Streams {
    memory: Memory,
    /// Every revision remembered, oldest first.
    revisions: Row<Stream>,
    /// Of the first of them.
    first: SeqNo,
    /// How many of them stand.
    standing: usize,
    /// The latest revision of each stream, by the hash of its id. The id itself stands in `revisions`:
    /// hundreds of thousands twice would be a third of all that the collector holds.
    by_id: HashTable<SeqNo>,
    hasher: RandomState,
    /// Every open revision, oldest first, and some that are no longer.
    open: VecDeque<SeqNo>,
}

impl Streams {
    /// What the store remembers, in order of places; what is missing between them was superseded.
    pub(crate) fn new(memory: Memory, stored: impl IntoIterator<Item = (SeqNo, Stream)>) -> Self {
        let mut streams = Self {
            memory,
            revisions: Row::new(),
            first: 0,
            standing: 0,
            by_id: HashTable::new(),
            hasher: RandomState::new(),
            open: VecDeque::new(),
        };
        for (place, stream) in stored {
            if streams.revisions.len() == 0 {
                streams.first = place;
            }
            while streams.next() < place {
                streams.revisions.push_back(Stream { superseded: true, ..stream });
            }
            streams.put(stream);
        }
        streams
    }

    /// Place of the next revision.
    pub(crate) fn next(&self) -> SeqNo {
        self.first + self.revisions.len() as SeqNo
    }

    /// Place of the oldest revision remembered.
    pub(crate) const fn first(&self) -> SeqNo {
        self.first
    }

    /// Position in the journal from which on reports may be asked for. `None` when nothing is remembered.
    pub(crate) fn needs_from(&self) -> Option<u64> {
        self.revisions.get(0).map(|oldest| oldest.at.position)
    }

    pub(crate) fn get(&self, id: StreamId) -> Option<(SeqNo, Stream)> {
        let same = |place: &SeqNo| self.at(*place).is_some_and(|stream| stream.id == id);
        let place = *self.by_id.find(self.hasher.hash_one(id), same)?;
        self.at(place).map(|stream| (place, stream))
    }

    pub(crate) fn at(&self, place: SeqNo) -> Option<Stream> {
        self.revisions.get(self.index(place)?).copied()
    }

    /// Revisions from `place` on.
    pub(crate) fn from(&self, place: SeqNo) -> impl Iterator<Item = (SeqNo, &Stream)> + Clone {
        let skipped = self.index(place).unwrap_or(0);
        (self.first + skipped as SeqNo..).zip(self.revisions.from(skipped))
    }

    /// Remembers a revision, which takes the place of an earlier one.
    pub(crate) fn put(&mut self, stream: Stream) {
        let place = self.next();
        let Self { by_id, hasher, revisions, first, standing, open, .. } = self;
        let id_at = |place: SeqNo| revisions[(place - *first) as usize].id;
        let hash = hasher.hash_one(stream.id);
        let rehash = |place: &SeqNo| hasher.hash_one(id_at(*place));
        match by_id.entry(hash, |place| id_at(*place) == stream.id, rehash) {
            Entry::Vacant(free) => drop(free.insert(place)),
            Entry::Occupied(mut held) => {
                let before = std::mem::replace(held.get_mut(), place);
                let before = &mut revisions[(before - *first) as usize];
                *standing -= usize::from(before.stands());
                before.superseded = true;
            }
        }
        if stream.counted.is_none() {
            open.push_back(place);
        }
        *standing += usize::from(stream.stands());
        revisions.push_back(stream);
    }

    /// The revision is in a window now, or cannot be.
    pub(crate) fn settle(&mut self, place: SeqNo, counted: Counted) {
        if let Some(stream) = self.index(place).and_then(|index| self.revisions.get_mut(index)) {
            stream.counted = Some(counted);
            stream.totalled = true;
        }
    }

    /// An open stream whose last revision came at least `after_ms` ago, or at a time that is yet to come. It is
    /// asked for until [`settle`](Self::settle).
    pub(crate) fn silent(&mut self, now_ms: i64, after_ms: i64) -> Option<SeqNo> {
        while let Some(&place) = self.open.front() {
            if let Some(stream) = self.waiting(place) {
                let silent_ms = now_ms.saturating_sub(stream.received_ms);
                // After a clock was set back nobody knows how long it has been silent, and all behind it wait.
                return (silent_ms >= after_ms || silent_ms < -OUT_OF_ORDER_MS).then_some(place);
            }
            self.open.pop_front();
        }
        None
    }

    /// Forgets what is too old or too many, and gives back the stream in front that must be counted
    /// before it can be forgotten.
    pub(crate) fn crowded_out(&mut self, now_ms: i64) -> Option<SeqNo> {
        while let Some(&oldest) = self.revisions.get(0) {
            let Memory { most, keep_ms, listed } = self.memory;
            let held = self.revisions.len();
            let is_listed =
                oldest.stands() && self.standing <= listed && held <= listed.saturating_mul(MOST_REVISIONS);
            if is_listed || held <= listed || held <= most && oldest.received_ms > now_ms - keep_ms {
                return None;
            }
            if self.waiting(self.first).is_some() {
                return Some(self.first);
            }
            let hash = self.hasher.hash_one(oldest.id);
            if let Ok(latest) = self.by_id.find_entry(hash, |place| *place == self.first) {
                latest.remove();
            }
            self.standing -= usize::from(oldest.stands());
            self.revisions.pop_front();
            self.first += 1;
        }
        None
    }

    /// Open streams, oldest first.
    pub(crate) fn open(&self) -> impl Iterator<Item = Stream> + '_ {
        self.open.iter().filter_map(|&place| self.waiting(place))
    }

    /// Revisions that arrived after `since_ms` and no later than `now_ms`, those that another took the place of
    /// among them.
    pub(crate) fn arrived(&self, since_ms: i64, now_ms: i64) -> impl Iterator<Item = &Stream> {
        let newest = self.revisions.from(0).rev();
        let recent = newest.take_while(move |stream| stream.received_ms > since_ms - OUT_OF_ORDER_MS);
        recent.filter(move |stream| stream.received_ms > since_ms && stream.received_ms <= now_ms)
    }

    /// All that arrived after this is remembered. `None` while nothing has been forgotten.
    pub(crate) fn complete_since_ms(&self) -> Option<i64> {
        self.revisions.get(0).filter(|_| self.first > 0).map(|oldest| oldest.received_ms)
    }

    /// The latest revisions before `before` of the streams that are listed, newest first.
    pub(crate) fn newest(&self, before: SeqNo) -> impl Iterator<Item = (SeqNo, &Stream)> {
        let all = (self.first..self.next()).rev().zip(self.revisions.from(0).rev());
        let standing = all.filter(|(_, stream)| stream.stands());
        standing.take(self.memory.listed).skip_while(move |(place, _)| *place >= before)
    }

    fn index(&self, place: SeqNo) -> Option<usize> {
        usize::try_from(place.checked_sub(self.first)?).ok()
    }

    fn waiting(&self, place: SeqNo) -> Option<Stream> {
        self.at(place).filter(|stream| stream.counted.is_none() && !stream.superseded)
    }
}

/// Revisions are in the order in which the journal took them, and batches may wait for it for so long.
const OUT_OF_ORDER_MS: i64 = 60_000;

/// Those that another took the place of lie between those that are listed, and their reports in the journal. One
/// stream may have any number: so many of each, on an average, do not shorten the list.
const MOST_REVISIONS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Memory = Memory { most: 2, keep_ms: 1_000, listed: 0 };
    const COUNTED: Counted = Counted { minute: 0, good: true };

    fn open(id: StreamId, received_ms: i64) -> Stream {
        Stream {
            id,
            rev: 0,
            outcome: Outcome::Abandoned,
            series: 0,
            counted: None,
            totalled: false,
            superseded: false,
            received_ms,
            at: At { position: 0, len: 1 },
        }
    }

    fn counted(id: StreamId, received_ms: i64) -> Stream {
        Stream { counted: Some(COUNTED), totalled: true, ..open(id, received_ms) }
    }

    fn with(memory: Memory, all: impl IntoIterator<Item = Stream>) -> Streams {
        let mut streams = Streams::new(memory, []);
        all.into_iter().for_each(|stream| streams.put(stream));
        streams
    }

    fn known(streams: &Streams) -> Vec<StreamId> {
        (1..=4).filter(|id| streams.get(*id).is_some()).collect()
    }

    #[test]
    fn an_idle_stream_is_returned_until_it_is_counted() {
        let mut streams = with(MEMORY, [open(1, 5)]);
        assert_eq!(streams.silent(14, 10), None);
        assert_eq!(streams.silent(15, 10), Some(0));
        assert_eq!(streams.silent(15, 10), Some(0));
        streams.settle(0, COUNTED);
        assert_eq!(streams.silent(15, 10), None);
        assert_eq!(streams.open().count(), 0);
    }

    #[test]
    fn a_later_revision_starts_the_wait_again() {
        let mut streams = with(MEMORY, [open(1, 5), open(1, 50)]);
        assert_eq!(streams.open().count(), 1);
        assert_eq!(streams.silent(59, 10), None);
        assert_eq!(streams.silent(60, 10), Some(1));
    }

    #[test]
    fn a_clock_that_is_set_back_holds_up_nothing_that_came_after() {
        let hour_ms = 3_600_000;
        let mut streams = with(MEMORY, [open(1, hour_ms), open(2, 0)]);
        assert_eq!(streams.silent(hour_ms - OUT_OF_ORDER_MS, 10), None, "batches come out of order");
        assert_eq!(streams.silent(5, 10), Some(0));
        streams.settle(0, COUNTED);
        assert_eq!(streams.silent(9, 10), None);
        assert_eq!(streams.silent(10, 10), Some(1));
    }

    #[test]
    fn old_and_many_are_forgotten() {
        let mut streams = with(MEMORY, (1..=3).map(|id| counted(id, id as i64)));
        assert_eq!(streams.crowded_out(10), None);
        assert_eq!(known(&streams), [2, 3]);
        assert_eq!(streams.crowded_out(1_002), None);
        assert_eq!(known(&streams), [3]);
    }

    #[test]
    fn streams_beyond_the_age_limit_are_not_listed() {
        let mut streams = with(Memory { listed: 1, ..MEMORY }, (1..=3).map(|id| counted(id, id as i64)));
        assert_eq!(streams.crowded_out(1_000_000), None);
        assert_eq!(known(&streams), [3]);
    }

    #[test]
    fn a_stream_of_several_revisions_is_listed_as_one() {
        let memory = Memory { most: 0, listed: 3, ..MEMORY };
        let mut streams = with(memory, (1..=4).flat_map(|id| (0..3).map(move |_| counted(id, id as i64))));
        assert_eq!(streams.crowded_out(1_000_000), None);
        assert_eq!(known(&streams), [2, 3, 4]);
        assert_eq!(streams.newest(SeqNo::MAX).count(), 3);
        // What another collector counts is not listed here, and takes no place.
        streams.put(Stream { at: At { position: 0, len: 0 }, ..counted(3, 5) });
        streams.put(counted(1, 6));
        assert_eq!(streams.crowded_out(1_000_000), None);
        let listed: Vec<_> = streams.newest(SeqNo::MAX).map(|(_, stream)| stream.id).collect();
        assert_eq!(listed, [1, 4, 2]);
    }

    #[test]
    fn listed_revisions_of_one_stream_stay_bounded() {
        let memory = Memory { most: 0, listed: 5, ..MEMORY };
        let mut streams = with(memory, [counted(1, 0)]);
        for received_ms in 0..1_000 {
            streams.put(counted(2, received_ms));
            assert_eq!(streams.crowded_out(received_ms), None);
            assert!(streams.revisions.len() <= 5 * MOST_REVISIONS);
        }
        assert_eq!(streams.standing, streams.newest(SeqNo::MAX).count());
    }

    #[test]
    fn an_open_stream_is_counted_before_it_is_forgotten() {
        let mut streams = with(Memory { most: 1, ..MEMORY }, [open(1, 1), counted(2, 2)]);
        assert_eq!(streams.crowded_out(3), Some(0));
        streams.settle(0, COUNTED);
        assert_eq!(streams.crowded_out(3), None);
        assert_eq!(known(&streams), [2]);
    }

    #[test]
    fn unlisted_revisions_of_one_stream_stay_bounded() {
        let mut streams = with(MEMORY, []);
        for received_ms in 0..10_000 {
            streams.put(counted(1, received_ms));
            assert_eq!(streams.crowded_out(received_ms), None);
        }
        assert!(streams.revisions.len() <= 2);
        assert_eq!(streams.newest(SeqNo::MAX).count(), 0, "none is to be listed");
    }

    #[test]
    fn each_stream_is_listed_once_newest_first() {
        let memory = Memory { listed: 2, ..MEMORY };
        let streams = with(memory, [counted(1, 1), counted(2, 2), counted(3, 3), counted(2, 4)]);
        let listed = |before| streams.newest(before).map(|(_, stream)| stream.id).collect::<Vec<_>>();
        assert_eq!(listed(SeqNo::MAX), [2, 3]);
        assert_eq!(listed(3), [3]);
    }

    #[test]
    fn recent_streams_are_found_whatever_their_order() {
        let memory = Memory { most: 4, ..MEMORY };
        let mut streams = with(memory, [counted(1, 100), open(2, 300), counted(3, 200), counted(2, 350)]);
        let arrived = |streams: &Streams, since_ms, now_ms| {
            streams.arrived(since_ms, now_ms).map(|stream| (stream.id, stream.superseded)).collect::<Vec<_>>()
        };
        assert_eq!(arrived(&streams, 200, 400), [(2, false), (2, true)]);
        assert_eq!(
            arrived(&streams, 100, 300),
            [(3, false), (2, true)],
            "what comes after is of a later clock"
        );
        assert_eq!(streams.complete_since_ms(), None);
        streams.put(counted(4, 400));
        assert_eq!(streams.crowded_out(400), None);
        assert_eq!(streams.complete_since_ms(), Some(300));
    }

    #[test]
    fn the_store_gives_back_what_it_took() {
        let before = with(MEMORY, [counted(1, 1), open(2, 2), counted(1, 3)]);
        let stored = before.from(0).filter(|(_, stream)| !stream.superseded);
        let after = Streams::new(MEMORY, stored.map(|(place, stream)| (place, *stream)));
        assert_eq!(after.next(), before.next());
        assert_eq!((after.get(1), after.get(2)), (before.get(1), before.get(2)));
        assert_eq!(after.open().count(), 1);
    }
}
