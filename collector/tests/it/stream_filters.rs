//! Filters by what only single streams tell, on every route that has a filter.

use std::collections::BTreeMap;

use beacon::{Defect, NetworkTiming, Outcome, Page, PageLifecycle, ServerTiming, StreamReport};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{TestCollector, stream};
use crate::import::{import, line, now_ms};

/// The use case of each stream follows from its browser, so that windows can select the same streams.
fn report(id: u128) -> StreamReport {
    let is_firefox = id.is_multiple_of(3);
    let outcome = match id % 10 {
        0 => Outcome::Truncated,
        1 => Outcome::Abandoned,
        _ => Outcome::Complete,
    };
    let ttft_ms = 100.0 + (id * 37 % 5_000) as f64;
    let mut report = stream(id, ttft_ms);
    if outcome == Outcome::Abandoned {
        (report.ttft_ms, report.ttfv_ms, report.e2e_ms, report.tpot_ms) = (None, None, None, None);
    }
    if id.is_multiple_of(7) {
        report.defects.set(Defect::NoSentinel, 1);
        report.defects.set(Defect::Stall, u32::from(id.is_multiple_of(2)));
    }
    let page =
        Page { browser: Some(if is_firefox { "firefox" } else { "chrome" }.into()), ..Page::default() };
    let server = ServerTiming { queue_ms: Some(ttft_ms / 4.0), ttft_ms: Some(ttft_ms / 2.0), ..server() };
    StreamReport {
        outcome,
        use_case: Some(if is_firefox { "agent" } else { "chat" }.into()),
        model: Some(if id.is_multiple_of(2) { "even" } else { "odd" }.into()),
        page: Some(page),
        network_timing: Some(NetworkTiming {
            dns_ms: Some(3.0),
            connect_ms: Some(9.0),
            ..NetworkTiming::default()
        }),
        page_lifecycle: Some(PageLifecycle { long_frames_ms: Some(50.0), ..PageLifecycle::default() }),
        server: id.is_multiple_of(5).then_some(server),
        ..report
    }
}

fn server() -> ServerTiming {
    ServerTiming { source: "vllm".into(), ..ServerTiming::default() }
}

async fn send(collector: &TestCollector, count: u128) {
    for batch in (1..=count).map(report).collect::<Vec<_>>().chunks(50) {
        collector.report(batch).await;
    }
}

/// Streams in files and in memory.
async fn counted() -> TestCollector {
    let collector = TestCollector::with(|config| {
        config.store.streams_kept = 20;
        config.dedupe.ids = 20;
        config.store.row_file_streams = 90;
    });
    send(&collector, 300).await;
    let folder = collector.config.data.join("streams");
    let files = || {
        std::fs::read_dir(&folder).unwrap().filter(|entry| {
            entry.as_ref().is_ok_and(|entry| entry.path().extension().is_some_and(|name| name == "parquet"))
        })
    };
    collector.until("/v1/summary", |summary| summary["streams"] == 300 && files().count() >= 3).await;
    collector
}

/// Without the figures that change while time passes, and the alerts, which judge whole use cases only.
fn lasting(mut answer: Value) -> Value {
    fn drop_passing(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let is_passing = |name: &str| {
                    name.ends_with("per_second")
                        || ["in_flight", "alerts", "least_budget", "text"].contains(&name)
                };
                fields.retain(|name, _| !is_passing(name));
                fields.values_mut().for_each(drop_passing);
            }
            Value::Array(values) => values.iter_mut().for_each(drop_passing),
            _ => {}
        }
    }
    drop_passing(&mut answer);
    answer
}

#[tokio::test]
async fn streams_give_the_same_answers_as_windows() {
    let collector = counted().await;
    for question in [
        "/v1/summary?compare_to=day",
        "/v1/timeseries?metric=ttfv",
        "/v1/timeseries?metric=inter_chunk_latency&compare_to=previous",
        "/v1/timeseries?metric=output_rate",
        "/v1/heatmap?metric=e2e",
        "/v1/histogram?metric=server_queue&compare_to=previous",
        "/v1/compare?step=60&compare_to=previous",
        "/v1/integrity?step=60",
        "/v1/abandonment?metric=ttfv",
        "/v1/phases?range=1h",
        "/v1/phases?step=60",
        "/v1/phases?by=country",
        "/v1/breakdown?by=model&metric=overhead",
        "/v1/breakdown?by=browser&metric=inter_chunk_latency",
        "/v1/explain?of=slow",
        "/v1/releases?range=1h",
        "/v1/streams?limit=7",
        "/v1/streams?sample=slowest&limit=9",
        "/v1/slo?site=shop",
    ] {
        for (of_windows, of_streams) in [
            ("use_case=agent", "use_case=agent&browser=firefox"),
            ("use_case=chat", "browser=chrome&use_case=chat&browser=safari"),
            ("use_case=chat", "use_case=chat&browser=!firefox"),
        ] {
            let of_windows = lasting(collector.json(&format!("{question}&{of_windows}")).await);
            let of_streams = lasting(collector.json(&format!("{question}&{of_streams}")).await);
            assert_eq!(of_windows, of_streams, "{question}");
        }
    }
}

#[tokio::test]
async fn every_fact_of_a_stream_filters() {
    let collector = counted().await;
    for (filter, expected) in [
        ("browser=firefox", 100),
        ("browser=firefox&browser=chrome", 300),
        ("browser=!firefox&model=odd", 100),
        ("outcome=truncated", 30),
        ("outcome=truncated&outcome=abandoned", 60),
        ("outcome=!complete&browser=firefox", 20),
        ("defect=no_sentinel", 42),
        ("defect=!no_sentinel", 258),
        ("defect=none", 258),
        ("defect=!none&outcome=!complete", 8),
        ("defect=stall&defect=no_sentinel", 42),
        ("server_source=vllm", 60),
        ("server_source=unknown", 240),
        ("finish_reason=unknown", 300),
    ] {
        let summary = collector.json(&format!("/v1/summary?{filter}")).await;
        assert_eq!(summary["streams"], expected, "{filter}");
        assert_eq!(summary["kept_since_ms"], Value::Null, "{filter}");
        let exported = collector.get(&format!("/v1/streams.ndjson?{filter}")).await;
        assert_eq!(exported.body.lines().count(), expected, "{filter}");
    }
    for filter in ["outcome=fine", "outcome=!fine", "defect=unknown", "browser=!", "colour=red"] {
        collector.get(&format!("/v1/summary?{filter}")).await.refused(400, "bad_query");
    }
}

#[tokio::test]
async fn two_dimensions_group_by_their_pairs() {
    let collector = counted().await;
    for (question, by) in [
        // Windows have both, one, and none.
        ("by=use_case&by=model", "use_case"),
        ("by=browser&by=model", "browser"),
        ("by=browser&by=finish_reason", "browser"),
    ] {
        let answer = collector.json(&format!("/v1/breakdown?{question}&compare_to=day")).await;
        let groups = answer["groups"].as_array().unwrap();
        let shares: f64 = groups.iter().filter_map(|group| group["share"].as_f64()).sum();
        assert!((shares - 1.0).abs() < 1e-9 && groups.len() >= 2, "{question}: {answer}");
        assert_eq!(answer["by"], by);
        for group in groups {
            let filter = |by: &str, value: &str| {
                format!("{}={}", answer[by].as_str().unwrap(), group[value].as_str().unwrap())
            };
            let (first, second) = (filter("by", "value"), filter("and_by", "and_value"));
            let of_pair = collector.json(&format!("/v1/summary?{first}&{second}")).await;
            assert_eq!(of_pair["streams"], group["streams"], "{first} {second}");
            assert_eq!(of_pair["ttfv"]["p95_ms"], group["p95_ms"], "{first} {second}");
        }
    }
    let csv = collector.get("/v1/breakdown?by=browser&by=model&format=csv").await.body;
    assert!(
        csv.starts_with("browser,model,streams,share,") && csv.contains("\"firefox\",\"odd\",50,"),
        "{csv}"
    );
    for by in ["by=model&by=model", "by=model&by=colour", "by=model&by=site&by=browser"] {
        collector.get(&format!("/v1/breakdown?{by}")).await.refused(400, "bad_query");
    }
}

/// The values of a stream's outcome or of its defects, from the report as it is exported.
fn words(report: &Value, dimension: &str) -> Vec<String> {
    match (dimension, report["defects"].as_object()) {
        ("outcome", _) => vec![report["outcome"].as_str().unwrap().to_owned()],
        (_, Some(defects)) if !defects.is_empty() => defects.keys().cloned().collect(),
        _ => vec!["none".to_owned()],
    }
}

#[tokio::test]
async fn outcomes_and_defects_group_streams() {
    let collector = counted().await;
    let exported = collector.get("/v1/streams.ndjson").await.body;
    let reports: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let all = collector.json("/v1/summary").await;
    let bad = |answer: &Value| {
        let goodput = &answer["goodput"];
        goodput["total"].as_f64().unwrap() - goodput["good"].as_f64().unwrap()
    };
    for dimension in ["outcome", "defect"] {
        let mut expected = BTreeMap::<String, usize>::new();
        for word in reports.iter().flat_map(|report| words(report, dimension)) {
            *expected.entry(word).or_default() += 1;
        }
        let answer = collector.json(&format!("/v1/breakdown?by={dimension}")).await;
        let groups = answer["groups"].as_array().unwrap();
        assert_eq!(groups.len(), expected.len(), "{answer}");
        for group in groups {
            let value = group["value"].as_str().unwrap();
            assert_eq!(group["streams"], expected[value], "{value}");
            // Of all streams, though a stream counts with each of its defects.
            let share = expected[value] as f64 / reports.len() as f64;
            assert!((group["share"].as_f64().unwrap() - share).abs() < 1e-9, "{value}: {group}");
            let of_value = collector.json(&format!("/v1/summary?{dimension}={value}")).await;
            assert_eq!(of_value["ttfv"]["p95_ms"], group["p95_ms"], "{value}");
            assert_eq!(of_value["errors"]["count"], group["errors"], "{value}");
            let traffic =
                of_value["goodput"]["total"].as_f64().unwrap() / all["goodput"]["total"].as_f64().unwrap();
            let excess = bad(&of_value) / bad(&all) - traffic;
            assert!((group["excess_share"].as_f64().unwrap() - excess).abs() < 1e-9, "{value}: {group}");
        }
    }
    let pairs = collector.json("/v1/breakdown?by=defect&by=browser").await;
    let count = |defect: &str, browser: &str| {
        let is_in = |report: &&Value| {
            words(report, "defect").iter().any(|word| word == defect) && report["page"]["browser"] == browser
        };
        reports.iter().filter(is_in).count()
    };
    for group in pairs["groups"].as_array().unwrap() {
        let [defect, browser] = [&group["value"], &group["and_value"]].map(|value| value.as_str().unwrap());
        assert_eq!(group["streams"], count(defect, browser), "{defect} {browser}");
    }
    assert_eq!(pairs["groups"].as_array().unwrap().len(), 6, "{pairs}");
}

/// Pages choose releases, so a question keeps at most so many apart.
#[tokio::test]
async fn values_beyond_the_first_500_are_one_group() {
    const STREAMS: u128 = 560;
    let collector = TestCollector::new();
    let with_release = |id| {
        let mut report = report(id);
        report.page.get_or_insert_default().release = Some(format!("r{id}").into());
        report
    };
    for batch in (1..=STREAMS).map(with_release).collect::<Vec<_>>().chunks(50) {
        collector.report(batch).await;
    }
    collector.until("/v1/summary", |summary| summary["streams"] == STREAMS as u64).await;

    let answer = collector.json("/v1/breakdown?by=release&limit=500").await;
    let groups = answer["groups"].as_array().unwrap();
    assert_eq!((groups.len(), &answer["omitted"]), (500, &1.into()));
    assert_eq!((&groups[0]["value"], &groups[0]["streams"]), (&"other".into(), &60.into()));
    assert!(groups[1..].iter().all(|group| group["streams"] == 1), "{answer}");

    // A stream with two defects is once in `other`, where neither of its pairs has a group of its own.
    let answer = collector.json("/v1/breakdown?by=release&by=defect&limit=500").await;
    let groups = answer["groups"].as_array().unwrap();
    assert_eq!((groups.len(), &answer["omitted"]), (500, &1.into()));
    let other = &groups[0];
    assert_eq!((&other["value"], &other["and_value"]), (&"other".into(), &"other".into()), "{other}");
    let pairs_of = |id: u128| if id.is_multiple_of(14) { 2 } else { 1 };
    let pairs: u64 = (1..=STREAMS).map(pairs_of).sum();
    let in_other = other["streams"].as_u64().unwrap();
    assert!(in_other < pairs - 500 && in_other >= 60, "{in_other} of {pairs} pairs");
    let share = in_other as f64 / STREAMS as f64;
    assert!((other["share"].as_f64().unwrap() - share).abs() < 1e-9, "{other}");
}

#[tokio::test]
async fn a_list_has_the_streams_of_a_filter_page_by_page() {
    let collector = counted().await;
    let mut ids = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = collector.json(&format!("/v1/streams?limit=3&browser=firefox{cursor}")).await;
        let streams = page["streams"].as_array().unwrap();
        assert!(streams.iter().all(|stream| stream["page"]["browser"] == "firefox"), "{page}");
        ids.extend(streams.iter().map(|stream| stream["id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let all = collector.json("/v1/streams?limit=500&browser=firefox").await;
    let all: Vec<_> = all["streams"].as_array().unwrap().iter().map(|stream| stream["id"].clone()).collect();
    assert!(all.len() > 3, "{all:?}");
    assert_eq!(ids, all);
}

#[tokio::test]
async fn an_answer_says_since_when_it_has_all_streams() {
    let collector = TestCollector::with(|config| {
        config.store.streams_kept = 50;
        config.dedupe.ids = 100;
        config.store.row_files_days = 0;
    });
    send(&collector, 400).await;
    let question = "/v1/timeseries?browser=firefox";
    let answer = collector.until(question, |answer| answer["kept_since_ms"].is_i64()).await;
    assert!(answer["kept_since_ms"].as_i64() > answer["from"].as_i64(), "{answer}");
    let of_windows = collector.json("/v1/timeseries?use_case=agent").await;
    assert_eq!(of_windows["kept_since_ms"], Value::Null, "{of_windows}");
}

#[tokio::test]
async fn nothing_is_compared_with_a_part_of_a_period() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    // Of the hour before, only the later streams are kept.
    let minutes_ago = |id| if id <= 300 { 90 } else { 10 };
    let lines = (1..=340).map(|id| line(&report(id), now_ms() - minutes_ago(id) * 60_000, "CH"));
    assert!(import(&data, &lines.collect::<Vec<_>>()).status.success());
    let collector = TestCollector::with(|config| {
        config.data.clone_from(&data);
        config.store.streams_kept = 50;
        config.dedupe.ids = 100;
        config.store.row_files_days = 0;
    });
    let is_partly_kept = |answer: &Value| answer["previous"]["kept_since_ms"].is_i64();
    let summary = collector.until("/v1/summary?browser=firefox", is_partly_kept).await;
    assert_eq!((&summary["streams"], &summary["kept_since_ms"]), (&13.into(), &Value::Null));
    assert_eq!(summary["previous"]["streams"], 0, "{summary}");
    for (of_streams, of_windows, earlier) in [
        ("breakdown?by=browser", "breakdown?by=model", "/groups/0/earlier"),
        ("histogram?browser=firefox", "histogram?metric=ttfv", "/earlier"),
        ("timeseries?browser=firefox", "timeseries?metric=ttfv", "/earlier"),
    ] {
        for (question, is_compared) in [(of_streams, false), (of_windows, true)] {
            let answer = collector.json(&format!("/v1/{question}&compare_to=previous")).await;
            assert_eq!(answer.pointer(earlier).is_some(), is_compared, "{question}: {answer}");
        }
    }
}
