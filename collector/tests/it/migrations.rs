//! A folder that an earlier version wrote is taken over: its windows, counts and single streams, and what
//! its journal held that was not counted yet.
//!
//! `tests/fixtures/store-VERSION` is `llm-rum backup` of such a folder, taken after kill -9: thirteen streams,
//! one of them open, one cut, one with the server's time; the first has a second revision, which with the
//! last stream stands in the journal alone.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{TestCollector, stream};

fn taken_over(version: &str) -> (TestCollector, TempDir) {
    let folder = TempDir::new().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(version);
    copy(&fixture, &folder.path().join("data"));
    let collector = TestCollector::with(|config| {
        config.data = folder.path().join("data");
        // The fixture grows older than any usual retention.
        config.store.windows_hours = 1_000_000;
        config.store.history_days = 40_000;
    });
    (collector, folder)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

#[tokio::test]
async fn the_store_of_0_1_0_is_taken_over_with_all_that_it_held() {
    let (mut collector, _folder) = taken_over("store-0.1.0");
    let hour = "from=1795269600000&to=1795273200000";
    for _ in 0..2 {
        let summary = collector.until(&format!("/v1/summary?{hour}"), |s| s["streams"] == 13).await;
        assert_eq!(summary["outcomes"], json!({ "complete": 11, "truncated": 1, "abandoned": 1 }));
        assert_eq!((&summary["defects"], &summary["open"]), (&json!({ "stall": 1 }), &json!(0)));
        assert_eq!(summary["output_tokens"], 143);
        assert_eq!(collector.json(&format!("/v1/compare?{hour}")).await["matched"], 1);
        let coding = collector.json(&format!("/v1/summary?{hour}&use_case=coding")).await;
        assert_eq!(coding["streams"], 1);
        let books = collector.json("/v1/accounting").await;
        assert_eq!(books["reports"]["by_result"], json!({ "new": 13, "revised": 1 }));
        assert_eq!(books["probe_dropped"], json!({ "send_failed": 3 }));
        collector.restart();
    }
    let store = rusqlite::Connection::open(collector.config.data.join("llm-rum.sqlite")).unwrap();
    let shrinks: i64 = store.pragma_query_value(None, "auto_vacuum", |row| row.get(0)).unwrap();
    assert_eq!(shrinks, 2, "it gives space back as a new one does");
    let first = collector.json(&format!("/v1/streams/{:032x}", 1)).await;
    assert_eq!((&first["rev"], &first["ttft_ms"]), (&json!(1), &json!(150.0)));
    let listed = collector.json("/v1/streams").await;
    assert_eq!(listed["streams"].as_array().map(Vec::len), Some(13));
}

#[tokio::test]
async fn what_came_before_and_what_comes_after_count_together() {
    let (collector, _folder) = taken_over("store-0.1.0");
    collector.report(&[stream(100, 9_000.0)]).await;
    let books = |books: &Value| books["streams"] == json!({ "new": 14, "counted": 14, "open": 0 });
    collector.until("/v1/accounting", books).await;
    let slowest = collector.json("/v1/streams?sample=slowest").await;
    assert_eq!(slowest["streams"][0]["id"], format!("{:032x}", 100));
}
