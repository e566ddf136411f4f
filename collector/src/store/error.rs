//! Errors of the store.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use parquet::errors::ParquetError;
use rusqlite::ErrorCode;

use super::clickhouse::client::ClickHouseError;
use super::paths::{JOURNAL_FOLDER, STORE_FILE};
use crate::aggregate::blob_encoding::UnreadableBlob;
use crate::config::country_database::CountryError;

/// Errors of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder cannot be created, locked or written.
    #[error("cannot use the folder {path}, {}", remedy(source))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused to start a thread.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// Another process uses the same folder.
    #[error("another collector uses the folder {0}")]
    InUse(PathBuf),
    /// The disk did not respond in time; pending writes are neither written nor refused.
    #[error("pending writes did not reach the disk within {0:?}")]
    Hangs(Duration),
    /// The uncounted part of the journal exceeds the memory limit, and the store rejects the flush that would
    /// free memory.
    #[error("the journal backlog exceeds the memory for it, and the store rejects writes")]
    TakesNothing(#[source] Box<Self>),
    /// The store rejects the flush at the end. The journal keeps its reports, and the next start counts them.
    #[error("the store rejects the last flush")]
    NotFlushed(#[source] Box<Self>),
    /// The journal's files cannot be read or created.
    #[error("cannot use the journal")]
    Journal(#[from] io::Error),
    /// The GeoIP database cannot be used.
    #[error(transparent)]
    Countries(#[from] CountryError),
    /// The file was deleted, moved or replaced while the collector had it open.
    #[error(
        "{0} was deleted, moved or replaced while the collector runs: move it back, or stop the collector, restore a \
         backup and start it"
    )]
    Moved(PathBuf),
    /// A new store would delete the files of streams, which it does not know.
    #[error(
        "{0} is missing or empty, but the folder has files of streams: `llm-rum repair` rebuilds it, or restore a backup"
    )]
    Missing(PathBuf),
    /// A version before the first release wrote the file.
    #[error(
        "the store has layout {found}, which no release has written: move {path} away to start with an empty store"
    )]
    Older {
        /// Schema version of the file.
        found: i64,
        /// The file.
        path: PathBuf,
    },
    /// A later version wrote the file.
    #[error(
        "the store has layout {found}, but this version supports only up to {known}: use a later version"
    )]
    Newer {
        /// Schema version of the file.
        found: i64,
        /// Latest schema version that this collector supports.
        known: i64,
    },
    /// SQLite cannot use its file at the start.
    #[error("cannot use {path}, {remedy}")]
    Store {
        /// The file.
        path: PathBuf,
        /// What to do.
        remedy: &'static str,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// SQLite, or what it stores, cannot be read.
    #[error("{path} is damaged: `llm-rum repair` rebuilds it, or restore a backup")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What cannot be read.
        source: Box<Self>,
    },
    /// Another version wrote a damaged store.
    #[error(
        "the store has layout {found}, and this version repairs only {known}: use the version that wrote it"
    )]
    OtherVersion {
        /// Schema version of the file.
        found: i64,
        /// Schema version of this collector.
        known: i64,
    },
    /// A file from which data is deleted cannot be read or written.
    #[error("cannot delete from {path}, run the deletion again when this is solved")]
    Delete {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Box<Self>,
    },
    /// A deletion would divide an hour.
    #[error(
        "the minutes of the hour from {0} on are no longer stored: let the range begin and end at whole hours (UTC)"
    )]
    DividesHour(String),
    /// The query would exceed the memory budget.
    #[error("the memory budget leaves too little for the query")]
    MemoryLimited,
    /// SQLite returned an error.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// ClickHouse returned an error or did not respond.
    #[error(transparent)]
    ClickHouse(#[from] ClickHouseError),
    /// A stored window or total cannot be decoded.
    #[error(transparent)]
    Blob(#[from] Unreadable),
    /// A file of streams cannot be read or written.
    #[error("cannot use a file of streams")]
    Rows(#[from] ParquetError),
    /// A stored report cannot be parsed.
    #[error("cannot read a stored report")]
    Report(#[from] serde_json::Error),
}

impl StoreError {
    /// Names the file or folder below `data` that a start cannot use, and what to do.
    pub(crate) fn of_start(self, data: &Path) -> Self {
        let path = data.join(STORE_FILE);
        match self {
            Self::Blob(_) => Self::Damaged { path, source: Box::new(self) },
            Self::Sqlite(source) => match source.sqlite_error_code() {
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                    Self::Damaged { path, source: Box::new(Self::Sqlite(source)) }
                }
                code => Self::Store { path, remedy: sqlite_remedy(code), source },
            },
            Self::Journal(source) => Self::Folder { path: data.join(JOURNAL_FOLDER), source },
            Self::TakesNothing(source) => Self::TakesNothing(Box::new(source.of_start(data))),
            other => other,
        }
    }

    /// Whether a query was refused, or ended halfway, because the memory budget leaves too little for it.
    pub(crate) fn is_memory_limited(&self) -> bool {
        match self {
            Self::MemoryLimited => true,
            // Only the handler of the budget interrupts a query.
            Self::Sqlite(error) => error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted),
            _ => false,
        }
    }
}

/// Bytes of a window or a total that match no known format.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Unreadable(UnreadableBlob);

impl From<UnreadableBlob> for StoreError {
    fn from(unreadable: UnreadableBlob) -> Self {
        Self::Blob(Unreadable(unreadable))
    }
}

/// What to do about a file or folder that the system refuses.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => FREE_SPACE,
        ErrorKind::PermissionDenied => ALLOW,
        ErrorKind::ReadOnlyFilesystem => "mount its disk for writing",
        ErrorKind::FileTooLarge => "raise the limit for the length of files (`ulimit -f`)",
        _ => "check the path and its disk",
    }
}

fn sqlite_remedy(code: Option<ErrorCode>) -> &'static str {
    match code {
        Some(ErrorCode::DiskFull) => FREE_SPACE,
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => ALLOW,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "end the other program that uses it",
        // SQLite does not say why, but for a full disk, and not for each of its files.
        Some(ErrorCode::SystemIoFailure) => {
            "check that its disk works, has space, and allows files of any length"
        }
        _ => "check its disk, or restore a backup",
    }
}

const FREE_SPACE: &str = "free space on its disk";
const ALLOW: &str = "let the collector's user write it, and its folder";

/// Names the file from which data cannot be deleted, unless the error names one.
pub(super) fn in_file(path: &Path) -> impl FnOnce(StoreError) -> StoreError + use<> {
    let path = path.to_owned();
    |source| match source {
        StoreError::Delete { .. } => source,
        source => StoreError::Delete { path, source: Box::new(source) },
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn an_error_of_a_start_names_a_path_and_a_remedy() {
        let sqlite = |code| StoreError::Sqlite(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        let system = |kind| StoreError::Journal(io::Error::from(kind));
        for (error, expected) in [
            (sqlite(ffi::SQLITE_FULL), "cannot use data/llm-rum.sqlite, free space on its disk"),
            (
                sqlite(ffi::SQLITE_CANTOPEN),
                "cannot use data/llm-rum.sqlite, let the collector's user write it",
            ),
            (sqlite(ffi::SQLITE_NOTADB), "data/llm-rum.sqlite is damaged: `llm-rum repair` rebuilds it"),
            (system(ErrorKind::StorageFull), "cannot use the folder data/journal, free space on its disk"),
            (system(ErrorKind::ReadOnlyFilesystem), "cannot use the folder data/journal, mount its disk"),
        ] {
            let said = error.of_start(Path::new("data")).to_string();
            assert!(said.starts_with(expected), "{said}");
        }
    }
}
