//! The table of truth: what a reader of every byte must find in each scenario, in each API.

use beacon::{Defect, Outcome, StreamReport};
use futures_util::future::join_all;

use crate::harness::{APIS, Demo};

/// Outcome and defects.
type Truth = (Outcome, Vec<(Defect, u32)>);

fn truth(scenario: &str, api: &str) -> Truth {
    let plain = |outcome| (outcome, Vec::new());
    match scenario {
        "normal" | "slow_first_token" | "recorded" => plain(Outcome::Complete),
        "stall" => (Outcome::Complete, vec![(Defect::Stall, 1)]),
        "buffered" => (Outcome::Complete, vec![(Defect::Buffered, 1)]),
        // What is torn is not read, and so its number is missing.
        "malformed" if api == "openai_responses" => {
            (Outcome::Complete, vec![(Defect::Malformed, 1), (Defect::SequenceGap, 1)])
        }
        "malformed" => (Outcome::Complete, vec![(Defect::Malformed, 1)]),
        "cut_socket" => plain(Outcome::NetworkError),
        "cut_clean" => plain(Outcome::Truncated),
        "provider_error" => plain(Outcome::ProviderError),
        "http_error" => plain(Outcome::HttpError),
        "empty" => plain(Outcome::Empty),
        "user_stops" => plain(Outcome::Aborted),
        other => panic!("no truth about {other}"),
    }
}

const SCENARIOS: [&str; 11] = [
    "normal",
    "slow_first_token",
    "stall",
    "cut_socket",
    "cut_clean",
    "provider_error",
    "malformed",
    "buffered",
    "http_error",
    "empty",
    "user_stops",
];

#[tokio::test]
async fn every_scenario_in_every_api_has_the_documented_outcome() {
    let demo = Demo::start().await;
    let pairs = SCENARIOS.into_iter().flat_map(|scenario| APIS.map(|(api, _)| (scenario, api)));
    let pairs = pairs.chain([("recorded", "openai_chat")]);
    join_all(pairs.map(|(scenario, api)| check(&demo, scenario, api))).await;
}

async fn check(demo: &Demo, scenario: &str, api: &str) {
    let stops = |report: &StreamReport| scenario == "user_stops" && report.deltas >= 3;
    let read = demo.read_until(scenario, api, stops).await;
    let report = read.report;
    let (outcome, defects) = truth(scenario, api);
    assert_eq!(report.outcome, outcome, "{scenario} {api}: {report:?}");
    assert_eq!(report.defects.iter().collect::<Vec<_>>(), defects, "{scenario} {api}: {report:?}");

    let entry = demo.ended(read.seq).await;
    assert_eq!(entry["status"], report.status.unwrap(), "{scenario} {api}");
    if !matches!(scenario, "http_error" | "empty") {
        assert_eq!(report.dialect.as_deref(), Some(api), "{scenario}");
        assert_eq!(report.response_id.as_deref(), entry["id"].as_str(), "{scenario} {api}");
        let sent = entry["first_token_ms"].as_f64().unwrap();
        // The client's clock starts earlier than the server's, and its token comes later.
        assert!(report.ttft_ms.unwrap() >= sent, "{scenario} {api}: {:?} before {sent}", report.ttft_ms);
    }
    if report.outcome == Outcome::Complete && scenario != "malformed" {
        let written = |entry: &serde_json::Value| entry["tokens"].as_u64().unwrap();
        let tokens: u64 = entry["writes"].as_array().unwrap().iter().map(written).sum();
        // A real engine's last text may be one token without any.
        let told = report.output_tokens.unwrap();
        assert!(if scenario == "recorded" { told == 200 } else { told == tokens }, "{scenario} {api}");
    }
}
