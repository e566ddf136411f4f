//! What the collector keeps on disk, in terms of the pipeline: rows, changes and what is loaded at
//! the start. `store/sqlite.rs` writes it, `store/read.rs` answers queries from it.

mod checkpoint;
pub(crate) mod read;
mod sqlite;

use std::io;
use std::path::PathBuf;

use beacon::Outcome;

use crate::codec::UnreadableBlob;
use crate::counts::{CountKey, Counts};
use crate::rollup::WindowKey;
use crate::seen::{Known, StreamId};
use crate::series::{Series, SeriesId};
use crate::totals::Total;

pub(crate) use read::{Filter, Reader, SeriesSnapshot, Snapshot, StoredStream, StreamsAsked};
pub(crate) use sqlite::Writer;

/// One stream as it stands.
#[derive(Debug, Clone)]
pub(crate) struct StreamRow {
    /// Number of the row, in order of the streams' first arrival.
    pub(crate) place: i64,
    pub(crate) id: StreamId,
    pub(crate) rev: u32,
    pub(crate) outcome: Outcome,
    pub(crate) series: SeriesId,
    /// Where it is counted. `None` while it is open.
    pub(crate) counted: Option<Counted>,
    /// In the totals, which never take back.
    pub(crate) totalled: bool,
    /// When this revision arrived.
    pub(crate) received_ms: i64,
    /// Where the report stands in the journal.
    pub(crate) report: JournalSeq,
}

/// Number of a report in the journal, in order of arrival.
pub(crate) type JournalSeq = i64;

/// A report in the journal that is in no window yet.
pub(crate) struct JournalEntry {
    pub(crate) seq: JournalSeq,
    pub(crate) received_ms: i64,
    /// The last of its batch.
    pub(crate) ends_batch: bool,
    pub(crate) json: String,
}

/// Where and how a stream is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) minute: i64,
    /// It met the targets of that time.
    pub(crate) good: bool,
}

/// Everything that goes into the store in one transaction, after which all of the journal is applied.
pub(crate) struct Changes<'a> {
    pub(crate) series: Vec<(SeriesId, &'a Series)>,
    pub(crate) windows: Vec<(WindowKey, Vec<u8>)>,
    pub(crate) totals: Vec<(SeriesId, Vec<u8>)>,
    pub(crate) counts: Vec<(&'a CountKey, u64)>,
    pub(crate) rows: &'a [StreamRow],
    /// Reports in the journal that no stream row is about.
    pub(crate) superseded: &'a [JournalSeq],
}

/// What the pipeline needs to go on where it stopped.
pub(crate) struct Loaded {
    /// In the order of their numbers.
    pub(crate) series: Vec<Series>,
    /// By series.
    pub(crate) totals: Vec<Total>,
    pub(crate) counts: Counts,
    /// Streams to be remembered, by arrival.
    pub(crate) known: Vec<(StreamId, Known)>,
    /// Of the next stream.
    pub(crate) next_place: i64,
}

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
    #[error("another collector works on {0}")]
    InUse(PathBuf),
    /// A later version wrote it.
    #[error("the store has layout {found}, and this version knows up to {known}")]
    Newer {
        /// Layout of the file.
        found: i64,
        /// Latest layout known here.
        known: i64,
    },
    /// SQLite says no.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// Bytes of a window or a total.
    #[error(transparent)]
    Blob(#[from] Unreadable),
    /// A report that was once accepted cannot be read.
    #[error("a stored report cannot be read")]
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
