//! A collector to ask, in process: requests come in as method, address, headers and body, answers go
//! out taken apart.

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::header::HeaderMap;
use axum::http::{Method, Request, StatusCode};
use axum::response::Response;
use beacon::{Histogram, Outcome, ServerTiming, StreamReport};
use collector::{AllowedSites, Collector, Config, Scope, Secret, Token, app};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

/// How long something may take that comes at once on a machine with nothing else to do: what is waited for
/// comes or it never does.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// A collector on a folder of its own.
pub(crate) struct TestCollector {
    collector: Option<Collector>,
    router: Router,
    pub(crate) config: Config,
    _folder: TempDir,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl TestCollector {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = TempDir::new().unwrap();
        let mut config = Config { data: folder.path().join("data"), ..Config::default() };
        // No request has an address, so all would share one rate.
        config.ingest.trust_loopback = true;
        change(&mut config);
        let collector = Collector::open(config.clone()).unwrap();
        let router = app(collector.state());
        Self { collector: Some(collector), router, config, _folder: folder }
    }

    /// Stops, as SIGTERM does, and starts again on the same folder.
    pub(crate) fn restart(&mut self) {
        self.close();
        let collector = Collector::open(self.config.clone()).unwrap();
        self.router = app(collector.state());
        self.collector = Some(collector);
    }

    pub(crate) fn close(&mut self) {
        if let Some(collector) = self.collector.take() {
            collector.close(Duration::from_secs(60)).unwrap();
        }
    }

    /// What SIGTERM begins with.
    pub(crate) fn drain(&self) {
        self.collector.as_ref().expect("it is open").state().drain();
    }

    /// An answer whose body has yet to be read.
    pub(crate) async fn open(&self, request: Request<Body>) -> Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.open(request).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer {
            status: head.status,
            headers: head.headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        }
    }

    /// Sends a request with these headers.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Answer {
        let request = Request::builder().method(method).uri(path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    /// Asks as the dashboard does.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        let request = Request::get(path).header("host", "127.0.0.1:8787").body(Body::empty()).unwrap();
        self.send(request).await
    }

    pub(crate) async fn json(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Sends a body as the probe does.
    pub(crate) async fn post(&self, body: impl Into<Body>) -> Answer {
        self.send(beacon_request("demo").body(body.into()).unwrap()).await
    }

    pub(crate) async fn report(&self, reports: &[StreamReport]) {
        self.report_as("demo", reports).await;
    }

    /// Sends reports with the key of a site.
    pub(crate) async fn report_as(&self, key: &str, reports: &[StreamReport]) {
        let body = json!({ "reports": reports }).to_string();
        let answer = self.send(beacon_request(key).body(body.into()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::NO_CONTENT, "{}", answer.body);
    }

    /// Asks until the answer is as wished: queries see what the last flush wrote.
    pub(crate) async fn until(&self, path: &str, wished: impl Fn(&Value) -> bool) -> Value {
        let asked = Instant::now();
        while asked.elapsed() < TIMEOUT {
            let answer = self.json(path).await;
            if wished(&answer) {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{path} never answered as wished: {}", self.get(path).await.body);
    }

    /// The value of a metric once the flush has written it; 0 while it is not there.
    pub(crate) async fn metric(&self, line_start: &str) -> f64 {
        let text = self.get("/metrics").await.body;
        text.lines().find_map(|line| line.strip_prefix(line_start)?.trim().parse().ok()).unwrap_or_default()
    }

    pub(crate) async fn until_metric(&self, line_start: &str, wished: f64) {
        let asked = Instant::now();
        while asked.elapsed() < TIMEOUT {
            if self.metric(line_start).await == wished {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{line_start} is {} and never became {wished}", self.metric(line_start).await);
    }
}

impl Drop for TestCollector {
    fn drop(&mut self) {
        self.close();
    }
}

impl Answer {
    /// Checks an error's status and code, and gives its message.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        let body: Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(body["error"]["code"], code, "{}", self.body);
        body["error"]["message"].as_str().unwrap().to_owned()
    }
}

/// A token that may read everything but `/metrics`.
pub(crate) fn token(name: &str, secret: &str) -> Token {
    let token = Secret::from(secret);
    Token { name: name.to_owned(), token, scopes: vec![Scope::Read], sites: AllowedSites::All }
}

/// A token with these scopes, limited to the sites if there are any.
pub(crate) fn scoped_token(name: &str, secret: &str, scopes: &[Scope], sites: &[&str]) -> Token {
    let mut token = token(name, secret);
    token.scopes = scopes.to_vec();
    if !sites.is_empty() {
        token.sites = sites.iter().map(|site| (*site).to_owned()).collect::<Vec<_>>().into();
    }
    token
}

pub(crate) fn beacon_request(key: &str) -> axum::http::request::Builder {
    Request::builder()
        .method(Method::POST)
        .uri(format!("/v1/beacons?site={key}"))
        .header("content-type", "text/plain;charset=UTF-8")
}

/// Whether a percentile is this, within its error.
pub(crate) fn close_to(value: &Value, exact: f64) -> bool {
    value.as_f64().is_some_and(|value| (value - exact).abs() <= exact * 0.0109)
}

/// A whole stream whose first token came after `ttft_ms`.
pub(crate) fn stream(id: u128, ttft_ms: f64) -> StreamReport {
    let mut gaps = Histogram::default();
    gaps.record(20.0);
    StreamReport {
        open: false,
        outcome: Outcome::Complete,
        model: Some("gpt-5".into()),
        provider: Some("openai".into()),
        first_byte_ms: Some(ttft_ms),
        ttft_ms: Some(ttft_ms),
        ttfv_ms: Some(ttft_ms),
        e2e_ms: Some(ttft_ms + 400.0),
        close_ms: Some(ttft_ms + 401.0),
        chunks: 12,
        events: 14,
        deltas: 11,
        bytes: 2_000,
        input_tokens: Some(8),
        output_tokens: Some(11),
        tpot_ms: Some(40.0),
        gaps: Some(gaps),
        ..StreamReport::new(format!("{id:032x}"))
    }
}

/// Of the k-th of a site's series, all of whose times are the same.
pub(crate) fn far(ms: f64, id: u128, k: usize) -> StreamReport {
    let mut gaps = Histogram::default();
    gaps.record(ms);
    StreamReport {
        model: Some(format!("m{}", k % 90).into()),
        provider: Some(format!("p{}", k / 90).into()),
        ttfp_ms: Some(ms),
        e2e_ms: Some(ms),
        close_ms: Some(ms),
        tpot_ms: Some(ms),
        gaps: Some(gaps),
        server: Some(ServerTiming { source: "comment".into(), ttft_ms: Some(ms), ..ServerTiming::default() }),
        ..stream(id, ms)
    }
}

/// The same stream, with the server's own time beside it.
pub(crate) fn joined(id: u128, ttft_ms: f64, server_ttft_ms: f64) -> StreamReport {
    let server = ServerTiming {
        source: "comment".into(),
        ttft_ms: Some(server_ttft_ms),
        generation_ms: Some(400.0),
        ..ServerTiming::default()
    };
    StreamReport { server: Some(server), ..stream(id, ttft_ms) }
}
