//! Streams that memory no longer lists are in files.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use beacon::{Outcome, StreamReport};
use collector::backup;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{TestCollector, stream};
use crate::import::{import, line, now_ms};
use crate::phases::told_after as told;

/// A question to files: it says since when they are whole. A count of files does not, as a start may remove the newest
/// and write it once more.
const OF_STREAMS: &str = "/v1/timeseries?metric=ttfv&range=1h&step=60&browser=!firefox";

/// Memory lists the newest 20 streams and those that do not fill a file of 90.
fn collector() -> TestCollector {
    TestCollector::with(|config| {
        config.store.streams_kept = 20;
        config.dedupe.ids = 20;
        config.store.row_file_streams = 90;
    })
}

async fn send(collector: &TestCollector, ids: std::ops::Range<u128>) {
    for batch in ids.map(|id| stream(id, 400.0)).collect::<Vec<_>>().chunks(50) {
        collector.report(batch).await;
    }
}

fn files(collector: &TestCollector) -> Vec<PathBuf> {
    let entries = fs::read_dir(collector.config.data.join("streams")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|name| name == "parquet")).collect();
    files.sort();
    files
}

async fn until_files(collector: &TestCollector, count: usize) {
    // Files are written as long as the collector is asked: each question waits for the next answer only.
    collector.until("/v1/summary", |_| files(collector).len() >= count).await;
}

/// Ids of all kept streams, in the order of the export.
async fn exported(collector: &TestCollector) -> (Vec<u128>, Option<i64>) {
    let answer = collector.get("/v1/streams.ndjson").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let ids = answer.body.lines().map(|line| {
        let stream: Value = serde_json::from_str(line).unwrap();
        u128::from_str_radix(stream["id"].as_str().unwrap(), 16).unwrap()
    });
    let since =
        answer.headers.get("llm-rum-kept-since-ms").map(|since| since.to_str().unwrap().parse().unwrap());
    (ids.collect(), since)
}

#[tokio::test]
async fn streams_in_files_and_in_memory_are_all_found_once() {
    let mut collector = collector();
    send(&collector, 1..301).await;
    until_files(&collector, 3).await;
    for _ in 0..2 {
        assert_eq!(exported(&collector).await, ((1..301).collect(), None));
        let explained = collector.json("/v1/explain").await;
        assert_eq!((&explained["streams"], &explained["kept_since_ms"]), (&300.into(), &Value::Null));
        let by_model = collector.json("/v1/breakdown?by=dialect").await;
        let summed: u64 =
            by_model["groups"].as_array().unwrap().iter().filter_map(|group| group["streams"].as_u64()).sum();
        assert_eq!(summed, 300, "{by_model}");
        let other = collector.get("/v1/streams.ndjson?use_case=coding").await;
        assert_eq!(other.body, "", "filters hold for files too");
        collector.restart();
    }
}

#[tokio::test]
async fn parts_around_p95_are_the_same_from_files_and_memory() {
    let reports: Vec<_> = (1..301).map(|id| told(id, 400.0 + 7.3 * id as f64)).collect();
    let mut answers = Vec::new();
    for (mut collector, has_files) in [(TestCollector::new(), false), (collector(), true)] {
        for batch in reports.chunks(50) {
            collector.report(batch).await;
        }
        collector.until("/v1/summary", |summary| summary["streams"] == reports.len()).await;
        if has_files {
            until_files(&collector, 3).await;
        }
        answers.push(collector.json("/v1/phases").await["around_p95"].take());
        // After a start, only the reports in memory tell the waits. The second question knows them.
        collector.restart();
        for site in ["demo", "!other"] {
            let answer = &mut collector.json(&format!("/v1/phases?site={site}")).await;
            answers.push(answer["around_p95"].take());
        }
    }
    assert_eq!(answers[0]["parts"].as_array().map(Vec::len), Some(4), "{}", answers[0]);
    answers.iter().for_each(|answer| assert_eq!(answer, &answers[0]));
}

#[tokio::test]
async fn a_file_has_what_the_list_said_before() {
    let collector = collector();
    send(&collector, 1..21).await;
    let listed = collector.until("/v1/streams", |page| page["streams"].as_array().unwrap().len() == 20).await;
    send(&collector, 21..121).await;
    until_files(&collector, 1).await;
    let exported = collector.get("/v1/streams.ndjson").await.body;
    let exported = exported.lines().take(20).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut listed = listed["streams"].as_array().unwrap().clone();
    listed.reverse();
    for stream in &mut listed {
        stream.as_object_mut().unwrap().remove("phases").expect("an export leaves them out");
    }
    assert_eq!(exported.collect::<Vec<_>>(), listed);
}

#[tokio::test]
async fn a_damaged_file_ends_what_is_known() {
    let collector = collector();
    send(&collector, 1..301).await;
    until_files(&collector, 3).await;
    let (all, _) = exported(&collector).await;
    let files = files(&collector);
    let bytes = fs::read(&files[1]).unwrap();
    fs::write(&files[1], &bytes[..bytes.len() / 2]).unwrap();
    let (ids, since) = exported(&collector).await;
    assert!(ids.len() < 150 && all.ends_with(&ids), "{ids:?}");
    assert!(since.is_some(), "the streams before it are not all known");
    fs::remove_file(&files[1]).unwrap();
    assert_eq!(exported(&collector).await, (ids, since), "as if retention had deleted it");
}

#[tokio::test]
async fn files_beyond_their_bytes_are_deleted_oldest_first() {
    let mut collector = collector();
    send(&collector, 1..301).await;
    until_files(&collector, 3).await;
    let before = files(&collector);
    let newest_bytes = before[2].metadata().unwrap().len();
    collector.config.store.row_files_bytes = newest_bytes;
    collector.restart();
    // The newest file is written once more if the collector was stopped before it had noted it.
    collector.until("/v1/summary", |_| files(&collector) == before[2..]).await;
    let (ids, since) = exported(&collector).await;
    assert!(ids.contains(&300) && !ids.contains(&1) && since.is_some(), "{ids:?}");
}

#[tokio::test]
async fn without_days_no_file_is_kept() {
    let mut collector = collector();
    send(&collector, 1..301).await;
    until_files(&collector, 3).await;
    collector.config.store.row_files_days = 0;
    collector.restart();
    collector.until("/v1/summary", |_| files(&collector).is_empty()).await;
    let (ids, since) = exported(&collector).await;
    assert!(ids.len() < 120 && since.is_some(), "{ids:?}");
}

#[tokio::test]
async fn files_that_a_crash_left_behind_are_deleted() {
    let mut collector = collector();
    send(&collector, 1..121).await;
    until_files(&collector, 1).await;
    let listed = files(&collector);
    let folder = collector.config.data.join("streams");
    fs::copy(&listed[0], folder.join("00000000ffffffff.parquet")).unwrap();
    fs::write(folder.join("unfinished"), "PAR1").unwrap();
    assert_eq!(files(&collector).len(), listed.len() + 1);
    collector.restart();
    assert_eq!(files(&collector), listed);
    send(&collector, 121..221).await;
    until_files(&collector, 2).await;
    assert_eq!(exported(&collector).await, ((1..221).collect(), None));
}

#[tokio::test]
async fn a_deleted_file_with_newer_streams_ends_what_is_known() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    // Older streams are imported after newer ones, so they are in later files.
    let (newer_ms, older_ms) = (now_ms() - 10 * 60_000, now_ms() - 50 * 60_000);
    let received_ms = |id| if id <= 200 { newer_ms } else { older_ms };
    let lines = (1..401).map(|id| line(&stream(id, 400.0), received_ms(id), "CH"));
    assert!(import(&data, &lines.collect::<Vec<_>>()).status.success());
    let with_bytes = |bytes| {
        TestCollector::with(|config| {
            config.data.clone_from(&data);
            config.store.streams_kept = 20;
            config.dedupe.ids = 20;
            config.store.row_file_streams = 90;
            config.store.row_files_bytes = bytes;
        })
    };
    let collector = with_bytes(u64::MAX);
    until_files(&collector, 4).await;
    let (ids, since) = exported(&collector).await;
    assert_eq!((ids.len(), since), (400, None));
    let bytes: u64 = files(&collector).iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    drop(collector);

    let collector = with_bytes(bytes - 1);
    collector.until(OF_STREAMS, |answer| answer["kept_since_ms"] == newer_ms + 1).await;
    let (ids, since) = exported(&collector).await;
    assert!(!ids.contains(&1) && ids.contains(&400), "the first file is gone: {ids:?}");
    assert_eq!(since, Some(newer_ms + 1));
}

#[tokio::test]
async fn a_step_whose_streams_are_not_all_kept_has_no_figures() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let (older_ms, newer_ms) = (now_ms() - 50 * 60_000, now_ms() - 10 * 60_000);
    let received_ms = |id| if id <= 200 { older_ms } else { newer_ms };
    let lines = (1..401).map(|id| line(&stream(id, 400.0), received_ms(id), "CH"));
    assert!(import(&data, &lines.collect::<Vec<_>>()).status.success());
    let with_bytes = |bytes| {
        TestCollector::with(|config| {
            config.data.clone_from(&data);
            config.store.streams_kept = 20;
            config.dedupe.ids = 20;
            config.store.row_file_streams = 90;
            config.store.row_files_bytes = bytes;
        })
    };
    let collector = with_bytes(u64::MAX);
    until_files(&collector, 4).await;
    let bytes: u64 = files(&collector).iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    drop(collector);

    let collector = with_bytes(bytes - 1);
    collector.until(OF_STREAMS, |answer| answer["kept_since_ms"] == older_ms + 1).await;
    for route in ["timeseries?metric=ttfv", "compare?", "integrity?", "heatmap?metric=e2e"] {
        let count = if route.starts_with("integrity") { "streams" } else { "n" };
        let question = format!("/v1/{route}&range=1h&step=60");
        let of_windows = collector.json(&question).await;
        let of_streams = collector.json(&format!("{question}&browser=!firefox")).await;
        assert_eq!(of_streams["kept_since_ms"], older_ms + 1, "{route}");
        let (mut absent, mut zero) = (0, 0);
        let points = of_streams["points"].as_array().unwrap().iter();
        for (point, of_window) in points.zip(of_windows["points"].as_array().unwrap()) {
            if point["timestamp_ms"].as_i64().unwrap() <= older_ms {
                assert_eq!(point.as_object().unwrap().len(), 1, "{route}: {point}");
                absent += 1;
            } else {
                assert_eq!(point[count], of_window[count], "{route}");
                zero += u64::from(point[count] == 0);
            }
            assert!(of_window[count].is_u64(), "windows have all minutes: {of_window}");
        }
        assert!(absent > 0 && zero > 0, "{route}: {absent} absent, {zero} zero");
    }
    let table = collector.get("/v1/integrity?range=1h&step=60&browser=!firefox&format=csv").await.body;
    let mut rows = table.lines();
    let columns = rows.next().unwrap().split(',').count();
    let first: Vec<_> = rows.next().unwrap().split(',').collect();
    assert_eq!((first.len(), first[1..].iter().all(|cell| cell.is_empty())), (columns, true), "{first:?}");
}

#[tokio::test]
async fn a_backup_has_the_files() {
    let collector = collector();
    send(&collector, 1..301).await;
    until_files(&collector, 3).await;
    let folder = TempDir::new().unwrap();
    let target = folder.path().join("backup");
    backup(&collector.config.data, &target).unwrap();
    let copy = TestCollector::with(|config| {
        *config = collector.config.clone();
        config.data.clone_from(&target);
    });
    assert_eq!(exported(&copy).await, ((1..301).collect(), None));
}

#[tokio::test]
async fn a_stream_counts_with_its_latest_revision_wherever_it_is() {
    let collector = collector();
    for first in (0..300).step_by(10) {
        send(&collector, first..first + 10).await;
        // Of each ten, one is revised at once, and one is revised when the next ten come.
        let revised = |id| StreamReport { rev: 1, outcome: Outcome::Truncated, ..stream(id, 400.0) };
        let late = first.checked_sub(5).map(revised);
        let reports: Vec<_> = [revised(first)].into_iter().chain(late).collect();
        collector.report(&reports).await;
    }
    let summary = collector.until("/v1/summary", |summary| summary["streams"] == 300).await;
    assert_eq!(summary["outcomes"]["truncated"], 59);
    until_files(&collector, 3).await;
    let (ids, _) = exported(&collector).await;
    assert_eq!((ids.len(), BTreeSet::from_iter(ids).len()), (300, 300));
    let truncated = collector.get("/v1/streams.ndjson?outcome=truncated").await;
    assert_eq!(truncated.body.lines().count(), 59);
}

#[tokio::test]
async fn streams_stay_in_memory_while_no_file_can_be_written() {
    let mut collector = collector();
    let unfinished = collector.config.data.join("streams/unfinished");
    fs::create_dir(&unfinished).unwrap();
    send(&collector, 1..301).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 300).await;
    // The next flush stores them after the first attempt.
    send(&collector, 301..302).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 301).await;
    assert_eq!(files(&collector), Vec::<PathBuf>::new());
    assert_eq!(exported(&collector).await, ((1..302).collect(), None));
    fs::remove_dir(&unfinished).unwrap();
    collector.restart();
    until_files(&collector, 3).await;
    assert_eq!(exported(&collector).await, ((1..302).collect(), None));
}
