//! `GET /v1/histogram`: a metric comes in, goes out how its values are spread, in four buckets per
//! doubling.

use axum::Json;
use axum::extract::State;
use beacon::{Bucket, Histogram};
use serde::Serialize;

use super::{ApiError, Params, Quantiles, TargetsOf, metric};
use crate::state::AppState;
use crate::store::read;

#[derive(Serialize)]
pub(crate) struct Spread {
    metric: &'static str,
    #[serde(flatten)]
    quantiles: Quantiles,
    targets: TargetsOf,
    buckets: Vec<BucketOf>,
}

#[derive(Serialize)]
struct BucketOf {
    lower_ms: f64,
    upper_ms: f64,
    count: u64,
}

/// Answers with the distribution of a metric.
pub(crate) async fn histogram(
    State(state): State<AppState>,
    params: Params,
) -> Result<Json<Spread>, ApiError> {
    params.only(&["metric"])?;
    let (metric, which) = metric(&params)?;
    let (range, filter) = (params.range()?, params.filter());
    let targets = TargetsOf::of(&state, &filter);
    let read_all = move |store: &rusqlite::Connection| {
        let mut all = Histogram::default();
        read::windows(store, &filter, range.minutes(), |_, tally| all.merge(tally.histogram(which)))?;
        Ok(all)
    };
    let all = state.reader().run(read_all).await?;
    let zero = Bucket { lower: 0.0, upper: 0.0, count: all.zero() };
    let buckets = Some(zero).filter(|zero| zero.count > 0).into_iter().chain(all.folded(EIGHT_INTO_ONE));
    let buckets =
        buckets.map(|b| BucketOf { lower_ms: b.lower, upper_ms: b.upper, count: b.count }).collect();
    Ok(Json(Spread { metric, quantiles: Quantiles::of(&all), targets, buckets }))
}

/// 32 buckets per doubling become 4.
const EIGHT_INTO_ONE: u32 = 3;
