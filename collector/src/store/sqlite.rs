//! The one connection that writes: journal entries and changes come in, each as one transaction; the
//! state they left goes out at the next start.

use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::Duration;

use beacon::{Outcome, StreamReport};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::checkpoint::Checkpointer;
use super::{Changes, Counted, JournalEntry, JournalSeq, Loaded, StoreError, StreamRow};
use crate::config::{self, Sync};
use crate::counts::{CountKey, Counts, Kind};
use crate::journal::Batch;
use crate::rollup::{Earlier, MINUTE_MS, WindowKey};
use crate::seen::{Known, StreamId};
use crate::series::{Series, SeriesId};
use crate::tally::Tally;
use crate::totals::Total;

/// Writes to the store.
pub(crate) struct Writer {
    checkpointer: Checkpointer,
    connection: Connection,
    limits: config::Store,
    /// Of the next report in the journal.
    next_seq: JournalSeq,
    /// Up to and with this one, the journal is in windows.
    applied_seq: JournalSeq,
    /// Held for as long as this process works on the folder.
    _lock: File,
}

impl Writer {
    /// Opens the store in `folder`, made when missing, and brings it to the layout of this version.
    pub(crate) fn open(folder: &Path, sync: Sync, limits: config::Store) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Folder { path: folder.into(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let lock = File::create(folder.join("lock")).map_err(failed)?;
        // A child process holds its parent's locks until it has become another program, and a
        // collector that stops needs a moment: one that is really in use stays so for longer.
        let mut patience = 20;
        while lock.try_lock().is_err() {
            if patience == 0 {
                return Err(StoreError::InUse(folder.into()));
            }
            patience -= 1;
            thread::sleep(Duration::from_millis(50));
        }
        let file = folder.join(FILE);
        let mut connection = Connection::open(&file)?;
        // Whoever else locks the file for longer than this makes beacons wait: they are refused, and
        // come again.
        connection.busy_timeout(Duration::from_millis(250))?;
        connection.set_prepared_statement_cache_capacity(64);
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(
            None,
            "synchronous",
            match sync {
                Sync::Full => "full",
                Sync::Normal => "normal",
            },
        )?;
        connection.pragma_update(None, "cache_size", -32_768)?;
        connection.pragma_update(None, "wal_autocheckpoint", WAL_PAGES)?;
        migrate(&mut connection)?;
        let checkpointer = Checkpointer::start(&file)?;
        let applied_seq = connection.query_row("SELECT applied FROM journal", [], |row| row.get(0))?;
        let newest: Option<JournalSeq> =
            connection.query_row("SELECT max(seq) FROM reports", [], |row| row.get(0))?;
        let next_seq = newest.unwrap_or(0).max(applied_seq) + 1;
        Ok(Self { checkpointer, connection, limits, next_seq, applied_seq, _lock: lock })
    }

    /// Keeps batches, which are safe when this returns, and gives the number of their first report; the
    /// others follow it in order.
    pub(crate) fn append_journal<'a>(
        &mut self,
        batches: impl Iterator<Item = &'a Batch>,
    ) -> Result<JournalSeq, StoreError> {
        let first = self.next_seq;
        let mut next = first;
        let transaction = self.connection.transaction()?;
        let mut insert = transaction.prepare_cached(
            "INSERT INTO reports (seq, received_ms, ends_batch, report) VALUES (?1, ?2, ?3, ?4)",
        )?;
        for batch in batches {
            let last = batch.reports.len() - 1;
            for (at, report) in batch.reports.iter().enumerate() {
                insert.execute(params![next, batch.received_ms, at == last, report.json])?;
                next += 1;
            }
        }
        drop(insert);
        transaction.commit()?;
        self.next_seq = next;
        Ok(first)
    }

    /// How many reports in the journal are in no window yet.
    pub(crate) const fn unapplied(&self) -> i64 {
        self.next_seq - 1 - self.applied_seq
    }

    /// The reports in the journal that are in no window yet, in order of arrival.
    pub(crate) fn unapplied_journal(&self) -> Result<Vec<JournalEntry>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT seq, received_ms, ends_batch, report FROM reports WHERE seq > ?1 ORDER BY seq",
        )?;
        let entries = statement.query_map([self.applied_seq], |row| {
            Ok(JournalEntry {
                seq: row.get(0)?,
                received_ms: row.get(1)?,
                ends_batch: row.get(2)?,
                json: row.get(3)?,
            })
        })?;
        Ok(entries.collect::<Result<_, _>>()?)
    }

    /// The state after the last transaction. Streams silent since before `remember_from_ms` are
    /// forgotten, unless they still wait to be counted.
    pub(crate) fn load(&self, remember_from_ms: i64, most: usize) -> Result<Loaded, StoreError> {
        let series = self.load_series()?;
        let totals = self.load_totals(series.len())?;
        let known = self.load_known(remember_from_ms, most)?;
        let newest: Option<i64> =
            self.connection.query_row("SELECT max(place) FROM streams", [], |row| row.get(0))?;
        let next_place = newest.unwrap_or(0) + 1;
        Ok(Loaded { series, totals, counts: load_counts(&self.connection)?, known, next_place })
    }

    /// Writes all changes and marks all of the journal as applied, or does nothing.
    pub(crate) fn apply(&mut self, changes: &Changes<'_>) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        write_series(&transaction, &changes.series)?;
        write_counted(&transaction, changes)?;
        write_rows(&transaction, changes.rows)?;
        drop_reports(&transaction, changes.superseded)?;
        trim_streams(&transaction, self.limits.streams_kept, changes.rows.len())?;
        transaction.prepare_cached("UPDATE journal SET applied = ?1")?.execute([self.next_seq - 1])?;
        transaction.commit()?;
        self.applied_seq = self.next_seq - 1;
        self.checkpointer.wake();
        Ok(())
    }

    /// Drops windows beyond what is to be kept.
    pub(crate) fn trim_windows(&self, now_ms: i64) -> Result<(), StoreError> {
        let oldest = now_ms.div_euclid(MINUTE_MS) - i64::from(self.limits.windows_hours) * 60;
        self.connection.execute("DELETE FROM windows WHERE minute < ?1", [oldest])?;
        Ok(())
    }

    fn load_series(&self) -> Result<Vec<Series>, StoreError> {
        let mut statement =
            self.connection.prepare("SELECT site, use_case, provider, model FROM series ORDER BY id")?;
        let rows = statement.query_map([], |row| {
            Ok(Series { site: row.get(0)?, use_case: row.get(1)?, provider: row.get(2)?, model: row.get(3)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn load_totals(&self, series: usize) -> Result<Vec<Total>, StoreError> {
        let mut totals = vec![Total::default(); series];
        let mut statement = self.connection.prepare("SELECT series, total FROM totals")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let at: SeriesId = row.get(0)?;
            if let Some(slot) = totals.get_mut(at as usize) {
                *slot = Total::decode(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
            }
        }
        Ok(totals)
    }

    fn load_known(&self, from_ms: i64, most: usize) -> Result<Vec<(StreamId, Known)>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT id, rev, received_ms, minute, totalled, place FROM streams WHERE minute IS NULL
             UNION ALL
             SELECT * FROM (SELECT id, rev, received_ms, minute, totalled, place FROM streams
                            WHERE minute IS NOT NULL AND received_ms > ?1
                            ORDER BY received_ms DESC LIMIT ?2)
             ORDER BY received_ms",
        )?;
        let rows = statement.query_map(params![from_ms, most as i64], |row| {
            let known = Known {
                rev: row.get(1)?,
                received_ms: row.get(2)?,
                counted: row.get::<_, Option<i64>>(3)?.is_some(),
                totalled: row.get(4)?,
                place: row.get(5)?,
            };
            Ok((stream_id(row)?, known))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl Earlier for Writer {
    fn window(&self, at: WindowKey) -> Result<Option<Tally>, StoreError> {
        let mut statement =
            self.connection.prepare_cached("SELECT tally FROM windows WHERE minute = ?1 AND series = ?2")?;
        let found: Option<Vec<u8>> =
            statement.query_row(params![at.minute, at.series], |row| row.get(0)).optional()?;
        Ok(found.map(|bytes| Tally::decode(&bytes)).transpose()?)
    }

    fn stream(&self, place: i64) -> Result<Option<StreamRow>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, rev, outcome, series, minute, good, totalled, received_ms, report, place
             FROM streams WHERE place = ?1",
        )?;
        Ok(statement.query_row([place], stream_row).optional()?)
    }

    fn report(&self, seq: JournalSeq) -> Result<Option<StreamReport>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT report FROM reports WHERE seq = ?1")?;
        let json: Option<String> = statement.query_row([seq], |row| row.get(0)).optional()?;
        Ok(json.map(|json| serde_json::from_str(&json)).transpose()?)
    }
}

pub(super) fn load_counts(connection: &Connection) -> Result<Counts, StoreError> {
    let mut statement = connection.prepare_cached("SELECT kind, site, word, n FROM counts")?;
    let rows = statement.query_map([], |row| {
        let kind: String = row.get(0)?;
        let kind = Kind::ALL.into_iter().find(|known| known.as_str() == kind);
        Ok((kind, row.get(1)?, row.get(2)?, row.get::<_, i64>(3)?.cast_unsigned()))
    })?;
    let mut counts = std::collections::BTreeMap::new();
    for row in rows {
        let (kind, site, word, n) = row?;
        // A kind of a later version is left as it is in the store.
        if let Some(kind) = kind {
            counts.insert(CountKey { kind, site, word }, n);
        }
    }
    Ok(Counts::new(counts))
}

fn write_series(transaction: &Transaction<'_>, series: &[(SeriesId, &Series)]) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO series (id, site, use_case, provider, model) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (id, series) in series {
        insert.execute(params![id, series.site, series.use_case, series.provider, series.model])?;
    }
    Ok(())
}

fn write_counted(transaction: &Transaction<'_>, changes: &Changes<'_>) -> rusqlite::Result<()> {
    let mut window = transaction
        .prepare_cached("INSERT OR REPLACE INTO windows (minute, series, tally) VALUES (?1, ?2, ?3)")?;
    for (key, tally) in &changes.windows {
        window.execute(params![key.minute, key.series, tally])?;
    }
    let mut total =
        transaction.prepare_cached("INSERT OR REPLACE INTO totals (series, total) VALUES (?1, ?2)")?;
    for (series, bytes) in &changes.totals {
        total.execute(params![series, bytes])?;
    }
    let mut count = transaction
        .prepare_cached("INSERT OR REPLACE INTO counts (kind, site, word, n) VALUES (?1, ?2, ?3, ?4)")?;
    for (key, n) in &changes.counts {
        count.execute(params![key.kind.as_str(), key.site, key.word, n.cast_signed()])?;
    }
    Ok(())
}

fn write_rows(transaction: &Transaction<'_>, rows: &[StreamRow]) -> rusqlite::Result<()> {
    let mut upsert = transaction.prepare_cached(
        "INSERT INTO streams (id, rev, outcome, series, minute, good, totalled, received_ms, report, place)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (place) DO UPDATE SET rev = ?2, outcome = ?3, series = ?4, minute = ?5, good = ?6,
           totalled = ?7, received_ms = ?8, report = ?9",
    )?;
    for row in rows {
        upsert.execute(params![
            row.id.to_be_bytes(),
            row.rev,
            row.outcome.as_str(),
            row.series,
            row.counted.map(|counted| counted.minute),
            row.counted.map(|counted| counted.good),
            row.totalled,
            row.received_ms,
            row.report,
            row.place,
        ])?;
    }
    Ok(())
}

/// Drops the oldest streams beyond what is to be kept: some more than were written, so that it keeps
/// up, and not all at once, so that it never takes long. A stream that waits to be counted stays.
fn trim_streams(transaction: &Transaction<'_>, kept: u32, written: usize) -> rusqlite::Result<()> {
    let mut delete = transaction.prepare_cached(
        "DELETE FROM streams WHERE place IN
           (SELECT place FROM streams
            WHERE minute IS NOT NULL AND place <= (SELECT max(place) FROM streams) - ?1
            ORDER BY place LIMIT ?2)",
    )?;
    delete.execute(params![kept, written as i64 * 2 + 100])?;
    Ok(())
}

fn drop_reports(transaction: &Transaction<'_>, superseded: &[JournalSeq]) -> rusqlite::Result<()> {
    let mut delete = transaction.prepare_cached("DELETE FROM reports WHERE seq = ?1")?;
    for seq in superseded {
        delete.execute([seq])?;
    }
    Ok(())
}

fn stream_row(row: &Row<'_>) -> rusqlite::Result<StreamRow> {
    let minute: Option<i64> = row.get(4)?;
    let good: Option<bool> = row.get(5)?;
    Ok(StreamRow {
        id: stream_id(row)?,
        rev: row.get(1)?,
        outcome: outcome(&row.get::<_, String>(2)?),
        series: row.get(3)?,
        counted: minute.map(|minute| Counted { minute, good: good.unwrap_or(false) }),
        totalled: row.get(6)?,
        received_ms: row.get(7)?,
        report: row.get(8)?,
        place: row.get(9)?,
    })
}

fn stream_id(row: &Row<'_>) -> rusqlite::Result<StreamId> {
    row.get(0).map(u128::from_be_bytes)
}

fn outcome(word: &str) -> Outcome {
    Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == word).unwrap_or(Outcome::Unobserved)
}

/// Brings the file to the layout of this version, one step after the other.
fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = LAYOUTS.len() as i64;
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    for (at, layout) in LAYOUTS.iter().enumerate().skip(found as usize) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(layout)?;
        transaction.pragma_update(None, "user_version", at as i64 + 1)?;
        transaction.commit()?;
    }
    Ok(())
}

/// From this length of the write-ahead log on, about 64 MB, a commit moves it by itself: the thread for
/// that cannot start the log anew while commits keep coming.
const WAL_PAGES: u32 = 16_000;

/// Name of the file in the data folder.
pub(super) const FILE: &str = "llm-rum.sqlite";

/// Each entry leads from the layout before it to its own; entries are added, never changed.
const LAYOUTS: [&str; 1] = ["
    CREATE TABLE reports (
        seq INTEGER PRIMARY KEY, received_ms INTEGER NOT NULL, ends_batch INTEGER NOT NULL,
        report TEXT NOT NULL);
    CREATE TABLE journal (applied INTEGER NOT NULL);
    INSERT INTO journal VALUES (0);
    CREATE TABLE series (
        id INTEGER PRIMARY KEY, site TEXT NOT NULL, use_case TEXT NOT NULL, provider TEXT NOT NULL,
        model TEXT NOT NULL, UNIQUE (site, use_case, provider, model));
    CREATE TABLE windows (
        minute INTEGER NOT NULL, series INTEGER NOT NULL, tally BLOB NOT NULL,
        PRIMARY KEY (minute, series)) WITHOUT ROWID;
    CREATE TABLE totals (series INTEGER PRIMARY KEY, total BLOB NOT NULL);
    CREATE TABLE counts (
        kind TEXT NOT NULL, site TEXT NOT NULL, word TEXT NOT NULL, n INTEGER NOT NULL,
        PRIMARY KEY (kind, site, word)) WITHOUT ROWID;
    CREATE TABLE streams (
        place INTEGER PRIMARY KEY, id BLOB NOT NULL, rev INTEGER NOT NULL, outcome TEXT NOT NULL,
        series INTEGER NOT NULL, minute INTEGER, good INTEGER, totalled INTEGER NOT NULL,
        received_ms INTEGER NOT NULL, report INTEGER NOT NULL);
    CREATE INDEX streams_open ON streams (received_ms) WHERE minute IS NULL;
    CREATE TRIGGER stream_revised AFTER UPDATE OF report ON streams WHEN old.report <> new.report
        BEGIN DELETE FROM reports WHERE seq = old.report; END;
    CREATE TRIGGER stream_dropped AFTER DELETE ON streams
        BEGIN DELETE FROM reports WHERE seq = old.report; END;
"];
