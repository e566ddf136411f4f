//! `llm-rum import`: reports are stored under their arrival, and a collector that starts later shows them there.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use beacon::StreamReport;
use collector::Config;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{TestCollector, stream};

/// Runs the command over a file with these lines.
pub(crate) fn import(data: &Path, lines: &[Value]) -> Output {
    let file = data.with_extension("jsonl");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.arg("import").arg(&file).arg("--data").arg(data).stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn started(data: &Path) -> TestCollector {
    TestCollector::with(|config| *config = Config { data: data.into(), ..config.clone() })
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

pub(crate) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

/// A line as `/v1/streams` lists it.
pub(crate) fn line(report: &StreamReport, received_ms: i64, country: &str) -> Value {
    let mut line = serde_json::to_value(report).unwrap();
    line["received_ms"] = json!(received_ms);
    line["country"] = json!(country);
    line
}

#[tokio::test]
async fn imported_reports_count_at_the_time_of_their_arrival() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let now_ms = now_ms();
    let lines: Vec<_> = (0..60)
        .map(|n| line(&stream(n, 500.0), now_ms - 40 * 60_000, ["CH", "DE"][n as usize % 2]))
        .collect();
    let output = import(&data, &lines);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(answer(&output), json!({ "stored": 60, "refused": {} }));

    let collector = started(&data);
    let quarter = collector.json("/v1/summary?range=15m").await;
    assert_eq!(quarter["streams"], 0, "nothing arrived in the last quarter of an hour");
    let hour = collector.json("/v1/summary?range=1h").await;
    assert_eq!(hour["streams"], 60);
    let swiss = collector.json("/v1/summary?range=1h&country=CH").await;
    assert_eq!(swiss["streams"], 30);
    let listed = collector.json("/v1/streams?range=1h&limit=1").await;
    assert_eq!(listed["streams"][0]["received_ms"], now_ms - 40 * 60_000);
}

#[tokio::test]
async fn the_streams_of_the_last_hour_are_in_statistics_and_kept() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let now_ms = now_ms();
    let hour_ms = 3_600_000;
    let to_ms = now_ms / hour_ms * hour_ms;
    // Before the last whole hour, at its first and last moment and within it, and after it.
    let times = [to_ms - hour_ms - 1, to_ms - hour_ms, to_ms - hour_ms / 2, to_ms - 1, now_ms - 1];
    let lines = (0..).zip(times).flat_map(|(n, at)| {
        [line(&stream(2 * n, 500.0), at, "CH"), line(&stream(2 * n + 1, 900.0), at, "CH")]
    });
    let output = import(&data, &lines.collect::<Vec<_>>());
    assert_eq!(answer(&output), json!({ "stored": 10, "refused": {} }));

    let collector = started(&data);
    let hour = collector.json("/v1/accounting").await["last_hour"].clone();
    // Another hour may have ended since.
    let (from, to) = (hour["from"].as_i64().unwrap(), hour["to"].as_i64().unwrap());
    let expected = 2 * times.iter().filter(|at| (from..to).contains(at)).count();
    assert_eq!(to - from, hour_ms);
    assert_eq!((&hour["counted"], &hour["kept"]), (&json!(expected), &json!(expected)), "{hour}");
}

#[tokio::test]
async fn an_imported_report_keeps_the_facts_of_the_backend() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let with = |n, layers: Value| {
        let mut line = line(&stream(n, 500.0), now_ms() - 5_000, "CH");
        line["layers"] = layers;
        line
    };
    let engine = json!({ "engine": { "source": "vllm", "queue_ms": 40.0, "ttft_ms": 300.0 } });
    let wrong = json!({ "engine": { "source": "vllm", "queue_ms": -1.0 } });
    let output = import(&data, &[with(1, engine.clone()), with(2, wrong)]);
    let answer = answer(&output);
    assert_eq!((&answer["stored"], &answer["refused"]["bad_field"]), (&json!(1), &json!(1)), "{answer}");
    let refusal = "line 2: reports[0].layers.engine.queue_ms must be a duration from 0 to 24 hours";
    assert_eq!(answer["first_refusal"], refusal);

    let collector = started(&data);
    let listed = collector.json("/v1/streams").await["streams"][0]["layers"].clone();
    assert_eq!((&listed["engine"], &listed["facts"]), (&engine["engine"], &json!(1)));
    let phases = collector.json("/v1/phases").await.to_string();
    assert!(phases.contains("\"server_queue\""), "{phases}");
}

#[tokio::test]
async fn a_file_that_is_imported_twice_counts_once() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let lines: Vec<_> = (0..20).map(|n| line(&stream(n, 500.0), now_ms() - 5_000, "CH")).collect();
    for _ in 0..2 {
        assert_eq!(import(&data, &lines).status.code(), Some(0));
    }
    let collector = started(&data);
    assert_eq!(collector.json("/v1/summary").await["streams"], 20);
}

#[test]
fn a_refused_line_is_counted_and_the_rest_is_stored() {
    let folder = TempDir::new().unwrap();
    let future = line(&stream(1, 500.0), now_ms() + 600_000, "CH");
    let lines = [line(&stream(2, 500.0), now_ms(), "CH"), future, json!({ "id": 7 })];
    let output = import(&folder.path().join("data"), &lines);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let answer = answer(&output);
    assert_eq!((&answer["stored"], &answer["refused"]["bad_field"]), (&json!(1), &json!(2)), "{answer}");
    assert_eq!(answer["first_refusal"], "line 2: `received_ms` is not in the past");
}

/// More lines than the journal writes together.
#[tokio::test]
async fn every_line_of_a_long_file_is_stored() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let mut lines: Vec<_> = (0..200).map(|n| line(&stream(n, 500.0), now_ms() - 5_000, "CH")).collect();
    lines[100] = json!({ "id": 7 });
    let output = answer(&import(&data, &lines));
    assert_eq!((&output["stored"], &output["refused"]["bad_field"]), (&json!(199), &json!(1)), "{output}");
    assert!(output["first_refusal"].as_str().unwrap().starts_with("line 101:"), "{output}");
    assert_eq!(started(&data).json("/v1/summary").await["streams"], 199);
}

#[tokio::test]
async fn the_folder_of_a_running_collector_is_refused() {
    let collector = TestCollector::new();
    let output = import(&collector.config.data, &[line(&stream(1, 500.0), now_ms(), "CH")]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("another collector uses the folder"),
        "{output:?}"
    );
}
