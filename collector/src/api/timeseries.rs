//! `GET /v1/timeseries`: one point per step of the range, empty steps included.

use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use super::csv::{self, Cell, Table};
use super::params::{CompareTo, Format, Since, Step};
use super::percentiles::{Percentiles, relative_error};
use super::query_string::{Query, query};
use super::range::{AskedRange, Range};
use super::schema;
use super::state::ApiState;
use super::targets_in_view::{TargetsInView, by_use_case};
use super::throughput::Throughput;
use crate::aggregate::metric::Metric;
use crate::aggregate::window_stats::WindowStats;
use crate::http::error::ApiError;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::time::MINUTE_MS;

/// A metric over time.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Timeseries {
    #[serde(flatten)]
    range: Range,
    step_ms: i64,
    #[schemars(schema_with = "schema::metric")]
    metric: Metric,
    relative_error: f64,
    #[serde(flatten)]
    targets: TargetsInView,
    points: Vec<Point>,
    /// Points of the comparison period, one per point of the range. Absent unless requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<Vec<Point>>,
}

/// One step of the range.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimeseriesPoint")]
struct Point {
    timestamp_ms: i64,
    #[serde(flatten)]
    percentiles: Percentiles,
    streams: u64,
    errors: u64,
    #[serde(flatten)]
    throughput: Throughput,
    /// Streams with the provider's count of output tokens.
    with_usage: u64,
}

query! {
    /// Parameters of the route.
    TimeseriesQuery {
        range: AskedRange,
        filter: Filter,
        metric: Metric,
        step: Option<Step>,
        since: Option<Since>,
        compare_to: Option<CompareTo>,
        format: Format,
    }
}

/// Handles the route.
pub(crate) async fn timeseries(
    State(state): State<ApiState>,
    Query(query): Query<TimeseriesQuery>,
) -> Result<Response, ApiError> {
    let TimeseriesQuery { range, filter, metric, step, since, compare_to, format } = query;
    let (range, step_ms) = range.at_present(&state).in_steps(step, compare_to)?;
    let earlier = compare_to.map(|period| range.earlier_in_steps(period, step_ms)).transpose()?;
    let asked = filter.clone();
    let first_step = range.first_step(since, step_ms);
    let read_all = move |store: &Backend<'_>| {
        let points = |store: &Backend<'_>, range: Range| {
            points(store, &filter, range.without_steps(first_step, step_ms), step_ms, metric)
        };
        let before = |store: &Backend<'_>| earlier.map(|earlier| points(store, earlier)).transpose();
        store.both(
            |store| store.both(|store| points(store, range), before),
            |store| by_use_case(store, range, &filter),
        )
    };
    let ((points, earlier), by_use_case) = state.reader.run(read_all).await?;
    let targets = TargetsInView::of(&state, &asked, &by_use_case);
    let relative_error = relative_error();
    Ok(csv::answer(format, Timeseries { range, step_ms, metric, relative_error, targets, points, earlier }))
}

fn points(
    store: &Backend<'_>,
    filter: &Filter,
    range: Range,
    step_ms: i64,
    which: Metric,
) -> Result<Vec<Point>, StoreError> {
    let mut steps = vec![WindowStats::default(); range.steps(step_ms)];
    store.windows(&range.windows(filter, Some(step_ms), &which.with_censored()), |minute, stats| {
        steps[range.step_at(minute * MINUTE_MS, step_ms)].merge(stats);
    })?;
    let point = |(timestamp_ms, step): (i64, &WindowStats)| Point {
        timestamp_ms,
        percentiles: Percentiles::of(step, which),
        streams: step.streams(),
        errors: step.errors(),
        throughput: Throughput::of(step, range.elapsed_seconds_of(timestamp_ms, step_ms)),
        with_usage: step.output_tokens().streams,
    };
    Ok(range.step_starts(step_ms).zip(&steps).map(point).collect())
}

impl Table for Timeseries {
    fn header(&self) -> Vec<String> {
        let names = ["timestamp_ms".to_owned()].into_iter().chain(csv::percentile_columns(self.metric));
        let names = names.chain(["streams", "errors"].map(str::to_owned)).chain(csv::km_adjusted_columns());
        names.chain(THROUGHPUT.map(str::to_owned)).collect()
    }

    fn rows(&self) -> Vec<Vec<Cell>> {
        let row = |point: &Point| {
            let mut row = vec![Cell::Whole(point.timestamp_ms)];
            row.extend(csv::percentile_cells(&point.percentiles));
            row.extend([point.streams.into(), point.errors.into()]);
            row.extend(csv::km_adjusted_cells(&point.percentiles));
            let Throughput { requests_per_second, input_tokens_per_second, output_tokens_per_second } =
                point.throughput;
            row.extend([
                Cell::Number(requests_per_second),
                input_tokens_per_second.into(),
                output_tokens_per_second.into(),
                point.with_usage.into(),
            ]);
            row
        };
        self.points.iter().map(row).collect()
    }
}

const THROUGHPUT: [&str; 4] =
    ["requests_per_second", "input_tokens_per_second", "output_tokens_per_second", "with_usage"];
