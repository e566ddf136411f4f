//! `GET /openapi.json`: the routes as OpenAPI 3.1, from the types that read requests and those that
//! serialize responses.

use axum::Json;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::api::request::params::{AlertFilter, Format};
use crate::api::request::query_string::{FromQuery, Param};
use crate::api::request::schema::stream;
use crate::api::routes::abandonment::{Abandonment, AbandonmentQuery};
use crate::api::routes::breakdown::{Breakdown, BreakdownQuery};
use crate::api::routes::compare::{Comparison, ComparisonQuery};
use crate::api::routes::engines::{Engines, EnginesQuery};
use crate::api::routes::explain::{ExplainQuery, Explanation};
use crate::api::routes::health::Ready;
use crate::api::routes::heatmap::{Heatmap, HeatmapQuery};
use crate::api::routes::histogram::{HistogramQuery, Spread};
use crate::api::routes::ingest_accounting::Accounting;
use crate::api::routes::integrity::{Integrity, IntegrityQuery};
use crate::api::routes::live::Snapshot;
use crate::api::routes::marker_post::{MarkerDeletionQuery, NewMarker};
use crate::api::routes::markers::{Marker, MarkerListQuery, Markers};
use crate::api::routes::phases::{Phases, PhasesQuery};
use crate::api::routes::refusals::Refusals;
use crate::api::routes::releases::{Releases, ReleasesQuery};
use crate::api::routes::server_layers::{ServerLayers, ServerLayersQuery};
use crate::api::routes::session::Session;
use crate::api::routes::slo::{Alerts, Slo};
use crate::api::routes::stream_export::{ExportFormat, StreamExportQuery};
use crate::api::routes::streams::{StreamListQuery, StreamPage};
use crate::api::routes::summary::{Summary, SummaryQuery};
use crate::api::routes::timeseries::{Timeseries, TimeseriesQuery};
use crate::api::routes::visits::{Visits, VisitsQuery};
use crate::http::session_cookie;
use crate::ingest::server_timings::Taken;
use crate::server_timing::own_json;
use crate::store::filter::Filter;

/// Handles the route.
pub(crate) async fn openapi() -> Json<Value> {
    Json(document())
}

/// A query route that responds with JSON, and with CSV if it has the parameter `format`.
struct Route {
    path: &'static str,
    about: &'static str,
    parameters: fn() -> Vec<Value>,
    answer: fn(&mut SchemaGenerator) -> Schema,
}

const ROUTES: [Route; 20] = [
    Route {
        path: "/v1/summary",
        about: "All figures of the dashboard's first screen, with those of the period before.",
        parameters: SummaryQuery::openapi,
        answer: schema::<Summary>,
    },
    Route {
        path: "/v1/timeseries",
        about: "Time series of a metric.",
        parameters: TimeseriesQuery::openapi,
        answer: schema::<Timeseries>,
    },
    Route {
        path: "/v1/histogram",
        about: "Distribution of a metric.",
        parameters: HistogramQuery::openapi,
        answer: schema::<Spread>,
    },
    Route {
        path: "/v1/heatmap",
        about: "Distribution of a metric over time.",
        parameters: HeatmapQuery::openapi,
        answer: schema::<Heatmap>,
    },
    Route {
        path: "/v1/breakdown",
        about: "Streams grouped by a dimension.",
        parameters: BreakdownQuery::openapi,
        answer: schema::<Breakdown>,
    },
    Route {
        path: "/v1/compare",
        about: "Time to first token of the same streams, measured by browsers and by servers.",
        parameters: ComparisonQuery::openapi,
        answer: schema::<Comparison>,
    },
    Route {
        path: "/v1/explain",
        about: "What the slow, failed or abandoned streams have in common.",
        parameters: ExplainQuery::openapi,
        answer: schema::<Explanation>,
    },
    Route {
        path: "/v1/phases",
        about: "Phases of the wait for the first token: connection, queue, prefill, network, page.",
        parameters: PhasesQuery::openapi,
        answer: schema::<Phases>,
    },
    Route {
        path: "/v1/server-layers",
        about: "Layers of the backend that tell their time to first token, and why streams lack it.",
        parameters: ServerLayersQuery::openapi,
        answer: schema::<ServerLayers>,
    },
    Route {
        path: "/v1/engines",
        about: "Queue, load and cache of the inference engines, beside the users' waits.",
        parameters: EnginesQuery::openapi,
        answer: schema::<Engines>,
    },
    Route {
        path: "/v1/releases",
        about: "Releases of the app, each compared with the one before it.",
        parameters: ReleasesQuery::openapi,
        answer: schema::<Releases>,
    },
    Route {
        path: "/v1/markers",
        about: "Posted markers and first appearances of releases, the oldest first.",
        parameters: MarkerListQuery::openapi,
        answer: schema::<Markers>,
    },
    Route {
        path: "/v1/integrity",
        about: "Outcomes and defects of streams, and the number of intact streams.",
        parameters: IntegrityQuery::openapi,
        answer: schema::<Integrity>,
    },
    Route {
        path: "/v1/abandonment",
        about: "Abandonment: how long users wait for text before they leave.",
        parameters: AbandonmentQuery::openapi,
        answer: schema::<Abandonment>,
    },
    Route {
        path: "/v1/visits",
        about: "Visits, and the share of them with at least one bad stream.",
        parameters: VisitsQuery::openapi,
        answer: schema::<Visits>,
    },
    Route {
        path: "/v1/streams",
        about: "Single streams, newest first. Without a range: streams of all times.",
        parameters: StreamListQuery::openapi,
        answer: schema::<StreamPage>,
    },
    Route {
        path: "/v1/slo",
        about: "Error budgets of one use case of a site: the chosen one, else the one with the most urgent alert.",
        parameters: Filter::openapi,
        answer: schema::<Slo>,
    },
    Route {
        path: "/v1/alerts",
        about: "The alerts of each site and use case that fire now. They have no other filters than these two.",
        parameters: AlertFilter::openapi,
        answer: schema::<Alerts>,
    },
    Route {
        path: "/v1/accounting",
        about: "Ingest accounting: received requests and reports, and their results.",
        parameters: <()>::openapi,
        answer: schema::<Accounting>,
    },
    Route {
        path: "/v1/refusals",
        about: "The last refusals of the ingest endpoint, with the line of the configuration that would accept each.",
        parameters: <()>::openapi,
        answer: schema::<Refusals>,
    },
];

/// The document, without a server.
#[must_use]
pub fn document() -> Value {
    // OpenAPI 3.1 uses JSON Schema 2020-12 unchanged.
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in ROUTES {
        paths.insert(route.path.to_owned(), route.openapi(&mut generator));
    }
    paths["/v1/markers"]["post"] = post_marker(&mut generator);
    paths.insert("/v1/server-timings".to_owned(), server_timings(&mut generator));
    paths.insert("/v1/markers/{id}".to_owned(), delete_marker());
    paths.insert("/v1/streams/{id}".to_owned(), one_stream(&mut generator));
    for (path, format) in
        [("/v1/streams.ndjson", ExportFormat::Ndjson), ("/v1/streams.parquet", ExportFormat::Parquet)]
    {
        paths.insert(path.to_owned(), stream_export(format));
    }
    paths.insert("/v1/live".to_owned(), live(&mut generator));
    paths.insert("/v1/session".to_owned(), session(&mut generator));
    paths.insert("/healthz".to_owned(), healthz());
    paths.insert("/readyz".to_owned(), readyz(&mut generator));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "llm-rum",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The API of the dashboard. Definitions of the metrics: docs/metrics.md.",
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "session": { "type": "apiKey", "in": "cookie", "name": session_cookie::NAME },
            },
        },
    })
}

impl Route {
    fn openapi(&self, generator: &mut SchemaGenerator) -> Value {
        let parameters = (self.parameters)();
        let mut content = json!({ "application/json": { "schema": (self.answer)(generator) } });
        if parameters.iter().any(|parameter| parameter["name"] == Format::NAME) {
            content["text/csv"] = json!({ "schema": { "type": "string" } });
        }
        json!({ "get": {
            "summary": self.about, "parameters": parameters,
            "responses": answers(&content, &["400", "401", "403", "429"]), "security": security(),
        } })
    }
}

fn post_marker(generator: &mut SchemaGenerator) -> Value {
    let refusals = ["400", "401", "403", "408", "413", "415", "429"];
    let content = json!({ "application/json": { "schema": schema::<Marker>(generator) } });
    let mut responses = answers(&content, &refusals);
    responses["200"]["description"] = "The site had a marker with this id, which stays as it is.".into();
    responses["201"] = json!({ "description": "The marker is on disk.", "content": content });
    json!({
        "summary": "Posts a marker. Needs the scope `markers`.",
        "requestBody": {
            "required": true, "content": { "application/json": { "schema": schema::<NewMarker>(generator) } },
        },
        "responses": responses, "security": security(),
    })
}

fn server_timings(generator: &mut SchemaGenerator) -> Value {
    let site = json!({ "name": "site", "in": "query", "schema": { "type": "string" } });
    let fact = schema::<own_json::Fact<'_>>(generator);
    let body = json!({ "type": "object", "required": ["facts"], "properties": { "facts": { "type": "array", "items": fact } } });
    let content = json!({ "application/json": { "schema": schema::<Taken>(generator) } });
    let refusals = ["400", "401", "403", "404", "408", "413", "415", "429"];
    json!({ "post": {
        "summary": "Takes timings of single streams from the backend. Needs the scope `server_timings`.",
        "parameters": [site],
        "requestBody": { "required": true, "content": { "application/json": { "schema": body } } },
        "responses": answers(&content, &refusals), "security": security(),
    } })
}

fn delete_marker() -> Value {
    let id = json!({ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } });
    let parameters: Vec<_> = [id].into_iter().chain(MarkerDeletionQuery::openapi()).collect();
    let mut responses = answers(&json!({}), &["400", "401", "403", "404", "429"]);
    responses["204"] = json!({ "description": "The marker is deleted." });
    responses.as_object_mut().expect("an object").remove("200");
    json!({ "delete": {
        "summary": "Deletes a posted marker. Needs the scope `markers`.",
        "parameters": parameters,
        "responses": responses, "security": security(),
    } })
}

fn one_stream(generator: &mut SchemaGenerator) -> Value {
    let id = json!({
        "name": "id", "in": "path", "required": true, "schema": { "type": "string", "pattern": "^[0-9a-f]{32}$" },
    });
    let content = json!({ "application/json": { "schema": stream(generator) } });
    json!({ "get": {
        "summary": "One stream by its id.", "parameters": [id], "responses": answers(&content, &["401", "403", "404", "429"]),
        "security": security(),
    } })
}

fn stream_export(format: ExportFormat) -> Value {
    let content = json!({ format.content_type(): { "schema": { "type": "string", "format": "binary" } } });
    json!({ "get": {
        "summary": "All kept streams of a range, as a file. Columns: docs/stream-rows.md.",
        "parameters": StreamExportQuery::openapi(),
        "responses": answers(&content, &["400", "401", "403", "429"]), "security": security(),
    } })
}

fn live(generator: &mut SchemaGenerator) -> Value {
    let content = json!({
        "application/json": { "schema": schema::<Snapshot>(generator) },
        "text/event-stream": { "schema": { "type": "string" } },
    });
    json!({ "get": {
        "summary": "Live figures. With `Accept: text/event-stream`: one event per second.",
        "parameters": Filter::openapi(),
        "responses": answers(&content, &["400", "401", "403", "429"]), "security": security(),
    } })
}

fn session(generator: &mut SchemaGenerator) -> Value {
    let content = json!({ "application/json": { "schema": schema::<Session>(generator) } });
    let token = json!({ "type": "object", "required": ["token"], "additionalProperties": false, "properties": {
        "token": { "type": "string", "maxLength": 1_000, "writeOnly": true },
    } });
    let mut signed_out = answers(&content, &["403"]);
    signed_out["204"] = json!({ "description": "The cookie is removed." });
    signed_out.as_object_mut().expect("an object").remove("200");
    json!({
        "get": {
            "summary": "Who the request comes from, and which sites it may read.",
            "responses": answers(&content, &["401", "403", "429"]), "security": security(),
        },
        "post": {
            "summary": "Signs a browser in: sets a session cookie. For pages of this collector only.",
            "requestBody": { "required": true, "content": { "application/json": { "schema": token } } },
            "responses": answers(&content, &["400", "401", "403", "408", "413", "415", "429"]),
        },
        "delete": {
            "summary": "Signs a browser out: removes the session cookie. For pages of this collector only.",
            "responses": signed_out,
        },
    })
}

fn healthz() -> Value {
    let content = json!({ "text/plain": { "schema": { "type": "string", "const": "ok" } } });
    json!({ "get": { "summary": "Liveness: the process runs.", "responses": answers(&content, &[]) } })
}

fn readyz(generator: &mut SchemaGenerator) -> Value {
    let content = json!({ "application/json": { "schema": schema::<Ready>(generator) } });
    let answer =
        json!({ "description": "Whether this collector should receive traffic.", "content": content });
    json!({ "get": {
        "summary": "Readiness: the collector can store beacons and is not about to stop.",
        "responses": { "200": answer, "503": answer },
    } })
}

/// None on a loopback host while no token is configured.
fn security() -> Value {
    json!([{}, { "token": [] }, { "session": [] }])
}

fn answers(content: &Value, refusals: &[&str]) -> Value {
    let mut answers = json!({ "200": { "description": "The result.", "content": content } });
    // All routes can return 503: ClickHouse may be unreachable, or the subscriber limit may be reached.
    for status in refusals.iter().chain(&["503"]) {
        answers[*status] = json!({
            "description": "The request is refused.", "content": { "application/json": { "schema": refusal() } },
        });
    }
    answers["431"] =
        json!({ "description": "There are over 64 headers, or the request's head is over 16 KiB." });
    answers
}

fn refusal() -> Value {
    json!({ "type": "object", "required": ["error"], "properties": { "error": {
        "type": "object", "required": ["code", "message"],
        "properties": { "code": { "type": "string" }, "message": { "type": "string" } },
    } } })
}

fn schema<Answer: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<Answer>()
}
