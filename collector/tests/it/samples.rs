//! Samples that outlive the list of the newest streams: the slowest, the failed, and random ones.

use beacon::{Mark, Outcome, StreamReport};
use serde_json::{Value, json};

use crate::harness::{TestCollector, stream};

/// Forgets all but the newest ten streams, and keeps three samples of each kind.
fn forgetful() -> TestCollector {
    TestCollector::with(|config| {
        config.store.streams_kept = 10;
        config.dedupe.ids = 10;
        config.store.samples = 3;
    })
}

fn cut(id: u128, ttft_ms: f64) -> StreamReport {
    StreamReport { outcome: Outcome::Truncated, ..stream(id, ttft_ms) }
}

/// A hundred streams, the first of them the slowest; every tenth is cut.
async fn a_hundred(collector: &TestCollector) {
    let wait_ms = |id: u128| 2_000.0 - id as f64;
    let one = |id| if id % 10 == 5 { cut(id, wait_ms(id)) } else { stream(id, wait_ms(id)) };
    let reports: Vec<_> = (0..100).map(one).collect();
    collector.report(&reports).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 100).await;
}

fn ids(page: &Value) -> Vec<u128> {
    let id = |stream: &Value| u128::from_str_radix(stream["id"].as_str().unwrap(), 16).unwrap();
    page["streams"].as_array().unwrap().iter().map(id).collect()
}

#[tokio::test]
async fn the_slowest_and_the_failed_outlive_the_newest() {
    let mut collector = forgetful();
    a_hundred(&collector).await;
    for _ in 0..2 {
        assert_eq!(ids(&collector.json("/v1/streams?limit=500").await).len(), 10);
        assert_eq!(ids(&collector.json("/v1/streams?sample=slowest").await), [0, 1, 2], "slowest first");
        let failed = collector.json("/v1/streams?sample=failed").await;
        assert_eq!(ids(&failed).len(), 3);
        assert!(ids(&failed).iter().all(|id| id % 10 == 5));
        assert_eq!(ids(&collector.json("/v1/streams?sample=uniform").await).len(), 3);
        let slowest = collector.json(&format!("/v1/streams/{:032x}", 0)).await;
        assert_eq!(slowest["ttft_ms"], 2_000.0);
        collector.restart();
    }
}

#[tokio::test]
async fn a_sample_is_chosen_further_after_a_restart() {
    let mut collector = forgetful();
    a_hundred(&collector).await;
    collector.restart();
    collector.report(&[stream(1_000, 1_999.5), stream(1_001, 1_000.0)]).await;
    let first = |page: &Value| ids(page) == [0, 1_000, 1];
    collector.until("/v1/streams?sample=slowest", first).await;
}

#[tokio::test]
async fn a_sample_holds_the_latest_revision() {
    let collector = forgetful();
    collector.report(&[cut(1, 500.0), cut(2, 400.0)]).await;
    collector.until("/v1/streams?sample=failed", |page| ids(page).len() == 2).await;
    collector.report(&[StreamReport { rev: 1, ..stream(1, 500.0) }]).await;
    collector.until("/v1/streams?sample=failed", |page| ids(page) == [2]).await;
    let slowest = collector.json("/v1/streams?sample=slowest").await;
    assert_eq!(ids(&slowest), [1, 2]);
    assert_eq!(
        (&slowest["streams"][0]["rev"], &slowest["streams"][0]["outcome"]),
        (&1.into(), &"complete".into())
    );
}

#[tokio::test]
async fn samples_are_listed_page_by_page_and_filtered() {
    let collector = TestCollector::new();
    a_hundred(&collector).await;
    let page = collector.json("/v1/streams?sample=slowest&limit=15").await;
    let rest = format!("/v1/streams?sample=slowest&limit=15&cursor={}", page["next"].as_str().unwrap());
    let rest = collector.json(&rest).await;
    assert_eq!([ids(&page), ids(&rest)].concat(), (0..20).collect::<Vec<_>>());
    assert_eq!(rest["next"], Value::Null);
    let truncated = collector.json("/v1/streams?sample=slowest&outcome=truncated&range=24h").await;
    assert_eq!(ids(&truncated), [5, 15]);
    assert!(ids(&collector.json("/v1/streams?sample=uniform&model=none").await).is_empty());
    collector.get("/v1/streams?sample=fastest").await.refused(400, "bad_query");
}

#[tokio::test]
async fn marks_of_the_app_come_back_with_the_stream() {
    let collector = TestCollector::new();
    let mark = Mark { name: "retrieval".into(), at_ms: 41.5 };
    collector.report(&[StreamReport { marks: vec![mark], ..stream(1, 100.0) }]).await;
    let listed = collector.until("/v1/streams", |list| list["streams"][0].is_object()).await;
    assert_eq!(listed["streams"][0]["marks"], json!([{ "name": "retrieval", "at_ms": 41.5 }]));
}
