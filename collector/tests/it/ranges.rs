//! The table of fields and limits in docs/report-fields.md against ingest: both ends of a range are accepted, and a value
//! beyond them is refused by the field's name.

use std::fs;

use beacon::StreamReport;
use serde_json::{Map, Value, json};

use crate::harness::TestCollector;

const DOCS: &str = include_str!("../../../docs/report-fields.md");
const FULL: &str = include_str!("../../../beacon/tests/golden/v1-full.json");

/// Fields and what they may be, from the table.
fn table() -> Vec<(Vec<&'static str>, &'static str)> {
    let (_, rest) = DOCS.split_once("# Report fields and limits").unwrap();
    let rows = rest.lines().skip_while(|line| !line.starts_with('|')).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|');
        let fields = cells.next().unwrap().split('`').skip(1).step_by(2).collect();
        (fields, cells.next().unwrap().trim())
    })
    .collect()
}

/// An open report with nothing in it but this.
fn with(id: u128, field: &str, value: &Value) -> Value {
    let mut report = serde_json::to_value(StreamReport::new(format!("{id:032x}"))).unwrap();
    match field.split_once('.') {
        None => report[field] = value.clone(),
        Some((outer, inner)) => {
            report[outer] = match outer {
                "server" => json!({ "source": "comment" }),
                _ => json!({}),
            };
            report[outer][inner] = value.clone();
        }
    }
    json!({ "reports": [report] })
}

struct Ingest {
    collector: TestCollector,
    sent: u128,
    dropped: u64,
    lowered: u64,
}

impl Ingest {
    async fn takes(&mut self, field: &str, value: &Value) {
        self.sent += 1;
        let answer = self.collector.post(with(self.sent, field, value).to_string()).await;
        assert_eq!(answer.status, 204, "{field} = {value}: {}", answer.body);
    }

    /// Takes the report, and counts its field among the ignored ones.
    async fn drops(&mut self, field: &str, value: &Value) {
        self.takes(field, value).await;
        self.dropped += 1;
    }

    /// Takes the report, and counts its field among the numbers out of range.
    async fn lowers(&mut self, field: &str, value: &Value) {
        self.takes(field, value).await;
        self.lowered += 1;
    }

    async fn refuses(&mut self, field: &str, value: &Value) {
        self.sent += 1;
        let answer = self.collector.post(with(self.sent, field, value).to_string()).await;
        let message = answer.refused(400, "bad_field");
        let named = format!("reports[0].{field}");
        // What is no number of the field's type is found before its object is left.
        let outer = named.split('.').take(2).collect::<Vec<_>>().join(".");
        assert!(message.starts_with(&named) || message.starts_with(&outer), "{field} = {value}: {message}");
    }
}

#[tokio::test]
async fn every_field_accepts_exactly_the_range_of_the_table() {
    let mut ingest = Ingest { collector: TestCollector::new(), sent: 0, dropped: 0, lowered: 0 };
    let mut checked = 0;
    for (fields, may_be) in table() {
        // `refusals.rs` checks the fields that are lists, `attributes.rs` the attributes.
        let lists = ["defects", "marks", "attributes"];
        for field in fields.iter().filter(|field| !lists.contains(*field)) {
            if let Some(longest) = may_be.strip_suffix(" bytes, others are dropped") {
                let longest: usize = longest.strip_prefix("up to ").unwrap().parse().unwrap();
                ingest.takes(field, &json!("x".repeat(longest))).await;
                for other in
                    ["x".repeat(longest + 1), "two\nlines".to_owned(), "zero\u{200b}width".to_owned()]
                {
                    ingest.drops(field, &json!(other)).await;
                }
            } else if let Some(longest) = may_be.strip_prefix("up to ") {
                let longest: usize = longest.strip_suffix(" bytes").unwrap().parse().unwrap();
                ingest.takes(field, &json!("x".repeat(longest))).await;
                ingest.refuses(field, &json!("x".repeat(longest + 1))).await;
                ingest.refuses(field, &json!("two\nlines")).await;
            } else if let Some((_, longest)) = may_be.split_once(", at most ") {
                let longest: usize = longest.strip_suffix(" bytes").unwrap().parse().unwrap();
                ingest.takes(field, &json!("x".repeat(longest))).await;
                ingest.refuses(field, &json!("x".repeat(longest + 1))).await;
                ingest.refuses(field, &json!("two words")).await;
            } else if may_be == "32 hexadecimal digits" && *field != "id" {
                ingest.takes(field, &json!("0af7651916cd43dd8448eb211c80319c")).await;
                for wrong in ["0af7651916cd43dd8448eb211c80319", "0AF7651916CD43DD8448EB211C80319C"] {
                    ingest.refuses(field, &json!(wrong)).await;
                }
            } else if let Some(range) = may_be.strip_suffix(", others are lowered") {
                let (_, to) = range.split_once(" to ").unwrap();
                let to: u64 = to.parse().unwrap();
                ingest.takes(field, &json!(to)).await;
                ingest.refuses(field, &json!(-1)).await;
                ingest.lowers(field, &json!(to + 1)).await;
            } else if let Some((from, to)) = may_be.split_once(" to ") {
                let (from, to): (i64, i64) = (from.parse().unwrap(), to.parse().unwrap());
                ingest.takes(field, &json!(from)).await;
                ingest.takes(field, &json!(to)).await;
                ingest.refuses(field, &json!(from - 1)).await;
                ingest.refuses(field, &json!(to + 1)).await;
            } else {
                continue;
            }
            checked += 1;
        }
    }
    assert!(checked > 40, "only {checked} fields of the table were understood");
    let ignored = json!({ "demo": ingest.dropped });
    ingest.collector.until("/v1/accounting", |books| books["ignored_fields"] == ignored).await;
    assert_eq!(ingest.lowered, 5);
}

#[tokio::test]
async fn numbers_out_of_range_are_counted_once_a_stream() {
    let mut collector = TestCollector::new();
    let ended = |rev: u32, chunks: u64| {
        let mut report = with(1, "chunks", &json!(chunks));
        (report["reports"][0]["rev"], report["reports"][0]["left_out"]) = (json!(rev), json!(2));
        report["reports"][0]["open"] = json!(rev == 0);
        report.to_string()
    };
    for report in [ended(0, 20_000_000), ended(1, 20_000_000), ended(2, 1)] {
        assert_eq!(collector.post(report).await.status, 204);
    }
    let left_out = "llm_rum_values_left_out_total{site=\"demo\"}";
    collector.until_metric("llm_rum_reports_total{result=\"revised\"}", 2.0).await;
    assert_eq!(collector.metric(left_out).await, 3.0);
    collector.restart();
    assert_eq!(collector.metric(left_out).await, 3.0);
}

#[test]
fn the_table_has_every_field() {
    let full: Map<String, Value> = serde_json::from_str(FULL).unwrap();
    let mut missing: Vec<String> = Vec::new();
    let listed: Vec<_> = table().into_iter().flat_map(|(fields, _)| fields).collect();
    for (field, value) in &full {
        match value
            .as_object()
            .filter(|_| !["gaps", "defects", "attributes", "layers"].contains(&field.as_str()))
        {
            None => missing.extend((!listed.contains(&field.as_str())).then(|| field.clone())),
            Some(inner) => {
                let names = inner.keys().map(|inner| format!("{field}.{inner}"));
                missing.extend(names.filter(|name| !listed.contains(&name.as_str())));
            }
        }
    }
    assert_eq!(missing, [""; 0]);
}

#[tokio::test]
async fn unknown_fields_are_counted_by_site_over_a_restart() {
    let mut collector = TestCollector::new();
    let unknown = with(1, "later", &json!({ "deep": [1, 2] }));
    assert_eq!(collector.post(unknown.to_string()).await.status, 204);
    let mut two = with(2, "page.later", &json!("secret"));
    two["more"] = json!(true);
    assert_eq!(collector.post(two.to_string()).await.status, 204);
    let mut refused = with(3, "later", &json!(1));
    refused["reports"][0]["ttft_ms"] = json!(-1);
    collector.post(refused.to_string()).await.refused(400, "bad_field");
    for _ in 0..2 {
        let books =
            collector.until("/v1/accounting", |books| books["ignored_fields"] == json!({ "demo": 3 })).await;
        assert!(!books.to_string().contains("secret"));
        collector.until_metric("llm_rum_ignored_fields_total{site=\"demo\"}", 3.0).await;
        collector.restart();
    }
}

#[tokio::test]
async fn every_report_of_a_recorded_stream_is_accepted() {
    let mut ingest = Ingest { collector: TestCollector::new(), sent: 0, dropped: 0, lowered: 0 };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/streams");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.to_str().filter(|name| name.ends_with(".expected.json")) else { continue };
        let mut report: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        ingest.sent += 1;
        report["id"] = json!(format!("{:032x}", ingest.sent));
        let answer = ingest.collector.post(json!({ "reports": [report] }).to_string()).await;
        assert_eq!(answer.status, 204, "{name}: {}", answer.body);
    }
    assert!(ingest.sent > 60, "the fixtures are there");
}
