//! Hands the oldest streams in memory over to files.

use std::ops::Range;

use super::{Aggregator, FORGET_AT_ONCE, StoredState};
use crate::aggregate::dedup::SeqNo;
use crate::aggregate::row_file::{RowBatch, RowFile};

impl Aggregator {
    /// The oldest streams that memory need not keep, once they fill a file. The store has all of them.
    pub(crate) fn next_row_batch<E: StoredState>(
        &mut self,
        now_ms: i64,
        earlier: &E,
    ) -> Result<Option<RowBatch>, E::Error> {
        let Some(in_file) = self.row_file_streams else { return Ok(None) };
        let (first_seq, end_seq) = {
            let streams = self.read_streams();
            (streams.first(), streams.evictable_end(now_ms, in_file))
        };
        if end_seq - first_seq < in_file as SeqNo {
            return Ok(None);
        }
        self.make_ready(first_seq..end_seq, now_ms, earlier)?;
        let streams = self.read_streams();
        let in_batch = streams.from(first_seq).take_while(|(seq, _)| *seq < end_seq);
        let current = in_batch.map(|(_, stream)| stream).filter(|stream| stream.stands());
        Ok(Some(RowBatch { first_seq, end_seq, streams: current.copied().collect() }))
    }

    /// Takes the file of a [batch](Self::next_row_batch). The next flush tells the store, and then its streams are
    /// forgotten.
    pub(crate) fn add_row_file(&mut self, file: RowFile) {
        self.row_file = Some(file);
    }

    /// Whether there is a file that the store does not know yet.
    pub(crate) const fn has_row_file(&self) -> bool {
        self.row_file.is_some()
    }

    /// Evicts some entries if far too many wait for a file of `in_file` streams. `false` once fewer wait.
    pub(super) fn evict_without_file<E: StoredState>(
        &mut self,
        in_file: usize,
        now_ms: i64,
        earlier: &E,
    ) -> Result<bool, E::Error> {
        let most = MOST_WAITING.max(2 * in_file);
        let (first, end) = {
            let streams = self.read_streams();
            (streams.first(), streams.evictable_end(now_ms, most))
        };
        if end - first < most as SeqNo {
            return Ok(false);
        }
        let end = first + FORGET_AT_ONCE as SeqNo;
        self.make_ready(first..end, now_ms, earlier)?;
        let (before, after) = {
            let mut streams = self.write_streams();
            let before = streams.standing();
            streams.evict_before(end);
            (before, streams.standing())
        };
        self.counts.without_row((before - after) as u64);
        Ok(true)
    }

    /// Makes these revisions ready to be evicted: renews or finalizes open streams.
    fn make_ready<E: StoredState>(
        &mut self,
        range: Range<SeqNo>,
        now_ms: i64,
        earlier: &E,
    ) -> Result<(), E::Error> {
        for seq in range {
            let is_ready = self.write_streams().ready_to_evict(seq, now_ms);
            if !is_ready {
                self.finalize_one(seq, earlier)?;
            }
        }
        Ok(())
    }
}

/// If so many revisions wait because files cannot be written, some are evicted without a file. They take 15 MB.
pub(super) const MOST_WAITING: usize = 200_000;
