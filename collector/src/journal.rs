//! Nothing is answered before it is kept: accepted batches come in, stand in the journal's files when
//! they are answered, and go on, in the order of the journal, to be counted.
//!
//! Whoever brings the first batch of a group lets all others go first that a worker has at hand. With
//! `journal.sync = "normal"` it then writes them all, if nobody writes just then: the system takes them in
//! a few microseconds, a fifth of what handing them to another thread and waiting costs. All else is written
//! by one thread, so that with `"full"` no worker waits for the disk, and never more than one for a slow one.
//!
//! What is counted is read from the very bytes that were written, as it would be after a restart.

mod commit_waiters;
mod frame;
mod group_commit;
mod preallocation;
pub(crate) mod record;
mod recovery;
mod segments;
#[cfg(test)]
mod tests;

use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use beacon::StreamReport;
use tokio::task::yield_now;
use tracing::{error, info, warn};

use crate::config::{Config, Sync};
use crate::http::counters::Door;
use crate::http::error::{ApiError, Reason};
use crate::report::accepted::{Accepted, LeftOut};
use crate::report::country::Country;
use crate::report::stream_id::StreamId;
use frame::{Frame, Span};
use group_commit::{Entered, Group, Queue};
use record::Record;
use segments::Log;

pub(crate) use segments::{At, Segments, base_of};

/// The way in for accepted batches, and the way on for what was kept.
pub(crate) struct Journal {
    queue: Queue,
    log: Mutex<Log>,
    door: Arc<Door>,
    health: Arc<Health>,
    sync: Sync,
}

/// Reports that are to be kept or refused together.
pub(crate) struct Batch {
    pub(crate) received_ms: i64,
    /// `None` where nobody says.
    pub(crate) country: Option<Country>,
    /// At least one.
    pub(crate) reports: Vec<Accepted>,
    pub(crate) left_out: LeftOut,
}

/// What a frame holds of a batch.
enum Item<'a> {
    Report(&'a Accepted),
    LeftOut(LeftOut),
}

/// A batch that stands in the journal, as it was written.
pub(crate) struct Written {
    frame: Frame,
    position: u64,
}

/// A batch that stands in the journal.
pub(crate) struct Kept {
    pub(crate) received_ms: i64,
    pub(crate) reports: Vec<KeptReport>,
    pub(crate) left_out: LeftOut,
    /// Position of what follows it.
    pub(crate) end: u64,
}

/// A report that stands in the journal.
pub(crate) struct KeptReport {
    pub(crate) id: StreamId,
    /// Of the client that sent it. `None` where nobody said.
    pub(crate) country: Option<Country>,
    pub(crate) report: StreamReport,
    pub(crate) at: At,
}

/// What the journal held beside whole batches.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Batches whose bytes are whole and that are no reports of this version, and stretches that were
    /// whole once and no longer are.
    pub(crate) unreadable: u64,
    /// Ends of the journal that were being written when the process or the machine died.
    pub(crate) torn: u64,
}

/// Whether beacons can be kept, as the last attempts showed.
#[derive(Default)]
pub(crate) struct Health {
    journal_failed: AtomicBool,
    store_failed: AtomicBool,
    draining: AtomicBool,
}

impl Journal {
    /// Hands out what the files hold from position `applied` on, and goes on where they end.
    pub(crate) fn open<E: From<io::Error>>(
        segments: &Arc<Segments>,
        config: &Config,
        door: Arc<Door>,
        health: Arc<Health>,
        applied: u64,
        mut each: impl FnMut(Kept) -> Result<(), E>,
    ) -> Result<(Self, Damage), E> {
        let mut damage = Damage::default();
        let found = recovery::replay(segments, applied, |position, payload, end| {
            match unpack(position, payload, end) {
                Some(kept) => each(kept),
                None => {
                    damage.unreadable += 1;
                    Ok(())
                }
            }
        })?;
        found.tell();
        damage.unreadable += found.damaged;
        damage.torn += u64::from(found.torn_bytes > 0);
        let sync = config.journal.sync;
        let log = Log::resume(segments.clone(), found.end)?;
        let queue = Queue::new(&config.ingest);
        Ok((Self { queue, log: Mutex::new(log), door, health, sync }, damage))
    }

    /// Starts the thread that writes what waits. It ends when [`close`](Self::close) was called and
    /// nothing waits any more.
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<JoinHandle<()>> {
        let journal = self.clone();
        thread::Builder::new().name("journal".into()).spawn(move || journal.write_groups())
    }

    /// Takes a batch over, or refuses it at once. What it gives back returns when the batch is safe, or
    /// with the reason why it is not kept; that is counted already.
    pub(crate) fn keep(
        &self,
        batch: &Batch,
    ) -> Result<impl Future<Output = Result<(), ApiError>> + use<'_>, ApiError> {
        let left_out = (batch.left_out != LeftOut::default()).then_some(Item::LeftOut(batch.left_out));
        let items = batch.reports.iter().map(Item::Report).chain(left_out);
        let frame = Frame::pack(batch.received_ms, items, |item, into| match item {
            Item::Report(Accepted { id, report }) => record::write(*id, batch.country, report, into),
            Item::LeftOut(left_out) => record::write_left_out(left_out, into),
        });
        let (lead, answer) = match self.queue.enter(frame) {
            Entered::Leads(answer) => (Some(Lead(self)), answer),
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

    /// What was kept and is to be counted.
    pub(crate) const fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Tries whether the disk takes bytes again, if it did not when last asked. Nobody would find out
    /// otherwise while no beacons are sent here.
    pub(crate) fn probe(&self) {
        if self.health.journal_failed.load(Ordering::Relaxed) && self.queue.begin_probe() {
            let written = self.log().probe();
            self.health.journal_answered(&written);
            self.queue.end_probe();
        }
    }

    /// Nothing will come any more.
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
            (0..batches).for_each(|_| self.door.refused(Reason::StorageUnavailable));
        }
    }

    fn log(&self) -> std::sync::MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first of a group, which others do not take from it.
struct Lead<'a>(&'a Journal);

impl Lead<'_> {
    /// Writes the group, and some of what others bring meanwhile, where that does not wait for the disk.
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

/// Its sender may be gone before it has written.
impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.0.queue.stop_leading();
    }
}

impl Health {
    /// Neither journal nor store may fail for beacons to be welcome.
    pub(crate) fn storage_failed(&self) -> bool {
        self.journal_failed.load(Ordering::Relaxed) || self.store_failed.load(Ordering::Relaxed)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn store_answered<T, E: std::fmt::Display>(&self, result: &Result<T, E>) {
        answered(&self.store_failed, result, "store");
    }

    /// Until the next write is done.
    pub(crate) fn journal_is_too_slow(&self) {
        answered(&self.journal_failed, &Err::<(), _>("a write takes too long"), "journal");
    }

    fn journal_answered<T>(&self, result: &io::Result<T>) {
        answered(&self.journal_failed, result, "journal");
    }
}

fn answered<T, E: std::fmt::Display>(failed: &AtomicBool, result: &Result<T, E>, what: &str) {
    if failed.load(Ordering::Relaxed) == result.is_err() {
        return;
    }
    let before = failed.swap(result.is_err(), Ordering::Relaxed);
    match result {
        Err(error) if !before => error!(%error, "The {what} cannot be written: not ready until it can"),
        Ok(_) if before => info!("The {what} can be written again"),
        _ => {}
    }
}

impl recovery::Recovered {
    fn tell(&self) {
        if self.damaged > 0 {
            let Self { damaged, damaged_bytes, .. } = self;
            error!(
                "The journal is damaged in {damaged} places, {damaged_bytes} bytes: passed over and counted"
            );
        }
        if self.torn_bytes > 0 {
            warn!(
                "The end of the journal was not whole: cut {} bytes that nobody had an answer for",
                self.torn_bytes
            );
        }
    }
}

impl Written {
    /// As a restart would find it. `None` where that would find no reports in it.
    pub(crate) fn kept(&self) -> Option<Kept> {
        unpack(self.position, self.frame.payload(), self.end())
    }

    /// What it holds in memory, and of the queue's room.
    pub(crate) const fn held_bytes(&self) -> usize {
        self.frame.held_bytes()
    }

    /// Position of what follows it.
    const fn end(&self) -> u64 {
        self.position + self.frame.len() as u64
    }
}

fn unpack(position: u64, payload: &[u8], end: u64) -> Option<Kept> {
    let (received_ms, spans) = frame::unpack(payload)?;
    let mut kept =
        Kept { received_ms, reports: Vec::with_capacity(spans.len()), left_out: LeftOut::default(), end };
    for span in spans {
        let bytes = span.of(payload);
        match record::read_left_out(bytes) {
            Some(left_out) => kept.left_out = left_out,
            None => {
                let Record { id, country, report } = record::read(bytes)?;
                kept.reports.push(KeptReport { id, country, report, at: span.at(position) });
            }
        }
    }
    Some(kept)
}

impl Span {
    const fn at(self, position: u64) -> At {
        At { position: position + self.offset as u64, len: self.len }
    }
}

fn refusal(reason: Reason) -> ApiError {
    let message = match reason {
        Reason::Overloaded => "more beacons wait than can be kept",
        _ => "beacons cannot be kept at the moment",
    };
    ApiError::new(reason, message)
}

/// Groups that a worker writes for others in a row: it has a request of its own to answer.
const MOST_ROUNDS: usize = 4;

/// A burst's worth of memory is given back after it.
const MOST_SCRATCH_BYTES: usize = 1024 * 1024;
