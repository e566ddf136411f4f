//! Common parts of the LLM endpoints' responses: the headers of a stream, and errors in the format of an API.

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::api::Api;
use crate::dialect;

/// Contains the number of the response's entry in `/demo/log`.
pub(crate) const SEQ_HEADER: HeaderName = HeaderName::from_static("x-demo-seq");

/// Headers of every stream, which keep proxies from caching or buffering it.
pub(crate) fn stream_headers(seq: u64) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    headers.insert("timing-allow-origin", HeaderValue::from_static("*"));
    headers.insert(SEQ_HEADER, HeaderValue::from(seq));
    headers
}

/// An error in the format of the API.
pub(crate) fn refuse(api: Api, status: StatusCode, message: &str) -> Response {
    let body = dialect::of(api).refusal(status.as_u16(), message);
    (status, [(header::CONTENT_TYPE, "application/json")], Bytes::from(body)).into_response()
}
