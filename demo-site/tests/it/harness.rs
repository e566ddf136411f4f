//! A running demo site and a client that reads as a page would: paths come in; reports, bodies and log
//! entries go out.

use std::sync::Arc;
use std::time::Instant;

use beacon::StreamReport;
use demo_site::{Log, Page, Site, Timings, Upstream, serve};
use probe_core::{End, Meter, Timestamp};
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The four APIs, as dialect and path.
pub(crate) const APIS: [(&str, &str); 4] = [
    ("openai_chat", "/v1/chat/completions"),
    ("openai_responses", "/v1/responses"),
    ("anthropic", "/v1/messages"),
    ("ollama", "/api/chat"),
];

pub(crate) fn path_of(api: &str) -> &'static str {
    APIS.into_iter().find(|(name, _)| *name == api).expect("an API of the table").1
}

/// A demo site on a port of its own, stopped when dropped.
pub(crate) struct Demo {
    pub(crate) url: String,
    pub(crate) address: std::net::SocketAddr,
    pub(crate) client: Client,
    server: JoinHandle<std::io::Result<()>>,
}

/// One stream as it was read.
pub(crate) struct Read {
    pub(crate) report: StreamReport,
    pub(crate) body: Vec<u8>,
    /// Number of its log entry.
    pub(crate) seq: u64,
}

impl Demo {
    pub(crate) async fn start() -> Self {
        Self::with(None, None).await
    }

    /// Sends the timings of its layers to this collector.
    pub(crate) async fn with_timings(collector: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self::with(None, Some(Timings::start(collector).unwrap())).await
    }

    pub(crate) async fn relaying(base: &str) -> Self {
        Self::with(Some(Upstream::new(base, Some("secret")).unwrap()), None).await
    }

    async fn with(upstream: Option<Upstream>, timings: Option<Timings>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let page = Page::new("http://127.0.0.1:8787", "demo", "demo-model").unwrap();
        let site = Site { log: Arc::new(Log::new()), seed: 1, upstream, timings, page };
        let server = tokio::spawn(serve(listener, Arc::new(site)));
        Self { url: format!("http://{address}"), address, client: Client::new(), server }
    }

    pub(crate) async fn post(&self, scenario: &str, api: &str, body: &Value) -> Response {
        let url = format!("{}/llm/{scenario}{}", self.url, path_of(api));
        self.client.post(url).header("sec-fetch-site", "same-origin").json(body).send().await.unwrap()
    }

    pub(crate) async fn open(&self, scenario: &str, api: &str) -> Response {
        self.post(scenario, api, &question()).await
    }

    /// Reads to the end.
    pub(crate) async fn read(&self, scenario: &str, api: &str) -> Read {
        self.read_until(scenario, api, |_| false).await
    }

    /// Reads to the end, or cancels once `enough` says so of what has been seen.
    pub(crate) async fn read_until(
        &self,
        scenario: &str,
        api: &str,
        enough: impl Fn(&StreamReport) -> bool,
    ) -> Read {
        let began = Instant::now();
        let now = || Timestamp::from_ms(began.elapsed().as_secs_f64() * 1e3);
        let mut meter = Meter::new("0123456789abcdef0123456789abcdef", now());
        let mut response = self.open(scenario, api).await;
        let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
        meter.on_headers(now(), response.status().as_u16(), content_type.as_str());
        let seq = seq_of(&response);
        let mut body = Vec::new();
        let end = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    meter.on_chunk(now(), &chunk);
                    body.extend_from_slice(&chunk);
                    if enough(&meter.report()) {
                        break End::Cancelled;
                    }
                }
                Ok(None) => break End::Closed,
                Err(_) => break End::Failed,
            }
        };
        drop(response);
        meter.on_end(now(), end);
        Read { report: meter.report(), body, seq }
    }

    /// The log entry, once its stream has ended.
    pub(crate) async fn ended(&self, seq: u64) -> Value {
        let answer = self.get(&format!("/demo/log/wait?seq={seq}&end=1&timeout_ms=30000")).await;
        answer["entry"].clone()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.client.get(format!("{}{path}", self.url)).send().await.unwrap().json().await.unwrap()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.server.abort();
    }
}

pub(crate) fn question() -> Value {
    json!({ "model": "demo-model", "stream": true, "messages": [{ "role": "user", "content": "Hello?" }] })
}

pub(crate) fn seq_of(response: &Response) -> u64 {
    response.headers()["x-demo-seq"].to_str().unwrap().parse().unwrap()
}
