//! `GET /v1/integrity`: outcomes, defects and intact streams over time.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use beacon::{Defect, Outcome};
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::window_stats::{Sum, WindowStats};
use crate::api::answer::csv::{self, Cell, Table};
use crate::api::answer::ratio::Ratio;
use crate::api::answer::targets_in_view::{TargetsInView, by_use_case};
use crate::api::request::params::{Format, Step};
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::state::ApiState;
use crate::http::error::ApiError;
use crate::store::backend::Backend;
use crate::store::filter::Filter;
use crate::time::MINUTE_MS;

/// Outcomes and defects of streams over time.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Integrity {
    #[serde(flatten)]
    range: Range,
    step_ms: i64,
    #[serde(flatten)]
    targets: TargetsInView,
    #[serde(flatten)]
    all: Ends,
    points: Vec<Point>,
}

/// One step of the range. It has its time alone if not all its streams are kept.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "IntegrityPoint")]
struct Point {
    timestamp_ms: i64,
    #[serde(flatten)]
    ends: Option<Ends>,
}

/// Outcomes and defects of a set of streams.
#[derive(Serialize, JsonSchema)]
struct Ends {
    streams: u64,
    /// Intact streams as a share of the eligible streams.
    integrity: Ratio,
    /// Streams by outcome; only outcomes that occurred.
    outcomes: BTreeMap<&'static str, u64>,
    /// Streams by defect, each stream once; only defects that occurred.
    defects: BTreeMap<&'static str, u64>,
}

query! {
    /// Parameters of the route.
    IntegrityQuery {
        range: AskedRange,
        filter: Filter,
        step: Option<Step>,
        format: Format,
    }
}

/// Handles the route.
pub(crate) async fn integrity(
    State(state): State<ApiState>,
    Query(query): Query<IntegrityQuery>,
) -> Result<Response, ApiError> {
    let IntegrityQuery { range, filter, step, format } = query;
    let (range, step_ms) = range.at_present(&state).in_steps(step, None)?;
    let asked = filter.clone();
    let read_all = move |store: &Backend<'_>| {
        let steps = |store: &Backend<'_>| {
            let mut steps = vec![WindowStats::default(); range.steps(step_ms)];
            store.windows(&range.windows(&filter, Some(step_ms), &[]), |minute, stats| {
                steps[range.step_at(minute * MINUTE_MS, step_ms)].merge(stats);
            })?;
            Ok(steps)
        };
        store.both(steps, |store| by_use_case(store, range, &filter))
    };
    let (steps, by_use_case) = state.reader.run(read_all).await?;
    let range = range.with_kept_since(&state, asked.needs_streams()).await?;
    let targets = TargetsInView::of(&state, &asked, &by_use_case);
    let mut all = WindowStats::default();
    steps.iter().for_each(|step| all.merge(step));
    let points = range.step_starts(step_ms).zip(&steps).map(|(timestamp_ms, step)| Point {
        timestamp_ms,
        ends: range.has_step(timestamp_ms).then(|| Ends::of(step)),
    });
    let points = points.collect();
    Ok(csv::answer(format, Integrity { range, step_ms, targets, all: Ends::of(&all), points }))
}

impl Ends {
    fn of(stats: &WindowStats) -> Self {
        Self {
            streams: stats.streams(),
            integrity: Ratio::of(stats.sum(Sum::Intact), stats.eligible()),
            outcomes: stats.outcomes().map(|(outcome, count)| (outcome.as_str(), count)).collect(),
            defects: stats.defects().map(|(defect, count)| (defect.as_str(), count)).collect(),
        }
    }

    /// In the order of the table's columns.
    fn counts(&self) -> impl Iterator<Item = u64> {
        let count_in = |counts: &BTreeMap<_, _>, word| counts.get(word).copied().unwrap_or_default();
        let counts = [self.streams, self.integrity.good, self.integrity.total].into_iter();
        let counts = counts.chain(outcomes().map(move |word| count_in(&self.outcomes, word)));
        counts.chain(defects().map(move |word| count_in(&self.defects, word)))
    }
}

impl Table for Integrity {
    fn header(&self) -> Vec<String> {
        let words =
            ["timestamp_ms", "streams", "intact", "eligible"].into_iter().chain(outcomes()).chain(defects());
        words.map(str::to_owned).collect()
    }

    fn rows(&self) -> Vec<Vec<Cell>> {
        let cells = self.header().len();
        let row = |Point { timestamp_ms, ends }: &Point| {
            let mut row = vec![Cell::Whole(*timestamp_ms)];
            match ends {
                Some(ends) => row.extend(ends.counts().map(Cell::from)),
                None => row.resize_with(cells, || Cell::Empty),
            }
            row
        };
        self.points.iter().map(row).collect()
    }
}

fn outcomes() -> impl Iterator<Item = &'static str> {
    Outcome::ALL.into_iter().map(Outcome::as_str)
}

fn defects() -> impl Iterator<Item = &'static str> {
    Defect::ALL.iter().map(|defect| defect.as_str())
}
