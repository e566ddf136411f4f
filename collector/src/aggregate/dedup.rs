//! Registry of the recent streams: tells new reports from known ones, finds idle open streams, and lists the newest.
//! It is bounded by count and by age.

mod ring_buffer;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use beacon::Outcome;
use hashbrown::HashTable;
use hashbrown::hash_table;

use crate::aggregate::judgement::Judgement;
use crate::aggregate::series::SeriesId;
use crate::journal::segments::RecordLocation;
use crate::report::server_fact::has_facts;
use crate::report::stream_id::StreamId;
use ring_buffer::RingBuffer;

/// Number of a revision, in order of arrival.
pub(crate) type SeqNo = u64;

/// Who sends the reports of a stream: a hash of site and network. The default stands for all that are not known, as at a
/// start.
pub(crate) type Sender = u64;

/// One revision of one stream, in its current state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    /// As [`revision`](crate::report::server_fact::revision) orders it.
    pub(crate) rev: u32,
    pub(crate) outcome: Outcome,
    pub(crate) series: SeriesId,
    /// How it is counted. `None` while the stream is open and has not timed out.
    pub(crate) finalized: Option<Finalized>,
    /// It is in the cumulative statistics, which never retract.
    pub(crate) in_cumulative: bool,
    /// A later revision replaced it.
    pub(crate) superseded: bool,
    pub(crate) received_ms: i64,
    /// Location of its report in the journal.
    pub(crate) at: RecordLocation,
}

impl Stream {
    /// Another collector has a later revision and counts the stream; the revision here is retracted. The
    /// entry stays, to tell late revisions from new ones.
    pub(crate) const fn owned_by_peer(&self) -> bool {
        self.at.len == 0
    }

    /// It is the current revision of its stream, and no peer owns it. Such revisions are listed.
    pub(crate) const fn stands(&self) -> bool {
        !self.superseded && !self.owned_by_peer()
    }
}

/// Window and judgement of a finalized stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finalized {
    /// Minute of its window. Hundreds of thousands of streams are in memory, and 32 bits last for four
    /// thousand years.
    pub(crate) minute: i32,
    /// By the targets that applied at that time.
    pub(crate) judgement: Judgement,
}

/// Limits of the registry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RegistryLimits {
    /// Most revisions by which known reports are recognized.
    pub(crate) most: usize,
    /// Longest time for which they are kept.
    pub(crate) keep_ms: i64,
    /// This many streams stay, however old their latest revisions are.
    pub(crate) listed: usize,
}

impl RegistryLimits {
    /// Whether the oldest of `held` revisions stays, of which `standing` are current.
    fn keep(&self, oldest: &Stream, held: usize, standing: usize, now_ms: i64) -> bool {
        let Self { most, keep_ms, listed } = *self;
        let is_listed =
            oldest.stands() && standing <= listed && held <= listed.saturating_mul(MOST_REVISIONS);
        is_listed || held <= listed || held <= most && oldest.received_ms > now_ms - keep_ms
    }
}

/// An open stream.
struct OpenStream {
    /// When its first report arrived. After a restart, when the latest did.
    since_ms: i64,
    /// Who sent that report.
    sender: Sender,
}

/// The recent streams.
pub(crate) struct StreamRegistry {
    memory: RegistryLimits,
    /// Every revision in the registry, oldest first.
    revisions: RingBuffer<Stream>,
    /// Number of the oldest revision.
    first: SeqNo,
    /// Number of revisions that are current and not owned by a peer.
    standing: usize,
    /// The latest revision of each stream, by the hash of its id. The id itself is in `revisions` only: a
    /// second copy of hundreds of thousands would take a third of the collector's memory.
    by_id: HashTable<SeqNo>,
    hasher: RandomState,
    /// Every open revision, oldest first, and some that are no longer open.
    open: VecDeque<SeqNo>,
    open_streams: HashMap<StreamId, OpenStream>,
    /// Number of open streams of each sender that has any.
    open_of_sender: HashMap<Sender, usize>,
    /// Revisions whose reports are before those of an earlier revision, oldest first: an open stream is
    /// [renewed](Self::renew_or_release).
    behind: VecDeque<SeqNo>,
    /// Position of the last report in the journal.
    last_position: u64,
    /// The latest arrival of a forgotten revision.
    forgotten_ms: Option<i64>,
}

impl StreamRegistry {
    /// Restores the registry from the store: the revisions from `first` on, in order of numbers. Missing numbers belong to
    /// superseded revisions.
    pub(crate) fn new(
        memory: RegistryLimits,
        first: SeqNo,
        stored: impl IntoIterator<Item = (SeqNo, Stream)>,
    ) -> Self {
        let mut streams = Self {
            memory,
            revisions: RingBuffer::new(),
            first,
            standing: 0,
            by_id: HashTable::new(),
            hasher: RandomState::new(),
            open: VecDeque::new(),
            open_streams: HashMap::new(),
            open_of_sender: HashMap::new(),
            behind: VecDeque::new(),
            last_position: 0,
            forgotten_ms: None,
        };
        for (seq, stream) in stored {
            while streams.next() < seq {
                streams.revisions.push_back(Stream { superseded: true, ..stream });
            }
            streams.put(stream, Sender::default());
        }
        streams
    }

    /// Number of the next revision.
    pub(crate) fn next(&self) -> SeqNo {
        self.first + self.revisions.len() as SeqNo
    }

    /// Number of the oldest revision in the registry.
    pub(crate) const fn first(&self) -> SeqNo {
        self.first
    }

    /// Number of revisions that are current and not owned by a peer.
    pub(crate) const fn standing(&self) -> usize {
        self.standing
    }

    /// Position in the journal from which on reports may be read. `None` if the registry is empty.
    pub(crate) fn needs_from(&self) -> Option<u64> {
        let behind =
            self.behind.iter().filter_map(|seq| self.at(*seq)).filter(|stream| !stream.owned_by_peer());
        self.revisions.get(0).copied().into_iter().chain(behind).map(|stream| stream.at.position).min()
    }

    pub(crate) fn get(&self, id: StreamId) -> Option<(SeqNo, Stream)> {
        let same = |seq: &SeqNo| self.at(*seq).is_some_and(|stream| stream.id == id);
        let seq = *self.by_id.find(self.hasher.hash_one(id), same)?;
        self.at(seq).map(|stream| (seq, stream))
    }

    pub(crate) fn at(&self, seq: SeqNo) -> Option<Stream> {
        self.revisions.get(self.index(seq)?).copied()
    }

    /// Revisions from `seq` on.
    pub(crate) fn from(&self, seq: SeqNo) -> impl Iterator<Item = (SeqNo, &Stream)> + Clone {
        let skipped = self.index(seq).unwrap_or(0);
        (self.first + skipped as SeqNo..).zip(self.revisions.from(skipped))
    }

    /// Adds a revision, which supersedes an earlier one of its stream. An open stream stays that of its first sender.
    pub(crate) fn put(&mut self, stream: Stream, sender: Sender) {
        let seq = self.next();
        if stream.at.position < self.last_position {
            self.behind.push_back(seq);
        } else {
            self.last_position = stream.at.position;
        }
        let Self { by_id, hasher, revisions, first, standing, open, .. } = self;
        let id_at = |seq: SeqNo| revisions[(seq - *first) as usize].id;
        let hash = hasher.hash_one(stream.id);
        let rehash = |seq: &SeqNo| hasher.hash_one(id_at(*seq));
        match by_id.entry(hash, |seq| id_at(*seq) == stream.id, rehash) {
            hash_table::Entry::Vacant(free) => drop(free.insert(seq)),
            hash_table::Entry::Occupied(mut held) => {
                let before = std::mem::replace(held.get_mut(), seq);
                let before = &mut revisions[(before - *first) as usize];
                *standing -= usize::from(before.stands());
                before.superseded = true;
            }
        }
        if stream.finalized.is_none() {
            open.push_back(seq);
            self.open_streams.entry(stream.id).or_insert_with(|| {
                *self.open_of_sender.entry(sender).or_default() += 1;
                OpenStream { since_ms: stream.received_ms, sender }
            });
        } else {
            self.close(stream.id);
        }
        self.standing += usize::from(stream.stands());
        self.revisions.push_back(stream);
    }

    /// Marks a revision as counted in a window, or as impossible to count.
    pub(crate) fn finalize(&mut self, seq: SeqNo, counted: Finalized) {
        if let Some(stream) = self.index(seq).and_then(|index| self.revisions.get_mut(index)) {
            stream.finalized = Some(counted);
            stream.in_cumulative = true;
            let id = stream.id;
            self.close(id);
        }
    }

    fn close(&mut self, id: StreamId) {
        let Some(OpenStream { sender, .. }) = self.open_streams.remove(&id) else { return };
        if let Entry::Occupied(mut open) = self.open_of_sender.entry(sender) {
            *open.get_mut() -= 1;
            if *open.get() == 0 {
                open.remove();
            }
        }
    }

    /// The oldest open stream, if its last revision arrived at least `after_ms` ago or in the future. It is
    /// returned until it is passed to [`finalize`](Self::finalize).
    pub(crate) fn next_idle_open(&mut self, now_ms: i64, after_ms: i64) -> Option<SeqNo> {
        while let Some(&seq) = self.open.front() {
            if let Some(stream) = self.waiting(seq) {
                let silent_ms = now_ms.saturating_sub(stream.received_ms);
                // After the clock was set back, its idle time is unknown, and all later streams wait behind
                // it.
                return (silent_ms >= after_ms || silent_ms < -OUT_OF_ORDER_MS).then_some(seq);
            }
            self.open.pop_front();
        }
        None
    }

    /// Evicts entries over the age or count limit. Returns the oldest open stream, which must be finalized
    /// first.
    pub(crate) fn evict_next(&mut self, now_ms: i64) -> Option<SeqNo> {
        while let Some(oldest) = self.revisions.get(0) {
            if self.memory.keep(oldest, self.revisions.len(), self.standing, now_ms) {
                return None;
            }
            if self.renew_or_release(self.first, now_ms) {
                return Some(self.first);
            }
            self.evict_oldest();
        }
        None
    }

    /// Before the revision is evicted: repeats it as the newest if its stream is open, so that no number of others' ids
    /// counts it as abandoned. `true` if it is to be finalized instead: it is too old, or many streams are open and its
    /// sender has more than a share of them.
    pub(crate) fn renew_or_release(&mut self, seq: SeqNo, now_ms: i64) -> bool {
        let Some(stream) = self.waiting(seq) else { return false };
        let sender = self.open_streams.get(&stream.id).map_or_else(Sender::default, |open| open.sender);
        let open_of_sender = self.open_of_sender.get(&sender).copied().unwrap_or(0);
        let is_crowded = self.open_streams.len() > self.memory.most / 2;
        // Of the open streams of a crowd at least half are beyond the shares.
        let share = self.memory.most / 4 / self.open_of_sender.len().max(1);
        if stream.received_ms <= now_ms - self.memory.keep_ms || is_crowded && open_of_sender > share {
            return true;
        }
        self.put(stream, sender);
        false
    }

    /// Number after the oldest entries over the age or count limit, of which it counts at most `most`.
    pub(crate) fn evictable_end(&self, now_ms: i64, most: usize) -> SeqNo {
        let (mut held, mut standing) = (self.revisions.len(), self.standing);
        let evictable = self.revisions.from(0).take(most).take_while(|oldest| {
            let kept = self.memory.keep(oldest, held, standing, now_ms);
            held -= 1;
            standing -= usize::from(oldest.stands());
            !kept
        });
        self.first + evictable.count() as SeqNo
    }

    /// Evicts all entries before this number. None of them is open.
    pub(crate) fn evict_before(&mut self, end: SeqNo) {
        while self.first < end && self.revisions.len() > 0 {
            self.evict_oldest();
        }
    }

    fn evict_oldest(&mut self) {
        let Some(&oldest) = self.revisions.get(0) else { return };
        let hash = self.hasher.hash_one(oldest.id);
        if let Ok(latest) = self.by_id.find_entry(hash, |seq| *seq == self.first) {
            latest.remove();
        }
        self.standing -= usize::from(oldest.stands());
        self.revisions.pop_front();
        self.first += 1;
        while self.behind.front().is_some_and(|seq| *seq < self.first) {
            self.behind.pop_front();
        }
        self.forgotten_ms = self.forgotten_ms.max(Some(oldest.received_ms));
    }

    /// Open streams, oldest first.
    pub(crate) fn open(&self) -> impl Iterator<Item = Stream> + '_ {
        self.open.iter().filter_map(|&seq| self.waiting(seq))
    }

    /// When the first report of an open stream arrived.
    pub(crate) fn open_since_ms(&self, stream: &Stream) -> i64 {
        self.open_streams.get(&stream.id).map_or(stream.received_ms, |open| open.since_ms)
    }

    /// Revisions that arrived after `since_ms` and no later than `now_ms`, superseded ones included.
    pub(crate) fn arrived(&self, since_ms: i64, now_ms: i64) -> impl Iterator<Item = &Stream> {
        let newest = (self.first..self.next()).rev().zip(self.revisions.from(0).rev());
        // A revision with facts has the arrival of its report, and so has one that is repeated.
        let is_recent = move |(seq, stream): &(SeqNo, &Stream)| {
            stream.received_ms > since_ms - OUT_OF_ORDER_MS
                || has_facts(stream.rev)
                || self.behind.binary_search(seq).is_ok()
        };
        let recent = newest.take_while(is_recent).map(|(_, stream)| stream);
        recent.filter(move |stream| stream.received_ms > since_ms && stream.received_ms <= now_ms)
    }

    /// All revisions that arrived after this time are in the registry. `None` while none has been evicted.
    pub(crate) fn complete_since_ms(&self) -> Option<i64> {
        let oldest = self.revisions.get(0).filter(|_| self.first > 0)?;
        Some(oldest.received_ms.max(self.forgotten_ms.unwrap_or(i64::MIN)))
    }

    /// Current revisions of the listed streams with a number below `before`, newest first.
    pub(crate) fn newest(&self, before: SeqNo) -> impl Iterator<Item = (SeqNo, &Stream)> {
        let all = (self.first..self.next()).rev().zip(self.revisions.from(0).rev());
        let standing = all.filter(|(_, stream)| stream.stands());
        standing.take(self.memory.listed).skip_while(move |(seq, _)| *seq >= before)
    }

    fn index(&self, seq: SeqNo) -> Option<usize> {
        usize::try_from(seq.checked_sub(self.first)?).ok()
    }

    fn waiting(&self, seq: SeqNo) -> Option<Stream> {
        self.at(seq).filter(|stream| stream.finalized.is_none() && !stream.superseded)
    }
}

/// Revisions are in the order of the journal, and a batch may wait for the journal this long.
const OUT_OF_ORDER_MS: i64 = 60_000;

/// Superseded revisions, and their reports in the journal, lie between the listed ones. A stream may have any
/// number of them: up to this many per stream on average do not shorten the list.
const MOST_REVISIONS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: RegistryLimits = RegistryLimits { most: 2, keep_ms: 1_000, listed: 0 };
    const COUNTED: Finalized = Finalized { minute: 0, judgement: Judgement::WITHIN_SLO };

    fn open(id: StreamId, received_ms: i64) -> Stream {
        Stream {
            id,
            rev: 0,
            outcome: Outcome::Abandoned,
            series: 0,
            finalized: None,
            in_cumulative: false,
            superseded: false,
            received_ms,
            at: RecordLocation { position: 0, len: 1 },
        }
    }

    fn counted(id: StreamId, received_ms: i64) -> Stream {
        Stream { finalized: Some(COUNTED), in_cumulative: true, ..open(id, received_ms) }
    }

    fn with(memory: RegistryLimits, all: impl IntoIterator<Item = Stream>) -> StreamRegistry {
        let mut streams = StreamRegistry::new(memory, 0, []);
        all.into_iter().for_each(|stream| streams.put(stream, Sender::default()));
        streams
    }

    fn known(streams: &StreamRegistry) -> Vec<StreamId> {
        (1..=4).filter(|id| streams.get(*id).is_some()).collect()
    }

    #[test]
    fn an_idle_stream_is_returned_until_it_is_counted() {
        let mut streams = with(MEMORY, [open(1, 5)]);
        assert_eq!(streams.next_idle_open(14, 10), None);
        assert_eq!(streams.next_idle_open(15, 10), Some(0));
        assert_eq!(streams.next_idle_open(15, 10), Some(0));
        streams.finalize(0, COUNTED);
        assert_eq!(streams.next_idle_open(15, 10), None);
        assert_eq!(streams.open().count(), 0);
    }

    #[test]
    fn a_later_revision_starts_the_wait_again() {
        let mut streams = with(MEMORY, [open(1, 5), open(1, 50)]);
        assert_eq!(streams.open().count(), 1);
        assert_eq!(streams.next_idle_open(59, 10), None);
        assert_eq!(streams.next_idle_open(60, 10), Some(1));
    }

    #[test]
    fn an_idle_stream_is_found_after_the_clock_was_set_back() {
        let hour_ms = 3_600_000;
        let mut streams = with(MEMORY, [open(1, hour_ms), open(2, 0)]);
        assert_eq!(streams.next_idle_open(hour_ms - OUT_OF_ORDER_MS, 10), None, "batches come out of order");
        assert_eq!(streams.next_idle_open(5, 10), Some(0));
        streams.finalize(0, COUNTED);
        assert_eq!(streams.next_idle_open(9, 10), None);
        assert_eq!(streams.next_idle_open(10, 10), Some(1));
    }

    #[test]
    fn streams_over_the_age_or_count_limit_are_evicted() {
        let mut streams = with(MEMORY, (1..=3).map(|id| counted(id, id as i64)));
        assert_eq!(streams.evict_next(10), None);
        assert_eq!(known(&streams), [2, 3]);
        assert_eq!(streams.evict_next(1_002), None);
        assert_eq!(known(&streams), [3]);
    }

    #[test]
    fn streams_beyond_the_age_limit_are_not_listed() {
        let mut streams =
            with(RegistryLimits { listed: 1, ..MEMORY }, (1..=3).map(|id| counted(id, id as i64)));
        assert_eq!(streams.evict_next(1_000_000), None);
        assert_eq!(known(&streams), [3]);
    }

    #[test]
    fn a_stream_of_several_revisions_is_listed_as_one() {
        let memory = RegistryLimits { most: 0, listed: 3, ..MEMORY };
        let mut streams = with(memory, (1..=4).flat_map(|id| (0..3).map(move |_| counted(id, id as i64))));
        assert_eq!(streams.evict_next(1_000_000), None);
        assert_eq!(known(&streams), [2, 3, 4]);
        assert_eq!(streams.newest(SeqNo::MAX).count(), 3);
        // A stream that a peer counts is not listed here, and does not count toward the limit.
        streams
            .put(Stream { at: RecordLocation { position: 0, len: 0 }, ..counted(3, 5) }, Sender::default());
        streams.put(counted(1, 6), Sender::default());
        assert_eq!(streams.evict_next(1_000_000), None);
        let listed: Vec<_> = streams.newest(SeqNo::MAX).map(|(_, stream)| stream.id).collect();
        assert_eq!(listed, [1, 4, 2]);
    }

    #[test]
    fn listed_revisions_of_one_stream_stay_bounded() {
        let memory = RegistryLimits { most: 0, listed: 5, ..MEMORY };
        let mut streams = with(memory, [counted(1, 0)]);
        for received_ms in 0..1_000 {
            streams.put(counted(2, received_ms), Sender::default());
            assert_eq!(streams.evict_next(received_ms), None);
            assert!(streams.revisions.len() <= 5 * MOST_REVISIONS);
        }
        assert_eq!(streams.standing, streams.newest(SeqNo::MAX).count());
    }

    #[test]
    fn an_old_open_stream_is_counted_before_it_is_forgotten() {
        let mut streams = with(MEMORY, [open(1, 1), counted(2, 2)]);
        assert_eq!(streams.evict_next(1_001), Some(0));
        streams.finalize(0, COUNTED);
        assert_eq!(streams.evict_next(1_001), None);
        assert_eq!(known(&streams), [2]);
    }

    #[test]
    fn an_open_stream_stays_however_many_others_end() {
        let at = |position| RecordLocation { position, len: 1 };
        let mut streams = with(RegistryLimits { most: 4, ..MEMORY }, [Stream { at: at(7), ..open(1, 1) }]);
        for id in 2..100 {
            streams.put(Stream { at: at(10 * id as u64), ..counted(id, 2) }, 1);
            assert_eq!(streams.evict_next(3), None);
            assert!(streams.get(1).is_some_and(|(_, stream)| stream.finalized.is_none()), "{id}");
            assert_eq!(streams.needs_from(), Some(7), "the report of the open stream");
        }
        assert_eq!((streams.open().count(), streams.standing()), (1, 4));
        let (seq, _) = streams.get(1).unwrap();
        streams.finalize(seq, COUNTED);
        for id in 100..104 {
            streams.put(Stream { at: at(10 * id as u64), ..counted(id, 2) }, 1);
            assert_eq!(streams.evict_next(3), None);
        }
        assert_eq!((streams.get(1), streams.behind.len()), (None, 0));
        assert_eq!(streams.needs_from(), Some(1_000));
    }

    #[test]
    fn a_sender_of_many_open_streams_loses_its_own() {
        const LIMITS: RegistryLimits = RegistryLimits { most: 400, keep_ms: 1_000, listed: 0 };
        let mut streams = with(LIMITS, []);
        (1..=20).for_each(|id| streams.put(open(id, 1), 1));
        for id in 1_000..5_000 {
            streams.put(open(id, 1), 2);
            while let Some(seq) = streams.evict_next(2) {
                assert!(streams.at(seq).unwrap().id >= 1_000, "of the sender of many");
                streams.finalize(seq, COUNTED);
            }
        }
        assert!((1..=20).all(|id| streams.get(id).is_some_and(|(_, stream)| stream.finalized.is_none())));
        assert!(streams.revisions.len() <= LIMITS.most);
        assert_eq!(streams.open_of_sender.values().sum::<usize>(), streams.open_streams.len());
    }

    #[test]
    fn recent_streams_are_found_behind_a_repeated_one() {
        let late = 2 * OUT_OF_ORDER_MS;
        let mut streams = with(RegistryLimits { most: 3, keep_ms: late + 10, listed: 0 }, []);
        let at = |position| RecordLocation { position, len: 1 };
        streams.put(Stream { at: at(1), ..open(1, 0) }, 0);
        for id in 2..=4 {
            streams.put(Stream { at: at(id as u64), ..counted(id, late + id as i64) }, 0);
        }
        assert_eq!(streams.evict_next(late + 5), None);
        let arrived: Vec<_> = streams.arrived(late, late + 9).map(|stream| stream.id).collect();
        assert_eq!(arrived, [4, 3]);
        assert_eq!(streams.complete_since_ms(), Some(late + 3), "not that of the repeated one");
    }

    #[test]
    fn an_open_stream_knows_its_first_report() {
        let mut streams = with(MEMORY, [open(1, 100), open(2, 150), open(1, 200)]);
        let since = |streams: &StreamRegistry| {
            streams.open().map(|stream| (stream.id, streams.open_since_ms(&stream))).collect::<Vec<_>>()
        };
        assert_eq!(since(&streams), [(2, 150), (1, 100)]);
        streams.put(counted(1, 300), Sender::default());
        streams.finalize(1, COUNTED);
        assert!(
            since(&streams).is_empty()
                && streams.open_streams.is_empty()
                && streams.open_of_sender.is_empty()
        );
    }

    #[test]
    fn unlisted_revisions_of_one_stream_stay_bounded() {
        let mut streams = with(MEMORY, []);
        for received_ms in 0..10_000 {
            streams.put(counted(1, received_ms), Sender::default());
            assert_eq!(streams.evict_next(received_ms), None);
        }
        assert!(streams.revisions.len() <= 2);
        assert_eq!(streams.newest(SeqNo::MAX).count(), 0, "none is to be listed");
    }

    #[test]
    fn each_stream_is_listed_once_newest_first() {
        let memory = RegistryLimits { listed: 2, ..MEMORY };
        let streams = with(memory, [counted(1, 1), counted(2, 2), counted(3, 3), counted(2, 4)]);
        let listed = |before| streams.newest(before).map(|(_, stream)| stream.id).collect::<Vec<_>>();
        assert_eq!(listed(SeqNo::MAX), [2, 3]);
        assert_eq!(listed(3), [3]);
    }

    #[test]
    fn recent_streams_are_found_whatever_their_order() {
        let memory = RegistryLimits { most: 4, ..MEMORY };
        let mut streams = with(memory, [counted(1, 100), open(2, 300), counted(3, 200), counted(2, 350)]);
        let arrived = |streams: &StreamRegistry, since_ms, now_ms| {
            streams.arrived(since_ms, now_ms).map(|stream| (stream.id, stream.superseded)).collect::<Vec<_>>()
        };
        assert_eq!(arrived(&streams, 200, 400), [(2, false), (2, true)]);
        assert_eq!(
            arrived(&streams, 100, 300),
            [(3, false), (2, true)],
            "what comes after is of a later clock"
        );
        assert_eq!(streams.complete_since_ms(), None);
        streams.put(counted(4, 400), Sender::default());
        assert_eq!(streams.evict_next(400), None);
        assert_eq!(streams.complete_since_ms(), Some(300));
    }

    #[test]
    fn a_registry_built_from_stored_streams_is_the_same() {
        let before = with(MEMORY, [counted(1, 1), open(2, 2), counted(1, 3)]);
        let stored = before.from(0).filter(|(_, stream)| !stream.superseded);
        let after = StreamRegistry::new(MEMORY, 0, stored.map(|(seq, stream)| (seq, *stream)));
        assert_eq!((after.first(), after.next()), (before.first(), before.next()));
        assert_eq!((after.get(1), after.get(2)), (before.get(1), before.get(2)));
        assert_eq!(after.open().count(), 1);
    }
}
