//! `GET /v1/phases`: percentiles of each phase of the wait, over the streams that tell it, and the largest part of the
//! wait around the p95.

use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::metric::Metric;
use crate::aggregate::phase::{FIELDS_OF_PHASES, FIELDS_OF_WAIT};
use crate::aggregate::window_stats::WindowStats;
use crate::api::answer::around_p95::{AroundP95, MOST_IN_FILES, StreamsAroundP95};
use crate::api::answer::csv::{self, Cell, Table};
use crate::api::answer::percentiles::{Percentiles, Quantiles, relative_error};
use crate::api::answer::phase_name::PhaseName;
use crate::api::request::params::Format;
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::state::ApiState;
use crate::http::error::ApiError;
use crate::rows::parquet_reader::FieldsRead;
use crate::store::backend::Backend;
use crate::store::filter::Filter;
use crate::store::query::KeptQuery;

/// Phases of the wait, over many streams. Their percentiles do not add up to those of the wait.
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
    /// Absent with too few streams around the p95.
    #[serde(skip_serializing_if = "Option::is_none")]
    around_p95: Option<AroundP95>,
}

/// One phase, over the streams that tell it.
#[derive(Serialize, JsonSchema)]
struct Phase {
    phase: PhaseName,
    #[serde(flatten)]
    percentiles: Percentiles,
}

query! {
    /// Parameters of the route.
    PhasesQuery {
        range: AskedRange,
        filter: Filter,
        format: Format,
    }
}

/// Handles the route.
pub(crate) async fn phases(
    State(state): State<ApiState>,
    Query(query): Query<PhasesQuery>,
) -> Result<Response, ApiError> {
    let PhasesQuery { range, filter, format } = query;
    let range = range.at_present(&state);
    let needs_streams = filter.needs_streams();
    let read = move |store: &Backend<'_>| {
        let mut stats = WindowStats::default();
        let metrics = PHASES.into_iter().map(|(_, metric)| metric);
        let metrics: Vec<_> = metrics.chain(Metric::Ttft.with_censored()).collect();
        store.windows(&range.windows(&filter, None, &metrics), |_, window| stats.merge(window))?;
        let mut around = match format {
            Format::Json => StreamsAroundP95::of(stats.histogram(Metric::Ttft)),
            Format::Csv => None,
        };
        if let Some(around) = &mut around {
            let kept = KeptQuery {
                filter: &filter,
                minutes: range.minutes(),
                most_in_files: MOST_IN_FILES,
                ttft_ms: Some(around.waits_ms()),
                fields: FieldsRead::Only(FIELDS_OF_WAIT.iter().chain(FIELDS_OF_PHASES).copied().collect()),
            };
            store.each_kept(kept, |_| {}, |stream| around.add(stream.report))?;
        }
        Ok((stats, around))
    };
    let (stats, around) = state.reader.run(read).await?;
    let range = range.with_kept_since(&state, needs_streams).await?;
    let of = |(phase, metric)| Phase { phase, percentiles: Percentiles::of(&stats, metric) };
    let phases = Phases {
        range,
        relative_error: relative_error(),
        streams: stats.streams(),
        ttft: Quantiles::of(&stats, Metric::Ttft),
        phases: PHASES.map(of).into(),
        around_p95: around.and_then(StreamsAroundP95::answer),
    };
    Ok(csv::answer(format, phases))
}

impl Table for Phases {
    fn header(&self) -> Vec<String> {
        ["phase".to_owned()].into_iter().chain(csv::percentile_columns(Metric::PhaseDns)).collect()
    }

    fn rows(&self) -> Vec<Vec<Cell>> {
        let rows = self.phases.iter().zip(PHASES).map(|(Phase { percentiles, .. }, (_, metric))| {
            let name = metric.id().trim_start_matches("phase_").to_owned();
            [Cell::Text(name)].into_iter().chain(csv::percentile_cells(percentiles)).collect()
        });
        rows.collect()
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
