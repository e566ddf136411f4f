//! The front door, `POST /v1/beacons?site=KEY`: a page's request comes in, goes out 204 when its
//! reports are kept, or the reason why they are not. Every refusal is counted by reason.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CONTENT_ENCODING, CONTENT_LENGTH,
    CONTENT_TYPE, EXPECT, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, request};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::admit::admit;
use crate::clock;
use crate::config::{Ingest, Site};
use crate::error::{ApiError, Reason};
use crate::journal::Batch;
use crate::state::AppState;

/// All methods of the route: what a method may not do is answered with CORS headers too.
pub(crate) async fn beacons(State(state): State<AppState>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let site = find_site(&state, &head);
    let origin = site.as_ref().ok().and_then(|site| allowed_origin(site, &head.headers).cloned());
    let answer = match head.method {
        Method::POST => post(&state, &head, body, site).await,
        Method::OPTIONS => preflight(&head.headers, site),
        _ => Err(ApiError::new(Reason::MethodNotAllowed, "only POST and OPTIONS")),
    };
    let mut response = answer.unwrap_or_else(|refused| {
        state.refusals().count(refused.reason);
        refused.into_response()
    });
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, OPTIONS"));
    }
    add_cors(response.headers_mut(), origin);
    response
}

async fn post(
    state: &AppState,
    head: &request::Parts,
    mut body: Body,
    site: Result<&Site, ApiError>,
) -> Result<Response, ApiError> {
    let limits = &state.config().ingest;
    let checked = site.and_then(|site| {
        check_origin(site, &head.headers)?;
        check_type(&head.headers)?;
        check_length(&head.headers, limits)?;
        Ok(site)
    });
    let site = match checked {
        Ok(site) => site,
        Err(refused) => {
            let asks_first = head.headers.contains_key(EXPECT);
            if !asks_first {
                discard(&mut body, LONGEST_DISCARDED).await;
            }
            return Err(refused);
        }
    };
    let bytes = read(body, limits).await?;
    let received_ms = clock::now_ms();
    let reports = admit(&bytes, site)?;
    drop(bytes);
    state.journal().keep(Batch { received_ms, reports }).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Browsers ask before they send `application/json`.
fn preflight(headers: &HeaderMap, site: Result<&Site, ApiError>) -> Result<Response, ApiError> {
    check_origin(site?, headers)?;
    let allowed = [
        (ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST")),
        (ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("content-type")),
        (ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600")),
    ];
    Ok((StatusCode::NO_CONTENT, allowed).into_response())
}

fn find_site<'a>(state: &'a AppState, head: &request::Parts) -> Result<&'a Site, ApiError> {
    // Keys are of characters that stand for themselves in an address.
    let mut parameters = head.uri.query().unwrap_or_default().split('&');
    let key = parameters.find_map(|parameter| parameter.strip_prefix("site="));
    key.and_then(|key| state.site(key))
        .ok_or_else(|| ApiError::new(Reason::UnknownSite, "no site has this key: `?site=KEY` names one"))
}

/// A request without `Origin` does not come from a page that a browser guards: keys are public, and
/// refusing it would stop native clients and nobody who means harm.
fn check_origin(site: &Site, headers: &HeaderMap) -> Result<(), ApiError> {
    match headers.get(ORIGIN) {
        Some(_) if allowed_origin(site, headers).is_none() => {
            Err(ApiError::new(Reason::ForeignOrigin, "this origin is not among the site's `origins`"))
        }
        _ => Ok(()),
    }
}

fn allowed_origin<'a>(site: &Site, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
    let origin = headers.get(ORIGIN)?;
    let text = origin.to_str().ok()?;
    site.origins.iter().any(|allowed| allowed.allows(text)).then_some(origin)
}

fn check_type(headers: &HeaderMap) -> Result<(), ApiError> {
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(ApiError::new(Reason::UnsupportedMediaType, "compressed bodies are not read"));
    }
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    if ["text/plain", "application/json"].iter().any(|known| essence.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    Err(ApiError::new(Reason::UnsupportedMediaType, "the content type is text/plain or application/json"))
}

fn check_length(headers: &HeaderMap, limits: &Ingest) -> Result<(), ApiError> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    match announced {
        Some(length) if length > limits.body_bytes as u64 => Err(too_large(limits)),
        _ => Ok(()),
    }
}

/// Reads a whole body, not longer and not for longer than allowed.
async fn read(mut body: Body, limits: &Ingest) -> Result<Bytes, ApiError> {
    let deadline = Duration::from_secs(limits.body_seconds.into());
    match timeout(deadline, read_within(&mut body, limits.body_bytes)).await {
        Err(_) => Err(ApiError::new(Reason::BodyTimeout, "the body did not arrive in time")),
        Ok(Err(Unread::Cut)) => Err(ApiError::new(Reason::BodyCut, "the body ended early")),
        Ok(Err(Unread::TooLong)) => {
            discard(&mut body, LONGEST_DISCARDED).await;
            Err(too_large(limits))
        }
        Ok(Ok(bytes)) => Ok(bytes),
    }
}

enum Unread {
    Cut,
    TooLong,
}

async fn read_within(body: &mut Body, most: usize) -> Result<Bytes, Unread> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Unread::Cut)?.into_data() else { continue };
        if first.len() + rest.len() + data.len() > most {
            return Err(Unread::TooLong);
        }
        // Almost every beacon comes in one piece, which then is not copied.
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&data);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

/// Closing on a sender who is still sending makes the system reset the connection, and the answer is
/// lost on the way. So the rest is read and dropped, up to a bound.
async fn discard(body: &mut Body, most: usize) {
    let drop_all = async {
        let mut seen = 0;
        while let Some(Ok(frame)) = body.frame().await {
            seen += frame.data_ref().map_or(0, Bytes::len);
            if seen > most {
                break;
            }
        }
    };
    // Whether it came to its end makes no difference to the answer.
    let _either = timeout(DISCARD_FOR, drop_all).await;
}

fn too_large(limits: &Ingest) -> ApiError {
    ApiError::new(Reason::BodyTooLarge, format!("a body is at most {} bytes", limits.body_bytes))
}

fn add_cors(headers: &mut HeaderMap, origin: Option<HeaderValue>) {
    headers.insert(VARY, HeaderValue::from_static("origin"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("retry-after"));
    }
}

/// Pages that isolate themselves may still read the answer.
pub(crate) const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

const LONGEST_DISCARDED: usize = 16 * 1024 * 1024;
const DISCARD_FOR: Duration = Duration::from_secs(2);
