//! What the store takes on disk: what is dropped goes back to the file system while beacons are answered.

use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use crate::harness::{TestCollector, stream};

/// Samples of days that are long over, 30 MB of them.
fn fill(store: &Connection) {
    let transaction = store.unchecked_transaction().unwrap();
    let insert = "INSERT INTO samples (day, stream, series, kinds, outcome, received_ms, report)
        VALUES (?1, ?2, 0, 1, 'complete', 0, ?3)";
    let report = "x".repeat(2_500);
    for number in 0..12_000_u128 {
        transaction.execute(insert, params![number as i64 / 60, number.to_be_bytes(), report]).unwrap();
    }
    transaction.commit().unwrap();
    store.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

#[tokio::test]
async fn freed_space_is_returned_while_beacons_are_answered() {
    let mut collector = TestCollector::new();
    collector.report(&[stream(0, 100.0)]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 1).await;
    collector.close();
    let file = collector.config.data.join("llm-rum.sqlite");
    fill(&Connection::open(&file).unwrap());
    let length = || file.metadata().unwrap().len();
    let full = length();
    assert!(full > 30_000_000, "{full}");

    collector.restart();
    let (mut sent, mut longest, begun) = (0, Duration::ZERO, Instant::now());
    while length() > full / 8 {
        sent += 1;
        let asked = Instant::now();
        collector.report(&[stream(sent, 100.0)]).await;
        longest = longest.max(asked.elapsed());
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{} of {full} bytes after {sent} beacons",
            length()
        );
        // As a page would: not as fast as the machine can.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(longest < Duration::from_secs(2), "a beacon was answered after {longest:?}");
    collector.until("/v1/summary", |summary| summary["streams"] == u64::try_from(sent + 1).unwrap()).await;
    let store = Connection::open(&file).unwrap();
    let sound: String = store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}
