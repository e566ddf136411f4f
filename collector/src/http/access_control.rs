//! Decides who may read: requests with a configured token or, where none is configured, requests to a loopback host.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use subtle::{ConditionallySelectable, ConstantTimeEq};

use crate::config::Config;
use crate::config::origin::is_loopback_host;
use crate::config::rate::Rate;
use crate::config::token::{AllowedSites, Scope, Token};
use crate::http::client_ip::{ClientNetwork, Peer};
use crate::http::counters::RequestCounters;
use crate::http::error::{ApiError, Reason};
use crate::http::rate_limit::{NetworkRateLimits, RetryAfter};
use crate::time;

/// Checks the credentials of requests for data.
pub(crate) struct AccessControl {
    config: Arc<Config>,
    wrong_tokens: NetworkRateLimits,
    counters: Arc<RequestCounters>,
}

/// What a request may read.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) sites: AllowedSites,
    scopes: Vec<Scope>,
}

impl AccessControl {
    pub(crate) fn new(config: Arc<Config>, counters: Arc<RequestCounters>) -> Self {
        Self { config, wrong_tokens: NetworkRateLimits::new(WRONG_TOKENS), counters }
    }

    /// The access of a request that may read what the scope names.
    pub(crate) fn admit(&self, scope: Scope, head: &Parts) -> Result<Access, ApiError> {
        if !self.config.needs_sign_in() {
            check_host(head)?;
            return Ok(Access::everything());
        }
        let access = self.identify(head)?;
        if access.scopes.contains(&scope) {
            return Ok(access);
        }
        let name = match scope {
            Scope::Read => "read",
            Scope::Metrics => "metrics",
        };
        let message = format!("the token may not read this: it needs the scope `{name}`");
        Err(ApiError::new(Reason::MissingScope, message))
    }

    /// Counts a refusal, if it is one of access.
    pub(crate) fn count(&self, reason: Reason) {
        if Reason::ACCESS.contains(&reason) {
            self.counters.access_refused(reason);
        }
    }

    fn identify(&self, head: &Parts) -> Result<Access, ApiError> {
        if let Some(shown) = bearer(&head.headers) {
            return self.token(shown, self.network(head)).map(Access::of_token);
        }
        let message = "no token: send `Authorization: Bearer TOKEN` with a configured token";
        Err(ApiError::new(Reason::Unauthorized, message))
    }

    /// The configured token that equals the shown one. Wrong ones are charged to the network.
    fn token(&self, shown: &[u8], network: ClientNetwork) -> Result<&Token, ApiError> {
        let now = time::steady();
        // Before the comparison: otherwise the limit would not slow down guessing.
        self.wrong_tokens.check(network, now).map_err(too_many)?;
        // Constant time over all tokens: the duration of a refusal must not reveal how much of a guess was right.
        let mut found = u64::MAX;
        for (at, token) in (0..).zip(&self.config.tokens) {
            found.conditional_assign(&at, shown.ct_eq(token.token.bytes()));
        }
        if let Some(token) = self.config.tokens.get(found as usize) {
            return Ok(token);
        }
        self.wrong_tokens.take(network, now).map_err(too_many)?;
        Err(ApiError::new(Reason::WrongToken, "the token is wrong: it is none of the configured ones"))
    }

    /// Requests without a network share one limit, so that a proxy that is not configured does not lift it.
    fn network(&self, head: &Parts) -> ClientNetwork {
        let limits = &self.config.ingest;
        let peer = head.extensions.get::<Peer>().copied().unwrap_or(Peer::Own);
        let network = peer.network(limits.client_header.as_ref(), &head.headers, &limits.proxies);
        network.unwrap_or(ClientNetwork::UNKNOWN)
    }
}

impl Access {
    fn everything() -> Self {
        Self { sites: AllowedSites::All, scopes: vec![Scope::Read, Scope::Metrics] }
    }

    fn of_token(token: &Token) -> Self {
        Self { sites: token.sites.clone(), scopes: token.scopes.clone() }
    }
}

/// For handlers behind the middleware that admitted the request.
impl<S: Send + Sync> FromRequestParts<S> for Access {
    type Rejection = ApiError;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let missing = || ApiError::new(Reason::Internal, "the route does not check who may read");
        head.extensions.get::<Self>().cloned().ok_or_else(missing)
    }
}

/// The token of an `Authorization` header. Other schemes belong to a proxy in front.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let shown = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes)?;
    let (scheme, token) = shown.split_at_checked(BEARER.len())?;
    scheme.eq_ignore_ascii_case(BEARER).then_some(token)
}

fn too_many(RetryAfter(wait): RetryAfter) -> ApiError {
    let message = "too many wrong tokens from your network: try again later";
    ApiError::new(Reason::TooManyWrongTokens, message).retry_after(wait)
}

/// Prevents DNS rebinding. Any page can point its own host name at 127.0.0.1 and be of the same origin as
/// this server, but it cannot make the browser send a loopback host name.
fn check_host(head: &Parts) -> Result<(), ApiError> {
    let header = head.headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = head.uri.authority().map(|authority| authority.as_str()).or(header);
    if host.is_some_and(is_loopback_host) {
        return Ok(());
    }
    let message = "without `tokens`, only requests to 127.0.0.1, localhost or [::1] are allowed";
    Err(ApiError::new(Reason::ForeignHost, message))
}

const BEARER: &[u8] = b"Bearer ";

/// Ten mistakes at once are those of a person or of a few programs with an old token.
const WRONG_TOKENS: Rate = Rate { per_second: 1, burst: Some(10) };
