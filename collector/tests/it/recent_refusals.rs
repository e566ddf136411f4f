//! `/v1/refusals`: who was refused last, and what would accept them.

use axum::body::Body;
use collector::Config;
use serde_json::{Value, json};

use crate::harness::{TestCollector, beacon_request, stream};

const REAL_USER: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36";

fn shop(config: &mut Config) {
    let origins = ["https://shop.example", "https://*.shop.example", "loopback"];
    let origins = origins.map(|origin| origin.to_owned().try_into().unwrap());
    config.sites[0].name = "shop".to_owned();
    config.sites[0].keys = vec!["shop-key-of-2026".to_owned()];
    config.sites[0].origins = origins.into();
}

async fn send(collector: &TestCollector, key: &str, origin: &str, agent: &str) -> u16 {
    let body = json!({ "reports": [stream(1, 100.0)] }).to_string();
    let request = beacon_request(key).header("origin", origin).header("user-agent", agent);
    collector.send(request.body(Body::from(body)).unwrap()).await.status.as_u16()
}

/// The only refusal, without its time.
async fn only(collector: &TestCollector) -> Value {
    let mut answer = collector.json("/v1/refusals").await;
    assert_eq!(answer["refusals"].as_array().unwrap().len(), 1, "{answer}");
    assert!(answer["refusals"][0]["timestamp_ms"].take().as_i64() > Some(1_700_000_000_000));
    answer["refusals"][0].take()
}

#[tokio::test]
async fn a_refused_origin_comes_with_its_config_line() {
    let collector = TestCollector::with(shop);
    assert_eq!(collector.json("/v1/refusals").await, json!({ "refusals": [] }));
    for _ in 0..2 {
        assert_eq!(send(&collector, "shop-key-of-2026", "https://new.example", REAL_USER).await, 403);
    }
    let line =
        r#"origins = ["https://shop.example", "https://*.shop.example", "loopback", "https://new.example"]"#;
    let expected = json!({
        "timestamp_ms": null, "count": 2, "reason": "foreign_origin", "origin": "https://new.example",
        "key_prefix": "shop-key…", "site": "shop", "config_line": line,
    });
    assert_eq!(only(&collector).await, expected);
    // The line does what it says.
    let fixed = TestCollector::with(|config| {
        shop(config);
        config.sites[0].origins.push("https://new.example".to_owned().try_into().unwrap());
    });
    assert_eq!(send(&fixed, "shop-key-of-2026", "https://new.example", REAL_USER).await, 204);
    assert_eq!(fixed.json("/v1/refusals").await, json!({ "refusals": [] }));
}

#[tokio::test]
async fn an_unknown_key_shows_only_its_beginning() {
    let collector = TestCollector::with(shop);
    assert_eq!(send(&collector, "shop-key-of-2025", "https://shop.example", REAL_USER).await, 403);
    let expected = json!({
        "timestamp_ms": null, "count": 1, "reason": "unknown_site", "origin": "https://shop.example",
        "key_prefix": "shop-key…", "config_line": "keys = [\"shop-key…\"]",
    });
    assert_eq!(only(&collector).await, expected);
}

#[tokio::test]
async fn no_config_line_comes_from_an_origin_that_is_none() {
    for origin in ["https://*.example", "https://*", "loopback", "null", "https://a.example\"]", "a b"] {
        let collector = TestCollector::with(|config| {
            shop(config);
            config.sites[0].origins.truncate(1);
        });
        assert_eq!(send(&collector, "shop-key-of-2026", origin, REAL_USER).await, 403, "{origin}");
        assert_eq!(only(&collector).await["config_line"], Value::Null, "{origin}");
    }
}
