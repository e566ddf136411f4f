//! The state that passes between the aggregator and the store: everything that changed, and everything that is
//! loaded at the start.

use std::collections::BTreeMap;
use std::sync::RwLockReadGuard;

use crate::aggregate::cumulative_stats::CumulativeStats;
use crate::aggregate::dedup::{SeqNo, Stream, StreamRegistry};
use crate::aggregate::internal_metrics::{CountKey, Counts};
use crate::aggregate::row_file::StoredRowFile;
use crate::aggregate::sampling::SampleChanges;
use crate::aggregate::series::{CumulativeKey, Series, SeriesId, StoredSeries};
use crate::aggregate::window::{Window, WindowKey};
use crate::report::stream_id::StreamId;

/// Everything that one transaction writes to the store. After it, the journal is counted up to
/// `counted_up_to`.
///
/// Values are encoded one by one as they are written. To encode ten thousand series and a hundred thousand
/// streams at once would take as much memory again.
pub(crate) struct Changes<'a> {
    pub(crate) series: Vec<(SeriesId, &'a Series, i64)>,
    /// Later days of the last streams of stored series.
    pub(crate) series_days: Vec<(SeriesId, i64)>,
    /// Sorted by key, which is the order of the table.
    pub(crate) windows: Vec<(WindowKey, &'a mut Window)>,
    pub(crate) cumulative: Vec<(CumulativeKey, &'a mut CumulativeStats)>,
    pub(crate) counts: Vec<(&'a CountKey, u64)>,
    pub(crate) samples: SampleChanges<'a>,
    pub(crate) revisions: Revisions<'a>,
    /// A file with the streams that are forgotten now.
    pub(crate) row_file: Option<StoredRowFile<'a>>,
    /// Revisions before this number are forgotten.
    pub(crate) remembered_from: SeqNo,
    /// The journal before this position is not needed for any revision that is remembered after the write.
    pub(crate) needs_journal_from: u64,
    pub(crate) counted_up_to: u64,
    /// The store has all revisions before this number after the write.
    pub(crate) next_seq: SeqNo,
}

/// Changed revisions of streams.
pub(crate) struct Revisions<'a> {
    pub(crate) streams: RwLockReadGuard<'a, StreamRegistry>,
    /// Older revisions that were finalized since the last flush.
    pub(crate) finalized: &'a [SeqNo],
    /// Revisions from this number on are new.
    pub(crate) from: SeqNo,
}

impl Revisions<'_> {
    /// All changed revisions that are not superseded.
    pub(crate) fn each(&self) -> impl Iterator<Item = (SeqNo, Stream)> {
        let finalized = self.finalized.iter().filter_map(|&seq| Some((seq, self.streams.at(seq)?)));
        let fresh = self.streams.from(self.from).map(|(seq, stream)| (seq, *stream));
        finalized.chain(fresh).filter(|(_, stream)| !stream.superseded)
    }
}

/// The state from which counting continues after a start.
#[derive(Default)]
pub(crate) struct LoadedState {
    /// In the order of their numbers. Those of deleted series are missing.
    pub(crate) series: Vec<StoredSeries>,
    pub(crate) counts: Counts,
    pub(crate) streams: BTreeMap<SeqNo, Stream>,
    /// Revisions before this number are forgotten.
    pub(crate) remembered_from: SeqNo,
    /// Position in the journal up to which everything is counted.
    pub(crate) counted_up_to: u64,
}

/// Another collector's revision of a stream that is known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PeerRevision {
    pub(crate) id: StreamId,
    /// The site whose key the report had. Another site's stream may have the same id.
    pub(crate) site: String,
    pub(crate) rev: u32,
    /// Decides between two collectors with the same revision: the other one yields.
    pub(crate) has_precedence: bool,
}
