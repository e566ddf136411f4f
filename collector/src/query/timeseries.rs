//! `GET /v1/timeseries`: a metric and a step come in, goes out one point for every step of the range,
//! the empty ones too.

use axum::Json;
use axum::extract::State;
use beacon::Histogram;
use serde::Serialize;

use super::{ApiError, Params, Range, TargetsOf, metric, quantile_ms};
use crate::rollup::MINUTE_MS;
use crate::state::AppState;
use crate::store::read;

#[derive(Serialize)]
pub(crate) struct Timeseries {
    #[serde(flatten)]
    range: Range,
    step_ms: i64,
    metric: &'static str,
    targets: TargetsOf,
    points: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    t: i64,
    n: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_ms: Option<f64>,
    streams: u64,
    errors: u64,
}

#[derive(Clone, Default)]
struct Step {
    histogram: Histogram,
    streams: u64,
    errors: u64,
}

/// Answers with a metric over time.
pub(crate) async fn timeseries(
    State(state): State<AppState>,
    params: Params,
) -> Result<Json<Timeseries>, ApiError> {
    params.only(&["metric", "step"])?;
    let (metric, which) = metric(&params)?;
    let (range, step_ms) = params.range()?.in_steps(&params)?;
    let filter = params.filter();
    let targets = TargetsOf::of(&state, &filter);
    let read_steps = move |store: &rusqlite::Connection| {
        let mut steps = vec![Step::default(); range.steps(step_ms)];
        read::windows(store, &filter, range.minutes(), |minute, tally| {
            let step = &mut steps[range.step_at(minute * MINUTE_MS, step_ms)];
            step.histogram.merge(tally.histogram(which));
            step.streams += tally.streams();
            step.errors += tally.errors();
        })?;
        Ok(steps)
    };
    let steps = state.reader().run(read_steps).await?;
    let points = (range.from_ms..).step_by(step_ms as usize).zip(&steps).map(|(t, step)| Point {
        t,
        n: step.histogram.count(),
        p50_ms: quantile_ms(&step.histogram, 0.5),
        p95_ms: quantile_ms(&step.histogram, 0.95),
        p99_ms: quantile_ms(&step.histogram, 0.99),
        streams: step.streams,
        errors: step.errors,
    });
    let points = points.collect();
    Ok(Json(Timeseries { range, step_ms, metric, targets, points }))
}
