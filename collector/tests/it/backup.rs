//! A backup is a collector as it was: taken while it works, started elsewhere.

use std::fs;

use collector::{BackupError, Config, backup};
use tempfile::TempDir;

use crate::harness::{TestCollector, stream};

/// Takes a backup into a folder of its own, where a collector then starts.
fn restored(collector: &TestCollector, folder: &TempDir) -> TestCollector {
    let target = folder.path().join("backup");
    backup(&collector.config.data, &target).unwrap();
    TestCollector::with(|config| *config = Config { data: target.clone(), ..config.clone() })
}

#[tokio::test]
async fn a_backup_has_all_acknowledged_reports_exactly_once() {
    let (collector, folder) = (TestCollector::new(), TempDir::new().unwrap());
    for batch in 0..20 {
        let reports: Vec<_> = (0..50).map(|n| stream(batch * 50 + n, 500.0)).collect();
        collector.report(&reports).await;
    }
    // Not waited for: what is not counted yet is in the journal.
    let copy = restored(&collector, &folder);
    copy.until("/v1/summary", |summary| summary["streams"] == 1_000).await;
    let again: Vec<_> = (0..50).map(|n| stream(n, 500.0)).collect();
    copy.report(&again).await;
    copy.report(&[stream(5_000, 500.0)]).await;
    let summary = copy.until("/v1/summary", |summary| summary["streams"] != 1_000).await;
    assert_eq!(summary["streams"], 1_001, "the same streams again are known");
    let listed = copy.json("/v1/streams?limit=500").await;
    assert_eq!(listed["streams"].as_array().unwrap().len(), 500, "single streams are there too");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_has_all_reports_acknowledged_before_it() {
    let (collector, folder) = (TestCollector::new(), TempDir::new().unwrap());
    let mut answered = 0;
    let send = async |from: u128, to: u128| {
        for n in from..to {
            collector.report(&[stream(n, 500.0)]).await;
        }
    };
    send(0, 200).await;
    answered += 200;
    let (data, target) = (collector.config.data.clone(), folder.path().join("backup"));
    let taken = tokio::task::spawn_blocking(move || backup(&data, &target));
    send(200, 400).await;
    taken.await.unwrap().unwrap();
    let target = folder.path().join("backup");
    let copy = TestCollector::with(|config| config.data.clone_from(&target));
    let holds =
        |summary: &serde_json::Value| (answered..=400).contains(&summary["streams"].as_u64().unwrap());
    copy.until("/v1/summary", holds).await;
}

#[tokio::test]
async fn earlier_probe_versions_are_served_after_a_restore() {
    let (mut collector, folder) = (TestCollector::new(), TempDir::new().unwrap());
    let kept = collector.config.data.join("probe/00000000000000aa");
    fs::create_dir_all(&kept).unwrap();
    let came = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for name in ["llm-rum.js", "llm-rum.wasm", "llm-rum-all.wasm", "llm-rum-more.js"] {
        fs::write(kept.join(name), format!("{name} of an earlier binary")).unwrap();
        fs::File::options().write(true).open(kept.join(name)).unwrap().set_modified(came).unwrap();
    }
    collector.restart();
    let copy = restored(&collector, &folder);
    let served = copy.get("/probe/00000000000000aa/llm-rum.js").await;
    assert_eq!((served.status.as_u16(), served.body.as_str()), (200, "llm-rum.js of an earlier binary"));
    let script = folder.path().join("backup/probe/00000000000000aa/llm-rum.js");
    assert_eq!(script.metadata().unwrap().modified().unwrap(), came, "the oldest goes first");
}

#[test]
fn a_backup_refuses_an_existing_target_and_a_missing_store() {
    let (collector, folder) = (TestCollector::new(), TempDir::new().unwrap());
    let there = folder.path().join("there");
    fs::create_dir(&there).unwrap();
    assert!(matches!(backup(&collector.config.data, &there), Err(BackupError::Exists(_))));
    let target = folder.path().join("backup");
    assert!(matches!(backup(folder.path(), &target), Err(BackupError::NoStore(_))));
    assert!(!target.exists());
}

#[test]
fn the_copy_of_a_file_that_keeps_its_size_gives_space_back() {
    let folder = TempDir::new().unwrap();
    let (data, target) = (folder.path().join("data"), folder.path().join("backup"));
    fs::create_dir_all(data.join("journal")).unwrap();
    let store = rusqlite::Connection::open(data.join("llm-rum.sqlite")).unwrap();
    store.execute_batch("CREATE TABLE journal (applied INTEGER); INSERT INTO journal VALUES (0)").unwrap();
    let mode = |file: &rusqlite::Connection| {
        file.pragma_query_value(None, "auto_vacuum", |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(mode(&store), 0, "as earlier versions made it");
    backup(&data, &target).unwrap();
    assert_eq!(mode(&rusqlite::Connection::open(target.join("llm-rum.sqlite")).unwrap()), 2);
}
