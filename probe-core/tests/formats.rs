//! `docs/formats.md` and `docs/format-tokens.md` agree with the recordings: their tables list a field for a format if,
//! and only if, a recorded stream of that format shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

/// Whether a report shows the subject of a column.
type Shows = fn(&Value) -> bool;

/// The columns, in the order of the table.
const COLUMNS: [(&str, Shows); 10] = [
    ("truncation", |report| report["outcome"] == "truncated"),
    ("in-band error", |report| report["outcome"] == "provider_error"),
    ("finish reason", |report| report["finish_reason"].is_string()),
    ("model", |report| report["response_model"].is_string()),
    ("id", |report| report["response_id"].is_string()),
    ("tokens", |report| report["output_tokens"].is_u64()),
    ("reasoning tokens", |report| report["reasoning_tokens"].is_u64()),
    ("cached tokens", |report| report["cached_tokens"].is_u64()),
    ("lost events", |report| report["defects"]["sequence_gap"].is_u64()),
    // Any stream may have a comment of our own.
    ("server time", |report| report["server"]["source"].as_str().is_some_and(|source| source != "comment")),
];

const ENDS: (&str, &str) = ("formats.md", "How each ends");
const FACTS: (&str, &str) = ("format-tokens.md", "What each can tell");

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The reports of all recorded streams, by dialect.
fn reports() -> BTreeMap<String, Vec<Value>> {
    let mut reports = BTreeMap::<_, Vec<_>>::new();
    for entry in fs::read_dir(project().join("tests/fixtures/streams")).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".expected.json") {
            let report: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            if let Some(dialect) = report["dialect"].as_str() {
                reports.entry(dialect.to_owned()).or_default().push(report);
            }
        }
    }
    reports
}

/// The rows of the table under `heading` of a page as cells, the head first.
fn table((page, heading): (&str, &str)) -> Vec<Vec<String>> {
    let text = fs::read_to_string(project().join("docs").join(page)).unwrap();
    rows(text.split("\n## ").find(|section| section.starts_with(heading)).unwrap())
}

fn rows(text: &str) -> Vec<Vec<String>> {
    let rows = text.lines().filter(|line| line.starts_with('|') && !line.starts_with("| ---"));
    rows.map(|row| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()).collect()
}

fn names(rows: &[Vec<String>]) -> BTreeSet<String> {
    rows[1..].iter().map(|row| row[0].trim_matches('`').to_owned()).collect()
}

#[test]
fn both_tables_name_every_format_that_has_a_recorded_stream() {
    let recorded = reports().into_keys().collect::<BTreeSet<_>>();
    assert_eq!(names(&table(ENDS)), recorded);
    assert_eq!(names(&table(FACTS)), recorded);
}

#[test]
fn a_cell_is_a_dash_exactly_if_no_recorded_stream_shows_it() {
    let (rows, reports) = (table(FACTS), reports());
    assert_eq!(rows[0][1..], COLUMNS.map(|(name, _)| name.to_owned()));
    for row in &rows[1..] {
        let name = row[0].trim_matches('`');
        for (cell, (column, shows)) in row[1..].iter().zip(COLUMNS) {
            let shown = reports[name].iter().any(shows);
            assert_eq!(cell != "–", shown, "{name}, {column}: {cell}");
        }
    }
}

#[test]
fn product_formats_are_as_the_docs_say() {
    let text = fs::read_to_string(project().join("docs/formats-tried.md")).unwrap();
    let rows = &rows(&text)[1..];
    let fixtures = project().join("tests/fixtures");
    for row in rows {
        let [product, stream, dialect, understood] = row.as_slice() else { panic!("{row:?}") };
        let [stream, dialect] = [stream, dialect].map(|cell| cell.trim_matches('`'));
        if stream == "–" {
            assert_eq!(understood, "in the page alone", "{product}");
        } else if let Some(socket) = stream.strip_prefix("sockets/") {
            // `sockets.rs` says what is read of it.
            assert!(fixtures.join("sockets").join(socket).with_extension("jsonl").exists(), "{product}");
        } else {
            let report = fixtures.join("streams").join(stream).with_extension("expected.json");
            let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
            assert_eq!(report["dialect"], dialect, "{product}");
            let has_text = report["deltas"] != 0 || dialect == "plain_text";
            let is_understood = has_text && report["outcome"] == "complete";
            assert_eq!(understood == "yes", is_understood, "{product}");
        }
    }
    let understood = rows.iter().filter(|row| row[3] == "yes").count();
    let share = format!(
        "understands {understood} of {} formats of products, {} %",
        rows.len(),
        understood * 100 / rows.len()
    );
    assert!(text.contains(&share), "{share}");
}
