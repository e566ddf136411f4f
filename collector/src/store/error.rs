//! Why the store fails.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::clickhouse::client::ClickHouseError;
use crate::aggregate::blob_encoding::UnreadableBlob;
use crate::config::country_database::CountryError;

/// Why the store fails.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder cannot be made or locked.
    #[error("cannot use the folder {path}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system has no thread to spare.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// Another process works on the same folder.
    #[error("another collector uses the folder {0}")]
    InUse(PathBuf),
    /// What waits is neither written nor refused.
    #[error("pending writes did not reach the disk within {0:?}")]
    Hangs(Duration),
    /// What waits to be counted stands in the journal, and would take more memory than there is for it.
    #[error("the journal backlog exceeds the memory for it, and the store rejects writes")]
    TakesNothing(#[source] Box<Self>),
    /// The journal's files cannot be read or made.
    #[error("cannot use the journal")]
    Journal(#[from] io::Error),
    /// The file that says which country a beacon comes from.
    #[error(transparent)]
    Countries(#[from] CountryError),
    /// A version before the first release wrote it.
    #[error(
        "the store has layout {found}, which no release has written: move {path} away to start with an empty store"
    )]
    Older {
        /// Layout of the file.
        found: i64,
        /// The file.
        path: PathBuf,
    },
    /// A later version wrote it.
    #[error(
        "the store has layout {found}, but this version supports only up to {known}: use a later version"
    )]
    Newer {
        /// Layout of the file.
        found: i64,
        /// Latest layout known here.
        known: i64,
    },
    /// SQLite says no.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// ClickHouse says no, or nothing.
    #[error(transparent)]
    ClickHouse(#[from] ClickHouseError),
    /// Bytes of a window or a total.
    #[error(transparent)]
    Blob(#[from] Unreadable),
    /// A report that was once accepted cannot be read.
    #[error("cannot read a stored report")]
    Report(#[from] serde_json::Error),
}

/// Bytes of a window or a total that no known layout explains.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Unreadable(UnreadableBlob);

impl From<UnreadableBlob> for StoreError {
    fn from(unreadable: UnreadableBlob) -> Self {
        Self::Blob(Unreadable(unreadable))
    }
}
