//! `GET /v1/live`: the current state of a filter, once or as an event stream with one event a second.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::aggregate::dedup::SeqNo;
use crate::aggregate::metric::Metric;
use crate::aggregate::window_stats::WindowStats;
use crate::api::answer::percentiles::Quantiles;
use crate::api::live_feed::LiveEvent;
use crate::api::request::query_string::Query;
use crate::api::request::range::{AskedRange, Range};
use crate::api::request::schema;
use crate::api::routes::streams::object;
use crate::api::state::ApiState;
use crate::http::error::{ApiError, Reason};
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::{RATE_MS, StreamsQuery};
use crate::time;

/// The current state of a filter.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Live")]
pub(crate) struct Snapshot {
    /// Time of the snapshot, in milliseconds since 1970.
    timestamp_ms: i64,
    scope: Scope,
    /// Streams with a report that are not finalized.
    open: u64,
    ended: Ended,
    /// Accepted reports per second over the newest 10 s. Absent in a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    reports_per_second: Option<f64>,
    /// Range of the percentiles.
    #[serde(flatten)]
    range: Range,
    ttfv: Quantiles,
    ttft: Quantiles,
    /// The most recently ended streams.
    #[schemars(schema_with = "streams")]
    streams: Vec<Box<RawValue>>,
}

/// Collectors whose streams the snapshot covers.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Scope {
    /// This collector, which runs alone.
    Collector,
    /// All collectors, as far as they have published.
    Cluster,
}

/// Streams whose last report arrived within the newest minute and that are not open.
#[derive(Serialize, JsonSchema)]
struct Ended {
    /// 60, or less if the newest minute has more streams than memory keeps.
    seconds: f64,
    streams: u64,
    outcomes: BTreeMap<&'static str, u64>,
}

/// Handles the route.
pub(crate) async fn live(
    State(state): State<ApiState>,
    Query(filter): Query<Filter>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if !wants_events(&headers) {
        return Ok(Json(snapshot(&state, &filter).await?).into_response());
    }
    let Some((listener, source)) = state.live.listen(&filter) else {
        state.counters.listener_rejected();
        return Err(ApiError::new(
            Reason::TooManyListeners,
            "the live feed has reached its subscriber limit; try again later",
        ));
    };
    if let Some(source) = source {
        tokio::spawn(async move {
            let make = || event(&state, &filter);
            state.live.drive(source, period(&state), make).await;
        });
    }
    let events = Sse::new(listener.events()).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    // Makes a buffering proxy pass each event on immediately.
    Ok(([(UNBUFFERED, HeaderValue::from_static("no"))], events).into_response())
}

/// A client that accepts any type gets a single snapshot.
fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).into_iter().filter_map(|accept| accept.to_str().ok());
    let mut kinds = accepted.flat_map(|accept| accept.split(','));
    kinds.any(|kind| {
        kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
    })
}

/// Interval of events. In a cluster it is the publishing interval.
fn period(state: &ApiState) -> Duration {
    let cluster = state.config.store.clickhouse.as_ref();
    Duration::from_secs(cluster.map_or(1, |cluster| cluster.publish_seconds.into()).max(1))
}

async fn event(state: &ApiState, filter: &Filter) -> LiveEvent {
    let refused = match snapshot(state, filter).await.map(|snapshot| serde_json::to_string(&snapshot)) {
        Ok(Ok(json)) => return LiveEvent::Snapshot(json.into()),
        Ok(Err(error)) => StoreError::from(error).into(),
        Err(refused) => refused,
    };
    LiveEvent::Refused(refused.body().into())
}

async fn snapshot(state: &ApiState, filter: &Filter) -> Result<Snapshot, ApiError> {
    let range = AskedRange::Newest { minutes: PERCENTILE_MINUTES }.at_present(state);
    let (filter, now_ms) = (filter.clone(), time::now_ms());
    let asked = StreamsQuery {
        filter: filter.clone(),
        only_ended: true,
        received_ms: (0, i64::MAX),
        before: SeqNo::MAX,
        limit: SHOWN,
    };
    let sites = state.config.sites.clone();
    let take = move |store: &Backend<'_>| {
        let waits = |store: &Backend<'_>| {
            let mut stats = WindowStats::default();
            let metrics = [Metric::Ttfv, Metric::Ttft].map(Metric::with_censored).concat();
            store.windows(&range.windows(&filter, None, &metrics), |_, window| stats.merge(window))?;
            Ok(stats)
        };
        let ((stats, recent), (newest, open)) = store.both(
            |store| store.both(waits, |store| store.recent(&filter, (ENDED_MS, now_ms))),
            |store| store.both(|store| store.newest(&asked), |store| store.open_streams(&filter)),
        )?;
        let raw = newest.streams.iter().map(|stream| RawValue::from_string(object(stream, &sites)));
        Ok(Snapshot {
            timestamp_ms: now_ms,
            scope: if store.is_cluster() { Scope::Cluster } else { Scope::Collector },
            open,
            ended: Ended {
                seconds: recent.ms as f64 / 1e3,
                streams: recent.ended.values().sum(),
                outcomes: recent.ended,
            },
            reports_per_second: recent.reports_per_second,
            range,
            ttfv: Quantiles::of(&stats, Metric::Ttfv),
            ttft: Quantiles::of(&stats, Metric::Ttft),
            streams: raw.collect::<Result<_, _>>()?,
        })
    };
    Ok(state.reader.run(take).await?)
}

fn streams(generator: &mut SchemaGenerator) -> Schema {
    let list = json!({ "type": "array", "maxItems": SHOWN, "items": schema::stream(generator) });
    list.try_into().expect("a schema is an object")
}

const ENDED_MS: i64 = 60_000;
const _: () = assert!(RATE_MS <= ENDED_MS);

/// Includes the current minute.
const PERCENTILE_MINUTES: i64 = 5;

const SHOWN: usize = 10;

/// Keeps proxies from closing a connection without events.
const HEARTBEAT: Duration = Duration::from_secs(15);

const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");
