//! What the collector keeps on disk, in terms of the pipeline: changes, and what is loaded at the start.
//! `store/writer.rs` writes it; `store/backend.rs` answers queries, from `store/reader.rs` and
//! `store/stream_index.rs`.

mod backend;
mod checkpoint;
mod clickhouse;
mod clock_jump_guard;
mod dedup_log;
mod range_cover;
mod reader;
mod rollups;
mod samples;
mod schema;
mod stream_index;
mod writer;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::RwLockReadGuard;
use std::time::Duration;

use crate::aggregate::blob_encoding::UnreadableBlob;
use crate::aggregate::cumulative_stats::Total;
use crate::aggregate::dedup::{Place, Stream, Streams};
use crate::aggregate::internal_metrics::{CountKey, Counts};
use crate::aggregate::sampling::SampleChanges;
use crate::aggregate::series::{Series, SeriesId};
use crate::aggregate::window::{Window, WindowKey};
use crate::config::country_database::CountryError;

pub(crate) use backend::{Books, Source};
pub use clickhouse::ClickHouseError;
pub(crate) use clickhouse::{Heard, Published, Publisher, Tables};
pub(crate) use reader::{
    Dimension, Filter, RATE_MS, Reader, SeriesSnapshot, Snapshot, StoredStream, StreamsAsked, WindowsAsked,
    open as open_to_read, snapshot,
};
pub(crate) use rollups::{MinutesFrom, ROLLUP_MINUTES};
pub(crate) use samples::SamplesAsked;
pub(crate) use stream_index::Listing;
pub(crate) use writer::{FILE as STORE, JOURNAL, Writer};

/// Everything that goes into the store in one transaction, after which the journal is applied up to
/// `applied`.
///
/// All becomes bytes one by one, as it is written: what there is of ten thousand series, and of a hundred thousand
/// streams, would take as much memory again.
pub(crate) struct Changes<'a> {
    pub(crate) series: Vec<(SeriesId, &'a Series)>,
    /// In the order of their keys, which is that of the table.
    pub(crate) windows: Vec<(WindowKey, &'a mut Window)>,
    pub(crate) totals: Vec<(SeriesId, &'a mut Total)>,
    pub(crate) counts: Vec<(&'a CountKey, u64)>,
    pub(crate) samples: SampleChanges<'a>,
    pub(crate) revisions: Revisions<'a>,
    /// Revisions before this place are forgotten.
    pub(crate) remembered_from: Place,
    /// The journal before this position is not needed, by what is remembered from then on.
    pub(crate) needs_journal_from: u64,
    pub(crate) applied: u64,
    /// Revisions before this place are in the store then.
    pub(crate) next: Place,
}

/// What changed of single streams.
pub(crate) struct Revisions<'a> {
    pub(crate) streams: RwLockReadGuard<'a, Streams>,
    /// Revisions of before that were counted since.
    pub(crate) settled: &'a [Place],
    /// Revisions from this place on are new.
    pub(crate) from: Place,
}

impl Revisions<'_> {
    /// All that stand.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Place, Stream)> {
        let settled = self.settled.iter().filter_map(|&place| Some((place, self.streams.at(place)?)));
        let fresh = self.streams.from(self.from).map(|(place, stream)| (place, *stream));
        settled.chain(fresh).filter(|(_, stream)| !stream.superseded)
    }
}

/// What the pipeline needs to go on where it stopped.
#[derive(Default)]
pub(crate) struct Loaded {
    /// In the order of their numbers.
    pub(crate) series: Vec<Series>,
    pub(crate) counts: Counts,
    pub(crate) streams: BTreeMap<Place, Stream>,
    /// Position in the journal up to which everything is counted.
    pub(crate) applied: u64,
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
    /// What waits is neither written nor refused.
    #[error("the disk has not taken within {0:?} what waits for it")]
    Hangs(Duration),
    /// What waits to be counted stands in the journal, and would take more memory than there is for it.
    #[error("the journal holds more than there is memory to count, and the store takes nothing")]
    TakesNothing(#[source] Box<Self>),
    /// The journal's files cannot be read or made.
    #[error("cannot use the journal")]
    Journal(#[from] io::Error),
    /// The file that says which country a beacon comes from.
    #[error(transparent)]
    Countries(#[from] CountryError),
    /// A version before the first release wrote it.
    #[error("the store has layout {found}, which no release has written: move {path} away to begin anew")]
    Older {
        /// Layout of the file.
        found: i64,
        /// The file.
        path: PathBuf,
    },
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
    /// ClickHouse says no, or nothing.
    #[error(transparent)]
    ClickHouse(#[from] ClickHouseError),
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
