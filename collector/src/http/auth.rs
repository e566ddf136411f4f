//! Middleware of the routes that return or change data: admits a request or refuses it, counts refusals, and keeps responses
//! out of caches and of pages of other origins.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::config::token::Scope;
use crate::http::access_control::AccessControl;
use crate::http::error::Reason;
use crate::http::headers::RESOURCE_POLICY;
use crate::http::request_origin::check_one_host;

/// Middleware of the query routes.
pub(crate) async fn read(state: State<Arc<AccessControl>>, request: Request, next: Next) -> Response {
    guard(Scope::Read, state, request, next).await
}

/// Middleware of `/metrics`.
pub(crate) async fn metrics(state: State<Arc<AccessControl>>, request: Request, next: Next) -> Response {
    guard(Scope::Metrics, state, request, next).await
}

/// Middleware of the routes that change markers.
pub(crate) async fn markers(state: State<Arc<AccessControl>>, request: Request, next: Next) -> Response {
    guard(Scope::Markers, state, request, next).await
}

/// Middleware of the routes that take timings of the backend.
pub(crate) async fn server_timings(
    state: State<Arc<AccessControl>>,
    request: Request,
    next: Next,
) -> Response {
    guard(Scope::ServerTimings, state, request, next).await
}

/// Middleware of routes that check access by themselves.
pub(crate) async fn private(
    State(control): State<Arc<AccessControl>>,
    request: Request,
    next: Next,
) -> Response {
    keep_private(&control, next.run(request).await)
}

/// Middleware of routes without access control: refuses a request with two `Host` headers.
pub(crate) async fn one_host(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match check_one_host(&head) {
        Ok(()) => next.run(Request::from_parts(head, body)).await,
        Err(refused) => refused.into_response(),
    }
}

async fn guard(
    scope: Scope,
    State(control): State<Arc<AccessControl>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut head, body) = request.into_parts();
    let response = match control.admit(scope, &head) {
        Ok(access) => {
            head.extensions.insert(access);
            next.run(Request::from_parts(head, body)).await
        }
        Err(refused) => refused.into_response(),
    };
    keep_private(&control, response)
}

/// Counts a refusal, and adds headers that keep the response from others.
fn keep_private(control: &AccessControl, mut response: Response) -> Response {
    if let Some(reason) = response.extensions().get::<Reason>() {
        control.count(*reason);
    }
    // The data is out of date soon and may be confidential: no cache may store it.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    // Pages of other origins may not load the data, not even as an image or a script.
    response.headers_mut().insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
