//! Decides who may read and post markers: requests with a configured token, with the session of one, or with the user
//! of an authenticating proxy. Where none of these is configured: requests to a loopback host.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use schemars::JsonSchema;
use serde::Serialize;
use subtle::{ConditionallySelectable, ConstantTimeEq};

use crate::config::Config;
use crate::config::origin::is_loopback_host;
use crate::config::rate::Rate;
use crate::config::secret::Secret;
use crate::config::token::{AllowedSites, Scope, Token};
use crate::http::client_ip::{ClientNetwork, Peer};
use crate::http::counters::RequestCounters;
use crate::http::error::{ApiError, Reason};
use crate::http::rate_limit::{NetworkRateLimits, RetryAfter};
use crate::http::request_origin::{check_one_host, check_same_origin, host, is_from_page};
use crate::http::session_cookie::{self, Shown};
use crate::time;

/// Checks the credentials of requests for data.
pub(crate) struct AccessControl {
    config: Arc<Config>,
    wrong_tokens: NetworkRateLimits,
    counters: Arc<RequestCounters>,
}

/// Who a request comes from, and what it may do.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) signed_in_by: SignedInBy,
    /// Name of the token, or of the proxy's user.
    pub(crate) name: Option<String>,
    pub(crate) sites: AllowedSites,
    scopes: Vec<Scope>,
}

/// By which credentials a request has access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SignedInBy {
    /// None is configured.
    Nothing,
    Token,
    Session,
    /// The user that an authenticating proxy names.
    Proxy,
}

impl AccessControl {
    pub(crate) fn new(config: Arc<Config>, counters: Arc<RequestCounters>) -> Self {
        Self { config, wrong_tokens: NetworkRateLimits::new(WRONG_TOKENS), counters }
    }

    /// The access of a request that may do what the scope names.
    pub(crate) fn admit(&self, scope: Scope, head: &Parts) -> Result<Access, ApiError> {
        check_one_host(head)?;
        let access = self.access(head)?;
        access.check(scope)?;
        if !head.method.is_safe() && !access.is_by_program(head) {
            check_same_origin(head)?;
        }
        Ok(access)
    }

    fn access(&self, head: &Parts) -> Result<Access, ApiError> {
        if self.config.needs_sign_in() {
            return self.identify(head);
        }
        check_host(head)?;
        Ok(Access {
            signed_in_by: SignedInBy::Nothing,
            name: None,
            sites: AllowedSites::All,
            scopes: Scope::ALL.into(),
        })
    }

    /// The token for a new session.
    pub(crate) fn sign_in(&self, shown: &Secret, head: &Parts) -> Result<&Token, ApiError> {
        let token = self.token(shown.bytes(), self.network(head))?;
        Access::of(SignedInBy::Session, token).check(Scope::Read)?;
        Ok(token)
    }

    /// Counts a refusal, if it is one of access or for the memory budget.
    pub(crate) fn count(&self, reason: Reason) {
        if reason == Reason::MemoryLimited {
            self.counters.memory_limited();
        }
        if Reason::ACCESS.contains(&reason) {
            self.counters.access_refused(reason);
        }
    }

    fn identify(&self, head: &Parts) -> Result<Access, ApiError> {
        // Comes first: a proxy may pass on an `Authorization` header of its own users.
        if let Some(user) = self.proxied_user(head) {
            return Ok(Access::of_proxied_user(user));
        }
        if let Some(shown) = bearer(&head.headers) {
            let token = self.token(shown, self.network(head))?;
            return Ok(Access::of(SignedInBy::Token, token));
        }
        let (reason, message) = match session_cookie::read(&head.headers, &self.config.tokens, now_s()) {
            Shown::Session(token) => return Ok(Access::of(SignedInBy::Session, token)),
            Shown::Ended => {
                (Reason::SessionEnded, "the session has ended, or its token was removed: sign in again")
            }
            Shown::Nothing => {
                (Reason::Unauthorized, "sign in, or send a token as `Authorization: Bearer TOKEN`")
            }
        };
        Err(ApiError::new(reason, message))
    }

    /// The user that an authenticating proxy names. Of two names, one could be the client's.
    fn proxied_user(&self, head: &Parts) -> Option<String> {
        let header = self.config.auth_proxy.header.as_ref()?;
        let is_proxy = head.extensions.get::<Peer>().is_some_and(|peer| peer.is_proxy());
        let mut names = head.headers.get_all(header).iter().map(|name| name.as_bytes().trim_ascii());
        match (names.next(), names.next()) {
            (Some(name), None) if is_proxy && !name.is_empty() => {
                Some(String::from_utf8_lossy(name).into_owned())
            }
            _ => None,
        }
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
        let peer = head.extensions.get::<Peer>().copied().unwrap_or(Peer::Own);
        let network = peer.network(&head.headers, &self.config.ingest);
        network.unwrap_or(ClientNetwork::UNKNOWN)
    }
}

impl Access {
    /// The proxy says who its users are, not what each may do. They may read everything and change nothing.
    fn of_proxied_user(name: String) -> Self {
        Self {
            signed_in_by: SignedInBy::Proxy,
            name: Some(name),
            sites: AllowedSites::All,
            scopes: vec![Scope::Read, Scope::Metrics],
        }
    }

    pub(crate) fn of(signed_in_by: SignedInBy, token: &Token) -> Self {
        let Token { name, scopes, sites, .. } = token;
        Self { signed_in_by, name: Some(name.clone()), sites: sites.clone(), scopes: scopes.clone() }
    }

    /// Whether no page can have caused the request: no browser adds a token by itself. Without credentials, the headers
    /// must show it, because any page can send a request to this machine.
    fn is_by_program(&self, head: &Parts) -> bool {
        match self.signed_in_by {
            SignedInBy::Token => true,
            SignedInBy::Nothing => !is_from_page(head),
            SignedInBy::Session | SignedInBy::Proxy => false,
        }
    }

    fn check(&self, scope: Scope) -> Result<(), ApiError> {
        if self.scopes.contains(&scope) {
            return Ok(());
        }
        let name = scope.as_str();
        let message = match self.signed_in_by {
            SignedInBy::Proxy => {
                format!("users of the proxy may not do this: send a token with the scope `{name}`")
            }
            _ => format!("the token may not do this: it needs the scope `{name}`"),
        };
        Err(ApiError::new(Reason::MissingScope, message))
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
    if host(head).is_some_and(is_loopback_host) {
        return Ok(());
    }
    let message = "without `tokens`, only requests to 127.0.0.1, localhost or [::1] are allowed";
    Err(ApiError::new(Reason::ForeignHost, message))
}

fn now_s() -> i64 {
    time::now_ms() / 1_000
}

const BEARER: &[u8] = b"Bearer ";

/// Ten mistakes at once are those of a person or of a few programs with an old token.
const WRONG_TOKENS: Rate = Rate { per_second: 1, burst: Some(10) };
