//! Files of streams: memory hands its oldest streams over to a file, and forgets them once the store knows the file.
//!
//! A stream in memory may still be revised; one that memory has forgotten cannot. So a file never changes.

use crate::aggregate::dedup::{SeqNo, Stream};
use crate::report::stream_id::StreamId;

/// The streams for one file.
pub(crate) struct RowBatch {
    /// The revisions from this number on, up to and excluding `end_seq`, are forgotten once the store knows the file.
    pub(crate) first_seq: SeqNo,
    pub(crate) end_seq: SeqNo,
    /// Those of them that are current.
    pub(crate) streams: Vec<Stream>,
}

/// A file that was written and that the store does not know yet.
pub(crate) struct RowFile {
    pub(crate) batch: RowBatch,
    pub(crate) bytes: u64,
}

/// A file, as the store records it.
pub(crate) struct StoredRowFile<'a> {
    pub(crate) file: &'a RowFile,
    /// Streams that were revised while the file was written. Its rows of them do not count.
    pub(crate) gone: Vec<StreamId>,
}
