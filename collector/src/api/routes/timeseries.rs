//! `GET /v1/timeseries`: one point per step of the range, empty steps included.

use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::metric::Metric;
use crate::aggregate::window_stats::WindowStats;
use crate::api::answer::csv::{self, Cell, Table};
use crate::api::answer::in_flight::InFlightSteps;
use crate::api::answer::percentiles::{Percentiles, relative_error};
use crate::api::answer::targets_in_view::{TargetsInView, by_use_case};
use crate::api::answer::throughput::{BelowReadingSpeed, Throughput};
use crate::api::request::params::{CompareTo, Format, Since, Step};
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::request::schema;
use crate::api::state::ApiState;
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
    /// Points of the comparison period, one per point of the range. Absent unless requested, and if streams of that period
    /// are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<Vec<Point>>,
}

/// One step of the range. It has its time alone if not all its streams are kept.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimeseriesPoint")]
struct Point {
    timestamp_ms: i64,
    #[serde(flatten)]
    figures: Option<Figures>,
}

/// Figures of a step.
#[derive(Serialize, JsonSchema)]
struct Figures {
    #[serde(flatten)]
    percentiles: Percentiles,
    streams: u64,
    errors: u64,
    #[serde(flatten)]
    throughput: Throughput,
    /// Streams with the provider's count of output tokens.
    with_usage: u64,
    /// Mean number of streams in flight.
    in_flight: f64,
    /// Streams slower than each of `reading_speeds`. Present for `output_rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    below_reading_speed: Option<Vec<BelowReadingSpeed>>,
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
        let steps = |store: &Backend<'_>, range: Range| {
            Steps::read(store, &filter, range.without_steps(first_step, step_ms), step_ms, metric)
        };
        let before = |store: &Backend<'_>| earlier.map(|earlier| steps(store, earlier)).transpose();
        store.both(
            |store| store.both(|store| steps(store, range), before),
            |store| {
                store.both(
                    |store| by_use_case(store, range, &filter),
                    |store| if range.includes_now() { store.open_since_ms(&filter) } else { Ok(Vec::new()) },
                )
            },
        )
    };
    let ((steps, before), (by_use_case, open_since_ms)) = state.reader.run(read_all).await?;
    let earlier = match earlier {
        Some(period) if period.with_kept_since(&state, asked.needs_streams()).await?.is_complete() => before,
        _ => None,
    };
    let range = range.with_kept_since(&state, asked.needs_streams()).await?;
    let targets = TargetsInView::of(&state, &asked, &by_use_case);
    let relative_error = relative_error();
    let points = |mut steps: Steps, has_step: &dyn Fn(i64) -> bool| {
        open_since_ms.iter().for_each(|since_ms| steps.in_flight.add_open(*since_ms));
        steps.points(metric, &state.config.reading_speeds, has_step)
    };
    let earlier = earlier.map(|steps| points(steps, &|_| true));
    let points = points(steps, &|start_ms| range.has_step(start_ms));
    Ok(csv::answer(format, Timeseries { range, step_ms, metric, relative_error, targets, points, earlier }))
}

/// Statistics of the steps of a range.
struct Steps {
    range: Range,
    step_ms: i64,
    stats: Vec<WindowStats>,
    in_flight: InFlightSteps,
}

impl Steps {
    fn read(
        store: &Backend<'_>,
        filter: &Filter,
        range: Range,
        step_ms: i64,
        metric: Metric,
    ) -> Result<Self, StoreError> {
        let stats = vec![WindowStats::default(); range.steps(step_ms)];
        let mut steps = Self { range, step_ms, stats, in_flight: InFlightSteps::new(range, step_ms) };
        let metrics = metric.with_censored();
        let asked = range.windows(filter, Some(step_ms), &metrics);
        store.windows(&InFlightSteps::with_later_ends(step_ms, asked), |minute, stats| {
            steps.in_flight.add(minute, stats.in_flight());
            if minute * MINUTE_MS < range.to_ms {
                steps.stats[range.step_at(minute * MINUTE_MS, step_ms)].merge(stats);
            }
        })?;
        Ok(steps)
    }

    fn points(&self, metric: Metric, reading_speeds: &[f64], has_step: &dyn Fn(i64) -> bool) -> Vec<Point> {
        let Self { range, step_ms, stats, in_flight } = self;
        let below = |step: &WindowStats| {
            let shares = reading_speeds.iter().map(|speed| BelowReadingSpeed::of(step, *speed));
            (metric == Metric::OutputRate).then(|| shares.collect())
        };
        let figures = |timestamp_ms: i64, step: &WindowStats, in_flight: f64| Figures {
            percentiles: Percentiles::of(step, metric),
            streams: step.streams(),
            errors: step.errors(),
            throughput: Throughput::of(step, range.elapsed_seconds_of(timestamp_ms, *step_ms)),
            with_usage: step.output_tokens().streams,
            in_flight,
            below_reading_speed: below(step),
        };
        let point = |(timestamp_ms, (step, in_flight)): (i64, (&WindowStats, f64))| Point {
            timestamp_ms,
            figures: has_step(timestamp_ms).then(|| figures(timestamp_ms, step, in_flight)),
        };
        range.step_starts(*step_ms).zip(stats.iter().zip(in_flight.means())).map(point).collect()
    }
}

impl Table for Timeseries {
    fn header(&self) -> Vec<String> {
        let names = ["timestamp_ms".to_owned()].into_iter().chain(csv::percentile_columns(self.metric));
        let names = names.chain(["streams", "errors"].map(str::to_owned)).chain(csv::km_adjusted_columns());
        names.chain(THROUGHPUT.map(str::to_owned)).collect()
    }

    fn rows(&self) -> Vec<Vec<Cell>> {
        let cells = self.header().len();
        let row = |Point { timestamp_ms, figures }: &Point| {
            let mut row = vec![Cell::Whole(*timestamp_ms)];
            match figures {
                Some(figures) => row.extend(figures.cells()),
                None => row.resize_with(cells, || Cell::Empty),
            }
            row
        };
        self.points.iter().map(row).collect()
    }
}

impl Figures {
    fn cells(&self) -> Vec<Cell> {
        let mut cells: Vec<_> = csv::percentile_cells(&self.percentiles).collect();
        cells.extend([self.streams.into(), self.errors.into()]);
        cells.extend(csv::km_adjusted_cells(&self.percentiles));
        let Throughput { requests_per_second, input_tokens_per_second, output_tokens_per_second } =
            self.throughput;
        cells.extend([
            Cell::Number(requests_per_second),
            input_tokens_per_second.into(),
            output_tokens_per_second.into(),
            self.with_usage.into(),
            Cell::Number(self.in_flight),
        ]);
        cells
    }
}

const THROUGHPUT: [&str; 5] =
    ["requests_per_second", "input_tokens_per_second", "output_tokens_per_second", "with_usage", "in_flight"];
