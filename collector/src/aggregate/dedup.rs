//! Registry of the recent streams: tells new reports from known ones, finds idle open streams, and lists the newest.
//! It is bounded by count and by age.

mod evicted_ids;
mod ring_buffer;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use beacon::Outcome;
use hashbrown::HashTable;
use hashbrown::hash_table;

use crate::aggregate::judgement::Judgement;
use crate::aggregate::rough_wait::RoughWait;
use crate::aggregate::series::SeriesId;
use crate::journal::segments::RecordLocation;
use crate::report::server_fact::has_facts;
use crate::report::stream_id::StreamId;
use evicted_ids::{EvictedId, EvictedIds};
use ring_buffer::RingBuffer;

/// Number of a revision, in order of arrival.
pub(crate) type SeqNo = u64;

/// Who sends the reports of a stream: a hash of its site and the client's network. A stream that the store restores has
/// none of the networks. The default stands for all unknown senders.
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
    pub(crate) wait: RoughWait,
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

/// What is known of a stream while it is open.
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
    /// The sender of each revision, as a shorter hash.
    senders: RingBuffer<u32>,
    /// Ended streams that were evicted, above all those of senders with few streams.
    evicted_ids: EvictedIds,
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
    /// Revisions whose report is earlier in the journal than that of a revision before them, in order of their numbers:
    /// renewed ones, and those that a peer owns.
    out_of_order: VecDeque<SeqNo>,
    /// The latest position in the journal of any revision's report.
    last_position: u64,
    /// The latest arrival of an evicted revision. `None` if none was evicted since the start.
    evicted_ms: Option<i64>,
}

impl StreamRegistry {
    /// Restores the registry from the store: the revisions from `first` on, in order of numbers. Missing numbers belong to
    /// superseded revisions. `sender_of`: the store does not know the networks, so a stream gets the sender of its site
    /// without one.
    pub(crate) fn new(
        memory: RegistryLimits,
        first: SeqNo,
        stored: impl IntoIterator<Item = (SeqNo, Stream)>,
        sender_of: impl Fn(&Stream) -> Sender,
    ) -> Self {
        let mut streams = Self {
            memory,
            revisions: RingBuffer::new(),
            senders: RingBuffer::new(),
            evicted_ids: EvictedIds::new(memory.most / SHARE_OF_EVICTED, memory.keep_ms),
            first,
            standing: 0,
            by_id: HashTable::new(),
            hasher: RandomState::new(),
            open: VecDeque::new(),
            open_streams: HashMap::new(),
            open_of_sender: HashMap::new(),
            out_of_order: VecDeque::new(),
            last_position: 0,
            evicted_ms: None,
        };
        for (seq, stream) in stored {
            while streams.next() < seq {
                streams.push(Stream { superseded: true, ..stream }, sender_of(&stream));
            }
            streams.put(stream, sender_of(&stream));
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
        let reports =
            self.out_of_order.iter().filter_map(|seq| self.at(*seq)).filter(|stream| !stream.owned_by_peer());
        self.revisions.get(0).copied().into_iter().chain(reports).map(|stream| stream.at.position).min()
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
            self.out_of_order.push_back(seq);
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
        self.evicted_ids.remove(stream.id);
        self.push(stream, sender);
    }

    fn push(&mut self, stream: Stream, sender: Sender) {
        self.revisions.push_back(stream);
        self.senders.push_back(sender as u32);
    }

    /// The latest revision of an ended stream whose entry made room for others before its time.
    pub(crate) fn evicted(&self, id: StreamId) -> Option<u32> {
        self.evicted_ids.rev(id)
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

    /// Notes waits that a query has read from reports: a start restores the streams without them.
    pub(crate) fn note_waits(&mut self, read: impl IntoIterator<Item = (SeqNo, RoughWait)>) {
        for (seq, wait) in read {
            let stream = self.index(seq).and_then(|index| self.revisions.get_mut(index));
            // A stream that was counted again meanwhile has its own.
            if let Some(counted) = stream.and_then(|stream| stream.finalized.as_mut())
                && counted.wait == RoughWait::UNKNOWN
            {
                counted.wait = wait;
            }
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

    /// Evicts entries over the age or count limit. Returns an open stream that must be finalized first.
    pub(crate) fn evict_next(&mut self, now_ms: i64) -> Option<SeqNo> {
        while let Some(oldest) = self.revisions.get(0) {
            if self.memory.keep(oldest, self.revisions.len(), self.standing, now_ms) {
                return None;
            }
            if !self.ready_to_evict(self.first, now_ms) {
                return Some(self.first);
            }
            self.evict_oldest();
        }
        None
    }

    /// Makes a revision ready to be evicted. That of an open stream is renewed, which means repeated as the newest
    /// revision: no number of other ids may count an open stream as abandoned. `false` if the stream must be finalized
    /// instead, because it is over the age limit, or because many streams are open and its sender has more than a share.
    pub(crate) fn ready_to_evict(&mut self, seq: SeqNo, now_ms: i64) -> bool {
        let Some(stream) = self.waiting(seq) else { return true };
        let sender = self.open_streams.get(&stream.id).map_or_else(Sender::default, |open| open.sender);
        let open_of_sender = self.open_of_sender.get(&sender).copied().unwrap_or(0);
        let is_crowded = self.open_streams.len() > self.memory.most / 2;
        // All shares together are half of that crowd, so the loop that evicts soon finds a stream beyond a share.
        let share = self.memory.most / 4 / self.open_of_sender.len().max(1);
        if stream.received_ms <= now_ms - self.memory.keep_ms || is_crowded && open_of_sender > share {
            return false;
        }
        self.put(stream, sender);
        true
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
        self.remember_evicted(&oldest);
        self.revisions.pop_front();
        self.first += 1;
        while self.out_of_order.front().is_some_and(|seq| *seq < self.first) {
            self.out_of_order.pop_front();
        }
        self.evicted_ms = self.evicted_ms.max(Some(oldest.received_ms));
    }

    /// Keeps the id of an ended stream beyond its entry: no number of others' ids may make it count twice.
    fn remember_evicted(&mut self, &Stream { id, rev, received_ms, .. }: &Stream) {
        let Some(sender) = self.senders.pop_front() else { return };
        if self.revisions.get(0).is_some_and(Stream::stands) {
            let newest_ms =
                self.revisions.from(0).next_back().map_or(received_ms, |newest| newest.received_ms);
            self.evicted_ids.add(id, EvictedId { rev, sender, received_ms }, newest_ms);
        }
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
        // A revision with facts has the arrival of its report, and so has a renewed one.
        let is_recent = move |(seq, stream): &(SeqNo, &Stream)| {
            stream.received_ms > since_ms - OUT_OF_ORDER_MS
                || has_facts(stream.rev)
                || self.out_of_order.binary_search(seq).is_ok()
        };
        let recent = newest.take_while(is_recent).map(|(_, stream)| stream);
        recent.filter(move |stream| stream.received_ms > since_ms && stream.received_ms <= now_ms)
    }

    /// All revisions that arrived after this time are in the registry. `None` while none has been evicted.
    pub(crate) fn complete_since_ms(&self) -> Option<i64> {
        let oldest = self.revisions.get(0).filter(|_| self.first > 0)?;
        // A renewed stream arrived before some that were evicted.
        Some(oldest.received_ms.max(self.evicted_ms.unwrap_or(i64::MIN)))
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

/// The ids beyond their entries are this part of all.
const SHARE_OF_EVICTED: usize = 16;

/// Superseded revisions, and their reports in the journal, lie between the listed ones. A stream may have any
/// number of them: up to this many per stream on average do not shorten the list.
const MOST_REVISIONS: usize = 4;

#[cfg(test)]
mod tests;
