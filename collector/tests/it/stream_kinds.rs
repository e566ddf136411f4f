//! Background streams, and answers seen only in the page: apart from all statistics, and there when asked for.

use beacon::{Observed, Outcome, StreamReport};

use crate::harness::{TestCollector, stream};

/// Two answers, a background stream without text, and two answers that were seen as they grew in the page.
async fn counted() -> TestCollector {
    let collector = TestCollector::new();
    let background = StreamReport {
        background: true,
        ttft_ms: None,
        ttfv_ms: None,
        outcome: Outcome::Abandoned,
        ..stream(3, 9_000.0)
    };
    let output = |id, ttfp_ms| StreamReport {
        observed: Observed::Output,
        ttft_ms: None,
        ttfv_ms: None,
        ttfp_ms: Some(ttfp_ms),
        ..stream(id, 0.0)
    };
    let reports = [stream(1, 100.0), stream(2, 200.0), background, output(4, 5_000.0), output(5, 6_000.0)];
    collector.report(&reports).await;
    collector.until_metric("llm_rum_apart_streams_total{stream_kind=\"output\"}", 2.0).await;
    collector
}

#[tokio::test]
async fn statistics_have_answers_alone_by_default() {
    let collector = counted().await;
    let summary = collector.json("/v1/summary?range=1h").await;
    assert_eq!(summary["streams"], 2, "{summary:#}");
    let metrics = collector.get("/metrics").await.body;
    let requests =
        metrics.lines().filter_map(|line| line.strip_prefix("llm_requests_total{")?.split(' ').nth(1));
    assert_eq!(requests.collect::<Vec<_>>(), ["2"]);
    // A filter that only single streams answer leaves them out as well.
    let filtered = collector.json("/v1/summary?range=1h&dialect=!none").await;
    assert_eq!(filtered["streams"], 2, "{filtered:#}");
    let abandonment = collector.json("/v1/abandonment?range=1h").await;
    assert_eq!(abandonment["abandoned"], 0, "{abandonment:#}");
    let listed = collector.json("/v1/streams").await;
    assert_eq!(listed["streams"].as_array().unwrap().len(), 2, "{listed:#}");
}

#[tokio::test]
async fn a_kind_that_is_asked_for_has_its_own_statistics() {
    let collector = counted().await;
    let output = collector.json("/v1/summary?range=1h&stream_kind=output").await;
    assert_eq!(output["streams"], 2, "{output:#}");
    let groups = collector.json("/v1/breakdown?range=1h&by=stream_kind&metric=ttfp").await;
    let of = |kind: &str| {
        let groups = groups["groups"].as_array().unwrap();
        groups.iter().find(|group| group["value"] == kind).unwrap()["streams"].clone()
    };
    assert_eq!((of("answer"), of("background"), of("output")), (2.into(), 1.into(), 2.into()));
    let listed = collector.json("/v1/streams?stream_kind=background").await;
    assert_eq!(listed["streams"].as_array().unwrap().len(), 1, "{listed:#}");
    for query in ["stream_kind=answer&stream_kind=output", "stream_kind=!output", "stream_kind=button"] {
        collector.get(&format!("/v1/summary?{query}")).await.refused(400, "bad_query");
    }
}

#[tokio::test]
async fn the_accounting_has_streams_that_are_apart() {
    let collector = counted().await;
    let streams = collector.json("/v1/accounting").await["streams"].clone();
    assert_eq!((&streams["new"], &streams["counted"], &streams["open"]), (&5.into(), &2.into(), &0.into()));
    assert_eq!((&streams["apart"]["background"], &streams["apart"]["output"]), (&1.into(), &2.into()));
}

#[tokio::test]
async fn a_revision_may_take_a_stream_out_of_the_statistics() {
    let collector = TestCollector::new();
    collector.report(&[stream(1, 100.0), stream(2, 200.0)]).await;
    collector.until("/v1/summary?range=1h", |summary| summary["streams"] == 2).await;
    collector.report(&[StreamReport { rev: 9, background: true, ..stream(2, 200.0) }]).await;
    collector.until("/v1/summary?range=1h", |summary| summary["streams"] == 1).await;
    collector.report(&[StreamReport { rev: 10, ..stream(2, 200.0) }]).await;
    collector.until("/v1/summary?range=1h", |summary| summary["streams"] == 2).await;
}
