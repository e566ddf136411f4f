//! `GET /v1/abandonment`: the share of users that leave by each wait time, for any token or for visible text, and what the
//! backend generated after they had left.

use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::dimension::Dimension;
use crate::aggregate::window_stats::WindowStats;
use crate::api::answer::csv::{self, Cell, Table};
use crate::api::answer::percentiles::relative_error;
use crate::api::answer::unread_output::UnreadOutput;
use crate::api::request::params::{Format, WaitMetric};
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::request::schema;
use crate::api::state::ApiState;
use crate::http::error::ApiError;
use crate::stats::kaplan_meier::{CensoredWaits, CurvePoint};
use crate::store::backend::Backend;
use crate::store::filter::Filter;

/// Share of users that leave, by wait time.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Abandonment {
    #[serde(flatten)]
    range: Range,
    #[schemars(schema_with = "schema::wait_metric")]
    metric: &'static str,
    /// Maximum relative error of the waits.
    relative_error: f64,
    /// All streams that waited: `reached` + `abandoned` + `failed_before`.
    at_risk: u64,
    /// Streams that reached the token.
    reached: u64,
    /// Streams that their users ended before the token.
    abandoned: u64,
    /// Streams that failed before the token.
    failed_before: u64,
    /// Shortest wait first, at most eight points per doubling; only waits at which a stream ended waiting.
    points: Vec<Point>,
    /// What the backend generated for clients that had left. Absent if no backend says how streams ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread_output: Option<UnreadOutput>,
}

/// A point of the curve.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AbandonmentPoint")]
struct Point {
    wait_ms: f64,
    /// Streams that waited longer without the token.
    at_risk: u64,
    /// Estimated share of users that leave by then if no token arrives.
    share: f64,
    /// 95 % confidence interval of `share`. Absent while the share is 0, and once it is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    lower: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper: Option<f64>,
}

query! {
    /// Parameters of the route.
    AbandonmentQuery {
        range: AskedRange,
        filter: Filter,
        metric: WaitMetric,
        format: Format,
    }
}

/// Handles the route.
pub(crate) async fn abandonment(
    State(state): State<ApiState>,
    Query(query): Query<AbandonmentQuery>,
) -> Result<Response, ApiError> {
    let AbandonmentQuery { range, filter, metric: WaitMetric { metric, censored }, format } = query;
    let range = range.at_present(&state);
    let needs_streams = filter.needs_streams();
    let read_all = move |store: &Backend<'_>| {
        let metrics = metric.with_censored();
        store.stats_by(&range.windows(&filter, None, &metrics), Dimension::Site)
    };
    let by_site = state.reader.run(read_all).await?;
    let mut all = WindowStats::default();
    by_site.values().for_each(|stats| all.merge(stats));
    let range = range.with_kept_since(&state, needs_streams).await?;
    let of = |metric| all.histogram(metric);
    let (reached, abandoned, failed) = (of(metric), of(censored.abandoned), of(censored.failed));
    let curve = CensoredWaits::new(abandoned, [reached, failed]).curve(FOUR_INTO_ONE);
    let (reached, abandoned, failed) = (reached.count(), abandoned.count(), failed.count());
    let abandonment = Abandonment {
        range,
        metric: metric.id(),
        relative_error: relative_error(),
        at_risk: reached + abandoned + failed,
        reached,
        abandoned,
        failed_before: failed,
        points: curve.into_iter().map(Point::of).collect(),
        unread_output: UnreadOutput::of(&by_site, &all),
    };
    Ok(csv::answer(format, abandonment))
}

impl Point {
    fn of(CurvePoint { wait_ms, at_risk, share, interval }: CurvePoint) -> Self {
        let (lower, upper) = interval.unzip();
        Self { wait_ms, at_risk, share, lower, upper }
    }
}

impl Table for Abandonment {
    fn header(&self) -> Vec<String> {
        ["wait_ms", "at_risk", "share", "lower", "upper"].map(str::to_owned).to_vec()
    }

    fn rows(&self) -> Vec<Vec<Cell>> {
        let row = |point: &Point| {
            vec![
                Cell::Number(point.wait_ms),
                point.at_risk.into(),
                Cell::Number(point.share),
                point.lower.into(),
                point.upper.into(),
            ]
        };
        self.points.iter().map(row).collect()
    }
}

/// Merges 32 buckets per doubling into 8.
const FOUR_INTO_ONE: u32 = 2;
