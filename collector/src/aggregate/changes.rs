//! The state that passes between the aggregator and the store: everything that changed, and everything that is
//! loaded at the start.

use std::collections::BTreeMap;
use std::sync::RwLockReadGuard;

use crate::aggregate::cumulative_stats::CumulativeStats;
use crate::aggregate::dedup::{SeqNo, Stream, StreamRegistry};
use crate::aggregate::internal_metrics::{CountKey, Counts};
use crate::aggregate::sampling::SampleChanges;
use crate::aggregate::series::{Series, SeriesId};
use crate::aggregate::window::{Window, WindowKey};
use crate::report::stream_id::StreamId;

/// Everything that goes into the store in one transaction, after which the journal is applied up to
/// `applied`.
///
/// All becomes bytes one by one, as it is written: what there is of ten thousand series, and of a hundred thousand
/// streams, would take as much memory again.
pub(crate) struct Changes<'a> {
    pub(crate) series: Vec<(SeriesId, &'a Series)>,
    /// In the order of their keys, which is that of the table.
    pub(crate) windows: Vec<(WindowKey, &'a mut Window)>,
    pub(crate) cumulative: Vec<(SeriesId, &'a mut CumulativeStats)>,
    pub(crate) counts: Vec<(&'a CountKey, u64)>,
    pub(crate) samples: SampleChanges<'a>,
    pub(crate) revisions: Revisions<'a>,
    /// Revisions before this place are forgotten.
    pub(crate) remembered_from: SeqNo,
    /// The journal before this position is not needed, by what is remembered from then on.
    pub(crate) needs_journal_from: u64,
    pub(crate) counted_up_to: u64,
    /// Revisions before this place are in the store then.
    pub(crate) next_seq: SeqNo,
}

/// What changed of single streams.
pub(crate) struct Revisions<'a> {
    pub(crate) streams: RwLockReadGuard<'a, StreamRegistry>,
    /// Revisions of before that were counted since.
    pub(crate) finalized: &'a [SeqNo],
    /// Revisions from this place on are new.
    pub(crate) from: SeqNo,
}

impl Revisions<'_> {
    /// All that stand.
    pub(crate) fn each(&self) -> impl Iterator<Item = (SeqNo, Stream)> {
        let finalized = self.finalized.iter().filter_map(|&seq| Some((seq, self.streams.at(seq)?)));
        let fresh = self.streams.from(self.from).map(|(seq, stream)| (seq, *stream));
        finalized.chain(fresh).filter(|(_, stream)| !stream.superseded)
    }
}

/// What the pipeline needs to go on where it stopped.
#[derive(Default)]
pub(crate) struct LoadedState {
    /// In the order of their numbers.
    pub(crate) series: Vec<Series>,
    pub(crate) counts: Counts,
    pub(crate) streams: BTreeMap<SeqNo, Stream>,
    /// Position in the journal up to which everything is counted.
    pub(crate) counted_up_to: u64,
}

/// Another collector's revision of a stream that is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeerRevision {
    pub(crate) id: StreamId,
    pub(crate) rev: u32,
    /// Of two collectors with the same revision one has to give way.
    pub(crate) has_precedence: bool,
}
