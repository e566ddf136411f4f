//! Who may read what.

use std::time::Instant;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use collector::Scope;

use crate::harness::{Answer, TIMEOUT, TestCollector, beacon_request, token};

const TOKEN: &str = "0123456789abcdef0123";
const SCRAPER: &str = "scraper-0123456789";

const QUERIES: [&str; 24] = [
    "/v1/summary",
    "/v1/timeseries",
    "/v1/histogram",
    "/v1/heatmap",
    "/v1/explain",
    "/v1/phases",
    "/v1/breakdown",
    "/v1/compare",
    "/v1/abandonment",
    "/v1/visits",
    "/v1/server-layers",
    "/v1/integrity",
    "/v1/slo",
    "/v1/alerts",
    "/v1/streams",
    "/v1/streams/00000000000000000000000000000001",
    "/v1/streams.ndjson",
    "/v1/streams.parquet",
    "/v1/accounting",
    "/v1/refusals",
    "/v1/engines",
    "/v1/releases",
    "/v1/markers",
    "/v1/live",
];

async fn ask(collector: &TestCollector, path: &str, headers: &[(&str, &str)]) -> Answer {
    let request =
        headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
    collector.send(request.body(Body::empty()).unwrap()).await
}

async fn ask_with(collector: &TestCollector, path: &str, token: &str) -> Answer {
    ask(collector, path, &[("host", "rum.example"), ("authorization", &format!("Bearer {token}"))]).await
}

/// With a token for people and one for Prometheus.
fn with_tokens() -> TestCollector {
    TestCollector::with(|config| {
        let mut scraper = token("prometheus", SCRAPER);
        scraper.scopes = vec![Scope::Metrics];
        config.tokens = vec![token("ops", TOKEN), scraper];
    })
}

/// Answered, if only by the word that there is no such stream.
fn is_answered(answer: &Answer) -> bool {
    answer.status == StatusCode::OK || answer.body.contains("unknown_stream")
}

#[tokio::test]
async fn without_tokens_only_loopback_requests_are_answered() {
    let collector = TestCollector::new();
    for path in QUERIES.into_iter().chain(["/metrics"]) {
        for host in
            ["evil.example", "evil.example:8787", "127.0.0.1.evil.example", "localhost@evil.example", ""]
        {
            ask(&collector, path, &[("host", host)]).await.refused(403, "foreign_host");
        }
        ask(&collector, path, &[]).await.refused(403, "foreign_host");
        for host in ["localhost:8787", "127.0.0.1", "[::1]:1"] {
            let answer = ask(&collector, path, &[("host", host)]).await;
            assert!(is_answered(&answer), "{path} {}", answer.status);
        }
    }
}

#[tokio::test]
async fn a_request_without_a_token_is_refused() {
    let collector = with_tokens();
    for path in QUERIES.into_iter().chain(["/metrics"]) {
        for shown in ["", "Bearer", TOKEN, "Basic 0123"] {
            let answer = ask(&collector, path, &[("host", "localhost"), ("authorization", shown)]).await;
            answer.refused(401, "unauthorized");
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
            assert_eq!(answer.headers["cache-control"], "no-store");
        }
    }
}

#[tokio::test]
async fn a_wrong_token_is_refused() {
    let collector = with_tokens();
    for wrong in
        ["", "0123456789abcdef012", "0123456789abcdef0123x", "0123456789abcdef0123scraper-0123456789"]
    {
        let answer = ask_with(&collector, "/v1/summary", wrong).await;
        answer.refused(401, "wrong_token");
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
    }
}

#[tokio::test]
async fn a_token_reads_what_its_scopes_name() {
    let collector = with_tokens();
    for path in QUERIES {
        for scheme in ["Bearer", "bearer"] {
            let shown = format!("{scheme} {TOKEN}");
            let headers = [("host", "rum.example"), ("authorization", shown.as_str())];
            let answer = ask(&collector, path, &headers).await;
            assert!(is_answered(&answer), "{path} {}", answer.status);
            assert_eq!(answer.headers["cache-control"], "no-store");
            assert_eq!(answer.headers["cross-origin-resource-policy"], "same-origin");
        }
        ask_with(&collector, path, SCRAPER).await.refused(403, "missing_scope");
    }
    let message = ask_with(&collector, "/metrics", TOKEN).await.refused(403, "missing_scope");
    assert!(message.contains("`metrics`"), "{message}");
    assert_eq!(ask_with(&collector, "/metrics", SCRAPER).await.status, StatusCode::OK);
}

/// Asks with a wrong token until the network has shown too many.
async fn exhaust(collector: &TestCollector) {
    let asked = Instant::now();
    while asked.elapsed() < TIMEOUT {
        let answer = ask_with(collector, "/v1/summary", "a-wrong-token-of-26-bytes").await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            answer.refused(429, "too_many_wrong_tokens");
            assert_eq!(answer.headers["retry-after"], "1");
            return;
        }
        answer.refused(401, "wrong_token");
    }
    panic!("wrong tokens are never limited");
}

#[tokio::test]
async fn too_many_wrong_tokens_stop_further_guesses() {
    let collector = with_tokens();
    for _ in 0..100 {
        assert_eq!(ask_with(&collector, "/v1/summary", TOKEN).await.status, StatusCode::OK);
    }
    exhaust(&collector).await;
    // The right one too: a guess must not learn that it is right.
    ask_with(&collector, "/v1/summary", TOKEN).await.refused(429, "too_many_wrong_tokens");
    let asked = Instant::now();
    while ask_with(&collector, "/v1/summary", TOKEN).await.status != StatusCode::OK {
        assert!(asked.elapsed() < TIMEOUT, "the limit ends");
    }
}

#[tokio::test]
async fn refused_access_is_counted_by_reason() {
    let collector = with_tokens();
    ask(&collector, "/v1/summary", &[]).await.refused(401, "unauthorized");
    for _ in 0..2 {
        ask_with(&collector, "/v1/summary", "a-wrong-token-of-26-bytes").await.refused(401, "wrong_token");
    }
    ask_with(&collector, "/v1/summary", SCRAPER).await.refused(403, "missing_scope");
    let asked = Instant::now();
    loop {
        let metrics = ask_with(&collector, "/metrics", SCRAPER).await.body;
        let counted = |reason: &str, count: u32| {
            metrics.contains(&format!("llm_rum_access_refused_total{{reason=\"{reason}\"}} {count}\n"))
        };
        if counted("unauthorized", 1) && counted("wrong_token", 2) && counted("missing_scope", 1) {
            assert!(counted("too_many_wrong_tokens", 0), "from 0 on: {metrics}");
            return;
        }
        assert!(asked.elapsed() < TIMEOUT, "{metrics}");
    }
}

#[tokio::test]
async fn pages_and_health_need_no_token() {
    let collector = with_tokens();
    for path in ["/", "/healthz", "/readyz"] {
        assert_eq!(ask(&collector, path, &[("host", "rum.example")]).await.status, StatusCode::OK, "{path}");
    }
    let sent = collector.send(beacon_request("demo").body(Body::from("{")).unwrap()).await;
    sent.refused(400, "bad_json");
}

#[tokio::test]
async fn the_dashboard_may_load_nothing_from_elsewhere() {
    let collector = TestCollector::new();
    let page = collector.get("/").await;
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'self';") && !policy.contains("unsafe"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"));
    assert_eq!(page.headers["x-content-type-options"], "nosniff");
    assert!(page.body.contains("llm-rum"), "with the dashboard or without");
}

#[tokio::test]
async fn no_path_leads_out_of_the_embedded_folders() {
    let collector = TestCollector::new();
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/assets/../../Cargo.toml",
        "//etc/passwd",
        "/..%2fCargo.toml",
    ] {
        collector.get(path).await.refused(404, "not_found");
    }
}
