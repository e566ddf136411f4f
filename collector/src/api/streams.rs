//! `GET /v1/streams` and `GET /v1/streams/{id}`: stored reports with their arrival time and country.

use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use beacon::Outcome;

use super::param_schema::{CURSOR, OUTCOME, SAMPLE, STREAMS};
use super::params::{Params, bad};
use super::state::ApiState;
use crate::aggregate::dedup::SeqNo;
use crate::aggregate::sampling::SampleKind;
use crate::http::error::{ApiError, Reason};
use crate::store::query::{SamplesQuery, StoredStream, StreamsQuery};

/// Handles `/v1/streams`: the newest streams of a filter, or a sample of them. Without a range, all stored
/// streams qualify.
pub(crate) async fn streams(State(state): State<ApiState>, params: Params) -> Result<Response, ApiError> {
    params.only(&[STREAMS, CURSOR, OUTCOME, SAMPLE])?;
    let range = params.has_range().then(|| params.range(&state)).transpose()?;
    let limit = params.limit()?;
    let cursor = params.number("cursor")?;
    if cursor.is_some_and(i64::is_negative) {
        return Err(bad("`cursor` must be the `next` of the previous page"));
    }
    let outcome = match params.get("outcome") {
        None => None,
        Some(word) => Some(
            Outcome::ALL
                .into_iter()
                .find(|known| known.as_str() == word)
                .ok_or_else(|| bad("`outcome` is not a valid outcome: /openapi.json lists them"))?,
        ),
    };
    let (filter, received_ms) =
        (params.filter(), range.map_or((0, i64::MAX), |range| (range.from_ms, range.to_ms)));
    let page = match sample(&params)? {
        Some(sample) => {
            let skip = cursor.unwrap_or(0);
            let asked = SamplesQuery { sample, filter, outcome, received_ms, skip, limit };
            state.reader.run(move |store| store.samples(&asked)).await?
        }
        None => {
            let before = cursor.map_or(SeqNo::MAX, i64::cast_unsigned);
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
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let unknown = || {
        ApiError::new(Reason::UnknownStream, "no stored stream has this id: it is unknown, or no longer kept")
    };
    let well_formed = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = well_formed.then(|| u128::from_str_radix(&id, 16).ok()).flatten().ok_or_else(unknown)?;
    let found = state.reader.run(move |store| store.one(id)).await?;
    found.as_ref().map(|stream| json(object(stream))).ok_or_else(unknown)
}

fn sample(params: &Params) -> Result<Option<SampleKind>, ApiError> {
    let Some(word) = params.get("sample") else { return Ok(None) };
    let known = SampleKind::ALL.into_iter().find(|known| known.as_str() == word);
    known.map(Some).ok_or_else(|| bad("`sample` must be one of slowest, failed, uniform"))
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
