//! Made-up ids: none replaces the stream of another site, and no number of them ends a stream that is open.

use std::fs;
use std::process::Command;

use beacon::{Outcome, StreamReport};
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{TestCollector, stream};
use crate::label_limits::send_from;
use crate::running::Process;

fn open(id: u128) -> StreamReport {
    StreamReport { open: true, outcome: Outcome::Abandoned, close_ms: None, ..stream(id, 100.0) }
}

#[tokio::test]
async fn an_id_of_another_site_changes_nothing() {
    let site = |name: &str| json!({ "name": name, "keys": [name], "origins": ["loopback"] });
    let sites = json!([site("ours"), site("theirs")]);
    let collector = TestCollector::with(|config| config.sites = serde_json::from_value(sites).unwrap());
    collector.report_as("ours", &[open(1)]).await;
    let failed = StreamReport { rev: 5, outcome: Outcome::Truncated, ..stream(1, 9_000.0) };
    collector.report_as("theirs", &[failed]).await;
    collector.report_as("ours", &[StreamReport { rev: 1, ..stream(1, 120.0) }]).await;
    let books = collector.until("/v1/accounting", |books| books["streams"]["counted"] == 1).await;
    assert_eq!(books["reports"]["by_result"], json!({ "new": 1, "revised": 1, "other_site": 1 }));
    assert_eq!(books["reports"]["unaccounted"], 0);
    let ours = collector.json("/v1/summary?site=ours").await;
    assert_eq!((&ours["streams"], &ours["outcomes"]["complete"]), (&json!(1), &json!(1)), "{ours}");
    assert_eq!(collector.json("/v1/summary?site=theirs").await["streams"], 0);
}

#[test]
fn no_number_of_made_up_ids_ends_an_open_stream() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("llm-rum.toml");
    let config = "[ingest]\nproxies = ['127.0.0.1']\nclient_header = 'x-forwarded-for'\nnetwork_rate = { per_second = 100000 }\n\
                  [dedupe]\nids = 1000\n[store]\nstreams_kept = 100\nrow_file_streams = 500\n";
    fs::write(&file, config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    let process = Process::spawn(command.arg("--data").arg(folder.path().join("data")));
    let honest: Vec<_> = (1..=HONEST).map(open).collect();
    send_from(&mut process.connect(), "198.51.100.1", &honest);
    let mut made_up = HONEST + 1..;
    let mut flood = |report: fn(u128) -> StreamReport| {
        // While the last flood is counted, the collector may close a connection as idle.
        let mut client = process.connect();
        for _ in 0..30 {
            let reports: Vec<_> = made_up.by_ref().take(100).map(report).collect();
            send_from(&mut client, "192.0.2.1", &reports);
        }
    };
    flood(open);
    // Fewer are open than were sent: some were counted to make room.
    process.until("/v1/accounting", |books| {
        books["streams"]["new"] == 3_050 && books["streams"]["open"].as_u64() < Some(1_500)
    });
    flood(|id| stream(id, 100.0));
    process.until("/v1/accounting", |books| books["streams"]["new"] == 6_050);
    let ends: Vec<_> = (1..=HONEST).map(|id| StreamReport { rev: 1, ..stream(id, 100.0) }).collect();
    send_from(&mut process.connect(), "198.51.100.1", &ends);
    let books =
        process.until("/v1/accounting", |books| books["reports"]["by_result"]["revised"] == HONEST as u64);
    assert_eq!(books["streams"]["new"], 6_050, "no stream counts twice: {books}");
}

const HONEST: u128 = 50;
