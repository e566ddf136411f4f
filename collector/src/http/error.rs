//! Every reason to refuse a request, with its status, code and headers. No other file knows status codes of refusals.
//! List: `docs/http-api.md`.

use std::borrow::Cow;
use std::time::Duration;

use axum::http::header::{ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $status:ident;)*) => {
        /// Why a request was refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Reason { $($(#[$doc])* $name,)* }

        impl Reason {
            pub(crate) const ALL: &[Self] = &[$(Self::$name),*];

            /// Value of `code` in the response and of `result` in `llm_rum_beacons_total`.
            pub(crate) const fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            pub(crate) const fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }
        }
    };
}

reasons! {
    /// The body is not JSON.
    BadJson = "bad_json", BAD_REQUEST;
    /// The body is not protobuf of the expected kind.
    BadProtobuf = "bad_protobuf", BAD_REQUEST;
    /// A field of a report or a marker has a wrong type or an impossible value.
    BadField = "bad_field", BAD_REQUEST;
    /// A batch has no reports, or too many.
    BadBatch = "bad_batch", BAD_REQUEST;
    /// A report has a schema version that this collector does not know.
    UnknownVersion = "unknown_version", BAD_REQUEST;
    /// The request names more than one host.
    BadHost = "bad_host", BAD_REQUEST;
    /// The client disconnected before the body was complete.
    BodyCut = "body_cut", BAD_REQUEST;
    /// The body cannot be decompressed as its `Content-Encoding` says.
    BadEncoding = "bad_encoding", BAD_REQUEST;
    /// The client closed the connection before the response, and nothing of its request was stored. This
    /// reason is only counted: no client is left to respond to.
    SenderGone = "sender_gone", BAD_REQUEST;
    /// No site has this key.
    UnknownSite = "unknown_site", FORBIDDEN;
    /// The page's origin is not among the site's `origins`.
    ForeignOrigin = "foreign_origin", FORBIDDEN;
    /// The site has a `signing_key`, and the page's token is missing or not signed with it.
    PageTokenInvalid = "page_token_invalid", FORBIDDEN;
    /// The page's token has expired.
    PageTokenExpired = "page_token_expired", FORBIDDEN;
    /// A crawler, a monitor or another program, which the site's `filters` exclude.
    FilteredBot = "filtered_bot", FORBIDDEN;
    /// A prerendered page that no user has opened yet, which the site's `filters` exclude.
    FilteredPrerender = "filtered_prerender", FORBIDDEN;
    /// One of the operator's own tests, which the site's `filters` exclude.
    FilteredTest = "filtered_test", FORBIDDEN;
    /// The body did not arrive within its deadline.
    BodyTimeout = "body_timeout", REQUEST_TIMEOUT;
    /// The body is longer than allowed.
    BodyTooLarge = "body_too_large", PAYLOAD_TOO_LARGE;
    /// The content type is neither `text/plain` nor `application/json`.
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE;
    /// The body is compressed other than once with gzip or deflate.
    UnsupportedEncoding = "unsupported_encoding", UNSUPPORTED_MEDIA_TYPE;
    /// The client's network exceeds `ingest.network_rate`.
    NetworkLimited = "network_limited", TOO_MANY_REQUESTS;
    /// The site's pages exceed its `rate`.
    SiteLimited = "site_limited", TOO_MANY_REQUESTS;
    /// The site gets far more than in its past, and the client's network exceeds its share of that.
    ShareLimited = "share_limited", TOO_MANY_REQUESTS;
    /// The route does not support the method.
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED;
    /// Too many batches wait for the journal, or too many bodies are being read.
    Overloaded = "overloaded", SERVICE_UNAVAILABLE;
    /// The process is near its memory budget, `memory_bytes`.
    MemoryLimited = "memory_limited", SERVICE_UNAVAILABLE;
    /// `/v1/live` has reached its limit of subscribers.
    TooManyListeners = "too_many_listeners", SERVICE_UNAVAILABLE;
    /// The journal could not be written: the disk is full, read-only or locked.
    StorageUnavailable = "storage_unavailable", SERVICE_UNAVAILABLE;
    /// A query parameter is unknown or has an impossible value.
    BadQuery = "bad_query", BAD_REQUEST;
    /// The request shows nothing by which it may read.
    Unauthorized = "unauthorized", UNAUTHORIZED;
    /// The session has ended, or its token was removed.
    SessionEnded = "session_ended", UNAUTHORIZED;
    /// A page of another origin sent a request that only this collector's own pages may send.
    CrossOrigin = "cross_origin", FORBIDDEN;
    /// The token is none of the configured ones.
    WrongToken = "wrong_token", UNAUTHORIZED;
    /// The client's network has shown too many wrong tokens.
    TooManyWrongTokens = "too_many_wrong_tokens", TOO_MANY_REQUESTS;
    /// The token lacks the scope that the route needs.
    MissingScope = "missing_scope", FORBIDDEN;
    /// The token is limited to other sites.
    SiteForbidden = "site_forbidden", FORBIDDEN;
    /// Without tokens, only requests to a loopback host are served.
    ForeignHost = "foreign_host", FORBIDDEN;
    /// No stream has this id, or its data was deleted.
    UnknownStream = "unknown_stream", NOT_FOUND;
    /// The site has no marker with this id.
    UnknownMarker = "unknown_marker", NOT_FOUND;
    /// The token posts or deletes markers faster than allowed.
    MarkersLimited = "markers_limited", TOO_MANY_REQUESTS;
    /// The route does not exist.
    NotFound = "not_found", NOT_FOUND;
    /// An internal error of the collector.
    Internal = "internal", INTERNAL_SERVER_ERROR;
}

impl Reason {
    /// Reasons for which the ingest endpoint can refuse a request.
    pub(crate) const FRONT_DOOR: [Self; 26] = [
        Self::BadJson,
        Self::BadField,
        Self::BadBatch,
        Self::UnknownVersion,
        Self::BadHost,
        Self::BodyCut,
        Self::BadEncoding,
        Self::SenderGone,
        Self::UnknownSite,
        Self::ForeignOrigin,
        Self::PageTokenInvalid,
        Self::PageTokenExpired,
        Self::FilteredBot,
        Self::FilteredPrerender,
        Self::FilteredTest,
        Self::BodyTimeout,
        Self::BodyTooLarge,
        Self::UnsupportedMediaType,
        Self::UnsupportedEncoding,
        Self::NetworkLimited,
        Self::SiteLimited,
        Self::ShareLimited,
        Self::MethodNotAllowed,
        Self::Overloaded,
        Self::MemoryLimited,
        Self::StorageUnavailable,
    ];

    /// Reasons for which a request for data can be refused access.
    pub(crate) const ACCESS: [Self; 9] = [
        Self::Unauthorized,
        Self::SessionEnded,
        Self::CrossOrigin,
        Self::WrongToken,
        Self::TooManyWrongTokens,
        Self::MissingScope,
        Self::SiteForbidden,
        Self::ForeignHost,
        Self::BadHost,
    ];

    /// The operator configured this refusal: the site's `filters` exclude the client.
    pub(crate) const fn is_filter(self) -> bool {
        matches!(self, Self::FilteredBot | Self::FilteredPrerender | Self::FilteredTest)
    }

    /// Seconds after which a retry can succeed. `None` if no retry helps, or if the error sets its own time.
    const fn retry_after(self) -> Option<u64> {
        match self {
            Self::Overloaded => Some(1),
            Self::StorageUnavailable | Self::MemoryLimited | Self::TooManyListeners => Some(5),
            _ => None,
        }
    }
}

/// A refusal: the reason, and a message for the reader of the response.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", reason.code())]
pub(crate) struct ApiError {
    pub(crate) reason: Reason,
    message: Cow<'static, str>,
    retry_after: Option<u64>,
}

impl ApiError {
    pub(crate) fn new(reason: Reason, message: impl Into<Cow<'static, str>>) -> Self {
        Self { reason, message: message.into(), retry_after: reason.retry_after() }
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// JSON body of the response.
    pub(crate) fn body(&self) -> String {
        json!({ "error": { "code": self.reason.code(), "message": self.message } }).to_string()
    }

    /// Sets the time after which a retry can succeed. `Retry-After` is in whole seconds, so it is rounded up.
    pub(crate) fn retry_after(self, wait: Duration) -> Self {
        Self { retry_after: Some(wait.as_millis().div_ceil(1_000).max(1) as u64), ..self }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = self.body();
        let content_type = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut response = (self.reason.status(), [content_type], body).into_response();
        // For the middleware that counts refusals.
        response.extensions_mut().insert(self.reason);
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        if self.reason == Reason::UnsupportedEncoding {
            response.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate"));
        }
        response
    }
}
