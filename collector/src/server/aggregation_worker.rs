//! The aggregation worker: a thread that counts journaled batches in order and flushes the changes to the store about
//! once a second.
//!
//! Background work: it yields between slices of a few milliseconds, so that it does not starve request threads when
//! all cores are busy.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tracing::{info, warn};

use crate::aggregate::aggregator::Aggregator;
use crate::config::Config;
use crate::http::counters::RequestCounters;
use crate::journal::Journal;
use crate::journal::batch::{Damage, JournaledBatch, WrittenBatch};
use crate::journal::health::Health;
use crate::store::clickhouse::publisher::{PublishStatus, Publisher};
use crate::store::error::StoreError;
use crate::store::rollups::MinutesFrom;
use crate::store::stream_index::StreamIndex;
use crate::store::writer::Writer;
use crate::time;

/// A collector's threads, at work.
pub(crate) struct Started {
    pub(crate) journal: Arc<Journal>,
    pub(crate) stream_index: StreamIndex,
    /// `None` where this collector is alone.
    pub(crate) published: Option<PublishStatus>,
    pub(crate) minutes_from: MinutesFrom,
    pub(crate) threads: Threads,
}

/// The thread that writes the journal and the one that counts. The latter ends when told to, or when
/// the store cannot be read.
pub(crate) struct Threads {
    journal: Arc<Journal>,
    writes: JoinHandle<()>,
    counts: JoinHandle<Result<(), StoreError>>,
}

/// Counts what the journal still holds, then starts the threads. `stopped` is dropped when counting
/// ends.
pub(crate) fn start(
    config: &Config,
    counters: Arc<RequestCounters>,
    health: Arc<Health>,
    stopped: oneshot::Sender<()>,
) -> Result<Started, StoreError> {
    let mut store = Writer::open(&config.data, config.journal.sync, config.store.clone())?;
    let loaded = store.load()?;
    let (applied, segments) = (loaded.counted_up_to, store.segments().clone());
    let mut aggregator = Aggregator::new(config.clone(), loaded);
    let mut batches = 0_u64;
    let (journal, damage) =
        Journal::open(&segments, config, counters.clone(), health.clone(), applied, |batch| {
            batches += 1;
            count(&mut aggregator, batch, &store)?;
            if aggregator.over_memory_limit() {
                store
                    .write(aggregator.changes())
                    .map_err(|refused| StoreError::TakesNothing(refused.into()))?;
                aggregator.mark_flushed(time::now_ms());
            }
            Ok::<_, StoreError>(())
        })?;
    if batches > 0 {
        info!(batches, "Counted {batches} batches that were still in the journal");
    }
    aggregator.counts.damaged(damage);
    aggregator.counts.reset_in_flight();
    let journal = Arc::new(journal);
    let stream_index = StreamIndex::new(aggregator.streams(), store.segments().clone());
    let publisher = match &config.store.clickhouse {
        Some(clickhouse) => Some(Publisher::start(config, clickhouse.clone(), stream_index.clone())?),
        None => None,
    };
    let published = publisher.as_ref().map(Publisher::published);
    let minutes_from = store.minutes_from();
    let mut counter = AggregationWorker {
        journal: journal.clone(),
        uncounted: VecDeque::new(),
        publisher,
        store,
        aggregator,
        counters,
        health,
        schedule: FlushSchedule::default(),
        takes: true,
        flushes_until_trim: 0,
    };
    counter.flush()?;
    let writes = journal.start().map_err(StoreError::Thread)?;
    let run = move || {
        let _stopped = stopped;
        let result = counter.run();
        counter.journal.queue().abort();
        result
    };
    let counts = thread::Builder::new().name("counter".into()).spawn(run).map_err(StoreError::Thread)?;
    let threads = Threads { journal: journal.clone(), writes, counts };
    Ok(Started { journal, stream_index, published, minutes_from, threads })
}

impl Threads {
    /// Writes and counts what waits, and ends the threads. Those that the disk has not let go by then are
    /// left behind.
    pub(crate) fn stop(self, within: Duration) -> Result<(), StoreError> {
        self.journal.close();
        let (sender, receiver) = mpsc::channel();
        // Joining knows no deadline, so it is done elsewhere.
        let join = move || sender.send(self.join());
        thread::Builder::new().name("stop".into()).spawn(join).map_err(StoreError::Thread)?;
        match receiver.recv_timeout(within) {
            Ok(ended) => ended,
            Err(RecvTimeoutError::Timeout) => Err(StoreError::Hangs(within)),
            Err(RecvTimeoutError::Disconnected) => panic!("a thread has panicked, and said so"),
        }
    }

    fn join(self) -> Result<(), StoreError> {
        self.writes.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.counts.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// What the counting thread owns.
struct AggregationWorker {
    journal: Arc<Journal>,
    /// What came from its queue, whose room it still holds.
    uncounted: VecDeque<WrittenBatch>,
    /// Ends before the store does, and publishes what the last flush wrote.
    publisher: Option<Publisher>,
    store: Writer,
    aggregator: Aggregator,
    counters: Arc<RequestCounters>,
    health: Arc<Health>,
    schedule: FlushSchedule,
    /// Whether the store took the last flush.
    takes: bool,
    flushes_until_trim: u32,
}

impl AggregationWorker {
    fn run(&mut self) -> Result<(), StoreError> {
        loop {
            let taken = self.journal.queue().take(self.schedule.flush_at);
            let (idle, last) = (taken.written.is_empty(), taken.last);
            self.uncounted.extend(taken.written);
            self.count_all()?;
            if last || self.is_due() {
                self.flush()?;
            }
            self.release(0);
            if last {
                // What found no room stands in the journal.
                return Ok(());
            }
            if !idle {
                // Nobody waits for being counted: to be woken for each batch would cost as much as counting.
                self.journal.queue().gather(GATHER);
            }
        }
    }

    /// Gives room back piece by piece: whoever waits for it must not wait for all. What there is no memory for waits
    /// until the store takes what is held.
    fn count_all(&mut self) -> Result<(), StoreError> {
        let mut counted_bytes = 0;
        while self.has_memory()? {
            let Some(written) = self.uncounted.pop_front() else { break };
            match written.unpack() {
                Some(batch) => count(&mut self.aggregator, batch, &self.store)?,
                None => self.aggregator.counts.damaged(Damage { unreadable: 1, ..Damage::default() }),
            }
            counted_bytes += written.memory_bytes();
            if counted_bytes >= PIECE_BYTES {
                self.release(mem::take(&mut counted_bytes));
                thread::yield_now();
            }
        }
        self.release(counted_bytes);
        Ok(())
    }

    /// Whether more may be counted. Flushes for it where it has to; a store that has refused has its rest first.
    fn has_memory(&mut self) -> Result<bool, StoreError> {
        if !self.aggregator.over_memory_limit() {
            return Ok(true);
        }
        if self.takes || self.is_due() {
            self.flush()?;
        }
        Ok(self.takes)
    }

    fn is_due(&self) -> bool {
        let unstored = if self.takes { self.aggregator.unflushed() } else { 0 };
        self.schedule.is_due(Instant::now(), unstored)
    }

    fn release(&self, counted_bytes: usize) {
        // Where the store takes what is held, it is flushed before the next batch.
        let over_memory_limit = self.aggregator.over_memory_limit() && !self.takes;
        self.journal
            .queue()
            .counted(counted_bytes, over_memory_limit || self.aggregator.unflushed() >= MOST_UNSTORED);
    }

    /// Moves everything that was counted into the store. When that cannot be written, all stays in
    /// memory, and the journal as it is.
    fn flush(&mut self) -> Result<(), StoreError> {
        let (begun, now_ms) = (Instant::now(), time::now_ms());
        self.journal.probe();
        while !self.aggregator.over_memory_limit()
            && let Some(peer_revisions) = self.publisher.as_ref().and_then(Publisher::next_peer_revision)
        {
            self.aggregator.yield_to_peer(&peer_revisions, &self.store)?;
        }
        while !self.aggregator.over_memory_limit() && self.aggregator.finalize_next(now_ms, &self.store)? {}
        self.aggregator.counts.take(&self.counters);
        let changes = self.aggregator.changes();
        let needs_journal_from = changes.needs_journal_from;
        let written = self.store.write(changes);
        self.health.store_answered(&written);
        self.takes = written.is_ok();
        if self.takes {
            self.aggregator.mark_flushed(now_ms);
            // Before the next report changes a window.
            self.trim(now_ms, needs_journal_from);
            while !self.aggregator.over_memory_limit() && self.aggregator.evict_some(now_ms, &self.store)? {
                thread::yield_now();
            }
        }
        self.schedule = FlushSchedule::after(begun, Instant::now());
        Ok(())
    }

    /// Lets go of what is no longer needed. What fails now is tried again.
    fn trim(&mut self, now_ms: i64, needs_journal_from: u64) {
        if let Err(error) = self.store.drop_journal_before(needs_journal_from) {
            warn!(%error, "Cannot delete a journal file that is no longer needed");
        }
        if let Err(error) = self.store.segments().lay_by() {
            warn!(%error, "Cannot preallocate the next journal file; the journal creates it when needed");
        }
        if self.flushes_until_trim > 0 {
            self.flushes_until_trim -= 1;
            return;
        }
        self.flushes_until_trim = TRIM_EVERY_FLUSHES;
        self.store.roll_up_and_trim(now_ms);
    }
}

/// When the next flush is due: every second, earlier when much has come, later when flushing takes long,
/// as it does with thousands of series.
struct FlushSchedule {
    flush_at: Instant,
    rest_until: Instant,
}

impl FlushSchedule {
    fn after(begun: Instant, ended: Instant) -> Self {
        let rest_until = ended + (ended - begun) * REST;
        Self { flush_at: rest_until.max(begun + FLUSH_EVERY), rest_until }
    }

    fn is_due(&self, now: Instant, unstored: u64) -> bool {
        now >= self.flush_at
            || unstored >= FLUSH_REVISIONS && now >= self.rest_until
            || unstored >= FLUSH_REVISIONS_AT_ONCE
    }
}

impl Default for FlushSchedule {
    fn default() -> Self {
        let now = Instant::now();
        Self::after(now, now)
    }
}

fn count(aggregator: &mut Aggregator, batch: JournaledBatch, store: &Writer) -> Result<(), StoreError> {
    aggregator.counts.accepted(&batch);
    for report in batch.reports {
        aggregator.add(&report, batch.received_ms, store)?;
    }
    aggregator.set_counted_up_to(batch.end);
    Ok(())
}

const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// So many times as long as a flush took, nothing is flushed after it.
const REST: u32 = 8;

/// What is remembered of a stream stays in memory until it is stored, and while it is being stored a worker
/// may have to wait for its processor: a few milliseconds with so many.
const FLUSH_REVISIONS: u64 = 10_000;

/// However long flushing takes: a restart must not take long to count what was not stored.
const FLUSH_REVISIONS_AT_ONCE: u64 = 100_000;

/// What cannot be stored is held in memory: there is room for so much.
const MOST_UNSTORED: u64 = 150_000;

const PIECE_BYTES: usize = 64 * 1024;

const GATHER: Duration = Duration::from_millis(5);

const TRIM_EVERY_FLUSHES: u32 = 60;
