//! Middleware that sends a response's `ETag`, and 304 without a body to a client that has this response already.

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::Request;
use axum::http::header::{ETAG, IF_NONE_MATCH};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ring::digest::{SHA256, digest};

use crate::http::error::{ApiError, Reason};

/// Handles the request. Event streams and errors pass through.
pub(crate) async fn not_modified(request: Request, next: Next) -> Response {
    let is_get = request.method() == Method::GET;
    let known = request.headers().get(IF_NONE_MATCH).cloned();
    let response = next.run(request).await;
    let is_whole = response.body().size_hint().exact().is_some();
    if !is_get || !is_whole || response.status() != StatusCode::OK {
        return response;
    }
    let (head, body) = response.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        return ApiError::new(Reason::Internal, "the response could not be read").into_response();
    };
    let tag = tag(&body);
    let mut response = match known.is_some_and(|known| names(&known, &tag)) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::from_parts(head, Body::from(body)),
    };
    response.headers_mut().insert(ETAG, HeaderValue::try_from(tag).expect("hexadecimal digits are ASCII"));
    response
}

/// Weak, because the compressed form of the response has the same tag.
fn tag(body: &[u8]) -> String {
    let digest = digest(&SHA256, body);
    let hex: String = digest.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("W/\"{hex}\"")
}

/// Whether the header has the tag in its list.
fn names(known: &HeaderValue, tag: &str) -> bool {
    known.to_str().is_ok_and(|known| known.split(',').any(|one| one.trim() == tag))
}
