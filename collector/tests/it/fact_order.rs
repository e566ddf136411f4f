//! Reports of pages and facts of the backend in any order, repeated, with stops and kills between them: the same counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use beacon::{Outcome, StreamReport};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{close_to, stream};
use crate::running::{Process, post};

/// One request to the collector, or its restart.
#[derive(Debug, Clone)]
enum Step {
    Report {
        id: u128,
        rev: u32,
    },
    Fact(Value),
    /// As by SIGTERM.
    Stop,
    /// As by a crash. All that was answered is in the journal.
    Kill,
}

const STREAMS: u128 = 5;

/// What arrives at least once. The page of the last fact never reports its stream.
fn arrivals() -> Vec<Step> {
    let mut all = Vec::new();
    for id in 1..=STREAMS {
        all.extend([Step::Report { id, rev: 0 }, Step::Report { id, rev: 1 }]);
        all.push(fact(id, json!({ "layer": "app", "source": "asgi", "ttft_ms": 850 })));
    }
    for id in 2..=STREAMS {
        all.push(fact(id, json!({ "layer": "engine", "source": "vllm", "queue_ms": 300, "ttft_ms": 800 })));
    }
    // Of two facts for one layer, the one with more values stays.
    all.push(fact(2, json!({ "layer": "engine", "source": "vllm", "ttft_ms": 700 })));
    all.push(fact(STREAMS + 1, json!({ "layer": "app", "source": "asgi", "ttft_ms": 850 })));
    all
}

/// The headers of a stream come without an id of the response, so facts find it by its last revision.
fn report(id: u128, rev: u32) -> StreamReport {
    let ended = stream(id, 900.0);
    match rev {
        0 => StreamReport { open: true, outcome: Outcome::Abandoned, e2e_ms: None, close_ms: None, ..ended },
        _ => StreamReport { rev, response_id: Some(format!("chatcmpl-{id}").into()), ..ended },
    }
}

fn fact(id: u128, mut fields: Value) -> Step {
    fields["id"] = format!("chatcmpl-{id}").into();
    Step::Fact(fields)
}

/// All arrivals, some of them twice, in any order, with up to four restarts.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let again = prop::sample::subsequence(arrivals(), 0..=arrivals().len());
    let restarts = prop::collection::vec(prop_oneof![Just(Step::Stop), Just(Step::Kill)], 0..=4);
    (again, restarts).prop_map(|(again, restarts)| [arrivals(), again, restarts].concat()).prop_shuffle()
}

fn start(folder: &Path) -> Process {
    let file = folder.join("llm-rum.toml");
    fs::write(&file, "[server]\nwithout_token = true\n[journal]\nsync = 'normal'\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    Process::spawn(command.arg("--data").arg(folder.join("data")))
}

fn restart(mut process: Process, signal: &str, folder: &Path) -> Process {
    process.signal(signal);
    process.child.wait().unwrap();
    start(folder)
}

/// Sends the steps one after the other. Returns the collector after a last stop.
fn send(steps: &[Step], folder: &Path) -> Process {
    let mut process = start(folder);
    for step in steps {
        let (request, answer) = match step {
            Step::Report { id, rev } => (post(&json!({ "reports": [report(*id, *rev)] }).to_string()), 204),
            Step::Fact(fact) => {
                let body = json!({ "facts": [fact] }).to_string();
                let head = format!(
                    "host: localhost\r\ncontent-type: application/json\r\ncontent-length: {}",
                    body.len()
                );
                (format!("POST /v1/server-timings HTTP/1.1\r\n{head}\r\n\r\n{body}"), 200)
            }
            Step::Stop | Step::Kill => {
                let signal = if matches!(step, Step::Kill) { "KILL" } else { "TERM" };
                process = restart(process, signal, folder);
                continue;
            }
        };
        let (status, body) = process.connect().ask(&request).unwrap();
        assert_eq!(status, answer, "{body}");
    }
    // The last flush has written everything.
    restart(process, "TERM", folder)
}

/// The layers of each stream that is listed.
fn layers_of_streams(process: &Process) -> BTreeMap<String, Value> {
    let lines = process.get("/v1/streams.ndjson").1;
    let streams: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let layers = |stream: &Value| {
        let ms = |layer: &str, name: &str| stream["layers"][layer][name].clone();
        json!([ms("app", "ttft_ms"), ms("engine", "queue_ms"), ms("engine", "ttft_ms")])
    };
    let by_id: BTreeMap<_, _> =
        streams.iter().map(|stream| (stream["id"].as_str().unwrap().to_owned(), layers(stream))).collect();
    assert_eq!(by_id.len(), streams.len(), "a stream is listed twice: {lines}");
    by_id
}

fn check_streams(process: &Process) {
    let summary = process.json("/v1/summary");
    assert_eq!((&summary["streams"], &summary["open"]), (&json!(STREAMS), &json!(0)));
    let expected = |id| {
        let engine = if id == 1 { [Value::Null, Value::Null] } else { [json!(300.0), json!(800.0)] };
        (format!("{id:032x}"), json!([850.0, engine[0], engine[1]]))
    };
    assert_eq!(layers_of_streams(process), (1..=STREAMS).map(expected).collect());

    let layers = process.json("/v1/server-layers");
    let of = |layer: &Value| (layer["sent"].clone(), layer["without"]["may_come"].clone());
    let matched: Vec<_> = layers["layers"].as_array().unwrap().iter().map(of).collect();
    let row = |sent: u64| (json!(sent), json!(5 - sent));
    assert_eq!((layers["streams"].clone(), matched), (json!(STREAMS), [0, 5, 0, 0, 4].map(row).to_vec()));
    for (layer, matched) in [("app", 5), ("engine", 4), ("gateway", 0)] {
        let answer = process.json(&format!("/v1/compare?layer={layer}"));
        assert_eq!((&answer["streams"], &answer["matched"]), (&json!(STREAMS), &json!(matched)), "{layer}");
    }
    // From windows, and from single streams.
    for path in ["/v1/phases", "/v1/phases?visibility=!hidden"] {
        let answer = process.json(path);
        for (name, n, p50_ms) in [("app", 4, 50.0), ("server_queue", 4, 300.0), ("prefill", 4, 500.0)] {
            let mut phases = answer["phases"].as_array().unwrap().iter();
            let found = phases.find(|phase| phase["phase"] == name).unwrap();
            assert!(found["n"] == n && close_to(&found["p50_ms"], p50_ms), "{path}: {found}");
        }
    }
}

/// A kill loses the results since the last flush, but doubles none.
fn check_results(process: &Process, steps: &[Step]) {
    let facts = steps.iter().filter(|step| matches!(step, Step::Fact(_))).count() as u64;
    let was_killed = steps.iter().any(|step| matches!(step, Step::Kill));
    let results = process.json("/v1/server-layers")["facts"].clone();
    let metrics = process.get("/metrics").1;
    let [matched, duplicate, expired, refused] =
        ["matched", "duplicate", "expired", "refused"].map(|result| {
            let count = results[result].as_u64().unwrap();
            let line = format!("llm_rum_server_facts_total{{result=\"{result}\"}} {count}\n");
            assert!(metrics.contains(&line), "{line} in {metrics}");
            count
        });
    assert_eq!((expired, refused), (0, 0));
    // The fact of the stream without a report waits. The one with fewer values is a match if it comes first.
    let of_streams = facts - 1;
    assert!(matched <= 10 && matched + duplicate <= of_streams, "{results}");
    if !was_killed {
        assert!(matched >= 9 && matched + duplicate == of_streams, "{results} of {facts} facts");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_order_of_reports_and_facts_gives_the_same_counts(steps in steps()) {
        let folder = TempDir::new().unwrap();
        let process = send(&steps, folder.path());
        check_streams(&process);
        check_results(&process, &steps);
    }
}
