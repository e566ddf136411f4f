//! Attributes and variants, which the app names: from the page to filters, groups, findings and files.

use beacon::{Attributes, StreamReport};
use serde_json::json;

use crate::harness::{TestCollector, stream};

/// Streams of the plan `pro` are slow. Every tenth stream has no attribute.
fn report(id: u128) -> StreamReport {
    let plan = if id.is_multiple_of(3) { "pro" } else { "free" };
    let ttft_ms = if plan == "pro" { 9_000.0 } else { 200.0 };
    let attributes: Attributes = [("plan", plan), ("tier", if id.is_multiple_of(2) { "a" } else { "b" })]
        .into_iter()
        .filter(|_| !id.is_multiple_of(10))
        .collect();
    let variant = Some(if id.is_multiple_of(4) { "short" } else { "long" }.into());
    StreamReport { attributes, variant, ..stream(id, ttft_ms) }
}

/// Streams in files and in memory.
async fn counted() -> TestCollector {
    let collector = TestCollector::with(|config| {
        config.sites[0].attributes = vec!["plan".into(), "tier".into()];
        config.store.streams_kept = 20;
        config.dedupe.ids = 20;
        config.store.row_file_streams = 90;
    });
    for batch in (1..=240).map(report).collect::<Vec<_>>().chunks(50) {
        collector.report(batch).await;
    }
    collector.until("/v1/summary", |summary| summary["streams"] == 240).await;
    collector
}

/// How many of the streams pass the test.
fn streams(is_in: impl Fn(&StreamReport) -> bool) -> usize {
    (1..=240).map(report).filter(is_in).count()
}

#[tokio::test]
async fn streams_are_filtered_by_attributes() {
    let collector = counted().await;
    let has = |report: &StreamReport, key: &str, value: &str| report.attributes.get(key) == Some(value);
    for (question, count) in [
        ("attribute.plan=pro", streams(|report| has(report, "plan", "pro"))),
        ("attribute.plan=!pro", streams(|report| !has(report, "plan", "pro"))),
        ("attribute.plan=pro&attribute.plan=free", streams(|report| report.attributes.get("plan").is_some())),
        ("attribute.plan=unknown", streams(|report| report.attributes.get("plan").is_none())),
        (
            "attribute.plan=pro&attribute.tier=a",
            streams(|report| has(report, "plan", "pro") && has(report, "tier", "a")),
        ),
        ("attribute.seats=5", 0),
        ("variant=short", streams(|report| report.variant.as_deref() == Some("short"))),
    ] {
        let summary = collector.json(&format!("/v1/summary?{question}")).await;
        assert_eq!(summary["streams"], count, "{question}");
    }
    assert_eq!(collector.json("/v1/summary").await["attributes"], json!(["plan", "tier"]));
    let listed = collector.json("/v1/streams?attribute.plan=pro&attribute.tier=a").await;
    for stream in listed["streams"].as_array().unwrap() {
        assert_eq!(stream["attributes"], json!({ "plan": "pro", "tier": "a" }));
    }
}

#[tokio::test]
async fn streams_are_grouped_by_attributes() {
    let collector = counted().await;
    let groups = async |question: &str| {
        let answer = collector.json(&format!("/v1/breakdown?{question}")).await;
        let groups = answer["groups"].as_array().unwrap().clone();
        let mut counts: Vec<_> = groups
            .iter()
            .map(|group| {
                (group["value"].clone(), group["and_value"].clone(), group["streams"].as_u64().unwrap())
            })
            .collect();
        counts.sort_by_key(|(value, and_value, _)| format!("{value}{and_value}"));
        (answer["by"].clone(), counts)
    };
    let of = |value: Option<&str>| streams(|report| report.attributes.get("plan") == value) as u64;
    let none = json!(null);
    assert_eq!(
        groups("by=attribute.plan").await,
        (
            json!("attribute.plan"),
            vec![
                (json!("free"), none.clone(), of(Some("free"))),
                (json!("pro"), none.clone(), of(Some("pro"))),
                (json!("unknown"), none, of(None)),
            ]
        )
    );
    let (_, pairs) = groups("by=variant&by=attribute.plan").await;
    assert_eq!(pairs.len(), 6);
    assert_eq!(pairs.iter().map(|(.., streams)| streams).sum::<u64>(), 240);
}

#[tokio::test]
async fn an_attribute_of_the_slow_streams_is_found() {
    let collector = counted().await;
    let answer = collector.json("/v1/explain?of=slow").await;
    let findings = answer["findings"].as_array().unwrap();
    assert_eq!(findings[0]["values"], json!([{ "dimension": "attribute.plan", "value": "pro" }]), "{answer}");
}

#[tokio::test]
async fn other_keys_and_other_values_are_dropped_and_counted() {
    let collector = TestCollector::with(|config| config.sites[0].attributes = vec!["plan".into()]);
    let report = |id: u128, attributes: serde_json::Value| {
        let mut report = serde_json::to_value(stream(id, 100.0)).unwrap();
        report["attributes"] = attributes;
        report
    };
    let reports = [
        report(1, json!({ "plan": "pro", "email": "jo@example.org", "chat": "How do I" })),
        report(2, json!({ "plan": "How do I cook rice?" })),
        report(3, json!({ "plan": { "name": "pro" } })),
        report(4, json!("plan=pro user=4711")),
        report(5, json!(["plan"])),
        report(6, json!(null)),
    ];
    let sent = collector.post(json!({ "reports": reports }).to_string()).await;
    assert_eq!(sent.status, 204);
    collector.until("/v1/summary", |summary| summary["streams"] == 6).await;
    let accounting = collector.json("/v1/accounting").await;
    assert_eq!(accounting["ignored_fields"]["demo"], 2 + 1 + 1 + 1 + 1, "{accounting}");
    let listed = collector.json("/v1/streams").await.to_string();
    for text in ["jo@example", "cook", "4711", "How do"] {
        assert!(!listed.contains(text), "{listed}");
    }
    let pro = collector.json("/v1/summary?attribute.plan=pro").await;
    assert_eq!(pro["streams"], 2);
}

#[tokio::test]
async fn a_key_that_no_attribute_may_have_is_refused() {
    let collector = TestCollector::new();
    for question in ["attribute.=x", "attribute.Plan=x", "attribute.a-b=x", "by=attribute.", "by=attribute.A"]
    {
        let answer = collector.get(&format!("/v1/breakdown?{question}")).await;
        assert_eq!(answer.status, 400, "{question}");
    }
}
