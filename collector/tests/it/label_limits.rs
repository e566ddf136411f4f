//! Limits of labels: what happens to names beyond them, and that made-up names do not fill a site for ever.

use std::fs;
use std::path::Path;
use std::process::Command;

use beacon::StreamReport;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{TestCollector, stream};
use crate::import::{import, line, now_ms};
use crate::running::{Client, Process, post};

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

/// Sends reports as a proxy does that names its client.
pub(crate) fn send_from(client: &mut Client, address: &str, reports: &[StreamReport]) {
    let request = post(&json!({ "reports": reports }).to_string());
    let request = request.replacen("\r\n", &format!("\r\nx-forwarded-for: {address}\r\n"), 1);
    assert_eq!(client.ask(&request).unwrap().0, 204);
}

#[test]
fn made_up_names_of_one_network_leave_room_for_honest_ones() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("llm-rum.toml");
    let config = "[ingest]\nproxies = ['127.0.0.1']\nclient_header = 'x-forwarded-for'\nnetwork_rate = { per_second = 100000 }\n\
                  [models]\n'configured-*' = 'configured'\n[targets.configured-case]\navailability = 0.9\n";
    fs::write(&file, config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    let process = Process::spawn(command.arg("--data").arg(folder.path().join("data")));
    let mut client = process.connect();
    let made_up = |id: u128| StreamReport {
        use_case: Some(format!("made-up-case-{id}").into()),
        provider: Some(format!("made-up-provider-{id}").into()),
        ..report(id, &format!("made-up-{id}"))
    };
    for request in 0..21 {
        let reports: Vec<_> = (request * 100..(request + 1) * 100).map(made_up).collect();
        send_from(&mut client, "192.0.2.1", &reports);
    }
    let honest = |id: u128, use_case: &str, model: &str| StreamReport {
        use_case: Some(use_case.to_owned().into()),
        provider: Some("honest-provider".into()),
        ..report(id, model)
    };
    send_from(
        &mut client,
        "198.51.100.1",
        &[honest(10_001, "configured-case", "configured-1"), honest(10_002, "honest-case", "honest")],
    );
    let summary = process.until("/v1/summary", |summary| summary["streams"] == 2_102);
    // No stream is lost, and each one without a name of its own is counted as such.
    assert_eq!(summary["overflow"]["model"], 2_100 - 25, "{}", summary["overflow"]);
    for (use_case, model) in [("configured-case", "configured"), ("honest-case", "honest")] {
        let names = format!("use_case={use_case}&provider=honest-provider&model={model}");
        assert_eq!(process.json(&format!("/v1/summary?{names}"))["streams"], 1, "{names}");
    }
}

fn labels(data: &Path, arguments: &[&str]) -> Result<Value, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    let output = command.arg("labels").args(arguments).arg("--data").arg(data).output().unwrap();
    let failed = |_| String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).map_err(failed)
}

#[tokio::test]
async fn an_operator_lists_values_and_drops_some() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let at_ms = now_ms() - 60_000;
    let made_up = |n: u128| line(&report(n, &format!("made-up-{n}")), at_ms, "CH");
    let lines: Vec<_> = (0..100).map(made_up).chain([line(&report(900, "made-up-7"), at_ms, "CH")]).collect();
    assert_eq!(import(&data, &lines).status.code(), Some(0));
    let mut collector = TestCollector::with(|config| config.data = data.clone());
    let refused = labels(&data, &["--site", "demo", "--drop", "model=made-up-7"]).unwrap_err();
    assert!(refused.contains("stop it"), "{refused}");
    let listed = labels(&data, &["--site", "demo"]).unwrap();
    let models = listed["labels"]["model"].as_array().unwrap();
    assert_eq!(models.len(), 100);
    assert_eq!((&models[0]["value"], &models[0]["streams"]), (&json!("made-up-7"), &json!(2)));
    assert!(models[0]["takes_place"] == true && models[0]["last_used"].is_string(), "{}", models[0]);
    let configured = listed["labels"]["use_case"].as_array().unwrap();
    assert!(configured.iter().all(|value| value["takes_place"] == false), "{configured:?}");
    collector.close();

    for (arguments, message) in [
        (["--site", "unknown", "--drop", "model=made-up-7"], "no streams of a site `unknown`"),
        (["--site", "demo", "--drop", "model=never"], "no model `never`"),
        (["--site", "demo", "--drop", "colour=red"], "labels are use_case, provider, model"),
    ] {
        let refused = labels(&data, &arguments).unwrap_err();
        assert!(refused.contains(message), "{refused}");
    }
    let dropped = labels(&data, &["--site", "demo", "--drop", "model=made-up-7"]).unwrap();
    assert_eq!(dropped["dropped"], json!(["model=made-up-7"]));
    assert_eq!(dropped["labels"]["model"][0]["takes_place"], false);
    assert!(dropped["labels"]["model"][0]["last_used"].is_null());

    // The site was full, and one place is free now.
    let new: Vec<_> = (0..2).map(|n| line(&report(1_000 + n, &format!("new-{n}")), at_ms, "CH")).collect();
    assert_eq!(import(&data, &new).status.code(), Some(0));
    let collector = TestCollector::with(|config| config.data = data.clone());
    let metrics = collector.get("/metrics").await.body;
    let has = |model: &str| metrics.contains(&format!("model=\"{model}\""));
    assert_eq!(
        ["made-up-7", "made-up-8", "new-0", "new-1", "other"].map(has),
        [false, true, true, false, true]
    );
    let kept = collector.json("/v1/summary?model=made-up-7").await;
    assert_eq!(kept["streams"], 2, "its figures stay");
}
