//! Limits of labels: what happens to names beyond them, and that made-up names do not fill a site for ever.

use beacon::StreamReport;
use tempfile::TempDir;

use crate::harness::{TestCollector, stream};
use crate::import::{import, line, now_ms};

const DAY_MS: i64 = 86_400_000;

fn report(id: u128, model: &str) -> StreamReport {
    StreamReport { model: Some(model.to_owned().into()), ..stream(id, 100.0) }
}

#[tokio::test]
async fn names_of_earlier_days_make_room_for_new_ones() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let made_up = |n: u128, days: i64| {
        line(&report(1_000 + n, &format!("made-up-{n}")), now_ms() - days * DAY_MS, "CH")
    };
    // More than a site may have.
    let lines: Vec<_> = (0..150).map(|n| made_up(n, 5)).collect();
    assert_eq!(import(&data, &lines).status.code(), Some(0));
    let collector = TestCollector::with(|config| config.data = data.clone());
    let limited = collector.json("/v1/summary").await["overflow"]["model"].clone();
    assert_eq!(limited, 50);
    collector.report(&[report(1, "honest")]).await;
    let found =
        collector.until("/v1/breakdown?by=model&range=1h", |found| found["groups"][0]["streams"] == 1);
    assert_eq!(found.await["groups"][0]["value"], "honest");
    let metrics = collector.get("/metrics").await.body;
    assert!(metrics.contains("model=\"honest\"") && !metrics.contains("made-up"), "only names in use");
}

#[tokio::test]
async fn metrics_have_the_series_with_the_most_streams() {
    let collector = TestCollector::with(|config| config.limits.metrics_series = 2);
    let reports: Vec<_> =
        (0..60).map(|id| report(id, ["often", "rare", "sometimes"][(id % 10).min(2) as usize])).collect();
    collector.report(&reports).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 60).await;
    let metrics = collector.get("/metrics").await.body;
    let named = |model: &str| metrics.contains(&format!("model=\"{model}\""));
    assert_eq!((named("often"), named("rare"), named("sometimes")), (true, false, true), "{metrics}");
    assert!(metrics.contains("llm_rum_omitted_series 1\n"), "{metrics}");
}
