//! The single streams of a range whose reports are kept, for questions that windows cannot answer.

use std::collections::HashMap;

use beacon::{Outcome, StreamReport};

use super::params::KeptFilter;
use super::range::Range;
use crate::aggregate::dimension::Dimension;
use crate::aggregate::judgement::Judgement;
use crate::config::Config;
use crate::config::targets::Targets;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::query::{KeptQuery, KeptStream};
use crate::time::MINUTE_MS;

/// Calls `each` with the ended streams of the range that are kept, and how they compare with their targets of today.
/// Returns the time since which all are kept, or `None` if the whole range is.
pub(super) fn each_kept(
    store: &Backend<'_>,
    range: Range,
    filter: &KeptFilter,
    config: &Config,
    mut each: impl FnMut(&KeptStream<'_>, Judgement),
) -> Result<Option<i64>, StoreError> {
    let mut targets: HashMap<[String; 2], Targets> = HashMap::new();
    let minutes = (range.from_ms / MINUTE_MS, range.to_ms / MINUTE_MS);
    let mut since_ms = None;
    let begin = |kept_since_ms| since_ms = kept_since_ms;
    let asked = KeptQuery { filter: &filter.of_windows, minutes, most_in_files: MOST_IN_FILES };
    store.each_kept(asked, begin, |stream| {
        if !filter.selects(stream.report) {
            return;
        }
        let key = [Dimension::Site, Dimension::UseCase].map(|dimension| stream.series[dimension].clone());
        let targets =
            targets.entry(key).or_insert_with_key(|[site, use_case]| config.targets(Some(site), use_case));
        each(stream, Judgement::of(stream.report, targets));
    })?;
    Ok(since_ms.filter(|since_ms| *since_ms > range.from_ms))
}

/// Whether the user left or stopped the stream before the first visible token.
pub(super) fn was_abandoned(report: &StreamReport) -> bool {
    matches!(report.outcome, Outcome::Abandoned | Outcome::Aborted) && report.ttfv_ms.is_none()
}

/// Reading so many streams from files takes about a second, and an open dashboard asks every few seconds.
const MOST_IN_FILES: u64 = 100_000;
