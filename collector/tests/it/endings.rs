//! How streams ended, and who saw nothing until then.

use beacon::{Defect, Outcome, StreamReport};
use serde_json::{Value, json};

use crate::harness::{TestCollector, close_to, stream};

/// A stream that brought nothing until it ended.
fn censored_wait(id: u128, outcome: Outcome, close_ms: f64) -> StreamReport {
    StreamReport { open: false, outcome, close_ms: Some(close_ms), ..StreamReport::new(format!("{id:032x}")) }
}

#[tokio::test]
async fn how_streams_ended_over_time_adds_up_to_the_summary() {
    let collector = TestCollector::new();
    let mut reports: Vec<_> = (1..=4).map(|n| stream(n, 100.0)).collect();
    reports[0].defects.add(Defect::Stall);
    reports.push(censored_wait(5, Outcome::Truncated, 500.0));
    reports.push(censored_wait(6, Outcome::Aborted, 500.0));
    collector.report(&reports).await;
    let summary = collector.until("/v1/summary?range=15m", |summary| summary["streams"] == 6).await;
    let ends = collector.json("/v1/integrity?range=15m&step=60").await;
    for name in ["streams", "integrity", "outcomes", "defects", "targets", "use_cases"] {
        assert_eq!(ends[name], summary[name], "{name}");
    }
    assert_eq!(ends["integrity"], json!({ "good": 4, "total": 5, "ratio": 0.8 }));
    assert_eq!(ends["outcomes"], json!({ "complete": 4, "truncated": 1, "aborted": 1 }));
    let points = ends["points"].as_array().unwrap();
    let whole: u64 = points.iter().map(|point| point["integrity"]["good"].as_u64().unwrap()).sum();
    let stalled: u64 = points.iter().filter_map(|point| point["defects"]["stall"].as_u64()).sum();
    assert_eq!((points.len(), whole, stalled), (15, 4, 1));

    let table = collector.get("/v1/integrity?range=15m&step=60&format=csv").await.body;
    let lines: Vec<Vec<_>> =
        table.split_terminator("\r\n").map(|line| line.split(',').collect::<Vec<_>>()).collect();
    let sum_of = |column: &str| -> u64 {
        let at = lines[0].iter().position(|name| *name == column).unwrap();
        lines[1..].iter().map(|line| line[at].parse::<u64>().unwrap()).sum()
    };
    let sums = ["streams", "intact", "eligible", "aborted", "empty", "stall", "replay"].map(sum_of);
    assert_eq!(sums, [6, 4, 5, 1, 0, 1, 0]);
}

#[tokio::test]
async fn percentiles_do_not_improve_when_users_leave() {
    let collector = TestCollector::new();
    let patient: Vec<_> = (1..=20).map(|n| stream(n, n as f64 * 500.0)).collect();
    collector.report(&patient).await;
    let before = collector.until("/v1/summary", |summary| summary["streams"] == 20).await;
    assert!(close_to(&before["ttfv"]["p50_ms"], 5_000.0), "{before}");
    let adjusted = &before["ttfv"]["km_adjusted"];
    for percentile in ["p50_ms", "p95_ms", "p99_ms"] {
        assert_eq!(adjusted[percentile], before["ttfv"][percentile], "nobody left");
    }

    // The same again, and whoever would have waited for over 5 s leaves then, or loses the connection.
    let mut others: Vec<_> = (1..=10).map(|n| stream(100 + n, n as f64 * 500.0)).collect();
    others.extend((0..9).map(|n| censored_wait(200 + n, Outcome::Aborted, 5_010.0 + n as f64)));
    others.push(censored_wait(300, Outcome::NetworkError, 5_010.0));
    collector.report(&others).await;
    let after = collector.until("/v1/summary", |summary| summary["streams"] == 40).await;
    for wait in ["ttfv", "ttft"] {
        assert!(close_to(&after[wait]["p50_ms"], 4_000.0), "{after}");
        let adjusted = &after[wait]["km_adjusted"];
        assert!(close_to(&adjusted["p50_ms"], 5_000.0), "{after}");
        assert!(close_to(&adjusted["p95_ms"], 9_500.0), "{after}");
        assert_eq!((&adjusted["abandoned"], &adjusted["failed_before"]), (&json!(9), &json!(1)));
    }
    assert_eq!(after["e2e"]["km_adjusted"], Value::Null);
    let series = collector.json("/v1/timeseries?range=15m").await;
    let left = |point: &Value| point["km_adjusted"]["abandoned"].as_u64().unwrap();
    assert_eq!(series["points"].as_array().unwrap().iter().map(left).sum::<u64>(), 9);
    let groups = collector.json("/v1/breakdown?by=model").await;
    assert_eq!(
        groups["groups"][1]["km_adjusted"],
        json!({ "abandoned": 9, "failed_before": 1 }),
        "of those nobody was shown any"
    );
    assert_eq!(
        collector.json("/v1/histogram?metric=ttft").await["km_adjusted"],
        after["ttft"]["km_adjusted"]
    );
}

#[tokio::test]
async fn the_abandonment_curve_counts_users_still_waiting() {
    let collector = TestCollector::new();
    let mut reports: Vec<_> = (1..=60).map(|n| stream(n, 1_000.0)).collect();
    reports.extend((100..120).map(|n| censored_wait(n, Outcome::Abandoned, 500.0)));
    reports.extend((200..210).map(|n| censored_wait(n, Outcome::Aborted, 4_000.0)));
    reports.extend((300..305).map(|n| censored_wait(n, Outcome::Timeout, 2_000.0)));
    // Never read, and an answer of tools alone: of neither is it known that a user waited for text.
    reports.push(censored_wait(400, Outcome::Unobserved, 500.0));
    reports.push(censored_wait(401, Outcome::Complete, 500.0));
    collector.report(&reports).await;
    let curve = collector.until("/v1/abandonment", |curve| curve["at_risk"] == 95).await;
    assert_eq!(
        (&curve["reached"], &curve["abandoned"], &curve["failed_before"]),
        (&json!(60), &json!(30), &json!(5))
    );
    let points = curve["points"].as_array().unwrap();
    let at_risk: Vec<_> = points.iter().map(|point| point["at_risk"].as_u64().unwrap()).collect();
    assert_eq!(at_risk, [75, 15, 10, 0]);
    let share = 20.0 / 95.0;
    for (point, expected) in points.iter().zip([share, share, share, 1.0]) {
        assert!((point["share"].as_f64().unwrap() - expected).abs() < 1e-12, "{curve}");
        let [wait, lower, upper] = ["wait_ms", "lower", "upper"].map(|name| point[name].as_f64());
        assert!(wait.unwrap() >= 500.0, "{curve}");
        assert_eq!(
            lower.is_some_and(|lower| lower < share) && upper.is_some_and(|upper| upper > share),
            expected < 1.0
        );
    }
    let nobody = collector.json("/v1/abandonment?model=unheard-of").await;
    assert_eq!((&nobody["at_risk"], &nobody["points"]), (&json!(0), &json!([])));
}

#[tokio::test]
async fn a_whole_response_counts_for_e2e_and_not_for_ttft() {
    let collector = TestCollector::new();
    let whole = |id| StreamReport {
        ttft_ms: None,
        ttfv_ms: None,
        e2e_ms: Some(900.0),
        close_ms: Some(900.0),
        tpot_ms: None,
        gaps: None,
        ..stream(id, 100.0)
    };
    collector.report(&[stream(1, 100.0), whole(2), whole(3)]).await;
    let summary = collector.until("/v1/summary", |summary| summary["streams"] == 3).await;
    for wait in ["ttft", "ttfv"] {
        assert_eq!(summary[wait]["n"], 1, "{wait}: {summary}");
        assert_eq!(summary[wait]["km_adjusted"]["failed_before"], 0, "{wait}: {summary}");
    }
    assert_eq!(summary["e2e"]["n"], 3, "{summary}");
    for ratio in ["availability", "integrity"] {
        assert_eq!((&summary[ratio]["good"], &summary[ratio]["total"]), (&json!(3), &json!(3)), "{summary}");
    }
}
