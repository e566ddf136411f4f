//! A report that passed validation, and the counts of what a batch discards.

use beacon::StreamReport;

use super::stream_id::StreamId;
use super::visit::VisitHash;

/// A report that passed every limit; only `ingest/validate.rs` makes one. `server_timing/matcher.rs` adds facts to a
/// copy.
#[derive(Debug)]
pub(crate) struct AcceptedReport {
    pub(crate) id: StreamId,
    /// `None` if the tab sent no number.
    pub(crate) visit: Option<VisitHash>,
    /// Without the tab's number.
    pub(crate) report: StreamReport,
}

/// Items of a valid batch that are counted but not stored.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Discarded {
    /// Reports outside their site's `sample`.
    pub(crate) sampled_out: u64,
    /// Fields that this version does not know.
    pub(crate) ignored_fields: u64,
}
