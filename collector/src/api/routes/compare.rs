//! `GET /v1/compare`: time to first token of browsers and servers over time, for the streams where both are known, and
//! the overhead between them. The server is what the stream carries, or one layer of the backend.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use beacon::{ServerTiming, StreamReport};
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::metric::{Metric, Unit};
use crate::aggregate::phase::{FIELDS_OF_LAYERS, LayerTtft};
use crate::aggregate::window_stats::WindowStats;
use crate::api::answer::csv::{self, Cell, Table};
use crate::api::answer::percentiles::{Quantiles, quantile};
use crate::api::answer::quantile_values::quantiles;
use crate::api::request::params::{CompareTo, Format, Since, Step};
use crate::api::request::query_string::{Accepts, Param, Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::state::ApiState;
use crate::http::error::ApiError;
use crate::report::server_fact::Layer;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::KeptQuery;
use crate::time::MINUTE_MS;

/// Time to first token in browsers and on servers.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Comparison {
    #[serde(flatten)]
    range: Range,
    /// Whose time the server's is.
    layer: ServerSide,
    streams: u64,
    /// Streams with both times.
    matched: u64,
    /// Streams with both times by source of the server's. Times that the backend sent count as `other`.
    sources: BTreeMap<&'static str, u64>,
    client: Quantiles,
    server: Quantiles,
    overhead: Quantiles,
    step_ms: i64,
    points: Vec<Point>,
    /// Points of the comparison period, one per point of the range. Absent unless requested, and if streams of that period
    /// are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<Vec<Point>>,
}

/// One step of the range. It has its time alone if not all its streams are kept.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ComparisonPoint")]
struct Point {
    timestamp_ms: i64,
    #[serde(flatten)]
    figures: Option<Figures>,
}

/// Figures of a step.
#[derive(Serialize, JsonSchema)]
struct Figures {
    n: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_p50_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_p50_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overhead_p50_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_p90_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_p90_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overhead_p90_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_p95_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_p95_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overhead_p95_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_p99_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_p99_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overhead_p99_ms: Option<f64>,
}

/// Whose time stands beside the browser's. Different layers begin at different moments, so no figure has two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ServerSide {
    /// What the stream itself carries, whichever layer wrote it.
    InBand,
    Edge,
    App,
    ModelCall,
    Gateway,
    Engine,
}

impl ServerSide {
    const fn layer(self) -> Option<Layer> {
        match self {
            Self::InBand => None,
            Self::Edge => Some(Layer::Edge),
            Self::App => Some(Layer::App),
            Self::ModelCall => Some(Layer::ModelCall),
            Self::Gateway => Some(Layer::Gateway),
            Self::Engine => Some(Layer::Engine),
        }
    }
}

impl Param for ServerSide {
    const NAME: &'static str = "layer";
    const ABOUT: &'static str =
        "Whose time to first token is the server's: what the stream carries, or a layer of the backend.";
    const DEFAULT: Option<&'static str> = Some("in_band");

    fn accepts() -> Accepts<Self> {
        let layers = [Self::Edge, Self::App, Self::ModelCall, Self::Gateway, Self::Engine];
        let words = layers.into_iter().zip(Layer::ALL).map(|(side, layer)| (layer.as_str(), side));
        Accepts::words([("in_band", Self::InBand)].into_iter().chain(words))
    }
}

query! {
    /// Parameters of the route.
    ComparisonQuery {
        range: AskedRange,
        filter: Filter,
        layer: ServerSide,
        step: Option<Step>,
        since: Option<Since>,
        compare_to: Option<CompareTo>,
        format: Format,
    }
}

/// Handles the route.
pub(crate) async fn compare(
    State(state): State<ApiState>,
    Query(query): Query<ComparisonQuery>,
) -> Result<Response, ApiError> {
    let ComparisonQuery { range, filter, layer, step, since, compare_to, format } = query;
    let (range, step_ms) = range.at_present(&state).in_steps(step, compare_to)?;
    let earlier = compare_to.map(|period| range.earlier_in_steps(period, step_ms)).transpose()?;
    let needs_streams = filter.needs_streams() || layer.layer().is_some();
    let first_step = range.first_step(since, step_ms);
    let read_all = move |store: &Backend<'_>| {
        store.both(
            |store| read_steps(store, &filter, layer, range, step_ms),
            |store| {
                let period = earlier.map(|earlier| earlier.without_steps(first_step, step_ms));
                period.map(|period| read_steps(store, &filter, layer, period, step_ms)).transpose()
            },
        )
    };
    let (steps, before) = state.reader.run(read_all).await?;
    let earlier = match earlier {
        Some(period) if period.with_kept_since(&state, needs_streams).await?.is_complete() => {
            let period = period.without_steps(first_step, step_ms);
            before.map(|steps| points(period, step_ms, &steps).collect())
        }
        _ => None,
    };
    let range = range.with_kept_since(&state, needs_streams).await?;
    let mut all = WindowStats::default();
    for step in &steps {
        all.merge(step);
    }
    let comparison = Comparison {
        range,
        layer,
        streams: all.streams(),
        matched: all.histogram(CLIENT).count(),
        sources: all.sources().collect(),
        client: Quantiles::of(&all, CLIENT),
        server: Quantiles::of(&all, SERVER),
        overhead: Quantiles::of(&all, Metric::Overhead),
        step_ms,
        points: points(range, step_ms, &steps).skip(first_step).collect(),
        earlier,
    };
    Ok(csv::answer(format, comparison))
}

/// Statistics of the steps of a range.
fn read_steps(
    store: &Backend<'_>,
    filter: &Filter,
    side: ServerSide,
    range: Range,
    step_ms: i64,
) -> Result<Vec<WindowStats>, StoreError> {
    let mut steps = vec![WindowStats::default(); range.steps(step_ms)];
    let asked = range.windows(filter, Some(step_ms), &[CLIENT, SERVER, Metric::Overhead]);
    let Some(layer) = side.layer() else {
        store.windows(&asked, |minute, stats| {
            steps[range.step_at(minute * MINUTE_MS, step_ms)].merge(stats);
        })?;
        return Ok(steps);
    };
    let kept = KeptQuery::of_statistics(&asked, FIELDS_OF_LAYERS);
    store.each_kept(
        kept,
        |_| {},
        |stream| {
            let step = &mut steps[range.step_at(stream.received_ms, step_ms)];
            step.add_with(&with_server(stream.report, layer), stream.judgement, asked.metrics);
        },
    )?;
    Ok(steps)
}

/// The report as if the stream carried the time of this layer.
fn with_server(report: &StreamReport, layer: Layer) -> StreamReport {
    let server = LayerTtft::of(report, layer).map(|ttft| ServerTiming {
        source: ttft.in_stream.unwrap_or_default(),
        ttft_ms: Some(ttft.ms),
        ..ServerTiming::default()
    });
    StreamReport { server, ..report.clone() }
}

fn points(range: Range, step_ms: i64, steps: &[WindowStats]) -> impl Iterator<Item = Point> {
    range.step_starts(step_ms).zip(steps).map(move |(timestamp_ms, step)| Point {
        timestamp_ms,
        figures: range.has_step(timestamp_ms).then(|| Figures::of(step)),
    })
}

impl Table for Comparison {
    fn header(&self) -> Vec<String> {
        let sides = ["client", "server", "overhead"];
        let of = |q: &'static str| sides.into_iter().map(move |side| format!("{side}_{q}_ms"));
        let quantiles = quantiles(Unit::Milliseconds).into_iter().flat_map(|(q, _)| of(q));
        ["timestamp_ms".to_owned(), "n".to_owned()].into_iter().chain(quantiles).collect()
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
    fn of(step: &WindowStats) -> Self {
        let at = |metric, q| quantile(step.histogram(metric), q);
        Self {
            n: step.histogram(CLIENT).count(),
            client_p50_ms: at(CLIENT, 0.5),
            server_p50_ms: at(SERVER, 0.5),
            overhead_p50_ms: at(Metric::Overhead, 0.5),
            client_p90_ms: at(CLIENT, 0.9),
            server_p90_ms: at(SERVER, 0.9),
            overhead_p90_ms: at(Metric::Overhead, 0.9),
            client_p95_ms: at(CLIENT, 0.95),
            server_p95_ms: at(SERVER, 0.95),
            overhead_p95_ms: at(Metric::Overhead, 0.95),
            client_p99_ms: at(CLIENT, 0.99),
            server_p99_ms: at(SERVER, 0.99),
            overhead_p99_ms: at(Metric::Overhead, 0.99),
        }
    }

    fn cells(&self) -> [Cell; 13] {
        [
            self.n.into(),
            self.client_p50_ms.into(),
            self.server_p50_ms.into(),
            self.overhead_p50_ms.into(),
            self.client_p90_ms.into(),
            self.server_p90_ms.into(),
            self.overhead_p90_ms.into(),
            self.client_p95_ms.into(),
            self.server_p95_ms.into(),
            self.overhead_p95_ms.into(),
            self.client_p99_ms.into(),
            self.server_p99_ms.into(),
            self.overhead_p99_ms.into(),
        ]
    }
}

const CLIENT: Metric = Metric::JoinedTtft;
const SERVER: Metric = Metric::JoinedServerTtft;
