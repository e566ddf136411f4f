//! Questions to the store and their answers, in the same terms for every backend.

use std::collections::BTreeMap;

use beacon::Outcome;

use crate::aggregate::cumulative_stats::CumulativeStats;
use crate::aggregate::dedup::SeqNo;
use crate::aggregate::internal_metrics::Counts;
use crate::aggregate::metric::Metric;
use crate::aggregate::sampling::SampleKind;
use crate::aggregate::series::Series;

/// Which series a query is about. `None` is all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Filter {
    pub(crate) site: Option<String>,
    pub(crate) use_case: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) country: Option<String>,
}

impl Filter {
    /// All labels in the order of their columns.
    pub(super) fn labels(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        let Self { site, use_case, provider, model, country } = self;
        let all = [
            ("site", site),
            ("use_case", use_case),
            ("provider", provider),
            ("model", model),
            ("country", country),
        ];
        all.into_iter().map(|(name, value)| (name, value.as_deref()))
    }
}

/// A label that every stream has a value of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dimension {
    Site,
    UseCase,
    Provider,
    Model,
    Country,
}

impl Dimension {
    pub(crate) const ALL: [Self; 5] = [Self::Site, Self::UseCase, Self::Provider, Self::Model, Self::Country];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Site => "site",
            Self::UseCase => "use_case",
            Self::Provider => "provider",
            Self::Model => "model",
            Self::Country => "country",
        }
    }
}

/// Which stored reports are asked for.
pub(crate) struct StreamsQuery {
    pub(crate) filter: Filter,
    pub(crate) outcome: Option<Outcome>,
    /// Without those that are open.
    pub(crate) only_ended: bool,
    /// Latest revision arrived from the first up to, not including, the second.
    pub(crate) received_ms: (i64, i64),
    /// Cursor of the page before.
    pub(crate) before: SeqNo,
    pub(crate) limit: usize,
}

/// One stored report.
pub(crate) struct StoredStream {
    pub(crate) json: String,
    pub(crate) received_ms: i64,
    /// As it is counted: `unknown` and `other` are some too.
    pub(crate) country: String,
}

/// Some stored reports, newest first, and where the next ones begin.
pub(crate) struct StreamsPage {
    pub(crate) streams: Vec<StoredStream>,
    pub(crate) next: Option<SeqNo>,
}

/// What arrived within the newest while.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecentActivity {
    /// How far back it reaches: as far as was asked for, or less where memory does not go back so far.
    pub(crate) ms: i64,
    /// Streams whose last report came in it and that are not open, by outcome.
    pub(crate) ended: BTreeMap<&'static str, u64>,
    /// Reports that counted, per second of the newest [`RATE_MS`]. `None` over several collectors: those that
    /// another took the place of before it was published are known to one of them alone.
    pub(crate) reports_per_second: Option<f64>,
}

/// What the rate of reports is over.
pub(crate) const RATE_MS: i64 = 10_000;

/// Everything that Prometheus is told.
pub(crate) struct MetricsSnapshot {
    pub(crate) series: Vec<SeriesSnapshot>,
    pub(crate) counts: Counts,
}

/// What Prometheus is told of one series.
pub(crate) struct SeriesSnapshot {
    pub(crate) series: Series,
    pub(crate) total: CumulativeStats,
    /// Mean time per output token of the newest windows. `None` when none of their streams had one.
    pub(crate) mean_tpot_ms: Option<f64>,
}

/// Which windows are asked for.
pub(crate) struct WindowsQuery<'a> {
    pub(crate) filter: &'a Filter,
    /// From the first up to, not including, the second.
    pub(crate) minutes: (i64, i64),
    /// Longest window that may be handed out, in minutes.
    pub(crate) longest: i64,
    /// Distributions that are asked for: the statistics come without all others.
    pub(crate) metrics: &'a [Metric],
}

/// Which kept samples are asked for.
pub(crate) struct SamplesQuery {
    pub(crate) sample: SampleKind,
    pub(crate) filter: Filter,
    pub(crate) outcome: Option<Outcome>,
    /// Arrived from the first up to, not including, the second.
    pub(crate) received_ms: (i64, i64),
    /// So many were on the pages before.
    pub(crate) skip: i64,
    pub(crate) limit: usize,
}

/// What came in and what became of it, since ever.
pub(crate) struct IngestTotals {
    pub(crate) counts: Counts,
    /// Streams in the cumulative statistics.
    pub(crate) counted: u64,
}

impl IngestTotals {
    /// What collectors stand for: a stream that gave way to another's revision is that one's, and its reports are
    /// what they would have been there.
    pub(super) fn merged_over_peers(mut self) -> Self {
        let twice = self.counts.merge_peers();
        Self { counted: self.counted.saturating_sub(twice), ..self }
    }
}
