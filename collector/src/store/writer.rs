//! The writing connection: each flush is one transaction, and the next start loads the state that the last one left.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use beacon::StreamReport;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use tracing::warn;

use super::checkpoint::Checkpointer;
use super::clock_jump_guard::ClockJumpGuard;
use super::paths::JOURNAL_FOLDER;
use super::rollups::{self, MinutesFrom, RollupThread, sealed_hours};
use super::{dedup_log, reader, samples, schema};
use crate::aggregate::aggregator::StoredState;
use crate::aggregate::changes::{Changes, LoadedState};
use crate::aggregate::cumulative_stats::CumulativeStats;
use crate::aggregate::dedup::{SeqNo, Stream};
use crate::aggregate::sampling::StoredSample;
use crate::aggregate::series::{Series, SeriesId};
use crate::aggregate::window::{Window, WindowKey};
use crate::aggregate::window_stats::WindowStats;
use crate::config::{self, Sync};
use crate::journal::segments::{RecordLocation, Segments};
use crate::store::error::StoreError;
use crate::store::paths::STORE_FILE;
use crate::time;
use crate::time::minute_of;

/// Writes to the store.
pub(crate) struct Writer {
    checkpointer: Checkpointer,
    rollup_thread: RollupThread,
    clock_jump_guard: ClockJumpGuard,
    windows_hours: u32,
    minutes_from: MinutesFrom,
    connection: Connection,
    segments: Arc<Segments>,
    /// What changes is noted for the thread that publishes.
    publishes: bool,
    /// Held for as long as this process works on the folder.
    _lock: File,
}

impl Writer {
    /// Opens the store in `folder`, made when missing, and brings it to the layout of this version.
    pub(crate) fn open(folder: &Path, sync: Sync, limits: config::Store) -> Result<Self, StoreError> {
        let lock = lock(folder)?;
        let file = folder.join(STORE_FILE);
        let mut connection = Connection::open(&file)?;
        // Our own threads hold the lock for some 10 ms, on a busy machine with a slow disk for much longer. Whoever
        // does for longer than this makes a flush fail, which is tried again, and the collector not ready.
        connection.busy_timeout(Duration::from_secs(2))?;
        connection.set_prepared_statement_cache_capacity(64);
        // Only a new file takes it.
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        make_shrinkable(&connection)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        // Files of the journal are let go once this says that they are applied.
        let synchronous = match sync {
            Sync::Full => "full",
            Sync::Normal => "normal",
        };
        connection.pragma_update(None, "synchronous", synchronous)?;
        connection.pragma_update(None, "cache_size", -8_192)?;
        connection.pragma_update(None, "wal_autocheckpoint", WAL_PAGES)?;
        schema::migrate(&mut connection, &file)?;
        let publishes = limits.clickhouse.is_some();
        match publishes {
            true => note_unpublished(&mut connection)?,
            false => note_only_gone(&mut connection)?,
        }
        let checkpointer = Checkpointer::start(&file)?;
        let clock_jump_guard = ClockJumpGuard::load(&connection, time::steady())?;
        let windows_hours = limits.windows_hours;
        let minutes_from = MinutesFrom::default();
        minutes_from.set(sealed_hours::end_of_sealed(&connection, minute_of(time::now_ms()))?);
        let rollup_thread = RollupThread::start(&file, limits)?;
        let segments = Arc::new(Segments::open(&folder.join(JOURNAL_FOLDER), sync)?);
        Ok(Self {
            checkpointer,
            rollup_thread,
            clock_jump_guard,
            windows_hours,
            minutes_from,
            connection,
            segments,
            publishes,
            _lock: lock,
        })
    }

    /// The journal's files.
    pub(crate) const fn segments(&self) -> &Arc<Segments> {
        &self.segments
    }

    /// Since when minutes are known.
    pub(crate) fn minutes_from(&self) -> MinutesFrom {
        self.minutes_from.clone()
    }

    /// The state after the last transaction.
    pub(crate) fn load(&self) -> Result<LoadedState, StoreError> {
        let series = self.load_series()?;
        let applied: i64 = self.connection.query_row("SELECT applied FROM journal", [], |row| row.get(0))?;
        Ok(LoadedState {
            series,
            counts: reader::counts(&self.connection)?,
            streams: self.load_streams()?,
            counted_up_to: applied.cast_unsigned(),
        })
    }

    /// Writes all changes, and that the journal is applied so far, or does nothing.
    pub(crate) fn write(&mut self, mut changes: Changes<'_>) -> Result<(), StoreError> {
        // What a deferred one has read may be old by the time it writes, and then it fails without waiting.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        write_series(&transaction, &changes.series)?;
        write_counted(&transaction, &mut changes, self.publishes)?;
        write_revisions(&transaction, &changes)?;
        samples::write(&transaction, &changes.samples)?;
        transaction
            .prepare_cached(
                "UPDATE journal SET applied = ?1, remembered_from = ?2
                 WHERE applied <> ?1 OR remembered_from <> ?2",
            )?
            .execute([changes.counted_up_to.cast_signed(), changes.remembered_from.cast_signed()])?;
        transaction.commit()?;
        self.checkpointer.wake();
        Ok(())
    }

    /// Lets go of files of the journal.
    pub(crate) fn drop_journal_before(&self, position: u64) -> io::Result<()> {
        self.segments.drop_before(position)
    }

    /// Sums what is over to hours and days, and drops what is too old: soon, on another thread. Hours whose minutes
    /// are to go are frozen at once: nobody may hold a change of a window in them that is yet to be applied.
    pub(crate) fn roll_up_and_trim(&mut self, now_ms: i64) {
        let minute = minute_of(now_ms);
        let may_drop = self.clock_jump_guard.may_drop(minute, time::steady());
        let oldest = rollups::oldest_minute_kept(minute, self.windows_hours);
        let kept = self.clock_jump_guard.store(&self.connection).map_err(StoreError::from);
        let sealed = kept.and_then(|()| match may_drop {
            true => sealed_hours::seal(&self.connection, oldest),
            false => Ok(()),
        });
        let sealed = sealed.and_then(|()| {
            self.minutes_from.set(sealed_hours::end_of_sealed(&self.connection, minute)?);
            Ok(())
        });
        if let Err(error) = &sealed {
            warn!(%error, "Cannot seal old hours; their minutes stay, and the next flush tries again");
        }
        self.rollup_thread.wake(minute, may_drop && sealed.is_ok());
    }

    fn load_series(&self) -> Result<Vec<Series>, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT site, use_case, provider, model, country FROM series ORDER BY id")?;
        let rows = statement.query_map([], |row| reader::series(row, 0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn load_streams(&self) -> Result<BTreeMap<SeqNo, Stream>, StoreError> {
        let mut streams = BTreeMap::new();
        let mut statement = self.connection.prepare("SELECT revisions FROM remembered ORDER BY flush")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let blob = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
            dedup_log::decode(blob, &mut streams)?;
        }
        let from: i64 =
            self.connection.query_row("SELECT remembered_from FROM journal", [], |row| row.get(0))?;
        // A row goes when all in it are forgotten: until then it holds some that were.
        Ok(streams.split_off(&from.cast_unsigned()))
    }
}

/// Only a file that was made for it gives free pages back. One of an earlier version is made anew where that
/// takes no longer than a second; a larger one uses free space again, and is made anew by a backup.
fn make_shrinkable(connection: &Connection) -> rusqlite::Result<()> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (mode, pages) = (number("auto_vacuum")?, number("page_count")?);
    // A disk that is full must not keep a collector from starting, and answering what it can.
    if mode == INCREMENTAL {
        return Ok(());
    }
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    if mode == 0
        && (1..=MOST_PAGES_AT_ONCE).contains(&pages)
        && let Err(error) = connection.execute_batch("VACUUM")
    {
        tracing::warn!(%error, "Cannot let the store return free space to the disk; the store reuses the space");
    }
    Ok(())
}

/// Locks the folder, made when missing, for this process.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let failed = |source| StoreError::Folder { path: folder.into(), source };
    fs::create_dir_all(folder).map_err(failed)?;
    let lock = File::create(folder.join("lock")).map_err(failed)?;
    // A child process holds its parent's locks until it has become another program, and a collector
    // that stops needs a moment: one that is really in use stays so for longer.
    let mut tries_left = 20;
    while lock.try_lock().is_err() {
        if tries_left == 0 {
            return Err(StoreError::InUse(folder.into()));
        }
        tries_left -= 1;
        thread::sleep(Duration::from_millis(50));
    }
    Ok(lock)
}

impl StoredState for Writer {
    type Error = StoreError;

    fn window(&self, at: WindowKey) -> Result<Window, StoreError> {
        if let Some(stats) = sealed_hours::sealed_hour(&self.connection, at)? {
            return Ok(Window::of_hour(stats));
        }
        let mut statement =
            self.connection.prepare_cached("SELECT tally FROM windows WHERE minute = ?1 AND series = ?2")?;
        let found: Option<Vec<u8>> =
            statement.query_row(params![at.minute, at.series], |row| row.get(0)).optional()?;
        let stats = found.map_or_else(|| Ok(WindowStats::default()), |bytes| WindowStats::decode(&bytes))?;
        Ok(Window { stats, before: None })
    }

    fn total(&self, series: SeriesId) -> Result<CumulativeStats, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT total FROM totals WHERE series = ?1")?;
        let found: Option<Vec<u8>> = statement.query_row([series], |row| row.get(0)).optional()?;
        Ok(found.map_or_else(|| Ok(CumulativeStats::default()), |bytes| CumulativeStats::decode(&bytes))?)
    }

    fn report(&self, at: RecordLocation) -> Result<Option<StreamReport>, StoreError> {
        Ok(self.segments.report(at)?)
    }

    fn samples(&self, site: &str, day: i64) -> Result<Vec<StoredSample>, StoreError> {
        samples::of_day(&self.connection, site, day)
    }
}

fn write_series(transaction: &Transaction<'_>, series: &[(SeriesId, &Series)]) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO series (id, site, use_case, provider, model, country) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (id, Series { site, use_case, provider, model, country }) in series {
        insert.execute(params![id, site, use_case, provider, model, country])?;
    }
    Ok(())
}

fn write_counted(
    transaction: &Transaction<'_>,
    changes: &mut Changes<'_>,
    publishes: bool,
) -> Result<(), StoreError> {
    let mark = if publishes { Some(next_flush(transaction, changes.next_seq)?) } else { None };
    let mut outbox = transaction
        .prepare_cached("INSERT OR REPLACE INTO outbox (minute, series, mark) VALUES (?1, ?2, ?3)")?;
    let mut window = transaction
        .prepare_cached("INSERT OR REPLACE INTO windows (minute, series, tally) VALUES (?1, ?2, ?3)")?;
    let mut touched = None;
    for (key, Window { stats, before }) in &changes.windows {
        if let Some(before) = before {
            sealed_hours::change_sealed_hour(transaction, *key, before, stats)?;
            continue;
        }
        if touched.replace(key.minute) != Some(key.minute) {
            rollups::touch(transaction, key.minute)?;
        }
        window.execute(params![key.minute, key.series, stats.encode()])?;
        if let Some(mark) = mark {
            outbox.execute(params![key.minute, key.series, mark])?;
        }
    }
    let mut total =
        transaction.prepare_cached("INSERT OR REPLACE INTO totals (series, total) VALUES (?1, ?2)")?;
    for (series, value) in &mut changes.cumulative {
        total.execute(params![*series, value.encode()])?;
    }
    let mut count = transaction
        .prepare_cached("INSERT OR REPLACE INTO counts (kind, site, word, n) VALUES (?1, ?2, ?3, ?4)")?;
    for (key, n) in &changes.counts {
        count.execute(params![key.kind.as_str(), key.site, key.word, n.cast_signed()])?;
    }
    Ok(())
}

/// The number of this flush, and how far revisions are in the store with it.
fn next_flush(transaction: &Transaction<'_>, stored: SeqNo) -> rusqlite::Result<i64> {
    let next = "UPDATE collector SET flush = flush + 1, stored = ?1 RETURNING flush";
    transaction.prepare_cached(next)?.query_row([stored.cast_signed()], |row| row.get(0))
}

/// Before a collector publishes for the first time, or again, nothing that it holds counts as published.
fn note_unpublished(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    let is_first: bool = transaction.query_row("SELECT flush = 0 FROM collector", [], |row| row.get(0))?;
    if is_first {
        let note =
            "INSERT OR IGNORE INTO outbox (minute, series, mark) SELECT minute, series, 0 FROM windows";
        transaction.execute(note, [])?;
        let note =
            "INSERT OR IGNORE INTO outbox_samples (day, stream, mark) SELECT day, stream, 0 FROM samples";
        transaction.execute(note, [])?;
    }
    transaction.execute_batch(NOTE_SAMPLES)?;
    transaction.execute_batch(NOTE_GONE_SAMPLES)?;
    transaction.commit()
}

/// While nothing is published, what comes is not noted: a start that publishes again is like the first. But where
/// ClickHouse has samples of this collector, only what is noted can tell it which have gone.
fn note_only_gone(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    // Flushes are numbered anew. Nothing is written where nothing changes: for that the first needs a condition.
    transaction.execute_batch(
        "DELETE FROM outbox WHERE true;
         DELETE FROM outbox_samples WHERE (day, stream) IN (SELECT day, stream FROM samples);
         UPDATE outbox_samples SET mark = 0 WHERE mark <> 0;
         UPDATE collector SET flush = 0 WHERE flush <> 0",
    )?;
    let has_published: bool =
        transaction.query_row("SELECT version > 0 FROM collector", [], |row| row.get(0))?;
    if has_published {
        transaction.execute_batch(NOTE_GONE_SAMPLES)?;
    }
    transaction.commit()
}

const NOTE_SAMPLES: &str = "
    CREATE TEMP TRIGGER sample_added AFTER INSERT ON samples BEGIN
        INSERT OR REPLACE INTO outbox_samples SELECT new.day, new.stream, flush FROM collector;
    END;
    CREATE TEMP TRIGGER sample_changed AFTER UPDATE ON samples BEGIN
        INSERT OR REPLACE INTO outbox_samples SELECT new.day, new.stream, flush FROM collector;
    END;
";

/// Of this connection alone: what is dropped with its day, ClickHouse drops by itself.
const NOTE_GONE_SAMPLES: &str = "
    CREATE TEMP TRIGGER sample_gone AFTER DELETE ON samples BEGIN
        INSERT OR REPLACE INTO outbox_samples SELECT old.day, old.stream, flush FROM collector;
    END;
";

/// A row for many revisions goes when all of them are forgotten.
fn write_revisions(transaction: &Transaction<'_>, changes: &Changes<'_>) -> rusqlite::Result<()> {
    let mut insert =
        transaction.prepare_cached("INSERT INTO remembered (newest, revisions) VALUES (?1, ?2)")?;
    let mut revisions = changes.revisions.each();
    let mut some = Vec::with_capacity(REVISIONS_A_ROW);
    loop {
        some.extend(revisions.by_ref().take(REVISIONS_A_ROW));
        let Some(newest) = some.iter().map(|(seq, _): &(SeqNo, Stream)| *seq).max() else { break };
        insert.execute(params![newest.cast_signed(), dedup_log::encode(&some)])?;
        some.clear();
        // Whoever answers beacons goes first.
        thread::yield_now();
    }
    transaction
        .prepare_cached("DELETE FROM remembered WHERE newest < ?1")?
        .execute([changes.remembered_from.cast_signed()])?;
    Ok(())
}

/// Some 100 kB.
const REVISIONS_A_ROW: usize = 2_048;

/// A row of `sums` goes out of line above a quarter of a page, and then wastes half of what it takes: in
/// pages of 4 kB half of the file was empty.
const PAGE_BYTES: u32 = 16_384;

/// From this length of the write-ahead log on, about 64 MB, a commit moves it by itself: the thread for
/// that cannot start the log anew while commits keep coming.
const WAL_PAGES: u32 = 4_000;

/// Of `PRAGMA auto_vacuum`.
const INCREMENTAL: i64 = 2;

/// 64 MB in the pages of those versions.
const MOST_PAGES_AT_ONCE: i64 = 16_000;
