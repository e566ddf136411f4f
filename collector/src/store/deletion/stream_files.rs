//! Deletes streams from the Parquet files. A file is replaced as a whole, or deleted if no stream is left in it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use beacon::StreamReport;
use rusqlite::{Connection, OptionalExtension, params};

use super::series::SeriesIds;
use super::site_deletion::SiteDeletion;
use crate::aggregate::dimension::{Dimension, UNKNOWN};
use crate::journal::erasure::sync_folder_of;
use crate::report::stream_id::StreamId;
use crate::rows::column::{StoredValues, StreamRow, stored_columns};
use crate::rows::parquet_reader::{EveryRow, FieldsRead, StoredRow, each_row};
use crate::rows::parquet_writer::ParquetWriter;
use crate::store::dimension_columns::series_of;
use crate::store::error::{StoreError, in_file};
use crate::store::paths::ROWS_FOLDER;
use crate::store::row_files::{self, UNFINISHED};

/// A file that the table lists.
struct Listed {
    first_seq: i64,
    path: PathBuf,
    bytes: i64,
}

/// The site's streams in files.
pub(super) struct StreamsInFiles {
    pub(super) deleted: u64,
    pub(super) series_that_stay: SeriesIds,
}

impl StreamsInFiles {
    pub(super) fn read(
        connection: &Connection,
        data: &Path,
        deletion: &SiteDeletion,
    ) -> Result<Self, StoreError> {
        let mut found = Self { deleted: 0, series_that_stay: SeriesIds::new() };
        for Listed { path, .. } in listed(connection, data)? {
            each(&path, ["site"], |row| {
                match deletion.selects(site_of(row.report), row.received_ms) {
                    true => found.deleted += 1,
                    false => _ = found.series_that_stay.insert(row.series),
                }
                Ok(())
            })?;
        }
        Ok(found)
    }
}

/// Rewrites the files with deleted streams.
pub(super) fn rewrite(
    connection: &Connection,
    data: &Path,
    deletion: &SiteDeletion,
) -> Result<(), StoreError> {
    for file in listed(connection, data)? {
        let (mut has_deleted, mut left) = (false, BTreeSet::new());
        each(&file.path, ["site", "id"], |row| {
            match deletion.selects(site_of(row.report), row.received_ms) {
                true => has_deleted = true,
                false => _ = left.insert(row.report.id.clone()),
            }
            Ok(())
        })?;
        let bytes = bytes_of(&file.path)?;
        if has_deleted && left.is_empty() {
            list_again(connection, &file, &left, 0)?;
            row_files::delete(&file.path).map_err(|error| in_file(&file.path)(error.into()))?;
        } else if has_deleted {
            replace(connection, &file.path, deletion).map_err(in_file(&file.path))?;
            list_again(connection, &file, &left, bytes_of(&file.path)?)?;
        } else if bytes > 0 && bytes != file.bytes {
            // A crash came between the new file and the list.
            list_again(connection, &file, &left, bytes)?;
        }
    }
    Ok(())
}

/// Replaces a file by one without the deleted streams.
fn replace(connection: &Connection, path: &Path, deletion: &SiteDeletion) -> Result<(), StoreError> {
    let unfinished = path.with_file_name(UNFINISHED);
    let mut rows = ParquetWriter::new(File::create(&unfinished)?, &stored_columns())?;
    each_row(&[(path.to_owned(), EveryRow)], &FieldsRead::All, |row| {
        let StoredRow { report, received_ms, series, judgement, visit, .. } = row;
        if deletion.selects(site_of(report), received_ms) {
            return Ok(());
        }
        let known = series_of(connection, series).optional()?;
        let country = known.as_ref().map_or(UNKNOWN, |series| &series[Dimension::Country]);
        let stored = Some(StoredValues { series, judgement, visit });
        Ok::<_, StoreError>(rows.add(&StreamRow { report, received_ms, country, stored })?)
    })?;
    rows.finish()?.sync_all()?;
    fs::rename(&unfinished, path)?;
    Ok(sync_folder_of(path)?)
}

/// Updates the list for a file that now has these streams. The file stays in the list without any, so that the files
/// before and after it leave no gap.
fn list_again(
    connection: &Connection,
    &Listed { first_seq, .. }: &Listed,
    left: &BTreeSet<String>,
    bytes: i64,
) -> Result<(), StoreError> {
    let query = "SELECT gone FROM row_files WHERE first_seq = ?1";
    let gone: Vec<u8> = connection.query_row(query, [first_seq], |row| row.get(0))?;
    let still_gone = gone.as_chunks::<16>().0.iter().filter(|id| {
        let id = StreamId::from_be_bytes(**id);
        left.contains(&format!("{id:032x}"))
    });
    let gone: Vec<u8> = still_gone.flatten().copied().collect();
    let update = "UPDATE row_files SET streams = ?2, bytes = ?3, gone = ?4 WHERE first_seq = ?1";
    connection.execute(update, params![first_seq, left.len() as i64, bytes, gone])?;
    Ok(())
}

fn site_of(report: &StreamReport) -> &str {
    report.site.as_deref().unwrap_or_default()
}

fn listed(connection: &Connection, data: &Path) -> Result<Vec<Listed>, StoreError> {
    let folder = data.join(ROWS_FOLDER);
    let mut statement = connection.prepare("SELECT first_seq, bytes FROM row_files ORDER BY first_seq")?;
    let files = statement.query_map([], |row| {
        let first_seq: i64 = row.get(0)?;
        let path = row_files::path(&folder, first_seq.cast_unsigned());
        Ok(Listed { first_seq, path, bytes: row.get(1)? })
    })?;
    Ok(files.collect::<Result<_, _>>()?)
}

/// Calls `each` with these fields of every row. A file that does not exist has none: retention may have just deleted it.
fn each<const N: usize>(
    path: &Path,
    fields: [&'static str; N],
    each: impl FnMut(StoredRow<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    if bytes_of(path)? == 0 {
        return Ok(());
    }
    let fields = FieldsRead::Only(fields.into());
    each_row(&[(path.to_owned(), EveryRow)], &fields, each).map_err(in_file(path))
}

/// 0 if the file does not exist.
fn bytes_of(path: &Path) -> Result<i64, StoreError> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len().cast_signed()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        Err(error) => Err(in_file(path)(error.into())),
    }
}
