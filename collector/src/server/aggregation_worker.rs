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
use crate::journal::segments::Segments;
use crate::memory::MemoryBudget;
use crate::server_timing::matcher::Matcher;
use crate::store::clickhouse::publisher::{FactExchange, PublishStatus, Publisher};
use crate::store::error::StoreError;
use crate::store::rollups::MinutesFrom;
use crate::store::row_files::RowFileThread;
use crate::store::stream_index::StreamIndex;
use crate::store::writer::Writer;
use crate::time;

/// Handles of a collector's running threads.
pub(crate) struct Started {
    pub(crate) journal: Arc<Journal>,
    /// `None` if no token may send timings of the backend.
    pub(crate) matcher: Option<Arc<Matcher>>,
    pub(crate) stream_index: StreamIndex,
    /// `None` if this collector runs alone.
    pub(crate) published: Option<PublishStatus>,
    pub(crate) minutes_from: MinutesFrom,
    pub(crate) threads: Threads,
}

/// The threads that write the journal and aggregate batches. The latter ends on shutdown, or when the store
/// cannot be read.
pub(crate) struct Threads {
    journal: Arc<Journal>,
    writes: JoinHandle<()>,
    counts: JoinHandle<Result<(), StoreError>>,
}

/// Counts the batches that the journal has and the store lacks, then starts the threads. `stopped` is dropped
/// when the aggregation worker ends.
pub(crate) fn start(
    config: &Config,
    counters: Arc<RequestCounters>,
    health: Arc<Health>,
    stopped: oneshot::Sender<()>,
) -> Result<Started, StoreError> {
    let mut store = Writer::open(&config.data, config.journal.sync, config.store.clone())?;
    if let Some(bytes) = MemoryBudget::of(config).sqlite_bytes() {
        store.limit_sqlite(bytes)?;
    }
    let loaded = store.load()?;
    let (applied, segments) = (loaded.counted_up_to, store.segments().clone());
    let mut aggregator = Aggregator::new(config.clone(), loaded);
    let matcher = restore_matcher(config, &segments, &mut aggregator)?;
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
    let stream_index = StreamIndex::new(aggregator.streams(), store.segments().clone(), config.data.clone());
    let publisher = match &config.store.clickhouse {
        Some(clickhouse) => {
            let facts = matcher.as_ref().map(|matcher| {
                let wait_seconds = config.server.wait_seconds;
                FactExchange::new(matcher.clone(), journal.clone(), counters.clone(), wait_seconds)
            });
            let facts = facts.transpose()?;
            Some(Publisher::start(config, clickhouse.clone(), stream_index.clone(), facts)?)
        }
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
        refused: None,
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
    Ok(Started { journal, matcher, stream_index, published, minutes_from, threads })
}

/// Restores the recent facts and streams from the journal, because they still wait for each other.
fn restore_matcher(
    config: &Config,
    segments: &Segments,
    aggregator: &mut Aggregator,
) -> Result<Option<Arc<Matcher>>, StoreError> {
    if !config.takes_server_timings() {
        return Ok(None);
    }
    let wait_seconds = config.server.wait_seconds;
    let matcher = match config.store.clickhouse {
        Some(_) => Matcher::in_cluster(wait_seconds),
        None => Matcher::new(wait_seconds),
    };
    Journal::recent(segments, time::now_ms() - i64::from(wait_seconds) * 1_000, |batch| {
        aggregator.keep_facts(&batch);
        matcher.restore(batch);
    })?;
    matcher.end_restore();
    Ok(Some(Arc::new(matcher)))
}

impl Threads {
    /// Writes and counts all pending batches and ends the threads. Threads that still wait for the disk after
    /// `within` are left behind.
    pub(crate) fn stop(self, within: Duration) -> Result<(), StoreError> {
        self.journal.close();
        let (sender, receiver) = mpsc::channel();
        // `join` has no timeout, so it runs on another thread.
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

/// State of the aggregation worker.
struct AggregationWorker {
    journal: Arc<Journal>,
    /// Batches taken from the queue that still occupy its memory budget.
    uncounted: VecDeque<WrittenBatch>,
    /// Declared before the store, so that it is dropped first: it publishes the last flush.
    publisher: Option<Publisher>,
    store: Writer,
    aggregator: Aggregator,
    counters: Arc<RequestCounters>,
    health: Arc<Health>,
    schedule: FlushSchedule,
    /// Why the store did not take the last flush. `None` if it did.
    refused: Option<StoreError>,
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
                // Batches that did not fit in memory are in the journal, and the next start counts them.
                return self
                    .refused
                    .take()
                    .map_or(Ok(()), |refused| Err(StoreError::NotFlushed(refused.into())));
            }
            if !idle {
                // No request waits for aggregation, and a wake-up per batch would cost as much as the
                // aggregation itself.
                self.journal.queue().gather(GATHER);
            }
        }
    }

    /// Counts the batches taken from the queue, and releases their memory in steps, so that waiting requests
    /// proceed early. Stops if memory is exhausted and the store rejects flushes.
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

    /// Whether memory is left for more batches. Flushes if necessary; after a failed flush it waits until the
    /// next one is due.
    fn has_memory(&mut self) -> Result<bool, StoreError> {
        if !self.aggregator.over_memory_limit() {
            return Ok(true);
        }
        if self.takes() || self.is_due() {
            self.flush()?;
        }
        Ok(self.takes())
    }

    /// Whether the last flush succeeded.
    const fn takes(&self) -> bool {
        self.refused.is_none()
    }

    fn is_due(&self) -> bool {
        let unstored = if self.takes() { self.aggregator.unflushed() } else { 0 };
        self.schedule.is_due(Instant::now(), unstored)
    }

    fn release(&self, counted_bytes: usize) {
        // While flushes succeed, the next batch triggers one, so the memory limit needs no back-pressure.
        let over_memory_limit = self.aggregator.over_memory_limit() && !self.takes();
        self.journal
            .queue()
            .counted(counted_bytes, over_memory_limit || self.aggregator.unflushed() >= MOST_UNSTORED);
    }

    /// Writes all changes to the store. If that fails, the changes stay in memory and the journal keeps its
    /// files.
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
        if let Some(file) = self.store.row_files().and_then(RowFileThread::finished) {
            self.aggregator.add_row_file(file);
        }
        let changes = self.aggregator.changes();
        let needs_journal_from = changes.needs_journal_from;
        let written = self.store.write(changes);
        self.health.store_answered(&written);
        self.refused = written.err();
        if self.takes() {
            self.aggregator.mark_flushed(now_ms);
            // Must run before the next report changes a window, because it may seal hours.
            self.trim(now_ms, needs_journal_from);
            while !self.aggregator.over_memory_limit() && self.aggregator.evict_some(now_ms, &self.store)? {
                thread::yield_now();
            }
            self.write_row_file(now_ms)?;
        }
        self.schedule = FlushSchedule::after(begun, Instant::now());
        Ok(())
    }

    /// Has the oldest streams written to a file, once they fill one.
    fn write_row_file(&mut self, now_ms: i64) -> Result<(), StoreError> {
        if self.store.row_files().is_some_and(|row_files| row_files.is_idle())
            && !self.aggregator.has_row_file()
            && let Some(batch) = self.aggregator.next_row_batch(now_ms, &self.store)?
            && let Some(row_files) = self.store.row_files()
        {
            row_files.write(batch);
        }
        Ok(())
    }

    /// Deletes journal files and old data. A failure is retried next time.
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

/// Time of the next flush: every second, earlier after many reports, later if flushing takes long because of
/// thousands of series.
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
    aggregator.keep_facts(&batch);
    let is_of_facts = batch.is_of_facts();
    for report in batch.reports {
        match is_of_facts {
            true => aggregator.add_with_facts(&report, batch.received_ms, store)?,
            false => aggregator.add(&report, batch.received_ms, store)?,
        }
    }
    aggregator.set_counted_up_to(batch.end);
    Ok(())
}

const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Minimum pause after a flush, as a multiple of its duration.
const REST: u32 = 8;

/// Revisions that trigger an early flush. Each occupies memory until it is stored. Storing this many can keep
/// a worker from its processor for a few milliseconds.
const FLUSH_REVISIONS: u64 = 10_000;

/// Revisions that trigger a flush even within the pause: a restart must count unstored reports quickly.
const FLUSH_REVISIONS_AT_ONCE: u64 = 100_000;

/// Unstored revisions at which the queue stops accepting more.
const MOST_UNSTORED: u64 = 150_000;

const PIECE_BYTES: usize = 64 * 1024;

const GATHER: Duration = Duration::from_millis(5);

const TRIM_EVERY_FLUSHES: u32 = 60;
