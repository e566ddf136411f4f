//! `GET /v1/histogram`: the distribution of a metric, in four buckets per doubling.

use axum::extract::State;
use axum::response::Response;
use beacon::{Bucket, Histogram};
use schemars::JsonSchema;
use serde::Serialize;

use super::csv::{self, Cell, Table};
use super::params::{CompareTo, Format};
use super::percentiles::Quantiles;
use super::query_string::{Query, query};
use super::range::{AskedRange, Range};
use super::schema;
use super::state::ApiState;
use super::targets_in_view::{TargetsInView, by_use_case};
use crate::aggregate::metric::Metric;
use crate::aggregate::window_stats::WindowStats;
use crate::http::error::ApiError;
use crate::store::backend::Backend;
use crate::store::query::Filter;

/// Distribution of a metric.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Histogram")]
pub(crate) struct Spread {
    #[schemars(schema_with = "schema::metric")]
    metric: &'static str,
    #[serde(flatten)]
    quantiles: Quantiles,
    #[serde(flatten)]
    targets: TargetsInView,
    /// Buckets with values, lowest first.
    buckets: Vec<BucketOf>,
    /// The distribution in the comparison period. Absent unless requested.
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

/// Number of values above `lower_ms` and up to `upper_ms`. The bucket from 0 to 0 counts zeros.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Bucket")]
pub(super) struct BucketOf {
    pub(super) lower_ms: f64,
    pub(super) upper_ms: f64,
    pub(super) count: u64,
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
    let targets = TargetsInView::of(&state, &asked, &by_use_case);
    let buckets_of = |stats: &WindowStats| coarse(stats.histogram(metric)).collect();
    let (quantiles, buckets) = (Quantiles::of(&all, metric), buckets_of(&all));
    let earlier = earlier.map(|(range, all)| Earlier {
        range,
        quantiles: Quantiles::of(&all, metric),
        buckets: buckets_of(&all),
    });
    Ok(csv::answer(format, Spread { metric: metric.id(), quantiles, targets, buckets, earlier }))
}

/// Buckets with values, four per doubling, lowest first.
pub(super) fn coarse(histogram: &Histogram) -> impl Iterator<Item = BucketOf> + '_ {
    let zero = Bucket { lower: 0.0, upper: 0.0, count: histogram.zero() };
    let zero = Some(zero).filter(|zero| zero.count > 0);
    let buckets = zero.into_iter().chain(histogram.folded(EIGHT_INTO_ONE));
    buckets.map(|b| BucketOf { lower_ms: b.lower, upper_ms: b.upper, count: b.count })
}

impl Table for Spread {
    fn header(&self) -> Vec<String> {
        ["lower_ms", "upper_ms", "count"].map(str::to_owned).to_vec()
    }

    fn rows(&self) -> Vec<Vec<Cell>> {
        let row = |bucket: &BucketOf| {
            vec![Cell::Number(bucket.lower_ms), Cell::Number(bucket.upper_ms), bucket.count.into()]
        };
        self.buckets.iter().map(row).collect()
    }
}

/// Merges 32 buckets per doubling into 4.
const EIGHT_INTO_ONE: u32 = 3;
