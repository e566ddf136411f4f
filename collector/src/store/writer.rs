//! The writing connection: each flush is one transaction, and the next start loads the state of the last one.

mod store_file;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use beacon::StreamReport;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use tracing::warn;

use self::store_file::StoreFile;
use super::checkpoint::Checkpointer;
use super::clock_jump_guard::ClockJumpGuard;
use super::dimension_columns::{self, insert_into, with_series};
use super::folder_lock::lock;
use super::paths::JOURNAL_FOLDER;
use super::rollups::{self, MinutesFrom, RollupThread, sealed_hours};
use super::row_files::{self, RowFileThread};
use super::{dedup_log, deletion, reader, samples, schema};
use crate::aggregate::aggregator::StoredState;
use crate::aggregate::changes::{Changes, LoadedState};
use crate::aggregate::cumulative_stats::CumulativeStats;
use crate::aggregate::dedup::{SeqNo, Stream};
use crate::aggregate::dimension::{Dimension, columns};
use crate::aggregate::sampling::StoredSample;
use crate::aggregate::series::{CumulativeKey, StoredSeries};
use crate::aggregate::window::{Window, WindowKey};
use crate::aggregate::window_stats::WindowStats;
use crate::config::{self, Sync};
use crate::journal::segments::{RecordLocation, Segments};
use crate::store::error::StoreError;
use crate::store::paths::STORE_FILE;
use crate::time;
use crate::time::minute_of;

/// The only writer of windows, counters and revisions.
pub(crate) struct Writer {
    checkpointer: Checkpointer,
    rollup_thread: RollupThread,
    clock_jump_guard: ClockJumpGuard,
    windows_hours: u32,
    /// Days and bytes of files of streams.
    row_file_limits: (u32, u64),
    /// `None` if no files of streams are written.
    row_files: Option<RowFileThread>,
    data: PathBuf,
    minutes_from: MinutesFrom,
    connection: Connection,
    file: StoreFile,
    segments: Arc<Segments>,
    /// Records changes in the outbox for the publishing thread.
    publishes: bool,
    /// Locks the folder until this process ends.
    _lock: File,
}

impl Writer {
    /// Opens the store in `folder`, which it creates if missing, and migrates it to the schema of this
    /// version.
    pub(crate) fn open(folder: &Path, sync: Sync, limits: config::Store) -> Result<Self, StoreError> {
        let lock = lock(folder)?;
        let file = folder.join(STORE_FILE);
        // A file without bytes is as good as none.
        if fs::metadata(&file).map_or(true, |found| found.len() == 0) && row_files::any(folder)? {
            return Err(StoreError::Missing(file));
        }
        let mut connection = Connection::open(&file)?;
        // The other threads of this process lock the file for some 10 ms, and longer on a busy machine with a
        // slow disk. After this timeout the flush fails and is retried, and the collector is not ready.
        connection.busy_timeout(Duration::from_secs(2))?;
        connection.set_prepared_statement_cache_capacity(64);
        // Takes effect in a new file only.
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        make_shrinkable(&connection)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        // Journal files are deleted once a commit here says that they are applied, so it must be as durable
        // as they are.
        let synchronous = match sync {
            Sync::Full => "full",
            Sync::Normal => "normal",
        };
        connection.pragma_update(None, "synchronous", synchronous)?;
        connection.pragma_update(None, "cache_size", -8_192)?;
        connection.pragma_update(None, "wal_autocheckpoint", WAL_PAGES)?;
        schema::migrate(&mut connection, &file)?;
        // On a connection of its own, because it changes settings.
        deletion::complete(&Connection::open(&file)?, folder)?;
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
        let segments = Arc::new(Segments::open(&folder.join(JOURNAL_FOLDER), sync)?);
        row_files::delete_unlisted(&connection, folder)?;
        let row_file_limits = (limits.row_files_days, limits.row_files_bytes);
        let row_files = match limits.writes_row_files() {
            true => Some(RowFileThread::start(folder, file.clone(), segments.clone())?),
            false => None,
        };
        let rollup_thread = RollupThread::start(&file, limits)?;
        Ok(Self {
            checkpointer,
            rollup_thread,
            clock_jump_guard,
            windows_hours,
            row_file_limits,
            row_files,
            data: folder.into(),
            minutes_from,
            connection,
            file: StoreFile::opened(file)?,
            segments,
            publishes,
            _lock: lock,
        })
    }

    /// Limits the memory of all connections of this process. Beyond it, SQLite reuses pages instead of taking more.
    pub(crate) fn limit_sqlite(&self, bytes: usize) -> Result<(), StoreError> {
        Ok(self.connection.pragma_update(None, "soft_heap_limit", bytes as i64)?)
    }

    /// The journal's files.
    pub(crate) const fn segments(&self) -> &Arc<Segments> {
        &self.segments
    }

    /// First minute whose window is available.
    pub(crate) fn minutes_from(&self) -> MinutesFrom {
        self.minutes_from.clone()
    }

    /// Loads the state of the last transaction.
    pub(crate) fn load(&self) -> Result<LoadedState, StoreError> {
        let series = self.load_series()?;
        let applied: i64 = self.connection.query_row("SELECT applied FROM journal", [], |row| row.get(0))?;
        Ok(LoadedState {
            series,
            counts: reader::counts(&self.connection)?,
            streams: self.load_streams()?,
            remembered_from: self.remembered_from()?,
            counted_up_to: applied.cast_unsigned(),
        })
    }

    /// Writes all changes and the position up to which the journal is applied, in one transaction. Refuses them if
    /// the file was deleted, moved or replaced: the journal must keep what the next start would not find.
    pub(crate) fn write(&mut self, mut changes: Changes<'_>) -> Result<(), StoreError> {
        // A deferred transaction could read old data, and would then fail to write without waiting.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        write_series(&transaction, &changes)?;
        write_counted(&transaction, &mut changes, self.publishes)?;
        write_revisions(&transaction, &changes)?;
        samples::write(&transaction, &changes.samples)?;
        if let Some(row_file) = &changes.row_file {
            row_files::add(&transaction, row_file)?;
        }
        transaction
            .prepare_cached(
                "UPDATE journal SET applied = ?1, remembered_from = ?2
                 WHERE applied <> ?1 OR remembered_from <> ?2",
            )?
            .execute([changes.counted_up_to.cast_signed(), changes.remembered_from.cast_signed()])?;
        self.file.check()?;
        transaction.commit()?;
        self.checkpointer.wake();
        Ok(())
    }

    /// The thread that writes files of streams. `None` if none are written.
    pub(crate) const fn row_files(&mut self) -> Option<&mut RowFileThread> {
        self.row_files.as_mut()
    }

    /// Deletes the journal files before a position.
    pub(crate) fn drop_journal_before(&self, position: u64) -> io::Result<()> {
        self.segments.drop_before(position)
    }

    /// Wakes the thread that builds rollups and deletes old data. Hours whose minutes will be deleted are
    /// sealed here: the caller must have no unflushed changes to them.
    pub(crate) fn roll_up_and_trim(&mut self, now_ms: i64) {
        let minute = minute_of(now_ms);
        let may_drop = self.clock_jump_guard.may_drop(minute, time::steady());
        let oldest = rollups::oldest_minute_kept(minute, self.windows_hours);
        let kept = self.clock_jump_guard.store(&self.connection).map_err(StoreError::from);
        let sealed = kept.and_then(|()| match may_drop {
            true => {
                row_files::retire(&self.connection, &self.data, minute, self.row_file_limits)?;
                sealed_hours::seal(&self.connection, oldest)
            }
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

    fn load_series(&self) -> Result<Vec<StoredSeries>, StoreError> {
        let query = format!("SELECT id, used_day, {} FROM series ORDER BY id", columns(Dimension::all()));
        let mut statement = self.connection.prepare(&query)?;
        let rows = statement.query_map([], |row| {
            let series = dimension_columns::series(row, 2)?;
            Ok(StoredSeries { id: row.get(0)?, series, used_day: row.get(1)? })
        })?;
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
        // A row is deleted when all of its revisions are evicted; until then it also contains evicted ones.
        Ok(streams.split_off(&self.remembered_from()?))
    }

    fn remembered_from(&self) -> rusqlite::Result<SeqNo> {
        let from = |row: &rusqlite::Row<'_>| Ok(row.get::<_, i64>(0)?.cast_unsigned());
        self.connection.query_row("SELECT remembered_from FROM journal", [], from)
    }
}

/// Makes the file return free pages to the file system. Only a file created with `auto_vacuum` does that, so
/// one of an earlier version is rebuilt if that takes at most a second. A larger file reuses free space, and
/// a backup rebuilds it.
fn make_shrinkable(connection: &Connection) -> rusqlite::Result<()> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (mode, pages) = (number("auto_vacuum")?, number("page_count")?);
    // If the file already shrinks, write nothing: a full disk must not keep a collector from starting.
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

impl StoredState for Writer {
    type Error = StoreError;

    fn window(&self, at: WindowKey) -> Result<Window, StoreError> {
        if let Some(stats) = sealed_hours::sealed_hour(&self.connection, at)? {
            return Ok(Window::of_hour(stats));
        }
        let mut statement =
            self.connection.prepare_cached("SELECT stats FROM windows WHERE minute = ?1 AND series = ?2")?;
        let found: Option<Vec<u8>> =
            statement.query_row(params![at.minute, at.series], |row| row.get(0)).optional()?;
        let stats = found.map_or_else(|| Ok(WindowStats::default()), |bytes| WindowStats::decode(&bytes))?;
        Ok(Window { stats, before: None })
    }

    fn total(&self, key: CumulativeKey) -> Result<CumulativeStats, StoreError> {
        let query = "SELECT total FROM totals WHERE series = ?1 AND operation = ?2";
        let mut statement = self.connection.prepare_cached(query)?;
        let key = params![key.series, key.operation.stored_as()];
        let found: Option<Vec<u8>> = statement.query_row(key, |row| row.get(0)).optional()?;
        Ok(found.map_or_else(|| Ok(CumulativeStats::default()), |bytes| CumulativeStats::decode(&bytes))?)
    }

    fn report(&self, at: RecordLocation) -> Result<Option<StreamReport>, StoreError> {
        Ok(self.segments.report(at)?)
    }

    fn samples(&self, site: &str, day: i64) -> Result<Vec<StoredSample>, StoreError> {
        samples::of_day(&self.connection, site, day)
    }
}

fn write_series(transaction: &Transaction<'_>, changes: &Changes<'_>) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(&insert_into("series", "id"))?;
    let mut set_day = transaction.prepare_cached("UPDATE series SET used_day = ?2 WHERE id = ?1")?;
    for (id, series, used_day) in &changes.series {
        insert.execute(with_series(id, series))?;
        set_day.execute(params![id, used_day])?;
    }
    for (id, used_day) in &changes.series_days {
        set_day.execute(params![id, used_day])?;
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
        .prepare_cached("INSERT OR REPLACE INTO windows (minute, series, stats) VALUES (?1, ?2, ?3)")?;
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
    let mut total = transaction
        .prepare_cached("INSERT OR REPLACE INTO totals (series, operation, total) VALUES (?1, ?2, ?3)")?;
    for (key, value) in &mut changes.cumulative {
        total.execute(params![key.series, key.operation.stored_as(), value.encode()])?;
    }
    let mut count = transaction
        .prepare_cached("INSERT OR REPLACE INTO counts (kind, site, word, n) VALUES (?1, ?2, ?3, ?4)")?;
    for (key, n) in &changes.counts {
        count.execute(params![key.kind.as_str(), key.site, key.word, n.cast_signed()])?;
    }
    Ok(())
}

/// Returns the number of this flush, and stores the sequence number up to which revisions are in the store.
fn next_flush(transaction: &Transaction<'_>, stored: SeqNo) -> rusqlite::Result<i64> {
    let next = "UPDATE collector SET flush = flush + 1, stored = ?1 RETURNING flush";
    transaction.prepare_cached(next)?.query_row([stored.cast_signed()], |row| row.get(0))
}

/// Lists everything in the outbox before the collector publishes for the first time, or again after a pause.
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

/// Without publishing, the outbox stays empty, so that a later start with publishing is like the first. Only
/// deleted samples are recorded if ClickHouse has samples of this collector, because ClickHouse cannot learn
/// of them otherwise.
fn note_only_gone(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    // Restarts the numbering of flushes. Each statement writes only if something changes; the first needs
    // `WHERE true`.
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

/// A temporary trigger affects this connection only. Samples that expire with their day are deleted on
/// another, and ClickHouse expires them by itself.
const NOTE_GONE_SAMPLES: &str = "
    CREATE TEMP TRIGGER sample_gone AFTER DELETE ON samples BEGIN
        INSERT OR REPLACE INTO outbox_samples SELECT old.day, old.stream, flush FROM collector;
    END;
";

/// Writes revisions in rows of many. A row is deleted when all of its revisions are evicted.
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
        // Lets threads that answer beacons run first.
        thread::yield_now();
    }
    transaction
        .prepare_cached("DELETE FROM remembered WHERE newest < ?1")?
        .execute([changes.remembered_from.cast_signed()])?;
    Ok(())
}

/// About 100 kB.
const REVISIONS_A_ROW: usize = 2_048;

/// SQLite moves a row of `sums` to overflow pages above a quarter of a page, and then wastes half of the
/// space. With pages of 4 kB, half of the file was empty.
const PAGE_BYTES: u32 = 16_384;

/// Above this length of the write-ahead log, about 64 MB, a commit checkpoints by itself. The checkpoint
/// thread cannot restart the log while commits keep coming.
const WAL_PAGES: u32 = 4_000;

/// Value of `PRAGMA auto_vacuum`.
const INCREMENTAL: i64 = 2;

/// 64 MB in the page size of earlier versions.
const MOST_PAGES_AT_ONCE: i64 = 16_000;
