//! `GET /v1/heatmap`: the distribution of a metric in each step, in four buckets per doubling.

use axum::extract::State;
use axum::response::Response;
use beacon::{Bucket, Histogram};
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::metric::Metric;
use crate::api::answer::csv::{self, Cell, Table};
use crate::api::answer::targets_in_view::{TargetsInView, by_use_case};
use crate::api::request::params::{Format, Step};
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::request::schema;
use crate::api::routes::histogram::{BucketOf, coarse, edge_columns};
use crate::api::state::ApiState;
use crate::http::error::ApiError;
use crate::store::backend::Backend;
use crate::store::filter::Filter;
use crate::time::MINUTE_MS;

/// Distribution of a metric over time.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Heatmap {
    #[serde(flatten)]
    range: Range,
    step_ms: i64,
    #[schemars(schema_with = "schema::metric")]
    metric: Metric,
    #[serde(flatten)]
    targets: TargetsInView,
    /// Buckets with values in any step, lowest first.
    buckets: Vec<BucketOf>,
    points: Vec<Column>,
}

/// One step of the range. It has its time alone if not all its streams are kept.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HeatmapPoint")]
struct Column {
    timestamp_ms: i64,
    #[serde(flatten)]
    values: Option<Values>,
}

/// Values of a step.
#[derive(Serialize, JsonSchema)]
struct Values {
    n: u64,
    /// One count per entry of `buckets`.
    counts: Vec<u64>,
}

query! {
    /// Parameters of the route.
    HeatmapQuery {
        range: AskedRange,
        filter: Filter,
        metric: Metric,
        step: Option<Step>,
        format: Format,
    }
}

/// Handles the route.
pub(crate) async fn heatmap(
    State(state): State<ApiState>,
    Query(query): Query<HeatmapQuery>,
) -> Result<Response, ApiError> {
    let HeatmapQuery { range, filter, metric, step, format } = query;
    let (range, step_ms) = range.at_present(&state).in_steps(step, None)?;
    let asked = filter.clone();
    let read_all = move |store: &Backend<'_>| {
        let steps = |store: &Backend<'_>| {
            let mut steps = vec![Histogram::default(); range.steps(step_ms)];
            store.windows(&range.windows(&filter, Some(step_ms), &[metric]), |minute, stats| {
                steps[range.step_at(minute * MINUTE_MS, step_ms)].merge(stats.histogram(metric));
            })?;
            Ok(steps)
        };
        store.both(steps, |store| by_use_case(store, range, &filter))
    };
    let (steps, by_use_case) = state.reader.run(read_all).await?;
    let range = range.with_kept_since(&state, asked.needs_streams()).await?;
    let targets = TargetsInView::of(&state, &asked, &by_use_case);
    let (buckets, columns) = columns(&steps);
    let buckets = buckets.iter().map(|bucket| BucketOf::new(metric.definition().unit, bucket)).collect();
    let values = |counts: Vec<u64>| Values { n: counts.iter().sum(), counts };
    let points = range.step_starts(step_ms).zip(columns).map(|(timestamp_ms, counts)| Column {
        timestamp_ms,
        values: range.has_step(timestamp_ms).then(|| values(counts)),
    });
    let points = points.collect();
    let heatmap = Heatmap { range, step_ms, metric, targets, buckets, points };
    Ok(csv::answer(format, heatmap))
}

/// The buckets of all steps, and the counts of each step.
fn columns(steps: &[Histogram]) -> (Vec<Bucket>, Vec<Vec<u64>>) {
    let mut all = Histogram::default();
    for step in steps {
        all.merge(step);
    }
    let buckets: Vec<_> = coarse(&all).collect();
    let of_step = |step: &Histogram| {
        // Both lists are sorted and have the same edges.
        let mut held = coarse(step).peekable();
        let count =
            |bucket: &Bucket| held.next_if(|held| held.upper == bucket.upper).map_or(0, |held| held.count);
        buckets.iter().map(count).collect()
    };
    let columns = steps.iter().map(of_step).collect();
    (buckets, columns)
}

impl Table for Heatmap {
    fn header(&self) -> Vec<String> {
        let [lower, upper] = edge_columns(self.metric);
        vec!["timestamp_ms".to_owned(), lower, upper, "count".to_owned()]
    }

    fn rows(&self) -> Vec<Vec<Cell>> {
        let cells = self.points.iter().flat_map(|point| {
            let counts = point.values.iter().flat_map(|values| &values.counts);
            let held = self.buckets.iter().zip(counts).filter(|(_, count)| **count > 0);
            held.map(|(bucket, count)| {
                let (lower, upper, _) = bucket.parts();
                let edges = [Cell::Number(lower), Cell::Number(upper)];
                [Cell::Whole(point.timestamp_ms)].into_iter().chain(edges).chain([(*count).into()]).collect()
            })
        });
        cells.collect()
    }
}
