//! What is left of what a use case may break, from reports that were sent.

use beacon::{Outcome, StreamReport};
use collector::Targets;
use serde_json::{Value, json};

use crate::harness::{TestCollector, stream};

fn budget<'a>(slo: &'a Value, objective: &str) -> &'a Value {
    slo["budgets"].as_array().unwrap().iter().find(|budget| budget["objective"] == objective).unwrap()
}

/// Two hundred chats of which four are slow and one fails, and a coding answer.
async fn two_hundred(collector: &TestCollector) {
    let chats = (0..200_u128).map(|id| {
        let outcome = if id == 9 { Outcome::NetworkError } else { Outcome::Complete };
        StreamReport { outcome, ..stream(id, if id < 4 { 2_500.0 } else { 500.0 }) }
    });
    let chats: Vec<_> = chats.collect();
    collector.report(&chats[..100]).await;
    collector.report(&chats[100..]).await;
    collector.report(&[StreamReport { use_case: Some("coding".into()), ..stream(500, 9_000.0) }]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 201).await;
}

#[tokio::test]
async fn a_budget_has_its_remaining_share_and_burn_rates() {
    let collector = TestCollector::new();
    two_hundred(&collector).await;
    let slo = collector.json("/v1/slo").await;
    assert_eq!((&slo["days"], &slo["targets"]["use_case"]), (&json!(30), &json!("chat")));
    let speed = budget(&slo, "speed");
    assert_eq!(
        (&speed["good"], &speed["total"], &speed["objective_ratio"]),
        (&json!(196), &json!(200), &json!(0.99))
    );
    assert!((speed["remaining"].as_f64().unwrap() + 1.0).abs() < 1e-9, "four where two may be: {speed}");
    let burn_rates = speed["burn_rates"].as_array().unwrap();
    assert_eq!(
        burn_rates.iter().map(|burn| burn["minutes"].as_i64().unwrap()).collect::<Vec<_>>(),
        [5, 30, 60, 120, 360, 1440, 4320]
    );
    assert!(burn_rates.iter().all(|burn| (burn["rate"].as_f64().unwrap() - 2.0).abs() < 1e-9), "{speed}");
    let days = speed["by_day"].as_array().unwrap();
    let sum = |name: &str| days.iter().map(|day| day[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("good"), sum("total")), (196, 200), "all streams are of some day: {days:?}");
    assert!(days.iter().all(|day| day["timestamp_ms"].as_i64().unwrap() % 86_400_000 == 0), "{days:?}");
    assert_eq!(speed["alert"], "ticket", "twice as fast as it may be is for the week");
    let availability = budget(&slo, "availability");
    assert_eq!((&availability["good"], &availability["total"]), (&json!(199), &json!(200)));
    assert!(availability["remaining"].as_f64().unwrap().abs() < 1e-9);
    assert_eq!(availability["alert"], Value::Null, "as fast as it may be");
    assert_eq!(slo["budgets"].as_array().map(Vec::len), Some(2), "integrity is promised to those who ask");
}

#[tokio::test]
async fn a_budget_is_of_one_use_case_and_refuses_a_range() {
    let collector = TestCollector::new();
    two_hundred(&collector).await;
    let slo = collector.json("/v1/slo?use_case=coding").await;
    let speed = budget(&slo, "speed");
    assert_eq!((&speed["good"], &speed["total"], &speed["alert"]), (&json!(0), &json!(1), &Value::Null));
    let nobody = collector.json("/v1/slo?use_case=none").await;
    assert_eq!(nobody["budgets"], json!([]));
    collector.get("/v1/slo?range=1h").await.refused(400, "bad_query");
}

#[tokio::test]
async fn a_site_can_have_stricter_targets_than_others() {
    let collector = TestCollector::with(|config| {
        let strict = Targets { ttft_p95_ms: Some(400.0), integrity: Some(0.9), ..Targets::default() };
        config.sites[0].targets.insert("chat".to_owned(), strict);
    });
    two_hundred(&collector).await;
    let slo = collector.json("/v1/slo?site=demo").await;
    assert_eq!(
        (&budget(&slo, "speed")["good"], &budget(&slo, "speed")["alert"]),
        (&json!(0), &json!("page"))
    );
    assert_eq!(budget(&slo, "integrity")["good"], 199);
    let summary = collector.json("/v1/summary?use_case=chat").await;
    assert_eq!(summary["goodput"]["good"], 0, "none is within 400 ms");
}
