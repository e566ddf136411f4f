//! `llm-rum repair`: a collector starts again with all that the journal, the files of streams and the damaged SQLite
//! file hold, and nothing counts twice.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use collector::{Collector, Config};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::harness::{TestCollector, stream};

const STREAMS: u128 = 300;

/// Streams of now, most of them in files, and hours that are sealed.
struct Damaged {
    collector: TestCollector,
}

impl Damaged {
    async fn new() -> Self {
        let collector = TestCollector::with(|config| {
            config.store.streams_kept = 20;
            config.dedupe.ids = 20;
            config.store.row_file_streams = 90;
        });
        let mut all = Self { collector };
        for batch in streams().collect::<Vec<_>>().chunks(50) {
            all.collector.report(batch).await;
        }
        all.collector.until("/v1/summary", |_| all.row_files() >= 3).await;
        all.collector.until("/v1/summary", |summary| summary["streams"] == json!(STREAMS as u64)).await;
        all.collector.close();
        all
    }

    fn data(&self) -> &Path {
        &self.collector.config.data
    }

    fn store(&self) -> PathBuf {
        self.data().join("llm-rum.sqlite")
    }

    fn row_files(&self) -> usize {
        fs::read_dir(self.data().join("streams")).unwrap().count()
    }

    /// Repairs, starts, and checks that everything counts once, also if the pages send it again.
    async fn check(&mut self, about: &str) -> Value {
        let has_store = self.store().exists();
        let repaired = answer(&repair(self.data()));
        assert_eq!(repaired["was_damaged"], true, "{about}: {repaired}");
        let moved = PathBuf::from(repaired["moved_to"].as_str().unwrap());
        assert_eq!(moved.join("llm-rum.sqlite").exists(), has_store, "{about}");
        assert!(moved.join("streams").exists() && moved.join("journal").exists(), "{about}");
        self.collector.config.dedupe = Config::default().dedupe;
        self.collector.config.store = Config::default().store;
        self.collector.restart();
        for batch in streams().collect::<Vec<_>>().chunks(50) {
            self.collector.report(batch).await;
        }
        let summary = self.collector.until("/v1/summary?range=24h", is_settled).await;
        assert_eq!(summary["streams"], json!(STREAMS as u64), "{about}: {repaired}");
        let export = self.collector.get("/v1/streams.ndjson?range=24h").await.body;
        let ids: Vec<_> = export.lines().map(id_of).collect();
        let expected: BTreeSet<_> = (0..STREAMS).map(|id| format!("{id:032x}")).collect();
        assert_eq!(ids.len(), STREAMS as usize, "{about}");
        assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), expected, "{about}");
        self.collector.close();
        repaired
    }
}

fn streams() -> impl Iterator<Item = beacon::StreamReport> {
    (0..STREAMS).map(|id| stream(id, 400.0))
}

/// Everything that came is counted.
fn is_settled(summary: &Value) -> bool {
    summary["streams"].as_u64().unwrap() >= STREAMS as u64
}

fn id_of(line: &str) -> String {
    serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned()
}

fn repair(data: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_llm-rum")).arg("repair").arg("--data").arg(data).output().unwrap()
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[tokio::test]
async fn a_file_of_zeros_is_rebuilt_from_journal_and_files() {
    let mut damaged = Damaged::new().await;
    let bytes = fs::metadata(damaged.store()).unwrap().len();
    fs::write(damaged.store(), vec![0; bytes as usize]).unwrap();
    let refused = Collector::open(damaged.collector.config.clone()).err().unwrap().to_string();
    assert!(refused.contains("llm-rum.sqlite is damaged: `llm-rum repair` rebuilds it"), "{refused}");
    let repaired = damaged.check("zeros").await;
    let counted = repaired["from_journal"].as_u64().unwrap() + repaired["from_files"].as_u64().unwrap();
    assert_eq!(counted, STREAMS as u64, "{repaired}");
    assert_ne!(repaired["from_store"]["unreadable"], json!([]), "{repaired}");
}

#[tokio::test]
async fn a_missing_or_empty_file_is_rebuilt_from_journal_and_files() {
    for is_missing in [true, false] {
        let mut damaged = Damaged::new().await;
        let files = damaged.row_files();
        match is_missing {
            true => fs::remove_file(damaged.store()).unwrap(),
            false => fs::write(damaged.store(), "").unwrap(),
        }
        let refused = Collector::open(damaged.collector.config.clone()).err().unwrap().to_string();
        assert!(
            refused.contains("llm-rum.sqlite is missing or empty, but the folder has files"),
            "{refused}"
        );
        assert_eq!(damaged.row_files(), files, "a refused start deletes nothing");
        damaged.check("missing or empty").await;
    }
}

#[tokio::test]
async fn a_truncated_file_is_rebuilt_from_journal_and_files() {
    let mut damaged = Damaged::new().await;
    let bytes = fs::read(damaged.store()).unwrap();
    fs::write(damaged.store(), &bytes[..bytes.len() / 2]).unwrap();
    damaged.check("truncated").await;
}

/// Each page in turn is lost by the disk, as with a bad sector. A page that nothing needs leaves the store whole.
#[tokio::test]
async fn a_lost_page_costs_no_stream_whichever_it_is() {
    let mut damaged = Damaged::new().await;
    let whole = damaged.data().with_file_name("whole");
    copy(damaged.data(), &whole);
    let pages = fs::metadata(damaged.store()).unwrap().len() / PAGE_BYTES;
    let mut repairs = 0;
    for page in 0..pages {
        fs::remove_dir_all(damaged.data()).unwrap();
        copy(&whole, damaged.data());
        lose_page(&damaged.store(), page);
        let repaired = answer(&repair(damaged.data()));
        repairs += u64::from(repaired["was_damaged"] == true);
        damaged.collector.restart();
        let summary = damaged.collector.until("/v1/summary?range=24h", is_settled).await;
        assert_eq!(summary["streams"], json!(STREAMS as u64), "page {page} of {pages}: {repaired}");
        damaged.collector.close();
    }
    assert!(repairs > pages / 2, "{repairs} of {pages}");
}

#[tokio::test]
async fn minutes_that_nothing_else_has_come_from_the_damaged_file() {
    let mut damaged = Damaged::new().await;
    lose_page(&damaged.store(), first_page_of(&damaged.store(), "remembered"));
    fs::remove_dir_all(damaged.data().join("journal")).unwrap();
    fs::remove_dir_all(damaged.data().join("streams")).unwrap();
    let repaired = answer(&repair(damaged.data()));
    assert_eq!((&repaired["from_journal"], &repaired["from_files"]), (&json!(0), &json!(0)));
    assert_eq!(repaired["from_store"]["unreadable"], json!([]), "{repaired}");
    damaged.collector.restart();
    assert_eq!(damaged.collector.json("/v1/summary").await["streams"], json!(STREAMS as u64), "{repaired}");
}

#[tokio::test]
async fn streams_in_files_are_counted_again_without_the_journal() {
    let mut damaged = Damaged::new().await;
    fs::remove_dir_all(damaged.data().join("journal")).unwrap();
    fs::write(damaged.store(), "no store").unwrap();
    let repaired = answer(&repair(damaged.data()));
    let from_files = repaired["from_files"].as_u64().unwrap();
    assert!((180..STREAMS as u64).contains(&from_files), "{repaired}");
    damaged.collector.restart();
    let summary = damaged.collector.json("/v1/summary").await;
    assert_eq!(summary["streams"], from_files, "{repaired}");
}

#[tokio::test]
async fn a_whole_store_is_not_changed_by_a_repair() {
    let damaged = Damaged::new().await;
    let before = fs::read(damaged.store()).unwrap();
    let output = repair(damaged.data());
    assert_eq!((output.status.code(), &answer(&output)["was_damaged"]), (Some(0), &json!(false)));
    assert_eq!(fs::read(damaged.store()).unwrap(), before);
}

#[tokio::test]
async fn a_store_in_use_is_not_repaired() {
    let collector = TestCollector::new();
    let output = repair(&collector.config.data);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("another collector uses the folder"), "{error}");
}

/// The disk gives zeros in the place of a page.
fn lose_page(store: &Path, page: u64) {
    let file = fs::File::options().write(true).open(store).unwrap();
    file.write_all_at(&[0; PAGE_BYTES as usize], page * PAGE_BYTES).unwrap();
}

/// Counted from 0.
fn first_page_of(store: &Path, table: &str) -> u64 {
    let connection = Connection::open(store).unwrap();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    connection.query_row(root, [table], |row| row.get::<_, i64>(0)).unwrap() as u64 - 1
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => _ = fs::copy(entry.path(), to.join(entry.file_name())).unwrap(),
        }
    }
}

/// As the writer of the store sets it.
const PAGE_BYTES: u64 = 16_384;
