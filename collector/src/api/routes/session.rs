//! `/v1/session`: signs a browser in and out, and says who a request comes from.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::secret::Secret;
use crate::config::token::Scope;
use crate::http::access_control::{Access, AccessControl, SignedInBy};
use crate::http::error::{ApiError, Reason};
use crate::http::json_body;
use crate::http::request_origin::{check_same_origin, is_https};
use crate::http::session_cookie;
use crate::time;

/// Who a request comes from, and what it may read.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Session {
    signed_in_by: SignedInBy,
    /// Name of the token or of the proxy's user. Absent without either.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The sites that the token is limited to. Absent if all sites may be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    sites: Option<Vec<String>>,
}

/// Body of a sign-in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignIn {
    token: Secret,
}

/// Handles `GET`.
pub(crate) async fn session(
    State(control): State<Arc<AccessControl>>,
    request: Request,
) -> Result<Json<Session>, ApiError> {
    let access = control.admit(Scope::Read, &request.into_parts().0)?;
    Ok(Json(Session::of(access)))
}

/// Handles `POST`: takes a token, and sets the cookie of a session.
pub(crate) async fn sign_in(
    State(control): State<Arc<AccessControl>>,
    request: Request,
) -> Result<Response, ApiError> {
    let (head, body) = request.into_parts();
    check_same_origin(&head)?;
    let SignIn { token } = read(&head.headers, body).await?;
    let token = control.sign_in(&token, &head)?;
    // The name only: the log never contains a token.
    tracing::info!(token = %token.name, "Signed in with the token `{}`", token.name);
    let cookie = session_cookie::issue(token, time::now_ms() / 1_000, is_https(&head));
    Ok(([(SET_COOKIE, cookie)], Json(Session::of(Access::of(SignedInBy::Session, token)))).into_response())
}

/// Handles `DELETE`: removes the cookie.
pub(crate) async fn sign_out(request: Request) -> Result<Response, ApiError> {
    let (head, _): (Parts, Body) = request.into_parts();
    check_same_origin(&head)?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, session_cookie::remove(is_https(&head)))]).into_response())
}

async fn read(headers: &HeaderMap, body: Body) -> Result<SignIn, ApiError> {
    let bytes = json_body::read(headers, body).await?;
    // The parser's message could repeat a part of the token.
    serde_json::from_slice(&bytes)
        .map_err(|_| ApiError::new(Reason::BadJson, "the body must be `{\"token\":\"TOKEN\"}`"))
}

impl Session {
    fn of(Access { signed_in_by, name, sites, .. }: Access) -> Self {
        Self { signed_in_by, name, sites: sites.names().map(<[_]>::to_vec) }
    }
}
