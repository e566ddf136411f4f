//! What is left of what a use case may break, from reports that were sent.

use beacon::{Outcome, StreamReport};
use collector::{Site, Targets};
use serde_json::{Value, json};

use crate::harness::{TestCollector, close_to, stream};

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
    assert_eq!(speed["alert"], Value::Null, "four of 200 may be chance");
    let availability = budget(&slo, "availability");
    assert_eq!((&availability["good"], &availability["total"]), (&json!(199), &json!(200)));
    assert!(availability["remaining"].as_f64().unwrap().abs() < 1e-9);
    assert_eq!(availability["alert"], Value::Null, "as fast as it may be");
    let objectives: Vec<_> =
        slo["budgets"].as_array().unwrap().iter().map(|budget| &budget["objective"]).collect();
    assert_eq!(objectives, ["availability", "speed", "pace"], "integrity needs a target");
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
        config.sites[0].targets.insert("chat".to_owned(), strict.into());
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

fn of_site(site: &'static str, report: StreamReport) -> (&'static str, StreamReport) {
    (site, report)
}

/// A collector with the sites `a` and `b`, and their reports.
async fn two_sites(reports: impl IntoIterator<Item = (&'static str, StreamReport)>) -> TestCollector {
    let collector = TestCollector::with(|config| {
        let site =
            |name: &str| Site { name: name.into(), keys: vec![name.into()], ..config.sites[0].clone() };
        config.sites = vec![site("a"), site("b")];
    });
    let reports: Vec<_> = reports.into_iter().collect();
    for name in ["a", "b"] {
        let own: Vec<_> =
            reports.iter().filter(|(site, _)| *site == name).map(|(_, report)| report.clone()).collect();
        for batch in own.chunks(100) {
            collector.report_as(name, batch).await;
        }
    }
    let count = reports.len();
    collector.until("/v1/summary", |summary| summary["streams"] == count).await;
    collector
}

fn chat(id: u128, ttft_ms: f64) -> StreamReport {
    StreamReport { tpot_ms: Some(40.0), longest_gap_ms: Some(200.0), ..stream(id, ttft_ms) }
}

#[tokio::test]
async fn slow_tokens_make_the_first_screen_red() {
    let slow = (0..500).map(|id| StreamReport { tpot_ms: Some(121.0), ..chat(id, 300.0) });
    let collector = two_sites(slow.map(|report| of_site("a", report))).await;
    let summary = collector.json("/v1/summary").await;
    assert_eq!(summary["goodput"]["ratio"], 0.0);
    assert_eq!(summary["verdict"]["level"], "bad", "{}", summary["verdict"]);
    assert_eq!(summary["verdict"]["cause"]["cause"], "decode");
    let alerts = collector.json("/v1/alerts").await;
    assert_eq!(alerts["alerts"][0]["rule"], "pace", "{alerts}");
    assert_eq!(alerts["alerts"][0]["severity"], "page");
}

#[tokio::test]
async fn stalls_make_the_first_screen_red() {
    let stalled = (0..500).map(|id| StreamReport { longest_gap_ms: Some(15_000.0), ..chat(id, 300.0) });
    let collector = two_sites(stalled.map(|report| of_site("a", report))).await;
    assert_eq!(collector.json("/v1/summary").await["verdict"]["level"], "bad");
}

#[tokio::test]
async fn an_overspent_speed_budget_makes_the_first_screen_red() {
    let fast = (0..950).map(|id| chat(id, 220.0));
    let chats = fast.chain((950..990).map(|id| chat(id, 3_970.0)));
    let collector = two_sites(chats.map(|report| of_site("a", report))).await;
    let summary = collector.json("/v1/summary").await;
    assert_eq!(summary["verdict"]["level"], "bad", "{}", summary["verdict"]);
    assert_eq!(summary["by_use_case"][0]["alerts"][0]["severity"], "incident", "{}", summary["by_use_case"]);
    assert_eq!(summary["by_use_case"][0]["least_budget"]["objective"], "speed");
}

#[tokio::test]
async fn one_failed_stream_alerts_nobody() {
    let coding = |id, outcome| StreamReport { use_case: Some("coding".into()), outcome, ..chat(id, 300.0) };
    let streams =
        (0..109).map(|id| coding(id, Outcome::Complete)).chain([coding(109, Outcome::NetworkError)]);
    let collector = two_sites(streams.map(|report| of_site("a", report))).await;
    assert_eq!(collector.json("/v1/alerts").await["alerts"], json!([]));
    let slo = collector.json("/v1/slo").await;
    assert_eq!((&slo["site"], &slo["targets"]["use_case"]), (&json!("a"), &json!("coding")));
    assert_eq!(budget(&slo, "availability")["alert"], Value::Null);
}

#[tokio::test]
async fn the_default_view_is_about_the_site_that_suffers() {
    let slow = (0..200).map(|id| of_site("a", chat(id, if id < 20 { 4_100.0 } else { 500.0 })));
    let coding = (1_000..1_500)
        .map(|id| of_site("b", StreamReport { use_case: Some("coding".into()), ..chat(id, 800.0) }));
    let collector = two_sites(slow.chain(coding)).await;
    let summary = collector.json("/v1/summary").await;
    assert_eq!((&summary["verdict"]["site"], &summary["verdict"]["use_case"]), (&json!("a"), &json!("chat")));
    let rows = summary["by_use_case"].as_array().unwrap();
    let row = |at: usize| (rows[at]["site"].as_str().unwrap(), rows[at]["level"].as_str().unwrap());
    assert_eq!([row(0), row(1)], [("a", "bad"), ("b", "good")]);
    let slo = collector.json("/v1/slo").await;
    assert_eq!((&slo["site"], &budget(&slo, "speed")["alert"]), (&json!("a"), &json!("page")));
    let b = collector.json("/v1/summary?site=b").await;
    assert_eq!(b["verdict"]["level"], "good", "{}", b["verdict"]);
}

#[tokio::test]
async fn waits_of_twice_the_p99_target_are_p1() {
    let chats = (0..500).map(|id| of_site("a", chat(id, if id < 10 { 11_000.0 } else { 500.0 })));
    let collector = two_sites(chats).await;
    let alerts = collector.json("/v1/alerts").await;
    let first = &alerts["alerts"][0];
    assert_eq!(
        (&first["severity"], &first["rule"], &first["bad"]),
        (&json!("P1"), &json!("ttft_p99"), &json!(10))
    );
}

#[tokio::test]
async fn alerts_refuse_filters_of_a_part_of_a_use_case() {
    let chats = (0..500).map(|id| of_site("a", chat(id, if id < 10 { 11_000.0 } else { 500.0 })));
    let collector = two_sites(chats).await;
    let all = collector.json("/v1/alerts").await;
    assert_eq!(all["alerts"][0]["severity"], "P1", "{all}");
    let none = json!({ "alerts": [] });
    for (filter, expected) in [
        ("site=a&use_case=chat", &all),
        ("site=b", &none),
        ("use_case=!chat", &none),
        ("use_case=chat&use_case=coding", &all),
    ] {
        assert_eq!(collector.json(&format!("/v1/alerts?{filter}")).await, *expected, "{filter}");
    }
    for filter in ["model=gpt-5", "browser=!firefox", "defect=stall", "site=a&attribute.plan=pro"] {
        let message = collector.get(&format!("/v1/alerts?{filter}")).await.refused(400, "bad_query");
        assert!(message.contains("use `site` or `use_case`"), "{message}");
    }
}

#[tokio::test]
async fn a_use_case_leads_with_the_wait_of_its_targets() {
    let collector = TestCollector::new();
    let of = |case: &str, id, ms| StreamReport { use_case: Some(case.to_owned().into()), ..stream(id, ms) };
    // A whole JSON response has an end, but no token of its own.
    let whole = |case: &str, id| StreamReport {
        first_byte_ms: None,
        ttft_ms: None,
        ttfv_ms: None,
        e2e_ms: Some(id as f64 * 10.0),
        close_ms: Some(id as f64 * 10.0),
        tpot_ms: None,
        gaps: None,
        ..of(case, id, 1.0)
    };
    let rag = (1..=100).map(|id| whole("batch_rag", id));
    let others = (101..=110).flat_map(|id| [of("chat", id, 500.0), whole("untargeted", id + 10)]);
    collector.report(&rag.collect::<Vec<_>>()).await;
    collector.report(&others.collect::<Vec<_>>()).await;
    let summary = collector.until("/v1/summary", |summary| summary["streams"] == 120).await;
    let row = |name: &str| {
        summary["by_use_case"].as_array().unwrap().iter().find(|row| row["use_case"] == name).unwrap()
    };
    let metric = |name| row(name)["metric"].as_str().unwrap();
    assert_eq!([metric("batch_rag"), metric("chat"), metric("untargeted")], ["e2e", "ttfv", "e2e"]);
    for (field, exact) in [("p50_ms", 500.0), ("p90_ms", 900.0), ("p95_ms", 950.0), ("p99_ms", 990.0)] {
        assert!(close_to(&row("batch_rag")[field], exact), "{field} of {}", row("batch_rag"));
    }
}
