//! The LLM endpoints: they respond to a request in one of four APIs with a scripted or relayed stream.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use tokio::time::Instant;

use crate::answer::Asked;
use crate::api::Api;
use crate::log::Recorder;
use crate::play::play;
use crate::reply::{refuse, stream_headers};
use crate::scenario::{Scenario, ScenarioError};
use crate::script::plan;
use crate::site::Site;
use crate::timings::SiteTimings;

/// One route per API, below `/llm/{scenario}`.
pub(crate) fn routes() -> Router<Arc<Site>> {
    Api::ALL
        .into_iter()
        .fold(Router::new(), |router, api| {
            let answer = move |state: State<Arc<Site>>, scenario: Path<String>, request: Request| {
                answer(api, state, scenario, request)
            };
            router.route(&format!("/llm/{{scenario}}{}", api.path()), post(answer))
        })
        // `EventSource` clients get OpenAI's events, which most servers of such chats send.
        .route("/llm/{scenario}/events", get(events))
}

/// The fields that decide how a request is answered.
#[derive(Debug, Deserialize)]
struct Wanted {
    #[serde(default = "unnamed")]
    model: String,
    stream: Option<bool>,
}

fn unnamed() -> String {
    String::from("demo-model")
}

async fn answer(
    api: Api,
    State(site): State<Arc<Site>>,
    Path(segment): Path<String>,
    request: Request,
) -> Response {
    let arrived = Instant::now();
    let scenario: Scenario = match segment.parse() {
        Ok(scenario) => scenario,
        Err(error) => return refuse(api, StatusCode::NOT_FOUND, &error.to_string()),
    };
    let headers = request.headers().clone();
    let Ok(body) = to_bytes(request.into_body(), BODY_LIMIT).await else {
        return refuse(api, StatusCode::PAYLOAD_TOO_LARGE, "the request body is longer than 1 MiB");
    };
    if let Some(upstream) = &site.upstream {
        let recorder = site.log.open(api.name(), "upstream", arrived);
        return upstream.relay(api, &headers, body, recorder).await;
    }
    match wanted(api, &scenario, &body) {
        Ok(model) => {
            let asked = Asked { model, body_bytes: body.len(), created: unix_seconds() };
            let timings = site.timings_of(&headers);
            scripted(&site, api, &scenario, &asked, site.log.open(api.name(), &segment, arrived), timings)
        }
        Err(reason) => refuse(api, StatusCode::BAD_REQUEST, reason),
    }
}

#[derive(Debug, Deserialize)]
struct Named {
    #[serde(default = "unnamed")]
    model: String,
}

async fn events(
    State(site): State<Arc<Site>>,
    Path(segment): Path<String>,
    Query(Named { model }): Query<Named>,
) -> Response {
    let arrived = Instant::now();
    match asked(&site, &segment, &model, 0) {
        Ok((scenario, asked)) => {
            let recorder = site.log.open("event_source", &segment, arrived);
            scripted(&site, Api::OpenaiChat, &scenario, &asked, recorder, site.timings_of_page())
        }
        Err(reason) => refuse(Api::OpenaiChat, StatusCode::NOT_FOUND, &reason),
    }
}

/// The scenario and request of a transport without an API of its own: WebSocket or `EventSource`.
pub(crate) fn asked(
    site: &Site,
    segment: &str,
    model: &str,
    body_bytes: usize,
) -> Result<(Scenario, Asked), String> {
    if site.upstream.is_some() {
        return Err("a relay has its server's own APIs alone".to_owned());
    }
    let scenario = segment.parse().map_err(|error: ScenarioError| error.to_string())?;
    let model = model.chars().take(MODEL_LIMIT).collect();
    Ok((scenario, Asked { model, body_bytes, created: unix_seconds() }))
}

/// The model of a request. An error if the scenario cannot answer the request.
fn wanted(api: Api, scenario: &Scenario, body: &[u8]) -> Result<String, &'static str> {
    let wanted: Wanted = serde_json::from_slice(body)
        .map_err(|_| "the request body is not a JSON object with a `model` string and a `stream` flag")?;
    if !wanted.stream.unwrap_or(api.streams_by_default()) {
        return Err("this demo server only streams: send \"stream\": true");
    }
    if scenario.row.only.is_some_and(|only| only != api) {
        return Err("this scenario is a recording of another API");
    }
    Ok(wanted.model.chars().take(MODEL_LIMIT).collect())
}

fn scripted(
    site: &Site,
    api: Api,
    scenario: &Scenario,
    asked: &Asked,
    recorder: Recorder,
    timings: Option<SiteTimings>,
) -> Response {
    let seed = site.seed.wrapping_add(recorder.seq());
    let plan = plan(scenario, api, asked, seed);
    let mut headers = stream_headers(recorder.seq());
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(plan.content_type));
    if let Some(name) = api.request_id_header() {
        let id = HeaderValue::from_str(&format!("req_{seed:016x}")).expect("digits are plain ASCII");
        headers.insert(name, id);
    }
    let status = StatusCode::from_u16(plan.status).expect("plans hold valid statuses");
    recorder.headers(plan.status, plan.id.clone());
    (status, headers, Body::from_stream(play(plan, recorder, timings))).into_response()
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Maximum number of characters of a model name, which every event repeats.
const MODEL_LIMIT: usize = 128;

/// Enough for the prompt of a demo chat.
const BODY_LIMIT: usize = 1 << 20;
