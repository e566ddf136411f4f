//! Tests of the outbox and of writers that wait for each other.

use std::sync::mpsc;

use tempfile::TempDir;

use super::*;
use crate::aggregate::aggregator::Aggregator;
use crate::aggregate::sampling::SampleChanges;
use crate::config::Config;
use crate::journal::batch::JournaledReport;
use crate::report::source::ReportSource;
use crate::time::MINUTE_MS;

fn kept(id: u128) -> JournaledReport {
    let report = StreamReport { open: false, ..StreamReport::new(format!("{id:032x}")) };
    JournaledReport {
        id,
        source: ReportSource::Unnamed,
        country: None,
        visit: None,
        report,
        at: RecordLocation { position: 0, len: 1 },
    }
}

fn clickhouse() -> config::ClickHouse {
    config::ClickHouse {
        url: "http://127.0.0.1:8123".into(),
        database: "llm_rum".into(),
        user: "default".into(),
        password: None,
        publish_seconds: 1,
        timeout_seconds: 1,
    }
}

#[test]
fn rows_counted_without_clickhouse_are_queued_when_it_returns() {
    let folder = TempDir::new().unwrap();
    let mut id = 0;
    let mut noted_with = |clickhouse: Option<config::ClickHouse>| {
        let limits = config::Store { clickhouse, ..config::Store::default() };
        let mut writer = Writer::open(folder.path(), Sync::Normal, limits).unwrap();
        let count = |writer: &Writer, table: &str| -> i64 {
            let query = format!("SELECT count(*) FROM {table}");
            writer.connection.query_row(&query, [], |row| row.get(0)).unwrap()
        };
        let noted = [count(&writer, "outbox"), count(&writer, "outbox_samples")];
        // Simulates that everything was sent.
        writer.connection.execute_batch("DELETE FROM outbox; DELETE FROM outbox_samples").unwrap();
        id += 1;
        let mut aggregator = Aggregator::new(Config::default(), writer.load().unwrap());
        let now_ms = id as i64 * MINUTE_MS;
        aggregator.add(&kept(id), now_ms, &writer).unwrap();
        writer.write(aggregator.changes()).unwrap();
        aggregator.mark_flushed(now_ms);
        noted
    };
    assert_eq!(noted_with(Some(clickhouse())), [0, 0]);
    assert_eq!(noted_with(Some(clickhouse())), [1, 1]);
    assert_eq!(noted_with(None), [0, 0]);
    assert_eq!(noted_with(Some(clickhouse())), [3, 3]);
}

#[test]
fn samples_evicted_without_clickhouse_are_queued_as_gone() {
    let folder = TempDir::new().unwrap();
    let open = |clickhouse| {
        let limits = config::Store { clickhouse, ..config::Store::default() };
        Writer::open(folder.path(), Sync::Normal, limits).unwrap()
    };
    let lose = |writer: &mut Writer, id| {
        let transaction = writer.connection.transaction().unwrap();
        samples::write(&transaction, &SampleChanges { gone: &[(0, id)], kept: Vec::new() }).unwrap();
        transaction.commit().unwrap();
    };
    let mut writer = open(Some(clickhouse()));
    let mut aggregator = Aggregator::new(Config::default(), LoadedState::default());
    (1..=3).for_each(|id| aggregator.add(&kept(id), MINUTE_MS, &writer).unwrap());
    writer.write(aggregator.changes()).unwrap();
    // Simulates that everything was sent, and that one sample was deleted before its outbox row was.
    let sent = "DELETE FROM outbox; DELETE FROM outbox_samples; UPDATE collector SET version = 1";
    writer.connection.execute_batch(sent).unwrap();
    lose(&mut writer, 1);
    drop(writer);
    let mut writer = open(None);
    lose(&mut writer, 2);
    drop(writer);
    let writer = open(Some(clickhouse()));
    let noted = "SELECT stream, samples.stream IS NULL
        FROM outbox_samples LEFT JOIN samples USING (day, stream) ORDER BY stream";
    let mut statement = writer.connection.prepare(noted).unwrap();
    let noted = statement
        .query_map([], |row| Ok((u128::from_be_bytes(row.get(0)?), row.get::<_, bool>(1)?)))
        .unwrap();
    assert_eq!(noted.collect::<Result<Vec<_>, _>>().unwrap(), [(1, true), (2, true), (3, false)]);
}

#[test]
fn a_flush_waits_for_another_writer() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::open(folder.path(), Sync::Normal, config::Store::default()).unwrap();
    let mut aggregator = Aggregator::new(Config::default(), LoadedState::default());
    aggregator.add(&kept(1), MINUTE_MS, &writer).unwrap();
    writer.write(aggregator.changes()).unwrap();
    aggregator.mark_flushed(MINUTE_MS);
    // For a known series, a flush reads before it writes.
    aggregator.add(&kept(2), MINUTE_MS, &writer).unwrap();

    let (waits, waited) = mpsc::channel();
    let (writes, ended) = mpsc::channel::<()>();
    let wait = move |_| {
        let _told = waits.send(());
        let _ended = ended.recv();
        true
    };
    writer.connection.busy_handler(Some(wait)).unwrap();
    let mut other = Connection::open(folder.path().join(STORE_FILE)).unwrap();
    let writing = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    writing.execute("UPDATE journal SET applied = applied", []).unwrap();
    let flush = thread::spawn(move || writer.write(aggregator.changes()));
    waited.recv().expect("it waits instead of failing");
    writing.commit().unwrap();
    drop(writes);
    flush.join().unwrap().unwrap();
}
