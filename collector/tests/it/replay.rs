//! `llm-rum replay`: files of lines come in, goes out what a collector would have counted, and an exit code.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use beacon::{Outcome, StreamReport};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{TestCollector, stream};

fn replay(file: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.arg("replay").arg(file).args(more).stdin(Stdio::null()).output().unwrap()
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

#[tokio::test]
async fn a_replay_of_listed_streams_gives_the_same_summary() {
    let collector = TestCollector::new();
    let mut reports: Vec<_> = (1..=60).map(|n| stream(n, n as f64 * 40.0)).collect();
    reports.push(StreamReport { outcome: Outcome::Truncated, ..stream(61, 700.0) });
    reports.push(StreamReport { outcome: Outcome::Aborted, ttft_ms: None, ttfv_ms: None, ..stream(62, 1.0) });
    collector.report(&reports).await;
    let summary = collector.until("/v1/summary", |summary| summary["streams"] == 62).await;
    let listed = collector.json("/v1/streams?limit=500").await;
    let lines: Vec<_> = listed["streams"].as_array().unwrap().iter().map(Value::to_string).collect();

    let folder = TempDir::new().unwrap();
    let file = folder.path().join("streams.jsonl");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let output = replay(file.to_str().unwrap(), &[]);
    assert_eq!(output.status.code(), Some(0));
    let replayed = answer(&output);
    for name in [
        "streams",
        "outcomes",
        "defects",
        "ttfv",
        "ttft",
        "e2e",
        "generation",
        "tpot",
        "inter_chunk_latency",
        "integrity",
        "availability",
        "errors",
        "input_tokens",
        "output_tokens",
        "overflow",
    ] {
        assert_eq!(replayed[name], summary[name], "{name}");
    }
    for name in ["good", "total", "ratio"] {
        assert_eq!(replayed["goodput"][name], summary["goodput"][name], "{name}");
    }
    assert_eq!(replayed["lines"]["accepted"], 62);
}

#[test]
fn invalid_lines_are_counted_by_reason_and_set_the_exit_code() {
    let output = replay(fixture("replay-foul.jsonl").to_str().unwrap(), &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let replayed = answer(&output);
    assert_eq!(replayed["streams"], 2, "{replayed}");
    let refused = serde_json::json!({ "bad_json": 2, "bad_field": 1, "bad_batch": 1, "unknown_version": 1 });
    assert_eq!(replayed["lines"]["refused"], refused);
    assert_eq!(replayed["lines"]["read"], 7);
}

#[test]
fn replay_reads_standard_input_and_reports_unreadable_files() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    let command = command.args(["replay", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let line = serde_json::to_string(&stream(1, 100.0)).unwrap();
    child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &answer(&output)["streams"]), (Some(0), &serde_json::json!(1)));

    for (file, more, said) in [
        ("/no/such/file", &[][..], "cannot open /no/such/file"),
        ("/", &[], "cannot read line 1"),
        ("-", &["--site", "nobody"], "the configuration has no site `nobody`"),
        ("-", &["--config", "/no/such.toml"], "/no/such.toml"),
    ] {
        let output = replay(file, more);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{file} {more:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{output:?}");
    }
}
