//! Relays a real LLM server. The stream passes through byte for byte. For browsers the layer of `llm-rum-tower`
//! adds this server's own times.

use std::error::Error;
use std::net::IpAddr;

use axum::body::{Body, Bytes};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use futures_util::stream::unfold;
use llm_rum_tower::mark;
use probe_core::{Meter, Timestamp};
use reqwest::{Client, Url};
use tracing::warn;

use crate::api::Api;
use crate::client::client;
use crate::log::{End, Recorder};
use crate::play::Cut;
use crate::reply::{refuse, stream_headers};

/// Address of the upstream, and the key for it.
pub struct Upstream {
    base: String,
    key: Option<HeaderValue>,
    client: Client,
}

/// Why an upstream cannot be used.
#[derive(Debug)]
pub enum UpstreamError {
    /// Not an `http` or `https` address.
    Address(String),
    /// The key contains characters that a header cannot carry.
    Key,
    /// The HTTP client cannot be created.
    Client(reqwest::Error),
}

impl Upstream {
    /// `base` is the base URL of the APIs, with or without `/v1` at its end. `key` replaces the key that the
    /// page sends.
    ///
    /// # Errors
    /// If the address or the key is not usable.
    pub fn new(base: &str, key: Option<&str>) -> Result<Self, UpstreamError> {
        let trimmed = base.trim_end_matches('/');
        let trimmed = trimmed.strip_suffix("/v1").unwrap_or(trimmed);
        let url = Url::parse(trimmed).map_err(|_| UpstreamError::Address(base.to_owned()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UpstreamError::Address(base.to_owned()));
        }
        let key = key.map(HeaderValue::from_str).transpose().map_err(|_| UpstreamError::Key)?;
        let client = client().map_err(UpstreamError::Client)?;
        Ok(Self { base: trimmed.to_owned(), key, client })
    }

    pub(crate) async fn relay(
        &self,
        api: Api,
        headers: &HeaderMap,
        body: Bytes,
        mut recorder: Recorder,
    ) -> Response {
        if !is_own_page(headers) {
            recorder.headers(403, None);
            recorder.end(End::Complete);
            return refuse(api, StatusCode::FORBIDDEN, "a relay answers only to its own page");
        }
        let url = format!("{}{}", self.base, api.path());
        let request = self.client.post(url).headers(self.request_headers(headers)).body(body);
        match request.send().await {
            Ok(response) => relayed(response, recorder),
            Err(error) => {
                warn!(upstream = %self.base, error = &error as &dyn Error, "The upstream did not answer");
                recorder.headers(502, None);
                recorder.end(End::Complete);
                refuse(api, StatusCode::BAD_GATEWAY, "the upstream did not answer")
            }
        }
    }

    fn request_headers(&self, from: &HeaderMap) -> HeaderMap {
        let mut headers = picked(from, REQUEST_HEADERS);
        if let Some(key) = &self.key {
            let bearer = [b"Bearer ", key.as_bytes()].concat();
            let bearer = HeaderValue::from_bytes(&bearer).expect("the key was a header value before");
            headers.insert(header::AUTHORIZATION, bearer);
            headers.insert("x-api-key", key.clone());
        }
        headers
    }
}

impl std::fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(base) => write!(f, "upstream `{base}` is not an http(s) address"),
            Self::Key => f.write_str("the upstream key has characters that a header cannot carry"),
            Self::Client(_) => f.write_str("cannot make an HTTP client"),
        }
    }
}

impl Error for UpstreamError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Client(error) => Some(error),
            _ => None,
        }
    }
}

/// Whether the request comes from this site's page, or from no page. A relay may have an API key. Any page
/// that the key's owner visits could spend it, with a form or with a name that resolves to loopback.
fn is_own_page(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(host) = host.and_then(|host| host.parse::<Authority>().ok()) else { return false };
    let name = host.host().trim_matches(['[', ']']);
    let is_no_name = name == "localhost" || name.parse::<IpAddr>().is_ok();
    is_no_name && origin.as_bytes() == format!("http://{host}").as_bytes()
}

fn relayed(response: reqwest::Response, recorder: Recorder) -> Response {
    let status = response.status();
    let content_type = response.headers().get(header::CONTENT_TYPE).cloned();
    let mut headers = stream_headers(recorder.seq());
    headers.extend(picked(response.headers(), RESPONSE_HEADERS));
    recorder.headers(status.as_u16(), None);
    let mut meter = Meter::new("", Timestamp::from_ms(0.0));
    let named = content_type.as_ref().and_then(|value| value.to_str().ok()).unwrap_or_default();
    meter.on_headers(Timestamp::from_ms(recorder.now_ms()), status.as_u16(), named);
    let relayed = Relayed { response, recorder, meter, deltas: 0, is_named: false, over: false };
    (status, headers, Body::from_stream(relayed.into_stream())).into_response()
}

/// A relayed response.
struct Relayed {
    response: reqwest::Response,
    recorder: Recorder,
    meter: Meter,
    deltas: u32,
    /// The log knows the id of the response.
    is_named: bool,
    over: bool,
}

impl Relayed {
    fn into_stream(self) -> impl Stream<Item = Result<Bytes, Cut>> + Send + 'static {
        unfold(self, |mut relayed| async move {
            let chunk = relayed.next_chunk().await?;
            Some((chunk, relayed))
        })
    }

    async fn next_chunk(&mut self) -> Option<Result<Bytes, Cut>> {
        if self.over {
            return None;
        }
        match self.response.chunk().await {
            Ok(Some(chunk)) => {
                self.watch(&chunk);
                Some(Ok(chunk))
            }
            Ok(None) => {
                self.over = true;
                self.recorder.end(End::Complete);
                None
            }
            Err(error) => {
                self.over = true;
                warn!(error = &error as &dyn Error, "The upstream broke off");
                self.recorder.end(End::Cut);
                Some(Err(Cut))
            }
        }
    }

    fn watch(&mut self, chunk: &[u8]) {
        self.meter.on_chunk(Timestamp::from_ms(self.recorder.now_ms()), chunk);
        let report = self.meter.report();
        let deltas = report.deltas - self.deltas;
        self.deltas = report.deltas;
        if !self.is_named
            && let Some(id) = &report.response_id
        {
            self.is_named = true;
            self.recorder.id(id);
        }
        mark(None, report.output_tokens);
        self.recorder.write(chunk, deltas);
    }
}

fn picked(from: &HeaderMap, names: &[&'static str]) -> HeaderMap {
    let pick = |&name: &&'static str| Some((HeaderName::from_static(name), from.get(name)?.clone()));
    names.iter().filter_map(pick).collect()
}

/// Headers of the page that the upstream needs. Cookies and origins are not passed on.
const REQUEST_HEADERS: &[&str] = &["content-type", "accept", "anthropic-version", "anthropic-beta"];

/// Headers of the upstream that the page may need.
const RESPONSE_HEADERS: &[&str] =
    &["content-type", "retry-after", "x-request-id", "request-id", "openai-processing-ms"];

#[cfg(test)]
mod tests {
    use super::*;

    fn is_answered(host: &'static str, origin: Option<&'static str>) -> bool {
        let mut headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
        headers.extend(origin.map(|origin| (header::ORIGIN, HeaderValue::from_static(origin))));
        is_own_page(&headers)
    }

    #[test]
    fn a_relay_serves_its_own_page_and_no_other_origin() {
        assert!(is_answered("127.0.0.1:8788", None));
        assert!(is_answered("127.0.0.1:8788", Some("http://127.0.0.1:8788")));
        assert!(is_answered("localhost:8788", Some("http://localhost:8788")));
        assert!(is_answered("[::1]:8788", Some("http://[::1]:8788")));
        assert!(!is_answered("127.0.0.1:8788", Some("http://evil.example")));
        assert!(!is_answered("127.0.0.1:8788", Some("null")));
        assert!(!is_answered("evil.example:8788", Some("http://evil.example:8788")));
    }

    #[test]
    fn an_upstream_is_an_address_with_or_without_its_version() {
        for base in ["http://127.0.0.1:8000", "http://127.0.0.1:8000/v1/"] {
            assert_eq!(Upstream::new(base, None).unwrap().base, "http://127.0.0.1:8000");
        }
        assert!(matches!(Upstream::new("localhost:8000", None), Err(UpstreamError::Address(_))));
        assert!(matches!(Upstream::new("http://x", Some("a\nb")), Err(UpstreamError::Key)));
    }
}
