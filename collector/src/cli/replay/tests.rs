//! A replay counts as a collector does, and reports the reason for every refused line.

use beacon::Outcome;
use serde_json::{Value, json};

use super::*;

fn report(id: u128, ttft_ms: f64) -> StreamReport {
    StreamReport {
        open: false,
        outcome: Outcome::Complete,
        model: Some("gpt-5".into()),
        ttft_ms: Some(ttft_ms),
        ttfv_ms: Some(ttft_ms),
        e2e_ms: Some(ttft_ms + 400.0),
        ..StreamReport::new(format!("{id:032x}"))
    }
}

fn replayed(config: &Config, site: Option<&str>, lines: &[String]) -> Value {
    let text = lines.join("\n");
    serde_json::to_value(replay(config, site, text.as_bytes(), 60_000).unwrap()).unwrap()
}

fn line(report: &StreamReport) -> String {
    serde_json::to_string(report).unwrap()
}

#[test]
fn bodies_and_single_reports_add_up() {
    let batch = json!({ "reports": [report(1, 100.0), report(2, 200.0)] }).to_string();
    let truncated = StreamReport { outcome: Outcome::Truncated, ..report(3, 300.0) };
    let mut listed = serde_json::to_value(&truncated).unwrap();
    listed["site"] = json!("demo");
    listed["received_ms"] = json!(1_700_000_000_000_u64);
    listed["country"] = json!("CH");
    listed["phases"] = json!([{ "phase": "not_reported", "ms": 100.0 }]);
    let answer = replayed(&Config::default(), None, &[batch, String::new(), listed.to_string()]);
    assert_eq!(answer["lines"], json!({ "read": 2, "accepted": 2, "refused": {} }));
    assert_eq!((&answer["streams"], &answer["never_ended"]), (&json!(3), &json!(0)));
    assert_eq!(answer["outcomes"], json!({ "complete": 2, "truncated": 1 }));
    assert_eq!(answer["reports"], json!({ "received": 3, "sampled_out": 0, "by_result": { "new": 3 } }));
    assert_eq!(answer["ignored_fields"], 0, "what a list adds is ours");
    assert_eq!(answer["ttft"]["n"], 3);
    let p50 = answer["ttft"]["p50_ms"].as_f64().unwrap();
    assert!((p50 - 200.0).abs() <= 200.0 * 0.0109, "{p50}");
    assert_eq!(answer["errors"]["count"], 1);
}

#[test]
fn the_latest_revision_counts_whatever_the_order_of_lines() {
    let begun = StreamReport { open: true, outcome: Outcome::Abandoned, ..report(1, 100.0) };
    let ended = StreamReport { rev: 1, ..report(1, 100.0) };
    let slower = StreamReport { rev: 2, ..report(1, 900.0) };
    let alone = StreamReport { open: true, outcome: Outcome::Abandoned, ..report(2, 50.0) };
    let all = [line(&begun), line(&ended), line(&slower), line(&alone)];
    let mut turned = all.clone();
    turned.reverse();
    for lines in [&all, &turned] {
        let answer = replayed(&Config::default(), None, lines);
        assert_eq!((&answer["streams"], &answer["never_ended"]), (&json!(2), &json!(1)));
        assert_eq!(answer["outcomes"], json!({ "complete": 1, "abandoned": 1 }));
        assert!(answer["ttft"]["p95_ms"].as_f64().unwrap() > 880.0, "{answer}");
        let by_result: u64 =
            answer["reports"]["by_result"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert_eq!(by_result, 4, "each has a result");
    }
}

#[test]
fn each_invalid_line_counts_by_reason_and_stops_no_other() {
    let mut config = Config::default();
    config.ingest.body_bytes = 2_000;
    let lines = [
        line(&report(1, 100.0)),
        "not JSON".to_owned(),
        "\u{0}\u{1}{".to_owned(),
        "x".repeat(1_000_000),
        line(&StreamReport { ttft_ms: Some(-1.0), ..report(2, 100.0) }),
        line(&StreamReport { v: 9, ..report(3, 100.0) }),
        json!({ "reports": [] }).to_string(),
        "[".repeat(1_500),
        "{}],\"x\":[{}".to_owned(),
        "{\"id\":\"1\",\"id\":\"1\"}".to_owned(),
        line(&StreamReport { site: Some("elsewhere".into()), ..report(4, 100.0) }),
        line(&report(5, 100.0)),
    ];
    let answer = replayed(&config, None, &lines);
    assert_eq!(answer["streams"], 2, "{answer}");
    assert_eq!(
        answer["lines"],
        json!({ "read": 12, "accepted": 2, "refused": {
            "bad_json": 2, "body_too_large": 1, "bad_field": 4, "unknown_version": 1, "bad_batch": 1,
            "unknown_site": 1,
        } })
    );
    let refusals = answer["refusals"].as_array().unwrap();
    assert_eq!(refusals.len(), MOST_REFUSALS);
    assert_eq!((&refusals[2]["line"], &refusals[2]["code"]), (&json!(4), &json!("body_too_large")));
    assert!(refusals[3]["message"].as_str().unwrap().contains("ttft_ms"), "{answer}");
}

#[test]
fn a_line_belongs_to_the_given_site() {
    let mut config = Config::default();
    let mut other = config.sites[0].clone();
    other.name = "other".into();
    other.use_case = "coding".into();
    other.sample = 1e-9;
    config.sites.push(other);
    let of_other = line(&StreamReport { site: Some("other".into()), ..report(7, 100.0) });
    let lines = [of_other, line(&report(8, 100.0))];
    let answer = replayed(&config, None, &lines);
    assert_eq!((&answer["streams"], &answer["reports"]["sampled_out"]), (&json!(1), &json!(1)));
    assert_eq!(replayed(&config, Some("demo"), &lines)["streams"], 2);
    assert_eq!(replayed(&config, Some("other"), &lines)["streams"], 0);
    let unknown = replay(&config, Some("third"), &b""[..], 0).unwrap_err();
    assert_eq!(unknown.to_string(), "the configuration has no site `third`");
}

#[test]
fn replay_remembers_as_many_streams_as_a_collector() {
    let mut config = Config::default();
    config.dedupe.ids = 10;
    config.store.streams_kept = 5;
    let mut replay = Replay::new(&config, None, 60_000).unwrap();
    for id in 0..1_000 {
        let taken = replay.sites.parse(line(&report(id, 100.0)).as_bytes());
        replay.note(id as u64, taken).unwrap();
        assert!(replay.earlier.records.len() <= 11, "{}", replay.earlier.records.len());
    }
    // A stream that was evicted counts as new again, as it would in a collector.
    let taken = replay.sites.parse(line(&report(1, 100.0)).as_bytes());
    replay.note(1_001, taken).unwrap();
    let answer = serde_json::to_value(replay.close().unwrap()).unwrap();
    assert_eq!(answer["streams"], 1_001);
}
