//! Releases of the app and their comparison.

use beacon::{Outcome, Page, StreamReport};
use serde_json::{Value, json};

use crate::harness::{TestCollector, stream};

/// Streams of a release. Every `failing`-th is cut off, and every twentieth has no release.
fn of_release(first: u128, release: &str, ttft_ms: f64, failing: u128) -> Vec<StreamReport> {
    let report = |id: u128| {
        let named = (!id.is_multiple_of(20)).then(|| release.to_owned().into());
        let outcome = if id.is_multiple_of(failing) { Outcome::Truncated } else { Outcome::Complete };
        let page = Some(Page { release: named, ..Page::default() });
        StreamReport { page, outcome, ..stream(id, ttft_ms + (id % 50) as f64) }
    };
    (first..first + 100).map(report).collect()
}

/// Sends each batch after the one before it was counted.
async fn counted(collector: &TestCollector, batches: &[Vec<StreamReport>]) {
    for (at, batch) in batches.iter().enumerate() {
        collector.report(batch).await;
        collector.until("/v1/summary", |summary| summary["streams"] == 100 * (at + 1)).await;
    }
}

fn includes_zero(difference: &Value) -> bool {
    difference["lower"].as_f64().unwrap() <= 0.0 && difference["upper"].as_f64().unwrap() >= 0.0
}

#[tokio::test]
async fn a_release_is_compared_with_the_one_before() {
    let collector = TestCollector::new();
    let [v41, v42] = [of_release(1, "v41", 300.0, 1_000), of_release(101, "v42", 500.0, 3)];
    counted(&collector, &[v41, v42]).await;
    let answer = collector.json("/v1/releases").await;
    assert_eq!((&answer["without_release"], &answer["kept_since_ms"]), (&10.into(), &Value::Null));
    let releases = answer["releases"].as_array().unwrap();
    let [new, old] = &releases[..] else { panic!("{answer:#}") };
    assert_eq!((&new["release"], &old["release"]), (&"v42".into(), &"v41".into()));
    assert_eq!(
        (&new["is_new"], &old["is_new"], &old["compared_to"]),
        (&true.into(), &false.into(), &Value::Null)
    );
    assert_eq!((&new["streams"], &old["integrity"]["good"]), (&95.into(), &95.into()));
    let compared = &new["compared_to"];
    assert_eq!(compared["release"], "v41");
    let wait = &compared["ttfv_p50_ms"];
    assert!(wait["lower"].as_f64() > Some(150.0) && wait["upper"].as_f64() < Some(250.0), "{wait}");
    assert!(compared["integrity"]["upper"].as_f64() < Some(-0.2), "{compared}");
    assert!(includes_zero(&compared["abandonment"]), "{compared}");
}

#[tokio::test]
async fn equal_releases_show_no_difference() {
    let collector = TestCollector::new();
    counted(&collector, &[of_release(1, "v1", 300.0, 10), of_release(101, "v2", 300.0, 10)]).await;
    let answer = collector.json("/v1/releases").await;
    let compared = &answer["releases"][0]["compared_to"];
    for figure in ["ttfv_p50_ms", "integrity", "goodput", "abandonment"] {
        assert!(includes_zero(&compared[figure]), "{figure}: {compared}");
    }
    let none = collector.json("/v1/releases?model=gpt-4").await;
    assert_eq!((&none["releases"], &none["without_release"]), (&json!([]), &0.into()));
}

#[tokio::test]
async fn releases_in_use_throughout_are_not_new() {
    let collector = TestCollector::new();
    let both = |first: u128| {
        let mut batch = of_release(first, "v41", 300.0, 1_000);
        batch.iter_mut().skip(40).for_each(|report| {
            report.page = Some(Page { release: Some("v42".to_owned().into()), ..Page::default() });
        });
        batch
    };
    counted(&collector, &[both(1), both(101), of_release(201, "v43", 300.0, 1_000)]).await;
    let answer = collector.json("/v1/releases").await;
    let of = |name: &str| {
        answer["releases"].as_array().unwrap().iter().find(|one| one["release"] == name).unwrap()
    };
    for old in ["v41", "v42"] {
        assert_eq!(
            (&of(old)["is_new"], &of(old)["compared_to"]),
            (&false.into(), &Value::Null),
            "{answer:#}"
        );
    }
    // Of the streams before, v42 has 60 in 100.
    assert_eq!(
        (&of("v43")["is_new"], &of("v43")["compared_to"]["release"]),
        (&true.into(), &"v42".into()),
        "{answer:#}"
    );
}

#[tokio::test]
async fn a_release_is_compared_with_the_last_one_before() {
    let collector = TestCollector::new();
    let of = |first, release| of_release(first, release, 300.0, 1_000);
    counted(&collector, &[of(1, "v1"), of(101, "v1"), of(201, "v2"), of(301, "v3")]).await;
    let answer = collector.json("/v1/releases").await;
    let compared = |at: usize| &answer["releases"][at]["compared_to"]["release"];
    assert_eq!((compared(0), compared(1)), (&"v2".into(), &"v1".into()), "{answer:#}");
}
