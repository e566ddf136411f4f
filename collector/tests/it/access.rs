//! Who may read what.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use collector::Secret;

use crate::harness::{Answer, TestCollector, beacon_request};

const TOKEN: &str = "0123456789abcdef0123";

const DATA: [&str; 13] = [
    "/v1/summary",
    "/v1/timeseries",
    "/v1/histogram",
    "/v1/heatmap",
    "/v1/breakdown",
    "/v1/compare",
    "/v1/abandonment",
    "/v1/integrity",
    "/v1/streams",
    "/v1/streams/00000000000000000000000000000001",
    "/v1/accounting",
    "/v1/live",
    "/metrics",
];

async fn ask(collector: &TestCollector, path: &str, headers: &[(&str, &str)]) -> Answer {
    let request =
        headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
    collector.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn without_a_token_only_loopback_requests_are_answered() {
    let collector = TestCollector::new();
    for path in DATA {
        for host in
            ["evil.example", "evil.example:8787", "127.0.0.1.evil.example", "localhost@evil.example", ""]
        {
            ask(&collector, path, &[("host", host)]).await.refused(403, "foreign_host");
        }
        ask(&collector, path, &[]).await.refused(403, "foreign_host");
        for host in ["localhost:8787", "127.0.0.1", "[::1]:1"] {
            let status = ask(&collector, path, &[("host", host)]).await.status;
            assert!(status == StatusCode::OK || path.contains("0001"), "{path} {status}");
        }
    }
}

#[tokio::test]
async fn a_configured_token_is_required_by_every_data_route() {
    let collector = TestCollector::with(|config| config.admin_token = Some(Secret::from(TOKEN)));
    let longer = format!("Bearer {TOKEN}x");
    for path in DATA {
        for shown in
            ["", "Bearer", "Bearer ", "Bearer 0123456789abcdef012", longer.as_str(), TOKEN, "Basic 0123"]
        {
            let headers = [("host", "localhost"), ("authorization", shown)];
            let answer = ask(&collector, path, &headers).await;
            answer.refused(401, "unauthorized");
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
        }
        for scheme in ["Bearer", "bearer"] {
            let shown = format!("{scheme} {TOKEN}");
            let headers = [("host", "rum.example"), ("authorization", shown.as_str())];
            let answer = ask(&collector, path, &headers).await;
            assert!(answer.status == StatusCode::OK || path.contains("0001"), "{path} {}", answer.status);
            assert_eq!(answer.headers["cache-control"], "no-store");
        }
    }
}

#[tokio::test]
async fn a_reader_has_a_token_of_its_own() {
    let collector = TestCollector::with(|config| {
        config.admin_token = Some(Secret::from(TOKEN));
        config.read_tokens = vec![Secret::from("reader-one-0123456"), Secret::from("reader-two-0123456")];
    });
    for (shown, status) in [
        ("reader-one-0123456", 200),
        ("reader-two-0123456", 200),
        (TOKEN, 200),
        ("reader-one-012345", 401),
        ("reader-one-0123456reader-two-0123456", 401),
    ] {
        let answer =
            ask(&collector, "/v1/summary", &[("authorization", format!("Bearer {shown}").as_str())]).await;
        assert_eq!(answer.status.as_u16(), status, "{shown}");
        assert_eq!(answer.headers["cross-origin-resource-policy"], "same-origin");
    }
}

#[tokio::test]
async fn pages_and_health_need_no_token() {
    let collector = TestCollector::with(|config| config.admin_token = Some(Secret::from(TOKEN)));
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
