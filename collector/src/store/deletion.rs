//! Deletes the streams of a site from a data folder that no collector uses.
//!
//! One transaction deletes them from the SQLite file and notes the deletion. After it, no answer shows them. Then the
//! files are cleaned: the journal, the files of streams, and the free pages of the SQLite file. If that is interrupted,
//! the next start of a collector continues from the note, before it reads or writes anything else.

mod dedup;
mod found;
mod notes;
mod series;
mod site_deletion;
mod stream_files;
mod tables;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::folder_lock::lock;
use super::paths::{JOURNAL_FOLDER, ROWS_FOLDER, STORE_FILE};
use super::row_files::{self, UNFINISHED};
use super::{reader, schema};
use crate::journal::erasure;
use crate::store::error::{StoreError, in_file};
use crate::time::{HOUR_MINUTES, MINUTE_MS, rfc3339};
pub(crate) use found::FoundData;
pub(crate) use notes::interrupted;
use notes::noted;
pub(crate) use site_deletion::SiteDeletion;
use stream_files::StreamsInFiles;

/// A data folder that this process has locked, to delete from it or to change it.
pub(crate) struct LockedStore {
    pub(super) connection: Connection,
    data: PathBuf,
    /// Locks the folder until this process ends.
    _lock: File,
}

impl LockedStore {
    pub(crate) fn open(data: &Path) -> Result<Self, StoreError> {
        let lock = lock(data)?;
        let connection = migrated(data).map_err(in_file(&data.join(STORE_FILE)))?;
        complete(&connection, data)?;
        Ok(Self { connection, data: data.into(), _lock: lock })
    }

    /// Whether the journal has reports that the store does not count yet.
    pub(crate) fn has_uncounted(&self) -> Result<bool, StoreError> {
        let counted_up_to = counted_up_to(&self.connection)?;
        let Some(newest) = erasure::files(&self.data.join(JOURNAL_FOLDER))?.pop() else { return Ok(false) };
        newest.has_batch_from(counted_up_to).map_err(|error| in_file(&newest.path)(error.into()))
    }

    /// Name under which this collector publishes.
    pub(crate) fn collector(&self) -> Result<String, StoreError> {
        Ok(self.connection.query_row("SELECT id FROM collector", [], |row| row.get(0))?)
    }

    /// Names of all sites with data.
    pub(crate) fn sites(&self) -> Result<BTreeSet<String>, StoreError> {
        sites(&self.connection)
    }

    /// Checks that the stored minutes allow the deletion.
    pub(crate) fn check(&self, deletion: &SiteDeletion) -> Result<(), StoreError> {
        check(&self.connection, deletion)
    }

    /// What the folder has of the streams.
    pub(crate) fn find(&self, deletion: &SiteDeletion) -> Result<FoundData, StoreError> {
        found::find(&self.connection, &self.data, deletion).map_err(in_file(&self.data.join(STORE_FILE)))
    }

    /// Deletes the streams.
    pub(crate) fn delete(&mut self, deletion: &SiteDeletion) -> Result<(), StoreError> {
        let file = self.data.join(STORE_FILE);
        // Reads all files first: if one cannot be read, nothing is deleted.
        let in_files = StreamsInFiles::read(&self.connection, &self.data, deletion)?;
        self.commit(deletion, &in_files.series_that_stay).map_err(in_file(&file))?;
        complete(&self.connection, &self.data)
    }

    fn commit(&mut self, deletion: &SiteDeletion, in_files: &series::SeriesIds) -> Result<(), StoreError> {
        durable(&self.connection)?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tables::delete(&transaction, deletion, in_files)?;
        notes::add(&transaction, deletion)?;
        Ok(transaction.commit()?)
    }
}

fn migrated(data: &Path) -> Result<Connection, StoreError> {
    let file = data.join(STORE_FILE);
    let mut connection = Connection::open(&file)?;
    schema::migrate(&mut connection, &file)?;
    Ok(connection)
}

/// What a data folder has of the streams. A collector may be using the folder.
pub(crate) fn find(
    data: &Path,
    deletion: &SiteDeletion,
) -> Result<(FoundData, BTreeSet<String>), StoreError> {
    let file = data.join(STORE_FILE);
    let connection = reader::open(&file).map_err(in_file(&file))?;
    check(&connection, deletion)?;
    let found = found::find(&connection, data, deletion).map_err(in_file(&file))?;
    Ok((found, sites(&connection).map_err(in_file(&file))?))
}

/// Fails if the deletion divides an hour whose minutes are no longer stored.
fn check(connection: &Connection, deletion: &SiteDeletion) -> Result<(), StoreError> {
    let divided =
        "SELECT start FROM spans WHERE length = ?1 AND frozen AND start + length > ?2 AND start < ?3
                       AND NOT (start >= ?2 AND start + length <= ?3) LIMIT 1";
    let (begin, end) = deletion.minutes();
    let divided = connection.query_row(divided, [HOUR_MINUTES, begin, end], |row| row.get(0)).optional()?;
    divided.map_or(Ok(()), |hour: i64| Err(StoreError::DividesHour(rfc3339(hour * MINUTE_MS))))
}

/// Cleans the files after deletions that were committed. No thread may be using the folder.
pub(super) fn complete(connection: &Connection, data: &Path) -> Result<(), StoreError> {
    let noted = noted(connection)?;
    if noted.is_empty() {
        return Ok(());
    }
    clean_files(connection, data, &noted).map_err(in_file(&data.join(STORE_FILE)))
}

fn clean_files(connection: &Connection, data: &Path, noted: &[SiteDeletion]) -> Result<(), StoreError> {
    // A file that a crash left behind may have the streams too.
    row_files::delete_unlisted(connection, data)?;
    for deletion in noted {
        erase_journal(connection, data, deletion)?;
        stream_files::rewrite(connection, data, deletion)?;
    }
    delete_file(&data.join(ROWS_FOLDER).join(UNFINISHED))?;
    clean_store(connection)
}

fn sites(connection: &Connection) -> Result<BTreeSet<String>, StoreError> {
    let query = "SELECT site FROM series UNION SELECT site FROM labels UNION SELECT site FROM counts WHERE site <> ''";
    let mut statement = connection.prepare(query)?;
    let sites = statement.query_map([], |row| row.get(0))?;
    Ok(sites.collect::<Result<_, _>>()?)
}

fn counted_up_to(connection: &Connection) -> Result<u64, StoreError> {
    let counted: i64 = connection.query_row("SELECT applied FROM journal", [], |row| row.get(0))?;
    Ok(counted.cast_unsigned())
}

fn erase_journal(connection: &Connection, data: &Path, deletion: &SiteDeletion) -> Result<(), StoreError> {
    let (folder, counted_up_to) = (data.join(JOURNAL_FOLDER), counted_up_to(connection)?);
    for file in erasure::files(&folder)? {
        let erased = file.erase(counted_up_to, &|received_ms, site| deletion.selects(site, received_ms));
        erased.map_err(|error| in_file(&file.path)(error.into()))?;
    }
    erasure::spares(&folder)?.iter().try_for_each(|spare| delete_file(spare))
}

/// Removes what SQLite keeps of deleted rows, in free space of the file and in its write-ahead log, and then the notes.
fn clean_store(connection: &Connection) -> Result<(), StoreError> {
    durable(connection)?;
    connection.busy_timeout(WAIT_FOR_READERS)?;
    connection.execute_batch("VACUUM")?;
    if !empties_log(connection)? {
        tracing::warn!(
            "Another program reads the store, and so its write-ahead log keeps deleted rows: end the program and \
             run the deletion again, or restart the collector"
        );
        return Ok(());
    }
    notes::remove_all(connection)?;
    empties_log(connection)?;
    Ok(())
}

/// Moves all commits into the file and empties the write-ahead log. `false` while another program reads it.
fn empties_log(connection: &Connection) -> Result<bool, StoreError> {
    let is_busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(!is_busy)
}

/// Makes each commit wait for the disk, and overwrites deleted rows with zeros.
fn durable(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "secure_delete", "on")?;
    connection.pragma_update(None, "synchronous", "full")
}

fn delete_file(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(in_file(path)(error.into())),
        _ => Ok(()),
    }
}

/// Requests for statistics take less.
const WAIT_FOR_READERS: Duration = Duration::from_secs(5);
