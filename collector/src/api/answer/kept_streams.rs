//! What several routes ask of single streams.

use beacon::{Outcome, StreamReport};

use crate::api::request::range::Range;
use crate::store::filter::Filter;
use crate::store::query::KeptQuery;

impl Range {
    /// Query for the streams of the range that are kept, with the fields of counts and `also` others.
    pub(crate) fn kept_streams(
        self,
        filter: &Filter,
        also: impl IntoIterator<Item = &'static str>,
    ) -> KeptQuery<'_> {
        KeptQuery::of_statistics(&self.windows(filter, None, &[]), also)
    }
}

/// Whether the user left or stopped the stream before the first visible token.
pub(crate) fn was_abandoned(report: &StreamReport) -> bool {
    matches!(report.outcome, Outcome::Abandoned | Outcome::Aborted) && report.ttfv_ms.is_none()
}
