//! `GET /v1/histogram`: the distribution of a metric, in four buckets per doubling.

use axum::extract::State;
use axum::response::Response;
use beacon::{Bucket, Histogram};
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::metric::{Metric, Unit};
use crate::aggregate::window_stats::WindowStats;
use crate::api::answer::csv::{self, Cell, Table};
use crate::api::answer::percentiles::Quantiles;
use crate::api::answer::targets_in_view::{TargetsInView, by_use_case};
use crate::api::request::params::{CompareTo, Format};
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::request::schema;
use crate::api::state::ApiState;
use crate::http::error::ApiError;
use crate::store::backend::Backend;
use crate::store::filter::Filter;

/// Distribution of a metric.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Histogram")]
pub(crate) struct Spread {
    #[serde(flatten)]
    range: Range,
    #[schemars(schema_with = "schema::metric")]
    metric: Metric,
    #[serde(flatten)]
    quantiles: Quantiles,
    #[serde(flatten)]
    targets: TargetsInView,
    /// Buckets with values, lowest first.
    buckets: Vec<BucketOf>,
    /// The distribution in the comparison period. Absent unless requested, and if streams of that period are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<Earlier>,
}

/// The distribution in the comparison period.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EarlierHistogram")]
struct Earlier {
    #[serde(flatten)]
    range: Range,
    #[serde(flatten)]
    quantiles: Quantiles,
    buckets: Vec<BucketOf>,
}

/// Number of values above the lower edge and up to the upper one. The bucket from 0 to 0 counts zeros.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Bucket")]
#[serde(untagged)]
pub(crate) enum BucketOf {
    OfDurations { lower_ms: f64, upper_ms: f64, count: u64 },
    OfRates { lower_output_tokens_per_second: f64, upper_output_tokens_per_second: f64, count: u64 },
}

query! {
    /// Parameters of the route.
    HistogramQuery {
        range: AskedRange,
        filter: Filter,
        metric: Metric,
        compare_to: Option<CompareTo>,
        format: Format,
    }
}

/// Handles the route.
pub(crate) async fn histogram(
    State(state): State<ApiState>,
    Query(query): Query<HistogramQuery>,
) -> Result<Response, ApiError> {
    let HistogramQuery { range, filter, metric, compare_to, format } = query;
    let range = range.at_present(&state);
    let earlier = compare_to.map(|compare_to| range.earlier(compare_to));
    let asked = filter.clone();
    let read_all = move |store: &Backend<'_>| {
        let all = |store: &Backend<'_>, range: Range| {
            let mut all = WindowStats::default();
            let metrics = metric.with_censored();
            store.windows(&range.windows(&filter, None, &metrics), |_, stats| all.merge(stats))?;
            Ok(all)
        };
        let before = |store: &Backend<'_>| earlier.map(|range| Ok((range, all(store, range)?))).transpose();
        store.both(
            |store| store.both(|store| all(store, range), before),
            |store| by_use_case(store, range, &filter),
        )
    };
    let ((all, earlier), by_use_case) = state.reader.run(read_all).await?;
    let range = range.with_kept_since(&state, asked.needs_streams()).await?;
    let targets = TargetsInView::of(&state, &asked, &by_use_case);
    let unit = metric.definition().unit;
    let buckets_of =
        |stats: &WindowStats| coarse(stats.histogram(metric)).map(|b| BucketOf::new(unit, &b)).collect();
    let (quantiles, buckets) = (Quantiles::of(&all, metric), buckets_of(&all));
    let earlier = match earlier {
        Some((range, all)) if range.with_kept_since(&state, asked.needs_streams()).await?.is_complete() => {
            Some(Earlier { range, quantiles: Quantiles::of(&all, metric), buckets: buckets_of(&all) })
        }
        _ => None,
    };
    let spread = Spread { range, metric, quantiles, targets, buckets, earlier };
    Ok(csv::answer(format, spread))
}

/// Buckets with values, four per doubling, lowest first.
pub(crate) fn coarse(histogram: &Histogram) -> impl Iterator<Item = Bucket> + '_ {
    let zero = Bucket { lower: 0.0, upper: 0.0, count: histogram.zero() };
    let zero = Some(zero).filter(|zero| zero.count > 0);
    zero.into_iter().chain(histogram.folded(EIGHT_INTO_ONE))
}

impl BucketOf {
    pub(crate) const fn new(unit: Unit, &Bucket { lower, upper, count }: &Bucket) -> Self {
        match unit {
            Unit::Milliseconds => Self::OfDurations { lower_ms: lower, upper_ms: upper, count },
            Unit::OutputTokensPerSecond => Self::OfRates {
                lower_output_tokens_per_second: lower,
                upper_output_tokens_per_second: upper,
                count,
            },
        }
    }

    /// Lower edge, upper edge and count.
    pub(crate) const fn parts(&self) -> (f64, f64, u64) {
        match self {
            Self::OfDurations { lower_ms: lower, upper_ms: upper, count }
            | Self::OfRates {
                lower_output_tokens_per_second: lower,
                upper_output_tokens_per_second: upper,
                count,
            } => (*lower, *upper, *count),
        }
    }
}

/// Column names for the edges of buckets.
pub(crate) fn edge_columns(metric: Metric) -> [String; 2] {
    ["lower", "upper"].map(|edge| format!("{edge}_{}", metric.definition().unit.suffix()))
}

impl Table for Spread {
    fn header(&self) -> Vec<String> {
        edge_columns(self.metric).into_iter().chain(["count".to_owned()]).collect()
    }

    fn rows(&self) -> Vec<Vec<Cell>> {
        let row = |bucket: &BucketOf| {
            let (lower, upper, count) = bucket.parts();
            vec![Cell::Number(lower), Cell::Number(upper), count.into()]
        };
        self.buckets.iter().map(row).collect()
    }
}

/// Merges 32 buckets per doubling into 4.
const EIGHT_INTO_ONE: u32 = 3;
