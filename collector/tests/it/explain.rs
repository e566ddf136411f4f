//! What slow, failed and abandoned streams have in common.

use beacon::{Outcome, Page, StreamReport};
use serde_json::{Value, json};

use crate::harness::{TestCollector, close_to, stream};

/// Streams of two routes and two browsers; those of `/new` are slow, and every tenth fails whatever its route.
fn reports() -> Vec<StreamReport> {
    let report = |id: u128| {
        let is_new = id.is_multiple_of(4);
        let page = Page {
            route: Some(if is_new { "/new" } else { "/old" }.into()),
            browser: Some(if id.is_multiple_of(3) { "firefox" } else { "chrome" }.into()),
            ..Page::default()
        };
        let outcome = if id.is_multiple_of(10) { Outcome::Truncated } else { Outcome::Complete };
        StreamReport { page: Some(page), outcome, ..stream(id, if is_new { 9_000.0 } else { 400.0 }) }
    };
    (1..=400).map(report).collect()
}

async fn counted(collector: &TestCollector) {
    for batch in reports().chunks(100) {
        collector.report(batch).await;
    }
    collector.until("/v1/summary", |summary| summary["streams"] == 400).await;
}

fn values(answer: &Value) -> Vec<Value> {
    answer["findings"].as_array().unwrap().iter().map(|finding| finding["values"].clone()).collect()
}

#[tokio::test]
async fn the_slow_streams_have_their_route_in_common() {
    let collector = TestCollector::new();
    counted(&collector).await;
    let answer = collector.json("/v1/explain").await;
    assert_eq!((&answer["of"], &answer["streams"]), (&"slow".into(), &400.into()));
    assert_eq!(answer["affected"], 100);
    assert_eq!(values(&answer), [json!([{ "dimension": "route", "value": "/new" }])]);
    let finding = &answer["findings"][0];
    assert_eq!((&finding["affected"], &finding["streams"]), (&100.into(), &100.into()));
    assert_eq!((&finding["share_of_affected"], &finding["share_of_rest"]), (&1.0.into(), &0.0.into()));
    assert_eq!(answer["kept_since_ms"], Value::Null, "all are kept");

    let failed = collector.json("/v1/explain?of=failed").await;
    assert_eq!((&failed["affected"], values(&failed)), (&40.into(), vec![]), "failures have no common value");
    let abandoned = collector.json("/v1/explain?of=abandoned").await;
    assert_eq!((&abandoned["affected"], &abandoned["streams"]), (&0.into(), &400.into()));
    let other = collector.json("/v1/explain?use_case=coding").await;
    assert_eq!((&other["streams"], values(&other)), (&0.into(), vec![]));
    assert_eq!(collector.get("/v1/explain?of=fast").await.status, 400);
}

#[tokio::test]
async fn a_breakdown_groups_by_what_only_single_streams_tell() {
    let collector = TestCollector::new();
    counted(&collector).await;
    let groups = async |question: &str| {
        let answer = collector.json(&format!("/v1/breakdown?{question}")).await;
        let groups = answer["groups"].as_array().unwrap().iter();
        let told =
            |group: &Value| (group["value"].as_str().unwrap().to_owned(), group["streams"].as_u64().unwrap());
        (answer.clone(), groups.map(told).collect::<Vec<_>>())
    };
    let named = |groups: &[(&str, u64)]| {
        groups.iter().map(|(value, streams)| ((*value).to_owned(), *streams)).collect::<Vec<_>>()
    };
    let (answer, by_route) = groups("by=route").await;
    assert_eq!(by_route, named(&[("/old", 300), ("/new", 100)]));
    assert_eq!(answer["kept_since_ms"], Value::Null);
    let new = &answer["groups"][1];
    assert!(close_to(&new["p95_ms"], 9_000.0), "{new}");
    // Every twentieth stream fails and is of this route.
    assert_eq!(
        (&new["errors"], &new["integrity"]["good"], &new["goodput"]["good"]),
        (&20.into(), &80.into(), &0.into())
    );
    assert_eq!(groups("by=browser").await.1, named(&[("chrome", 267), ("firefox", 133)]));
    assert_eq!(groups("by=release").await.1, named(&[("unknown", 400)]));
    assert_eq!(groups("by=browser&model=gpt-4").await.1, []);
    let by_model = groups("by=model").await;
    let all = groups("by=reasoning").await;
    for field in ["streams", "p50_ms", "p99_ms", "integrity", "goodput", "errors"] {
        assert_eq!(
            by_model.0["groups"][0][field], all.0["groups"][0][field],
            "windows and streams agree on {field}"
        );
    }
    let (csv, status) = (
        collector.get("/v1/breakdown?by=route&format=csv").await.body,
        collector.get("/v1/breakdown?by=colour").await.status,
    );
    assert!(csv.starts_with("route,streams,share,") && csv.contains("\"/new\",100,0.25,"), "{csv}");
    assert_eq!(status, 400);
}

#[tokio::test]
async fn dimensions_of_single_streams_filter_kept_streams() {
    let collector = TestCollector::new();
    counted(&collector).await;
    let streams = async |filter: &str| {
        let explained = collector.json(&format!("/v1/explain?{filter}")).await["streams"].as_u64().unwrap();
        let exported = collector.get(&format!("/v1/streams.ndjson?{filter}")).await.body.lines().count();
        assert_eq!(explained, exported as u64, "{filter}");
        let by_model = collector.json(&format!("/v1/breakdown?by=model&{filter}")).await;
        let groups = by_model["groups"].as_array().unwrap().iter();
        let grouped: u64 = groups.map(|group| group["streams"].as_u64().unwrap()).sum();
        assert_eq!(explained, grouped, "{filter}: rows and windows agree");
        explained
    };
    for (filter, expected) in [
        ("", 400),
        ("route=/new", 100),
        ("route=!/new", 300),
        ("route=/new&route=/old", 400),
        ("route=/new&browser=firefox", 33),
        ("route=/new&use_case=coding", 0),
        ("release=unknown", 400),
        ("release=!unknown", 0),
    ] {
        assert_eq!(streams(filter).await, expected, "{filter}");
    }
    let by_label = collector.json("/v1/breakdown?by=use_case&route=/new").await;
    assert!(close_to(&by_label["groups"][0]["p95_ms"], 9_000.0), "{by_label}");
    for path in ["/v1/explain?route=/new&route=!/old", "/v1/explain?colour=red"] {
        collector.get(path).await.refused(400, "bad_query");
    }
}

#[tokio::test]
async fn an_explanation_says_which_streams_are_no_longer_kept() {
    let collector = TestCollector::with(|config| {
        config.store.streams_kept = 50;
        config.dedupe.ids = 100;
        config.store.row_files_days = 0;
    });
    counted(&collector).await;
    let answer = collector.until("/v1/explain", |answer| answer["streams"].as_u64() < Some(400)).await;
    assert!(answer["streams"].as_u64() >= Some(50), "{answer}");
    assert!(answer["kept_since_ms"].as_i64() > answer["from"].as_i64(), "{answer}");
}
