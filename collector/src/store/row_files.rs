//! Files of streams: the thread that writes them, and the table that lists them. A file counts once the table has it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, params};
use tracing::warn;

use super::dimension_columns::series_of;
use super::paths::ROWS_FOLDER;
use super::reader::open;
use crate::aggregate::dedup::SeqNo;
use crate::aggregate::dimension::Dimension;
use crate::aggregate::row_file::{RowBatch, RowFile, StoredRowFile};
use crate::journal::segments::Segments;
use crate::report::stream_id::StreamId;
use crate::rows::column::{StoredValues, StreamRow, stored_columns};
use crate::rows::parquet_reader;
use crate::rows::parquet_writer::ParquetWriter;
use crate::store::error::StoreError;
use crate::time::{DAY_MINUTES, MINUTE_MS, minute_of};

/// A thread that writes one file at a time.
pub(crate) struct RowFileThread {
    batches: Option<Sender<RowBatch>>,
    written: Receiver<Result<RowFile, StoreError>>,
    is_busy: bool,
    /// When the last file could not be written. Only the first failure is logged.
    failed_at: Option<Instant>,
    thread: Option<JoinHandle<()>>,
}

impl RowFileThread {
    /// `file` is the SQLite file, which has the labels of the streams.
    pub(super) fn start(data: &Path, file: PathBuf, segments: Arc<Segments>) -> Result<Self, StoreError> {
        let folder = data.join(ROWS_FOLDER);
        let failed = |source| StoreError::Folder { path: folder.clone(), source };
        fs::create_dir_all(&folder).map_err(failed)?;
        let (batches, to_write) = mpsc::channel::<RowBatch>();
        let (sender, written) = mpsc::channel();
        let run = move || {
            for batch in to_write {
                let result = write(&folder, &file, &segments, batch);
                if sender.send(result).is_err() {
                    return;
                }
            }
        };
        let thread =
            thread::Builder::new().name("row files".into()).spawn(run).map_err(StoreError::Thread)?;
        let (batches, thread) = (Some(batches), Some(thread));
        Ok(Self { batches, written, is_busy: false, failed_at: None, thread })
    }

    /// Whether the thread can take a batch.
    pub(crate) fn is_idle(&self) -> bool {
        !self.is_busy && self.failed_at.is_none_or(|failed_at| failed_at.elapsed() >= REST_AFTER_FAILURE)
    }

    pub(crate) fn write(&mut self, batch: RowBatch) {
        self.is_busy = self.batches.as_ref().is_some_and(|batches| batches.send(batch).is_ok());
    }

    /// A file that has been written since the last call. After a failure its streams are still in memory, and become a
    /// batch again.
    pub(crate) fn finished(&mut self) -> Option<RowFile> {
        let result = self.written.try_recv().ok()?;
        self.is_busy = false;
        if let Err(error) = &result
            && self.failed_at.is_none()
        {
            let error = error as &dyn std::error::Error;
            warn!(error, "Cannot write a file of streams; memory keeps them, and the collector tries again");
        }
        self.failed_at = result.is_err().then(Instant::now);
        result.ok()
    }
}

impl Drop for RowFileThread {
    fn drop(&mut self) {
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            // The panic was reported where it happened, and must not cause a second one here.
            let _panicked = thread.join();
        }
    }
}

/// Writes a file, and makes sure that it is on the disk.
fn write(folder: &Path, store: &Path, segments: &Segments, batch: RowBatch) -> Result<RowFile, StoreError> {
    let connection = open(store)?;
    let (path, unfinished) = (path(folder, batch.first_seq), folder.join(UNFINISHED));
    let mut rows = ParquetWriter::new(File::create(&unfinished)?, &stored_columns())?;
    let mut known_series = HashMap::new();
    for stream in &batch.streams {
        // The disk may have lost the report.
        let Some(record) = segments.record(stream.at)? else { continue };
        let series = match known_series.entry(stream.series) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(series_of(&connection, stream.series)?),
        };
        let (report, received_ms) = (&record.report, stream.received_ms);
        let country = &series[Dimension::Country];
        let judgement = stream.finalized.map(|counted| counted.judgement).unwrap_or_default();
        let stored = Some(StoredValues { series: stream.series, judgement, visit: record.visit });
        rows.add(&StreamRow { report, received_ms, country, stored })?;
    }
    let file = rows.finish()?;
    file.sync_all()?;
    let bytes = file.metadata()?.len();
    fs::rename(&unfinished, &path)?;
    File::open(folder)?.sync_all()?;
    Ok(RowFile { batch, bytes })
}

pub(super) fn path(folder: &Path, first_seq: SeqNo) -> PathBuf {
    folder.join(name(first_seq))
}

fn name(first_seq: SeqNo) -> String {
    format!("{first_seq:016x}.{EXTENSION}")
}

/// Names of the files that the table lists and that have streams. A store of an earlier version has no such table.
pub(crate) fn names(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    if !connection.table_exists(None, "row_files")? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare("SELECT first_seq FROM row_files WHERE streams > 0")?;
    let names = statement.query_map([], |row| Ok(name(row.get::<_, i64>(0)?.cast_unsigned())))?;
    names.collect()
}

/// Adds a file to the table.
pub(super) fn add(transaction: &Transaction<'_>, stored: &StoredRowFile<'_>) -> rusqlite::Result<()> {
    let StoredRowFile { file: RowFile { batch, bytes }, gone } = stored;
    let received = || batch.streams.iter().map(|stream| stream.received_ms);
    let (first_ms, last_ms) = (received().min().unwrap_or(0), received().max().unwrap_or(0));
    let gone: Vec<u8> = gone.iter().flat_map(|id| id.to_be_bytes()).collect();
    transaction
        .prepare_cached(
            "INSERT INTO row_files (first_seq, end_seq, streams, bytes, first_ms, last_ms, gone)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            batch.first_seq.cast_signed(),
            batch.end_seq.cast_signed(),
            batch.streams.len() as i64,
            bytes.cast_signed(),
            first_ms,
            last_ms,
            gone,
        ])?;
    Ok(())
}

/// A file that the table lists.
pub(super) struct ListedRowFile {
    pub(super) path: PathBuf,
    first_seq: SeqNo,
    end_seq: SeqNo,
    streams: u64,
    /// When its first and its last stream arrived.
    first_ms: i64,
    last_ms: i64,
    /// Its rows of these streams do not count.
    gone: Vec<StreamId>,
}

impl ListedRowFile {
    /// Whether some of its rows do not count.
    pub(super) const fn has_gone(&self) -> bool {
        !self.gone.is_empty()
    }

    /// Whether the row of this stream does not count.
    pub(super) fn is_gone(&self, id: &str) -> bool {
        !self.gone.is_empty() && StreamId::from_str_radix(id, 16).is_ok_and(|id| self.gone.contains(&id))
    }
}

/// Files that together have all streams from some time on.
pub(super) struct CoveringRowFiles {
    /// Oldest first.
    pub(super) files: Vec<ListedRowFile>,
    /// Time since which they have all streams. `None` if no stream is missing.
    pub(super) since_ms: Option<i64>,
}

/// The files with streams of a range of minutes. Memory has all streams from the revision `end` on, which arrived at
/// `since_ms` (`None` if no stream came before it). The files leave no gap before it. The oldest are left out if all
/// together have more than `most` streams.
pub(super) fn covering(
    connection: &Connection,
    data: &Path,
    (from, to): (i64, i64),
    (end, mut since_ms): (SeqNo, Option<i64>),
    most: u64,
) -> Result<CoveringRowFiles, StoreError> {
    let folder = data.join(ROWS_FOLDER);
    let mut statement = connection.prepare_cached(
        "SELECT first_seq, end_seq, streams, first_ms, last_ms, gone FROM row_files
         WHERE end_seq <= ?1 ORDER BY first_seq DESC",
    )?;
    let listed = statement.query_map([end.cast_signed()], |row| {
        let first_seq = row.get::<_, i64>(0)?.cast_unsigned();
        let gone: Vec<u8> = row.get(5)?;
        Ok(ListedRowFile {
            path: path(&folder, first_seq),
            first_seq,
            end_seq: row.get::<_, i64>(1)?.cast_unsigned(),
            streams: row.get::<_, i64>(2)?.cast_unsigned(),
            first_ms: row.get(3)?,
            last_ms: row.get(4)?,
            gone: gone.as_chunks().0.iter().map(|id| StreamId::from_be_bytes(*id)).collect(),
        })
    })?;
    let (mut covering, mut reached, mut streams) = (Vec::new(), end, 0);
    // The latest stream that is missing. Imported streams can be older than those of an earlier file.
    let mut missing_ms =
        connection.query_row("SELECT until_ms FROM retired_row_files", [], |row| row.get(0))?;
    let mut is_missing = false;
    for file in listed {
        let file = file?;
        // A file without streams is not read: an operator may have deleted all of them, and with them the file.
        let is_wanted = file.streams > 0 && minute_of(file.first_ms) < to && minute_of(file.last_ms) >= from;
        streams += if is_wanted { file.streams } else { 0 };
        is_missing =
            is_missing || file.end_seq != reached || streams > most || is_wanted && !is_readable(&file.path);
        if is_missing {
            missing_ms = file.last_ms.max(missing_ms);
            continue;
        }
        (reached, since_ms) = (file.first_seq, Some(file.first_ms));
        if is_wanted {
            covering.push(file);
        }
    }
    covering.reverse();
    let since_ms = since_ms.filter(|_| reached > 0).map(|since_ms| since_ms.max(missing_ms + 1));
    Ok(CoveringRowFiles { files: covering, since_ms })
}

/// A file may be damaged, or retention may have just deleted it.
fn is_readable(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => {
            let is_whole = parquet_reader::is_whole(file);
            if !is_whole {
                warn!(path = %path.display(), "A file of streams is damaged");
            }
            is_whole
        }
        Err(error) => {
            if error.kind() != ErrorKind::NotFound {
                warn!(%error, path = %path.display(), "Cannot open a file of streams");
            }
            false
        }
    }
}

/// Deletes the files whose streams are older than `days`, and the oldest of those that together have more than `most_bytes`.
pub(super) fn retire(
    connection: &Connection,
    data: &Path,
    now_minute: i64,
    (days, most_bytes): (u32, u64),
) -> Result<(), StoreError> {
    let oldest_minute = if days > 0 { now_minute - i64::from(days) * DAY_MINUTES } else { i64::MAX };
    let oldest_ms = oldest_minute.saturating_mul(MINUTE_MS);
    let transaction = connection.unchecked_transaction()?;
    let mut retire = transaction.prepare_cached(
        "DELETE FROM row_files WHERE last_ms < ?1 OR first_seq IN (
            SELECT first_seq FROM (
                SELECT first_seq, sum(bytes) OVER (ORDER BY first_seq DESC) AS total FROM row_files)
            WHERE total > ?2)
         RETURNING first_seq, last_ms",
    )?;
    let most_bytes = i64::try_from(most_bytes).unwrap_or(i64::MAX);
    let retired = retire.query_map([oldest_ms, most_bytes], |row| <(i64, i64)>::try_from(row))?;
    let retired = retired.collect::<Result<Vec<_>, _>>()?;
    drop(retire);
    if let Some(until_ms) = retired.iter().map(|(_, last_ms)| *last_ms).max() {
        transaction.execute("UPDATE retired_row_files SET until_ms = max(until_ms, ?1)", [until_ms])?;
    }
    transaction.commit()?;
    for (first_seq, _) in retired {
        delete(&path(&data.join(ROWS_FOLDER), first_seq.cast_unsigned()))?;
    }
    Ok(())
}

/// Whether the data folder has a file of streams.
pub(super) fn any(data: &Path) -> Result<bool, StoreError> {
    Ok(!on_disk(data)?.is_empty())
}

/// Deletes the files that the table does not list, which a crash left behind. No thread may be writing one.
pub(super) fn delete_unlisted(connection: &Connection, data: &Path) -> Result<(), StoreError> {
    let mut listed = connection.prepare_cached("SELECT 1 FROM row_files WHERE first_seq = ?1")?;
    for (first_seq, path) in on_disk(data)? {
        if !listed.exists([first_seq.cast_signed()])? {
            delete(&path).map_err(|source| StoreError::Folder { path, source })?;
        }
    }
    Ok(())
}

/// The files of streams in the data folder, listed or not.
fn on_disk(data: &Path) -> Result<Vec<(SeqNo, PathBuf)>, StoreError> {
    let folder = data.join(ROWS_FOLDER);
    let failed = |source| StoreError::Folder { path: folder.clone(), source };
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    Ok(paths.map_err(failed)?.into_iter().filter_map(|path| Some((first_seq_of(&path)?, path))).collect())
}

pub(super) fn delete(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        deleted => deleted,
    }
}

/// `None` if it is not a file of streams.
fn first_seq_of(path: &Path) -> Option<SeqNo> {
    (path.extension()? == EXTENSION).then(|| SeqNo::from_str_radix(path.file_stem()?.to_str()?, 16).ok())?
}

/// Time from a failed write to the next: a full disk stays full for long.
const REST_AFTER_FAILURE: Duration = Duration::from_secs(30);

const EXTENSION: &str = "parquet";
/// Name of a file while it is written.
pub(super) const UNFINISHED: &str = "unfinished";
