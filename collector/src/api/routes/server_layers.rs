//! `GET /v1/server-layers`: which layers of the backend tell the time to first token of how many streams, and why the
//! others lack it. Definition: `docs/server-timing-layers.md`.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use beacon::StreamReport;
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::dimension::Dimension;
use crate::aggregate::internal_metrics::{Counts, Kind};
use crate::aggregate::phase::{FIELDS_OF_LAYERS, LayerTtft};
use crate::api::answer::around_p95::MOST_IN_FILES;
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::state::ApiState;
use crate::http::counters::FactResult;
use crate::http::error::ApiError;
use crate::report::server_fact::Layer;
use crate::store::backend::Backend;
use crate::store::filter::{Filter, Selection};
use crate::store::query::KeptQuery;
use crate::time;

/// Layers of the backend, by the kept streams of a range.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ServerLayers {
    #[serde(flatten)]
    range: Range,
    streams: u64,
    /// From outside to inside, all of them.
    layers: Vec<LayerShare>,
    /// Timings that backends sent for any stream since the store was created: `matched`, `duplicate`, `expired`, `refused`,
    /// and in a cluster `shared` and `claimed`. Absent if the filter or the token selects sites.
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<BTreeMap<&'static str, u64>>,
}

/// How many streams have the time to first token of a layer: `streams` = `sent` + `in_stream` + all of `without`.
#[derive(Serialize, JsonSchema)]
struct LayerShare {
    layer: LayerName,
    /// The backend sent it.
    sent: u64,
    /// The stream itself carried it.
    in_stream: u64,
    without: Without,
}

/// Names of the layers.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum LayerName {
    Edge,
    App,
    ModelCall,
    Gateway,
    Engine,
}

/// Streams without the time to first token of a layer, by reason.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "StreamsWithoutLayer")]
struct Without {
    /// The layer told something else of the stream.
    no_ttft: u64,
    /// The request failed before a response.
    no_response: u64,
    /// The response has no id, nor a comment of a middleware with one, and the page saw no trace: no timing can be
    /// matched.
    no_response_id: u64,
    /// The stream is younger than `server.wait_seconds`.
    may_come: u64,
    /// No timing with the id of the response came in time.
    no_fact: u64,
}

query! {
    /// Parameters of the route.
    ServerLayersQuery {
        range: AskedRange,
        filter: Filter,
    }
}

/// Handles the route.
pub(crate) async fn server_layers(
    State(state): State<ApiState>,
    Query(query): Query<ServerLayersQuery>,
) -> Result<Json<ServerLayers>, ApiError> {
    let ServerLayersQuery { range, filter } = query;
    let range = range.at_present(&state);
    let waits_since_ms = time::now_ms() - i64::from(state.config.server.wait_seconds) * 1_000;
    let read = move |store: &Backend<'_>| {
        let reads = FIELDS_OF_LAYERS.into_iter().chain(["response_id", "server_id", "trace_id"]);
        let (mut streams, mut since_ms) = (0, None);
        let mut layers = LAYERS.map(|(layer, _)| LayerShare::none_of(layer));
        let kept = KeptQuery { most_in_files: MOST_IN_FILES, ..range.kept_streams(&filter, reads) };
        store.each_kept(
            kept,
            |kept| since_ms = kept,
            |stream| {
                streams += 1;
                let may_come = stream.received_ms > waits_since_ms;
                for (share, (_, layer)) in layers.iter_mut().zip(LAYERS) {
                    share.add(stream.report, layer, may_come);
                }
            },
        )?;
        let all = filter.sites().all().filter(|_| *filter.selection(Dimension::Site) == Selection::All);
        let totals = all.map(|all| store.ingest_totals(all)).transpose()?;
        let of = |counts: &Counts, result: FactResult| {
            (result.as_str(), counts.get(Kind::ServerFact, result.as_str()))
        };
        let facts = totals.map(|totals| FactResult::ALL.map(|result| of(&totals.counts, result)).into());
        Ok(ServerLayers { range: range.kept_since(since_ms), streams, layers: layers.into(), facts })
    };
    Ok(Json(state.reader.run(read).await?))
}

impl LayerShare {
    fn none_of(layer: LayerName) -> Self {
        Self { layer, sent: 0, in_stream: 0, without: Without::default() }
    }

    fn add(&mut self, report: &StreamReport, layer: Layer, may_come: bool) {
        let without = &mut self.without;
        let ids = [&report.response_id, &report.server_id, &report.trace_id];
        let has_id = ids.into_iter().any(Option::is_some);
        let counter = match LayerTtft::of(report, layer) {
            Some(LayerTtft { in_stream: None, .. }) => &mut self.sent,
            Some(LayerTtft { in_stream: Some(_), .. }) => &mut self.in_stream,
            None if report.layers.as_ref().is_some_and(|layers| layer.of(layers).is_some()) => {
                &mut without.no_ttft
            }
            None if has_id && may_come => &mut without.may_come,
            None if has_id => &mut without.no_fact,
            None if report.headers_ms.is_none() && report.first_byte_ms.is_none() => &mut without.no_response,
            None => &mut without.no_response_id,
        };
        *counter += 1;
    }
}

const LAYERS: [(LayerName, Layer); 5] = [
    (LayerName::Edge, Layer::Edge),
    (LayerName::App, Layer::App),
    (LayerName::ModelCall, Layer::ModelCall),
    (LayerName::Gateway, Layer::Gateway),
    (LayerName::Engine, Layer::Engine),
];
