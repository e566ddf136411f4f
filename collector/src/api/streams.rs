//! `GET /v1/streams` and `GET /v1/streams/{id}`: stored reports with their arrival time and country.

use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use beacon::Outcome;

use super::params::{Cursor, Limit};
use super::query_string::{Query, query};
use super::range::AskedRange;
use super::state::ApiState;
use crate::aggregate::dedup::SeqNo;
use crate::aggregate::sampling::SampleKind;
use crate::http::access_control::Access;
use crate::http::error::{ApiError, Reason};
use crate::store::query::{Filter, SamplesQuery, StoredStream, StreamsQuery};

query! {
    /// Parameters of `/v1/streams`. Without a range, all stored streams qualify.
    StreamListQuery {
        range: Option<AskedRange>,
        filter: Filter,
        limit: Limit,
        cursor: Cursor,
        outcome: Option<Outcome>,
        sample: Option<SampleKind>,
    }
}

/// Handles `/v1/streams`: the newest streams of a filter, or a sample of them.
pub(crate) async fn streams(
    State(state): State<ApiState>,
    Query(query): Query<StreamListQuery>,
) -> Result<Response, ApiError> {
    let StreamListQuery { range, filter, limit: Limit(limit), cursor: Cursor(cursor), outcome, sample } =
        query;
    let range = range.map(|range| range.at_present(&state));
    let received_ms = range.map_or((0, i64::MAX), |range| (range.from_ms, range.to_ms));
    let page = match sample {
        Some(sample) => {
            let skip = cursor.unwrap_or(0).cast_signed();
            let asked = SamplesQuery { sample, filter, outcome, received_ms, skip, limit };
            state.reader.run(move |store| store.samples(&asked)).await?
        }
        None => {
            let before = cursor.unwrap_or(SeqNo::MAX);
            let asked = StreamsQuery { filter, outcome, only_ended: false, received_ms, before, limit };
            state.reader.run(move |store| store.newest(&asked)).await?
        }
    };
    let streams: Vec<_> = page.streams.iter().map(object).collect();
    let next = page.next.map_or("null".to_owned(), |place| format!("\"{place}\""));
    Ok(json(format!("{{\"streams\":[{}],\"next\":{next}}}", streams.join(","))))
}

/// Handles `/v1/streams/{id}`.
pub(crate) async fn stream(
    State(state): State<ApiState>,
    Access { sites, .. }: Access,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let unknown = || {
        ApiError::new(Reason::UnknownStream, "no stored stream has this id: it is unknown, or no longer kept")
    };
    let well_formed = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = well_formed.then(|| u128::from_str_radix(&id, 16).ok()).flatten().ok_or_else(unknown)?;
    let found = state.reader.run(move |store| store.one(&Filter::of_sites(sites), id)).await?;
    found.as_ref().map(|stream| json(object(stream))).ok_or_else(unknown)
}

/// The stored report is a JSON object: more fields go before its closing brace.
pub(super) fn object(stream: &StoredStream) -> String {
    let fields = &stream.json[..stream.json.len() - 1];
    // The country needs no escaping: it is two letters, `unknown` or `other`.
    format!("{fields},\"received_ms\":{},\"country\":\"{}\"}}", stream.received_ms, stream.country)
}

fn json(body: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}
