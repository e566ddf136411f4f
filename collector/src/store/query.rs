//! Queries to the store and their results, in the same types for every backend.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use beacon::StreamReport;

use crate::aggregate::cumulative_stats::CumulativeStats;
use crate::aggregate::dedup::SeqNo;
use crate::aggregate::internal_metrics::Counts;
use crate::aggregate::judgement::Judgement;
use crate::aggregate::metric::Metric;
use crate::aggregate::operation::Operation;
use crate::aggregate::sampling::SampleKind;
use crate::aggregate::series::Series;
use crate::aggregate::window_stats::{FIELDS_OF_COUNTS, WindowStats};
use crate::report::visit::VisitHash;
use crate::rows::parquet_reader::FieldsRead;
use crate::store::error::StoreError;
use crate::store::filter::Filter;

/// Which stored reports a query selects.
pub(crate) struct StreamsQuery {
    pub(crate) filter: Filter,
    /// Leaves out open streams.
    pub(crate) only_ended: bool,
    /// Range of arrival times of the latest revision; the end is exclusive.
    pub(crate) received_ms: (i64, i64),
    /// Cursor from the previous page.
    pub(crate) before: SeqNo,
    pub(crate) limit: usize,
}

/// One stored report.
pub(crate) struct StoredStream {
    pub(crate) json: String,
    pub(crate) received_ms: i64,
    /// The country in the stream's labels; may be `unknown` or `other`.
    pub(crate) country: String,
}

/// Stored reports, newest first, and the cursor of the next page.
pub(crate) struct StreamsPage {
    pub(crate) streams: Vec<StoredStream>,
    pub(crate) next: Option<SeqNo>,
}

/// Which kept reports a query selects.
pub(crate) struct KeptQuery<'a> {
    pub(crate) filter: &'a Filter,
    /// First minute, and the minute after the last.
    pub(crate) minutes: (i64, i64),
    /// Most streams that are read from files, the newest.
    pub(crate) most_in_files: u64,
    /// Only streams whose wait for the first token is in this range. `None`: all.
    pub(crate) ttft_ms: Option<RangeInclusive<f64>>,
    pub(crate) fields: FieldsRead,
}

impl<'a> KeptQuery<'a> {
    /// For statistics. `also`: fields that the query reads in addition.
    pub(crate) fn of_statistics(
        asked: &WindowsQuery<'a>,
        also: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        let of_metrics = asked.metrics.iter().flat_map(|metric| metric.definition().reads);
        let fields = FIELDS_OF_COUNTS.iter().chain(of_metrics).copied();
        let fields = fields.chain(asked.filter.reads_of_reports()).chain(also);
        let fields = FieldsRead::Only(fields.collect());
        let (filter, minutes) = (asked.filter, asked.minutes);
        Self { filter, minutes, most_in_files: MOST_IN_FILES, ttft_ms: None, fields }
    }
}

/// Whether the report's wait for the first token is in the range of a [`KeptQuery`].
pub(super) fn waited_within(report: &StreamReport, ttft_ms: Option<&RangeInclusive<f64>>) -> bool {
    ttft_ms.is_none_or(|asked| report.ttft_ms.is_some_and(|ms| asked.contains(&ms)))
}

impl KeptStream<'_> {
    /// Adds the stream to statistics, as a window counts it, with the distributions of `metrics`.
    pub(crate) fn add_to(&self, stats: &mut WindowStats, metrics: &[Metric]) {
        stats.add_with(self.report, self.judgement, metrics);
        stats.add_in_flight(self.report, self.received_ms);
    }
}

/// One stream that has ended and whose report is kept.
#[derive(Clone, Copy)]
pub(crate) struct KeptStream<'a> {
    /// The values that it is counted under.
    pub(crate) series: &'a Series,
    pub(crate) report: &'a StreamReport,
    pub(crate) received_ms: i64,
    /// By the targets that applied when it was counted.
    pub(crate) judgement: Judgement,
    /// `None` if its tab sent none, or if the query does not read it from files.
    pub(crate) visit: Option<VisitHash>,
}

/// Recent activity.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecentActivity {
    /// Length of the interval: as requested, or shorter if the memory does not reach back so far.
    pub(crate) ms: i64,
    /// Streams by outcome whose last report arrived in the interval and that are not open.
    pub(crate) ended: BTreeMap<&'static str, u64>,
    /// Accepted reports per second over the newest [`RATE_MS`]. `None` in a cluster: a revision that was
    /// replaced before it was published is known to its collector alone.
    pub(crate) reports_per_second: Option<f64>,
}

/// Reading so many streams from files takes about half a second, and an open dashboard asks every few seconds.
pub(super) const MOST_IN_FILES: u64 = 500_000;

/// Interval of the report rate.
pub(crate) const RATE_MS: i64 = 10_000;

/// All data for the Prometheus endpoint.
pub(crate) struct MetricsSnapshot {
    pub(crate) series: Vec<SeriesSnapshot>,
    /// Number of series that are left out.
    pub(crate) omitted: usize,
    pub(crate) counts: Counts,
}

/// Data of one series for the Prometheus endpoint.
pub(crate) struct SeriesSnapshot {
    pub(crate) series: Series,
    pub(crate) total: CumulativeStats,
    /// Mean time per output token in the newest windows. `None` if none of their streams has one.
    pub(crate) mean_tpot_ms: Option<f64>,
}

/// Cumulative statistics of streams with the same labels, response model and operation.
pub(crate) struct SeriesTotal {
    pub(crate) series: Series,
    pub(crate) operation: Operation,
    pub(crate) total: CumulativeStats,
}

/// Which windows a query selects.
pub(crate) struct WindowsQuery<'a> {
    pub(crate) filter: &'a Filter,
    /// First minute, and the minute after the last.
    pub(crate) minutes: (i64, i64),
    /// Longest rollup that may be used, in minutes.
    pub(crate) longest: i64,
    /// Distributions that the query needs; all others are left out of the statistics.
    pub(crate) metrics: &'a [Metric],
}

/// Which samples a query selects.
pub(crate) struct SamplesQuery {
    pub(crate) sample: SampleKind,
    pub(crate) filter: Filter,
    /// Range of arrival times; the end is exclusive.
    pub(crate) received_ms: (i64, i64),
    /// Number of samples on earlier pages.
    pub(crate) skip: usize,
    pub(crate) limit: usize,
}

impl StreamsPage {
    /// A page of samples, from all of them in order.
    pub(super) fn of_samples(
        all: impl Iterator<Item = Result<StoredStream, StoreError>>,
        asked: &SamplesQuery,
    ) -> Result<Self, StoreError> {
        let (mut streams, mut left_to_skip) = (Vec::new(), asked.skip);
        for stream in all {
            let stream = stream?;
            if !stream.is_in(&asked.filter)? {
                continue;
            }
            if left_to_skip > 0 {
                left_to_skip -= 1;
            } else if streams.len() < asked.limit {
                streams.push(stream);
            } else {
                return Ok(Self { streams, next: Some((asked.skip + asked.limit) as SeqNo) });
            }
        }
        Ok(Self { streams, next: None })
    }
}

impl StoredStream {
    /// Whether the filter selects it, as far as only the stream itself tells.
    pub(super) fn is_in(&self, filter: &Filter) -> Result<bool, StoreError> {
        Ok(filter.selects_report(&serde_json::from_str(&self.json)?))
    }
}

/// Ingest counters since the store was created.
pub(crate) struct IngestTotals {
    pub(crate) counts: Counts,
    /// Streams in the cumulative statistics.
    pub(crate) counted: u64,
}

impl IngestTotals {
    /// Merges the counters of collectors. If two counted the same stream, the one that yielded counts its
    /// reports as the other would have counted them.
    pub(super) fn merged_over_peers(mut self) -> Self {
        let twice = self.counts.merge_peers();
        Self { counted: self.counted.saturating_sub(twice), ..self }
    }
}
