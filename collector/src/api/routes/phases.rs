//! `GET /v1/phases`: percentiles and means of each phase of the wait, for all streams, by step or by dimension, and the
//! largest part of the wait around the p95.

use std::borrow::Cow;
use std::cmp::Reverse;

use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::metric::Metric;
use crate::aggregate::phase::{FIELDS_OF_PHASES, FIELDS_OF_WAIT};
use crate::aggregate::stream_dimension::KIND;
use crate::aggregate::window_stats::WindowStats;
use crate::api::answer::around_p95::{AroundP95, MOST_IN_FILES, MeanPart, StreamsAroundP95};
use crate::api::answer::csv::{self, Cell, Table};
use crate::api::answer::groups::Groups;
use crate::api::answer::percentiles::{Percentiles, Quantiles, relative_error, to_thousandth};
use crate::api::answer::phase_name::PhaseName;
use crate::api::request::params::{Format, GroupBy, Grouping, Limit, Step};
use crate::api::request::query_string::{Query, bad, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::state::ApiState;
use crate::http::error::ApiError;
use crate::rows::parquet_reader::FieldsRead;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::KeptQuery;
use crate::time::MINUTE_MS;

/// Phases of the wait, over many streams. Their percentiles do not add up to those of the wait, their means do.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Phases {
    #[serde(flatten)]
    range: Range,
    relative_error: f64,
    streams: u64,
    /// The wait for the first token of any kind, which the phases before `reasoning` are parts of.
    ttft: Quantiles,
    /// In the order of the wait. A phase that no stream tells has `n` 0.
    phases: Vec<Phase>,
    /// Absent without a first token.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<MeanWait>,
    /// Absent with too few streams around the p95.
    #[serde(skip_serializing_if = "Option::is_none")]
    around_p95: Option<AroundP95>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step_ms: Option<i64>,
    /// Present with `step`.
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<Vec<Point>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<Cow<'static, str>>,
    /// The second dimension. Absent if the query groups by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    and_by: Option<Cow<'static, str>>,
    /// Present with `by`, most streams first. If only single streams have the dimension, `kept_since_ms` is about these
    /// groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<Group>>,
    /// Number of values with streams that `groups` leaves out.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<usize>,
}

/// One phase, over the streams that tell it.
#[derive(Serialize, JsonSchema)]
struct Phase {
    phase: PhaseName,
    #[serde(flatten)]
    percentiles: Percentiles,
}

/// Mean parts of the wait for the first token, over all streams with one: they add up to it.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct MeanWait {
    ttft_mean_ms: f64,
    /// In the order of the wait, without parts of length 0.
    parts: Vec<MeanPart>,
}

/// Phases of some of the streams. Points have no confidence intervals.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PhaseSplit")]
struct Split {
    streams: u64,
    ttft: Percentiles,
    /// In the order of the wait, without those that no stream tells.
    phases: Vec<Phase>,
    /// Absent without a first token.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<MeanWait>,
}

/// One step of the range. It has its time alone if not all its streams are kept.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PhasesPoint")]
struct Point {
    timestamp_ms: i64,
    #[serde(flatten)]
    split: Option<Split>,
}

/// The streams with one value, or with one value of each dimension.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PhasesGroup")]
struct Group {
    value: String,
    /// Value of the second dimension.
    #[serde(skip_serializing_if = "Option::is_none")]
    and_value: Option<String>,
    #[serde(flatten)]
    split: Split,
}

query! {
    /// Parameters of the route.
    PhasesQuery {
        range: AskedRange,
        filter: Filter,
        step: Option<Step>,
        by: Option<Grouping>,
        limit: Limit,
        format: Format,
    }
}

/// Handles the route.
pub(crate) async fn phases(
    State(state): State<ApiState>,
    Query(query): Query<PhasesQuery>,
) -> Result<Response, ApiError> {
    let PhasesQuery { range, filter, step, by: grouping, limit: Limit(limit), format } = query;
    if step.is_some() && grouping.is_some() {
        return Err(bad("give either `step` or `by`"));
    }
    let range = range.at_present(&state);
    let (range, step_ms) = match step {
        Some(_) => range.in_steps(step, None).map(|(range, step_ms)| (range, Some(step_ms)))?,
        None => (range, None),
    };
    let needs_streams = filter.needs_streams() || grouping.is_some_and(Grouping::needs_streams);
    let read_all = move |store: &Backend<'_>| {
        store.both(
            |store| Waits::read(store, &filter, range, step_ms, format),
            |store| grouping.map(|grouping| groups_of(store, &filter, range, grouping)).transpose(),
        )
    };
    let (Waits { all, steps, around }, groups) = state.reader.run(read_all).await?;
    let range = range.with_kept_since(&state, needs_streams).await?;
    let mut groups = groups.map(|groups| rows(&groups));
    let omitted = groups.as_ref().map(|groups| groups.len().saturating_sub(limit));
    groups.iter_mut().for_each(|groups| groups.truncate(limit));
    let phases = Phases {
        range,
        relative_error: relative_error(),
        streams: all.streams(),
        ttft: Quantiles::of(&all, Metric::Ttft),
        phases: PHASES
            .map(|(phase, metric)| Phase { phase, percentiles: Percentiles::of(&all, metric) })
            .into(),
        mean: MeanWait::of(&all),
        around_p95: around.and_then(StreamsAroundP95::answer),
        step_ms,
        points: step_ms.map(|step_ms| points(range, step_ms, &steps)),
        by: grouping.map(|Grouping { by, .. }| by.name()),
        and_by: grouping.and_then(|Grouping { and_by, .. }| and_by).map(GroupBy::name),
        groups,
        omitted,
    };
    Ok(csv::answer(format, phases))
}

/// The waits of a range.
struct Waits {
    all: WindowStats,
    /// One for each step, or one for all.
    steps: Vec<WindowStats>,
    around: Option<StreamsAroundP95>,
}

impl Waits {
    fn read(
        store: &Backend<'_>,
        filter: &Filter,
        range: Range,
        step_ms: Option<i64>,
        format: Format,
    ) -> Result<Self, StoreError> {
        let metrics = metrics();
        let mut steps = vec![WindowStats::default(); step_ms.map_or(1, |step_ms| range.steps(step_ms))];
        store.windows(&range.windows(filter, step_ms, &metrics), |minute, stats| {
            let step = step_ms.map_or(0, |step_ms| range.step_at(minute * MINUTE_MS, step_ms));
            steps[step].merge(stats);
        })?;
        let mut all = WindowStats::default();
        steps.iter().for_each(|step| all.merge(step));
        let mut around = match format {
            Format::Json => StreamsAroundP95::of(all.histogram(Metric::Ttft)),
            Format::Csv => None,
        };
        if let Some(around) = &mut around {
            let kept = KeptQuery {
                filter,
                minutes: range.minutes(),
                most_in_files: MOST_IN_FILES,
                ttft_ms: Some(around.waits_ms()),
                fields: FieldsRead::Only(FIELDS_OF_WAIT.iter().chain(FIELDS_OF_PHASES).copied().collect()),
            };
            store.each_kept(kept, |_| {}, |stream| around.add(stream.report))?;
        }
        Ok(Self { all, steps, around })
    }
}

fn groups_of(
    store: &Backend<'_>,
    filter: &Filter,
    range: Range,
    grouping: Grouping,
) -> Result<Groups, StoreError> {
    let filter = filter.clone();
    let filter = if grouping.has(KIND) { filter.of_every_kind() } else { filter };
    Groups::read(store, &range.windows(&filter, None, &metrics()), grouping)
}

/// The groups, most streams first.
fn rows(groups: &Groups) -> Vec<Group> {
    let group = |((value, and_value), stats): (&(String, Option<String>), &WindowStats)| Group {
        value: value.clone(),
        and_value: and_value.clone(),
        split: Split::of(stats),
    };
    let mut rows: Vec<_> = groups.with_streams().map(group).collect();
    rows.sort_by_key(|group| Reverse(group.split.streams));
    rows
}

fn points(range: Range, step_ms: i64, steps: &[WindowStats]) -> Vec<Point> {
    let point = |(timestamp_ms, step): (i64, &WindowStats)| Point {
        timestamp_ms,
        split: range.has_step(timestamp_ms).then(|| Split::of(step).without_intervals()),
    };
    range.step_starts(step_ms).zip(steps).map(point).collect()
}

/// All that a [`Split`] reads.
fn metrics() -> Vec<Metric> {
    PHASES.into_iter().map(|(_, metric)| metric).chain(Metric::Ttft.with_censored()).collect()
}

impl Split {
    fn of(stats: &WindowStats) -> Self {
        let phase = |(phase, metric)| Phase { phase, percentiles: Percentiles::of(stats, metric) };
        Self {
            streams: stats.streams(),
            ttft: Percentiles::of(stats, Metric::Ttft),
            phases: PHASES.into_iter().map(phase).filter(|phase| phase.percentiles.n > 0).collect(),
            mean: MeanWait::of(stats),
        }
    }

    fn without_intervals(mut self) -> Self {
        self.ttft.intervals = None;
        self.phases.iter_mut().for_each(|phase| phase.percentiles.intervals = None);
        self
    }
}

impl MeanWait {
    fn of(stats: &WindowStats) -> Option<Self> {
        let waits = stats.histogram(Metric::Ttft);
        let n = waits.count() as f64;
        let before_token = PHASES.iter().filter(|(phase, _)| phase.is_before_token());
        let told: Vec<_> =
            before_token.map(|(phase, metric)| (*phase, stats.histogram(*metric).sum())).collect();
        let not_reported = waits.sum() - told.iter().map(|(_, sum)| sum).sum::<f64>();
        let part = |(phase, sum): (PhaseName, f64)| MeanPart { phase, mean_ms: to_thousandth(sum / n) };
        (n > 0.0).then(|| Self {
            ttft_mean_ms: to_thousandth(waits.sum() / n),
            parts: told
                .into_iter()
                .chain([(PhaseName::NotReported, not_reported)])
                .map(part)
                .filter(|part| part.mean_ms > 0.0)
                .collect(),
        })
    }
}

impl Table for Phases {
    fn header(&self) -> Vec<String> {
        let time = self.points.is_some().then(|| "timestamp_ms".to_owned());
        let dimensions = self.by.iter().chain(&self.and_by).map(ToString::to_string);
        let of_phase = ["phase".to_owned()].into_iter().chain(csv::percentile_columns(Metric::PhaseDns));
        time.into_iter().chain(dimensions).chain(of_phase).collect()
    }

    fn rows(&self) -> Vec<Vec<Cell>> {
        if let Some(points) = &self.points {
            let split = |point: &Point| {
                let phases = point.split.as_ref().map_or(&[][..], |split| &split.phases);
                let time = point.timestamp_ms;
                phases.iter().map(move |phase| phase.cells([Cell::Whole(time)])).collect::<Vec<_>>()
            };
            return points.iter().flat_map(split).collect();
        }
        if let Some(groups) = &self.groups {
            let split = |group: &Group| {
                let Group { value, and_value, split } = group;
                let values = || [value].into_iter().chain(and_value).map(|value| Cell::Text(value.clone()));
                split.phases.iter().map(|phase| phase.cells(values())).collect::<Vec<_>>()
            };
            return groups.iter().flat_map(split).collect();
        }
        self.phases.iter().map(|phase| phase.cells([])).collect()
    }
}

impl Phase {
    fn cells(&self, before: impl IntoIterator<Item = Cell>) -> Vec<Cell> {
        let name = [Cell::Text(self.phase.as_str().to_owned())];
        before.into_iter().chain(name).chain(csv::percentile_cells(&self.percentiles)).collect()
    }
}

/// In the order of the wait, as far as it has one: the network lies on both sides of the server.
const PHASES: [(PhaseName, Metric); 11] = [
    (PhaseName::Dns, Metric::PhaseDns),
    (PhaseName::Connect, Metric::PhaseConnect),
    (PhaseName::App, Metric::PhaseApp),
    (PhaseName::ModelCall, Metric::PhaseModelCall),
    (PhaseName::ServerQueue, Metric::PhaseServerQueue),
    (PhaseName::Prefill, Metric::PhasePrefill),
    (PhaseName::Server, Metric::PhaseServer),
    (PhaseName::Network, Metric::PhaseNetwork),
    (PhaseName::MainThread, Metric::PhaseMainThread),
    (PhaseName::Reasoning, Metric::PhaseReasoning),
    (PhaseName::Paint, Metric::PhasePaint),
];
