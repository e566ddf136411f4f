//! Rollups of five minutes, an hour and a day, per series and per combination of labels. A thread with its
//! own connection builds them from finished minutes.
//!
//! A range is answered from some hundred rollups instead of from up to a million minutes. A rollup is complete while
//! nothing in it has changed since it was built; otherwise its parts are read.

mod build;
pub(crate) mod key;
#[cfg(test)]
mod late_tests;
mod rows;
pub(super) mod sealed_hours;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use self::build::{DueRollup, build};
use super::{engine_minutes, markers, samples};
use crate::config;
use crate::store::error::StoreError;
use crate::store::rollups::key::{FIVE_MINUTES, ROLLUP_MINUTES, span_start};
use crate::store::rollups::rows::{ROWS_AT_A_TIME, first_hour};
use crate::time::{DAY_MINUTES, HOUR_MINUTES, MINUTE_MS};

/// First minute whose window is available. It can be later than the retention setting says, if an earlier
/// setting was shorter or the clock was wrong. Before it, only sealed hours exist. The writer and the readers
/// share the value.
#[derive(Clone, Default)]
pub(crate) struct MinutesFrom(Arc<AtomicI64>);

impl MinutesFrom {
    pub(crate) fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, minute: i64) {
        self.0.store(minute, Ordering::Relaxed);
    }
}

/// Handle of the running thread; dropping it ends the thread.
pub(super) struct RollupThread {
    wake: Option<SyncSender<WakeUp>>,
    /// Stops the thread between two rollups. A shutdown does not wait for rollups that the next start can build.
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Message that wakes the thread.
struct WakeUp {
    minute: i64,
    /// Whether data older than the retention may be deleted.
    may_drop: bool,
}

impl RollupThread {
    pub(super) fn start(file: &Path, limits: config::Store) -> Result<Self, StoreError> {
        let mut connection = Connection::open(file)?;
        // If a power failure loses a rollup, it is built again: its minutes stay until it is on disk.
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.busy_timeout(Duration::from_secs(5))?;
        let (wake, woken) = mpsc::sync_channel(1);
        let ended = Arc::new(AtomicBool::new(false));
        let run = {
            let ended = ended.clone();
            move || run(&mut connection, &woken, &limits, &ended)
        };
        let thread = thread::Builder::new().name("sums".into()).spawn(run).map_err(StoreError::Thread)?;
        Ok(Self { wake: Some(wake), ended, thread: Some(thread) })
    }

    /// Requests the rollups of all spans that ended before `minute`, now or after a later call. Returns
    /// without waiting.
    pub(super) fn wake(&self, minute: i64, may_drop: bool) {
        if let Some(wake) = &self.wake {
            // If the channel is full, the thread is busy and a later call wakes it again.
            let _full = wake.try_send(WakeUp { minute, may_drop });
        }
    }
}

impl Drop for RollupThread {
    fn drop(&mut self) {
        self.wake = None;
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The panic was logged where it happened. A second panic here would abort the process.
            let _panicked = thread.join();
        }
    }
}

fn run(connection: &mut Connection, woken: &Receiver<WakeUp>, limits: &config::Store, ended: &AtomicBool) {
    while let Ok(WakeUp { minute, may_drop }) = woken.recv() {
        let done = build_due(connection, minute, ended).and_then(|all| match all && may_drop {
            true => trim(connection, minute, limits).and_then(|()| vacuum(connection, ended)),
            false => Ok(()),
        });
        if let Err(error) = done {
            tracing::warn!(%error, "Cannot roll up minutes into hours; the minutes stay, and the next run tries again");
        }
    }
}

/// Builds the rollups of all finished spans that changed. Returns `false` if a shutdown interrupted it.
fn build_due(connection: &mut Connection, minute: i64, ended: &AtomicBool) -> Result<bool, StoreError> {
    for length in ROLLUP_MINUTES {
        // Reports of the last minute may still be in flight to the store.
        while let Some(due) = due(connection, length, minute - SETTLED)? {
            if ended.load(Ordering::Relaxed) {
                return Ok(false);
            }
            build(connection, length, due)?;
        }
    }
    Ok(true)
}

/// The oldest finished span that changed since it was built. It waits until all shorter spans in it are
/// built.
fn due(connection: &Connection, length: i64, before: i64) -> Result<Option<DueRollup>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT start, changes FROM spans AS span
         WHERE length = ?1 AND summed <> changes AND start + length <= ?2
           AND NOT EXISTS (SELECT 1 FROM spans WHERE length < ?1 AND summed <> changes
                           AND start >= span.start AND start < span.start + span.length)
         ORDER BY start LIMIT 1",
    )?;
    let due = |row: &rusqlite::Row<'_>| Ok(DueRollup { start: row.get(0)?, changes: row.get(1)? });
    Ok(statement.query_row(params![length, before], due).optional()?)
}

/// Marks all rollups of a minute as incomplete, before the minute changes. Must not be called for a sealed
/// hour.
pub(super) fn touch(connection: &Connection, minute: i64) -> rusqlite::Result<()> {
    for length in ROLLUP_MINUTES {
        connection
            .prepare_cached(
                "INSERT INTO spans (length, start, changes, summed) VALUES (?1, ?2, 1, 0)
                 ON CONFLICT DO UPDATE SET changes = changes + 1",
            )?
            .execute([length, span_start(minute, length)])?;
    }
    Ok(())
}

/// First minute of the oldest hour that keeps its minutes.
pub(super) fn oldest_minute_kept(minute: i64, windows_hours: u32) -> i64 {
    span_start(minute - i64::from(windows_hours) * HOUR_MINUTES, HOUR_MINUTES)
}

/// Deletes minutes and five-minute rollups of sealed hours over the age limit, and everything older than the
/// history.
fn trim(connection: &mut Connection, minute: i64, limits: &config::Store) -> Result<(), StoreError> {
    let oldest = oldest_minute_kept(minute, limits.windows_hours);
    while let Some(hour) = first_hour(connection)?.filter(|hour| *hour < oldest) {
        if !sealed_hours::is_sealed(connection, hour)? {
            // A file of an earlier version can have minutes without an hour: create the span, so that it is
            // built.
            let mend = "INSERT OR IGNORE INTO spans (length, start, changes, summed) VALUES (?1, ?2, 1, 0)";
            connection.prepare_cached(mend)?.execute([HOUR_MINUTES, hour])?;
            break;
        }
        // From 0, because an earlier failure may have left rollups of older hours.
        drop_rollups(connection, FIVE_MINUTES, 0, hour + HOUR_MINUTES)?;
        // One transaction per minute, so that the aggregation worker never waits long.
        for minute in hour..hour + HOUR_MINUTES {
            connection.prepare_cached("DELETE FROM windows WHERE minute = ?1")?.execute([minute])?;
        }
    }
    let too_old =
        (minute - i64::from(limits.history_days) * DAY_MINUTES).div_euclid(DAY_MINUTES) * DAY_MINUTES;
    // An hour whose minutes wait to be published must stay, and with it its day.
    let held = first_hour(connection)?.map_or(too_old, |hour| hour.div_euclid(DAY_MINUTES) * DAY_MINUTES);
    for length in [HOUR_MINUTES, DAY_MINUTES] {
        drop_rollups(connection, length, 0, too_old.min(held))?;
    }
    markers::drop_before(connection, too_old * MINUTE_MS)?;
    engine_minutes::drop_before(connection, oldest)?;
    samples::drop_before(connection, too_old.div_euclid(DAY_MINUTES))
}

/// Returns free pages to the file system, except those that the next hours will fill again.
fn vacuum(connection: &Connection, ended: &AtomicBool) -> Result<(), StoreError> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let mut before = i64::MAX;
    loop {
        let (free, all) = (number("freelist_count")?, number("page_count")?);
        // A file of an earlier version may not shrink.
        if free <= all / FREE_PART || free >= before || ended.load(Ordering::Relaxed) {
            return Ok(());
        }
        before = free;
        // Small steps, so that the aggregation worker never waits long. Each row of the result is one step.
        let mut statement =
            connection.prepare_cached(&format!("PRAGMA incremental_vacuum({PAGES_AT_A_TIME})"))?;
        let mut steps = statement.query([])?;
        while steps.next()?.is_some() {}
    }
}

/// Deletes the rollups of a length that begin in the range; the end is exclusive.
fn drop_rollups(connection: &mut Connection, length: i64, from: i64, to: i64) -> Result<(), StoreError> {
    let spans = "DELETE FROM spans WHERE length = ?1 AND start >= ?2 AND start < ?3";
    if connection.prepare_cached(spans)?.execute([length, from, to])? == 0 {
        return Ok(());
    }
    let labels: Vec<i64> = {
        let mut statement = connection.prepare_cached("SELECT id FROM labels")?;
        statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?
    };
    for some in labels.chunks(ROWS_AT_A_TIME) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut delete = transaction.prepare_cached(
            "DELETE FROM sums WHERE labels = ?1 AND length = ?2 AND start >= ?3 AND start < ?4",
        )?;
        for id in some {
            delete.execute([*id, length, from, to])?;
        }
        drop(delete);
        transaction.commit()?;
    }
    Ok(())
}

/// Minutes after which only late reports change a minute.
const SETTLED: i64 = 2;

/// One part in this many of the file stays free, because days are deleted and added all the time.
const FREE_PART: i64 = 8;

const PAGES_AT_A_TIME: i64 = 200;
