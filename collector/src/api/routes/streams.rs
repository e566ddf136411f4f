//! `GET /v1/streams` and `GET /v1/streams/{id}`: stored reports with their arrival time and country.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use beacon::StreamReport;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::aggregate::dedup::SeqNo;
use crate::aggregate::sampling::SampleKind;
use crate::api::answer::stream_phases::stream_phases;
use crate::api::request::params::{Cursor, Limit, ReceivedSince};
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::AskedRange;
use crate::api::request::schema;
use crate::api::state::ApiState;
use crate::config::Site;
use crate::config::link_template::LinkTemplate;
use crate::http::access_control::Access;
use crate::http::error::{ApiError, Reason};
use crate::report::server_fact::trace_id;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::{SamplesQuery, StoredStream, StreamsQuery};

query! {
    /// Parameters of `/v1/streams`. Without a range, all stored streams qualify.
    StreamListQuery {
        range: Option<AskedRange>,
        filter: Filter,
        limit: Limit,
        cursor: Cursor,
        sample: Option<SampleKind>,
        since: Option<ReceivedSince>,
    }
}

/// Handles `/v1/streams`: the newest streams of a filter, or a sample of them.
pub(crate) async fn streams(
    State(state): State<ApiState>,
    Query(query): Query<StreamListQuery>,
) -> Result<Response, ApiError> {
    let StreamListQuery { range, filter, limit: Limit(limit), cursor: Cursor(cursor), sample, since } = query;
    let range = range.map(|range| range.at_present(&state));
    let received_ms = range.map_or((0, i64::MAX), |range| (range.from_ms, range.to_ms));
    let page = match sample {
        Some(sample) => {
            let skip = cursor.unwrap_or(0) as usize;
            let asked = SamplesQuery { sample, filter, received_ms, skip, limit };
            state.reader.run(move |store| store.samples(&asked)).await?
        }
        None => {
            let before = cursor.unwrap_or(SeqNo::MAX);
            let asked = StreamsQuery { filter, only_ended: false, received_ms, before, limit };
            state.reader.run(move |store| store.newest(&asked)).await?
        }
    };
    let since_ms = since.map(|ReceivedSince(ms)| ms);
    let (changed, unchanged): (Vec<_>, Vec<_>) = (0..)
        .zip(&page.streams)
        .partition(|(_, stream)| since_ms.is_none_or(|since_ms| stream.received_ms >= since_ms));
    let unchanged = unchanged.into_iter().map(|(index, stream)| Unchanged::of(index, stream));
    let answer = StreamPage {
        streams: changed
            .into_iter()
            .map(|(_, stream)| raw(stream, &state.config.sites))
            .collect::<Result<_, _>>()?,
        unchanged: since_ms.is_some().then(|| unchanged.collect::<Result<_, _>>()).transpose()?,
        next: page.next.map(|place| place.to_string()),
    };
    Ok(Json(answer).into_response())
}

/// Streams of one page, newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StreamPage {
    #[schemars(schema_with = "reports")]
    streams: Vec<Box<RawValue>>,
    /// With `since`: the streams of the page that `streams` leaves out, because they arrived before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    unchanged: Option<Vec<Unchanged>>,
    /// `cursor` of the next page; `null` on the last one.
    #[schemars(schema_with = "cursor")]
    next: Option<String>,
}

/// A stream without its fields: a client that has this revision needs no newer one.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UnchangedStream")]
struct Unchanged {
    /// Position in the page, from 0.
    index: usize,
    id: String,
    rev: u32,
}

impl Unchanged {
    fn of(index: usize, stream: &StoredStream) -> Result<Self, StoreError> {
        #[derive(Deserialize)]
        struct Revision {
            id: String,
            #[serde(default)]
            rev: u32,
        }
        let Revision { id, rev } = serde_json::from_str(&stream.json)?;
        Ok(Self { index, id, rev })
    }
}

fn cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"] })
}

fn reports(generator: &mut SchemaGenerator) -> Schema {
    let list = json!({ "type": "array", "items": schema::stream(generator) });
    list.try_into().expect("a schema is an object")
}

/// Handles `/v1/streams/{id}`.
pub(crate) async fn stream(
    State(state): State<ApiState>,
    Access { sites, .. }: Access,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let Path(id) = id.map_err(|_| ApiError::new(Reason::BadQuery, "the id is not UTF-8"))?;
    let unknown = || {
        ApiError::new(Reason::UnknownStream, "no stored stream has this id: it is unknown, or no longer kept")
    };
    let well_formed = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = well_formed.then(|| u128::from_str_radix(&id, 16).ok()).flatten().ok_or_else(unknown)?;
    let found = state.reader.run(move |store| store.one(&Filter::of_sites(sites), id)).await?;
    let stream = found.map(|found| object(&found, &state.config.sites)).ok_or_else(unknown)?;
    Ok(([(CONTENT_TYPE, "application/json")], stream).into_response())
}

fn raw(stream: &StoredStream, sites: &[Site]) -> Result<Box<RawValue>, StoreError> {
    Ok(RawValue::from_string(object(stream, sites))?)
}

/// The report as it is stored, with its time, its country, its phases and its links. `sites` have templates of these.
pub(crate) fn object(stream: &StoredStream, sites: &[Site]) -> String {
    let report = serde_json::from_str(&stream.json).ok();
    let added = report.map(|report| phases_json(&report) + &links_json(&report, sites)).unwrap_or_default();
    with_arrival(stream, &added)
}

/// The stored report is a JSON object: more fields go before its closing brace.
pub(crate) fn with_arrival(stream: &StoredStream, added: &str) -> String {
    let fields = &stream.json[..stream.json.len() - 1];
    // The country needs no escaping: it is two letters, `unknown` or `other`.
    format!("{fields},\"received_ms\":{},\"country\":\"{}\"{added}}}", stream.received_ms, stream.country)
}

/// The phases of the wait, as a further field. Empty without a first token.
fn phases_json(report: &StreamReport) -> String {
    stream_phases(report).map(|phases| format!(",\"phases\":{}", json!(phases))).unwrap_or_default()
}

/// The addresses of the stream in other tools, as a further field. Empty without any.
fn links_json(report: &StreamReport, sites: &[Site]) -> String {
    let Some(site) = sites.iter().find(|site| report.site.as_deref() == Some(site.name.as_str())) else {
        return String::new();
    };
    let ids = [
        ("trace_id", trace_id(report)),
        ("response_id", report.response_id.as_deref()),
        ("stream_id", Some(report.id.as_str())),
    ];
    let filled = |(name, template): (&String, &LinkTemplate)| Some((name.clone(), template.filled(&ids)?));
    let links: BTreeMap<_, _> = site.links.iter().filter_map(filled).collect();
    if links.is_empty() { String::new() } else { format!(",\"links\":{}", json!(links)) }
}
