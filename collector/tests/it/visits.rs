//! Visits are counted by a hash that leads to no tab, and that leaves the collector in no answer.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use beacon::{Outcome, StreamReport};
use collector::{Config, backup};
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use ring::hmac::{HMAC_SHA256, Key, sign};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{TestCollector, stream};

const NUMBER: u64 = 0x8f3c_0a91_d2e4_7b65;

/// Two sites. Memory lists the newest 20 streams and those that do not fill a file of 90.
fn two_sites(config: &mut Config) {
    let mut other = config.sites[0].clone();
    (other.name, other.keys) = ("other".to_owned(), vec!["other".to_owned()]);
    config.sites.push(other);
    config.store.streams_kept = 20;
    config.dedupe.ids = 20;
    config.store.row_file_streams = 90;
}

fn of_tab(id: u128, number: u64) -> StreamReport {
    StreamReport { visit: Some(format!("{number:x}").into()), ..stream(id, 400.0) }
}

/// All bytes of the files below a folder.
fn all_bytes(folder: &Path) -> Vec<u8> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { all_bytes(&path) } else { fs::read(path).unwrap() }).collect()
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The hash of the number, by the key in the data folder.
fn hash_of(data: &Path, site: &str) -> [u8; 8] {
    let file = fs::read(data.join("visits.key")).unwrap();
    let tag = sign(&Key::new(HMAC_SHA256, &file[8..]), &[&NUMBER.to_be_bytes(), site.as_bytes()].concat());
    *tag.as_ref().first_chunk().unwrap()
}

#[tokio::test]
async fn the_number_of_a_tab_is_stored_nowhere() {
    let mut collector = TestCollector::with(two_sites);
    for first in (0..300).step_by(50) {
        let reports: Vec<_> = (first..first + 50).map(|id| of_tab(id, NUMBER)).collect();
        collector.report(&reports).await;
    }
    collector.until("/v1/visits", |visits| visits["streams"] == 300 && visits["visits"] == 1).await;
    let data = collector.config.data.clone();
    let is_in_file = |_: &Value| fs::read_dir(data.join("streams")).unwrap().count() > 2;
    collector.until("/v1/summary", is_in_file).await;
    collector.close();
    let (stored, text) = (all_bytes(&data), format!("{NUMBER:x}"));
    assert!(has(&stored, &hash_of(&data, "demo")), "the journal has the hash");
    for form in [text.as_bytes(), &NUMBER.to_be_bytes(), &NUMBER.to_le_bytes()] {
        assert!(!has(&stored, form), "{form:x?}");
    }
    let columns = |path: &Path| {
        let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        schema.columns().iter().map(|column| column.name().to_owned()).collect::<Vec<_>>()
    };
    let row_files = fs::read_dir(data.join("streams")).unwrap().map(|entry| entry.unwrap().path());
    for path in row_files.filter(|path| path.extension().is_some_and(|name| name == "parquet")) {
        assert!(columns(&path).contains(&"visit".to_owned()));
    }
}

#[tokio::test]
async fn no_answer_but_the_count_tells_of_visits() {
    let collector = TestCollector::with(two_sites);
    for first in (0..200).step_by(50) {
        let reports: Vec<_> = (first..first + 50).map(|id| of_tab(id, NUMBER)).collect();
        collector.report(&reports).await;
    }
    collector.until("/v1/visits", |visits| visits["streams"] == 200).await;
    let id = format!("/v1/streams/{:032x}", 199);
    for path in [
        "/v1/streams",
        "/v1/streams?sample=uniform",
        "/v1/streams?sample=slowest",
        "/v1/streams.ndjson",
        "/v1/summary",
        "/v1/breakdown?by=release",
        "/metrics",
        id.as_str(),
    ] {
        let answer = collector.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.body.contains("visit"), "{path}: {}", answer.body);
    }
    let parquet = collector.get("/v1/streams.parquet").await.body;
    assert!(parquet.contains("response_id") && !parquet.contains("visit"));
}

#[tokio::test]
async fn a_visit_is_a_number_of_at_most_16_digits() {
    let collector = TestCollector::new();
    let with = |visit: Value| {
        let mut report = serde_json::to_value(stream(1, 400.0)).unwrap();
        report["visit"] = visit;
        json!({ "reports": [report] }).to_string()
    };
    for visit in ["12345678901234567", "g", "+1", "0x1", " 1"] {
        let message = collector.post(with(json!(visit))).await.refused(400, "bad_field");
        assert_eq!(message, "reports[0].visit must be at most 16 hexadecimal digits");
    }
    collector.post(with(json!(1))).await.refused(400, "bad_field");
    for visit in ["", "0", "00ff", "00FF", "ffffffffffffffff"] {
        assert_eq!(collector.post(with(json!(visit))).await.status, 204, "{visit}");
    }
}

#[tokio::test]
async fn without_numbers_there_is_no_visit_and_no_key() {
    let collector = TestCollector::new();
    collector.report(&[stream(1, 400.0)]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 1).await;
    let visits = collector.json("/v1/visits").await;
    assert_eq!(
        (&visits["streams"], &visits["visits"], &visits["share"]),
        (&json!(0), &json!(0), &Value::Null)
    );
    assert!(!collector.config.data.join("visits.key").exists());
}

#[tokio::test]
async fn a_site_has_hashes_of_its_own() {
    let collector = TestCollector::with(two_sites);
    collector.report_as("demo", &[of_tab(1, NUMBER)]).await;
    collector.report_as("other", &[of_tab(2, NUMBER)]).await;
    let both = collector.until("/v1/visits", |visits| visits["streams"] == 2).await;
    assert_eq!(both["visits"], 2);
    assert_ne!(hash_of(&collector.config.data, "demo"), hash_of(&collector.config.data, "other"));
}

#[tokio::test]
async fn a_backup_has_hashes_and_no_key() {
    let collector = TestCollector::new();
    collector.report(&[of_tab(1, NUMBER)]).await;
    collector.until("/v1/visits", |visits| visits["visits"] == 1).await;
    let folder = TempDir::new().unwrap();
    let target = folder.path().join("backup");
    backup(&collector.config.data, &target).unwrap();
    let key = fs::read(collector.config.data.join("visits.key")).unwrap();
    assert!(has(&all_bytes(&target), &hash_of(&collector.config.data, "demo")));
    assert!(!has(&all_bytes(&target), &key[8..]));
}

/// A stream that a page sends once, or again with another result, or twice.
#[derive(Debug, Clone)]
struct Sent {
    is_other_site: bool,
    is_coding: bool,
    tab: Option<u64>,
    is_bad: bool,
    /// A later revision.
    becomes_bad: Option<bool>,
    is_sent_twice: bool,
    restarts: bool,
}

impl Sent {
    fn report(&self, id: u128, rev: u32, is_bad: bool) -> StreamReport {
        StreamReport {
            rev,
            use_case: Some(if self.is_coding { "coding" } else { "chat" }.into()),
            visit: self.tab.map(|tab| format!("{tab:x}").into()),
            outcome: if is_bad { Outcome::Truncated } else { Outcome::Complete },
            ..stream(id, 400.0)
        }
    }

    fn site(&self) -> &'static str {
        if self.is_other_site { "other" } else { "demo" }
    }
}

prop_compose! {
    fn sent()(
        (is_other_site, is_coding, is_bad, is_sent_twice) in any::<(bool, bool, bool, bool)>(),
        tab in option::weighted(0.8, 0..40_u64),
        becomes_bad in option::weighted(0.2, any::<bool>()),
        restarts in prop::bool::weighted(0.01),
    ) -> Sent {
        Sent { is_other_site, is_coding, tab, is_bad, becomes_bad, is_sent_twice, restarts }
    }
}

/// Whether a filter selects the stream.
type IsAsked = fn(&Sent) -> bool;

/// Streams with a tab, visits, and those with a bad stream.
fn counted<'a>(sent: impl Iterator<Item = &'a Sent>) -> [u64; 3] {
    let (mut streams, mut visits) = (0, BTreeMap::new());
    for stream in sent {
        let Some(tab) = stream.tab else { continue };
        streams += 1;
        *visits.entry((stream.site(), tab)).or_insert(false) |= stream.becomes_bad.unwrap_or(stream.is_bad);
    }
    [streams, visits.len() as u64, visits.values().filter(|has_bad| **has_bad).count() as u64]
}

async fn check(all: &[Sent]) {
    let mut collector = TestCollector::with(two_sites);
    for (id, sent) in (0..).zip(all) {
        let first = sent.report(id, 0, sent.is_bad);
        collector.report_as(sent.site(), std::slice::from_ref(&first)).await;
        if sent.restarts {
            collector.restart();
        }
        if let Some(is_bad) = sent.becomes_bad {
            collector.report_as(sent.site(), &[sent.report(id, 1, is_bad)]).await;
        }
        if sent.is_sent_twice {
            collector.report_as(sent.site(), &[first]).await;
        }
    }
    let answers =
        |visits: &Value| ["streams", "visits", "with_bad_stream"].map(|name| visits[name].as_u64().unwrap());
    let asked: [(&str, IsAsked); 4] = [
        ("/v1/visits", |_| true),
        ("/v1/visits?site=other", |sent| sent.is_other_site),
        ("/v1/visits?use_case=coding", |sent| sent.is_coding),
        ("/v1/visits?outcome=truncated", |sent| sent.becomes_bad.unwrap_or(sent.is_bad)),
    ];
    for _ in 0..2 {
        collector.until("/v1/summary", |summary| summary["streams"] == all.len()).await;
        for (path, is_asked) in asked {
            let expected = counted(all.iter().filter(|sent| is_asked(sent)));
            let answer = collector.json(path).await;
            assert_eq!((answers(&answer), &answer["kept_since_ms"]), (expected, &Value::Null), "{path}");
            if let (Some(share), [_, visits, bad]) = (answer["share"].as_f64(), expected) {
                assert!((share - bad as f64 / visits as f64).abs() < 1e-12, "{path}");
                assert!(
                    answer["lower"].as_f64().unwrap() <= share && share <= answer["upper"].as_f64().unwrap()
                );
            }
        }
        collector.restart();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn visits_are_those_of_an_independent_count(all in vec(sent(), 1..250)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check(&all));
    }
}
