//! Checks who may read data: requests with a configured token or, where none is configured, requests to a loopback
//! host.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::HeaderValue;
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, HOST, WWW_AUTHENTICATE};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::{Choice, ConstantTimeEq};

use crate::config::Config;
use crate::config::origin::is_loopback_host;
use crate::config::secret::Secret;
use crate::http::error::{ApiError, Reason};
use crate::http::headers::RESOURCE_POLICY;

/// Middleware of every route that returns data.
pub(crate) async fn guard(State(config): State<Arc<Config>>, request: Request, next: Next) -> Response {
    let checked = match &config.admin_token {
        Some(token) => check_token(token, &config.read_tokens, request.headers()),
        None => check_host(&request),
    };
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    };
    // The data is out of date soon and may be confidential: no cache may store it.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    // Pages of other origins may not load the data, not even as an image or a script.
    response.headers_mut().insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    if response.status() == axum::http::StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

fn check_token(admin: &Secret, readers: &[Secret], headers: &HeaderMap) -> Result<(), ApiError> {
    let shown = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
    let shown =
        shown.split_at_checked(BEARER.len()).filter(|(scheme, _)| scheme.eq_ignore_ascii_case(BEARER));
    // Constant time over all tokens: the duration of a refusal must not reveal how much of a guess was right.
    let right = |shown: &[u8]| {
        let tokens = readers.iter().chain([admin]);
        tokens.fold(Choice::from(0), |right, token| right | shown.ct_eq(token.bytes()))
    };
    if shown.is_some_and(|(_, shown)| bool::from(right(shown))) {
        return Ok(());
    }
    Err(ApiError::new(
        Reason::Unauthorized,
        "the token is missing or wrong: send `Authorization: Bearer TOKEN` with a configured token",
    ))
}

/// Prevents DNS rebinding. Any page can point its own host name at 127.0.0.1 and be of the same origin as
/// this server, but it cannot make the browser send a loopback host name.
fn check_host(request: &Request) -> Result<(), ApiError> {
    let header = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let host = request.uri().authority().map(|authority| authority.as_str()).or(header);
    if host.is_some_and(is_loopback_host) {
        return Ok(());
    }
    let message = "without `admin_token`, only requests to 127.0.0.1, localhost or [::1] are allowed";
    Err(ApiError::new(Reason::ForeignHost, message))
}

const BEARER: &[u8] = b"Bearer ";
