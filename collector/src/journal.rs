//! Nothing is answered before it is kept: accepted batches come in, are written together in one
//! commit, answered, and then counted. One thread owns the writing connection and all that is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tracing::{error, info, warn};

use crate::admit::{self, Accepted};
use crate::clock;
use crate::config::Config;
use crate::counts::Door;
use crate::error::{ApiError, Reason};
use crate::rollup::{MINUTE_MS, Rollup};
use crate::store::{JournalEntry, JournalSeq, StoreError, Writer};

/// The way in for accepted batches.
#[derive(Clone)]
pub(crate) struct Journal {
    jobs: SyncSender<Job>,
    waiting_bytes: Arc<AtomicUsize>,
    most_bytes: usize,
}

/// Reports that are to be kept or refused together.
pub(crate) struct Batch {
    pub(crate) received_ms: i64,
    pub(crate) reports: Vec<Accepted>,
}

/// Whether beacons can be kept, as the last attempt showed.
#[derive(Default)]
pub(crate) struct Health {
    storage_failed: AtomicBool,
    draining: AtomicBool,
}

/// The running thread. Ends when told to stop, or when the store cannot be read.
pub(crate) struct Handle {
    jobs: SyncSender<Job>,
    thread: thread::JoinHandle<Result<(), StoreError>>,
}

enum Job {
    Keep { batch: Batch, bytes: usize, answer: oneshot::Sender<Result<(), Reason>> },
    Stop,
}

impl Journal {
    /// Takes up what the journal still holds, then starts the thread. `stopped` is dropped when it
    /// ends.
    pub(crate) fn start(
        config: &Config,
        door: Arc<Door>,
        health: Arc<Health>,
        stopped: oneshot::Sender<()>,
    ) -> Result<(Self, Handle), StoreError> {
        let mut store = Writer::open(&config.data, config.journal.sync, config.store.clone())?;
        let now_ms = clock::now_ms();
        let remember_from_ms = now_ms - i64::from(config.dedupe.minutes) * MINUTE_MS;
        let loaded = store.load(remember_from_ms, config.dedupe.ids)?;
        let mut rollup = Rollup::new(config.clone(), loaded);
        replay(&mut rollup, &mut store, now_ms)?;

        let (jobs, waiting) = mpsc::sync_channel(config.ingest.queue_batches);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let mut keeper = Keeper {
            store,
            rollup,
            door,
            health,
            waiting_bytes: waiting_bytes.clone(),
            group: Vec::new(),
            untrimmed: 0,
        };
        let run = move || {
            let _stopped = stopped;
            keeper.run(&waiting)
        };
        let thread = thread::Builder::new().name("journal".into()).spawn(run).map_err(StoreError::Thread)?;
        let journal = Self { jobs: jobs.clone(), waiting_bytes, most_bytes: config.ingest.queue_bytes };
        Ok((journal, Handle { jobs, thread }))
    }

    /// Takes a batch over, or refuses it at once. What it gives back returns when the batch is safe, or
    /// with the reason why it is not kept; that is counted already.
    pub(crate) fn keep(
        &self,
        batch: Batch,
    ) -> Result<impl Future<Output = Result<(), ApiError>> + use<>, ApiError> {
        let bytes = batch.reports.iter().map(|report| report.json.len() * BYTES_HELD_PER_BYTE).sum();
        let waiting = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let sent = match waiting + bytes > self.most_bytes {
            true => Err(Reason::Overloaded),
            false => self.jobs.try_send(Job::Keep { batch, bytes, answer }).map_err(|error| match error {
                TrySendError::Full(_) => Reason::Overloaded,
                TrySendError::Disconnected(_) => Reason::StorageUnavailable,
            }),
        };
        if let Err(reason) = sent {
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Err(refusal(reason));
        }
        Ok(async { answered.await.unwrap_or(Err(Reason::StorageUnavailable)).map_err(refusal) })
    }
}

impl Health {
    pub(crate) fn storage_failed(&self) -> bool {
        self.storage_failed.load(Ordering::Relaxed)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    fn store_answered<T>(&self, result: &Result<T, StoreError>) {
        let failed = result.is_err();
        let before = self.storage_failed.swap(failed, Ordering::Relaxed);
        match result {
            Err(error) if !before => {
                error!(%error, "The store cannot be written: refusing beacons until it can");
            }
            Ok(_) if before => info!("The store can be written again"),
            _ => {}
        }
    }
}

impl Handle {
    /// Counts what waits, and ends the thread.
    pub(crate) fn stop(self) -> Result<(), StoreError> {
        // An error means that the thread has ended already: joining it tells why.
        drop(self.jobs.send(Job::Stop));
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// What the thread owns.
struct Keeper {
    store: Writer,
    rollup: Rollup,
    door: Arc<Door>,
    health: Arc<Health>,
    waiting_bytes: Arc<AtomicUsize>,
    /// What is being committed.
    group: Vec<(Batch, oneshot::Sender<Result<(), Reason>>)>,
    /// Flushes since old windows were last dropped.
    untrimmed: u32,
}

impl Keeper {
    fn run(&mut self, waiting: &Receiver<Job>) -> Result<(), StoreError> {
        let mut flush_at = Instant::now() + FLUSH_EVERY;
        let mut stop = false;
        while !stop {
            match waiting.recv_timeout(flush_at.saturating_duration_since(Instant::now())) {
                Ok(job) => {
                    stop = self.gather(job, waiting);
                    self.commit()?;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => stop = true,
            }
            if stop || Instant::now() >= flush_at || self.store.unapplied() >= FLUSH_REPORTS {
                self.flush()?;
                flush_at = Instant::now() + FLUSH_EVERY;
            }
        }
        Ok(())
    }

    /// Puts everything that waits into one group. `true` when told to stop.
    fn gather(&mut self, first: Job, waiting: &Receiver<Job>) -> bool {
        let mut job = Some(first);
        let mut gathered = 0;
        while let Some(Job::Keep { batch, bytes, answer }) = job {
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.group.push((batch, answer));
            gathered += bytes;
            if gathered >= GROUP_BYTES {
                return false;
            }
            job = waiting.try_recv().ok();
        }
        matches!(job, Some(Job::Stop))
    }

    /// Keeps the group, answers it, counts it.
    fn commit(&mut self) -> Result<(), StoreError> {
        if self.group.is_empty() {
            return Ok(());
        }
        // While flushing fails, what was counted stays in memory: there is room for so much.
        if self.store.unapplied() < MOST_UNAPPLIED {
            let kept = self.store.append_journal(self.group.iter().map(|(batch, _)| batch));
            self.health.store_answered(&kept);
            if let Ok(first) = kept {
                return self.count_group(first);
            }
        }
        for (_, answer) in self.group.drain(..) {
            self.door.refused(Reason::StorageUnavailable);
            // Whoever waited for it may be gone.
            let _gone = answer.send(Err(Reason::StorageUnavailable));
        }
        Ok(())
    }

    /// The journal holds the group from `seq` on.
    fn count_group(&mut self, mut seq: JournalSeq) -> Result<(), StoreError> {
        let reports = self.group.iter().map(|(batch, _)| batch.reports.len() as u64).sum();
        self.rollup.counts.accepted_beacons(self.group.len() as u64, reports);
        for (Batch { received_ms, reports }, answer) in self.group.drain(..) {
            // Whoever waited for it may be gone; it is kept all the same.
            let _gone = answer.send(Ok(()));
            for report in reports {
                self.rollup.apply(report, seq, received_ms, &self.store)?;
                seq += 1;
            }
        }
        Ok(())
    }

    /// Moves everything that was counted into the store. When the store cannot be written, all stays
    /// in memory, and the journal as it is.
    fn flush(&mut self) -> Result<(), StoreError> {
        let now_ms = clock::now_ms();
        self.rollup.settle(now_ms, &self.store)?;
        self.rollup.counts.take(&self.door);
        let written = self.store.apply(&self.rollup.changes());
        self.health.store_answered(&written);
        if written.is_ok() {
            self.rollup.stored(now_ms);
            self.trim(now_ms);
        }
        Ok(())
    }

    fn trim(&mut self, now_ms: i64) {
        self.untrimmed += 1;
        if self.untrimmed >= TRIM_EVERY_FLUSHES {
            self.untrimmed = 0;
            if let Err(error) = self.store.trim_windows(now_ms) {
                warn!(%error, "Old windows could not be dropped");
            }
        }
    }
}

/// Counts what was kept and not counted when the last process ended.
fn replay(rollup: &mut Rollup, store: &mut Writer, now_ms: i64) -> Result<(), StoreError> {
    let (mut batches, mut reports) = (0, 0);
    for JournalEntry { seq, received_ms, ends_batch, json } in store.unapplied_journal()? {
        batches += u64::from(ends_batch);
        reports += 1;
        match admit::replay(json) {
            Ok(report) => rollup.apply(report, seq, received_ms, store)?,
            Err(error) => {
                error!(%error, "The journal holds bytes that are no report: they are skipped and counted");
                rollup.skip_unreadable(seq);
            }
        }
    }
    if batches > 0 {
        info!(batches, "Counted {batches} batches that the journal still held");
    }
    rollup.counts.accepted_beacons(batches, reports);
    rollup.counts.close_books();
    store.apply(&rollup.changes())?;
    rollup.stored(now_ms);
    store.trim_windows(now_ms)
}

fn refusal(reason: Reason) -> ApiError {
    let message = match reason {
        Reason::Overloaded => "more beacons wait than can be kept",
        _ => "beacons cannot be kept at the moment",
    };
    ApiError::new(reason, message)
}

const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// A flush holds up those who wait: some milliseconds for so many reports.
const FLUSH_REPORTS: i64 = 1_000;

const MOST_UNAPPLIED: i64 = 50_000;

/// Enough to make a commit worth its while.
const GROUP_BYTES: usize = 2 * 1024 * 1024;

const TRIM_EVERY_FLUSHES: u32 = 60;

/// A report in memory is about this much larger than its JSON.
const BYTES_HELD_PER_BYTE: usize = 3;
