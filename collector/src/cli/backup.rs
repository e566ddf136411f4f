//! `llm-rum backup`: copies a data folder, in use or not, to a folder that a collector can start from. The
//! copy contains every report that was acknowledged before the backup began.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::http::probe_files::FOLDER as PROBE;
use crate::journal::segments::base_of;
use crate::store::paths::{JOURNAL_FOLDER, ROWS_FOLDER, STORE_FILE};
use crate::store::row_files;

/// Why a backup failed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The folder contains no store.
    #[error("{0} contains no store: name the data folder of a collector")]
    NoStore(PathBuf),
    /// The target exists: a backup never overwrites files.
    #[error("{0} already exists: name a folder that does not exist")]
    Exists(PathBuf),
    /// A file cannot be read or written.
    #[error("cannot copy {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// SQLite returned an error.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The collector deleted journal files during each attempt to copy them.
    #[error("the journal changed faster than it could be copied: try again when traffic is lower")]
    Overtaken,
}

/// Writes a backup of the folder `data` to the new folder `target`. The collector may be running.
///
/// # Errors
/// If there is no store, a file cannot be read or written, or the collector is too busy. An incomplete backup
/// is removed.
pub fn backup(data: &Path, target: &Path) -> Result<(), BackupError> {
    if !data.join(STORE_FILE).exists() {
        return Err(BackupError::NoStore(data.into()));
    }
    if target.exists() {
        return Err(BackupError::Exists(target.into()));
    }
    for _ in 0..ATTEMPTS {
        let result = attempt(data, target);
        if !matches!(result, Ok(true)) {
            // An incomplete copy would look like a backup.
            remove(target)?;
        }
        if result? {
            return Ok(());
        }
    }
    Err(BackupError::Overtaken)
}

/// Copies a snapshot of the store, then the journal. The journal may be newer; a collector counts the rest at
/// its start. Returns `false` if a file that the store needs was deleted in the meantime.
fn attempt(data: &Path, target: &Path) -> Result<bool, BackupError> {
    let journal = target.join(JOURNAL_FOLDER);
    // Only users who may read the data folder may read the reports in the copy.
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&journal);
    made.map_err(failed(&journal))?;
    let store = Connection::open_with_flags(data.join(STORE_FILE), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    // A file of an earlier version does not shrink, but its copy does.
    if store.pragma_query_value(None, "auto_vacuum", |row| row.get::<_, i64>(0))? == 0 {
        store.pragma_update(None, "auto_vacuum", "incremental")?;
    }
    store.execute("VACUUM INTO ?1", [target.join(STORE_FILE).to_string_lossy()])?;
    let copy = Connection::open_with_flags(target.join(STORE_FILE), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let applied: i64 = copy.query_row("SELECT applied FROM journal", [], |row| row.get(0))?;
    copy_row_files(&row_files::names(&copy)?, &data.join(ROWS_FOLDER), &target.join(ROWS_FOLDER))?;
    drop(copy);
    let before = segments(&data.join(JOURNAL_FOLDER))?;
    for name in &before {
        let (from, to) = (data.join(JOURNAL_FOLDER).join(name), journal.join(name));
        match fs::copy(&from, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            copied => _ = copied.map_err(failed(&from))?,
        }
    }
    // A deleted file may have been recycled while it was copied, so its copy is removed.
    let after = segments(&data.join(JOURNAL_FOLDER))?;
    for name in before.iter().filter(|name| !after.contains(name)) {
        remove(&journal.join(name))?;
    }
    copy_probes(&data.join(PROBE), &target.join(PROBE))?;
    sync(target)?;
    let needed =
        before.iter().rev().find(|name| base_of(name).is_some_and(|base| base <= applied.cast_unsigned()));
    Ok(needed.or(before.first()).is_none_or(|needed| after.contains(needed)))
}

/// Copies files of streams, which never change. A collector does without those that were deleted in the meantime.
fn copy_row_files(names: &[String], from: &Path, to: &Path) -> Result<(), BackupError> {
    fs::create_dir_all(to).map_err(failed(to))?;
    for name in names {
        match fs::copy(from.join(name), to.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            copied => _ = copied.map_err(failed(&from.join(name)))?,
        }
    }
    Ok(())
}

/// Copies old versions of the probe, which pages still load. The modification times decide how long a version
/// is kept.
fn copy_probes(from: &Path, to: &Path) -> Result<(), BackupError> {
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed(from))?,
    };
    fs::create_dir_all(to).map_err(failed(to))?;
    for entry in entries {
        let (from, to) =
            entry.map(|entry| (entry.path(), to.join(entry.file_name()))).map_err(failed(from))?;
        if from.is_dir() {
            copy_probes(&from, &to)?;
            continue;
        }
        fs::copy(&from, &to).map_err(failed(&from))?;
        let came = from.metadata().and_then(|held| held.modified()).map_err(failed(&from))?;
        File::options()
            .write(true)
            .open(&to)
            .and_then(|file| file.set_modified(came))
            .map_err(failed(&to))?;
    }
    Ok(())
}

/// Names of the journal's files, oldest first: they are positions of equal length.
fn segments(folder: &Path) -> Result<Vec<String>, BackupError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let name = entry.map_err(failed(folder))?.file_name();
        names.extend(name.to_str().filter(|name| base_of(name).is_some()).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// Removes a file or folder if it exists.
fn remove(path: &Path) -> Result<(), BackupError> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path)(error)),
        _ => Ok(()),
    }
}

/// Syncs all files in the folder to disk.
fn sync(folder: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        if path.is_dir() {
            sync(&path)?;
        } else {
            File::open(&path).and_then(|file| file.sync_all()).map_err(failed(&path))?;
        }
    }
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed(folder))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> BackupError + use<> {
    let path = path.to_owned();
    move |source| BackupError::File { path, source }
}

/// A collector deletes a file about every 8 MB of reports. Only full load on a disk that copies no faster can
/// defeat five attempts.
const ATTEMPTS: usize = 5;
