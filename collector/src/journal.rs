//! Write-ahead journal: a beacon is answered once its batch is in the journal's files, and batches are counted in the
//! order of the journal.
//!
//! Group commit: the task that enqueues first yields once, so that other ready tasks join its write. With
//! `journal.sync = "normal"` that task then writes the group if no other write is running: a write to the page cache
//! takes a few microseconds, a fifth of a hand-over to another thread. One thread writes everything else, so that no
//! worker waits for the disk with `"full"`, and at most one for a slow disk.
//!
//! Reports are counted from the bytes that were written, as they would be after a restart.

pub(crate) mod batch;
mod commit_waiters;
pub(crate) mod erasure;
mod frame;
mod group_commit;
pub(crate) mod health;
mod preallocation;
pub(crate) mod record;
mod recovery;
pub(crate) mod segments;
#[cfg(test)]
mod tests;

use std::io;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use tokio::task::yield_now;
use tracing::{error, warn};

use crate::config::{Config, Sync};
use crate::http::counters::RequestCounters;
use crate::http::error::{ApiError, Reason};
use crate::journal::batch::{Batch, Damage, FactBatch, JournaledBatch, unpack};
use crate::journal::health::Health;
use crate::journal::segments::Segments;
use crate::report::source::ReportSource;
use frame::Frame;
use group_commit::{Entered, Group, GroupQueue};
use segments::SegmentWriter;

/// Writes accepted batches, and queues written ones for counting.
pub(crate) struct Journal {
    queue: GroupQueue,
    log: Mutex<SegmentWriter>,
    counters: Arc<RequestCounters>,
    health: Arc<Health>,
    sync: Sync,
}

impl Journal {
    /// Replays the files from position `applied` on, and continues at their end.
    pub(crate) fn open<E: From<io::Error>>(
        segments: &Arc<Segments>,
        config: &Config,
        counters: Arc<RequestCounters>,
        health: Arc<Health>,
        applied: u64,
        mut each: impl FnMut(JournaledBatch) -> Result<(), E>,
    ) -> Result<(Self, Damage), E> {
        let mut damage = Damage::default();
        let found = recovery::replay(segments, applied, |position, payload, end| {
            match unpack(position, payload, end, ReportSource::Unnamed) {
                Some(batch) => each(batch),
                None => {
                    damage.unreadable += 1;
                    Ok(())
                }
            }
        })?;
        found.log();
        damage.unreadable += found.damaged;
        damage.torn += u64::from(found.torn_bytes > 0);
        damage.missing += u64::from(found.missing_bytes > 0);
        let sync = config.journal.sync;
        let log = SegmentWriter::resume(segments.clone(), found.end)?;
        let queue = GroupQueue::new(&config.ingest);
        Ok((Self { queue, log: Mutex::new(log), counters, health, sync }, damage))
    }

    /// Calls `each` with every intact batch in the files that arrived at `since_ms` or later.
    pub(crate) fn recent(
        segments: &Segments,
        since_ms: i64,
        mut each: impl FnMut(JournaledBatch),
    ) -> io::Result<()> {
        recovery::replay(segments, 0, |position, payload, end| {
            if frame::received_ms(payload).is_some_and(|received_ms| received_ms >= since_ms)
                && let Some(batch) = unpack(position, payload, end, ReportSource::Unnamed)
            {
                each(batch);
            }
            Ok::<_, io::Error>(())
        })?;
        Ok(())
    }

    /// Starts the thread that writes waiting batches. It ends after [`close`](Self::close), once no batch
    /// waits any more. Tests the disk first, so that a full one is known before the first beacon.
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<JoinHandle<()>> {
        let written = self.log().probe();
        self.health.journal_answered(&written);
        let journal = self.clone();
        thread::Builder::new().name("journal".into()).spawn(move || journal.write_groups())
    }

    /// Enqueues a batch, or refuses it at once. The returned future resolves when the batch is stored, or
    /// with the reason why it is not. That reason is counted already.
    pub(crate) fn append(
        &self,
        batch: &Batch,
    ) -> Result<impl Future<Output = Result<(), ApiError>> + use<'_>, ApiError> {
        self.append_frame(batch.pack())
    }

    /// The same for facts.
    pub(crate) fn append_facts(
        &self,
        batch: &FactBatch,
    ) -> Result<impl Future<Output = Result<(), ApiError>> + use<'_>, ApiError> {
        self.append_frame(batch.pack())
    }

    fn append_frame(
        &self,
        frame: Frame,
    ) -> Result<impl Future<Output = Result<(), ApiError>> + use<'_>, ApiError> {
        let (lead, answer) = match self.queue.enter(frame) {
            Entered::Leads(answer) => (Some(GroupLeader(self)), answer),
            Entered::Waits(answer) => (None, answer),
            Entered::Refused(reason) => return Err(refusal(reason)),
        };
        Ok(async move {
            if let Some(lead) = lead {
                yield_now().await;
                lead.write();
            }
            answer.await.map_err(refusal)
        })
    }

    /// Written batches that are to be counted.
    pub(crate) const fn queue(&self) -> &GroupQueue {
        &self.queue
    }

    /// Tests whether the disk accepts bytes again after a failed write. Without it, a collector that receives
    /// no beacons would never find out.
    pub(crate) fn probe(&self) {
        if self.health.journal_failed() && self.queue.begin_probe() {
            let written = self.log().probe();
            self.health.journal_answered(&written);
            self.queue.end_probe();
        }
    }

    /// Closes the journal: no more batches are accepted.
    pub(crate) fn close(&self) {
        self.queue.close();
    }

    fn write_groups(&self) {
        let mut scratch = Vec::new();
        while let Some(group) = self.queue.group() {
            self.write_group(group, &mut scratch, false);
            scratch.shrink_to(MOST_SCRATCH_BYTES);
        }
    }

    fn write_group(&self, mut group: Group, scratch: &mut Vec<u8>, goes_on: bool) -> Option<Group> {
        let written = self.log().append_all(&mut group.frames, scratch);
        self.answered(&written, group.frames.len());
        self.queue.wrote(group, written.ok(), goes_on)
    }

    fn answered(&self, written: &io::Result<u64>, batches: usize) {
        self.health.journal_answered(written);
        if written.is_err() {
            (0..batches).for_each(|_| self.counters.refused(Reason::StorageUnavailable));
        }
    }

    fn log(&self) -> std::sync::MutexGuard<'_, SegmentWriter> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task that leads a group. Other writers do not take the group from it.
struct GroupLeader<'a>(&'a Journal);

impl GroupLeader<'_> {
    /// Writes the group, and some that other tasks enqueue meanwhile, unless a write waits for the disk.
    fn write(self) {
        let Self(journal) = self;
        if journal.sync == Sync::Full {
            return;
        }
        mem::forget(self);
        let mut next = journal.queue.lead();
        for round in 1..=MOST_ROUNDS {
            let Some(group) = next else { break };
            next = journal.write_group(group, &mut Vec::new(), round < MOST_ROUNDS);
        }
    }
}

/// The leader's request may be cancelled before its task has written the group.
impl Drop for GroupLeader<'_> {
    fn drop(&mut self) {
        self.0.queue.stop_leading();
    }
}

impl recovery::Recovered {
    fn log(&self) {
        if self.damaged > 0 {
            let Self { damaged, damaged_bytes, .. } = self;
            error!(
                "The journal is damaged in {damaged} places ({damaged_bytes} bytes), which are skipped and counted"
            );
        }
        if self.missing_bytes > 0 {
            error!(
                "The journal lacks {} bytes that were counted: one of its files was emptied, cut or removed. \
                 Their streams stay in the statistics but cannot be listed or revised; what was not counted is lost",
                self.missing_bytes
            );
        }
        if self.torn_bytes > 0 {
            warn!(
                "The journal ended with an incomplete write: removed {} bytes that no client had a response for",
                self.torn_bytes
            );
        }
    }
}

fn refusal(reason: Reason) -> ApiError {
    let message = match reason {
        Reason::Overloaded => "too many beacons wait for the journal; try again",
        _ => "the collector cannot store beacons at the moment; try again later",
    };
    ApiError::new(reason, message)
}

/// Most groups in a row that a worker writes: it still has to respond to its own request.
const MOST_ROUNDS: usize = 4;

/// Scratch memory above this is freed after a burst.
const MOST_SCRATCH_BYTES: usize = 1024 * 1024;
