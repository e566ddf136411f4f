//! Asks a running collector, with bounds for time and size.

use std::time::Duration;

use axum::http::HeaderValue;
use serde_json::Value;

use super::answer::plain;
use crate::config::secret::Secret;

/// Why a collector cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The URL has another form.
    #[error("the URL of the collector is not valid: write `https://HOST` or `http://HOST:PORT`")]
    BadUrl,
    /// The token cannot be sent.
    #[error("the token has characters that a header cannot have")]
    BadToken,
}

/// Why a question has no answer. No text has the token or the URL.
#[derive(Debug, thiserror::Error)]
pub(super) enum QueryError {
    #[error("the collector cannot be reached: {0}")]
    Unreachable(&'static str),
    #[error("the collector answered {status} {code}: {message}")]
    Refused { status: u16, code: String, message: String },
    #[error(
        "the collector's answer is larger than {MAX_ANSWER_BYTES} bytes, or was cut: ask for a shorter range"
    )]
    Body,
    #[error("the collector's answer is not JSON: does the URL lead to a collector of llm-rum?")]
    NoJson,
    #[error("the server stops")]
    Stopped,
}

/// Client of one collector.
pub(super) struct CollectorClient {
    agent: ureq::Agent,
    url: String,
    authorization: Option<HeaderValue>,
}

impl CollectorClient {
    pub(super) fn new(url: &str, token: Option<&Secret>) -> Result<Self, AddressError> {
        let url = url.trim_end_matches('/');
        let authority = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        // Credentials in the URL would be in the process list and in errors.
        let is_valid = |rest: &str| !rest.is_empty() && !rest.contains(['@', '?', '#', ' ']);
        if !authority.is_some_and(is_valid) {
            return Err(AddressError::BadUrl);
        }
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            // The token is for this collector alone.
            .max_redirects(0)
            .build();
        let authorization = token.map(authorization).transpose()?;
        Ok(Self { agent: agent.into(), url: url.to_owned(), authorization })
    }

    /// The answer of a route.
    pub(super) fn get(&self, route: &str, query: &[(String, String)]) -> Result<Value, QueryError> {
        let mut request = self.agent.get(format!("{}{route}", self.url));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let request = request.query_pairs(query.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut response = request.call().map_err(|error| QueryError::Unreachable(reason(&error)))?;
        let status = response.status();
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
        let body = body.map_err(|_cut_or_too_large| QueryError::Body)?;
        let json = serde_json::from_slice::<Value>(&body);
        if status.is_success() {
            return json.map_err(|_| QueryError::NoJson);
        }
        let error = json.map(|mut json| json["error"].take()).unwrap_or_default();
        let text = |name: &str| plain(error[name].as_str().unwrap_or("without a reason"));
        Err(QueryError::Refused { status: status.as_u16(), code: text("code"), message: text("message") })
    }
}

fn authorization(token: &Secret) -> Result<HeaderValue, AddressError> {
    let mut value =
        HeaderValue::from_str(&format!("Bearer {}", token.text())).map_err(|_| AddressError::BadToken)?;
    // Keeps the token out of debug output.
    value.set_sensitive(true);
    Ok(value)
}

fn reason(error: &ureq::Error) -> &'static str {
    match error {
        ureq::Error::Timeout(_) => "no response in time",
        ureq::Error::HostNotFound => "the host was not found",
        ureq::Error::ConnectionFailed | ureq::Error::Io(_) => "the connection failed",
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => "TLS failed",
        _ => "the request failed",
    }
}

/// Longer than the longest query of a collector may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The largest answer of these routes, a month in 120 points, has less than 200 kB.
const MAX_ANSWER_BYTES: u64 = 4 * 1024 * 1024;
